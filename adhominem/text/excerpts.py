"""Parts of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice


def first_words(text: str, words: int) -> str:
    """The beginning of a text, up to so many words."""
    ends: Iterator[re.Match[str]] = islice(re.finditer(r"\S+", text), words - 1, words)
    return next((text[: word.end()] for word in ends), text)
