"""AdHominem: were two texts written by the same person, and how strong is the evidence?

The public names below are loaded when first used, so that `import adhominem` and
each command load only what they need. Type checkers read them in `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_NAMES = {
    "attribute.cluster": "Clustering",
    "attribute.contrast": "Contrast ContrastOptions contrast_texts",
    "attribute.rank": "rank_texts",
    "attribute.ranking": "Ranking",
    "attribute.roll": "Rolled RollOptions",
    "attribute.rolling": "roll_text",
    "config": "Config NgramConfig preset",
    "errors": "AdHominemError AdHominemWarning InputError",
    "evaluation.answers": "load_answers load_truth write_answers",
    "evaluation.leaks": "check_leaks",
    "evaluation.measures": "evaluate",
    "evaluation.study": "ValidationStudy read_study",
    "explain.explanation": "Explanation explain_texts",
    "index.link": "Links",
    "index.search": "SearchResult search_texts",
    "index.searcher": "Searcher",
    "jobs.attention": "attention_of",
    "jobs.attribute": "attribute_problems",
    "jobs.calibrate": "calibrate_model",
    "jobs.cluster": "cluster_corpus",
    "jobs.compare": "explain_files verify_files",
    "jobs.contrast": "contrast_files",
    "jobs.corpora": "encode pair_files prepare_files split_files",
    "jobs.doctor": "examine",
    "jobs.evaluate": "baseline_files evaluate_files table",
    "jobs.genres": "learn_genres",
    "jobs.index": "index_files",
    "jobs.lev_files": "read_levs",
    "jobs.link": "link_index",
    "jobs.machine": "learn_machine_look",
    "jobs.map": "map_corpus",
    "jobs.predict": "predict",
    "jobs.prose": "learn_prose",
    "jobs.rank": "rank",
    "jobs.report": "check_report_files report_files",
    "jobs.report_candidates": "check_candidates_files report_candidates",
    "jobs.roll": "roll_files",
    "jobs.search": "search_files",
    "jobs.train": "make_ensemble train train_files",
    "jobs.twin": "calibrate_by_twin",
    "jobs.validate": "validate",
    "models.folder": "shipped_models",
    "pairs.pair_set": "write_pair_set",
    "pairs.sampling": "PairOptions batches draw_epoch",
    "pairs.split": "SplitOptions split",
    "render.html": "explanation_page",
    "render.roll_page": "roll_page",
    "report.candidates": "CandidatesReport make_candidates_report",
    "report.check": "check_report",
    "report.details": "CaseDetails ItemDetails read_details",
    "report.files": "read_report write_report",
    "report.html": "report_page",
    "report.report": "Report make_report",
    "scoring.calibration": "Calibration",
    "scoring.decision": "VerbalScale",
    "scoring.population": "Population",
    "scoring.two_covariance": "TwoCovariance",
    "text.corpus": "PackedCorpus",
    "text.exhibits": "Exhibit read_exhibits",
    "text.files": "Document",
    "text.normalisation": "Normaliser",
    "text.prepare": "prepare prepare_pairs",
    "text.readers": "find_sources read_documents read_pairs read_problems",
    "text.tokenizer": "Tokenizer",
    "text.vocabulary": "Vocabulary VocabularyOptions WindowOptions",
    "verify.verification": "Verification",
    "verify.verifier": "Verifier load",
}
_HOMES = dict(sorted((name, home) for home, names in _NAMES.items() for name in names.split()))

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adhominem' has no attribute '{name}'")
    return getattr(import_module(f"adhominem.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
