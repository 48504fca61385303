"""All measures of a system on a pair set, with intervals; and what the set gives away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, sqrt

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray
from adhominem.errors import OptionError
from adhominem.evaluation import pan
from adhominem.evaluation.answers import Answers
from adhominem.evaluation.likelihood_ratio import calibration_errors, measure_evidence
from adhominem.statistics import bootstrap


@dataclass(frozen=True)
class Measure:
    """A row of the table: the name of a measure, and what it says."""

    title: str
    meaning: str
    higher_is_better: bool | None = True  # None: neither


MEASURES: dict[str, Measure] = {
    "auc": Measure("AUC", "how often a same-author pair has a higher value than a different one"),
    "c@1": Measure("c@1", "accuracy that rewards leaving hard cases open"),
    "f1": Measure("F1", "of 'same author', over the pairs that were answered"),
    "f05u": Measure("F0.5u", "stresses that 'same author' be right; non-answers count as misses"),
    "f05u_2020": Measure("F0.5u (2020)", "as the evaluator of 2020 had it: 0.5 counts as 'same'"),
    "brier": Measure("Brier complement", "1 less the mean squared error of the values"),
    "overall_2020": Measure("overall 2020", "mean of AUC, c@1, F1 and F0.5u (2020)"),
    "overall_2021": Measure("overall 2021", "mean of AUC, c@1, F1, F0.5u and Brier complement"),
    "accuracy": Measure("accuracy", "share of right answers among those given"),
    "non_answers": Measure("non-answers", "share of pairs left open", None),
    "cllr": Measure("Cllr", "cost of the log Bayes factors in bits; saying nothing costs 1", False),
    "cllr_min": Measure("Cllr_min", "the part that calibration could not remove", False),
    "cllr_cal": Measure("Cllr_cal", "the part that calibration could remove", False),
    "eer": Measure(
        "EER", "error rate where misses and false alarms are equal, on the convex hull", False
    ),
    "ece": Measure(
        "calibration error", "mean distance of probabilities from shares, in ten bins", False
    ),
    "mce": Measure("largest calibration error", "the largest such distance", False),
    "misleading_same": Measure(
        "misleading, same author", "same-author pairs with a Bayes factor below 1", False
    ),
    "misleading_different": Measure(
        "misleading, different", "different-author pairs with a Bayes factor above 1", False
    ),
    "strongly_misleading_same": Measure(
        "strongly misleading, same", "same-author pairs with a Bayes factor below 1/100", False
    ),
    "strongly_misleading_different": Measure(
        "strongly misleading, different",
        "different-author pairs with a Bayes factor above 100",
        False,
    ),
}

_OF_ONE_CLASS = ("c@1", "brier", "accuracy", "non_answers")  # of PAN's: the others need both
# They look for the worst fit of a curve or of bins: in a resample, where pairs come several times,
# there is more to find, and the interval would lie beside the estimate.
_WITHOUT_INTERVAL = ("cllr_min", "cllr_cal", "ece", "mce")

# From chance. In PAN 2020, less than a fifth of the different-author pairs share a fandom: this
# leak lies but 0.09 from chance, and taught systems that no two such texts match.
_TOLERANCE = 0.05


@dataclass(frozen=True)
class Evaluation:
    """How good a system's answers to a pair set are."""

    name: str
    pairs: int
    same_author: int
    measures: dict[str, float]  # by the names in MEASURES
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)  # 95%
    resampled: str = ""  # what the bootstrap drew: "authors" or "pairs"
    resamples: int = 0  # and how often
    groups: dict[str, Evaluation] = field(default_factory=dict)  # parts of the set
    remarks: tuple[str, ...] = ()


def measure(answers: Answers) -> dict[str, float]:
    """Every measure; NaN for measures that need both classes, where one has no pair."""
    value, factors, same = answers.value, answers.log_bayes_factor, answers.same_author
    values = dict.fromkeys(MEASURES, float("nan"))
    if not len(value):
        return values
    both_classes = bool(same.any()) and not same.all()
    for name, measure_of in pan.BY_NAME.items():
        if both_classes or name in _OF_ONE_CLASS:
            values[name] = measure_of(value, same)
    evidence = measure_evidence(factors, same)
    values |= {name: evidence[name] for name in MEASURES if name in evidence}
    for side in ("same", "different"):
        values[f"strongly_misleading_{side}"] = evidence[f"misleading_{side}_100"]
    if both_classes:
        for name, parts in (("overall_2020", pan.OVERALL_2020), ("overall_2021", pan.OVERALL_2021)):
            values[name] = float(np.mean([values[part] for part in parts]))
        values["ece"], values["mce"] = calibration_errors(value, same)
    return values


def evaluate(
    answers: Answers,
    *,
    authors: Sequence[tuple[str, str]] | None = None,
    groups: Mapping[str, BoolArray] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    on_resample: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Measure a system's answers.

    `authors` names the two authors of each pair. The bootstrap then resamples authors, with all
    their pairs, since two pairs of one author are not independent cases; otherwise it resamples
    pairs. Where authors have few pairs, intervals over authors are too wide rather than too narrow.
    `groups` are parts of the set to be measured separately, each a mask (pairs,).
    """
    if resamples < 0:
        raise OptionError(f"resamples is {resamples}; expected 0 (no intervals) or more")
    same = answers.same_author
    intervals: dict[str, tuple[float, float]] = {}
    if resamples and not (same.all() or not same.any()):
        order = np.argsort(answers.log_bayes_factor, kind="stable")  # it sorts fast again
        ends = bootstrap(
            lambda chosen: measure(answers.of(chosen)),
            order,
            authors,
            resamples,
            seed,
            on_resample,
        )
        intervals = {name: ends[name] for name in ends if name not in _WITHOUT_INTERVAL}
    return Evaluation(
        name=answers.name,
        pairs=len(answers),
        same_author=int(same.sum()),
        measures=measure(answers),
        intervals=intervals,
        resampled=("pairs" if authors is None else "authors") if intervals else "",
        resamples=resamples if intervals else 0,
        groups={
            name: evaluate(answers.of(mask), resamples=0)
            for name, mask in (groups or {}).items()
            if mask.any()
        },
        remarks=tuple(_remarks(answers)),
    )


def _remarks(answers: Answers) -> list[str]:
    remarks = []
    if not answers.given:
        remarks.append("no log Bayes factors were given: the log odds of the values replace them")
        certain = int(np.isinf(answers.log_bayes_factor).sum())
        if certain:
            remarks.append(
                f"{certain:,} values are exactly 0 or 1, evidence without bounds: one that is "
                "wrong makes Cllr infinite"
            )
    return remarks


@dataclass(frozen=True)
class Leak:
    """How well a shallow property ranks the pairs; 0.5 is chance, less ranks backwards."""

    name: str
    auc: float
    noise: float  # how far from chance it may come by chance

    @property
    def leaks(self) -> bool:
        """Whether the label can be guessed from this property."""
        return abs(self.auc - 0.5) > max(_TOLERANCE, self.noise)

    @property
    def verdict(self) -> str:
        """The result in a word or two; pairs of one class alone give none."""
        return "LEAKS" if self.leaks else "ok" if isfinite(self.auc) else "cannot tell"


def check_leaks(
    *,
    same_author: BoolArray,
    same_topic: BoolArray,
    first_length: npt.NDArray[np.integer],
    second_length: npt.NDArray[np.integer],
) -> list[Leak]:
    """The AUC of each shallow property alone; all arrays are (pairs,).

    In PAN 2020's large set, two texts of one fandom are always by different authors: a system that
    learns this looks good but knows nothing about authors. A set is sound if neither the topics nor
    the lengths of a pair predict its label.
    """
    shorter = np.minimum(first_length, second_length)
    properties = {
        "same topic": same_topic,
        "like lengths": shorter / np.maximum(first_length, second_length),
        "shorter text's length": shorter,
    }
    same, different = int(same_author.sum()), int((~same_author).sum())
    # Two standard errors of the AUC of a property that has nothing to do with the label.
    noise = 2 * sqrt((same + different + 1) / (12 * max(1, same * different)))
    return [Leak(name, pan.auc(values, same_author), noise) for name, values in properties.items()]
