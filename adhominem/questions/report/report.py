"""The report for a case: everything that readers of a Bayes factor must know to weigh it.

It states how probable the texts are if one person wrote both sides, and if a different person wrote
each; never who wrote them. It states a probability of one author only together with the prior that
it rests on, which is for the court to state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypedDict, Unpack

import adhominem
from adhominem.errors import OptionError
from adhominem.evaluation.study import ValidationStudy
from adhominem.jobs.run import part
from adhominem.model.calibration import Validation
from adhominem.questions.question import Answer
from adhominem.questions.report.details import CaseDetails, readable
from adhominem.questions.report.evidence import (
    CalibrationFacts,
    ValidationFacts,
    calibration_facts,
    check_study,
    like_cases,
    study_cases,
    study_facts_of,
    validation_facts,
)
from adhominem.records import UNWRITTEN, OneOf, Options, Within
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.decision import LOG_10, VerbalScale
from adhominem.score.population import Population, PopulationText
from adhominem.text.exhibits import Exhibit, SideTexts
from adhominem.text.sentences import count_words
from adhominem.verify.cautions import Caution
from adhominem.verify.explanation import Explanation, explain_comparison
from adhominem.verify.sensitivity import (
    DRAWS,
    Influence,
    Interval,
    bootstrap_interval,
    influences,
    population_sensitivity,
    text_sensitivity,
)
from adhominem.verify.verification import ComparedSides, Likeness, Side, Verification
from adhominem.verify.verifier import Verifier

MOST_DRAWS = 10_000  # more would move no digit that is shown
NO_ANNEX, SHORT_ANNEX, FULL_ANNEX = ANNEXES = ("none", "short", "full")
_ALL_BUT_INTERVAL = 0.4  # of the work, roughly


@dataclass(frozen=True, kw_only=True)
class ReportedText:
    """A text of one side as a report lists it."""

    name: str
    sha256: str  # of its file; of a text that came without one, of its characters
    words: int  # between white space
    tokens: int  # words and marks, as the model counts them
    topic: str
    modified: str  # when the file was last changed; empty where unknown


@dataclass(frozen=True, kw_only=True)
class ReportedSensitivity:
    """The log10 Bayes factors with parts of the population."""

    parts: int
    texts: int  # of each part
    left_out: int  # 1 where each text was left out in turn
    lowest: float
    median: float
    highest: float


@dataclass(frozen=True, kw_only=True)
class ReportedPopulation:
    """The relevant population of a case, and how it changed the result."""

    source: str  # where it is from, in the user's words
    texts: int
    sha256: str
    used: bool  # not if it seems to be of another genre than the texts
    log10_bayes_factor_without: float
    sensitivity: ReportedSensitivity | None  # None where it was not used, or is too small
    material: tuple[PopulationText, ...]  # its texts


@dataclass(frozen=True, kw_only=True)
class ReportedInterval:
    """The interval of the log10 Bayes factor, within the bounds of the calibration."""

    low: float
    high: float
    low_is_bound: bool
    high_is_bound: bool
    level: float


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """What a report depends on besides texts, population and model."""

    seed: Annotated[int, Within(0)]
    draws: Annotated[int, Within(1, MOST_DRAWS)]
    scale: tuple[tuple[float, str], ...]  # the verbal scale
    annex: Annotated[str, OneOf(*ANNEXES)] = SHORT_ANNEX


@dataclass(frozen=True, kw_only=True)
class Report(Answer):
    """All contents of a report on two sides."""

    details: CaseDetails
    date: str
    first: tuple[ReportedText, ...]
    second: tuple[ReportedText, ...]
    log10_bayes_factor: float
    verbal: str
    conditions: str  # in words
    reach: str  # what can be said at most under these conditions; empty without a calibration
    states: bool  # whether anything is stated; if not, `verbal` says why
    interval: ReportedInterval | None  # None where a text has too few passages
    # The log10 Bayes factors, rising, with each text of a side left out that has several.
    without_one_text: tuple[float, ...]
    prior_same_author: float | None  # stated by the court, not by us
    probability_same_author: float | None  # only together with the prior
    population: ReportedPopulation | None
    influences: tuple[Influence, ...]  # how each condition changed the number
    likeness: Likeness | None  # of the texts to those of training
    validation: ValidationFacts | None  # None where there is none under like conditions
    calibration: CalibrationFacts | None  # None where the model is not calibrated
    warnings: tuple[Caution, ...]
    model: str
    model_sha256: str
    members: tuple[str, ...]
    version: str  # of AdHominem
    settings: Settings
    # What figures are drawn from; not part of the JSON.
    explanation: Explanation | None = field(default=None, repr=False, metadata=UNWRITTEN)
    like: Validation | None = field(default=None, repr=False, metadata=UNWRITTEN)

    def __post_init__(self) -> None:
        prior, probability = self.prior_same_author, self.probability_same_author
        if probability is not None and prior is None:
            raise OptionError("a probability without its prior; expected both, or the prior alone")
        if prior is not None and not 0 < prior < 1:
            raise OptionError(f"the prior is {prior}; expected it to be above 0 and below 1")


class ReportOptions(TypedDict, total=False):
    """The options of any report, all of them optional."""

    population: Population | None
    population_source: str  # where it is from, in words
    details: CaseDetails
    date: str | None  # of the report, by default today
    seed: int
    draws: int
    scale: VerbalScale | None
    annex: str  # none, short or full
    modified: Mapping[str, str] | None  # dates of files by the texts' names: see `file_dates`


def make_report(
    verifier: Verifier,
    first: SideTexts,
    second: SideTexts,
    *,
    prior_same_author: float | None = None,
    validation: ValidationStudy | None = None,
    explained: bool = True,
    on_progress: Callable[[float], None] = lambda share: None,
    **options: Unpack[ReportOptions],
) -> Report:
    """Compare two sides, and report on the result.

    `validation` is a study of the same model on the examiner's own material, which replaces the
    model's own validation. No passages are shown if it is not `explained`, or has no annex.
    """
    if validation is not None:
        check_study(validation, verifier)
    seed, draws, scale = options.get("seed", 0), options.get("draws", DRAWS), options.get("scale")
    annex = options.get("annex", SHORT_ANNEX)
    scale = scale or VerbalScale()
    settings = Settings(seed=seed, draws=draws, scale=scale.rungs, annex=annex)
    explained = explained and annex != NO_ANNEX
    comparison = verifier.compare(first, second, options.get("population"), attention=explained)
    prior = 0.5 if prior_same_author is None else prior_same_author
    verification = verifier.judge(comparison, prior, scale=scale)
    explanation = None
    if explained:
        explanation = explain_comparison(
            comparison, verification, part(on_progress, 0, _ALL_BUT_INTERVAL)
        )
    interval = bootstrap_interval(
        comparison, draws=draws, seed=seed, on_progress=part(on_progress, _ALL_BUT_INTERVAL, 1)
    )
    like, study = like_cases(verifier.validation, comparison, verification.likeness), None
    if validation is not None:
        like, study = study_cases(validation), study_facts_of(validation, comparison)
    states, dates = verification.states, options.get("modified") or {}
    on_progress(1.0)
    return Report(
        details=options.get("details", CaseDetails()),
        date=report_date(options.get("date")),
        first=_texts(comparison.exhibits[0], verification.first, dates),
        second=_texts(comparison.exhibits[1], verification.second, dates),
        log10_bayes_factor=verification.log10_bayes_factor,
        verbal=verification.verbal,
        conditions=verification.conditions,
        reach=verification.reach,
        states=states,
        interval=_reported(interval, comparison.scored),
        without_one_text=tuple(factor / LOG_10 for factor in text_sensitivity(comparison)),
        prior_same_author=prior_same_author,
        probability_same_author=(
            verification.probability_same_author
            if states and prior_same_author is not None
            else None
        ),
        population=_population(
            comparison, options.get("population_source", ""), verification, seed
        ),
        influences=influences(comparison, verification.likeness),
        likeness=verification.likeness,
        validation=None
        if like is None
        else validation_facts(like, verification.log_bayes_factor, study),
        calibration=calibration_facts(verifier, comparison),
        warnings=verification.warnings,
        model=verification.model,
        model_sha256=verification.model_sha256,
        members=tuple(verifier.member_names),
        version=adhominem.__version__,
        settings=settings,
        explanation=explanation,
        like=None if like is None else like.cases,
    )


def _texts(
    exhibits: Sequence[Exhibit], side: Side, dates: Mapping[str, str]
) -> tuple[ReportedText, ...]:
    return tuple(
        ReportedText(
            name=material.name,
            sha256=material.sha256,
            words=count_words(exhibit.document.text),
            tokens=material.tokens,
            topic=exhibit.document.topic,
            modified=dates.get(material.name, ""),
        )
        for exhibit, material in zip(exhibits, side.documents, strict=True)
    )


def _reported(interval: Interval | None, scored: LogBayesFactors) -> ReportedInterval | None:
    """An interval in base 10, clipped to the bounds of the calibration."""
    if interval is None:
        return None
    bounds = float(scored.lower_bound[0]), float(scored.upper_bound[0])
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in (interval.low, interval.high))
    return ReportedInterval(
        low=low / LOG_10,
        high=high / LOG_10,
        low_is_bound=low != interval.low,
        high_is_bound=high != interval.high,
        level=interval.level,
    )


def _population(
    comparison: ComparedSides, source: str, verification: Verification, seed: int
) -> ReportedPopulation | None:
    population = comparison.population
    if population is None or verification.population is None:
        return None
    parts = population_sensitivity(comparison, seed=seed)
    return ReportedPopulation(
        source=readable(source),
        texts=population.texts,
        sha256=population.sha256,
        used=comparison.used is not None,
        log10_bayes_factor_without=verification.population.log10_bayes_factor_without,
        sensitivity=None
        if parts is None
        else ReportedSensitivity(
            parts=len(parts.log_bayes_factors),
            texts=parts.texts,
            left_out=parts.left_out,
            lowest=parts.log_bayes_factors[0] / LOG_10,
            median=parts.median / LOG_10,
            highest=parts.log_bayes_factors[-1] / LOG_10,
        ),
        material=population.material,
    )


def report_date(date: str | None = None) -> str:
    """The date as given, or now; SOURCE_DATE_EPOCH, if set, replaces the current time."""
    if date is not None:
        try:
            datetime.fromisoformat(date.removesuffix(" UTC"))
        except ValueError:
            raise OptionError(
                f"the date is {date!r}; expected one like 2026-05-31 or 2026-05-31 14:00"
            ) from None
        return date
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        if epoch and not epoch.isdecimal():
            raise ValueError
        return _shown(datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC))
    except (ValueError, OverflowError, OSError):
        raise OptionError(f"SOURCE_DATE_EPOCH is {epoch!r}; expected seconds since 1970") from None


def file_dates(exhibits: Sequence[Exhibit]) -> dict[str, str]:
    """The modification dates of texts that were read from files, by name."""
    dates = {}
    for exhibit in exhibits:
        path = Path(exhibit.document.id)
        if path.is_file():
            dates[exhibit.document.id] = _shown(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    return dates


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
