"""AdHominem: were two texts written by the same person, and how strong is the evidence?

The public names below are loaded when first used, so that `import adhominem` and
each command load only what they need. Type checkers read them in `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_NAMES = {
    "questions.cluster.cluster": "Clustering",
    "questions.contrast.contrast": "Contrast ContrastOptions contrast_texts",
    "questions.contrast.ask": "contrast_files",
    "questions.rank.ask": "rank rank_texts",
    "questions.rank.ranking": "Ranking",
    "questions.roll.roll": "Rolled RollOptions",
    "questions.roll.ask": "roll_files roll_text",
    "ngrams.config": "NgramConfig",
    "paper.config": "Config preset",
    "errors": "AdHominemError AdHominemWarning InputError",
    "evaluation.answers": "load_answers load_truth write_answers",
    "evaluation.measures": "check_leaks evaluate",
    "evaluation.study": "ValidationStudy read_study",
    "verify.explanation": "Explanation explain_texts",
    "questions.search.link": "Links link_index",
    "questions.search.search": "SearchResult search_texts",
    "index.searcher": "Searcher",
    "jobs.attention": "attention_of",
    "questions.rank.attribute": "attribute_problems",
    "training.calibrate": "calibrate_model",
    "questions.cluster.ask": "cluster_corpus",
    "questions.verify.files": "explain_files verify_files",
    "jobs.corpora": "encode pair_files prepare_files read_levs split_files",
    "jobs.doctor": "examine",
    "questions.evaluate.files": "baseline_files evaluate_files table",
    "training.teach": "learn_genres learn_machine_look learn_prose",
    "questions.search.index_files": "index_files",
    "questions.map.files": "map_corpus",
    "questions.predict.files": "predict",
    "questions.report.files": "check_candidates_files check_report_files report_candidates "
    "report_files",
    "questions.search.ask": "search_files",
    "training.files": "make_ensemble train train_files",
    "training.twin": "calibrate_by_twin",
    "questions.validate.files": "validate",
    "model.folder": "shipped_models",
    "pairs.cases": "write_pair_set",
    "paper.sampling": "PairOptions batches draw_epoch",
    "pairs.split": "SplitOptions split",
    "render.html": "explanation_page",
    "questions.roll.page": "roll_page",
    "questions.report.candidates": "CandidatesReport make_candidates_report",
    "questions.report.check": "check_report",
    "questions.report.details": "CaseDetails ItemDetails read_details",
    "questions.report.formats": "read_report write_report",
    "questions.report.page": "report_page",
    "questions.report.report": "Report make_report",
    "score.calibration": "Calibration",
    "score.decision": "VerbalScale",
    "score.population": "Population",
    "paper.two_covariance": "TwoCovariance",
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
