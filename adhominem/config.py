"""All settings of a model and its training: options, presets, and their form in its folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from math import isfinite
from typing import Any, Self

from adhominem.encoders.network.options import EncoderOptions
from adhominem.encoders.ngrams.counter import NgramOptions
from adhominem.errors import OptionError
from adhominem.pairs.sampling import PairOptions
from adhominem.text.normalisation import Normaliser
from adhominem.text.vocabulary import VocabularyOptions, WindowOptions

# A model's settings may be anybody's. These decide how much memory is taken, or how long a loop
# is, when it is read and run; no model comes near.
_LARGEST = {
    "data.vocabulary.characters_per_token": 256,
    "data.windows.hop": 1_000,
    "data.windows.overlap": 1_000,
    "data.windows.max_windows": 10_000,
    "ngrams.longest": 42,  # as many characters as are looked at, and a token's two ends
    "ngrams.unmasked": 8_192,  # of these and of the shapes, every two have a cell in a table
    "ngrams.shapes": 8_192,
}
_LARGEST_SIZE = 2**24  # of whatever else is counted
_UNBOUNDED = ("seed",)
_MOST_STRINGS, _LONGEST_STRING = 1_000, 10_000


class Settings:
    """What all configurations can do: be changed setting by setting, be written and read."""

    def with_setting(self, setting: str) -> Self:
        """A copy with one setting changed: `encoder.lev_size=80`, `data.windows.hop=20`."""
        return self.with_settings([setting])

    def with_settings(self, settings: Sequence[str]) -> Self:
        """A copy with some settings changed; only the result of all of them must hold together."""
        data = self.to_json()
        for setting in settings:
            path, equals, value = setting.partition("=")
            if not equals:
                raise OptionError(
                    f"'{setting}' is no setting; expected one like encoder.lev_size=80"
                )
            *rooms, name = path.split(".")
            place = data
            for room in rooms:
                place = _known(place, room, path)
            before = _known(place, name, path)
            if isinstance(before, dict):
                raise OptionError(f"'{path}' is no single setting")
            place[name] = _parsed(value, before, path)
        return self.from_json(data)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        written: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return written

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The config that `to_json` wrote, or an earlier version's.

        A setting that is not there has its default, since new ones begin with what was done
        before; an unknown one raises OptionError.
        """
        built: Self = _built(data, cls(), "config")
        return built


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """All that decides what the network gets to see. The default is the paper's."""

    normaliser: Normaliser = field(default_factory=Normaliser)
    vocabulary: VocabularyOptions = field(default_factory=VocabularyOptions)
    windows: WindowOptions = field(default_factory=WindowOptions)
    pairs: PairOptions = field(default_factory=PairOptions)
    hidden_topics: float = 0.2  # share of training documents whose contextual prefix is hidden
    hidden_tokens: float = 0.0  # share of training tokens that are hidden, anew in each step

    @property
    def knows_topics(self) -> bool:
        """Whether the network has ever seen a contextual prefix; if not, it never gets one."""
        return self.hidden_topics < 1

    def __post_init__(self) -> None:
        if not 0 <= self.hidden_topics <= 1:
            raise OptionError(f"hidden_topics is {self.hidden_topics}; expected 0 to 1")
        if not 0 <= self.hidden_tokens < 1:
            raise OptionError(f"hidden_tokens is {self.hidden_tokens}; expected 0 to below 1")


@dataclass(frozen=True, kw_only=True)
class LossOptions:
    """What training minimises. The default is the paper's.

    distance                 "contrastive" (the paper's), "kernel" (2021's) or ""
    in_batch_negatives       weight of the added term; 0 leaves it out
    in_batch_form            "cross_entropy" or "softmax" of the log Bayes factors, or "cosine":
                             the softmax of all documents' cosines, moved to the batch's mean
    stop_gradient_at_lev     the Bayes factor's loss trains its own layer alone
    projection_size          a dense layer with ReLU before the two-covariance layer; 0: none
    """

    distance: str = "contrastive"
    same_threshold: float = 1.0  # tau_s, on the squared distance
    different_threshold: float = 3.0  # tau_d
    kernel_same_threshold: float = 0.91
    kernel_different_threshold: float = 0.09
    in_batch_negatives: float = 0.0
    in_batch_form: str = "softmax"
    stop_gradient_at_lev: bool = False
    projection_size: int = 0
    projection_dropout: float = 0.2

    def __post_init__(self) -> None:
        if self.distance not in ("contrastive", "kernel", ""):
            raise OptionError(f"distance is {self.distance!r}; expected contrastive, kernel or ''")
        if self.in_batch_form not in ("cross_entropy", "softmax", "cosine"):
            raise OptionError(
                f"in_batch_form is {self.in_batch_form!r}; expected cross_entropy, softmax or "
                "cosine"
            )
        if not 0 <= self.same_threshold < self.different_threshold:
            raise OptionError("expected 0 <= same_threshold < different_threshold")
        if not 0 <= self.kernel_different_threshold < self.kernel_same_threshold <= 1:
            raise OptionError(
                "expected 0 <= kernel_different_threshold < kernel_same_threshold <= 1"
            )
        for name in ("in_batch_negatives", "projection_size"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"{name} is {getattr(self, name)}; expected 0 or more")
        if not 0 <= self.projection_dropout < 1:
            raise OptionError(
                f"projection_dropout is {self.projection_dropout}; expected 0 to below 1"
            )

    @property
    def by_cosine(self) -> bool:
        """Whether the cosine is what is learnt."""
        return self.in_batch_negatives > 0 and self.in_batch_form == "cosine"

    @property
    def decision_threshold(self) -> float:
        """The paper's tau: the squared distance at which the decision turns."""
        return 0.5 * (self.same_threshold + self.different_threshold)


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How the network is trained. The default is the paper's."""

    epochs: int = 35
    batch_pairs: int = 40
    learning_rate: float = 0.0006
    final_learning_rate: float = 0.0002
    decay_epochs: int = 30  # the learning rate falls linearly until then
    clip_norm: float = 5.0  # of each parameter's gradient by itself
    max_windows: int = 210  # read of a document in a step
    patience: int = 10  # epochs without a better dev score before training stops
    masks: str = "pair"  # what shares its dropout masks: a "document" or a "pair"
    seed: int = 0
    checkpoint_minutes: float = 5.0  # between checkpoints within an epoch; 0: every step

    def __post_init__(self) -> None:
        if self.masks not in ("document", "pair"):
            raise OptionError(f"masks is {self.masks!r}; expected document or pair")
        for name in ("epochs", "batch_pairs", "max_windows", "decay_epochs", "patience"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; expected 1 or more")
        for name in ("learning_rate", "final_learning_rate", "clip_norm"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name} is {getattr(self, name)}; expected above 0")
        for name in ("seed", "checkpoint_minutes"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"{name} is {getattr(self, name)}; expected 0 or more")

    def rate(self, epoch: float) -> float:
        """The learning rate after so many epochs."""
        done = min(1.0, epoch / self.decay_epochs)
        return self.learning_rate + done * (self.final_learning_rate - self.learning_rate)


@dataclass(frozen=True, kw_only=True)
class NgramTrainingOptions:
    """The learning of an n-gram encoder."""

    weight_steps: int = 800
    weight_rate: float = 0.01
    companion: int = 512  # dimensions of the projection learnt beside the weights; 0: none
    companion_rate: float = 0.001
    projection_steps: int = 1_200
    projection_rate: float = 0.0003
    dropout: float = 0.05  # of the weighted n-grams, while the projection is learnt
    batch_authors: int = 256
    cut: float = 0.5  # share of texts that are cut at random
    shortest: int = 200  # tokens that a cut leaves
    longest: int = 4_000  # tokens that are read of a text
    sample: int = 3_000  # texts of a corpus that the starting values come from
    dev_every: int = 200  # steps between two looks at dev
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in ("dropout", "cut"):
                if not 0 <= value <= 1 or (name == "dropout" and value == 1):
                    raise OptionError(f"{name} is {value}; expected a share")
            elif value < 0 or (value == 0 and name not in ("seed", "companion")):
                raise OptionError(f"{name} is {value}; expected above 0")
        if self.shortest > self.longest:
            raise OptionError(
                f"shortest is {self.shortest}, longest {self.longest}; expected no more than that"
            )


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """All settings of a model and its training. The default is the paper's."""

    data: DataOptions = field(default_factory=DataOptions)
    encoder: EncoderOptions = field(default_factory=EncoderOptions)
    loss: LossOptions = field(default_factory=LossOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)

    @property
    def normaliser(self) -> Normaliser:
        """What is done to a text before it is tokenized."""
        return self.data.normaliser

    @property
    def lev_size(self) -> int:
        """The size of a LEV."""
        return self.encoder.lev_size

    @property
    def knows_topics(self) -> bool:
        """Whether topics are of any use to the model."""
        return self.data.knows_topics

    def __post_init__(self) -> None:
        if self.loss.in_batch_negatives and self.training.masks == "pair":
            raise OptionError(
                "with in_batch_negatives, documents of one pair would be known by their dropout "
                "masks; expected training.masks=document"
            )


FORMS = ("projection", "profile")


@dataclass(frozen=True, kw_only=True)
class NgramConfig(Settings):
    """All settings of an n-gram model and its training.

    form    projection: a learnt projection to a LEV of few dimensions; profile: the weighted
            n-grams themselves, the many rare ones sharing dimensions, for what training could
            not know to matter
    """

    normaliser: Normaliser = field(default_factory=Normaliser)
    ngrams: NgramOptions = field(default_factory=NgramOptions)
    form: str = "projection"
    lev_size: int = 768
    training: NgramTrainingOptions = field(default_factory=NgramTrainingOptions)

    @property
    def knows_topics(self) -> bool:
        """Never: n-grams have no contextual prefix."""
        return False

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise OptionError(f"form is {self.form!r}; expected {' or '.join(FORMS)}")
        if self.lev_size < 1:
            raise OptionError(f"lev_size is {self.lev_size}; expected 1 or more")


PRESETS = {
    "pan20": Config(),  # the paper's
    # For texts of any genre: it must learn the author, not the genre. So a batch holds one corpus
    # and each of its texts is compared with all others, from the mean of the batch; small corpora
    # are drawn from more often; fewer words are known; no topics, no dropout.
    "general": Config(
        data=DataOptions(
            vocabulary=VocabularyOptions(token_types=1_000),
            windows=WindowOptions(random_crop=1.0),
            pairs=PairOptions(
                one_corpus_batches=True,
                even_corpora=True,
                same_author_across="work",
                different_authors_within="topic",
            ),
            hidden_topics=1.0,
        ),
        encoder=EncoderOptions(
            lev_size=128,
            cnn_dropout=0.0,
            lstm_dropout=0.0,
            attention_dropout=0.0,
            lev_dropout=0.0,
        ),
        loss=LossOptions(
            distance="",
            in_batch_negatives=1.0,
            in_batch_form="cosine",
            stop_gradient_at_lev=True,  # the Bayes factor is that of `styles`, fitted afterwards
        ),
        training=TrainingOptions(
            epochs=60,
            batch_pairs=320,
            learning_rate=0.002,
            final_learning_rate=0.0001,
            decay_epochs=60,
            max_windows=28,
            patience=60,
            masks="document",
        ),
    ),
    # Trains on a laptop in about a minute: what the tests and `make train-demo` use. Without
    # dropout: its noise on the sum of all that documents have in common hides for long what they
    # differ in.
    "tiny": Config(
        data=DataOptions(
            vocabulary=VocabularyOptions(token_types=500, character_types=100),
            windows=WindowOptions(max_windows=20),
            pairs=PairOptions(balanced=True),
        ),
        encoder=EncoderOptions(
            character_filters=10,
            word_vector_size=24,
            window_lstm_size=16,
            document_lstm_size=16,
            attention_size=16,
            lev_size=16,
            cnn_dropout=0.0,
            lstm_dropout=0.0,
            attention_dropout=0.0,
            lev_dropout=0.0,
        ),
        loss=LossOptions(in_batch_negatives=1.0),
        training=TrainingOptions(
            epochs=10, batch_pairs=32, learning_rate=0.003, max_windows=10, masks="document"
        ),
    ),
}


NGRAM_PRESETS = {
    "ngrams": NgramConfig(
        ngrams=NgramOptions(
            characters=10_000,
            tokens=2_500,
            bigrams=5_000,
            shaped_bigrams=2_500,
            unmasked=800,
            shapes=1_600,
        ),
        training=NgramTrainingOptions(cut=0.25),
    ),
    "ngram-profile": NgramConfig(
        form="profile", lev_size=32_768, training=NgramTrainingOptions(weight_steps=1_400)
    ),
    # For tests: seconds on a laptop.
    "tiny-ngrams": NgramConfig(
        ngrams=NgramOptions(
            characters=2_000, tokens=500, bigrams=1_000, shaped_bigrams=1_000, unmasked=100
        ),
        lev_size=16,
        training=NgramTrainingOptions(
            weight_steps=20, projection_steps=20, batch_authors=16, dev_every=10
        ),
    ),
}


def preset(name: str) -> Config:
    """The network's preset of this name."""
    if name not in PRESETS:
        raise _no_preset(name, PRESETS)
    return PRESETS[name]


def any_preset(name: str) -> Config | NgramConfig:
    """The preset of this name, be it of a network or of an n-gram model."""
    presets: dict[str, Config | NgramConfig] = {**PRESETS, **NGRAM_PRESETS}
    if name not in presets:
        raise _no_preset(name, presets)
    return presets[name]


def _no_preset(name: str, known: Iterable[str]) -> OptionError:
    return OptionError(f"there is no preset '{name}'; expected one of: {', '.join(known)}")


def _known(place: Any, name: str, path: str) -> Any:
    if not isinstance(place, dict):
        raise OptionError(f"'{path}' is no single setting")
    if name not in place:
        raise OptionError(f"there is no setting '{path}'; expected one of: {', '.join(place)}")
    return place[name]


def _parsed(value: str, before: object, whole: str) -> object:
    """The text of a setting as a value of the type it had before."""
    if isinstance(before, str):
        return value
    try:
        parsed = json.loads(value.lower() if isinstance(before, bool) else value)
    except json.JSONDecodeError:
        parsed = value
    return _fitting(parsed, before, whole)


def _built(data: Any, default: Any, where: str) -> Any:
    """Options of the type that the default has, with all values from the data."""
    if not isinstance(data, dict):
        raise OptionError(f"{where} is {type(data).__name__}; expected an object of settings")
    before = {entry.name: getattr(default, entry.name) for entry in fields(default)}
    if odd := sorted(set(data) - set(before)):
        raise OptionError(f"{where}: unknown settings: {', '.join(odd)}")
    values = {
        name: (_built if is_dataclass(before[name]) else _fitting)(
            value, before[name], f"{where}.{name}"
        )
        for name, value in data.items()
    }
    return type(default)(**values)


def _fitting(value: object, before: object, whole: str) -> object:
    """A value from JSON in the type that the setting had before."""
    if isinstance(before, tuple) and isinstance(value, list | tuple):
        if len(value) <= _MOST_STRINGS and all(isinstance(entry, str) for entry in value):
            return tuple(value)
    elif isinstance(before, float) and type(value) in (int, float):
        number = _finite(value)
        if number is not None:
            return number
    elif type(value) is type(before):
        _check_size(value, whole)
        return value
    expected = "a list of strings" if isinstance(before, tuple) else type(before).__name__
    raise OptionError(f"{whole} is {_brief(value)}; expected {expected}")


def _finite(value: Any) -> float | None:
    """As a float; None if it is none, or no number."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _check_size(value: object, whole: str) -> None:
    """Whether a number or a string is of a size that can be worked with."""
    if isinstance(value, str) and len(value) > _LONGEST_STRING:
        raise OptionError(f"{whole} has {len(value):,} characters; expected {_LONGEST_STRING:,}")
    if type(value) is int and not whole.endswith(_UNBOUNDED):
        largest = _LARGEST.get(whole.removeprefix("config."), _LARGEST_SIZE)
        if value > largest:
            raise OptionError(f"{whole} is {_brief(value)}; expected {largest:,} at most")


def _brief(value: object) -> str:
    """What a value looks like, if it is not too long."""
    if isinstance(value, int) and abs(value) > 10**30:
        return "a very large number"
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:100]}…"
