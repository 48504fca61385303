"""What people see: the form with its answer, errors, and the description of the REST interface.

The templates are `web_*.html` in `adhominem/render/templates`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse

import adhominem
from adhominem.render import summary
from adhominem.render.gauge import gauge
from adhominem.render.html import explanation_fragment
from adhominem.render.templates import asset, markup, render, sentence
from adhominem.score.decision import VerbalScale, probability_same_author, show_probability
from adhominem.verify.cautions import Caution
from adhominem.verify.explanation import Explanation
from adhominem.web.failures import RequestError, json_bytes
from adhominem.web.service import Looked, Service

# The static files that may be asked for; no path of a request is ever opened.
_SCRIPTS = ("theme.js", "page.js", "sides.js", "candidates.js", "answer.js", "history.js")
STATIC = {
    "page.css": "text/css; charset=utf-8",
    **dict.fromkeys(_SCRIPTS, "text/javascript; charset=utf-8"),
    "icon.svg": "image/svg+xml",
}
_SHARED_STYLES = {
    "page.css": ("colours.css", "base.css", "gauge.css")
}  # those of all pages, before our own
PAGES = {  # the tabs
    "/": "Same author?",
    "/rank": "Which candidate?",
    "/roll": "Which part?",
    "/cluster": "How many writers?",
    "/contrast": "What differs?",
    "/search": "Who else?",  # where the server has an index
}
_RESULTS = (
    *("verification", "explanation", "ranking", "rolled", "clustering", "contrast"),
    "search_result",
)
EXAMPLE_TEXTS = {  # by their writers
    "Margery": ("margery-garden", "margery-railway", "margery-library"),
    "Dez": ("dez-bicycle", "dez-dog", "dez-landlord"),
}
EXAMPLES = {
    "one-writer": ("margery-garden", "margery-railway"),
    "two-writers": ("margery-railway", "dez-landlord"),
}
_OTHER_PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
_LONGEST_HEAD = 100  # characters of a caution that are shown before its rest is unfolded


@cache
def read_static(name: str) -> str:
    """The text of a static file; `name` must not come from a request."""
    text = (files("adhominem.web") / "static" / name).read_text("utf-8")
    return "\n".join((*map(asset, _SHARED_STYLES.get(name, ())), text))


def example(name: str) -> tuple[str, str]:
    """The two texts of an example; empty ones if there is no example of this name."""
    if name not in EXAMPLES:
        return "", ""
    first, second = map(example_text, EXAMPLES[name])
    return first, second


def example_text(name: str) -> str:
    """A text of an example, by its name; it must not come from a request."""
    return read_static(f"examples/{name}.txt").strip()


def form_page(
    service: Service,
    template: str,
    tab: str,
    fields: object,
    *,
    wants_token: bool,
    problem: str = "",
    answer: Mapping[str, Any] | None = None,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """A form as it was filled in, with what is wrong with it, or with the answer to it.

    `answer` holds what the page's script would get, event by event: `verdict`, `page`, and the
    result by its name. `more` is what the template takes beside all this.
    """
    state = "Result – " if answer else "Error – " if problem else ""
    verifier = service.verifier
    page = render(
        template,
        title=f"{state}{'' if tab == '/' else f'{PAGES[tab]} – '}AdHominem",
        tabs=tabs_of(service),
        tab=tab,
        wants_token=wants_token,
        problem=problem,
        population=service.population,
        most_bytes=service.limits.bytes,
        version=adhominem.__version__,
        model=verifier.name,
        model_sha256=verifier.sha256,
        fields=fields,
        answer=answer,
        downloads=downloads(answer) if answer else [],
        **more,
    )
    return HTMLResponse(page, status)


def tabs_of(service: Service) -> dict[str, str]:
    """The tabs that a server has, by their addresses."""
    left_out = () if service.searcher is not None else ("/search",)
    return {address: name for address, name in PAGES.items() if address not in left_out}


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
        tabs={},  # it may be refused to know what there is
        tab="",
        message=f"{message[:1].upper()}{message[1:]}.",
    )
    return HTMLResponse(page, error.status, error.headers)


def docs_page(service: Service, openapi: dict[str, Any], address: str) -> HTMLResponse:
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
        tabs=tabs_of(service),
        tab="/docs",
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
