"""What the genres are that a model knows, in words: genres.json in its folder.

Kinds have the names of the training corpora, which mean nothing to others.
"""

from __future__ import annotations

from pathlib import Path

from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import GENRES

_REMEDY = (
    'expected an object like {"wright": "American fiction of 1851-75"}, or no such file; '
    "mend or remove it"
)


def read_genres(folder: Path | ModelFiles) -> dict[str, str]:
    """The words for each genre, by its name; none where the model does not say."""
    files = ModelFiles.at(folder)
    if not files.has(GENRES.name):
        return {}
    with reading(files.folder, GENRES.name, _REMEDY):
        found = files.json(GENRES)
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise ValueError("no object of strings")
        return found
