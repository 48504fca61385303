"""An n-gram model in its folder, whose files `models.layout` names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.config import NgramConfig
from adhominem.encoders.ngrams.counter import CHANNELS, NgramTable
from adhominem.encoders.ngrams.encoder import NgramEncoder
from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import CARD, CONFIG, NGRAM_LIST, NGRAMS, WEIGHTS
from adhominem.models.styles import read_styles
from adhominem.models.tensors import Header, Shapes, check_shapes
from adhominem.models.typicality import Typicality, read_typicality
from adhominem.scoring.styles import Styles
from adhominem.text.vocabulary import Vocabulary

_STRINGS = ("characters", "tokens", "symbols")
_ARRAYS = {
    "projection": {"weights": "F32", "projection": "I8", "projection_scale": "F32"},
    "profile": {"weights": "F32", "dimension": "I32", "sign": "I8"},
}
_BIGRAMS = ("bigrams", "shaped_bigrams")

Weights = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class NgramModel:
    """A trained n-gram model as it lies in its folder."""

    config: NgramConfig
    table: NgramTable
    weights: Weights
    scores: dict[str, Any]  # on dev, by set
    folder: Path
    typicality: Typicality | None = None
    styles: Styles | None = None

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
        "architecture": NGRAMS,
        "adhominem": version,
        "config": config.to_json(),
        "scores": scores,
    }
    strings = {name: list(getattr(table, name)) for name in _STRINGS}
    ngrams = {"longest": table.longest, "unmasked": table.unmasked, **strings}
    codes = {name: getattr(table, name).astype(np.int32) for name in _BIGRAMS}
    (folder / WEIGHTS.name).write_bytes(save({**weights, **codes}))
    for file, data in ((NGRAM_LIST, ngrams), (CONFIG, description)):
        text = json.dumps(data, ensure_ascii=False, indent=1 if file is CONFIG else None)
        (folder / file.name).write_text(text + "\n", "utf-8")
    (folder / CARD.name).write_text(card, "utf-8")


def read_ngram_model(files: ModelFiles, description: dict[str, Any]) -> NgramModel:
    """Read it back."""
    with reading(files.folder, CONFIG.name):
        config = NgramConfig.from_json(description["config"])
    with reading(files.folder, NGRAM_LIST.name):
        found = files.json(NGRAM_LIST)
        strings = {name: _strings(found, name) for name in _STRINGS}
        longest, unmasked = found["longest"], found["unmasked"]
        _check_numbers(longest, unmasked, strings, config)
    with reading(files.folder, WEIGHTS.name):
        arrays, _ = files.tensors(
            WEIGHTS, lambda header, _: check_shapes(header, _shapes(header, strings, config))
        )
        codes = {name: arrays[name].astype(np.int64) for name in _BIGRAMS}
        table = NgramTable(longest=longest, unmasked=unmasked, **strings, **codes)  # type: ignore[arg-type]
        weights = {name: arrays[name] for name in _ARRAYS[config.form]}
        _check_codes(table, weights, config)
    return NgramModel(
        config,
        table,
        weights,
        description["scores"],
        files.folder,
        read_typicality(files, config.lev_size),
        read_styles(files, config.lev_size),
    )


def _strings(found: Any, name: str) -> tuple[str, ...]:
    strings = found[name]
    if not isinstance(strings, list) or not all(isinstance(each, str) for each in strings):
        raise ValueError(f"{name} is no list of strings")
    if len(set(strings)) < len(strings):
        raise ValueError(f"one of the {name} is there twice")
    return tuple(strings)


def _check_numbers(
    longest: Any, unmasked: Any, strings: dict[str, tuple[str, ...]], config: NgramConfig
) -> None:
    """No more than config.json says, whose numbers have bounds."""
    options = config.ngrams
    for name, number, most in (
        ("longest", longest, options.longest),
        ("unmasked", unmasked, min(options.unmasked, len(strings["tokens"]))),
        ("characters", len(strings["characters"]), options.characters),
        ("tokens", len(strings["tokens"]), options.tokens),
        ("symbols", len(strings["symbols"]), options.shapes),
    ):
        if type(number) is not int or not 0 <= number <= most:
            raise ValueError(f"{name} is {str(number)[:100]}; config.json expects {most} at most")


def _shapes(header: Header, strings: dict[str, tuple[str, ...]], config: NgramConfig) -> Shapes:
    """What the arrays must be: of the bigrams no other file says how many there are."""
    sizes = {name: len(own) for name, own in strings.items()}
    for name in _BIGRAMS:
        if name not in header or len(header[name].shape) != 1:
            raise ValueError(f"there is no row of {name} in it")
        sizes[name] = header[name].shape[0]
        if sizes[name] > getattr(config.ngrams, name):
            raise ValueError(f"{sizes[name]:,} {name}; config.json has fewer")
    columns = sum(sizes[channel] for channel in CHANNELS)
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        name: (dtype, (columns, config.lev_size) if name == "projection" else (columns,))
        for name, dtype in _ARRAYS[config.form].items()
    }
    return {**shapes, **{name: ("I32", (sizes[name],)) for name in _BIGRAMS}}


def _check_codes(table: NgramTable, weights: Weights, config: NgramConfig) -> None:
    """Whether all numbers are those of something."""
    limits = [
        ("bigrams", table.bigrams, (1 + table.unmasked) ** 2),
        ("shaped_bigrams", table.shaped_bigrams, (1 + len(table.symbols)) ** 2),
    ]
    if "dimension" in weights:
        limits.append(("dimension", weights["dimension"].astype(np.int64), config.lev_size))
    for name, numbers, limit in limits:
        if numbers.min(initial=0) < 0 or numbers.max(initial=0) >= limit:
            raise ValueError(f"{name} with numbers not from 0 to {limit - 1}")
