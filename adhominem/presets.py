"""Presets: named sets of options for the way from a text to training pairs."""

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

    def __post_init__(self) -> None:
        if not 0 <= self.hidden_topics <= 1:
            raise OptionError(f"hidden_topics is {self.hidden_topics}; expected 0 to 1")


PRESETS = {
    "pan20": DataOptions(),
    # Trains on a laptop in about a minute: what the tests and the demo use.
    "tiny": DataOptions(
        vocabulary=VocabularyOptions(token_types=500, character_types=100),
        windows=WindowOptions(max_windows=20),
    ),
}


def preset(name: str) -> DataOptions:
    """The preset of this name."""
    if name not in PRESETS:
        raise OptionError(f"there is no preset '{name}'; expected one of: {', '.join(PRESETS)}")
    return PRESETS[name]
