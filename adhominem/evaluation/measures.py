"""All measures of a system on a pair set, with intervals; and what the set gives away.

Those of forensic science take log Bayes factors in nats (pairs,) and the truth (pairs,). Costs are
in bits per pair, with each class counting half: 0 is perfect, and 1 is the cost of always answering
"the evidence says nothing".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, log, sqrt

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import OptionError
from adhominem.evaluation import pan
from adhominem.evaluation.answers import Answers
from adhominem.score.decision import probability_same_author
from adhominem.statistics import PooledBlocks, bootstrap, pool

_BINS = 10  # of probabilities, for the calibration errors


def cllr(log_bayes_factor: FloatArray, same_author: BoolArray) -> float:
    """The cost of the log likelihood ratio (Brummer and du Preez 2006)."""
    return float(empirical_cross_entropy(log_bayes_factor, same_author, np.zeros(1))[0])


def cllr_min(log_bayes_factor: FloatArray, same_author: BoolArray) -> float:
    """The cost that remains when the scores are calibrated as well as possible."""
    return _pooled_cost(pool(log_bayes_factor, same_author))


def _pooled_cost(blocks: PooledBlocks) -> float:
    best = blocks.log_bayes_factor
    some_same, some_different = blocks.same > 0, blocks.different > 0  # no 0 times infinity
    misses = np.logaddexp(0, -best[some_same]) @ blocks.same[some_same]
    alarms = np.logaddexp(0, best[some_different]) @ blocks.different[some_different]
    cost = misses / blocks.same.sum() + alarms / blocks.different.sum()
    return float(0.5 * cost / np.log(2))


def equal_error_rate(log_bayes_factor: FloatArray, same_author: BoolArray) -> float:
    """The rate at which misses and false alarms are equal, on the convex hull of the ROC curve."""
    return _pooled_error_rate(pool(log_bayes_factor, same_author))


def _pooled_error_rate(blocks: PooledBlocks) -> float:
    misses, alarms = blocks.misses, blocks.false_alarms
    at = int(np.argmax(misses >= alarms))  # the first corner beyond the diagonal, never (0, 1)
    rise, fall = misses[at] - misses[at - 1], alarms[at - 1] - alarms[at]
    along = (alarms[at - 1] - misses[at - 1]) / (rise + fall)
    return float(misses[at - 1] + along * rise)


def empirical_cross_entropy(
    log_bayes_factor: FloatArray, same_author: BoolArray, prior_log_odds: FloatArray
) -> FloatArray:
    """(priors,): the cost at each prior, for the ECE plot (Ramos and Gonzalez-Rodriguez 2013)."""
    same, different = log_bayes_factor[same_author], log_bayes_factor[~same_author]
    costs = []
    for odds in np.asarray(prior_log_odds, dtype=np.float64).tolist():
        prior = float(probability_same_author(odds))
        misses = np.logaddexp(0, -same - odds).mean()
        alarms = np.logaddexp(0, different + odds).mean()
        costs.append((prior * misses + (1 - prior) * alarms) / np.log(2))
    return np.array(costs)


def measure_evidence(log_bayes_factor: FloatArray, same_author: BoolArray) -> dict[str, float]:
    """The costs, the equal error rate, and how often the evidence misleads, also by 10 and by 100.

    NaN for what a class without pairs leaves open.
    """
    values = dict.fromkeys(("cllr", "cllr_min", "cllr_cal", "eer"), float("nan"))
    if same_author.any() and not same_author.all():
        blocks = pool(log_bayes_factor, same_author)
        cost, least = cllr(log_bayes_factor, same_author), _pooled_cost(blocks)
        values |= {"cllr": cost, "cllr_min": least, "cllr_cal": max(0.0, cost - least)}
        values["eer"] = _pooled_error_rate(blocks)
    for ending, factor in (("", 1), ("_10", 10), ("_100", 100)):
        shares = misleading_shares(log_bayes_factor, same_author, log(factor))
        values[f"misleading_same{ending}"], values[f"misleading_different{ending}"] = shares
    return values


def misleading_shares(
    log_bayes_factor: FloatArray, same_author: BoolArray, beyond: float = 0.0
) -> tuple[float, float]:
    """The shares of same-author and different-author pairs that mislead by more than `beyond`.

    `beyond` is an absolute log Bayes factor. NaN for a class without pairs.
    """
    wrong = (-log_bayes_factor[same_author], log_bayes_factor[~same_author])
    same, different = (
        float((values > beyond).mean()) if len(values) else float("nan") for values in wrong
    )
    return same, different


def reliability(
    probability: FloatArray, same_author: BoolArray, bins: int = _BINS
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The mean probability, share of same-author pairs and size of each bin that is not empty."""
    at = np.minimum((probability * bins).astype(np.int64), bins - 1)
    counts = np.bincount(at, minlength=bins)
    filled = counts > 0
    means = np.bincount(at, probability, bins)[filled] / counts[filled]
    shares = np.bincount(at, same_author, bins)[filled] / counts[filled]
    return means, shares, counts[filled]


def calibration_errors(probability: FloatArray, same_author: BoolArray) -> tuple[float, float]:
    """The expected and the largest difference of probabilities and shares, in ten bins."""
    means, shares, counts = reliability(probability, same_author)
    gaps = np.abs(means - shares)
    return float(gaps @ counts / counts.sum()), float(gaps.max())


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
