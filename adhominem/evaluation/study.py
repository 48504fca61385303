"""A validation study: how a model does on cases made from a user's own texts of known authors.

The record holds the Bayes factor of every case, with the texts by id and hash, so that whoever
doubts a figure can recompute it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import InputError, OptionError
from adhominem.evaluation.measures import Measure, measure_evidence
from adhominem.evaluation.pan import auc
from adhominem.records import (
    SCHEMA,
    OneOf,
    Options,
    Seed,
    Within,
    from_json,
    parsed_json,
    strict_json,
    with_schema,
)
from adhominem.score.decision import LOG_10
from adhominem.statistics import bootstrap, exact_interval
from adhominem.text.files import path_of, read_bytes
from adhominem.text.language import InLanguage

FEWEST_AUTHORS, FEWEST_CASES = 10, 30  # fewer, and the intervals are wide
_CLOSE = 1e-6  # how exactly the measures of a file are those of its cases

Count = Annotated[int, Within(0)]
CountFrom1 = Annotated[int, Within(1)]

MEASURES: dict[str, Measure] = {
    "auc": Measure(
        "AUC",
        "how often a same-author case has a greater Bayes factor than a different-author case",
    ),
    "cllr": Measure("Cllr", "cost of the Bayes factors in bits; saying nothing costs 1", False),
    "cllr_min": Measure("Cllr_min", "the part of it that no calibration could remove", False),
    "eer": Measure(
        "EER", "error rate at the threshold where both errors are equally frequent", False
    ),
    "misleading_same": Measure(
        "misleading, same author", "same-author cases with a Bayes factor below 1", False
    ),
    "misleading_same_10": Measure("… by more than 10", "with one below 1/10", False),
    "misleading_same_100": Measure("… by more than 100", "with one below 1/100", False),
    "misleading_different": Measure(
        "misleading, different authors", "different-author cases with a Bayes factor above 1", False
    ),
    "misleading_different_10": Measure("… by more than 10", "with one above 10", False),
    "misleading_different_100": Measure("… by more than 100", "with one above 100", False),
    "median_same": Measure(
        "median, same author", "log10 Bayes factor of the same-author cases", None
    ),
    "median_different": Measure(
        "median, different authors", "log10 Bayes factor of the different-author cases", None
    ),
}
# It is the best fit of a curve: in a resample, where cases come several times, there is more to
# fit, and the interval would lie beside the estimate.
_WITHOUT_INTERVAL = ("cllr_min",)


@dataclass(frozen=True, kw_only=True)
class StudyConditions(Options):
    """The conditions that the cases of a study were drawn under."""

    known: CountFrom1 = 1  # known texts a case
    words: CountFrom1 | None = None  # that each text was cut to; None: whole texts
    population: Annotated[str, OneOf("none", "input", "given")] = "none"
    population_source: str = ""  # where a given one is from
    population_sha256: str = ""
    population_size: CountFrom1 | None = None  # drawn for each case; None for all
    most_cases: CountFrom1 | None = None  # of each class
    seed: Seed = 0
    resamples: Count = 1000


@dataclass(frozen=True, kw_only=True)
class StudyText:
    """A text of the material."""

    id: str
    author: str
    words: int  # that were compared
    sha256: str  # of all its characters in UTF-8, before it was cut


@dataclass(frozen=True, kw_only=True)
class StudyCase:
    """A case of known authors; its texts are indices of the study's texts, from 0."""

    questioned: Count
    known: tuple[Count, ...]
    same_author: bool
    population_texts: Count
    log10_bayes_factor: float


@dataclass(frozen=True, kw_only=True)
class ValidationStudy(InLanguage):
    """How a model did on cases made from texts of known authors."""

    material: str  # its name
    conditions: StudyConditions
    authors: int  # who are in the cases
    same_author: int  # cases
    different_authors: int
    measures: dict[str, float]  # by the names in MEASURES
    intervals: dict[str, tuple[float, float]]  # 95%, over authors
    remarks: tuple[str, ...]
    model: str
    model_sha256: str
    version: str  # of AdHominem
    texts: tuple[StudyText, ...]
    cases: tuple[StudyCase, ...]

    def __post_init__(self) -> None:
        for number, case in enumerate(self.cases, start=1):
            if not case.known or max(case.questioned, *case.known) >= len(self.texts):
                raise OptionError(f"case {number} names texts that do not exist; validate again")
            by = {self.texts[at].author for at in case.known}
            is_same = by == {self.texts[case.questioned].author}
            if case.questioned in case.known or len(by) > 1 or is_same != case.same_author:
                raise OptionError(f"the sides of case {number} do not match; validate again")
        if len({case.same_author for case in self.cases}) < 2:
            raise OptionError("cases of both classes are expected")

    @classmethod
    def of(
        cls,
        texts: tuple[StudyText, ...],
        cases: tuple[StudyCase, ...],
        conditions: StudyConditions,
        *,
        on_resample: Callable[[], None] = lambda: None,
        remarks: tuple[str, ...] = (),
        **facts: Any,
    ) -> ValidationStudy:
        """The study of these cases, measured; `facts` are its other fields."""
        same = np.array([case.same_author for case in cases])
        factors = LOG_10 * np.array([case.log10_bayes_factor for case in cases])
        authors = [(texts[case.known[0]].author, texts[case.questioned].author) for case in cases]
        names = {name for pair in authors for name in pair}
        ends = bootstrap(
            lambda chosen: measure_cases(factors[chosen], same[chosen]),
            np.argsort(factors, kind="stable"),
            authors,
            conditions.resamples,
            conditions.seed,
            on_resample,
        )
        for name in _WITHOUT_INTERVAL:
            ends.pop(name, None)
        measures = measure_cases(factors, same)
        same_count = int(same.sum())
        different_count = len(cases) - same_count
        for name, value in measures.items():
            # Rates that resamples cannot vary: their interval is the exact one of independent
            # cases. How far the cases of one author depend on each other does not show here.
            if conditions.resamples and name.startswith("misleading") and value in (0, 1):
                count = same_count if name.startswith("misleading_same") else different_count
                ends[name] = exact_interval(round(value * count), count)
        return cls(
            conditions=conditions,
            authors=len(names),
            same_author=same_count,
            different_authors=different_count,
            measures=measures,
            intervals={name: pair for name, pair in ends.items() if not isnan(pair[0])},
            remarks=(*_few(len(names), same_count, different_count), *remarks),
            texts=texts,
            cases=cases,
            **facts,
        )

    @cached_property
    def truth(self) -> BoolArray:
        """(cases,): whether one author wrote both sides."""
        return np.array([case.same_author for case in self.cases])

    @cached_property
    def log_bayes_factor(self) -> FloatArray:
        """(cases,): in nats."""
        return LOG_10 * np.array([case.log10_bayes_factor for case in self.cases])

    @property
    def population_texts(self) -> tuple[int, int]:
        """The number of texts in the smallest and in the largest population."""
        sizes = [case.population_texts for case in self.cases]
        return min(sizes), max(sizes)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file that `validate` writes, to identify the study by."""
        return sha256(self.to_text().encode("utf-8")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The study as plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)

    def to_text(self) -> str:
        """The JSON file of the study."""
        return strict_json(self.to_json(), indent=1) + "\n"


def measure_cases(log_bayes_factor: FloatArray, same_author: BoolArray) -> dict[str, float]:
    """All of MEASURES for log Bayes factors (cases,) in nats; NaN where a class has no case."""
    if not same_author.any() or same_author.all():
        return dict.fromkeys(MEASURES, float("nan"))
    values = measure_evidence(log_bayes_factor, same_author)
    values["auc"] = auc(log_bayes_factor, same_author)
    values["median_same"] = float(np.median(log_bayes_factor[same_author])) / LOG_10
    values["median_different"] = float(np.median(log_bayes_factor[~same_author])) / LOG_10
    return {name: values[name] for name in MEASURES}


def read_study(path: str | Path) -> ValidationStudy:
    """The study in a file that `validate` wrote; an InputError describes any other file."""
    try:
        data = parsed_json(read_bytes(path_of(path)))
        if isinstance(data, dict):
            data.pop("skipped", None)  # what `--json` prints has it, too
        study = from_json(ValidationStudy, data, "study", schema=SCHEMA)
        measures = measure_cases(study.log_bayes_factor, study.truth)
        if set(measures) != set(study.measures):
            raise ValueError(f"study.measures are not {', '.join(MEASURES)}")
        if any(abs(study.measures[name] - value) > _CLOSE for name, value in measures.items()):
            raise ValueError("its measures are not those of its cases")
        return study
    except (ValueError, OptionError) as error:
        raise InputError(
            f"this is not a validation study, or it is damaged ({str(error)[:300]}); expected the "
            ".json that `adhominem validate` wrote",
            path,
        ) from None


def _few(authors: int, same_author: int, different_authors: int) -> list[str]:
    """Remarks on what makes the figures of a study uncertain."""
    remarks = []
    if authors < FEWEST_AUTHORS:
        remarks.append(
            f"only {authors} authors: the figures depend on who they happen to be, and the "
            f"intervals are rough; {FEWEST_AUTHORS} or more would be better"
        )
    for count, kind in ((same_author, "same-author"), (different_authors, "different-author")):
        if count < FEWEST_CASES:
            cases = "case" if count == 1 else "cases"
            remarks.append(
                f"only {count} {kind} {cases}: the intervals are wide, and what is rare may not "
                f"have been seen at all; {FEWEST_CASES} or more would be better"
            )
    return remarks
