"""What people see: the form with its answer, errors, and the description of the REST interface.

The templates are `web_*.html` in `adhominem/render/templates`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import isfinite
from typing import Any

from fastapi.responses import HTMLResponse

import adhominem
from adhominem.explain.explanation import Explanation
from adhominem.render.html import explanation_fragment
from adhominem.render.summary import NOT_A_VERDICT, background, in_numbers, signed
from adhominem.render.templates import markup, render
from adhominem.scoring.decision import NONE, VerbalScale, probability_same_author, show_probability
from adhominem.verify.verification import Verification
from adhominem.web.failures import RequestError, json_bytes
from adhominem.web.form_fields import FormFields
from adhominem.web.service import Service

# The static files that may be asked for; no path of a request is ever opened.
STATIC = {
    "page.css": "text/css; charset=utf-8",
    **dict.fromkeys(
        ("page.js", "sides.js", "candidates.js", "answer.js"), "text/javascript; charset=utf-8"
    ),
    "icon.svg": "image/svg+xml",
}
PAGES = {  # the tabs
    "/": "Same author?",
    "/rank": "Which of these?",
    "/roll": "Which part?",
    "/cluster": "How many writers?",
    "/contrast": "What differs?",
}
_RESULTS = ("verification", "explanation", "ranking", "rolled", "clustering", "contrast")
EXAMPLES = {
    "one-writer": ("margery-garden", "margery-railway"),
    "two-writers": ("margery-garden", "dez-bicycle"),
}
_OTHER_PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
_GAUGE_END = 6  # decades on either side
_GAUGE_LEVELS = 6  # of colour
_DECADES_A_TICK = 2


@cache
def read_static(name: str) -> str:
    """The text of a static file; `name` must not come from a request."""
    return (files("adhominem.web") / "static" / name).read_text("utf-8")


def example(name: str) -> tuple[str, str]:
    """The two texts of an example; empty ones if there is no example of this name."""
    if name not in EXAMPLES:
        return "", ""
    first, second = (read_static(f"examples/{text}.txt").strip() for text in EXAMPLES[name])
    return first, second


def form_page(
    service: Service,
    fields: FormFields,
    *,
    wants_token: bool = False,
    problem: str = "",
    answer: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HTMLResponse:
    """The form as it was filled in, with what is wrong with it, or with the answer to it.

    `answer` holds what the page's script would be told, event by event: `verdict`, `verification`,
    and, if they were asked for, `shown`, `explanation` and `report`, or `unexplained`.
    """
    page = render(
        "web_page.html",
        title=("Result – " if answer else "Error – " if problem else "") + "AdHominem",
        **frame(service, "/", wants_token=wants_token, problem=problem),
        fields=fields,
        answer={"shown": "", "unexplained": "", **answer} if answer else None,
        downloads=downloads(answer) if answer else [],
        knows_topics=service.knows_topics,
    )
    return HTMLResponse(page, status)


def answer_page(
    service: Service,
    template: str,
    tab: str,
    fields: object,
    *,
    wants_token: bool = False,
    problem: str = "",
    answer: Mapping[str, Any] | None = None,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """A form as it was filled in, with what is wrong with it, or with the answer to it.

    `answer` holds what the page's script would be told, event by event: `verdict`, `page`, and
    the result by its name. `more` is what the template takes beside all this.
    """
    page = render(
        template,
        title=("Result – " if answer else "Error – " if problem else "")
        + f"{PAGES[tab]} AdHominem",
        **frame(service, tab, wants_token=wants_token, problem=problem),
        fields=fields,
        answer=answer,
        downloads=downloads(answer) if answer else [],
        **more,
    )
    return HTMLResponse(page, status)


def in_parts(text: str, most: int) -> list[str]:
    """A text as so many at most, cut between paragraphs."""
    paragraphs = text.split("\n\n")
    size = -(-len(paragraphs) // most)
    return [
        "\n\n".join(paragraphs[begin : begin + size]) for begin in range(0, len(paragraphs), size)
    ]


def frame(service: Service, tab: str, *, wants_token: bool, problem: str) -> dict[str, Any]:
    """What all pages with a form show: the tabs, what is wrong, and what is served."""
    verifier = service.verifier
    return {
        "tabs": PAGES,
        "tab": tab,
        "wants_token": wants_token,
        "problem": problem,
        "population": service.population,
        "most_bytes": service.limits.bytes,
        "version": adhominem.__version__,
        "model": verifier.name,
        "model_sha256": verifier.sha256,
    }


def downloads(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names, and addresses that hold the data: nothing is kept on the server for them."""
    made = [
        (f"{name}.json", "application/json", json_bytes(answer[name]))
        for name in _RESULTS
        if name in answer
    ]
    made += [
        (f"{name}.html", "text/html", answer[name].encode("utf-8", "replace"))
        for name in ("report", "page")
        if name in answer
    ]
    return [
        (name, f"data:{media_type};base64,{base64.b64encode(data).decode()}")
        for name, media_type, data in made
    ]


def error_page(error: RequestError) -> HTMLResponse:
    """A page for a request that is refused before its form is read."""
    message = str(error)
    page = render(
        "web_error.html",
        title="This cannot be answered – AdHominem",
        message=f"{message[:1].upper()}{message[1:]}.",
    )
    return HTMLResponse(page, error.status, error.headers)


def docs_page(openapi: dict[str, Any], address: str) -> HTMLResponse:
    """The REST interface for people, from its OpenAPI description; `address` is the server's."""

    def schema_of(operation: dict[str, Any]) -> dict[str, Any]:
        if "requestBody" not in operation:
            return {}
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema: dict[str, Any] = openapi["components"]["schemas"][reference.rpartition("/")[2]]
        return schema

    page = render(
        "web_docs.html",
        title="REST interface – AdHominem",
        address=address,
        version=adhominem.__version__,
        operations=[
            (f"{method.upper()} {path}", operation, schema_of(operation))
            for path, methods in openapi["paths"].items()
            for method, operation in methods.items()
        ],
        as_json=lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    )
    return HTMLResponse(page)


def verdict(verification: Verification, notes: Sequence[str] = ()) -> str:
    """The answer to a comparison as HTML; `notes` says what was odd about the files."""
    factor, prior = verification.log10_bayes_factor, verification.prior_same_author

    def after(before: float) -> str:
        return show_probability(
            float(probability_same_author(verification.log_bayes_factor, before))
        )

    return markup(
        "web_verdict.html",
        verification=verification,
        notes=notes,
        stated=not any(warning.decides for warning in verification.warnings),
        factor=signed(factor),
        in_numbers=in_numbers(factor),
        gauge=_gauge(factor),
        rungs=VerbalScale().rungs,
        not_a_verdict=NOT_A_VERDICT,
        probability=show_probability(verification.probability_same_author),
        prior=f"{prior:g}",
        priors=[(f"{before:g}", after(before)) for before in sorted({*_OTHER_PRIORS, prior})],
        background=background(verification),
    )


def explained(explanation: Explanation) -> str:
    """The heat maps of an explanation as HTML, under a heading."""
    return markup("web_explanation.html", fragment=explanation_fragment(explanation))


def _gauge(log10_bayes_factor: float) -> dict[str, Any]:
    """A picture of a log10 Bayes factor on the verbal scale: what stands where, in per cent."""

    def place(log10: float) -> float:
        return round(50 + 50 * log10 / _GAUGE_END, 2)

    scale = VerbalScale()
    starts = [start for start, _ in scale.rungs]
    ends = [*starts, max(_GAUGE_END, starts[-1] + 1)]
    bands = []
    first = 0 if scale.rungs[0][1] == NONE else 1  # the colour of neither side, or the palest
    for rung, (low, high) in enumerate(pairwise(ends), start=first):
        width, level = f"{place(high) - place(low):g}", min(rung, _GAUGE_LEVELS)
        bands += [("same", level, place(low), width), ("diff", level, place(-high), width)]
    ticks = range(-_GAUGE_END, _GAUGE_END + 1, _DECADES_A_TICK)
    value = log10_bayes_factor if isfinite(log10_bayes_factor) else 0.0
    # The words go to the side of the pointer where they stay on the page.
    outer = "end" if value > 0 else "start"
    return {
        "end": _GAUGE_END,
        "bands": bands,
        "ticks": [(place(decade), signed(decade, 0)) for decade in ticks],
        "place": f"{place(min(max(value, -_GAUGE_END), _GAUGE_END)):g}",
        "anchor": "middle" if abs(value) < _GAUGE_END / 2 else outer,
        "words": scale.words(value),
    }
