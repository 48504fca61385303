"""Calibrate a model on pairs of authors it has never seen."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

import adhominem
from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import AdHominemWarning, InputError, OptionError
from adhominem.evaluation.answers import answers_from
from adhominem.evaluation.measures import measure
from adhominem.jobs.inputs import PairSets, Watch, read_pair_sets, unwatched
from adhominem.models.calibration import CalibrationReport, Validation, write_calibration
from adhominem.models.card import calibrated_card, read_card
from adhominem.models.folder import is_shipped, member_folders, model_folder
from adhominem.models.layout import CARD
from adhominem.models.writing import trained_on
from adhominem.scoring.companions import MOST, member_weights
from adhominem.scoring.decision import probability_same_author
from adhominem.scoring.fitting import calibrate, empirical_bounds, fit_fusion, group_weights
from adhominem.scoring.population import Population
from adhominem.scoring.scale import Calibration, Fusion, Scales, Scores
from adhominem.text.pan import Pair
from adhominem.text.writing import locked, write_whole
from adhominem.verify.verifier import load

LENGTHS = (300,)  # words that the model is calibrated for, beside whole texts
_FOLDS = 5
_FEWEST = 30  # pairs of each class: fewer fix no map
_FEWEST_SHORTENED = 10  # pairs of a set with long texts: fewer are left out


def calibrate_model(
    folder: str | Path,
    sets: PairSets,
    *,
    method: str = "logistic",
    fusion: str = "",
    lengths: Sequence[int] = LENGTHS,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> CalibrationReports:
    """Fit the way from the members' scores to a log Bayes factor, and save it in the folder.

    Once for scores without a population, once for those with each set's own texts as one, and once
    for those that draw on companions among them. Beside the whole texts, their first so many words
    are used: short texts must not make the model surer than it may be. Without a population, each
    set is also scored as if its genre (the training corpus of its name) were unknown, once
    with all other genres, once with the farthest alone. All these parts count by the root of their
    pairs. The `fusion` of an ensemble's members is logistic, or the mean of their probabilities;
    by default it is the mean without a population, since that stands up better to unknown genres,
    else logistic. The pair sets are given by name, or as paths; what
    cannot be read there goes to `skipped`.
    """
    sets = read_pair_sets(sets, skipped)
    folder = model_folder(folder)
    if is_shipped(folder):
        raise OptionError(
            f"{folder.name} comes with the package, and all that use it rely on its calibration; "
            f"copy it first (cp -r {folder} my-model) and calibrate the copy"
        )
    documents = 2 * (1 + len(lengths)) * sum(map(len, sets.values()))
    with locked(folder), watch("encoding", documents) as on_documents:
        return _calibrate(folder, sets, method, fusion, lengths, on_documents)


def _calibrate(
    folder: Path,
    sets: Mapping[str, Sequence[Pair]],
    method: str,
    fusion: str,
    lengths: Sequence[int],
    on_documents: Callable[[int], None],
) -> CalibrationReports:
    card = read_card(folder)
    verifier = load(folder)
    verifier.scales = Scales()  # as if it had never been calibrated
    everything = [pair for pairs in sets.values() for pair in pairs]
    _check_labels(everything)
    authors = _authors(everything)
    _check_authors(folder, set(authors.ravel().tolist()))
    alone, population = [], []
    enriched: list[tuple[str, _Part]] = []  # among companions, by set
    separation: dict[str, tuple[float, ...]] = {}  # of the members, by set
    begin = 0
    for name, pairs in sets.items():
        of_set = authors[begin : begin + len(pairs)]
        begin += len(pairs)
        for words in (None, *lengths):
            chosen = [at for at, pair in enumerate(pairs) if words is None or _words(pair) > words]
            if len(chosen) < _FEWEST_SHORTENED and words is not None:
                continue
            part = [pairs[at] if words is None else shortened(pairs[at], words) for at in chosen]
            first, second = verifier.encode_pairs(part, on_documents=on_documents)
            relevant = Population.of(np.concatenate([first, second]))
            scores = verifier.scorer.scores(first, second, relevant)
            condition = _condition(part, tuple(sets), name)
            whole = words is None
            population.append(
                _Part(scores, of_set[chosen], whole, replace(condition, population=condition.known))
            )
            alone.append(
                _Part(verifier.scorer.scores(first, second), of_set[chosen], whole, condition)
            )
            few = np.zeros(len(part), dtype=bool)  # companions are not looked for among more texts
            few[np.random.default_rng(0).permutation(len(part))[: MOST // 2]] = True
            levs = np.concatenate([first[few], second[few]])
            relevant = verifier.scorer.with_companions(Population.of(levs), levs)
            if relevant.companions is not None:
                scores = verifier.scorer.scores(first[few], second[few], relevant)
                # By shortened texts no member shall seem less clear for this genre than it is.
                separation.setdefault(name, relevant.companions.separation)
                enriched.append((name, _Part(scores, of_set[chosen][few], whole, condition[few])))
            if name in verifier.genres:  # twice: with all other genres, and with the farthest
                unknown = replace(condition, known=~condition.known)
                for nearest in (0, len(verifier.genres) - 2):
                    scores = verifier.scorer.without(name, nearest).scores(first, second)
                    told = nearest == 0  # in the validation a pair is of an unknown genre once
                    alone.append(_Part(scores, of_set[chosen], False, unknown, told))
    whole_pairs = [part.condition.same_author for _, part in enriched if part.whole]
    same = int(sum(map(np.sum, whole_pairs)))
    if min(same, sum(map(len, whole_pairs)) - same) < _FEWEST:  # too few to fit a scale to
        enriched, separation = [], {}
    usual = _usual_separation(separation, {name: len(pairs) for name, pairs in sets.items()})
    companions = [part.weighted(member_weights(separation[name], usual)) for name, part in enriched]
    data = [
        _Data(parts, method, fusion or better)
        for parts, better in ((alone, "mean"), (population, "logistic"), (companions, "logistic"))
        if parts
    ]
    reports = CalibrationReports(*(scale.report(tuple(sets)) for scale in data))
    write_calibration(
        folder,
        reports.alone,
        reports.population,
        reports.companions,
        usual,
        adhominem.__version__,
        Validation.joined([scale.validation() for scale in data[:2]]),
    )
    if card is not None:
        with write_whole(folder / CARD.name) as file:
            file.write(calibrated_card(card, reports.modes))
    return reports


def _usual_separation(
    separation: Mapping[str, tuple[float, ...]], pairs: Mapping[str, int]
) -> tuple[float, ...]:
    """Of each member: the mean of the sets' logarithms, each by the root of its pairs."""
    if not separation:
        return ()
    logs = np.log(list(separation.values()))  # (sets, members)
    weight = [pairs[name] ** 0.5 for name in separation]
    return tuple(np.exp(np.average(logs, axis=0, weights=weight)).tolist())


def _condition(pairs: Sequence[Pair], sets: tuple[str, ...], name: str) -> Validation:
    """The pairs of a set, not scored yet: without a population, and of a known genre."""
    return Validation(
        genres=sets,
        log_bayes_factor=np.zeros(len(pairs), np.float32),
        same_author=np.array([pair.same_author for pair in pairs], dtype=bool),
        genre=np.full(len(pairs), sets.index(name), np.int32),
        words=np.array([_words(pair) for pair in pairs], np.int32),
        population=np.zeros(len(pairs), dtype=bool),
        known=np.ones(len(pairs), dtype=bool),
    )


def shortened(pair: Pair, words: int) -> Pair:
    """A pair that has only the first so many words of each text."""
    return replace(
        pair,
        first=replace(pair.first, text=first_words(pair.first.text, words)),
        second=replace(pair.second, text=first_words(pair.second.text, words)),
    )


def _words(pair: Pair) -> int:
    """Those of the shorter text."""
    return min(len(pair.first.text.split()), len(pair.second.text.split()))


def first_words(text: str, words: int) -> str:
    """The beginning of a text, up to so many words."""
    ends = islice(re.finditer(r"\S+", text), words - 1, words)
    return next((text[: word.end()] for word in ends), text)


@dataclass(frozen=True)
class CalibrationReports:
    """Calibrations of a model: alone, with each set's own texts as population, with companions.

    Where no set has texts enough to look for companions among, there is no such scale.
    """

    alone: CalibrationReport
    population: CalibrationReport
    companions: CalibrationReport | None = None

    @property
    def modes(self) -> dict[str, CalibrationReport]:
        """The reports by how the texts were scored, in words."""
        modes = {"without a population": self.alone, "with one": self.population}
        return modes if self.companions is None else {**modes, "with companions": self.companions}


@dataclass(frozen=True)
class _Part:
    """Pairs that were scored under one condition."""

    scores: Scores
    authors: npt.NDArray[np.str_]  # (pairs, 2)
    whole: bool  # as the model is used, not shortened and not as if of an unknown genre
    condition: Validation
    told: bool = True  # whether it goes into the validation

    def weighted(self, weights: FloatArray) -> _Part:
        """This part with each member's scores multiplied by its weight (members,)."""
        scores = replace(self.scores, members=self.scores.members * weights[:, None])
        return replace(self, scores=scores)


class _Data:
    """All that a scale is fitted to."""

    def __init__(self, parts: Sequence[_Part], method: str, fusion: str) -> None:
        sizes = [len(part.condition) for part in parts]
        groups = np.repeat(np.arange(len(parts)), sizes)
        self.method, self.fusion = method, fusion
        self.same_author = np.concatenate([part.condition.same_author for part in parts])
        self.authors = np.concatenate([part.authors for part in parts])  # (pairs, 2)
        self.weight = group_weights(groups, self.same_author)
        self.scores = Scores.joined([part.scores for part in parts])
        self.whole = np.repeat([part.whole for part in parts], sizes)
        self._conditions = [part.condition for part in parts]
        self._told = np.repeat([part.told for part in parts], sizes)

    def report(self, sets: tuple[str, ...]) -> CalibrationReport:
        """The scale, and what it is worth for authors it has not seen."""
        same = self.same_author[self.whole]
        fused, calibration = self.fitted
        return CalibrationReport(
            fusion=fused,
            calibration=calibration,
            sets=sets,
            same_author=int(same.sum()),
            authors=len(np.unique(self.authors)),
            before=_measures(Fusion()(self.scores[self.whole]), same),
            after=_measures(self.bounded[self.whole], same),
        )

    def validation(self) -> Validation:
        """The pairs, each by a map that has seen neither it nor its authors."""
        pairs = Validation.joined(self._conditions)
        return replace(pairs, log_bayes_factor=self.bounded.astype(np.float32))[self._told]

    @cached_property
    def fitted(self) -> tuple[Fusion, Calibration]:
        """The scale of all pairs: the model's."""
        return self.fit(np.ones(len(self.scores), dtype=bool))

    def fit(self, chosen: BoolArray) -> tuple[Fusion, Calibration]:
        """The scale of some of the pairs."""
        scores, same, weight = self.scores[chosen], self.same_author[chosen], self.weight[chosen]
        if len(scores.members) == 1 and not len(scores.context):  # then there is nothing to fuse
            fused = Fusion()
        else:
            fused = fit_fusion(scores, same, self.fusion, weight)
        values = fused(scores)
        map_ = calibrate(values, same, self.method, weight)
        # A pair is there several times, shortened; the bounds are what the pairs support, once.
        whole = self.whole[chosen]
        lower, upper = empirical_bounds(map_.unbounded(values[whole]), same[whole])
        pairs = int(whole.sum())
        return fused, replace(map_, lower_bound=lower, upper_bound=upper, pairs=pairs)

    @cached_property
    def crossed(self) -> FloatArray:
        """(pairs,): each by a map that has seen neither the pair nor its authors, without bounds.

        The authors are dealt into folds; the map for a pair is fitted to all pairs that have no
        author in the folds of its own two.
        """
        names, numbers = np.unique(self.authors, return_inverse=True)
        fold = np.random.default_rng(0).permutation(len(names)) % _FOLDS
        folds = fold[numbers.reshape(self.authors.shape)]  # (pairs, 2)
        factors = np.zeros(len(self.scores))
        for two in combinations_with_replacement(range(_FOLDS), 2):
            tested = np.asarray((np.sort(folds, axis=1) == two).all(axis=1))
            others = np.asarray(~np.isin(folds, two).any(axis=1))
            if tested.any():
                fused, calibration = self.fit(others)
                factors[tested] = calibration.unbounded(fused(self.scores[tested]))
        return factors

    @cached_property
    def bounded(self) -> FloatArray:
        """(pairs,): the log Bayes factors of `crossed`, within the bounds of the model.

        A fold has fewer pairs, and bounds of its own. A pair that stops at these could not be
        counted among those as great as a result that the model's bounds let through.
        """
        _, calibration = self.fitted
        return np.clip(self.crossed, calibration.lower_bound, calibration.upper_bound)


def _measures(log_bayes_factor: FloatArray, same_author: BoolArray) -> dict[str, float]:
    value = probability_same_author(log_bayes_factor)
    return measure(answers_from("", value, log_bayes_factor, same_author))


def _check_labels(pairs: Sequence[Pair]) -> None:
    unlabelled = sum(pair.same_author is None for pair in pairs)
    if unlabelled:
        raise OptionError(f"{unlabelled:,} of {len(pairs):,} pairs have no truth; expected all to")
    same = sum(pair.same_author is True for pair in pairs)
    if min(same, len(pairs) - same) < _FEWEST:
        raise OptionError(
            f"{same:,} pairs by the same author and {len(pairs) - same:,} by different authors; "
            f"expected {_FEWEST} of each or more"
        )


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
    by_member = [trained_on(member, names) for member in member_folders(folder)]
    for known in by_member:
        if known:
            names_known = ", ".join(sorted(known)[:5]) + (", ..." if len(known) > 5 else "")
            raise OptionError(
                f"the model was trained on {len(known):,} of the {len(names):,} authors of these "
                f"pairs ({names_known}), where it is surer than it may "
                "be elsewhere; expected pairs of other authors"
            )
    if None in by_member:
        warnings.warn(
            f"{folder} does not say whom it was trained on: make sure that none of these authors "
            "was among them",
            AdHominemWarning,
            stacklevel=3,
        )
