"""AdHominem: were two texts written by the same person, and how strong is the evidence?

The public names below are loaded when first used, so that `import adhominem` and
each command load only what they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # named twice: a name that is exported on purpose
    from adhominem.config import Config as Config
    from adhominem.config import NgramConfig as NgramConfig
    from adhominem.config import preset as preset
    from adhominem.errors import AdHominemError as AdHominemError
    from adhominem.errors import AdHominemWarning as AdHominemWarning
    from adhominem.errors import InputError as InputError
    from adhominem.evaluation.answers import load_answers as load_answers
    from adhominem.evaluation.answers import load_truth as load_truth
    from adhominem.evaluation.answers import write_answers as write_answers
    from adhominem.evaluation.leaks import check_leaks as check_leaks
    from adhominem.evaluation.measures import evaluate as evaluate
    from adhominem.explain.explanation import Explanation as Explanation
    from adhominem.explain.explanation import explain_texts as explain_texts
    from adhominem.jobs.attention import attention_of as attention_of
    from adhominem.jobs.baseline import baseline_files as baseline_files
    from adhominem.jobs.calibrate import calibrate_model as calibrate_model
    from adhominem.jobs.compare import verify_files as verify_files
    from adhominem.jobs.corpora import pair_files as pair_files
    from adhominem.jobs.corpora import prepare_files as prepare_files
    from adhominem.jobs.corpora import split_files as split_files
    from adhominem.jobs.encode import encode as encode
    from adhominem.jobs.ensemble import make_ensemble as make_ensemble
    from adhominem.jobs.evaluate import evaluate_files as evaluate_files
    from adhominem.jobs.explain import explain_files as explain_files
    from adhominem.jobs.map import map_corpus as map_corpus
    from adhominem.jobs.predict import predict as predict
    from adhominem.jobs.report import check_report_files as check_report_files
    from adhominem.jobs.report import report_files as report_files
    from adhominem.jobs.table import table as table
    from adhominem.jobs.train import train as train
    from adhominem.jobs.train import train_files as train_files
    from adhominem.models.folder import shipped_models as shipped_models
    from adhominem.pairs.pair_set import write_pair_set as write_pair_set
    from adhominem.pairs.sampling import PairOptions as PairOptions
    from adhominem.pairs.sampling import batches as batches
    from adhominem.pairs.sampling import draw_epoch as draw_epoch
    from adhominem.pairs.split import SplitOptions as SplitOptions
    from adhominem.pairs.split import split as split
    from adhominem.render.html import explanation_page as explanation_page
    from adhominem.report.check import check_report as check_report
    from adhominem.report.html import report_page as report_page
    from adhominem.report.report import Report as Report
    from adhominem.report.report import make_report as make_report
    from adhominem.scoring.decision import VerbalScale as VerbalScale
    from adhominem.scoring.fitting import calibrate as calibrate
    from adhominem.scoring.population import Population as Population
    from adhominem.scoring.scale import Calibration as Calibration
    from adhominem.scoring.two_covariance import TwoCovariance as TwoCovariance
    from adhominem.text.corpus import PackedCorpus as PackedCorpus
    from adhominem.text.exhibits import Exhibit as Exhibit
    from adhominem.text.exhibits import read_exhibits as read_exhibits
    from adhominem.text.files import Document as Document
    from adhominem.text.normalisation import Normaliser as Normaliser
    from adhominem.text.prepare import prepare as prepare
    from adhominem.text.prepare import prepare_pairs as prepare_pairs
    from adhominem.text.readers import find_sources as find_sources
    from adhominem.text.readers import read_documents as read_documents
    from adhominem.text.readers import read_pairs as read_pairs
    from adhominem.text.readers import read_problems as read_problems
    from adhominem.text.tokenizer import Tokenizer as Tokenizer
    from adhominem.text.vocabulary import Vocabulary as Vocabulary
    from adhominem.text.vocabulary import VocabularyOptions as VocabularyOptions
    from adhominem.text.vocabulary import WindowOptions as WindowOptions
    from adhominem.verify.verification import Verification as Verification
    from adhominem.verify.verifier import Verifier as Verifier
    from adhominem.verify.verifier import load as load

_HOMES = {
    "AdHominemError": "errors",
    "AdHominemWarning": "errors",
    "Calibration": "scoring.scale",
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
    "VerbalScale": "scoring.decision",
    "Verification": "verify.verification",
    "Verifier": "verify.verifier",
    "Vocabulary": "text.vocabulary",
    "VocabularyOptions": "text.vocabulary",
    "WindowOptions": "text.vocabulary",
    "attention_of": "jobs.attention",
    "baseline_files": "jobs.baseline",
    "batches": "pairs.epochs",
    "calibrate": "scoring.fitting",
    "calibrate_model": "jobs.calibrate",
    "check_leaks": "evaluation.leaks",
    "check_report": "report.check",
    "check_report_files": "jobs.report",
    "draw_epoch": "pairs.epochs",
    "encode": "jobs.encode",
    "evaluate": "evaluation.measures",
    "evaluate_files": "jobs.evaluate",
    "explain_files": "jobs.explain",
    "explain_texts": "explain.explanation",
    "explanation_page": "render.html",
    "find_sources": "text.readers",
    "load": "verify.verifier",
    "load_answers": "evaluation.answers",
    "load_truth": "evaluation.answers",
    "make_ensemble": "jobs.ensemble",
    "make_report": "report.report",
    "map_corpus": "jobs.map",
    "pair_files": "jobs.corpora",
    "predict": "jobs.predict",
    "prepare": "text.prepare",
    "prepare_files": "jobs.corpora",
    "prepare_pairs": "text.prepare",
    "preset": "config",
    "read_documents": "text.readers",
    "read_exhibits": "text.exhibits",
    "read_pairs": "text.readers",
    "read_problems": "text.readers",
    "report_files": "jobs.report",
    "report_page": "report.html",
    "shipped_models": "models.folder",
    "split": "pairs.split",
    "split_files": "jobs.corpora",
    "table": "jobs.table",
    "train": "jobs.train",
    "train_files": "jobs.train",
    "verify_files": "jobs.compare",
    "write_answers": "evaluation.answers",
    "write_pair_set": "pairs.pair_set",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adhominem' has no attribute '{name}'")
    return getattr(import_module(f"adhominem.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
