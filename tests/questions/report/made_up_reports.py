"""Reports of cases that nobody worked on, for the tests of what is made from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import made_up
import numpy as np

from adhominem.evaluation.study import MEASURES
from adhominem.model.calibration import LikeCases, Validation
from adhominem.questions.report.details import CaseDetails, ItemDetails
from adhominem.questions.report.document import section_elements
from adhominem.questions.report.evidence import CalibrationFacts, StudyFacts, validation_facts
from adhominem.questions.report.formats import read_report
from adhominem.questions.report.report import (
    Report,
    ReportedInterval,
    ReportedPopulation,
    ReportedSensitivity,
    ReportedText,
    Settings,
)
from adhominem.score.decision import LOG_10, VerbalScale, probability_same_author
from adhominem.score.population import PopulationText
from adhominem.verify.cautions import Caution
from adhominem.verify.sensitivity import Influence
from adhominem.verify.verification import Likeness

DETAILS = CaseDetails(
    case="Crown v. Nobody",
    examiner="Dr. A. Example",
    qualification="Doctorate in linguistics",
    organisation="Institute of Letters",
    instructed_by="the court of Nowhere",
    instruction=f"Compare the letters of {made_up.BAD}",
    received="2 May 2026",
    custody="a sealed bag, kept in a safe",
    background="nothing but the dates",
    reviewed_by="B. Other",
    not_examined=("The paper, which is lost.",),
    items=(
        ItemDetails(
            file="second.txt", reference="K2", received="2 May, by post", origin="a transcript"
        ),
    ),
)


def report_in_page(path: Path) -> tuple[Report, str]:
    """The report on two sides that a page holds, and the page."""
    stored = read_report(path)
    assert isinstance(stored.report, Report)
    return stored.report, stored.data.decode("utf-8")


def validation(pairs: int = 400, seed: int = 0) -> Validation:
    """Pairs of known authors, as a model of some worth scores them."""
    rng = np.random.default_rng(seed)
    same = np.arange(pairs) % 2 == 0
    return Validation(
        ("letters",),
        rng.normal(np.where(same, 1.5, -1.5), 1.5).clip(-3, 4).astype(np.float32),
        same,
        np.zeros(pairs, np.int32),
        rng.integers(200, 900, pairs).astype(np.int32),
        np.ones(pairs, np.int32),
        np.zeros(pairs, np.int32),
        np.ones(pairs, dtype=bool),
    )


def study_facts(**changes: Any) -> StudyFacts:
    """Of a validation study on the examiner's own material."""
    given: dict[str, Any] = {
        "sha256": "77" * 32,
        "version": "1.2.3",
        "facts": {"Material": f"letters {made_up.BAD}: 80 texts by 16 authors", "Words": "whole"},
        "authors": 16,
        "measures": dict.fromkeys(MEASURES, 0.25),
        "intervals": {name: (0.125, 0.5) for name in MEASURES if name != "cllr_min"},
        "remarks": (f"left out: {made_up.BAD}",),
        "differences": ("words a text: 500 in the validation (the median), 90 and 80 here",),
        "shared_texts": 2,
    }
    return StudyFacts(**{**given, **changes})


def with_study(log10: float = 1.23, **changes: Any) -> Report:
    """A report with the examiner's own validation."""
    pairs = validation(seed=1)
    facts = validation_facts(LikeCases(pairs, "own", ()), log10 * LOG_10, study_facts(**changes))
    return report(log10, validation=facts, like=pairs)


def text(name: str, **changes: Any) -> ReportedText:
    given = {"sha256": "cd" * 32, "words": 1_234, "tokens": 1_400, "topic": "", "modified": ""}
    return ReportedText(name=name, **{**given, **changes})


def population_text(name: str, **changes: Any) -> PopulationText:
    return PopulationText(name=name, **{"sha256": "98" * 32, "words": 410, **changes})


def sensitivity(log10: float, **changes: Any) -> ReportedSensitivity:
    """Of the number with ten halves of a population."""
    given: dict[str, Any] = {
        "parts": 10,
        "texts": 25,
        "left_out": 25,
        "lowest": log10 - 0.4,
        "median": log10 + 0.1,
        "highest": log10 + 0.3,
    }
    return ReportedSensitivity(**{**given, **changes})


def like(cases: Validation, *dropped: str) -> LikeCases:
    return LikeCases(cases, "with a population of 20 texts or more", dropped)


def report(log10: float = 1.23, prior: float | None = None, **changes: Any) -> Report:
    """A report with everything that one may have."""
    pairs = validation()
    probability = None
    if prior is not None:
        probability = float(probability_same_author(log10 * LOG_10, prior))
    made = Report(
        details=DETAILS,
        date="2026-05-31",
        first=(text("letters/tom.txt", modified="2026-01-02 03:04 UTC"),),
        second=(text(made_up.BAD, topic="mills"), text("second.txt", sha256="ef" * 32)),
        log10_bayes_factor=log10,
        verbal=VerbalScale().sentence(log10),
        conditions="1 text against 2, about 1,400 words and marks a text, a population of 50 texts",
        reach=VerbalScale().reach(-1.34, 1.76),
        states=True,
        interval=ReportedInterval(
            low=log10 - 0.5, high=log10 + 0.4, low_is_bound=False, high_is_bound=True, level=0.95
        ),
        without_one_text=(log10 - 0.2, log10 + 0.1),
        prior_same_author=prior,
        probability_same_author=probability,
        population=ReportedPopulation(
            source="50 letters of the time",
            texts=50,
            sha256="ab" * 32,
            used=True,
            log10_bayes_factor_without=log10 + 1,
            sensitivity=sensitivity(log10),
            material=(population_text("letters/1.txt"), population_text(made_up.BAD, words=90)),
        ),
        influences=(
            Influence(name="Genre", value="that of the population", instead_of="", change=None),
            Influence(
                name="Length",
                value="1,400 words and marks a text",
                instead_of="texts of 650",
                change=0.31,
            ),
            Influence(
                name="Texts",
                value="1 against 2",
                instead_of="one against one, on average",
                change=0.12,
            ),
            Influence(name="Population", value="50 texts", instead_of="no population", change=-1.0),
        ),
        likeness=Likeness({"letters": 0.8, "blogs": 0.2}, 0.7),
        validation=validation_facts(like(pairs), log10 * LOG_10),
        calibration=CalibrationFacts(
            sets=("letters", "blogs"),
            same_author=1_039,
            authors=1_240,
            cllr_before=0.98,
            cllr_after=0.6,
            lower_bound=-1.34,
            upper_bound=1.76,
            at_bound=False,
        ),
        warnings=(Caution("short", f"fewer words than usual: {made_up.BAD}"),),
        model="general-en",
        model_sha256="01" * 32,
        members=("ngrams", "network"),
        version="1.2.3",
        settings=Settings(seed=7, draws=200, scale=VerbalScale().rungs, annex="full"),
        explanation=made_up.explanation(),
        like=pairs,
    )
    if "annex" in changes:
        changes["settings"] = replace(made.settings, annex=changes.pop("annex"))
    return replace(made, **changes)


def bare(log10: float = 1.23, **changes: Any) -> Report:
    """A report with nothing that one may be without."""
    lacking: dict[str, Any] = dict.fromkeys(
        ("interval", "population", "likeness", "validation", "calibration")
    )
    given = {**lacking, "details": CaseDetails(), "reach": "", "warnings": (), "like": None}
    return report(log10, **{**given, "without_one_text": (), **changes})


def silent(**changes: Any) -> Report:
    """A report that makes no statement."""
    caution = Caution("too_short", "too few words and marks to say anything", blocks_decision=True)
    given = {
        "states": False,
        "verbal": f"No statement is made: {caution.message}.",
        "warnings": (caution,),
    }
    return report(**{**given, **changes})


def with_population(**changes: Any) -> Report:
    """A report with another population, or with one that did something else."""
    made = report()
    assert made.population is not None
    return replace(made, population=replace(made.population, **changes))


ALL = {
    "for one author": report(),
    "unlike the cases": report(
        validation=validation_facts(like(validation(), "genre", "length of the texts"), 2.8)
    ),
    "each text of the population left out": with_population(
        sensitivity=sensitivity(0.1, parts=8, texts=7, left_out=1)
    ),
    "too small a population": with_population(texts=5, sensitivity=None),
    "a population of another genre": with_population(used=False, sensitivity=None),
    "texts of the population unknown": with_population(material=()),
    "for different authors": report(-0.9),
    "for neither": report(0.0),
    "beyond all pairs": report(1.76),
    "at a bound": replace(
        report(),
        calibration=replace(report().calibration, at_bound=True),  # type: ignore[type-var]
    ),
    "bare": bare(),
    "bare, for different authors": bare(-2.5),
    "no population, unlike the training texts": report(
        population=None, likeness=Likeness({"blogs": 1.0}, 2.4)
    ),
    "silent": silent(),
    "with a prior": report(prior=0.1),
    "with a prior, for different authors": report(-0.9, prior=0.1),
    "silent, with a prior": silent(prior_same_author=0.1),
    "far too great": bare(41.7),
    "with a study": with_study(),
    "with a short annex": report(annex="short"),
    "without an annex": report(annex="none", explanation=None),
    "with a study like the case": with_study(-0.9, remarks=(), differences=(), shared_texts=0),
}


def said(report: Report) -> list[str]:
    """Every sentence of a report but those of the heat maps."""
    sentences = []
    for section in section_elements(report):
        for element in section.iter():
            text = " ".join("".join(element.itertext()).split())
            if element.tag == "dt":
                sentences.append(f"{text}: ")
            elif element.tag == "dd":
                sentences[-1] += text
            elif element.tag in ("h1", "h2", "h3", "p", "li", "caption", "th", "td", "figcaption"):
                sentences.append(text)
            elif element.tag == "svg":
                sentences.append(element.attrib["aria-label"])
    return sentences
