"""Writing a model's folder, whose files `model.layout` names. Nothing in them is a pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

import adhominem
from adhominem.arrays import IntArray
from adhominem.errors import ModelError
from adhominem.model import layout
from adhominem.model.files import Arrays, ModelFiles, aside, read_generation, reading
from adhominem.model.folder import PROSE_FORMAT, member_folders, validation_name
from adhominem.model.member import (
    BIGRAMS,
    FORMAT,
    LANGUAGE_FILES,
    STRINGS,
    NgramModel,
    small_profile,
)
from adhominem.ngrams.config import NgramConfig
from adhominem.ngrams.table import NgramTable
from adhominem.paper.config import Config
from adhominem.records import strict_json, with_schema
from adhominem.score.genres import Genres
from adhominem.score.prose import MachineLook, Prose
from adhominem.text.files import real_path
from adhominem.text.normalisation import Normaliser
from adhominem.text.tokenizer import token_pattern
from adhominem.text.vocabulary import SPECIAL, Vocabulary
from adhominem.text.writing import locked, replace_file

_SHORTEST = 0.01  # share of the training texts that are shorter than `shortest_training_text`

# New models, in an existing folder


def write_model(
    folder: Path,
    *,
    config: Config,
    vocabulary: Vocabulary,
    weights: Arrays,
    scores: dict[str, Any],
    card: str,
    lengths: IntArray,
    delta: float | None = None,
) -> None:
    """Write a network, trained on texts with these numbers of tokens."""
    (folder / layout.WEIGHTS.name).write_bytes(_array_file(weights))
    _write_json(folder / layout.TOKENIZER.name, _tokenizer_json(vocabulary, config.normaliser))
    more = {
        "characters": list(vocabulary.characters),
        "prefixes": list(vocabulary.prefixes),
        "delta": delta,
        **_shortest(lengths),
    }
    _describe(folder, layout.NETWORK, {"config": config.to_json(), **more}, scores, card)


def write_ngram_model(
    folder: Path,
    *,
    config: NgramConfig,
    table: NgramTable,
    weights: Arrays,
    scores: dict[str, Any],
    card: str,
    lengths: IntArray,
) -> None:
    """Write an n-gram model, trained on texts with these numbers of tokens."""
    _write_ngrams(folder, table, weights)
    more = {"config": config.to_json(), **_shortest(lengths)}
    _describe(folder, layout.NGRAMS, more, scores, card)


def _write_ngrams(folder: Path, table: NgramTable, weights: Arrays, *, dense: bool = False) -> None:
    """Write the n-grams and their weights; with `dense`, without white space."""
    strings = {name: list(getattr(table, name)) for name in STRINGS}
    codes = {name: getattr(table, name).astype(np.int32) for name in BIGRAMS}
    (folder / layout.WEIGHTS.name).write_bytes(_array_file({**weights, **codes}))
    ngrams = {"longest": table.longest, "unmasked": table.unmasked, **strings}
    _write_json(folder / layout.NGRAM_LIST.name, ngrams, indent=None, dense=dense)


def write_languages(
    folder: Path,
    models: Mapping[str, NgramModel],
    genres: Genres,
    scores: dict[str, Any],
    card: str,
) -> None:
    """Write a model of several languages from an n-gram profile of each, and all their genres."""
    languages = {}
    for language, model in models.items():
        place = folder / language
        place.mkdir()
        weights = small_profile(model.weights, model.table.channels)
        _write_ngrams(place, model.table, weights, dense=True)
        _describe(place, layout.NGRAMS, {"config": model.config.to_json()}, {})
        languages[language] = {
            file.name: sha256((place / file.name).read_bytes()).hexdigest()
            for file in LANGUAGE_FILES
        }
    (folder / layout.STYLES.name).write_bytes(genres_file(genres, np.float16))
    one, *_ = models.values()
    more: dict[str, Any] = {"config": one.config.to_json(), "languages": languages}
    lengths = [model.shortest_training_text for model in models.values()]
    if known := [length for length in lengths if length is not None]:
        more["shortest_training_text"] = round(median(known), 2)
    _describe(folder, layout.LANGUAGES, more, scores, card)


def write_ensemble(
    folder: Path,
    members: list[str],
    scores: dict[str, Any],
    card: str,
    delta: float | None = None,
) -> None:
    """Write an ensemble of members whose folders are inside this one; the first one leads."""
    more = {"members": members, "lead": members[0] if members else "", "delta": delta}
    _describe(folder, layout.ENSEMBLE, more, scores, card)


def _shortest(lengths: IntArray) -> dict[str, float]:
    return {"shortest_training_text": round(float(np.quantile(lengths, _SHORTEST)), 2)}


def _describe(
    folder: Path, architecture: str, more: dict[str, Any], scores: dict[str, Any], card: str = ""
) -> None:
    head = {"format": FORMAT, "architecture": architecture, "adhominem": adhominem.__version__}
    _write_json(folder / layout.CONFIG.name, {**head, **more, "scores": scores})
    if card:
        (folder / layout.CARD.name).write_text(card, "utf-8")


def write_genres(folder: Path, genres: Genres) -> None:
    """Put genres into the folder of a new model."""
    (folder / layout.STYLES.name).write_bytes(genres_file(genres))


def genres_file(genres: Genres, kind: npt.DTypeLike = np.float32) -> bytes:
    """The bytes of a model's file of genres, with floats of 32 or 16 bits."""
    return _floats_of(genres, ("centres", "usual"), {"genres": "\n".join(genres.names)}, kind)


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a model's folder, all or none; those of members by names like `ngrams/x`.

    They are written under other names. Once one move makes generation.json list them by hash,
    `ModelFiles` reads them, and they are moved to their places. So a run that ends at any moment
    leaves the old model or the new one, and the next run tidies up. Files are never overwritten:
    they may have links.
    """
    with locked(folder):
        named = _settle(folder)  # those of members stay
        lasting = {name: named[name] for name in named if name.endswith(layout.STYLES.name)}
        hashes = {name: sha256(data).hexdigest() for name, data in files.items()}
        try:
            for name, data in files.items():
                replace_file(folder / aside(name, hashes[name]), data)
            record = strict_json({"files": lasting | hashes}, indent=1) + "\n"
            replace_file(folder / layout.GENERATION.name, record.encode("utf-8"))
        finally:
            _settle(folder)


def _settle(folder: Path) -> dict[str, str]:
    """Move listed files to their places, remove others; return what generation.json lists."""
    record = read_generation(folder)
    for name, digest in record.items():
        with suppress(FileNotFoundError):  # already in its place
            os.replace(folder / aside(name, digest), folder / name)
    litter = list(folder.glob(f"*.{'[0-9a-f]' * 16}.new*"))
    with suppress(ModelError):  # damaged: its files are unknown
        kept = validation_name(ModelFiles(folder))
        litter += [path for path in folder.glob(layout.VALIDATION.name) if path.name != kept]
    for path in litter:
        path.unlink(missing_ok=True)
    return record


def write_prose(folder: Path, prose: Prose) -> None:
    """Write or replace the description of running prose in the model's folder."""
    text = strict_json(with_schema(prose, PROSE_FORMAT)) + "\n"
    replace_files(folder, {layout.PROSE.name: text.encode("utf-8")})


def write_machine_look(folder: Path, look: MachineLook) -> None:
    """Write or replace the detector of texts by machines in the model's folder."""
    replace_files(folder, {layout.MACHINE.name: _floats_of(look, ("weights", "constant"))})


def write_training_authors(folder: Path, names: list[str]) -> None:
    """Write the training authors as hashes, enough to check whether somebody is among them."""
    hashes = sorted({_hash(name) for name in names if name})
    (folder / layout.AUTHORS.name).write_text("".join(f"{line}\n" for line in hashes), "utf-8")


def trained_on(folder: Path, names: set[str]) -> set[str] | None:
    """The ones of these authors that the model was trained on; None if it does not say.

    Its Bayes factors are stronger for these authors than for others, so calibration must not use
    them.
    """
    listed = [training_authors(member) for member in member_folders(folder)]
    if all(authors is None for authors in listed):
        return None
    known = {line for authors in listed for line in (authors or "").split()}
    return {name for name in names if _hash(name) in known}


def training_authors(folder: Path) -> str | None:
    """The hashes of a single model's training authors, from its folder or its ensemble's."""
    places = [folder := real_path(folder)]
    with suppress(ModelError):  # the folder above is not a model
        places += [path.parent for path in member_folders(folder.parent) if path == folder]
    for place in places:
        files = ModelFiles(place)
        if files.has(layout.AUTHORS):
            with reading(place, layout.AUTHORS.name):
                return files.read(layout.AUTHORS).decode("utf-8")
    return None


def _hash(name: str) -> str:
    return sha256(name.encode("utf-8")).hexdigest()[:16]


def _array_file(arrays: Arrays, metadata: dict[str, str] | None = None) -> bytes:
    from safetensors.numpy import save

    # Not by `save_file`, whose files only their owner can read, whatever the umask.
    return save(arrays, metadata)


def _floats_of(
    record: object,
    names: Iterable[str],
    metadata: dict[str, str] | None = None,
    kind: npt.DTypeLike = np.float32,
) -> bytes:
    """A file of these numbers of a record, which `read_floats` reads."""
    numbers = {name: np.atleast_1d(getattr(record, name)).astype(kind) for name in names}
    return _array_file(numbers, metadata)


def _write_json(
    path: Path, data: dict[str, Any], indent: int | None = 1, *, dense: bool = False
) -> None:
    separators = (",", ":") if dense else None
    text = json.dumps(data, ensure_ascii=False, indent=indent, separators=separators)
    path.write_text(text + "\n", "utf-8")


def _tokenizer_json(vocabulary: Vocabulary, normaliser: Normaliser) -> dict[str, Any]:
    """The JSON for `tokenizers.Tokenizer.from_file`, which follows normalisation."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": token_pattern(normaliser)},
            "behavior": "Removed",
            "invert": True,
        },
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {name: id for id, name in enumerate((*SPECIAL, *vocabulary.token_types))},
            "unk_token": SPECIAL[1],
        },
    }
