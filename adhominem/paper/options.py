"""The options of the network, apart from it: reading a config needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adhominem.records import Longest, Options, ShareBelow1, Size


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(Options):
    """The sizes and the dropout of the network. The default is the paper's."""

    character_size: Size = 10
    character_filters: Size = 30
    character_filter_width: Size = 4
    word_vector_size: Size = 300
    # A text file of vectors to start with; without one they are random.
    word_vectors: Annotated[str, Longest(10_000)] = ""
    train_word_vectors: bool = True
    window_lstm_size: Size = 50  # in each direction
    document_lstm_size: Size = 50  # in each direction
    attention_size: Size = 100
    lev_size: Size = 60
    cnn_dropout: ShareBelow1 = 0.2
    lstm_dropout: ShareBelow1 = 0.1
    attention_dropout: ShareBelow1 = 0.1
    lev_dropout: ShareBelow1 = 0.2
