"""JSON that every program reads: NaN, which JSON does not know, as null, infinity as a string."""

from __future__ import annotations

import json

_CONSTANTS = {"NaN": None, "Infinity": "inf", "-Infinity": "-inf"}


def strict_json(value: object, indent: int | None = None) -> str:
    """A value as strict JSON, its letters as they are."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if "NaN" in text or "Infinity" in text:  # be it in a string: then nothing changes
        plain = json.loads(text, parse_constant=_CONSTANTS.__getitem__)
        text = json.dumps(plain, ensure_ascii=False, indent=indent)
    return text
