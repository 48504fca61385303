"""All settings of a model and its training: options, presets, and their form in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self, TypeVar

from adhominem.errors import OptionError
from adhominem.ngrams.table import NgramOptions
from adhominem.paper.options import EncoderOptions
from adhominem.paper.sampling import PairOptions
from adhominem.records import (
    NotNegative,
    OneOf,
    Options,
    Positive,
    Seed,
    Share,
    ShareBelow1,
    Size,
    SizeOrNone,
    from_json,
    to_json,
)
from adhominem.text.normalisation import Normaliser
from adhominem.text.vocabulary import VocabularyOptions, WindowOptions

Preset = TypeVar("Preset")


class Settings(Options):
    """What all configurations can do: be changed setting by setting, be written and read."""

    def with_setting(self, setting: str) -> Self:
        """A copy with one setting changed: `encoder.lev_size=80`, `data.windows.hop=20`."""
        return self.with_settings([setting])

    def with_settings(self, settings: Sequence[str]) -> Self:
        """A copy with some settings changed; only the result of all of them must hold together."""
        data: Any = self.to_json()
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
                raise OptionError(
                    f"'{path}' is no single setting, but a group; expected one like {path}.NAME"
                )
            place[name] = value if isinstance(before, str) else _parsed(value)
        return self.from_json(data)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        written: dict[str, Any] = to_json(self)
        return written

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The config that `to_json` wrote, or an earlier version's.

        A setting that is not there has its default, since new ones begin with what was done
        before; an unknown one raises OptionError.
        """
        return from_json(cls, data, "config")


@dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """All that decides what the network gets to see. The default is the paper's."""

    normaliser: Normaliser = field(default_factory=Normaliser)
    vocabulary: VocabularyOptions = field(default_factory=VocabularyOptions)
    windows: WindowOptions = field(default_factory=WindowOptions)
    pairs: PairOptions = field(default_factory=PairOptions)
    hidden_topics: Share = 0.2  # share of training documents whose contextual prefix is hidden

    @property
    def knows_topics(self) -> bool:
        """Whether the network has ever seen a contextual prefix; if not, it never gets one."""
        return self.hidden_topics < 1


@dataclass(frozen=True, kw_only=True)
class LossOptions(Options):
    """What training minimises. The default is the paper's.

    distance                 "contrastive" (the paper's), "kernel" (2021's) or ""
    in_batch_negatives       weight of the added term; 0 leaves it out
    in_batch_form            "softmax" of the log Bayes factors, or "cosine": the softmax of all
                             documents' cosines, moved to the batch's mean
    stop_gradient_at_lev     the Bayes factor's loss trains its own layer alone
    projection_size          a dense layer with ReLU before the two-covariance layer; 0: none
    """

    distance: Annotated[str, OneOf("contrastive", "kernel", "")] = "contrastive"
    same_threshold: NotNegative = 1.0  # tau_s, on the squared distance
    different_threshold: NotNegative = 3.0  # tau_d
    kernel_same_threshold: Share = 0.91
    kernel_different_threshold: Share = 0.09
    in_batch_negatives: NotNegative = 0.0
    in_batch_form: Annotated[str, OneOf("softmax", "cosine")] = "softmax"
    stop_gradient_at_lev: bool = False
    projection_size: SizeOrNone = 0
    projection_dropout: ShareBelow1 = 0.2

    ordered = (
        ("same_threshold", "<", "different_threshold"),
        ("kernel_different_threshold", "<", "kernel_same_threshold"),
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
class TrainingOptions(Options):
    """How the network is trained. The default is the paper's."""

    epochs: Size = 35
    batch_pairs: Size = 40
    learning_rate: Positive = 0.0006
    final_learning_rate: Positive = 0.0002
    decay_epochs: Size = 30  # the learning rate falls linearly until then
    clip_norm: Positive = 5.0  # of each parameter's gradient by itself
    max_windows: Size = 210  # read of a document in a step
    patience: Size = 10  # epochs without a better dev score before training stops
    masks: Annotated[str, OneOf("document", "pair")] = "pair"  # what shares its dropout masks
    seed: Seed = 0
    checkpoint_minutes: NotNegative = 5.0  # between checkpoints within an epoch; 0: every step

    def rate(self, epoch: float) -> float:
        """The learning rate after so many epochs."""
        done = min(1.0, epoch / self.decay_epochs)
        return self.learning_rate + done * (self.final_learning_rate - self.learning_rate)


@dataclass(frozen=True, kw_only=True)
class NgramTrainingOptions(Options):
    """The learning of an n-gram encoder."""

    weight_steps: Size = 800
    weight_rate: Positive = 0.01
    companion: SizeOrNone = 512  # dimensions of the projection learnt beside the weights; 0: none
    companion_rate: Positive = 0.001
    projection_steps: Size = 1_200
    projection_rate: Positive = 0.0003
    dropout: ShareBelow1 = 0.05  # of the weighted n-grams, while the projection is learnt
    batch_authors: Size = 256
    # Of so many other works of an author, drawn at random, the one whose content words are least
    # like the first text's is its second; 1 takes any.
    hard_positives: Size = 1
    # A batch is drawn from so many times its authors: those whose texts are nearest in content
    # words to one of them; 1 takes any.
    hard_negatives: Size = 1
    cut: Share = 0.5  # share of texts that are cut at random
    shortest: Size = 200  # tokens that a cut leaves
    longest: Size = 4_000  # tokens that are read of a text
    sample: Size = 3_000  # texts of a corpus that the starting values come from
    # Texts of a corpus that the most frequent n-grams are those of, so that no large one decides
    # what is counted; 0: all.
    table_sample: SizeOrNone = 0
    dev_every: Size = 200  # steps between two evaluations on dev
    # Each stage is learnt so many times, from one start with other batches, and averaged: what a
    # run has of its own was learnt by heart.
    runs: Size = 1
    seed: Seed = 0

    ordered = (("shortest", "<=", "longest"),)


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


@dataclass(frozen=True, kw_only=True)
class NgramConfig(Settings):
    """All settings of an n-gram model and its training.

    form    projection: a learnt projection to a LEV of few dimensions; profile: the weighted
            n-grams themselves, the many rare ones sharing dimensions, for what training could
            not know to matter
    """

    normaliser: Normaliser = field(default_factory=Normaliser)
    ngrams: NgramOptions = field(default_factory=NgramOptions)
    form: Annotated[str, OneOf("projection", "profile")] = "projection"
    lev_size: Size = 768
    training: NgramTrainingOptions = field(default_factory=NgramTrainingOptions)


PRESETS = {
    "pan20": Config(),  # the paper's
    # For texts of any genre: it must learn the author, not the genre. So a batch holds one corpus
    # and each of its texts is compared with all others, from the mean of the batch; small corpora
    # are drawn from more often, but at most twice an epoch, lest their few texts be learnt by
    # heart; fewer words are known; no topics, no dropout. Smaller than the paper's, and without
    # overlap of windows: more than twice as fast, and no worse (docs/decisions.md).
    "general": Config(
        data=DataOptions(
            vocabulary=VocabularyOptions(token_types=500),
            windows=WindowOptions(hop=29, overlap=0, random_crop=1.0),
            pairs=PairOptions(
                one_corpus_batches=True,
                even_corpora=True,
                most_rounds=2,
                same_author_across="work",
                different_authors_within="topic",
            ),
            hidden_topics=1.0,
        ),
        encoder=EncoderOptions(
            window_lstm_size=32,
            document_lstm_size=32,
            attention_size=64,
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
            stop_gradient_at_lev=True,  # the Bayes factor is that of the genres, fitted afterwards
        ),
        training=TrainingOptions(
            epochs=64,
            batch_pairs=320,
            learning_rate=0.002,
            final_learning_rate=0.0001,
            decay_epochs=64,
            max_windows=28,
            patience=64,
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
    return _pick(name, PRESETS)


def any_preset(name: str) -> Config | NgramConfig:
    """The preset of this name, be it of a network or of an n-gram model."""
    presets: dict[str, Config | NgramConfig] = {**PRESETS, **NGRAM_PRESETS}
    return _pick(name, presets)


def _pick(name: str, presets: Mapping[str, Preset]) -> Preset:
    if name not in presets:
        raise OptionError(f"there is no preset '{name}'; expected one of: {', '.join(presets)}")
    return presets[name]


def _known(place: Any, name: str, path: str) -> Any:
    if not isinstance(place, dict):
        raise OptionError(
            f"'{path}' is no single setting, but a part of one; expected one like encoder.lev_size"
        )
    if name not in place:
        raise OptionError(f"there is no setting '{path}'; expected one of: {', '.join(place)}")
    return place[name]


def _parsed(value: str) -> object:
    """What the text of a setting says: JSON, or else the text itself, which no limit lets pass."""
    try:
        return json.loads(value.lower() if value in ("True", "False") else value)
    except ValueError:
        return value
