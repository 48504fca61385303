"""All settings of the network and its training, and its presets; `pan20` is the paper's.

Defaults are the paper's, unless `pan20` has another value. What the paper leaves open, and all
differences, are in docs/paper.md.

Reading a config needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from adhominem.errors import OptionError
from adhominem.paper.sampling import PairOptions
from adhominem.records import (
    BaseConfig,
    Longest,
    NotNegative,
    OneOf,
    Options,
    Positive,
    Seed,
    Share,
    ShareBelow1,
    Size,
    SizeOrNone,
    pick_preset,
)
from adhominem.text.normalisation import Normaliser
from adhominem.text.vocabulary import VocabularyOptions, WindowOptions


@dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """The input of the network."""

    normaliser: Normaliser = field(default_factory=Normaliser)
    vocabulary: VocabularyOptions = field(default_factory=VocabularyOptions)
    windows: WindowOptions = field(default_factory=WindowOptions)
    pairs: PairOptions = field(default_factory=PairOptions)
    hidden_topics: Share = 0.2  # share of training documents whose contextual prefix is hidden

    @property
    def knows_topics(self) -> bool:
        """Whether contextual prefixes are used, in training and afterwards."""
        return self.hidden_topics < 1


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(Options):
    """The sizes and the dropout of the network."""

    character_size: Size = 10
    character_filters: Size = 30
    character_filter_width: Size = 4
    word_vector_size: Size = 300
    # A text file of vectors to start with; without one they are random.
    word_vectors: Annotated[str, Longest(10_000)] = ""
    rescale_word_vectors: bool = True  # those of the file to the scale of random ones
    window_lstm_size: Size = 50  # in each direction
    document_lstm_size: Size = 50  # in each direction
    attention_size: Size = 100
    lev_size: Size = 60
    cnn_dropout: ShareBelow1 = 0.2
    lstm_dropout: ShareBelow1 = 0.1
    attention_dropout: ShareBelow1 = 0.1
    lev_dropout: ShareBelow1 = 0.2


@dataclass(frozen=True, kw_only=True)
class LossOptions(Options):
    """The loss that training minimises.

    distance                 "contrastive" (the paper's), "kernel" (its successor's), or "" for none
    in_batch_negatives       weight of the added term; 0 leaves it out
    in_batch_form            "softmax" of the log Bayes factors, or "cosine": the softmax of all
                             documents' cosines, centred on the batch's mean
    stop_gradient_at_lev     the Bayes factor's loss only trains its own layer
    projection_size          of a dense layer, with tanh, before the two-covariance layer; 0: none
    two_covariance_dropout   of the vectors that enter the two-covariance layer
    start                    of that layer: "levs", at the scale of the first LEVs, or "unit"
    constant                 of the score: "corrected", or "printed", as the paper has it, with its
                             sign errors (docs/paper.md)
    adaptation_size          of the hidden layers of the successor's uncertainty adaptation and of
                             its detector of undecidable pairs; 0: neither
    entropy_weight           of the entropy of the adapted answers, which is rewarded
    """

    distance: Annotated[str, OneOf("contrastive", "kernel", "")] = "contrastive"
    same_threshold: NotNegative = 1.0  # tau_s, on the squared distance
    different_threshold: NotNegative = 3.0  # tau_d
    kernel_same_threshold: Share = 0.91  # tau_s, on the kernel
    kernel_different_threshold: Share = 0.09  # tau_d
    in_batch_negatives: NotNegative = 0.0
    in_batch_form: Annotated[str, OneOf("softmax", "cosine")] = "softmax"
    stop_gradient_at_lev: bool = False
    projection_size: SizeOrNone = 0
    two_covariance_dropout: ShareBelow1 = 0.0
    start: Annotated[str, OneOf("levs", "unit")] = "levs"
    constant: Annotated[str, OneOf("corrected", "printed")] = "corrected"
    adaptation_size: SizeOrNone = 0
    entropy_weight: NotNegative = 0.1

    ordered = (
        ("same_threshold", "<", "different_threshold"),
        ("kernel_different_threshold", "<", "kernel_same_threshold"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adaptation_size and self.distance != "kernel":
            raise OptionError(
                f"adaptation_size is {self.adaptation_size} with the distance '{self.distance}'; "
                "expected kernel, whose probability is the first of the successor's stages"
            )

    @property
    def by_cosine(self) -> bool:
        """Whether the cosine of LEVs is trained."""
        return self.in_batch_negatives > 0 and self.in_batch_form == "cosine"

    @property
    def decision_threshold(self) -> float:
        """The paper's tau: the squared distance at which the decision turns."""
        return 0.5 * (self.same_threshold + self.different_threshold)


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(Options):
    """The training of the network."""

    epochs: Size = 35
    batch_pairs: Size = 40
    learning_rate: Positive = 0.0006
    final_learning_rate: Positive = 0.0002
    decay_epochs: Size = 30  # the learning rate falls linearly until then
    clip_norm: Positive = 5.0  # of each parameter's gradient
    max_windows: Size = 210  # of a document, read in a step
    patience: Size = 10  # epochs without a better dev score before training stops
    # What shares dropout masks. "window" is how the authors' later code drops: see `Masks`.
    masks: Annotated[str, OneOf("document", "pair", "window")] = "pair"
    seed: Seed = 0
    checkpoint_minutes: NotNegative = 5.0  # between checkpoints within an epoch; 0: every step
    detector_epochs: Size = 30  # of O2D2, over pairs of the calibration texts
    detector_margin: Share = 0.05  # around 0.5: answers within it are undecidable, like wrong ones

    def rate(self, epoch: float) -> float:
        """The learning rate after this many epochs."""
        done = min(1.0, epoch / self.decay_epochs)
        return self.learning_rate + done * (self.final_learning_rate - self.learning_rate)


@dataclass(frozen=True, kw_only=True)
class Config(BaseConfig):
    """All settings of a model and its training."""

    dropped = (
        ("encoder.train_word_vectors", True),
        ("loss.projection_dropout", 0.2),
    )

    data: DataOptions = field(default_factory=DataOptions)
    encoder: EncoderOptions = field(default_factory=EncoderOptions)
    loss: LossOptions = field(default_factory=LossOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)

    @property
    def normaliser(self) -> Normaliser:
        """The normalisation of a text before it is tokenized."""
        return self.data.normaliser

    @property
    def lev_size(self) -> int:
        """The size of a LEV."""
        return self.encoder.lev_size


# Texts as they are: only what nobody sees is normalised. A contraction is two tokens, as in Fig. 4.
_AS_WRITTEN = Normaliser(
    ("line_ends", "soft_hyphens", "zero_width", "nfc", "spaces", "contractions")
)
_FIRST_WINDOWS = WindowOptions(spread=False)

PRESETS = {
    "pan20": Config(  # the paper's
        data=DataOptions(normaliser=_AS_WRITTEN, windows=_FIRST_WINDOWS, hidden_topics=0.0),
        encoder=EncoderOptions(rescale_word_vectors=False),
        training=TrainingOptions(patience=35),
    ),
    # The authors' system of the year after (arXiv:2106.11196 and 2106.15825). No text says how
    # large the hidden layers of UAL and O2D2 are.
    "pan21": Config(
        data=DataOptions(
            normaliser=_AS_WRITTEN,
            windows=_FIRST_WINDOWS,
            pairs=PairOptions(class_shares=(0.11, 0.19, 0.42, 0.28)),
            hidden_topics=1.0,
        ),
        encoder=EncoderOptions(rescale_word_vectors=False),
        loss=LossOptions(
            distance="kernel", stop_gradient_at_lev=True, projection_size=40, adaptation_size=40
        ),
    ),
    # For texts of any genre: it must learn the author, not the genre. So a batch contains one
    # corpus, and each of its texts is compared with all others, relative to the mean of the batch;
    # small corpora are drawn from more often, but at most twice an epoch, to avoid overfitting
    # their few texts; the vocabulary is smaller; no topics, no dropout. Smaller than the paper's,
    # and without overlap of windows: more than twice as fast, and as good (docs/decisions.md).
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
            stop_gradient_at_lev=True,  # the model of genres, fitted afterwards, scores
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
    # Trains on a laptop in about a minute, for the tests and `make train-demo`. Without dropout:
    # its noise on everything that documents have in common would long hide their differences.
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


def preset(name: str) -> Config:
    """The network's preset of this name."""
    return pick_preset(name, PRESETS)
