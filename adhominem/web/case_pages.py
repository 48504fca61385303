"""The pages with candidates: the form with its answer. The templates are `web_case*.html`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastapi.responses import HTMLResponse
from markupsafe import Markup

from adhominem.questions.rank.page import RANK_STYLES, rank_fragment, rank_title
from adhominem.questions.rank.ranking import Ranking
from adhominem.questions.roll.page import ROLL_STYLES, page_title, roll_fragment
from adhominem.questions.roll.roll import Rolled
from adhominem.render.templates import markup
from adhominem.web.case_fields import RANK, ROLL, CandidateFields, CaseFields
from adhominem.web.pages import EXAMPLE_TEXTS, answer_page, example_text
from adhominem.web.service import Service

CASE_STYLES = {f"{RANK}.css": "\n".join(RANK_STYLES), f"{ROLL}.css": "\n".join(ROLL_STYLES)}
_EXAMPLE = "two-writers"
_PLACEHOLDER = 0  # the number of the candidate that the script makes others of


def case_page(
    service: Service,
    fields: CaseFields,
    *,
    wants_token: bool = False,
    problem: str = "",
    answer: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HTMLResponse:
    """The form as it was filled in, with what is wrong with it, or with the answer to it.

    `answer` holds what the page's script would be told, event by event: `verdict`, `page`, and
    `ranking` or `rolled`.
    """
    return answer_page(
        service,
        "web_case.html",
        f"/{fields.question}",
        fields,
        wants_token=wants_token,
        problem=problem,
        answer=answer,
        status=status,
        candidates=fields.shown,
        new_candidate=CandidateFields(number=_PLACEHOLDER),
    )


def example_fields(question: str, name: str) -> CaseFields:
    """The form with the texts of an example; as it begins if there is no example of this name."""
    fields = CaseFields.empty(question)
    if name != _EXAMPLE:
        return fields
    texts = {name: [example_text(one) for one in of] for name, of in EXAMPLE_TEXTS.items()}
    (garden, *of_margery), (bicycle, *of_dez) = texts.values()
    known = dict(zip(texts, (of_margery, of_dez), strict=True))
    if question == ROLL:
        settings = {**fields.settings, "words": "150", "step": "25", "passage": "500"}
        fields = replace(fields, pasted=[f"{garden}\n\n{bicycle}"], settings=settings)
    else:
        fields = replace(fields, pasted=[garden])
    candidates = [
        CandidateFields(number=number, name=writer, pasted=pasted)
        for number, (writer, pasted) in enumerate(known.items(), start=1)
    ]
    return replace(fields, candidates=candidates)


def ranking_shown(ranking: Ranking, notes: Sequence[str]) -> Markup:
    """A ranking as HTML; `notes` says what was odd about the files."""
    return markup(
        "web_result.html", title=rank_title(ranking), notes=notes, fragment=rank_fragment(ranking)
    )


def rolled_shown(rolled: Rolled, notes: Sequence[str]) -> Markup:
    """A rolled text as HTML; `notes` says what was odd about the files."""
    return markup(
        "web_result.html",
        title=page_title(rolled).removesuffix(" the text"),
        notes=notes,
        fragment=roll_fragment(rolled),
    )
