"""The evidence that a result is judged by: the model's calibration, and cases of known authors.

The cases are the model's own, or those of a validation study of the examiner's material.
Differences between the conditions of a study and those of the case are listed beside it: whether
they matter is for the examiner to argue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import isnan, log, nan
from statistics import mean, median

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError
from adhominem.evaluation.measures import cllr
from adhominem.evaluation.study import ValidationStudy
from adhominem.model.calibration import CalibrationEvidence, LikeCases, Validation
from adhominem.questions.validate.page import study_facts
from adhominem.score.decision import LOG_10
from adhominem.score.population import Population
from adhominem.statistics import exact_interval, interval
from adhominem.text.exhibits import Exhibit, words_a_text
from adhominem.text.sentences import count_words
from adhominem.verify.verification import ComparedSides, Likeness, guessed_genre
from adhominem.verify.verifier import Verifier

_RESAMPLES = 1_000
_RESAMPLES_AT_ONCE = 50  # in memory
_NEAR = 1.5  # times as many words, or texts of a population, are about as many


@dataclass(frozen=True, kw_only=True)
class CalibrationFacts(CalibrationEvidence):
    """What the model's calibration rests on, and the range of its Bayes factors."""

    lower_bound: float  # of the log10 Bayes factor
    upper_bound: float
    at_bound: bool  # whether a bound decided what is reported


@dataclass(frozen=True, kw_only=True)
class StudyFacts:
    """A validation study as a report describes it."""

    sha256: str  # of the file that `adhominem validate` wrote
    version: str  # of AdHominem, which made it
    facts: dict[str, str]  # what the cases were made of, in words
    authors: int
    measures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    remarks: tuple[str, ...]
    differences: tuple[str, ...]  # of its conditions from those of the case
    shared_texts: int  # texts of the case that are in its material, too


@dataclass(frozen=True, kw_only=True)
class ValidationFacts:
    """How the model did on cases of known authors, under conditions like those of the case.

    For each class, it also gives the number of cases whose Bayes factors are at least, and at most,
    as great as the result. With a `study`, these are its cases.
    """

    condition: str
    dropped: tuple[str, ...]  # conditions that too few cases share with the case at hand
    same_author: int
    same_at_least: int
    same_at_most: int
    different_authors: int
    different_at_least: int
    different_at_most: int
    cllr: float
    intervals: dict[str, tuple[float, float]]  # 95%: of the shares of the counts, and of cllr
    study: StudyFacts | None = None  # of the examiner's own material, if the cases are from there


def calibration_facts(verifier: Verifier, comparison: ComparedSides) -> CalibrationFacts | None:
    """The calibration that a comparison rests on; None if the model is not calibrated."""
    if verifier.calibration is None:
        return None
    scored = comparison.scored
    return CalibrationFacts(
        **vars(verifier.evidence[comparison.used is not None]),
        lower_bound=float(scored.lower_bound[0]) / LOG_10,
        upper_bound=float(scored.upper_bound[0]) / LOG_10,
        at_bound=bool(scored.at_bound[0]),
    )


def like_cases(
    validation: Validation | None, comparison: ComparedSides, likeness: Likeness | None
) -> LikeCases | None:
    """The cases of known authors under conditions like those of a comparison; None if none."""
    sides = [[text.exhibit for text in side] for side in comparison.sides]
    return like_pairs(
        validation,
        min(map(words_a_text, sides)),
        likeness,
        texts=max(map(len, sides)),
        population=comparison.used.texts if comparison.used else 0,
    )


def like_pairs(
    validation: Validation | None,
    words: int,
    likeness: Likeness | None,
    *,
    texts: int,
    population: int,
) -> LikeCases | None:
    """The pairs of known authors under like conditions; None if there are none."""
    if validation is None:
        return None
    genre = guessed_genre(likeness)
    like = validation.like(words, genre, texts, population)
    if likeness is not None and genre in likeness.described:
        described = like.description.replace(f"“{genre}”", f"“{likeness.name(genre)}”")
        like = replace(like, description=described)
    same = int(like.cases.same_author.sum())
    return like if 0 < same < len(like.cases) else None


def validation_facts(
    like: LikeCases, log_bayes_factor: float, study: StudyFacts | None = None
) -> ValidationFacts:
    """The position of a log Bayes factor, in nats, among those of cases of known authors."""
    cases = like.cases
    result = np.float32(log_bayes_factor)  # rounded like the others, to equal them at a bound
    counts: dict[str, int] = {}
    intervals: dict[str, tuple[float, float]] = {}
    for name, chosen in (("same", cases.same_author), ("different", ~cases.same_author)):
        factors = cases.log_bayes_factor[chosen]
        for way, reached in (("at_least", factors >= result), ("at_most", factors <= result)):
            key = f"{name}_{way}"
            counts[key] = int(reached.sum())
            intervals[key] = exact_interval(counts[key], len(factors))
    intervals["cllr"] = (
        study.intervals.get("cllr", (nan, nan)) if study is not None else _cllr_interval(cases)
    )
    return ValidationFacts(
        condition=like.description,
        dropped=like.dropped,
        same_author=int(cases.same_author.sum()),
        different_authors=int((~cases.same_author).sum()),
        **counts,
        cllr=cllr(cases.log_bayes_factor.astype(np.float64), cases.same_author),
        intervals={name: ends for name, ends in intervals.items() if not isnan(ends[0])},
        study=study,
    )


def _cllr_interval(cases: Validation) -> tuple[float, float]:
    """The 95% interval over cases, since their authors are not known here."""
    same, rng, drawn = cases.same_author, np.random.default_rng(0), list[FloatArray]()
    factors = cases.log_bayes_factor.astype(np.float64)
    costs = np.logaddexp(0, np.where(same, -factors, factors)) / log(2)  # (cases,): in bits
    even = np.full(len(costs), 1 / len(costs))
    for _ in range(0, _RESAMPLES, _RESAMPLES_AT_ONCE):
        times = rng.multinomial(len(costs), even, size=_RESAMPLES_AT_ONCE)  # (resamples, cases)
        with np.errstate(invalid="ignore"):  # a resample may lack a class
            means = [times @ (costs * chosen) / (times @ chosen) for chosen in (same, ~same)]
        drawn.append((means[0] + means[1]) / 2)
    return interval(np.concatenate(drawn).tolist())


def check_study(study: ValidationStudy, verifier: Verifier) -> None:
    """Raise if a study was made with another model: its cases say nothing about this one."""
    if study.model_sha256 != verifier.sha256:
        raise OptionError(
            f"the validation study was made with another model ({study.model}, SHA-256 "
            f"{study.model_sha256[:16]}…) than the report ({verifier.name}, SHA-256 "
            f"{verifier.sha256[:16]}…); run `adhominem validate` again with this one"
        )


def study_cases(study: ValidationStudy) -> LikeCases:
    """The cases of a study, in the same form as a model's own validation."""
    count = len(study.cases)
    cases = Validation(
        ("",),
        study.log_bayes_factor.astype(np.float32),
        study.truth,
        np.zeros(count, np.int32),
        np.array([study.texts[case.questioned].words for case in study.cases], np.int32),
        np.array([len(case.known) for case in study.cases], np.int32),
        np.array([case.population_texts for case in study.cases], np.int32),
        np.ones(count, dtype=bool),
    )
    return LikeCases(cases, "made from the examiner's own material", ())


def study_facts_of(study: ValidationStudy, comparison: ComparedSides) -> StudyFacts:
    """A report's description of a study, compared with both sides of the case."""
    sides = [[text.exhibit for text in side] for side in comparison.sides]
    hashes = {text.sha256 for text in study.texts}
    texts = [exhibit.document.text for side in sides for exhibit in side]
    return StudyFacts(
        sha256=study.sha256,
        version=study.version,
        facts=study_facts(study),
        authors=study.authors,
        measures=study.measures,
        intervals=study.intervals,
        remarks=study.remarks,
        differences=tuple(_differences(study, sides, comparison.population)),
        shared_texts=sum(sha256(text.encode("utf-8")).hexdigest() in hashes for text in texts),
    )


def _differences(
    study: ValidationStudy, sides: Sequence[Sequence[Exhibit]], population: Population | None
) -> Iterator[str]:
    """The conditions that differ, each with its values in the study and in the case."""
    known = study.conditions.known
    if sorted(map(len, sides)) != [1, known]:
        yield (
            f"number of texts: 1 questioned against {known:,} known in the validation, "
            f"{len(sides[0]):,} against {len(sides[1]):,} here"
        )
    there = median(text.words for text in study.texts)
    here = [mean(count_words(exhibit.document.text) for exhibit in side) for side in sides]
    if not all(_near(words, there, there) for words in here):
        yield (
            f"words a text: {there:,.0f} in the validation (the median), {here[0]:,.0f} and "
            f"{here[1]:,.0f} on the two sides here (the means)"
        )
    fewest, most = study.population_texts
    texts = 0 if population is None else population.texts
    digests = {"" if population is None else population.sha256, study.conditions.population_sha256}
    if bool(texts) != bool(most):
        with_one = "with one in the validation, without one here"
        yield f"population: {with_one if most else 'without one in the validation, with one here'}"
    elif texts and not _near(texts, fewest, most):
        counts = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        yield f"texts of the population: {counts} in the validation, {texts:,} here"
    elif study.conditions.population == "given" and len(digests) > 1:
        yield "population: other texts in the validation than here"


def _near(value: float, fewest: float, most: float) -> bool:
    return fewest / _NEAR <= value <= most * _NEAR
