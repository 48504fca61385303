"""A result held against the examiner's own material: a validation study instead of the model's.

The cases of a study take the place of the model's pairs. In what they differ from the case at hand
is said beside them: whether that matters is for the examiner to argue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from statistics import mean, median

import numpy as np

from adhominem.errors import OptionError
from adhominem.evaluation.study import ValidationStudy
from adhominem.model.calibration import Validation
from adhominem.questions.validate.page import study_facts
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.verify.verifier import Verifier

_NEAR = 1.5  # times as many words, or texts of a population, are about as many


@dataclass(frozen=True, kw_only=True)
class StudyFacts:
    """A validation study as a report tells of it."""

    sha256: str  # of the file that `adhominem validate` wrote
    version: str  # of AdHominem, which made it
    facts: dict[str, str]  # what the cases were made of, in words
    authors: int
    measures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    remarks: tuple[str, ...]
    differences: tuple[str, ...]  # of its conditions from those of the case
    shared_texts: int  # texts of the case that are in its material, too


def check_study(study: ValidationStudy, verifier: Verifier) -> None:
    """Refuse a study of another model: its cases say nothing of this one."""
    if study.model_sha256 != verifier.sha256:
        raise OptionError(
            f"the validation study was made with another model ({study.model}, SHA-256 "
            f"{study.model_sha256[:16]}…) than the report ({verifier.name}, SHA-256 "
            f"{verifier.sha256[:16]}…); run `adhominem validate` again with this one"
        )


def pairs_of(study: ValidationStudy) -> Validation:
    """The cases of a study as a model's validation has its pairs."""
    count = len(study.cases)
    return Validation(
        ("",),
        study.log_bayes_factor.astype(np.float32),
        study.truth,
        np.zeros(count, np.int32),
        np.array([study.texts[case.questioned].words for case in study.cases], np.int32),
        np.array([len(case.known) for case in study.cases], np.int32),
        np.array([case.population_texts for case in study.cases], np.int32),
        np.ones(count, dtype=bool),
    )


def facts_of(
    study: ValidationStudy, sides: Sequence[Sequence[Exhibit]], population: Population | None
) -> StudyFacts:
    """What a report says of a study, beside the texts of both sides of the case."""
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
        differences=tuple(_differences(study, sides, population)),
        shared_texts=sum(sha256(text.encode("utf-8")).hexdigest() in hashes for text in texts),
    )


def _differences(
    study: ValidationStudy, sides: Sequence[Sequence[Exhibit]], population: Population | None
) -> Iterator[str]:
    """The conditions that are not those of the case, each with what it is here and there."""
    known = study.conditions.known
    if sorted(map(len, sides)) != [1, known]:
        yield (
            f"number of texts: 1 questioned against {known:,} known in the validation, "
            f"{len(sides[0]):,} against {len(sides[1]):,} here"
        )
    there = median(text.words for text in study.texts)
    here = [mean(len(exhibit.document.text.split()) for exhibit in side) for side in sides]
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
