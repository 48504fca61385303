"""Pretrained word vectors to initialise the network's.

Files are streamed, so that only the vocabulary's rows are ever in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

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
    more: dict[str, Array32] = field(default_factory=dict)  # of further words


def read_word_vectors(
    path: str | Path, vocabulary: Vocabulary, size: int, more: Sequence[str] = ()
) -> WordVectors:
    """The word vectors of a vocabulary's token types, of `size` numbers each, and of `more` words.

    The file is a text file of fastText, word2vec or GloVe, with or without a first line "count
    size", and may be packed as .gz, .xz or .zst. The numbers are not scaled.

    A token type is looked up as it is, then in lower case, since many files only have lower
    case; the first of repeated words counts.

    `<PAD>` stays zero. `<UNK>` is the mean of the known types: it represents any word, and a
    random start might be far away or on another scale. Its `known` is true. Types without a
    vector are zeros, left to the caller.
    """
    path, types = Path(path), vocabulary.token_types
    if bare_suffix(path) == ".bin":
        raise InputError(
            "word vectors in a binary form; expected text: fastText has a .vec beside its .bin, "
            "and gensim's save_word2vec_format writes one of word2vec's",
            path,
        )
    # Words are UTF-8 bytes here: most of a file's words are not wanted, so none is decoded.
    names = (*types, *more)
    wanted = {spelling.encode() for name in names for spelling in (name, name.lower())}
    of_word: dict[bytes, tuple[Array32, int]] = {}
    with open_bytes(path) as file:
        for word, vector, line in _wanted_words(file, path, size, wanted):
            of_word.setdefault(word, (vector, line))
    vectors = np.zeros((len(SPECIAL) + len(names), size), dtype=np.float32)
    known = np.zeros(len(vectors), dtype=np.bool_)
    for row, name in enumerate(names, start=len(SPECIAL)):
        match = of_word.get(name.encode()) or of_word.get(name.lower().encode())
        if match is None:
            continue
        vectors[row], line = match
        known[row] = True
        if not np.isfinite(vectors[row]).all():
            raise InputError(
                f"the vector for {name!r} holds nan, infinity, or a number too large; expected "
                "ordinary numbers",
                path,
                line,
            )
    further = {
        name: vectors[row]
        for row, name in enumerate(more, start=len(SPECIAL) + len(types))
        if known[row]
    }
    vectors, known = vectors[: len(SPECIAL) + len(types)], known[: len(SPECIAL) + len(types)]
    if not known.any():
        raise OptionError(
            f"{path} has a vector for none of the {len(types)} token types of the "
            "vocabulary; choose word vectors of the texts' language"
        )
    vectors[UNKNOWN] = vectors[known].mean(axis=0, dtype=np.float64)
    known[UNKNOWN] = True
    return WordVectors(vectors, known, further)


def _wanted_words(
    file: BinaryIO, path: Path, size: int, wanted: set[bytes]
) -> Iterator[tuple[bytes, Array32, int]]:
    """The wanted words with their vectors, and the line of each."""
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
            fields = line.split()
            is_header = len(fields) == 2 and all(f.isdigit() and len(f) < 19 for f in fields)
            numbers = int(fields[1]) if is_header else _count_numbers(line, size)
            if not numbers:
                raise broken()
            if numbers != size:
                raise OptionError(
                    f"the word vectors of {path} have the size {numbers}, but word_vector_size is "
                    f"{size}; set it to {numbers}, or choose other vectors"
                )
            if is_header:
                promised = int(fields[0])
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
                yield word, values.astype(np.float32), number
    if count == 0:
        expected = "expected a word and its numbers in each line"
        raise InputError(f"there are no word vectors in the file; {expected}", path)
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
    return len(list(takewhile(_is_number, reversed(fields))))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
