"""The model folder: what is trained, in files that anybody can read.

`models.layout` says which files there are and what for. Nothing in them is a pickle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.config import Config
from adhominem.encoders.network.runtime import Runtime
from adhominem.errors import ModelError
from adhominem.models.files import ModelFiles, damaged, reading
from adhominem.models.layout import (
    CARD,
    CONFIG,
    ENSEMBLE,
    LAYOUT,
    NETWORK,
    NGRAMS,
    SINGLE,
    TOKENIZER,
    UNTIED_VALIDATION,
    VALIDATION,
    WEIGHTS,
    ModelFile,
    required_files,
)
from adhominem.models.ngram_model import NgramModel, read_ngram_model
from adhominem.models.styles import read_styles
from adhominem.models.tensors import Shapes, check_shapes
from adhominem.models.typicality import Typicality, read_typicality
from adhominem.models.validation import validation_file
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import TwoCovariance
from adhominem.text.tokenizer import TOKEN_PATTERN
from adhominem.text.vocabulary import SPECIAL, Vocabulary

FORMAT = 2
Weights = dict[str, npt.NDArray[np.float32]]
FloatArray = npt.NDArray[np.float64]
_MOST_MEMBERS = 100
_TWO_COVARIANCE = tuple(
    f"two_covariance.{name}"
    for name in ("author_mean", "between_author_factor", "within_author_factor")
)


@dataclass(frozen=True)
class Model:
    """A trained model as it lies in its folder."""

    config: Config
    vocabulary: Vocabulary
    weights: Weights
    scores: dict[str, Any]  # on dev, by set
    folder: Path
    typicality: Typicality | None = None
    styles: Styles | None = None

    def two_covariance(self) -> TwoCovariance:
        """The Bayes factor of this model, for what its projection makes of LEVs."""
        mean, *raw = (self.weights[name].astype(np.float64) for name in _TWO_COVARIANCE)
        between, within = (np.tril(each, -1) + np.diag(np.exp(np.diag(each))) for each in raw)
        return TwoCovariance.from_factors(mean, between, within)

    def network_weights(self) -> Weights:
        """The weights of the network alone, by its own names."""
        prefix = "network."
        return {
            name.removeprefix(prefix): value
            for name, value in self.weights.items()
            if name.startswith(prefix)
        }

    def encoder(self, threads: int = 1) -> Runtime:
        """The encoder, ready to run."""
        windows = self.config.data.windows
        return Runtime(self.network_weights(), self.vocabulary, windows, threads)

    def project(self, levs: FloatArray) -> FloatArray:
        """What the two-covariance model sees of LEVs (documents, lev_size)."""
        if not self.config.loss.projection_size:
            return levs
        weight, bias = (self.weights[f"projection.{name}"] for name in ("weight", "bias"))
        return np.maximum(0, levs @ weight.T.astype(np.float64) + bias)


AnyModel = Model | NgramModel


def write_model(
    folder: Path,
    *,
    config: Config,
    vocabulary: Vocabulary,
    weights: Weights,
    scores: dict[str, Any],
    card: str,
    version: str,
) -> None:
    """Write all but the graph into an existing folder."""
    from safetensors.numpy import save

    description = {
        "format": FORMAT,
        "architecture": NETWORK,
        "adhominem": version,
        "config": config.to_json(),
        "characters": list(vocabulary.characters),
        "scores": scores,
    }
    # Not by `save_file`: its files are for their owner alone, whatever the umask.
    (folder / WEIGHTS.name).write_bytes(save(weights))
    _write_json(folder / TOKENIZER.name, _tokenizer_json(vocabulary))
    _write_json(folder / CONFIG.name, description)
    (folder / CARD.name).write_text(card, "utf-8")


def write_ensemble(
    folder: Path, members: list[str], scores: dict[str, Any], card: str, version: str
) -> None:
    """Name the members of an ensemble, whose folders lie inside this one."""
    description = {
        "format": FORMAT,
        "architecture": ENSEMBLE,
        "adhominem": version,
        "members": members,
        "scores": scores,
    }
    _write_json(folder / CONFIG.name, description)
    (folder / CARD.name).write_text(card, "utf-8")


def read_scores(folder: str | Path) -> dict[str, Any]:
    """The scores on dev, by set: of a model, or of an ensemble as a whole."""
    files = ModelFiles.at(folder)
    scores = _read_description(files).get("scores")
    if not isinstance(scores, dict):
        raise damaged(files.folder, f"{CONFIG.name}: there are no scores")
    return scores


def member_folders(folder: str | Path) -> list[Path]:
    """The folder of a model, or those of an ensemble's members; only config.json is read."""
    return [files.folder for files in _members(ModelFiles.at(folder))]


def _members(files: ModelFiles) -> list[ModelFiles]:
    """The files of a single model, or those of each member of an ensemble."""
    description = _read_description(files)
    if description.get("architecture") != ENSEMBLE:
        return [files]
    with reading(files.folder, CONFIG.name):
        names = description["members"]
        if not isinstance(names, list) or not 0 < len(names) <= _MOST_MEMBERS:
            raise ValueError(f"no list of 1 to {_MOST_MEMBERS} members")
        members = [files.member(name) for name in names]
        if len(set(names)) < len(names):
            raise ValueError("a member is named twice")
        return members


def model_hash(folder: str | Path | ModelFiles) -> str:
    """The SHA-256 of all that a model's answers, its warnings and reports depend on.

    It is that of what `sha256sum FILE...` prints of these files, in the order of the layout,
    first those of the folder, then those of each member.
    """
    files = ModelFiles.at(folder)
    digest = sha256()
    for owner, file, name in hashed_files(files):
        place = name if owner is files else f"{owner.folder.name}/{name}"
        with reading(owner.folder, name):
            digest.update(f"{owner.sha256(file, name)}  {place}\n".encode())
    return digest.hexdigest()


def hashed_files(files: ModelFiles) -> Iterator[tuple[ModelFiles, ModelFile, str]]:
    """What of the files there are is hashed: in which folder, which it is, and its name there."""
    yield from _hashed(files, lambda file: True)
    for member in _members(files):
        if member is not files:
            yield from _hashed(member, lambda file: not file.of_whole)


def _hashed(
    files: ModelFiles, counts: Callable[[ModelFile], bool]
) -> Iterator[tuple[ModelFiles, ModelFile, str]]:
    architecture = _read_description(files).get("architecture")
    for file in LAYOUT:
        if not (file.hashed and architecture in file.of and counts(file)):
            continue
        if file in (VALIDATION, UNTIED_VALIDATION):
            if (found := validation_file(files)) and found[0] is file:
                yield files, *found
        elif files.has(file.name):
            yield files, file, file.name


def read_models(folder: str | Path | ModelFiles) -> list[AnyModel]:
    """The model of a folder, or all members of an ensemble."""
    return [_read_single(files) for files in _members(ModelFiles.at(folder))]


def _read_single(files: ModelFiles) -> AnyModel:
    folder, description = files.folder, _read_description(files)
    architecture = description.get("architecture")
    if architecture == ENSEMBLE:
        raise damaged(folder, f"{CONFIG.name}: the member {folder.name} is no single model")
    if architecture not in SINGLE:
        raise damaged(
            folder, f"{CONFIG.name}: a model of the architecture {str(architecture)[:100]!r}"
        )
    for name in required_files(architecture):
        if not files.has(name):
            raise damaged(folder, f"there is no {name} in it")
    if not isinstance(description.get("scores"), dict):
        raise damaged(folder, f"{CONFIG.name}: there are no scores")
    return (
        read_ngram_model(files, description)
        if architecture == NGRAMS
        else _read(files, description)
    )


def _read(files: ModelFiles, description: dict[str, Any]) -> Model:
    with reading(files.folder, CONFIG.name):
        config = Config.from_json(description["config"])
        characters = description["characters"]
        if not isinstance(characters, list) or not all(map(_is_character, characters)):
            raise ValueError("characters is no list of single characters")
    with reading(files.folder, TOKENIZER.name):
        vocabulary = Vocabulary(
            _token_types(files.json(TOKENIZER)["model"]["vocab"]),
            tuple(characters),
            config.data.vocabulary.characters_per_token,
        )
    expected = _shapes(config, vocabulary)
    with reading(files.folder, WEIGHTS.name):
        weights, _ = files.tensors(WEIGHTS, lambda found, _: check_shapes(found, expected))
    return Model(
        config,
        vocabulary,
        weights,
        description["scores"],
        files.folder,
        read_typicality(files, config.lev_size),
        read_styles(files, config.lev_size),
    )


def _is_character(found: object) -> bool:
    return isinstance(found, str) and len(found) == 1


def _token_types(words: Any) -> tuple[str, ...]:
    """Those of a vocabulary that has an id for each, from 0 on without a gap."""
    if not isinstance(words, dict) or not all(type(each) is int for each in words.values()):
        raise ValueError("its vocabulary is no object of ids")
    ordered = sorted(words, key=words.__getitem__)
    if [words[each] for each in ordered] != list(range(len(words))):
        raise ValueError(f"its ids are not 0 to {len(words) - 1:,}, each once")
    if tuple(ordered[: len(SPECIAL)]) != SPECIAL:
        raise ValueError(f"its first ids are not {' and '.join(SPECIAL)}")
    return tuple(ordered[len(SPECIAL) :])


def _shapes(config: Config, vocabulary: Vocabulary) -> Shapes:
    """What the weights must be, for files that came together to belong together."""
    network = config.encoder.weight_shapes(
        len(SPECIAL) + len(vocabulary.token_types), len(SPECIAL) + len(vocabulary.characters)
    )
    size = config.loss.projection_size or config.lev_size
    mean, between, within = _TWO_COVARIANCE
    shapes: dict[str, tuple[int, ...]] = {
        **{f"network.{name}": shape for name, shape in network.items()},
        mean: (size,),
        between: (size, size),
        within: (size, size),
    }
    if config.loss.projection_size:
        shapes |= {"projection.weight": (size, config.lev_size), "projection.bias": (size,)}
    return {name: ("F32", shape) for name, shape in shapes.items()}


def _tokenizer_json(vocabulary: Vocabulary) -> dict[str, Any]:
    """What `tokenizers.Tokenizer.from_file` reads; normalisation comes before it."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": TOKEN_PATTERN},
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


def _read_description(files: ModelFiles) -> dict[str, Any]:
    folder = files.folder
    if not files.has("."):
        raise ModelError(f"there is no model folder {folder}")
    if not files.has(CONFIG.name):
        raise ModelError(f"{folder} holds no model: there is no {CONFIG.name} in it")
    with reading(folder, CONFIG.name):
        description: dict[str, Any] = files.json(CONFIG)
        if not isinstance(description, dict):
            raise ValueError("it is no object")
        written_as = description["format"]
    if written_as != FORMAT:
        raise ModelError(
            f"{folder} is a model of format {str(written_as)[:100]}; this version reads format "
            f"{FORMAT}. Upgrade AdHominem, or train the model again."
        )
    return description


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", "utf-8")
