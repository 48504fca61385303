"""The files that pages are made of, and examples: all come with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

# What may be asked for, and as what it is sent; no path of a request is ever opened.
STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
EXAMPLES = {
    "one-writer": ("margery-garden", "margery-railway"),
    "two-writers": ("margery-garden", "dez-bicycle"),
}


@cache
def read_asset(name: str) -> str:
    """A file beside this module; `name` is never a visitor's."""
    return (files("adhominem.web") / "static" / name).read_text("utf-8")


def fill(name: str, **parts: str) -> str:
    """A page's template with its parts, which must be HTML."""
    return Template(read_asset(name)).substitute(parts)


def example(name: str) -> tuple[str, str]:
    """The texts of an example; empty ones if there is none of this name."""
    if name not in EXAMPLES:
        return "", ""
    first, second = (read_asset(f"examples/{each}.txt").strip() for each in EXAMPLES[name])
    return first, second
