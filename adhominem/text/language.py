"""Which language a text is in."""

from __future__ import annotations

from functools import cache
from typing import Any

from adhominem.text.files import Document

_FEWEST = 40  # characters, to say anything


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; empty if it is too short."""
    return str(_langid().classify(text)[0]) if len(text) >= _FEWEST else ""


def language_in(document: Document) -> str:
    """The language of a document."""
    return language_of(document.text)


@cache
def _langid() -> Any:
    from py3langid import langid  # takes a second

    return langid
