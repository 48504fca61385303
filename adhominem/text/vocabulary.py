"""The network's input: ids of tokens and characters, in windows with a contextual prefix.

The vocabulary is the paper's topic masking. Only the most frequent token types keep their identity;
names and subject words become `<UNK>`. A rare token keeps its characters, so that its spelling can
still reveal something about its author.

Sliding windows are sentence-like units without a sentence boundary detector. A window is
`contextual prefix + hop + overlap` tokens; each begins `hop` tokens after the one before, so that
neighbouring tokens are together in one of them. Positions here count document tokens; the prefix
comes in front.

The contextual prefix, the first token of every window, says what the text is about. Each topic of
the training texts (each fandom of PAN's) has a vector of its own, which starts from the mean of its
tokens' pretrained word vectors and is learnt. A topic that is not among them gets the mean of its
tokens' vectors, as far as they are kept with the model. A document without a topic gets a special
vector; training may hide some topics at random, so that one model serves texts with and without
topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray
from adhominem.errors import OptionError
from adhominem.records import Options, Share, Size, Within
from adhominem.text.corpus import UNKNOWN_LABEL

if TYPE_CHECKING:  # training needs no tokenizer
    from adhominem.text.tokenizer import Tokenizer

PADDING, UNKNOWN = 0, 1  # the ids of <PAD> and <UNK>, for tokens and for characters alike
SPECIAL = ("<PAD>", "<UNK>")
NO_TOPIC = UNKNOWN_LABEL  # in place of a topic's index


@dataclass(frozen=True, kw_only=True)
class VocabularyOptions(Options):
    """The sizes of the vocabulary of tokens and characters."""

    token_types: Size = 5_000
    character_types: Size = 300
    characters_per_token: Annotated[int, Within(1, 256)] = 15


@dataclass(frozen=True)
class Vocabulary:
    """Token types and characters with ids from 2 on, most frequent first."""

    token_types: tuple[str, ...]
    characters: tuple[str, ...]
    characters_per_token: int = 15
    # The contextual prefixes: topics, as tokens with spaces in between, and words of topics.
    prefixes: tuple[str, ...] = ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The token types that are words, in lower case, most frequent first."""
        return tuple(
            token_type.lower() for token_type in self.token_types if token_type[:1].isalpha()
        )

    @classmethod
    def build(
        cls,
        types: Sequence[str],
        counts: IntArray,
        options: VocabularyOptions | None = None,
    ) -> Vocabulary:
        """The vocabulary from token types and their counts; ties go by the alphabet.

        The counts must come from training authors alone: a word that only dev
        authors use would otherwise carry knowledge of them into the model.
        """
        options = options or VocabularyOptions()
        counted = {
            token_type: int(count)
            for token_type, count in zip(types, counts, strict=True)
            if count > 0
        }
        character_counts: dict[str, int] = {}
        for token_type, count in counted.items():
            for character in token_type:
                character_counts[character] = character_counts.get(character, 0) + count
        return cls(
            _most_frequent(counted, options.token_types),
            _most_frequent(character_counts, options.character_types),
            options.characters_per_token,
        )

    def token_ids(self, types: Sequence[str]) -> npt.NDArray[np.int32]:
        """(types,): the id of each token type, `UNKNOWN` for a rare one."""
        ids = {token_type: id for id, token_type in enumerate(self.token_types, start=len(SPECIAL))}
        return np.array([ids.get(token_type, UNKNOWN) for token_type in types], dtype=np.int32)

    def prefix_rows(self, topic: Sequence[str]) -> list[int]:
        """The prefixes whose mean is a topic's: its own, or else those of its words, if any."""
        rows = self._rows_of_prefixes
        names = [name] if (name := " ".join(topic)) in rows else topic
        return [rows[name] for name in names if name in rows]

    @cached_property
    def _rows_of_prefixes(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.prefixes)}

    def character_ids(self, types: Sequence[str]) -> npt.NDArray[np.int32]:
        """(types, characters): the first characters of each token type, padded."""
        size = self.characters_per_token
        short = [token_type[:size] for token_type in types]
        lengths = np.fromiter(map(len, short), np.int64, len(short))
        codes = np.zeros((len(types), size), np.uint32)  # no token contains a NUL
        codes[np.arange(size) < lengths[:, None]] = np.frombuffer(
            "".join(short).encode("utf-32-le"), np.uint32
        )
        known = np.array([0, *map(ord, self.characters)], dtype=np.uint32)
        ids = np.array([PADDING, *range(len(SPECIAL), len(SPECIAL) + len(known) - 1)], np.int32)
        order = np.argsort(known)
        place = np.searchsorted(known[order], codes).clip(max=len(known) - 1)
        is_known = known[order][place] == codes
        return np.where(is_known, ids[order][place], np.int32(UNKNOWN))


def _most_frequent(counts: dict[str, int], size: int) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:size])


@dataclass(frozen=True, kw_only=True)
class WindowOptions(Options):
    """Sizes in tokens and windows.

    `random_crop` is the share of long documents cut at random in training. Afterwards, `spread`
    takes windows from all over them, not only the first ones.
    """

    hop: Annotated[int, Within(1, 1_000)] = 25
    overlap: Annotated[int, Within(0, 1_000)] = 4
    max_windows: Annotated[int, Within(1, 10_000)] = 210
    random_crop: Share = 0.5
    spread: bool = True

    @property
    def width(self) -> int:
        """The number of document tokens in a window, without the contextual prefix."""
        return self.hop + self.overlap

    @property
    def max_tokens(self) -> int:
        """The number of document tokens in `max_windows` consecutive windows."""
        return self.max_windows * self.hop + self.overlap


def count_windows(tokens: npt.ArrayLike, options: WindowOptions) -> IntArray:
    """The number of windows that cover documents of these lengths, each adding a token or more.

    The last window begins before `tokens - overlap`: all tokens after that are inside the
    window before it.
    """
    lengths = np.asarray(tokens, dtype=np.int64)
    return np.maximum(1, -((options.overlap - lengths) // options.hop))


def spread_starts(tokens: int, options: WindowOptions) -> IntArray:
    """The first tokens (windows,) of the windows; of too many, `max_windows` spread or first."""
    count = int(count_windows(tokens, options))
    chosen = np.arange(count)
    if count > options.max_windows:
        last = (count if options.spread else options.max_windows) - 1
        chosen = np.linspace(0, last, options.max_windows).round().astype(np.int64)
    return chosen * options.hop


def crop_starts(
    tokens: npt.ArrayLike, options: WindowOptions, rng: np.random.Generator
) -> IntArray:
    """The token (documents,) at which training begins to read each document.

    A document that fits into `max_windows` is read from its beginning. Of a longer
    one, a section of full length is read: a random one, or by chance the first.
    """
    lengths = np.asarray(tokens, dtype=np.int64)
    room = np.maximum(0, lengths - options.max_tokens)
    cropped = rng.random(lengths.shape) < options.random_crop
    return np.where(cropped, rng.integers(0, room + 1), 0)


@dataclass(frozen=True)
class WindowTable:
    """The windows of some documents, concatenated."""

    documents: IntArray  # (windows,): the document, counted within the batch
    positions: IntArray  # (windows,): which window of its document
    starts: IntArray  # (windows,): the first token, counted within the document
    counts: IntArray  # (windows,): tokens

    def token_places(self, lengths: IntArray, width: int) -> IntArray:
        """The indices (windows, width) of tokens among those of all documents, concatenated.

        `lengths` are those of the documents. A window is padded with its last token.
        """
        begins = (np.cumsum(lengths) - lengths)[self.documents] + self.starts  # (windows,)
        return begins[:, None] + np.minimum(np.arange(width), self.counts[:, None] - 1)


def consecutive_windows(lengths: IntArray, starts: IntArray, options: WindowOptions) -> WindowTable:
    """The windows for training: up to `max_windows` of each document, from `starts` on."""
    remaining = lengths - starts
    per_document = np.minimum(count_windows(remaining, options), options.max_windows)
    documents = np.repeat(np.arange(len(lengths)), per_document)
    begins = np.cumsum(per_document) - per_document
    positions = np.arange(len(documents)) - begins[documents]
    first = starts[documents] + positions * options.hop
    counts = np.minimum(options.width, lengths[documents] - first)
    return WindowTable(documents, positions, first, counts)


def spread_windows(lengths: IntArray, options: WindowOptions) -> WindowTable:
    """The windows for inference: the whole document, or `max_windows` of its windows."""
    starts_of = [spread_starts(int(length), options) for length in lengths]
    documents = np.repeat(np.arange(len(lengths)), [len(starts) for starts in starts_of])
    positions = np.concatenate([np.arange(len(starts)) for starts in starts_of])
    first = np.concatenate(starts_of)
    return WindowTable(
        documents, positions, first, np.minimum(options.width, lengths[documents] - first)
    )


def prefix_tokens(topic: str, tokenizer: Tokenizer) -> list[str]:
    """The tokens of a topic without its non-ASCII characters; empty without a topic."""
    return tokenizer.tokens(topic.encode("ascii", "ignore").decode("ascii"))


def hide_topics(
    topics: npt.NDArray[np.int32], share: float, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """The topic indices (documents,), each replaced by `NO_TOPIC` with probability `share`."""
    if not 0 <= share <= 1:
        raise OptionError(f"the share of hidden topics is {share}; expected 0 to 1")
    return np.where(rng.random(topics.shape) < share, np.int32(NO_TOPIC), topics)
