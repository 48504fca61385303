"""Pages from templates: all values are escaped, unless they are markup already.

The templates are in `templates/`, with the style sheets and scripts. `base.html` is the frame of
every page that is a file of its own, `base.css` contains the style common to these pages, and
`colours.css` the colours of all pages, on light and on dark.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from adhominem.harmless import spelt_out

if TYPE_CHECKING:
    from jinja2 import Environment

_UNREADABLE = re.compile("[\0\ud800-\udfff]")


@cache
def environment() -> Environment:
    """The Jinja environment that all templates share, with autoescape and our filters."""
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
    made.filters["count"] = "{:,}".format
    made.filters["percent"] = lambda share, digits=0: f"{share:.{digits}%}"
    made.filters["sentence"] = sentence
    made.filters["plain"] = plain_number
    return made


def render(template: str, **values: object) -> str:
    """A template filled with values, in which strings are made harmless and escaped."""
    return environment().get_template(template).render(values)


def markup(template: str, **values: object) -> Markup:
    """A rendered template as markup, which is not escaped again inside another template."""
    return Markup(render(template, **values))


def render_page(
    template: str, styles: Sequence[str], script: str = "", images: str = "", **values: object
) -> str:
    """A complete page, which fetches nothing and allows no style or script but its own.

    `styles` follow the base style sheet, and `images` are the sources that images may come from,
    such as `data:`.
    """
    style = "\n".join((asset("colours.css"), asset("base.css"), *styles))
    sources = {"style-src": hash_source(style)}
    if script:
        sources["script-src"] = hash_source(script)
    if images:
        sources["img-src"] = images
    allowed = "".join(f"{name} {source}; " for name, source in sources.items())
    policy = Markup(f"default-src 'none'; {allowed}base-uri 'none'; form-action 'none'")
    return render(template, policy=policy, style=Markup(style), script=Markup(script), **values)


def asset(name: str) -> str:
    """A style sheet or a script from the folder of the templates."""
    return Path(__file__).with_name("templates").joinpath(name).read_text("utf-8")


def verbatim(text: str) -> Markup:
    """Characters unchanged, except for those that no page may contain."""
    readable = escape(_UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text))
    # A raw carriage return would be read as a line feed.
    return Markup(str(readable).replace("\r", "&#13;"))


def sentence(text: str) -> str:
    """A message as a sentence: with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def plain_number(value: float) -> str:
    """A number to two decimals, without the zeros at its end."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def embedded_json(data: Any, **options: Any) -> Markup:
    """Data for a <script> element, as JSON without any character that starts a tag or a comment."""
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(data, allow_nan=False, **options)


def hash_source(text: str) -> str:
    """The source expression for a script or a style in a content security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _showable(value: object) -> object:
    """Names and messages with control characters spelt out; markup and numbers unchanged."""
    if not isinstance(value, str) or value.isprintable() or isinstance(value, Markup):
        return value
    return spelt_out(value)
