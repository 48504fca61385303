"""AdHominem: were two texts written by the same person, and how strong is the evidence?

The public names below are loaded when first used, so that `import adhominem` and
each command load only what they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from adhominem.config import Config, NgramConfig, preset
    from adhominem.errors import AdHominemError, AdHominemWarning, InputError
    from adhominem.evaluation.answers import load_answers, load_truth, write_answers
    from adhominem.evaluation.leaks import check_leaks
    from adhominem.evaluation.measures import evaluate
    from adhominem.explain.explanation import Explanation
    from adhominem.explain.texts import explain_texts
    from adhominem.jobs.attention import attention_of
    from adhominem.jobs.calibrate import calibrate_model
    from adhominem.jobs.encode import encode
    from adhominem.jobs.ensemble import make_ensemble
    from adhominem.jobs.map import map_corpus
    from adhominem.jobs.predict import predict
    from adhominem.jobs.table import table
    from adhominem.jobs.train import train
    from adhominem.models.shipped import shipped_models
    from adhominem.pairs.pair_set import write_pair_set
    from adhominem.pairs.sampling import PairOptions, batches, draw_epoch
    from adhominem.pairs.split import SplitOptions, split
    from adhominem.render.html import explanation_page
    from adhominem.report.check import check_report
    from adhominem.report.html import report_page
    from adhominem.report.report import Report, make_report
    from adhominem.scoring.calibration import Calibration, calibrate
    from adhominem.scoring.population import Population
    from adhominem.scoring.two_covariance import TwoCovariance
    from adhominem.scoring.verbal import VerbalScale
    from adhominem.text.corpus import PackedCorpus
    from adhominem.text.exhibits import Exhibit, read_exhibits
    from adhominem.text.files import Document
    from adhominem.text.normalisation import Normaliser
    from adhominem.text.prepare import prepare, prepare_pairs
    from adhominem.text.readers import find_sources, read_documents, read_pairs, read_problems
    from adhominem.text.tokenizer import Tokenizer
    from adhominem.text.vocabulary import Vocabulary, VocabularyOptions, WindowOptions
    from adhominem.verify.verification import Verification
    from adhominem.verify.verifier import Verifier, load

_HOMES = {
    "AdHominemError": "errors",
    "AdHominemWarning": "errors",
    "Calibration": "scoring.calibration",
    "Config": "config",
    "Document": "text.files",
    "Exhibit": "text.exhibits",
    "Explanation": "explain.explanation",
    "InputError": "errors",
    "NgramConfig": "config",
    "Normaliser": "text.normalisation",
    "PackedCorpus": "text.corpus",
    "PairOptions": "pairs.sampling",
    "Population": "scoring.population",
    "Report": "report.report",
    "SplitOptions": "pairs.split",
    "Tokenizer": "text.tokenizer",
    "TwoCovariance": "scoring.two_covariance",
    "VerbalScale": "scoring.verbal",
    "Verification": "verify.verification",
    "Verifier": "verify.verifier",
    "Vocabulary": "text.vocabulary",
    "VocabularyOptions": "text.vocabulary",
    "WindowOptions": "text.vocabulary",
    "attention_of": "jobs.attention",
    "batches": "pairs.sampling",
    "calibrate": "scoring.calibration",
    "calibrate_model": "jobs.calibrate",
    "check_leaks": "evaluation.leaks",
    "check_report": "report.check",
    "draw_epoch": "pairs.sampling",
    "encode": "jobs.encode",
    "evaluate": "evaluation.measures",
    "explain_texts": "explain.texts",
    "explanation_page": "render.html",
    "find_sources": "text.readers",
    "load": "verify.verifier",
    "load_answers": "evaluation.answers",
    "load_truth": "evaluation.answers",
    "make_ensemble": "jobs.ensemble",
    "make_report": "report.report",
    "map_corpus": "jobs.map",
    "predict": "jobs.predict",
    "prepare": "text.prepare",
    "prepare_pairs": "text.prepare",
    "preset": "config",
    "read_documents": "text.readers",
    "read_exhibits": "text.exhibits",
    "read_pairs": "text.readers",
    "read_problems": "text.readers",
    "report_page": "report.html",
    "shipped_models": "models.shipped",
    "split": "pairs.split",
    "table": "jobs.table",
    "train": "jobs.train",
    "write_answers": "evaluation.answers",
    "write_pair_set": "pairs.pair_set",
}

__all__ = [
    "AdHominemError",
    "AdHominemWarning",
    "Calibration",
    "Config",
    "Document",
    "Exhibit",
    "Explanation",
    "InputError",
    "NgramConfig",
    "Normaliser",
    "PackedCorpus",
    "PairOptions",
    "Population",
    "Report",
    "SplitOptions",
    "Tokenizer",
    "TwoCovariance",
    "VerbalScale",
    "Verification",
    "Verifier",
    "Vocabulary",
    "VocabularyOptions",
    "WindowOptions",
    "__version__",
    "attention_of",
    "batches",
    "calibrate",
    "calibrate_model",
    "check_leaks",
    "check_report",
    "draw_epoch",
    "encode",
    "evaluate",
    "explain_texts",
    "explanation_page",
    "find_sources",
    "load",
    "load_answers",
    "load_truth",
    "make_ensemble",
    "make_report",
    "map_corpus",
    "predict",
    "prepare",
    "prepare_pairs",
    "preset",
    "read_documents",
    "read_exhibits",
    "read_pairs",
    "read_problems",
    "report_page",
    "shipped_models",
    "split",
    "table",
    "train",
    "write_answers",
    "write_pair_set",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adhominem' has no attribute '{name}'")
    return getattr(import_module(f"adhominem.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
