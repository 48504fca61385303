"""Whom a model was trained on: training_authors.txt, hashes of their names.

Its Bayes factors are surer of these authors than of others, so calibration must keep off them.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import AUTHORS


def write_training_authors(folder: Path, names: list[str]) -> None:
    """Who wrote the training texts, as hashes: enough to ask whether somebody was among them."""
    hashes = sorted({_hash(name) for name in names if name})
    (folder / AUTHORS.name).write_text("".join(f"{each}\n" for each in hashes), "utf-8")


def trained_on(folder: Path, names: set[str]) -> set[str] | None:
    """Which of these authors the model was trained on; None where it does not say."""
    files = ModelFiles.at(folder)
    if not files.has(AUTHORS.name):
        return None
    with reading(folder, AUTHORS.name):
        known = set(files.read(AUTHORS).decode("utf-8").split())
    return {name for name in names if _hash(name) in known}


def _hash(name: str) -> str:
    return sha256(name.encode("utf-8")).hexdigest()[:16]
