"""Calibrate a model on cases by authors it was not trained on."""

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
from adhominem.jobs.run import Watch, unwatched
from adhominem.jobs.workers import Encode, encoder
from adhominem.model.calibration import CalibrationReport, Validation, write_calibration
from adhominem.model.card import calibrated_card, read_card
from adhominem.model.folder import changeable_folder, member_folders
from adhominem.model.writing import trained_on
from adhominem.pairs.passages import without_recurring
from adhominem.score.calibration import Bounds, Calibration, Conditions, cells
from adhominem.score.decision import probability_same_author
from adhominem.score.fitting import (
    Derivatives,
    Fitted,
    empirical_bounds,
    fit,
    fit_one_genre,
    group_weights,
)
from adhominem.score.members import MemberScorer
from adhominem.score.scorer import Scorer
from adhominem.text.files import Document
from adhominem.text.language import language_of_source
from adhominem.text.writing import locked
from adhominem.training.simulate import (
    CaseMaker,
    CasePart,
    CaseTexts,
    LabelledTexts,
    conditions,
    merged,
    read_sets,
)
from adhominem.verify.verifier import Verifier, load

LENGTHS = (100, 150, 250, 500, 1_000)  # words that texts are cut to, beside whole ones
_CASES = 12  # of each class, of each set under each condition
_OF_GENRE = 200  # texts of a set, and pairs, that show what sets genres apart
_FOLDS = 5
_FEWEST = 30  # cases of each class: fewer fix no parameters
_FEWEST_AUTHORS = 2 * _FOLDS  # with several texts
_FEW_AUTHORS = 20  # with fewer, there is a warning; of many sets, smaller ones are left out
_FEWEST_SETS = 3  # that a set is left out of: with fewer, authors are
LevsByAuthors = tuple[Levs, Sequence[str]]  # LEVs (texts, lev_size), and the author of each

_FEWEST_IN_CELL = 100  # cases of each class, on which bounds rest
_LENGTHS = (0.005, 0.998)  # shares of texts between which nearly all lengths lie


def calibrate_model(
    folder: str | Path,
    sets: Mapping[str, LabelledTexts] | Iterable[str | Path],
    *,
    lengths: Sequence[int] = LENGTHS,
    cases: int = _CASES,
    jobs: int | None = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> CalibrationReports:
    """Fit the three-level model of each member to cases of known authors, and save it.

    Each set holds texts of one genre by known authors, as documents or as pairs, given by name or
    as a path; texts that cannot be read are appended to `skipped`. Cases are made from them under
    all conditions that users may have (see `simulate`): one or several known texts, texts cut to
    one of `lengths` words, small and large populations of texts by other authors, or none; at most
    `cases` of each class, set and condition. Where the model knows a genre by the name of the set,
    half of the cases are scored as if it did not; without a population, all cases are scored both
    ways. Each set under each condition is weighted by the square root of its number of cases.
    """
    texts = read_sets(sets, skipped)
    folder = changeable_folder(folder, "calibrate")
    _check_authors(folder, {text.author for documents in texts.values() for text in documents})
    # A notice that recurs under the texts of a set says nothing about their authors.
    material = [
        CaseTexts(name, without_recurring(documents)[0], lengths)
        for name, documents in texts.items()
    ]
    count = sum(len(of_set.documents) for of_set in material)
    with locked(folder), watch("encoding", count) as on_documents:
        _check_enough(texts)
        verifier = load(folder, device=device)
        with encoder(folder, verifier, jobs, device) as encode:
            return _calibrate(folder, verifier, material, cases, encode, on_documents)


def _calibrate(
    folder: Path,
    verifier: Verifier,
    material: Sequence[CaseTexts],
    cases: int,
    encode: Encode,
    on_documents: Callable[[int], None],
) -> CalibrationReports:
    card = read_card(folder)
    # As if never calibrated: an earlier calibration must not count twice.
    scorer = Scorer.of([member.scorer for member in verifier.members], None, name=verifier.name)
    names = tuple(of_set.name for of_set in material)
    parts: list[CasePart] = []
    numbers: dict[object, int] = {}  # of all cases
    samples: list[tuple[str, LevsByAuthors]] = []  # of each set
    for of_set in material:
        if not of_set.documents:
            continue
        levs = of_set.encode(encode, on_documents)
        samples.append((of_set.name, _sample(levs, of_set.documents)))
        known = _has_other_genres(verifier, of_set.name)
        simulated = CaseMaker(scorer, of_set, levs, names, numbers, can_be_unknown=known)
        for number, condition in enumerate(conditions()):
            drawn = of_set.cases(condition, cases, seed=number)
            if drawn is not None:
                parts += simulated.parts(drawn)
    _check_cases(parts)
    fitting = _CalibrationFit(scorer.members, parts)
    alone = fitting.report(names, population=False)
    assert alone is not None  # both classes were checked for
    calibration = with_one_genre(verifier, fitting.calibration, dict(samples))
    reports = CalibrationReports(calibration, alone, fitting.report(names, population=True))
    validation = fitting.validation()
    write_calibration(
        folder,
        calibration,
        reports.alone,
        reports.population,
        adhominem.__version__,
        validation,
        card=card and calibrated_card(card, calibration, alone, reports.population, validation),
    )
    return reports


def _sample(levs: Levs, documents: Sequence[Document]) -> tuple[Levs, list[str]]:
    """A random sample of a set's texts: their LEVs and authors."""
    rows = np.random.default_rng(0).permutation(len(documents))[:_OF_GENRE]
    return levs[rows], [documents[at].author for at in rows.tolist()]


def _has_other_genres(verifier: Verifier, name: str) -> bool:
    """Whether a genre can be taken for unknown: others in its language are known."""
    if not verifier.languages:
        return True
    genres = verifier.lead.genres.names if verifier.lead.genres is not None else ()
    return any(
        other != name and language_of_source(other) == language_of_source(name) for other in genres
    )


def with_one_genre(
    verifier: Verifier, calibration: Calibration, sets: Mapping[str, LevsByAuthors]
) -> Calibration:
    """A calibration that can also estimate whether two sides are of one genre.

    It is fitted to `sets`, the LEVs and authors of some texts of each of several genres. Only those
    in one language are held against each other; there, few genres are known, so texts of one are
    also taken as if it were not.
    """
    scorers = [member.scorer for member in verifier.members]
    scorer = Scorer.of(scorers, calibration, verifier.scorer.lead)
    rng = np.random.default_rng(0)
    evidence, is_same_genre = [np.zeros(0)], [np.zeros(0, dtype=bool)]
    for name, (levs, authors) in sets.items():
        others = [
            other
            for other in sets
            if other != name
            and (not verifier.languages or language_of_source(other) == language_of_source(name))
        ]
        compared = [(scorer, name)]
        if verifier.languages and _has_other_genres(verifier, name):
            compared.append((scorer.without(name), name))
        compared += [(scorer, other) for other in others]
        for scores, other in compared:
            theirs, names = sets[other]
            count = _OF_GENRE // (1 if other == name else len(others)) + 1
            first, second = (rng.integers(0, len(of), count) for of in (authors, names))
            two = [authors[a] != names[b] for a, b in zip(first, second, strict=True)]
            log_odds = scores.scores(levs[first[two]], theirs[second[two]]).one_genre
            if log_odds is not None:
                evidence.append(log_odds)
                is_same_genre.append(np.full(len(log_odds), other == name))
    slope, constant = fit_one_genre(np.concatenate(evidence), np.concatenate(is_same_genre))
    weights = replace(calibration.weights, genre_slope=slope, genre_constant=constant)
    return replace(calibration, weights=weights)


def _check_enough(texts: Mapping[str, Sequence[Document]]) -> None:
    """Raise if the texts are by too few authors for a fold to hold more than a few."""
    pieces = {(text.author, text.text) for documents in texts.values() for text in documents}
    counts = Counter(author for author, _ in pieces)
    several = sum(count > 1 for count in counts.values())
    material = (
        f"{len(pieces):,} texts by {len(counts):,} authors, {several:,} of them with two or more"
    )
    if several < _FEWEST_AUTHORS:
        raise OptionError(
            f"{material}; calibrating needs {_FEWEST_AUTHORS} authors with two texts or more, and "
            f"better {_FEW_AUTHORS}: add texts, several by each author"
        )
    if several < _FEW_AUTHORS:
        warnings.warn(
            f"{material}: the bounds of the evidence rest on few people, and may differ "
            f"with others; calibrate with {_FEW_AUTHORS} such authors or more",
            AdHominemWarning,
            stacklevel=3,
        )


def _check_cases(parts: Sequence[CasePart]) -> None:
    alone = [part.condition for part in parts if not part.condition.population[0]]
    same = sum(int(cases.same_author.sum()) for cases in alone)
    different = sum(map(len, alone)) - same
    if min(same, different) < _FEWEST:
        raise OptionError(
            f"the texts make {same:,} cases by the same author and {different:,} by different "
            f"authors; expected {_FEWEST} of each or more: add texts, several by each author"
        )


@dataclass(frozen=True)
class CalibrationReports:
    """A calibration, with its evaluation without a population and with one."""

    calibration: Calibration
    alone: CalibrationReport
    population: CalibrationReport | None = None

    @property
    def modes(self) -> dict[str, CalibrationReport]:
        """The reports by how the texts were scored, in words."""
        modes = {
            "without a population": self.alone,
            "with one": self.population,
        }
        return {mode: report for mode, report in modes.items() if report is not None}


class _CalibrationFit:
    """A model's calibration fitted to cases, with cross-validated Bayes factors of these cases."""

    def __init__(self, members: Sequence[MemberScorer], parts: Sequence[CasePart]) -> None:
        together = merged(parts)
        self.parts = parts = [part for part, _ in together]
        self.sizes = [len(part.condition) for part in parts]
        self.cases = Validation.joined([part.condition for part in parts])
        self.same_author = self.cases.same_author
        self.authors = np.concatenate([part.authors for part in parts])  # (cases, 2)
        self.conditions = Conditions.joined([part.cases.conditions for part in parts])
        self.weight = group_weights(np.concatenate([of for _, of in together]), self.same_author)
        self.start = Fitted.start(members)
        self._derivatives: Derivatives = {}

    @cached_property
    def fitted(self) -> Fitted:
        """The parameters fitted to all cases."""
        return self._fit(np.ones(len(self.cases), dtype=bool))

    def _fit(self, chosen: BoolArray, begin: Fitted | None = None) -> Fitted:
        weights = np.split(np.where(chosen, self.weight, 0.0), np.cumsum(self.sizes)[:-1])
        cases = [part.cases for part in self.parts]
        return fit(cases, weights, self.start, begin, memory=self._derivatives)

    @cached_property
    def crossed(self) -> FloatArray:
        """(cases,): log Bayes factors by parameters fitted without the case's set, without bounds.

        These parameters were also fitted without either of the case's authors, in any set. If there
        are few sets, or sets by the same authors, only the authors are held out: they are split
        into folds, and a case is scored by parameters fitted to all cases without authors in its
        two authors' folds.
        """
        factors = np.zeros(len(self.cases))
        for tested, others in self._folds():
            if not tested.any():
                continue
            if len(np.unique(self.same_author[others])) < 2:
                raise OptionError(
                    f"the cases are by {len(np.unique(self.authors)):,} authors, too few for "
                    "cross-validation; add texts, several by each author"
                )
            left = self._fit(others, self.fitted)
            for at, rows in enumerate(np.split(np.arange(len(tested)), np.cumsum(self.sizes)[:-1])):
                if tested[rows].any():
                    chosen = rows[tested[rows]]
                    factors[chosen] = left.log_bayes_factor(self.parts[at].cases)[tested[rows]]
        return factors

    def _folds(self) -> list[tuple[BoolArray, BoolArray]]:
        """For each fold, two masks (cases,): the cases tested, and the cases to fit to."""
        sets = np.unique(self.cases.genre)
        if len(sets) >= _FEWEST_SETS:
            folds = [sets[at::_FOLDS] for at in range(min(_FOLDS, len(sets)))]
            of_sets = [np.isin(self.cases.genre, fold) for fold in folds]
            by_set = [
                (inside, np.asarray(~inside & ~self._share_authors(inside))) for inside in of_sets
            ]
            if all(
                np.bincount(self.same_author[others], minlength=2).min() >= _FEWEST
                for _, others in by_set
            ):
                return by_set
        names, numbers = np.unique(self.authors, return_inverse=True)
        fold = np.random.default_rng(0).permutation(len(names)) % _FOLDS
        of_cases = np.sort(fold[numbers.reshape(self.authors.shape)], axis=1)  # (cases, 2)
        return [
            (
                np.asarray((of_cases == two).all(axis=1)),
                np.asarray(~np.isin(of_cases, two).any(axis=1)),
            )
            for two in combinations_with_replacement(range(_FOLDS), 2)
        ]

    def _share_authors(self, inside: BoolArray) -> BoolArray:
        return np.asarray(np.isin(self.authors, np.unique(self.authors[inside])).any(axis=1))

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration of the model, with bounds that rest on cross-validated cases."""
        lower, upper = empirical_bounds(self.crossed, self.same_author)
        shortest, longest = np.exp(np.quantile(self.conditions.log_tokens, _LENGTHS))
        return Calibration(
            members=self.fitted.levels,
            layer_weights=self.fitted.layer_weights,
            weights=self.fitted.weights,
            lower_bound=lower,
            upper_bound=upper,
            bounds=_widened(tuple(self._bounds())),
            tokens=(float(shortest), float(longest)),
        )

    def _bounds(self) -> Iterable[Bounds]:
        """The bounds that the cases in each cell of conditions support."""
        places = cells(self.conditions)  # (3, cases)
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
    def bounded(self) -> FloatArray:
        """(cases,): the log Bayes factors of `crossed`, clipped to the bounds of the model."""
        return np.clip(self.crossed, *self.calibration.limits(self.conditions))

    def report(self, sets: tuple[str, ...], *, population: bool) -> CalibrationReport | None:
        """The evaluation of the cases with or without a population; None if a class is missing."""
        chosen = (self.cases.population > 0) == population
        if len(np.unique(self.same_author[chosen])) < 2:
            return None
        before = np.concatenate([self.start.log_bayes_factor(part.cases) for part in self.parts])
        return CalibrationReport(
            cases=int(chosen.sum()),
            sets=sets,
            same_author=int(self.same_author[chosen].sum()),
            authors=len(np.unique(self.authors[chosen])),
            before=_measures(before[chosen], self.same_author[chosen]),
            after=_measures(self.bounded[chosen], self.same_author[chosen]),
        )

    def validation(self) -> Validation:
        """The cross-validated cases: each scored without its genre and its authors."""
        return replace(self.cases, log_bayes_factor=self.bounded.astype(np.float32))


def _widened(bounds: tuple[Bounds, ...]) -> tuple[Bounds, ...]:
    """Bounds that never tighten with more or longer texts, or with a larger population."""

    def no_better(other: Bounds, than: Bounds) -> bool:
        return (
            other.texts <= than.texts
            and other.tokens <= than.tokens
            and other.population <= than.population
        )

    return tuple(
        replace(
            cell,
            lower=min(other.lower for other in bounds if no_better(other, cell)),
            upper=max(other.upper for other in bounds if no_better(other, cell)),
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
                "be for others; expected texts by other authors"
            )
    if None in by_member:
        warnings.warn(
            f"{folder} does not name the authors it was trained on: make sure that none of these "
            "authors was among them",
            AdHominemWarning,
            stacklevel=3,
        )
