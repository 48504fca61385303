"""An n-gram model in its folder.

config.json           format, version, all settings, the scores on dev
ngrams.json           which n-grams are counted
model.safetensors     the weight of each, and the projection
styles.safetensors    kinds of text, and the two-covariance model
README.md, training_authors.txt, reference.safetensors, training.jsonl: as in any model
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.config import NgramConfig
from adhominem.encoders.ngram_encoder import NgramEncoder
from adhominem.encoders.ngrams import NgramTable
from adhominem.text.vocabulary import Vocabulary

NGRAMS = "ngrams"
NGRAM_FILES = ("config.json", "ngrams.json", "model.safetensors", "styles.safetensors")
_STRINGS = ("characters", "tokens", "symbols")
_ARRAYS = {
    "projection": ("weights", "projection", "projection_scale"),
    "profile": ("weights", "dimension", "sign"),
}

Weights = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class NgramModel:
    """A trained n-gram model as it lies in its folder."""

    config: NgramConfig
    table: NgramTable
    weights: Weights
    scores: dict[str, Any]  # on dev, by set
    folder: Path

    @property
    def vocabulary(self) -> Vocabulary:
        """The frequent token types: by them another language is recognised."""
        return Vocabulary(self.table.tokens, (), 1)

    def encoder(self) -> NgramEncoder:
        """The encoder, ready to run."""
        config = self.config
        return NgramEncoder(self.table, self.weights, config.lev_size, config.training.longest)


def write_ngram_model(
    folder: Path,
    *,
    config: NgramConfig,
    table: NgramTable,
    weights: Weights,
    scores: dict[str, Any],
    card: str,
    version: str,
    format_number: int,
) -> None:
    """Write config, n-grams, weights and card into an existing folder."""
    from safetensors.numpy import save

    description = {
        "format": format_number,
        "kind": NGRAMS,
        "adhominem": version,
        "config": config.to_json(),
        "scores": scores,
    }
    strings = {name: list(getattr(table, name)) for name in _STRINGS}
    ngrams = {"longest": table.longest, "unmasked": table.unmasked, **strings}
    codes = {name: getattr(table, name).astype(np.int32) for name in ("bigrams", "shaped_bigrams")}
    (folder / "model.safetensors").write_bytes(save({**weights, **codes}))
    for name, data in (("ngrams.json", ngrams), ("config.json", description)):
        text = json.dumps(data, ensure_ascii=False, indent=1 if name == "config.json" else None)
        (folder / name).write_text(text + "\n", "utf-8")
    (folder / "README.md").write_text(card, "utf-8")


def read_ngram_model(folder: Path, description: dict[str, Any]) -> NgramModel:
    """Read it back; what is wrong is raised as it comes, for `models.folder` to explain."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    config = NgramConfig.from_json(description["config"])
    try:
        weights: Weights = dict(load_file(folder / "model.safetensors"))
    except SafetensorError as error:
        raise ValueError(f"model.safetensors: {error}") from None
    found = json.loads((folder / "ngrams.json").read_text("utf-8"))
    table = NgramTable(
        longest=int(found["longest"]),
        unmasked=int(found["unmasked"]),
        characters=tuple(found["characters"]),
        tokens=tuple(found["tokens"]),
        symbols=tuple(found["symbols"]),
        bigrams=weights.pop("bigrams").astype(np.int64),
        shaped_bigrams=weights.pop("shaped_bigrams").astype(np.int64),
    )
    weights = {name: weights[name] for name in _ARRAYS[config.form]}
    _check(table, weights, config)
    return NgramModel(config, table, weights, dict(description["scores"]), folder)


def _check(table: NgramTable, weights: Weights, config: NgramConfig) -> None:
    """Whether files that came together belong together."""
    columns = sum(table.sizes)
    for name, value in weights.items():
        if len(value) != columns:
            raise ValueError(f"model.safetensors: {name} has {len(value)} rows of {columns}")
    if "projection" in weights and weights["projection"].shape[1] != config.lev_size:
        raise ValueError(f"model.safetensors: a projection to {weights['projection'].shape[1]}")
    limits = [
        ("bigrams", table.bigrams, (1 + table.unmasked) ** 2),
        ("shaped_bigrams", table.shaped_bigrams, (1 + len(table.symbols)) ** 2),
    ]
    if "dimension" in weights:
        limits.append(("dimension", weights["dimension"].astype(np.int64), config.lev_size))
    for name, numbers, limit in limits:
        if numbers.min(initial=0) < 0 or numbers.max(initial=0) >= limit:
            raise ValueError(f"model.safetensors: {name} with numbers not from 0 to {limit - 1}")
