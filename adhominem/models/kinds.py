"""What the kinds of text are that a model knows, in words: kinds.json in its folder.

Kinds have the names of the training corpora, which mean nothing to others.
"""

from __future__ import annotations

import json
from pathlib import Path

from adhominem.errors import ModelError

_NAME = "kinds.json"


def read_kinds(folder: Path) -> dict[str, str]:
    """The words for each kind, by its name; none where the model does not say."""
    path = folder / _NAME
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise ValueError("no object of strings")
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{path} is damaged ({error}); expected an object like "
            '{"wright": "American fiction of 1851-75"}, or no such file'
        ) from None
    return found
