"""Whole pages: the form with its answer, an error, and the description of the REST interface."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from fastapi.responses import HTMLResponse

import adhominem
from adhominem.explain.explanation import Explanation
from adhominem.render.templates import verbatim as as_html
from adhominem.web.assets import fill
from adhominem.web.failures import RequestError, json_bytes
from adhominem.web.service import Service

_FILES = ".txt,.md,.docx,.pdf,.odt"
_SIDES = {
    "first": ("First side", "For example the text whose writer is in question."),
    "second": ("Second side", "For example texts of a person who may have written it."),
}


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What stands in the form."""

    first: str = ""
    second: str = ""
    first_topic: str = ""
    second_topic: str = ""
    prior: str = "0.5"
    explain: bool = True


def form_page(
    service: Service,
    filled: Filled,
    *,
    wants_token: bool = False,
    problem: str = "",
    answer: str = "",
    status: int = 200,
) -> HTMLResponse:
    """The page; `answer` is HTML, `problem` plain text."""
    verifier, population = service.verifier, service.population
    own = ""
    if population is not None:
        own = (
            '<p class="check"><input id="server-population" name="server_population" '
            'type="checkbox" value="yes" checked><label for="server-population">Compare with the '
            f"{population.texts:,} texts of this server, unless I give others</label></p>"
        )
    token = ""
    if wants_token:
        token = (
            # For the script, which sends it as a header, and shows the field. Without one, the
            # browser asks for a password: a field would have to be read before it is checked.
            '<p class="token" hidden><label for="token">Token of this server</label><input '
            'id="token" type="password" autocomplete="off" required '
            'aria-describedby="token-hint"><span id="token-hint" class="hint">Whoever runs the '
            "server has it. This page forgets it when it is closed.</span></p>"
            '<p class="hint" id="token-password">Your browser will ask for a password: that is '
            "the token of this server. The name beside it may be anything.</p>"
        )
    values = {name: getattr(filled, name) for name in _SIDES}
    topics = {name: getattr(filled, f"{name}_topic") for name in _SIDES}
    page = fill(
        "page.html",
        title=("Result – " if answer else "Error – " if problem else "") + "AdHominem",
        problem=_problem(problem) if problem else "",
        sides="\n".join(
            _side(name, values[name], topics[name], service.knows_topics) for name in _SIDES
        ),
        prior=as_html(filled.prior),
        server_population=own,
        token=token,
        explain="checked" if filled.explain else "",
        answer=answer,
        most_bytes=str(service.limits.bytes),
        version=as_html(adhominem.__version__),
        model=as_html(verifier.name),
        model_sha=as_html(f"SHA-256 {verifier.sha256[:12]}…"),
    )
    return HTMLResponse(page, status)


def error_page(error: RequestError) -> HTMLResponse:
    """For what goes wrong before there is a form."""
    page = fill("error.html", title="This cannot be answered", message=as_html(_sentence(error)))
    return HTMLResponse(page, error.status, error.headers)


def docs_page(openapi: dict[str, Any], address: str) -> HTMLResponse:
    """The REST interface for people, from its OpenAPI description; `address` is the server's."""
    sections = []
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            sections.append(_operation(f"{method.upper()} {path}", operation, openapi))
    page = fill(
        "docs.html",
        address=as_html(address),
        version=as_html(adhominem.__version__),
        sections="\n".join(sections),
    )
    return HTMLResponse(page)


def downloads(
    verification: dict[str, Any], explanation: Explanation | None, report: str = ""
) -> str:
    """Links that hold what they offer: nothing is kept on the server for them."""
    links = [_link("verification.json", "application/json", json_bytes(verification))]
    if explanation is not None:
        told = json_bytes(explanation.to_json())
        links.append(_link("explanation.json", "application/json", told))
    if report:
        links.append(_link("report.html", "text/html", report.encode("utf-8", "replace")))
    return f'<p class="downloads" id="downloads">Download: {" ".join(links)}</p>'


def _link(name: str, media_type: str, data: bytes) -> str:
    encoded = base64.b64encode(data).decode()
    return f'<a download="adhominem-{name}" href="data:{media_type};base64,{encoded}">{name}</a>'


def _problem(message: str) -> str:
    return f"<h2>Please look again</h2><p>{as_html(message)}</p>"


def _sentence(error: RequestError) -> str:
    message = str(error)
    return f"{message[:1].upper()}{message[1:]}."


def _side(name: str, text: str, topic: str, knows_topics: bool) -> str:
    title, hint = _SIDES[name]
    asked = ""
    if knows_topics:
        asked = (
            f'<label for="{name}-topic">What it is about <span class="optional">(optional)</span>'
            f'</label><input id="{name}-topic" name="{name}_topic" value="{as_html(topic)}">'
        )
    # A line feed after the tag is not part of the value, so one that begins the text is not lost.
    return f"""<fieldset class="side" id="{name}-side" data-side="{name}">
<legend>{title}</legend>
<p class="hint" id="{name}-hint">{hint} Several texts of a side must be by one person.</p>
<div class="texts">
<div class="text"><label for="{name}-text">Paste a text</label>
<textarea id="{name}-text" name="{name}_text" rows="12" spellcheck="false" autocomplete="off" \
aria-describedby="{name}-hint {name}-count">
{as_html(text)}</textarea></div>
</div>
<p class="count" id="{name}-count"></p>
<p class="more" hidden><button type="button" class="plain" data-add>Add another text</button></p>
<div class="drop">
<label for="{name}-files">or choose files<span class="droppable"> (or drop them here)</span>:
.txt, .docx, .pdf, .odt</label>
<input id="{name}-files" name="{name}_file" type="file" multiple accept="{_FILES}">
<ul class="files" aria-label="Chosen files, {title.lower()}"></ul>
</div>
{asked}
</fieldset>"""


def _with_code(text: str) -> str:
    return re.sub("`(.+?)`", r"<code>\1</code>", as_html(text))


def _operation(title: str, operation: dict[str, Any], openapi: dict[str, Any]) -> str:
    method, path = title.split()
    parts = [
        f"<h2><code>{as_html(title)}</code></h2><p><strong>{as_html(operation['summary'])}.</strong>"
    ]
    paragraphs = operation.get("description", "").strip().split("\n\n")
    parts.append("</p>" + "".join(f"<p>{_with_code(each)}</p>" for each in paragraphs if each))
    body = operation.get("requestBody")
    if body:
        reference = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        schema = openapi["components"]["schemas"][reference]
        for example in schema.get("examples", []):
            shown = json.dumps(example, indent=2, ensure_ascii=False)
            parts.append(f"<pre><code>{as_html(shown)}</code></pre>")
        described = "".join(
            f"<dt><code>{as_html(name)}</code></dt><dd>{as_html(field['description'])}</dd>"
            for name, field in schema["properties"].items()
            if "description" in field
        )
        parts.append(f"<dl>{described}</dl>" if described else "")
    answers = "".join(
        f"<li>{status}: {as_html(each['description'])}</li>"
        for status, each in operation["responses"].items()
        if status != "200"
    )
    parts.append(f"<details><summary>Errors</summary><ul>{answers}</ul></details>")
    return f'<section aria-label="{as_html(f"{method} {path}")}">{"".join(parts)}</section>'
