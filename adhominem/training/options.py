"""The options of training, apart from it: reading a config needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from adhominem.errors import OptionError
from adhominem.pairs.epochs import PairOptions
from adhominem.text.normalisation import Normaliser
from adhominem.text.vocabulary import VocabularyOptions
from adhominem.text.windows import WindowOptions


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
    look_every: int = 200  # steps between two looks at dev
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
