"""What people see: the form with its answer, errors, and the description of the REST interface.

The templates are `web_*.html` in `adhominem/render/templates`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse

import adhominem
from adhominem.render.templates import asset, render
from adhominem.text.language import LANGUAGES
from adhominem.web.failures import RequestError, json_bytes
from adhominem.web.service import Service

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
EXAMPLES = {  # the texts of two sides
    "one-writer": (("margery-garden",), ("margery-railway",)),
    "two-writers": (("margery-library",), ("silas-ferry",)),
    "german": (("hedwig-garten", "hedwig-schule"), ("jonas-umzug", "jonas-rad")),
}


@cache
def read_static(name: str) -> str:
    """The text of a static file; `name` must not come from a request."""
    text = (files("adhominem.web") / "static" / name).read_text("utf-8")
    return "\n".join((*map(asset, _SHARED_STYLES.get(name, ())), text))


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
        languages=dict(sorted(LANGUAGES.items(), key=lambda row: row[1])),
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
