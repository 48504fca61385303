"""The contextual prefix: the first token of every window says what the text is about.

Its vector is the mean of the word vectors of the topic's tokens. A document
without a topic gets a vector of its own, learnt in training; training hides
some topics at random, so that one model serves texts with and without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError
from adhominem.text.labels import UNKNOWN_LABEL

if TYPE_CHECKING:  # training needs no tokenizer
    from adhominem.text.tokenizer import Tokenizer

NO_TOPIC = UNKNOWN_LABEL  # stands where a topic's index would


def prefix_tokens(topic: str, tokenizer: Tokenizer) -> list[str]:
    """The tokens of a topic without its non-ASCII characters; none for no topic."""
    return tokenizer.tokens(topic.encode("ascii", "ignore").decode("ascii"))


def hide_topics(
    topics: npt.NDArray[np.int32], share: float, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """(documents,): the topic indices, each with probability `share` replaced by `NO_TOPIC`."""
    if not 0 <= share <= 1:
        raise OptionError(f"the share of hidden topics is {share}; expected 0 to 1")
    return np.where(rng.random(topics.shape) < share, np.int32(NO_TOPIC), topics)
