"""Pretrained word vectors to initialise the network's.

Files are streamed, so that only the vocabulary's rows are ever in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from adhominem.arrays import Array32, BoolArray
from adhominem.errors import InputError, OptionError
from adhominem.text.files import bare_suffix
from adhominem.text.streams import open_bytes
from adhominem.text.vocabulary import SPECIAL, UNKNOWN, Vocabulary

_LONGEST = 1 << 20  # bytes of a line


@dataclass(frozen=True)
class WordVectors:
    """A word vector for each id of a vocabulary; zeros where `known` is false."""

    vectors: Array32  # (2 + token types, size)
    known: BoolArray  # (2 + token types,)


def read_word_vectors(path: str | Path, vocabulary: Vocabulary, size: int) -> WordVectors:
    """The word vectors of a vocabulary's token types, of `size` numbers each.

    The file is a text file of fastText, word2vec or GloVe, with or without a first line "count
    size", and may be packed as .gz, .xz or .zst. The numbers are not scaled.

    A token type is looked up as it is, then in lower case, since many files only have lower
    case; the first of repeated words counts.

    `<PAD>` stays zero. `<UNK>` is the mean of the known types: it represents any word, and a
    random start might be far away or on another scale. Its `known` is true. Types without a
    vector are zeros, left to the caller.
    """
    path, types = Path(path), vocabulary.token_types
    # Words are UTF-8 bytes here: most of a file's words are not wanted, so none is decoded.
    wanted = {spelling.encode() for name in types for spelling in (name, name.lower())}
    of_word: dict[bytes, _WordLine] = {}
    if bare_suffix(path) == ".bin":
        raise InputError(
            "word vectors in a binary form; expected text: fastText has a .vec beside its .bin, "
            "and gensim's save_word2vec_format writes one of word2vec's",
            path,
        )
    with open_bytes(path) as file:
        for entry in _read_text(file, path, size, wanted):
            of_word.setdefault(entry.word, entry)
    vectors = np.zeros((len(SPECIAL) + len(types), size), dtype=np.float32)
    known = np.zeros(len(vectors), dtype=np.bool_)
    for row, name in enumerate(types, start=len(SPECIAL)):
        match = of_word.get(name.encode()) or of_word.get(name.lower().encode())
        if match is None:
            continue
        if not np.isfinite(match.vector).all():
            raise InputError(
                f"the vector for {name!r} holds nan, infinity, or a number too large; expected "
                "ordinary numbers",
                path,
                match.line,
            )
        vectors[row], known[row] = match.vector, True
    if not known.any():
        raise OptionError(
            f"{path} has a vector for none of the {len(types)} token types of the "
            "vocabulary; choose word vectors of the texts' language"
        )
    vectors[UNKNOWN] = vectors[known].mean(axis=0, dtype=np.float64)
    known[UNKNOWN] = True
    return WordVectors(vectors, known)


class _WordLine(NamedTuple):
    """A wanted word of a file."""

    word: bytes
    vector: Array32
    line: int


def _check_size(given: int, size: int, path: Path) -> None:
    """Raise an error if the vectors do not have the network's size."""
    if given != size:
        raise OptionError(
            f"the word vectors of {path} have the size {given}, but word_vector_size is "
            f"{size}; set it to {given}, or choose other vectors"
        )


def _header(line: bytes) -> tuple[int, int] | None:
    """(words, size) from a first line of two integers; None for any other line."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 19 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _read_text(file: BinaryIO, path: Path, size: int, wanted: set[bytes]) -> Iterator[_WordLine]:
    """The wanted words with their numbers, line by line."""
    promised, count, number = 0, 0, 0

    def broken() -> InputError:
        problem = f"expected a word and {size} numbers, with spaces in between"
        return InputError(problem, path, number)

    for number, line in enumerate(iter(partial(file.readline, _LONGEST), b""), start=1):
        if len(line) == _LONGEST:
            raise broken()
        line = line.rstrip()  # fastText ends its lines with a space
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
            header = _header(line)
            numbers = header[1] if header else _count_numbers(line, size)
            if not numbers:
                raise broken()
            _check_size(numbers, size, path)
            if header:
                promised = header[0]
                continue
        if not line:
            continue
        if line.count(b" ") < size:
            raise broken()
        # fastText has words with spaces inside; the numbers are the last `size` fields.
        word, *fields = line.rsplit(b" ", size)
        count += 1
        if word in wanted:
            try:
                values = np.array([float(field) for field in fields])
            except ValueError:
                raise broken() from None
            with np.errstate(over="ignore"):
                yield _WordLine(word, values.astype(np.float32), number)
    if count == 0:
        raise InputError(
            "there are no word vectors in the file; expected a word and its numbers in each line",
            path,
        )
    if count < promised:
        raise InputError(
            f"the first line promises {promised} words, but the file ends after {count}; "
            "fetch it again, or correct the first line",
            path,
        )


def _count_numbers(line: bytes, expected: int) -> int:
    """The number of numbers at the end of the first line of a file without a header."""
    fields = line.split(b" ")[1:]
    if len(fields) == expected:
        return expected  # reading the line will show whether they are numbers
    count = 0
    for field in reversed(fields):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count
