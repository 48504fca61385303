"""The report for a case, and its check: on two sides, or on a disputed text and candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from adhominem.errors import OptionError
from adhominem.evaluation.study import ValidationStudy, read_study
from adhominem.jobs.run import Run
from adhominem.questions.question import (
    Input,
    Output,
    OwnScale,
    Page,
    Question,
    Side,
    Texts,
    cost,
    documents_in,
)
from adhominem.questions.report.candidates import (
    AnyReport,
    common_part,
    make_candidates_report,
)
from adhominem.questions.report.check import Difference, check_kind, check_report, named_model
from adhominem.questions.report.details import CaseDetails, read_details
from adhominem.questions.report.formats import FORMS, StoredReport, form_of, read_report
from adhominem.questions.report.report import (
    ANNEXES,
    MOST_DRAWS,
    SHORT_ANNEX,
    ReportOptions,
    file_dates,
    make_report,
    report_date,
)
from adhominem.questions.verify.ask import TIMES_EXPLAINED, RelevantPopulation, check_sides
from adhominem.records import Offered, OneOf, Within
from adhominem.score.decision import VerbalScale
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.sensitivity import DRAWS
from adhominem.verify.verifier import Verifier

Candidates = Annotated[
    dict[str, tuple[Exhibit, ...]],
    Input(
        option="--candidate",
        option_help="Instead of SECOND: a candidate's text, or a folder of them; several times.",
        is_compared=True,
    ),
]
_OF_TWO_SIDES = {
    "also_second": "--also-second",
    "topic_second": "--topic-second",
    "prior_same_author": "--prior",
    "validation": "--validation",
}
_OF_CANDIDATES = {"prior_none": "--none"}


def _check_sides(values: Mapping[str, Any]) -> None:
    """Raise an OptionError for both a second side and candidates, or what does not go with it."""
    check_sides(values)
    several = bool(values.get("candidates"))
    if several == (values.get("second") is not None):
        raise OptionError("expected either SECOND, or each candidate by --candidate")
    kind = "on two sides" if several else "with --candidate"
    for name, option in (_OF_TWO_SIDES if several else _OF_CANDIDATES).items():
        if values.get(name) not in (None, "", ()):
            raise OptionError(f"{option} is for a report {kind}; leave it out")


@dataclass(frozen=True, kw_only=True)
class CaseReport(Question):
    """Write the report for a case: the evidence, what it rests on, and where it ends."""

    name: ClassVar[str] = "report"
    explain: ClassVar[bool] = True
    runs_on: ClassVar[tuple[str, ...]] = ("device",)
    output: ClassVar[Output | None] = Output(
        "The .html, .pdf or .docx to write; may be given several times.",
        "an .html, .pdf or .docx",
        tuple(FORMS),
        is_required=True,
        is_repeated=True,
    )
    usage: ClassVar[str] = """
    FIRST and SECOND are as for `verify`. If there are several candidates, FIRST is the disputed
    text, and each of them is given by --candidate: the report then has a proposition and a Bayes
    factor for each. The .html is one file for a browser that needs nothing else; .pdf and .docx
    need the extra `report`. The same texts, settings and date give the same bytes.

    \b
        adhominem report letter.txt known-letters/ -o report.html
        adhominem report letter.txt known-letters/ -o report.pdf --population other-letters/
        adhominem report letter.txt known-letters/ -o report.docx --case-file case.toml
        adhominem report letter.txt known-letters/ -o report.html --validation study.json
        adhominem report letter.txt --candidate anne/ --candidate ben/ -o report.html --none 0.5
    """

    first: Annotated[Side, Input(is_compared=True, has_topic=True)]
    second: Annotated[Side | None, Input(is_compared=True, has_topic=True)] = None
    candidates: Candidates = field(default_factory=dict)
    population: RelevantPopulation = field(default_factory=Texts)
    scale: OwnScale = None
    validation: Annotated[
        ValidationStudy | None,
        Input(
            option="--validation",
            option_help="The .json of `validate`: its cases instead of the model's own.",
            reads=read_study,
        ),
    ] = None
    case_file: Annotated[
        CaseDetails,
        Input(
            option="--case-file",
            option_help="The details of the case, as TOML or JSON: see docs/report.md.",
            reads=read_details,
        ),
    ] = field(default_factory=CaseDetails)
    population_source: Annotated[str, "What the population is, in words.  [default: its path]"] = ""
    prior_same_author: Annotated[
        float | None,
        Within(above=0, below=1),
        "The court's prior probability of one author; without it no probability is given.",
        Offered("--prior"),
    ] = None
    prior_none: Annotated[
        float | None,
        Within(0, below=1),
        "The court's prior probability that none of the candidates wrote it; they share the rest "
        "evenly. Without it no probability is given.",
        Offered("--none", to=("command",)),
    ] = None
    draws: Annotated[int, Within(20, MOST_DRAWS), "Draws of passages for the interval."] = DRAWS
    seed: Annotated[
        int, Within(0), Offered(served=Within(0, 2**32)), "Repeats the draws of the interval."
    ] = 0
    annex: Annotated[
        str,
        OneOf(*ANNEXES),
        "What follows the first pages: nothing; lists, figures and the strongest passages; or "
        "whole texts with heat maps, too.",
    ] = SHORT_ANNEX
    case: Annotated[str, "The case's title or number."] = ""
    examiner: Annotated[str, "Who answers for the report."] = ""
    qualification: Annotated[str, "The examiner's qualification."] = ""
    date: Annotated[str | None, "The date of the report, like 2026-05-31.  [default: now]"] = None
    modified: dict[str, str] = field(default_factory=dict)  # when files were last changed, by name

    @classmethod
    def check(cls, values: Mapping[str, Any]) -> None:
        """Raise an error for a wrong call, a wrong date, or a format that lacks its library."""
        super().check(values)
        _check_sides(values)
        report_date(values.get("date"))
        for path in values.get("output", ()):
            form_of(path)

    @classmethod
    def of_paths(cls, run: Run, **values: Any) -> Self:
        """The question with texts from files, the dates of these, and the details of the case."""
        question = super().of_paths(run, **values)
        texts = [*question.first.texts, *(question.second.texts if question.second else ())]
        texts += [text for of_one in question.candidates.values() for text in of_one]
        if path := values.get("case_file"):
            question.case_file.check_items([text.document.id for text in texts], path)
        return replace(question, modified=file_dates(texts), date=report_date(question.date))

    def encoded(self) -> list[Document]:
        """The population: a report encodes what it explains by itself."""
        return list(self.population.documents)

    def work(self) -> int:
        """The texts are read many times."""
        return TIMES_EXPLAINED * cost([*self.first.documents, *documents_in(self.second)])

    def answer(self, verifier: Verifier, run: Run) -> AnyReport:
        """The report, on two sides or on several candidates."""
        options: ReportOptions = {
            "population": self.population.relevant(verifier, run),
            "population_source": self.population_source or self.population.name,
            "details": self.case_file.with_options(
                case=self.case, examiner=self.examiner, qualification=self.qualification
            ),
            "date": self.date,
            "seed": self.seed,
            "draws": self.draws,
            "scale": self.scale,
            "annex": self.annex,
            "modified": self.modified,
        }
        with run.watch("report", unit="share") as on_progress:
            if self.second is None:
                return make_candidates_report(
                    verifier,
                    self.first.texts,
                    self.candidates,
                    prior_none=self.prior_none,
                    on_progress=on_progress,
                    **options,
                )
            return make_report(
                verifier,
                self.first.texts,
                self.second.texts,
                prior_same_author=self.prior_same_author,
                validation=self.validation,
                on_progress=on_progress,
                **options,
            )

    def written(self, result: AnyReport, path: Path) -> bytes:
        """The report in the format of the file's ending."""
        return form_of(path).write(result)


@dataclass(frozen=True)
class ReportCheck:
    """The differences that a check of a report found."""

    differences: tuple[Difference, ...]
    own_scale: bool  # whether the report has a verbal scale other than AdHominem's
    has_population: bool  # whether the report rests on a population
    has_study: bool  # whether its cases of known authors are the examiner's own

    def to_json(self) -> dict[str, Any]:
        """The check as plain lists and strings."""
        return {
            "same": not self.differences,
            "differences": [vars(difference) for difference in self.differences],
            "own_scale": self.own_scale,
        }


@dataclass(frozen=True, kw_only=True)
class CheckReport(Question):
    """Compute a report again from its texts, and say what differs."""

    name: ClassVar[str] = "check-report"
    runs_on: ClassVar[tuple[str, ...]] = ("device",)
    output: ClassVar[Output | None] = None
    model_help: ClassVar[str] = "Where the model lies.  [default: the one that the report names]"
    usage: ClassVar[str] = """
    REPORT is the .html, .pdf or .docx that `report` wrote. Topics, seed, draws and prior are those
    of the report; its population, a verbal scale of its own, and a validation study must be given
    again, and all candidates, if it has several. Of a .docx that was edited, every paragraph that
    was changed is listed. Exit status: 0 if all is the same, 1 if not.

    \b
        adhominem check-report report.html letter.txt known-letters/
        adhominem check-report report.html letter.txt --candidate anne/ --candidate ben/
    """

    page_file: Annotated[StoredReport, Input(metavar="REPORT", reads=read_report)]
    first: Annotated[Side, Input(is_compared=True)]
    second: Annotated[Side | None, Input(is_compared=True)] = None
    candidates: Candidates = field(default_factory=dict)
    population: RelevantPopulation = field(default_factory=Texts)
    scale: OwnScale = None
    validation: Annotated[
        ValidationStudy | None,
        Input(
            option="--validation",
            option_help="The validation study that the report was made with, if it was.",
            reads=read_study,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind(self.page_file, several=bool(self.candidates))

    @classmethod
    def check(cls, values: Mapping[str, Any]) -> None:
        """Raise an OptionError for a wrong call."""
        super().check(values)
        _check_sides(values)

    @classmethod
    def page(cls) -> Page[ReportCheck]:
        """How the differences are shown."""
        from adhominem.questions.report.page import CHECKED

        return CHECKED

    @property
    def model(self) -> str:
        """The model that the report names."""
        return named_model(self.page_file)

    def answer(self, verifier: Verifier, run: Run) -> ReportCheck:
        """All differences between the report and what the texts give now."""
        population = self.population.relevant(verifier, run)
        with run.watch("checking", unit="share") as on_progress:
            differences = check_report(
                self.page_file,
                self.first.texts,
                None if self.second is None else self.second.texts,
                candidates=self.candidates,
                population=population,
                verifier=verifier,
                scale=self.scale,
                validation=self.validation,
                on_progress=on_progress,
            )
        reported = common_part(self.page_file.report)
        return ReportCheck(
            tuple(differences),
            own_scale=reported.settings.scale != VerbalScale().rungs,
            has_population=reported.population is not None,
            has_study=reported.validation is not None and reported.validation.study is not None,
        )
