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
    word_vectors: str = ""  # a file of vectors to start with; else random
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

    def weight_shapes(self, words: int, characters: int) -> dict[str, tuple[int, ...]]:
        """The shape of each of the network's weights, for so many words and characters."""
        window, document = 2 * self.window_lstm_size, 2 * self.document_lstm_size
        shapes: dict[str, tuple[int, ...]] = {
            "word_vectors.weight": (words, self.word_vector_size),
            "no_topic": (self.word_vector_size,),
            "characters.embedding.weight": (characters, self.character_size),
            "characters.convolution.weight": (
                *(self.character_filters, self.character_size, self.character_filter_width),
            ),
            "characters.convolution.bias": (self.character_filters,),
            "lev.weight": (self.lev_size, document),
            "lev.bias": (self.lev_size,),
        }
        token = self.word_vector_size + self.character_filters
        for name, taken, size in (("window", token, window), ("document", window, document)):
            for end in ("", "_reverse"):
                lstm = f"{name}_lstm.lstm.%s_l0{end}"
                # Four gates of half the size; one more input says "padding".
                shapes[lstm % "weight_ih"] = (2 * size, taken + 1)
                shapes[lstm % "weight_hh"] = (2 * size, size // 2)
                shapes |= {lstm % bias: (2 * size,) for bias in ("bias_ih", "bias_hh")}
        for name, size in (("token_attention", window), ("window_attention", document)):
            shapes[f"{name}.hidden.weight"] = (self.attention_size, size)
            shapes[f"{name}.hidden.bias"] = (self.attention_size,)
            shapes[f"{name}.score.weight"] = (1, self.attention_size)
        return shapes
