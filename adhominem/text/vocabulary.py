"""The vocabulary: the paper's topic masking.

Only the most frequent token types keep an identity of their own; names and
subject words become `<UNK>`. A rare token keeps its characters, so that its
spelling can still tell something about its author.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from adhominem.records import Options, Size, Within

PADDING, UNKNOWN = 0, 1  # the ids of <PAD> and <UNK>, for tokens and for characters alike
SPECIAL = ("<PAD>", "<UNK>")


@dataclass(frozen=True, kw_only=True)
class VocabularyOptions(Options):
    """How much of the training texts' words and characters the network may know."""

    token_types: Size = 5_000
    character_types: Size = 300
    characters_per_token: Annotated[int, Within(1, 256)] = 15


@dataclass(frozen=True)
class Vocabulary:
    """Token types and characters with ids from 2 on, most frequent first."""

    token_types: tuple[str, ...]
    characters: tuple[str, ...]
    characters_per_token: int = 15

    @cached_property
    def known(self) -> frozenset[str]:
        """The token types, to look up."""
        return frozenset(self.token_types)

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
        counts: npt.NDArray[np.int64],
        options: VocabularyOptions | None = None,
    ) -> Vocabulary:
        """Choose from token types and how often each occurs; ties go by the alphabet.

        The counts must come from training authors alone: a word that only dev
        authors use would otherwise carry knowledge of them into the model.
        """
        options = options or VocabularyOptions()
        seen = {
            token_type: int(count)
            for token_type, count in zip(types, counts, strict=True)
            if count > 0
        }
        character_counts: dict[str, int] = {}
        for token_type, count in seen.items():
            for character in token_type:
                character_counts[character] = character_counts.get(character, 0) + count
        return cls(
            _most_frequent(seen, options.token_types),
            _most_frequent(character_counts, options.character_types),
            options.characters_per_token,
        )

    def token_ids(self, types: Sequence[str]) -> npt.NDArray[np.int32]:
        """(types,): the id of each token type, `UNKNOWN` for a rare one."""
        ids = {token_type: id for id, token_type in enumerate(self.token_types, start=len(SPECIAL))}
        return np.array([ids.get(token_type, UNKNOWN) for token_type in types], dtype=np.int32)

    def character_ids(self, types: Sequence[str]) -> npt.NDArray[np.int32]:
        """(types, characters): the first characters of each token type, padded."""
        size = self.characters_per_token
        padded = "".join(
            token_type[:size].ljust(size, "\0") for token_type in types
        )  # no token holds a NUL
        codes = np.frombuffer(padded.encode("utf-32-le"), np.uint32).reshape(len(types), size)
        known = np.array([0, *map(ord, self.characters)], dtype=np.uint32)
        ids = np.array([PADDING, *range(len(SPECIAL), len(SPECIAL) + len(known) - 1)], np.int32)
        order = np.argsort(known)
        place = np.searchsorted(known[order], codes).clip(max=len(known) - 1)
        found = known[order][place] == codes
        return np.where(found, ids[order][place], np.int32(UNKNOWN))


def _most_frequent(counts: dict[str, int], size: int) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:size])
