"""Pages from templates: whatever is put into one is escaped, unless it is markup already.

The templates lie in `templates/`; `base.html` is the frame of every page that is a file of its own.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING

from adhominem.harmless import spelt_out

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment() -> Environment:
    """The one environment of all templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=PackageLoader("adhominem.render"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_showable,
    )
    made.filters["verbatim"] = verbatim
    return made


def render(template: str, **values: object) -> str:
    """A template filled with values; strings are made harmless and escaped on the way."""
    return environment().get_template(template).render(values)


def markup(template: str, **values: object) -> str:
    """A template as part of another one: what it renders is not escaped again."""
    from markupsafe import Markup

    return Markup(render(template, **values))


def verbatim(text: str) -> str:
    """Characters that read back as they were, except for those that no page may hold."""
    from markupsafe import Markup, escape

    readable = "".join(
        "\N{REPLACEMENT CHARACTER}" if letter == "\0" or "\ud800" <= letter <= "\udfff" else letter
        for letter in text
    )
    # A raw carriage return would be read as a line feed.
    return Markup(str(escape(readable)).replace("\r", "&#13;"))


def hash_source(text: str) -> str:
    """What a content security policy calls a script or a style by."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _showable(value: object) -> object:
    """Names and messages with their controls spelt out; markup and numbers as they are."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return spelt_out(value)
    return value
