"""The form that compares two sides: first the verdict, then the explanation and the report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi.responses import HTMLResponse

from adhominem.errors import AdHominemError
from adhominem.jobs.run import Run
from adhominem.model.calibration import LikeCases
from adhominem.model.folder import DEFAULT_MODEL, model_for
from adhominem.questions.question import Side, Texts
from adhominem.questions.report.ask import CaseReport
from adhominem.questions.report.document import report_page
from adhominem.questions.report.evidence import like_cases
from adhominem.questions.report.report import Report
from adhominem.questions.verify.ask import SameWriter, WhatSpeaks
from adhominem.records import Offered, Within
from adhominem.render import summary
from adhominem.render.drawings import gauge
from adhominem.render.html import explanation_fragment
from adhominem.render.templates import markup, sentence
from adhominem.score.decision import VerbalScale, probability_same_author, show_probability
from adhominem.text.exhibits import with_text
from adhominem.verify.cautions import Caution
from adhominem.verify.explanation import Explanation
from adhominem.verify.sensitivity import Influence, influences
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier
from adhominem.web.asking import ask, in_its_language
from adhominem.web.failures import as_request_error
from adhominem.web.lines import Tell, progress
from adhominem.web.pages import EXAMPLES, example_text
from adhominem.web.question_form import QuestionAnswerer, QuestionFields, SideFields
from adhominem.web.service import Service

_OTHER_PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
_LONGEST_HEAD = 100  # characters of a caution that are shown before its rest is unfolded
_NO_PRIOR = "0.5"  # what the form begins with: nobody has stated it


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What a comparison came to, what did that, and how cases of known authors came out."""

    verification: Verification
    influences: tuple[Influence, ...]
    like: LikeCases | None  # under like conditions, if the model was tried on any


@dataclass(frozen=True, kw_only=True)
class TwoSidesForm(SameWriter):
    """What the form asks for: a comparison, and whether an explanation or a report follows."""

    prior_same_author: Annotated[
        float, Within(above=0, below=1), Offered(field="prior"), "The prior of one author."
    ] = 0.5
    first_topic: Annotated[str, "What the first side is about."] = ""
    second_topic: Annotated[str, "What the second side is about."] = ""
    explained: Annotated[bool, Offered(field="explain"), "Show which passages matter."] = True
    reported: Annotated[bool, Offered(field="report"), "The report alone: the rest was sent."] = (
        False
    )
    case: Annotated[str, "The case's title or number."] = ""
    examiner: Annotated[str, "Who answers for the report."] = ""

    def answer(self, verifier: Verifier, run: Run) -> Looked:  # type: ignore[override]
        """The verification, with what is shown beside it."""
        comparison = run.comparison or verifier.compare(
            self.first.texts, self.second.texts, self.population.relevant(verifier, run)
        )
        verification = verifier.judge(comparison, self.prior_same_author, self.delta)
        return Looked(
            verification=verification,
            influences=influences(comparison, verification.likeness),
            like=like_cases(verifier.validation, comparison, verification.likeness),
        )


class Comparer(QuestionAnswerer):
    """Answers the form with two sides."""

    def show(self, fields: QuestionFields, **more: Any) -> HTMLResponse:
        """The page with the form."""
        return self.page(
            "web_page.html",
            "/",
            fields,
            knows_topics=self.service.knows_topics,
            knows_german=self.service.chooses and model_for("de") != DEFAULT_MODEL,
            **more,
        )

    def example(self, name: str) -> QuestionFields:
        """The form with the texts of an example."""
        sides = zip(("first", "second"), EXAMPLES.get(name, ()), strict=False)
        filled = {side: SideFields(pasted=[*map(example_text, texts)]) for side, texts in sides}
        return replace(self.empty, sides=filled)

    async def answer(self, fields: QuestionFields, tell: Tell, *, at_once: bool) -> None:
        """The comparison, with the report if it is all `at_once`; or the report alone."""
        async with self.service.in_time():
            question, notes = await self.asked(fields, tell)
            service, question = await in_its_language(self.service, question)
            assert isinstance(question, TwoSidesForm)
            question = await self._prepared(question, service, tell)
            report = CaseReport(
                language=question.language,
                first=question.first,
                second=question.second,
                population=question.population,
                case=question.case,
                examiner=question.examiner,
                # What the form begins with is nobody's prior: a report has no probability by it.
                prior_same_author=None
                if fields.settings["prior"] == _NO_PRIOR
                else question.prior_same_author,
            )
            if question.reported and not at_once:
                await self._report(report, service, tell, "Writing the report")
                return
            looked = await ask(service, question, progress(tell, "Reading the texts"))
        shown, result = verdict(looked, notes), looked.verification.to_json()
        tell({"verdict": shown, "verification": result})
        if question.explained:
            await self._explain(question, report if at_once else None, service, tell)

    async def _prepared(self, question: TwoSidesForm, service: Service, tell: Tell) -> TwoSidesForm:
        """The question with topics, and with a population that is encoded once for all answers."""
        given = question.population
        if given.documents:
            population = await service.find_population(
                given.documents, progress(tell, "Reading the population")
            )
            given = Texts(name=given.name, population=population)
        return replace(
            question,
            first=_on(question.first_topic, question.first),
            second=_on(question.second_topic, question.second),
            population=given,
        )

    async def _explain(
        self, question: TwoSidesForm, report: CaseReport | None, service: Service, tell: Tell
    ) -> None:
        """The explanation, with a report or not.

        If there can be none, that is said, and the verdict stands without it.
        """
        doing = "Looking at each passage"
        try:
            async with self.service.in_time():
                if report is not None:
                    explanation = (await self._report(report, service, tell, doing)).explanation
                else:
                    same = ("first", "second", "population", "prior_same_author", "language")
                    why = WhatSpeaks(**{name: getattr(question, name) for name in same})
                    explanation = await ask(service, why, progress(tell, doing))
        except AdHominemError as error:
            tell({"unexplained": f"There is no explanation: {as_request_error(error)}."})
            return
        if explanation is not None:
            shown = await asyncio.to_thread(explained, explanation)
            tell({"shown": shown, "explanation": explanation.to_json()})

    async def _report(
        self, question: CaseReport, service: Service, tell: Tell, doing: str
    ) -> Report:
        report: Report = await ask(service, question, progress(tell, doing))
        tell({"report": await asyncio.to_thread(report_page, report)})
        return report


def _on(topic: str, side: Side) -> Side:
    """A side whose texts are on a topic."""
    return Side(tuple(with_text(text, replace(text.document, topic=topic)) for text in side.texts))


def verdict(looked: Looked, notes: Sequence[str] = ()) -> str:
    """The answer to a comparison as HTML; `notes` says what was odd about the files."""
    verification, like = looked.verification, looked.like
    factor, prior = verification.log10_bayes_factor, verification.prior_same_author
    stated = verification.states

    def after(before: float) -> str:
        return show_probability(
            float(probability_same_author(verification.log_bayes_factor, before))
        )

    headline, number = summary.headline(verification), summary.signed(factor)
    bounds = verification.lower_bound, verification.upper_bound
    return markup(
        "web_verdict.html",
        verification=verification,
        stated=stated,
        headline=headline,
        leaning=("same" if factor > 0 else "diff") if stated else "none",
        label=f"{number}, {headline.lower()}" if stated else headline,
        factor=number,
        in_numbers=summary.in_numbers(factor),
        gauge=gauge(factor, *bounds, like) if stated else "",
        like=None if like is None else {**vars(like), "cases": len(like.cases)},
        influences=looked.influences,
        changes=[one for one in looked.influences if one.change is not None],
        signed=summary.signed,
        cautions=[*map(_folded, verification.warnings), *((note, "", False) for note in notes)],
        rungs=VerbalScale().rungs,
        not_a_verdict=summary.NOT_A_VERDICT,
        shift=summary.shift(verification),
        against_prior=summary.against_prior(verification),
        prior=f"{prior:g}",
        priors=[(f"{before:g}", after(before)) for before in sorted({*_OTHER_PRIORS, prior})],
        background=summary.background(verification),
    )


def _folded(caution: Caution) -> tuple[str, str, bool]:
    """A caution as what it says first and a folded rest; and whether it blocks a decision."""
    head, colon, rest = caution.message.partition(": ")
    if not colon or len(head) > _LONGEST_HEAD:
        return sentence(caution.message), "", caution.blocks_decision
    return sentence(head), sentence(rest), caution.blocks_decision


def explained(explanation: Explanation) -> str:
    """The heat maps of an explanation as HTML, under a heading."""
    return markup(
        "web_explanation.html", fragment=explanation_fragment(explanation, "contributions")
    )
