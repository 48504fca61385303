"""The pages with candidates: the form with its answer. The templates are `web_case*.html`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import HTMLResponse
from markupsafe import Markup

from adhominem.attribute.ranking import Ranking
from adhominem.attribute.roll import Rolled
from adhominem.render.rank_page import RANK_STYLES, rank_fragment, rank_title
from adhominem.render.roll_page import ROLL_STYLES, page_title, roll_fragment
from adhominem.render.templates import markup, render
from adhominem.web.case_fields import RANK, ROLL, CandidateFields, CaseFields
from adhominem.web.pages import downloads, frame
from adhominem.web.service import Service

CASE_STYLES = {f"{RANK}.css": "\n".join(RANK_STYLES), f"{ROLL}.css": "\n".join(ROLL_STYLES)}
_TITLES = {RANK: "Which of these?", ROLL: "Which part?"}
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
    page = render(
        "web_case.html",
        title=("Result – " if answer else "Error – " if problem else "")
        + f"{_TITLES[fields.question]} AdHominem",
        **frame(service, f"/{fields.question}", wants_token=wants_token, problem=problem),
        fields=fields,
        candidates=fields.shown,
        new_candidate=CandidateFields(number=_PLACEHOLDER),
        answer=answer,
        downloads=downloads(answer) if answer else [],
    )
    return HTMLResponse(page, status)


def ranking_shown(ranking: Ranking, notes: Sequence[str]) -> Markup:
    """A ranking as HTML; `notes` says what was odd about the files."""
    return markup(
        "web_result.html", title=rank_title(ranking), notes=notes, fragment=rank_fragment(ranking)
    )


def rolled_shown(rolled: Rolled, notes: Sequence[str]) -> Markup:
    """A rolled text as HTML; `notes` says what was odd about the files."""
    return markup(
        "web_result.html", title=page_title(rolled), notes=notes, fragment=roll_fragment(rolled)
    )
