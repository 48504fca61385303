"""Calibrate a model on cases of authors it has never seen."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np

import adhominem
from adhominem.arrays import BoolArray, FloatArray, Levs
from adhominem.errors import AdHominemWarning, InputError, OptionError
from adhominem.evaluation.answers import answers_from
from adhominem.evaluation.measures import measure
from adhominem.jobs.inputs import Watch, unwatched
from adhominem.jobs.known_texts import Texts, read_sets
from adhominem.jobs.scored_cases import EnrichedPart, Part, ScoredCases
from adhominem.jobs.simulate import CaseTexts, Condition, conditions
from adhominem.jobs.workers import Encode, encoder
from adhominem.models.calibration import CalibrationReport, Validation, write_calibration
from adhominem.models.card import calibrated_card, read_card
from adhominem.models.folder import is_shipped, member_folders, model_folder
from adhominem.models.writing import trained_on
from adhominem.scoring.companions import member_weights
from adhominem.scoring.decision import probability_same_author
from adhominem.scoring.fitting import (
    RIDGE,
    Ridges,
    calibrate,
    empirical_bounds,
    fit_fusion,
    group_weights,
    logistic,
)
from adhominem.scoring.scale import Bounds, Calibration, Fusion, Scales, Scores, cells
from adhominem.text.files import Document
from adhominem.text.writing import locked
from adhominem.verify.verifier import Verifier, load

LENGTHS = (100, 150, 250, 500, 1_000)  # words that texts are cut to, beside whole ones
_CASES = 30  # of each class, of each set under each condition
_FOLDS = 5
_FEWEST = 30  # cases of each class: fewer fix no map
_FEWEST_AUTHORS = 2 * _FOLDS  # with several texts
_FEW_AUTHORS = 20  # with fewer, there is a warning
_FEWEST_SETS = 3  # that a set is left out of: with fewer, authors are
_FEWEST_IN_CELL = 100  # cases of each class, of which bounds are told
_MORE_THAN_PAIRS = 0.85  # of such files have less company than texts that draw on companions
_STRANGERS = 50  # texts of another set, as a population of another genre
_FEWEST_STRANGERS = 10
# Without a population, what measures are worth differs most between genres: of those tried, these
# rank best on sets that were left out.
_ALONE = Ridges(measures=1e-2, conditions=1e-4)


def calibrate_model(
    folder: str | Path,
    sets: Mapping[str, Texts] | Iterable[str | Path],
    *,
    method: str = "logistic",
    lengths: Sequence[int] = LENGTHS,
    cases: int = _CASES,
    jobs: int | None = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> CalibrationReports:
    """Fit the way from the members' measures to a log Bayes factor, and save it in the folder.

    Each set holds texts of one genre by known authors, as documents or as pairs, given by name or
    as a path; what cannot be read there goes to `skipped`. Cases are made of them under all
    conditions that users have (`jobs.simulate`): several known texts or one, texts cut to one of
    `lengths` words, populations of other authors' texts, small and large, or none; at most `cases`
    of each class, set and condition. Where the model knows a genre by the name of the set, half of
    the cases are scored as if it did not, and without a population all are, both ways. One scale is
    for cases without a population, one for those with one, and one for texts that draw on
    companions among the texts of many or few cases. Each set under each condition counts by the
    root of its cases.
    """
    texts = read_sets(sets, skipped)
    folder = model_folder(folder)
    if is_shipped(folder):
        raise copy_first(folder)
    _check_authors(folder, {one.author for documents in texts.values() for one in documents})
    material = [CaseTexts(name, documents, lengths) for name, documents in texts.items()]
    count = sum(len(of_set.documents) for of_set in material)
    with locked(folder), watch("encoding", count) as on_documents:
        _check_enough(texts)
        verifier = load(folder, device=device)
        with encoder(folder, verifier, jobs, device) as encode:
            return _calibrate(folder, verifier, material, method, cases, encode, on_documents)


def copy_first(folder: Path) -> OptionError:
    """The error of calibrating a shipped model itself."""
    return OptionError(
        f"{folder.name} comes with the package, and all that use it rely on its calibration; "
        f"copy it first (cp -r {folder} my-model) and calibrate the copy"
    )


def _calibrate(
    folder: Path,
    verifier: Verifier,
    material: Sequence[CaseTexts],
    method: str,
    cases: int,
    encode: Encode,
    on_documents: Callable[[int], None],
) -> CalibrationReports:
    card = read_card(folder)
    verifier.scales = Scales()  # as if it had never been calibrated
    names = tuple(of_set.name for of_set in material)
    alone: list[Part] = []
    population: list[Part] = []
    enriched: list[EnrichedPart] = []  # among companions
    of_pairs: list[float] = []  # company where authors have two texts each
    strange: list[tuple[Scores, bool]] = []  # with populations of the set, and of another one
    others: Levs | None = None
    numbers: dict[object, int] = {}  # of all cases
    for of_set in material:
        if not of_set.documents:
            continue
        levs = of_set.encode(encode, on_documents)
        scored = ScoredCases(verifier, of_set, levs, names, numbers)
        for number, condition in enumerate(conditions()):
            drawn = of_set.cases(condition, cases, seed=number)
            if drawn is None:
                continue
            if condition.population:
                population.append(scored.with_populations(drawn))
            else:
                alone += scored.alone(drawn)
            if condition == Condition():
                enriched += scored.with_companions(drawn)
                of_pairs += scored.company_of_pairs()
            if others is not None and condition in _JUDGED:
                strange.append((scored.with_population(drawn, others), True))
        strange += [(part.scores, False) for part in population if part.name == of_set.name]
        if of_set.whole >= _FEWEST_STRANGERS:
            others = levs[np.random.default_rng(0).permutation(of_set.whole)[:_STRANGERS]]
    _check_cases(alone)
    least = 0.0
    if of_pairs:
        least = float(np.quantile(of_pairs, _MORE_THAN_PAIRS))
        enriched = [one for one in enriched if one.company > least]
    if sum(len(one.part.scores) for one in enriched) < 2 * _FEWEST:
        enriched = []
    usual = _usual_separation(enriched)
    companions = [one.part.weighted(member_weights(one.separation, usual)) for one in enriched]
    data = [
        _Data(parts, method, ridges) if parts else None
        for parts, ridges in ((alone, _ALONE), (population, None), (companions, None))
    ]
    reports = CalibrationReports(
        *(None if scale is None else scale.report(names) for scale in data)  # type: ignore[arg-type]
    )
    validation = Validation.joined([one.validation() for one in data[:2] if one])
    write_calibration(
        folder,
        reports.alone,
        reports.population,
        reports.companions,
        usual,
        least,
        _misfit(strange),
        adhominem.__version__,
        validation,
        card=card and calibrated_card(card, reports.modes, validation),
    )
    return reports


_JUDGED = {Condition(1, 1, 50), Condition(5, 1, 50), Condition(1, 1, 10)}


def _check_enough(texts: Mapping[str, Sequence[Document]]) -> None:
    """Refuse texts by so few authors that a fold of them is a few people, or nobody."""
    pieces = {(one.author, one.text) for documents in texts.values() for one in documents}
    counts = Counter(author for author, _ in pieces)
    several = sum(count > 1 for count in counts.values())
    told = f"{len(pieces):,} texts by {len(counts):,} authors, {several:,} of them with two or more"
    if several < _FEWEST_AUTHORS:
        raise OptionError(
            f"{told}; calibrating needs {_FEWEST_AUTHORS} authors with two texts or more, and "
            f"better {_FEW_AUTHORS}: add texts, several by each author"
        )
    if several < _FEW_AUTHORS:
        warnings.warn(
            f"{told}: how strong evidence can be rests on few people, and may come out otherwise "
            f"with others; calibrate with {_FEW_AUTHORS} such authors or more",
            AdHominemWarning,
            stacklevel=3,
        )


def _check_cases(parts: Sequence[Part]) -> None:
    same = sum(int(part.condition.same_author.sum()) for part in parts)
    different = sum(len(part.condition) for part in parts) - same
    if min(same, different) < _FEWEST:
        raise OptionError(
            f"the texts make {same:,} cases by the same author and {different:,} by different "
            f"authors; expected {_FEWEST} of each or more: add texts, several by each author"
        )


def _misfit(strange: Sequence[tuple[Scores, bool]]) -> tuple[float, ...]:
    """The constant and the weights of `Scales.misfit`."""
    if len({other for _, other in strange}) < 2:
        return ()
    truth = np.concatenate([np.full(len(scores), other) for scores, other in strange])
    scores = Scores.joined([scores for scores, _ in strange])
    rows = np.array([member.misfit for member in scores.members])  # (members, cases)
    if not rows.any():  # members that know no genres
        return ()
    weights = logistic(rows, truth, np.ones(len(truth)), RIDGE)
    return tuple(weights.tolist())


def _usual_separation(enriched: Sequence[EnrichedPart]) -> tuple[float, ...]:
    """Of each member: the mean of the sets' logarithms, each by the root of its texts."""
    if not enriched:
        return ()
    largest = {one.part.name: one for one in reversed(enriched)}.values()  # the first of each set
    logs = np.log([one.separation for one in largest])  # (sets, members)
    weight = np.sqrt([one.texts for one in largest])
    return tuple(np.exp(np.average(logs, axis=0, weights=weight)).tolist())


@dataclass(frozen=True)
class CalibrationReports:
    """Calibrations of a model: without a population, with one, with companions in it.

    Where no set has texts enough to look for companions among, there is no such scale.
    """

    alone: CalibrationReport
    population: CalibrationReport | None = None
    companions: CalibrationReport | None = None

    @property
    def modes(self) -> dict[str, CalibrationReport]:
        """The reports by how the texts were scored, in words."""
        modes = {
            "without a population": self.alone,
            "with one": self.population,
            "with companions": self.companions,
        }
        return {mode: report for mode, report in modes.items() if report is not None}


class _Data:
    """All that a scale is fitted to."""

    def __init__(self, parts: Sequence[Part], method: str, ridges: Ridges | None = None) -> None:
        sizes = [len(part.condition) for part in parts]
        groups = np.repeat(np.arange(len(parts)), sizes)
        self.method, self.ridges = method, ridges
        self.cases = Validation.joined([part.condition for part in parts])
        self.same_author = self.cases.same_author
        self.authors = np.concatenate([part.authors for part in parts])  # (cases, 2)
        self.weight = group_weights(groups, self.same_author)
        self.scores = Scores.joined([part.scores for part in parts])

    def report(self, sets: tuple[str, ...]) -> CalibrationReport:
        """The scale, and what it is worth for genres, or at least authors, it has not seen."""
        fused, calibration = self.fitted
        return CalibrationReport(
            fusion=fused,
            calibration=calibration,
            sets=sets,
            same_author=int(self.same_author.sum()),
            authors=len(np.unique(self.authors)),
            before=_measures(Fusion()(self.scores), self.same_author),
            after=_measures(self.bounded, self.same_author),
        )

    def validation(self) -> Validation:
        """The cases, each by a map that has seen neither its genre nor its authors."""
        return replace(self.cases, log_bayes_factor=self.bounded.astype(np.float32))

    @cached_property
    def fitted(self) -> tuple[Fusion, Calibration]:
        """The scale of all cases: the model's."""
        fused, map_ = self.fit(np.ones(len(self.scores), dtype=bool))
        lower, upper = empirical_bounds(self.crossed, self.same_author)
        bounds = _widened(tuple(self._bounds()))
        return fused, replace(map_, lower_bound=lower, upper_bound=upper, bounds=bounds)

    def fit(self, chosen: BoolArray) -> tuple[Fusion, Calibration]:
        """The scale of some of the cases, without bounds of conditions."""
        scores, same, weight = self.scores[chosen], self.same_author[chosen], self.weight[chosen]
        fused = fit_fusion(scores, same, weight, self.ridges)
        if self.method == "logistic":  # the fusion is a logistic regression: calibrated already
            return fused, Calibration.identity(len(same))
        return fused, calibrate(fused(scores), same, self.method)

    def _bounds(self) -> Iterable[Bounds]:
        """What the cases of each cell of conditions support."""
        places = cells(self.scores.conditions)  # (3, cases)
        for place in np.unique(places, axis=1).T:
            inside = (place == places.T).all(axis=1)
            same = self.same_author[inside]
            if min(same.sum(), (~same).sum()) >= _FEWEST_IN_CELL:
                lower, upper = empirical_bounds(self.crossed[inside], same)
                texts, tokens, population = place.tolist()
                yield Bounds(
                    texts=texts,
                    tokens=tokens,
                    population=population,
                    lower=lower,
                    upper=upper,
                    same_author=int(same.sum()),
                    different_authors=int((~same).sum()),
                )

    @cached_property
    def crossed(self) -> FloatArray:
        """(cases,): each by a map that has not seen its set, without bounds.

        Nor has it seen either of its authors, in any set. Of few sets, or sets by the same authors,
        this is all: authors are dealt into folds; the map for a case is fitted to all cases that
        have no author in the folds of its own two.
        """
        by_set = [self._set_and_others(genre) for genre in np.unique(self.cases.genre)]
        if len(by_set) >= _FEWEST_SETS and all(
            np.bincount(self.same_author[others], minlength=2).min() >= _FEWEST
            for _, others in by_set
        ):
            return self._crossed(by_set)
        names, numbers = np.unique(self.authors, return_inverse=True)
        fold = np.random.default_rng(0).permutation(len(names)) % _FOLDS
        folds = fold[numbers.reshape(self.authors.shape)]  # (cases, 2)
        return self._crossed(
            (
                np.asarray((np.sort(folds, axis=1) == two).all(axis=1)),
                np.asarray(~np.isin(folds, two).any(axis=1)),
            )
            for two in combinations_with_replacement(range(_FOLDS), 2)
        )

    def _set_and_others(self, genre: int) -> tuple[BoolArray, BoolArray]:
        """(cases,) twice: those of a set, and those of other sets by none of its authors."""
        inside = self.cases.genre == genre
        shared = np.isin(self.authors, np.unique(self.authors[inside])).any(axis=1)
        return inside, ~inside & ~shared

    def _crossed(self, parts: Iterable[tuple[BoolArray, BoolArray]]) -> FloatArray:
        """(cases,): those of each part by a map that is fitted to the others."""
        factors = np.zeros(len(self.scores))
        for tested, others in parts:
            if tested.any():
                if len(np.unique(self.same_author[others])) < 2:
                    raise OptionError(
                        f"the cases are by {len(np.unique(self.authors)):,} authors, too few to "
                        "check some by the others; add texts, several by each author"
                    )
                fused, calibration = self.fit(others)
                factors[tested] = calibration.unbounded(fused(self.scores[tested]))
        return factors

    @cached_property
    def bounded(self) -> FloatArray:
        """(cases,): the log Bayes factors of `crossed`, within the bounds of the model."""
        _, calibration = self.fitted
        return np.clip(self.crossed, *calibration.limits(self.scores.conditions))


def _widened(bounds: tuple[Bounds, ...]) -> tuple[Bounds, ...]:
    """What fewer or shorter texts support, or a smaller population, more of them support, too."""

    def no_better(one: Bounds, other: Bounds) -> bool:
        return (
            one.texts <= other.texts
            and one.tokens <= other.tokens
            and one.population <= other.population
        )

    return tuple(
        replace(
            cell,
            lower=min(one.lower for one in bounds if no_better(one, cell)),
            upper=max(one.upper for one in bounds if no_better(one, cell)),
        )
        for cell in bounds
    )


def _measures(log_bayes_factor: FloatArray, same_author: BoolArray) -> dict[str, float]:
    value = probability_same_author(log_bayes_factor)
    return measure(answers_from("", value, log_bayes_factor, same_author))


def _check_authors(folder: Path, names: set[str]) -> None:
    by_member = [trained_on(member, names) for member in member_folders(folder)]
    for known in by_member:
        if known:
            names_known = ", ".join(sorted(known)[:5]) + (", ..." if len(known) > 5 else "")
            raise OptionError(
                f"the model was trained on {len(known):,} of the {len(names):,} authors of these "
                f"texts ({names_known}), where it is surer than it may "
                "be elsewhere; expected texts by other authors"
            )
    if None in by_member:
        warnings.warn(
            f"{folder} does not say whom it was trained on: make sure that none of these authors "
            "was among them",
            AdHominemWarning,
            stacklevel=3,
        )
