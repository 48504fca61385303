"""A single model: read from its folder, and ready to run, alone or as a member of an ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from adhominem.arrays import Array32, FloatArray, Rows
from adhominem.errors import MissingExtraError, ModelError, OptionError
from adhominem.model import layout
from adhominem.model.files import (
    Arrays,
    ModelFiles,
    Shapes,
    check_shapes,
    damaged,
    read_floats,
    reading,
)
from adhominem.ngrams.config import NgramConfig
from adhominem.ngrams.encoder import NgramEncoder
from adhominem.ngrams.languages import NgramsByLanguage
from adhominem.ngrams.table import CHANNELS, NgramTable
from adhominem.paper.config import Config, EncoderOptions
from adhominem.paper.runtime import NetworkOutput, Runtime
from adhominem.paper.successor import Successor
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.records import Within, from_json
from adhominem.score.genres import Genres
from adhominem.score.members import GenreMember, LayerMember, MemberScorer, SuccessorMember
from adhominem.text.files import Document
from adhominem.text.lexicon import Numbered
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import SPECIAL, Vocabulary, prefix_tokens

FORMAT = 2  # of config.json
LANGUAGE_FILES = (layout.CONFIG, layout.WEIGHTS, layout.NGRAM_LIST)  # of a language's folder
Delta = Annotated[float, Within(at_least=0, below=0.5)]
_MOST_GENRES = 1_000  # every text is compared with all of them
_TWO_COVARIANCE = tuple(
    f"two_covariance.{name}"
    for name in ("author_mean", "between_author_factor", "within_author_factor")
)
_OF_SUCCESSOR = ("kernel.", "adaptation.", "detector.")
STRINGS = ("characters", "tokens", "symbols")  # of ngrams.json
BIGRAMS = ("bigrams", "shaped_bigrams")
_NGRAM_ARRAYS = {
    "projection": {"weights": "F32", "projection": "I8", "projection_scale": "F32"},
    "profile": {"weights": "F32", "dimension": "I32", "sign": "I8"},
}
# A smaller form of a profile, in models of several languages: the signs are those of the weights.
_SMALL_PROFILE = {"weights": "F16", "dimension": "U16"}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured in training, as far as config.json says it."""

    shortest_training_text: float | None = None  # tokens; 99% of the training texts have more
    delta: Delta | None = None  # of the non-answers, found on dev


@dataclass(frozen=True, kw_only=True)
class _Trained(Measured):
    """A trained model as stored in its folder."""

    weights: Arrays
    scores: dict[str, Any]  # on dev, by set
    folder: Path
    genres: Genres | None = None


@dataclass(frozen=True, kw_only=True)
class Model(_Trained):
    """A trained network as stored in its folder."""

    config: Config
    vocabulary: Vocabulary

    def two_covariance(self) -> TwoCovariance:
        """The two-covariance layer that was trained with this network, with UAL and O2D2 if any."""
        mean, *raw = (self.weights[name].astype(np.float64) for name in _TWO_COVARIANCE)
        between, within = (np.tril(factor, -1) + np.diag(np.exp(np.diag(factor))) for factor in raw)
        kind = Successor if self.config.loss.adaptation_size else TwoCovariance
        layer = kind.from_factors(mean, between, within)
        if self.config.loss.constant == "printed":
            layer.excess = layer.printed_excess()
        if isinstance(layer, Successor):
            names = [name for name in self.weights if name.startswith(_OF_SUCCESSOR)]
            layer.weights = {name: self.weights[name].astype(np.float64) for name in names}
        return layer

    def project(self, levs: FloatArray) -> FloatArray:
        """The input (documents, size) of the two-covariance layer, for LEVs."""
        if not self.config.loss.projection_size:
            return np.asarray(levs)
        weight, bias = self.weights["projection.weight"], self.weights["projection.bias"]
        return np.tanh(levs @ weight.T.astype(np.float64) + bias)

    def network_weights(self) -> dict[str, Array32]:
        """The weights of the network alone, by the network's names."""
        names = [name for name in self.weights if name.startswith("network.")]
        return {name.removeprefix("network."): self.weights[name] for name in names}

    def encoder(self, threads: int = 1) -> Runtime:
        """The encoder, ready to run."""
        windows = self.config.data.windows
        return Runtime(self.network_weights(), self.vocabulary, windows, threads)


@dataclass(frozen=True, kw_only=True)
class NgramModel(_Trained):
    """A trained n-gram model as stored in its folder."""

    config: NgramConfig
    table: NgramTable

    def encoder(self) -> NgramEncoder:
        """The encoder, ready to run."""
        config = self.config
        return NgramEncoder(self.table, self.weights, config.lev_size, config.training.longest)


@dataclass(frozen=True, kw_only=True)
class LanguagesModel(Measured):
    """N-gram models of several languages: their genres, and how to read each."""

    config: NgramConfig  # of all languages
    languages: tuple[str, ...]
    read_language: Callable[[str], NgramModel]
    scores: dict[str, Any]
    folder: Path
    genres: Genres

    def encoder(self, language: str = "") -> NgramsByLanguage:
        """The encoder, ready to run; all texts are in the `language`, if it is given."""
        if language and language not in self.languages:
            raise OptionError(
                f"the language is '{language}', which the model {self.folder.name} does not know; "
                f"expected one of {', '.join(self.languages)}"
            )

        def read(name: str) -> NgramEncoder:
            return self.read_language(name).encoder()

        return NgramsByLanguage(self.languages, read, self.config.lev_size, language)


AnyModel = Model | NgramModel | LanguagesModel
Encoder = Runtime | NgramEncoder | NgramsByLanguage


class Member:
    """One model: its tokenizer, its encoder, and the scorer of its LEVs."""

    def __init__(self, model: AnyModel, tokenizer: Tokenizer, encoder: Encoder) -> None:
        self.name = model.folder.name
        self.tokenizer, self.encoder = tokenizer, encoder
        self.genres = model.genres
        self.shortest_training_text, self.delta = model.shortest_training_text, model.delta
        self.decision_threshold: float | None = None  # on the distance, if that was trained
        self.scorer = _scorer(model)
        self.lev_size = model.config.lev_size
        if not isinstance(model, Model):
            # The frequent token types serve to recognise another language, if one is known.
            known = model.table.tokens if isinstance(model, NgramModel) else ()
            self.vocabulary = Vocabulary(known, (), 1)
            self.knows_topics, self.windows = False, None
        else:
            self.vocabulary, data = model.vocabulary, model.config.data
            self.knows_topics, self.windows = data.knows_topics, data.windows
            if (loss := model.config.loss).distance == "contrastive":
                self.decision_threshold = loss.decision_threshold

    @property
    def counts_ngrams(self) -> bool:
        """Whether this is an n-gram model, not a network."""
        return isinstance(self.encoder, NgramEncoder | NgramsByLanguage)

    def ngrams(self, *documents: Document) -> NgramEncoder:
        """The encoder that counts the n-grams of documents, or of most of them; not a network."""
        if isinstance(self.encoder, NgramsByLanguage):
            languages = Counter(map(self.encoder.language_of, documents))
            return self.encoder.of(languages.most_common(1)[0][0])
        assert isinstance(self.encoder, NgramEncoder)
        return self.encoder

    def encode_numbered(self, documents: Sequence[Document], tokens: Numbered) -> Rows:
        """The LEVs (documents, lev_size) of documents whose tokens are numbers."""
        if isinstance(self.encoder, NgramsByLanguage):
            return self.encoder.rows(documents, tokens)
        topics = [self.topic(document) for document in documents]
        return self.encoder.encode_numbered(tokens, topics)

    def attend(self, document: Document, tokens: list[str]) -> NetworkOutput | None:
        """The LEV of a document and the network's attention to it; None without a network."""
        if not isinstance(self.encoder, Runtime):
            return None
        return self.encoder.attend([tokens], [self.topic(document)])

    def topic(self, document: Document) -> list[str]:
        """The tokens of a document's topic; empty for a model trained without topics."""
        return prefix_tokens(document.topic, self.tokenizer) if self.knows_topics else []


def make_members(
    models: Sequence[AnyModel], threads: int = 1, device: str = "cpu", language: str = ""
) -> list[Member]:
    """Models, ready to run; those with the same normalisation share a tokenizer.

    Everything runs in NumPy, except networks on a GPU, which use torch. A model of several
    languages takes all texts to be in the `language`, if it is given.
    """
    normalisers = dict.fromkeys(model.config.normaliser for model in models)
    tokenizers = {normaliser: Tokenizer(normaliser) for normaliser in normalisers}

    def encoder(model: AnyModel) -> Encoder:
        if isinstance(model, LanguagesModel):
            return model.encoder(language)
        if isinstance(model, NgramModel):
            return model.encoder()
        return model.encoder(threads) if device == "cpu" else _device_runtime(model, device)

    return [Member(model, tokenizers[model.config.normaliser], encoder(model)) for model in models]


def _scorer(model: AnyModel) -> MemberScorer:
    """The scorer of a model: by its genres, or by the network's two-covariance layer."""
    if model.genres is not None:
        is_profile = not isinstance(model, Model) and model.config.form == "profile"
        return GenreMember(model.genres, is_sparse=is_profile)
    if not isinstance(model, Model):
        raise damaged(model.folder, f"{layout.STYLES.name}: an n-gram model without genres")
    with reading(model.folder, layout.WEIGHTS.name):
        layer, lev_size = model.two_covariance(), model.config.lev_size
    if isinstance(layer, Successor):
        return SuccessorMember(layer, model.project, lev_size)
    return LayerMember(layer, model.project, lev_size)


def _device_runtime(model: Model, device: str) -> Encoder:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "train", f"the device '{device}'") from None
    from adhominem.paper.device import DeviceRuntime

    if device.partition(":")[0] != "cuda" or not torch.cuda.is_available():
        raise OptionError(
            f"the device is '{device}', but torch finds no such GPU; expected cpu or cuda"
        )
    data, options = model.config.data, model.config.encoder
    return DeviceRuntime(
        model.network_weights(), model.vocabulary, data.windows, options, torch.device(device)
    )


# Reading


def read_description(files: ModelFiles) -> dict[str, Any]:
    """The contents of config.json, if it exists and has a readable version."""
    folder, name = files.folder, layout.CONFIG.name
    if not files.has(layout.CONFIG):
        if not folder.exists():
            raise ModelError(f"there is no model folder {folder}; give one that there is")
        raise ModelError(
            f"{folder} holds no model: there is no {name} in it; give a model's folder"
        )
    with reading(folder, name):
        description: dict[str, Any] = files.json(layout.CONFIG)
        if not isinstance(description, dict):
            raise ValueError("it is not an object")
        written_as = description["format"]
    if written_as != FORMAT:
        raise ModelError(
            f"{folder} is a model of format {str(written_as)[:100]}; this version reads format "
            f"{FORMAT}. Use the version that wrote it, or train it again."
        )
    return description


def read_model(files: ModelFiles) -> AnyModel:
    """The single model of a folder, whose files must be complete and belong together."""
    folder, description = files.folder, read_description(files)
    architecture, config_name = description.get("architecture"), layout.CONFIG.name
    if architecture == layout.ENSEMBLE or (architecture == layout.LANGUAGES and files.is_inside):
        raise damaged(folder, f"{config_name}: the member {folder.name} is not a single model")
    if architecture not in (*layout.SINGLE, layout.LANGUAGES):
        raise damaged(folder, f"{config_name}: of the architecture {str(architecture)[:100]!r}")
    for file in layout.LAYOUT:
        # An n-gram model has no two-covariance layer.
        needed = file.required or (file is layout.STYLES and architecture != layout.NETWORK)
        if needed and architecture in file.of and not files.has(file):
            raise damaged(folder, f"there is no {file.name} in it")
    with reading(folder, config_name):
        if not isinstance(description.get("scores"), dict):
            raise ValueError("there are no scores")
    if architecture == layout.NETWORK:
        return _read_network(files, description)
    if architecture == layout.LANGUAGES:
        return _read_languages(files, description)
    return _read_ngrams(files, description)


def _read_network(files: ModelFiles, description: dict[str, Any]) -> Model:
    with reading(files.folder, layout.CONFIG.name):
        config = Config.from_json(description["config"])
        measured = read_measured(description)
        characters = description["characters"]
        if not isinstance(characters, list) or not all(
            isinstance(character, str) and len(character) == 1 for character in characters
        ):
            raise ValueError("characters is not a list of single characters")
        prefixes = _strings(description, "prefixes") if "prefixes" in description else ()
    if config.data.knows_topics and "prefixes" not in description:
        raise ModelError(
            f"{files.folder} was trained with topics by an earlier version, whose contextual "
            "prefixes this one cannot read; train it again, or use that version"
        )
    with reading(files.folder, layout.TOKENIZER.name):
        vocabulary = Vocabulary(
            _token_types(files.json(layout.TOKENIZER)["model"]["vocab"]),
            tuple(characters),
            config.data.vocabulary.characters_per_token,
            prefixes,
        )
    with reading(files.folder, layout.WEIGHTS.name):
        weights, _ = files.tensors(layout.WEIGHTS)
        check_shapes(weights, _network_shapes(config, vocabulary))
    return Model(
        config=config,
        vocabulary=vocabulary,
        weights=weights,
        scores=description["scores"],
        folder=files.folder,
        genres=read_genres(files, config.encoder.lev_size),
        **vars(measured),
    )


def _token_types(words: Any) -> tuple[str, ...]:
    """The token types of a vocabulary, whose ids must be consecutive from 0 on."""
    if not isinstance(words, dict) or set(map(type, words.values())) - {int}:
        raise ValueError("its vocabulary is not an object of ids")
    ordered = sorted(words, key=words.__getitem__)
    if [words[word] for word in ordered] != list(range(len(words))):
        raise ValueError(f"its ids are not 0 to {len(words) - 1:,}, each once")
    if tuple(ordered[: len(SPECIAL)]) != SPECIAL:
        raise ValueError(f"its first ids are not {' and '.join(SPECIAL)}")
    return tuple(ordered[len(SPECIAL) :])


def weight_shapes(
    options: EncoderOptions, words: int, characters: int, prefixes: int = 0
) -> dict[str, tuple[int, ...]]:
    """The shape of each of the network's weights, given the numbers of the vocabulary's parts."""
    window, document = 2 * options.window_lstm_size, 2 * options.document_lstm_size
    filters, width = options.character_filters, options.character_filter_width
    shapes: dict[str, tuple[int, ...]] = {
        "word_vectors.weight": (words, options.word_vector_size),
        "no_topic": (options.word_vector_size,),
        "characters.embedding.weight": (characters, options.character_size),
        "characters.convolution.weight": (filters, options.character_size, width),
        "characters.convolution.bias": (filters,),
        "lev.weight": (options.lev_size, document),
        "lev.bias": (options.lev_size,),
    }
    if prefixes:
        shapes["prefixes.weight"] = (prefixes, options.word_vector_size)
    token = options.word_vector_size + filters
    for name, attention, inputs, size in (
        ("window_lstm", "token_attention", token, window),
        ("document_lstm", "window_attention", window, document),
    ):
        for end in ("l0", "l0_reverse"):
            # Four gates of half the size; one more input marks padding.
            shapes[f"{name}.lstm.weight_ih_{end}"] = (2 * size, inputs + 1)
            shapes[f"{name}.lstm.weight_hh_{end}"] = (2 * size, size // 2)
            shapes[f"{name}.lstm.bias_ih_{end}"] = (2 * size,)
            shapes[f"{name}.lstm.bias_hh_{end}"] = (2 * size,)
        shapes[f"{attention}.hidden.weight"] = (options.attention_size, size)
        shapes[f"{attention}.hidden.bias"] = (options.attention_size,)
        shapes[f"{attention}.score.weight"] = (1, options.attention_size)
    return shapes


def _network_shapes(config: Config, vocabulary: Vocabulary) -> Shapes:
    """The required shapes of the weights, to detect files of different models."""
    words, characters = len(vocabulary.token_types), len(vocabulary.characters)
    sizes = len(SPECIAL) + words, len(SPECIAL) + characters, len(vocabulary.prefixes)
    network = weight_shapes(config.encoder, *sizes)
    loss, lev_size = config.loss, config.encoder.lev_size
    size, hidden = loss.projection_size or lev_size, loss.adaptation_size
    layer = zip(_TWO_COVARIANCE, ((size,), (size, size), (size, size)), strict=True)
    shapes = {f"network.{name}": shape for name, shape in network.items()} | dict(layer)
    dense = {"projection": (size, lev_size)} if loss.projection_size else {}
    if hidden:
        shapes |= dict.fromkeys(
            ("kernel.log_gamma", "kernel.log_alpha", "detector.threshold"), (1,)
        )
        dense |= {"adaptation.hidden": (hidden, size), "adaptation.answers": (4, hidden)}
        dense |= {"detector.first": (hidden, 2 * size + 4), "detector.second": (hidden, hidden)}
        dense |= {"detector.output": (1, hidden)}
    for name, shape in dense.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return {name: ("F32", shape) for name, shape in shapes.items()}


def _read_ngrams(files: ModelFiles, description: dict[str, Any]) -> NgramModel:
    with reading(files.folder, layout.CONFIG.name):
        config = NgramConfig.from_json(description["config"])
        measured = read_measured(description)
    with reading(files.folder, layout.NGRAM_LIST.name):
        lists = files.json(layout.NGRAM_LIST)
        strings = {name: _strings(lists, name) for name in STRINGS}
        longest, unmasked = lists["longest"], lists["unmasked"]
        options = config.ngrams  # its sizes are bounded
        for name, number, most in (
            ("longest", longest, options.longest),
            ("unmasked", unmasked, min(options.unmasked, len(strings["tokens"]))),
            ("characters", len(strings["characters"]), options.characters),
            ("tokens", len(strings["tokens"]), options.tokens),
            ("symbols", len(strings["symbols"]), options.shapes),
        ):
            if type(number) is not int or not 0 <= number <= most:
                value = str(number)[:100]
                raise ValueError(f"{name} is {value}; config.json expects {most} at most")
    with reading(files.folder, layout.WEIGHTS.name):
        arrays, _ = files.tensors(layout.WEIGHTS)
        kinds = _NGRAM_ARRAYS[config.form]
        if config.form == "profile" and "dimension" in arrays and "sign" not in arrays:
            kinds = _SMALL_PROFILE
        check_shapes(arrays, _ngram_shapes(arrays, strings, config, kinds))
        codes = {name: arrays[name].astype(np.int64) for name in BIGRAMS}
        weights = {name: arrays[name] for name in kinds}
        if kinds is _SMALL_PROFILE:
            weights |= large_profile(weights)
        limits = {
            "bigrams": (1 + unmasked) ** 2,
            "shaped_bigrams": (1 + len(strings["symbols"])) ** 2,
            "dimension": config.lev_size,
        }
        for name, numbers in {**codes, **weights}.items():
            limit = limits.get(name)
            if limit and (numbers.min(initial=0) < 0 or numbers.max(initial=0) >= limit):
                raise ValueError(f"{name} with numbers not from 0 to {limit - 1}")
    return NgramModel(
        config=config,
        table=NgramTable(longest=longest, unmasked=unmasked, **strings, **codes),  # type: ignore[arg-type]
        weights=weights,
        scores=description["scores"],
        folder=files.folder,
        genres=read_genres(files, config.lev_size),
        **vars(measured),
    )


def small_profile(weights: Arrays, channels: Sequence[slice]) -> Arrays:
    """The weights of a profile with up to 65,536 dimensions, in 4 bytes an n-gram."""
    signed = weights["weights"] * weights["sign"].astype(np.float32)
    for channel in channels:  # a factor of a channel changes no LEV
        most = float(np.abs(signed[channel]).max(initial=0))
        signed[channel] *= np.float32(2.0 ** -np.ceil(np.log2(most))) if most else 1
    tiny = np.finfo(np.float16).smallest_subnormal  # a weight of 0 would lose its sign
    small = np.copysign(np.maximum(np.abs(signed), tiny), signed).astype(np.float16)
    return {"weights": small, "dimension": weights["dimension"].astype(np.uint16)}


def large_profile(small: Arrays) -> Arrays:
    """The weights of a profile, from those that `small_profile` has made."""
    signed = small["weights"].astype(np.float32)
    return {
        "weights": np.abs(signed),
        "dimension": small["dimension"].astype(np.int32),
        "sign": np.where(signed < 0, -1, 1).astype(np.int8),
    }


def _read_languages(files: ModelFiles, description: dict[str, Any]) -> LanguagesModel:
    with reading(files.folder, layout.CONFIG.name):
        config = NgramConfig.from_json(description["config"])
        if config.form != "profile":
            raise ValueError(f"the form is {config.form}; expected a profile")
        languages = from_json(dict[str, dict[str, str]], description["languages"], "languages")
        if not languages:
            raise ValueError("there is no language")
        for hashes in languages.values():
            if not {file.name for file in LANGUAGE_FILES} <= set(hashes):
                raise ValueError("a language without the SHA-256 of all its files")
        measured = read_measured(description)

    def read(name: str) -> NgramModel:
        with reading(files.folder, name):
            of_language = files.language(name, languages[name])
        model = _read_ngrams(of_language, read_description(of_language))
        with reading(files.folder, f"{name}/{layout.CONFIG.name}"):
            for setting in ("form", "lev_size", "normaliser"):
                if getattr(model.config, setting) != getattr(config, setting):
                    raise ValueError(f"its {setting} is not that of {layout.CONFIG.name} above it")
        return model

    genres = read_genres(files, config.lev_size)
    assert genres is not None  # the file was checked for
    return LanguagesModel(
        config=config,
        languages=tuple(languages),
        read_language=read,
        scores=description["scores"],
        folder=files.folder,
        genres=genres,
        **vars(measured),
    )


def read_measured(description: dict[str, Any]) -> Measured:
    """What was measured in training, in config.json."""
    names = {field.name for field in fields(Measured)} & set(description)
    return from_json(Measured, {name: description[name] for name in names}, "it")


def _strings(lists: Any, name: str) -> tuple[str, ...]:
    strings = lists[name]
    if not isinstance(strings, list) or set(map(type, strings)) - {str}:
        raise ValueError(f"{name} is not a list of strings")
    if len(set(strings)) < len(strings):
        raise ValueError(f"one of the {name} is there twice")
    return tuple(strings)


def _ngram_shapes(
    arrays: Arrays,
    strings: dict[str, tuple[str, ...]],
    config: NgramConfig,
    kinds: Mapping[str, str],
) -> Shapes:
    """The required shapes of the arrays; only the bigrams' number is in no other file."""
    sizes = {name: len(ngrams) for name, ngrams in strings.items()}
    for name in BIGRAMS:
        if name not in arrays or arrays[name].ndim != 1:
            raise ValueError(f"there is no row of {name} in it")
        sizes[name] = len(arrays[name])
        if sizes[name] > getattr(config.ngrams, name):
            raise ValueError(f"{sizes[name]:,} {name}; config.json has fewer")
    columns = sum(sizes[channel] for channel in CHANNELS)
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        name: (dtype, (columns, config.lev_size) if name == "projection" else (columns,))
        for name, dtype in kinds.items()
    }
    return {**shapes, **{name: ("I32", (sizes[name],)) for name in BIGRAMS}}


def read_genres(folder: Path | ModelFiles, lev_size: int) -> Genres | None:
    """The genres of a model with LEVs of this size; None without any."""
    files = ModelFiles.at(folder)
    if not files.has(layout.STYLES):
        return None
    with reading(files.folder, layout.STYLES.name):
        arrays, metadata = files.tensors(layout.STYLES)
        genres = tuple(metadata.get("genres", "").split("\n"))
        if not all(genres) or len(genres) > _MOST_GENRES or len(set(genres)) < len(genres):
            raise ValueError(f"{len(genres)} genres; expected 1 to {_MOST_GENRES:,}, each once")
        numbers = read_floats(arrays, {"centres": (len(genres), lev_size), "usual": (1,)})
        usual = float(numbers["usual"][0])
        if usual <= 0:
            raise ValueError(f"its usual distance is {usual}; expected a positive number")
        return Genres(genres, numbers["centres"], usual)
