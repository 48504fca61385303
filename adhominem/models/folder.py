"""The model folder: what is trained, in files that anybody can read.

    config.json         format, version, all settings, the characters, the scores on dev
    model.safetensors   the weights of the network and of the two-covariance layer
    tokenizer.json      the token pattern and the token types, for the `tokenizers` library
    encoder.onnx        the network as it runs at inference
    README.md           the model card
    training_authors.txt  hashes of the names of all who wrote the training texts
    reference.safetensors  what the training texts are like
    styles.safetensors  kinds of text and the two-covariance model, in members of an ensemble
    kinds.json          what the kinds of text are, in words, if somebody wrote it
    calibration.json    from scores to honest Bayes factors, once it has been calibrated
    validation.safetensors  the pairs of the calibration, each by a scale that has not seen it
    training.jsonl      the course of training, an epoch a line; tensorboard/ has it as curves
    entropy.png         its entropy curves

The folder of an ensemble holds a config.json that names its members, and their folders.
Nothing in it is a pickle.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.config import Config
from adhominem.encoders.runtime import Runtime
from adhominem.errors import ModelError, OptionError
from adhominem.models.ngrams import NGRAM_FILES, NGRAMS, NgramModel, read_ngram_model
from adhominem.models.styles import STYLES
from adhominem.scoring.two_covariance import TwoCovariance
from adhominem.text.token_pattern import TOKEN_PATTERN
from adhominem.text.vocabulary import SPECIAL, Vocabulary

FORMAT = 1
NETWORK, ENSEMBLE = "network", "ensemble"
Weights = dict[str, npt.NDArray[np.float32]]
FloatArray = npt.NDArray[np.float64]
_FILES = ("model.safetensors", "tokenizer.json", "encoder.onnx")
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
        "kind": NETWORK,
        "adhominem": version,
        "config": config.to_json(),
        "characters": list(vocabulary.characters),
        "scores": scores,
    }
    # Not by `save_file`: its files are for their owner alone, whatever the umask.
    (folder / "model.safetensors").write_bytes(save(weights))
    _write_json(folder / "tokenizer.json", _tokenizer_json(vocabulary))
    _write_json(folder / "config.json", description)
    (folder / "README.md").write_text(card, "utf-8")


def write_ensemble(
    folder: Path, members: list[str], scores: dict[str, Any], card: str, version: str
) -> None:
    """Name the members of an ensemble, whose folders lie inside this one."""
    description = {
        "format": FORMAT,
        "kind": ENSEMBLE,
        "adhominem": version,
        "members": members,
        "scores": scores,
    }
    _write_json(folder / "config.json", description)
    (folder / "README.md").write_text(card, "utf-8")


def read_scores(folder: str | Path) -> dict[str, Any]:
    """The scores on dev, by set: of a model, or of an ensemble as a whole."""
    folder = Path(folder)
    scores = _read_description(folder).get("scores")
    if not isinstance(scores, dict):
        raise _damaged(folder, "config.json: there are no scores")
    return scores


def member_folders(folder: str | Path) -> list[Path]:
    """The folder of a model, or those of an ensemble's members; only config.json is read."""
    folder = Path(folder)
    description = _read_description(folder)
    if description.get("kind") != ENSEMBLE:
        return [folder]
    try:
        return [folder / str(name) for name in description["members"]]
    except (KeyError, TypeError) as error:
        raise _damaged(folder, f"config.json: {error!r}") from None


def model_hash(folder: str | Path) -> str:
    """The SHA-256 of all that a model's answers depend on."""
    digest = sha256()
    for member in member_folders(folder):
        for name in ("config.json", "model.safetensors", "tokenizer.json", "ngrams.json", STYLES):
            if (member / name).exists():
                digest.update((member / name).read_bytes())
    calibration = Path(folder) / "calibration.json"
    digest.update(calibration.read_bytes() if calibration.exists() else b"")
    return digest.hexdigest()


def read_models(folder: str | Path) -> list[AnyModel]:
    """The model of a folder, or all members of an ensemble."""
    folder = Path(folder)
    description = _read_description(folder)
    try:
        if description["kind"] in (NETWORK, NGRAMS):
            return [_read_single(folder, description)]
        if description["kind"] == ENSEMBLE:
            return [_read_member(folder / str(name)) for name in description["members"]]
        raise ValueError(f"config.json: a model of the kind {description['kind']!r}")
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OptionError) as error:
        raise _damaged(folder, f"{type(error).__name__}: {error}") from None


def _read_member(folder: Path) -> AnyModel:
    return _read_single(folder, _read_description(folder))


def _read_single(folder: Path, description: dict[str, Any]) -> AnyModel:
    files = {NETWORK: _FILES, NGRAMS: NGRAM_FILES}.get(description["kind"])
    if files is None:
        raise ValueError(f"config.json: the member {folder.name} is no single model")
    for name in files:
        if not (folder / name).is_file():
            raise _damaged(folder, f"there is no {name} in it")
    read = _read_model if description["kind"] == NETWORK else read_ngram_model
    return read(folder, description)


def _read_model(folder: Path, description: dict[str, Any]) -> Model:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    config = Config.from_json(description["config"])
    try:
        weights = load_file(folder / "model.safetensors")
    except SafetensorError as error:
        raise _damaged(folder, f"model.safetensors: {error}") from None
    words = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    token_types = sorted(words, key=words.__getitem__)[len(SPECIAL) :]
    vocabulary = Vocabulary(
        tuple(token_types),
        tuple(description["characters"]),
        config.data.vocabulary.characters_per_token,
    )
    _check_sizes(weights, config, vocabulary)
    return Model(config, vocabulary, weights, dict(description["scores"]), folder)


def _check_sizes(weights: Weights, config: Config, vocabulary: Vocabulary) -> None:
    """Whether files that came together belong together."""
    size = config.loss.projection_size or config.encoder.lev_size
    words = (len(SPECIAL) + len(vocabulary.token_types), config.encoder.word_vector_size)
    characters = (len(SPECIAL) + len(vocabulary.characters), config.encoder.character_size)
    mean, between, within = _TWO_COVARIANCE
    expected = {
        "network.word_vectors.weight": words,
        "network.characters.embedding.weight": characters,
        mean: (size,),
        between: (size, size),
        within: (size, size),
    }
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise ValueError(
                f"model.safetensors: {name} is {weights[name].shape}; "
                f"config.json and tokenizer.json expect {shape}"
            )


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


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not folder.is_dir():
        raise ModelError(f"there is no model folder {folder}")
    if not path.is_file():
        raise ModelError(f"{folder} holds no model: there is no config.json in it")
    try:
        description: dict[str, Any] = json.loads(path.read_text("utf-8"))
        written_as = description["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"config.json: {error!r}") from None
    if written_as != FORMAT:
        raise ModelError(
            f"{folder} is a model of format {written_as!r}; this version reads format {FORMAT}. "
            "Upgrade AdHominem, or train the model again."
        )
    return description


def _damaged(folder: Path, why: str) -> ModelError:
    return ModelError(f"the model in {folder} is damaged ({why}); fetch or train it again")


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", "utf-8")
