"""JSON that every program reads: NaN, which JSON does not know, as null, infinity as a string.

And the way back for JSON that may be anybody's.
"""

from __future__ import annotations

import json
from typing import Any

_CONSTANTS = {"NaN": None, "Infinity": "inf", "-Infinity": "-inf"}


def strict_json(value: object, indent: int | None = None) -> str:
    """A value as strict JSON, its letters as they are."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if "NaN" in text or "Infinity" in text:  # be it in a string: then nothing changes
        plain = json.loads(text, parse_constant=_CONSTANTS.__getitem__)
        text = json.dumps(plain, ensure_ascii=False, indent=indent)
    return text


def parsed_json(data: bytes | str) -> Any:
    """What JSON in UTF-8 says; whatever is wrong with it is a ValueError."""
    try:
        return json.loads(data if isinstance(data, str) else data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
