"""Calibrate a model on pairs of authors it has never seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import numpy.typing as npt

import adhominem
from adhominem.errors import AdHominemWarning, OptionError
from adhominem.evaluation.answers import answers_from
from adhominem.evaluation.measures import measure
from adhominem.models.authors import trained_on
from adhominem.models.calibration import CalibrationReport, write_calibration
from adhominem.models.card import calibrated_card
from adhominem.models.folder import member_folders
from adhominem.models.shipped import model_folder
from adhominem.scoring.calibration import calibrate
from adhominem.scoring.fusion import Fusion, Scale, fit_fusion, group_weights
from adhominem.scoring.population import Population
from adhominem.scoring.probability import probability_same_author
from adhominem.text.files import write_whole
from adhominem.text.pan import Pair
from adhominem.verifier import Verifier, load

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_FOLDS = 5
_FEWEST = 30  # pairs of each kind: fewer fix no map


def calibrate_model(
    folder: str | Path,
    sets: Mapping[str, Sequence[Pair]],
    *,
    kind: str = "logistic",
    fusion: str = "logistic",
    on_documents: Callable[[int], None] = lambda count: None,
) -> CalibrationReports:
    """Fit the way from the members' scores to a log Bayes factor, and save it in the folder.

    Once for scores without a population, once for those with each set's own texts as one. The
    sets count by the root of their pairs. The `fusion` of an ensemble's members is logistic, or
    the mean of their probabilities.
    """
    folder = model_folder(folder)
    verifier = load(folder)
    pairs = [pair for each in sets.values() for pair in each]
    same = _labels(pairs)
    authors = _authors(pairs)
    _check_authors(folder, set(authors.ravel().tolist()))
    groups = np.repeat(np.arange(len(sets)), [len(each) for each in sets.values()])
    data = _Data(same, authors, group_weights(groups, same), kind, fusion)
    scores = [set_scores(verifier, each, on_documents=on_documents) for each in sets.values()]
    alone, population = (
        data.report(np.concatenate([each[mode] for each in scores], axis=1), tuple(sets))
        for mode in (0, 1)
    )
    write_calibration(folder, alone, population, adhominem.__version__)
    card = folder / "README.md"
    if card.is_file():
        text = calibrated_card(card.read_text("utf-8"), alone, population)
        with write_whole(card) as file:
            file.write(text)
    return CalibrationReports(alone, population)


@dataclass(frozen=True)
class CalibrationReports:
    """What came of it: without a population, and with each set's own texts as one."""

    alone: CalibrationReport
    population: CalibrationReport


def set_scores(
    verifier: Verifier,
    pairs: Sequence[Pair],
    *,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[FloatArray, FloatArray]:
    """Twice (members, pairs): without a population, and with the set's own texts as one."""
    first, second = verifier.encode_pairs(pairs, on_documents=on_documents)
    population = Population.of(np.concatenate([first, second]))
    alone = verifier.member_scores(first, second)
    return alone, verifier.member_scores(first, second, population)


@dataclass(frozen=True)
class _Data:
    """The pairs that a scale is fitted to, apart from their scores."""

    same_author: BoolArray
    authors: npt.NDArray[np.str_]  # (pairs, 2)
    weight: FloatArray
    kind: str
    fusion: str

    def report(self, scores: FloatArray, sets: tuple[str, ...]) -> CalibrationReport:
        """Fit to the scores (members, pairs)."""
        everything = np.ones(len(self.same_author), dtype=bool)
        scale = self.fit(scores, everything)
        assert scale.calibration is not None
        return CalibrationReport(
            fusion=scale.fusion,
            calibration=scale.calibration,
            sets=sets,
            same_author=int(self.same_author.sum()),
            authors=len(np.unique(self.authors)),
            before=_measures(Fusion()(scores), self.same_author),
            after=_measures(self.crossed(scores), self.same_author),
        )

    def fit(self, scores: FloatArray, chosen: BoolArray) -> Scale:
        some, same, weight = scores[:, chosen], self.same_author[chosen], self.weight[chosen]
        fused = Fusion() if len(some) == 1 else fit_fusion(some, same, self.fusion, weight)
        return Scale(fused, calibrate(fused(some), same, self.kind, weight))

    def crossed(self, scores: FloatArray) -> FloatArray:
        """(pairs,): each scored by a scale that has seen neither the pair nor its authors.

        The authors are dealt into folds; the scale for a pair is fitted to all pairs that have no
        author in the folds of its own two.
        """
        names, numbers = np.unique(self.authors, return_inverse=True)
        fold = np.random.default_rng(0).permutation(len(names)) % _FOLDS
        folds = fold[numbers.reshape(self.authors.shape)]  # (pairs, 2)
        found = np.zeros(scores.shape[1])
        for two in combinations_with_replacement(range(_FOLDS), 2):
            tested = (np.sort(folds, axis=1) == two).all(axis=1)
            others = np.asarray(~np.isin(folds, two).any(axis=1))
            if tested.any():
                found[tested] = self.fit(scores, others)(scores[:, tested])
        return found


def _measures(log_bayes_factor: FloatArray, same_author: BoolArray) -> dict[str, float]:
    value = probability_same_author(log_bayes_factor)
    return measure(answers_from("", value, log_bayes_factor, same_author))


def _labels(pairs: Sequence[Pair]) -> BoolArray:
    unlabelled = sum(pair.same_author is None for pair in pairs)
    if unlabelled:
        raise OptionError(f"{unlabelled:,} of {len(pairs):,} pairs have no truth; expected all to")
    same = np.array([pair.same_author for pair in pairs], dtype=bool)
    counts = int(same.sum()), int((~same).sum())
    if min(counts) < _FEWEST:
        raise OptionError(
            f"{counts[0]:,} pairs by the same author and {counts[1]:,} by different authors; "
            f"expected {_FEWEST} of each or more"
        )
    return same


def _authors(pairs: Sequence[Pair]) -> npt.NDArray[np.str_]:
    """(pairs, 2): who wrote them; where the truth does not say, every pair has its own."""
    unnamed = 0
    names = []
    for at, pair in enumerate(pairs):
        if pair.first.author and pair.second.author:
            names.append((pair.first.author, pair.second.author))
        else:
            unnamed += 1
            other = at if pair.same_author else -1 - at
            names.append((f"\0{at}", f"\0{other}"))
    if unnamed:
        warnings.warn(
            f"the truth names no authors for {unnamed:,} of {len(pairs):,} pairs: whether the "
            "model was trained on them cannot be checked",
            AdHominemWarning,
            stacklevel=3,
        )
    return np.array(names)


def _check_authors(folder: Path, names: set[str]) -> None:
    silent = False
    for member in member_folders(folder):
        known = trained_on(member, names)
        if known is None:
            silent = True
        elif known:
            some = ", ".join(sorted(known)[:5])
            raise OptionError(
                f"the model was trained on {len(known):,} of the {len(names):,} authors of these "
                f"pairs ({some}{', ...' if len(known) > 5 else ''}), where it is surer than it may "
                "be elsewhere; expected pairs of other authors"
            )
    if silent:
        warnings.warn(
            f"{folder} does not say whom it was trained on: make sure that none of these authors "
            "was among them",
            AdHominemWarning,
            stacklevel=3,
        )
