"""Word vectors that others trained, as a start for the network's own.

Text and word2vec files are streamed, so that only the vocabulary's rows are ever in memory;
fastText's `.bin` is read by its library.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from adhominem.errors import DamagedFileError, InputError, MissingExtraError, OptionError
from adhominem.text.files import bare_suffix
from adhominem.text.streams import open_bytes
from adhominem.text.unpacking import COMPRESSIONS
from adhominem.text.vocabulary import SPECIAL, UNKNOWN, Vocabulary

_FASTTEXT_MAGIC = struct.pack("<i", 793_712_314)
_LONGEST = 1 << 20  # bytes: what is longer is no line, or no word, of such a file


@dataclass(frozen=True)
class WordVectors:
    """A row for each id of a vocabulary, in its order; zeros where `known` is false."""

    vectors: npt.NDArray[np.float32]  # (2 + token types, size)
    known: npt.NDArray[np.bool_]  # (2 + token types,)


def read_word_vectors(path: str | Path, vocabulary: Vocabulary, size: int) -> WordVectors:
    """Look up the vocabulary's token types in word vectors of `size` numbers each.

    The file is a text file of fastText, word2vec or GloVe (with or without a first line "count
    size"), a word2vec `.bin`, or a fastText `.bin`. All but the last may be packed as .gz, .xz or
    .zst. The numbers are not scaled.

    A token type is looked up as it is, then lower-cased, since many vectors know lower case
    alone; of a word that comes twice, the first counts. A fastText `.bin` puts together the
    vectors of the words it has not seen, so that nearly every type is found there.

    `<PAD>` stays zero. `<UNK>` is the mean of the types that were found: it stands for any word,
    so it starts amid all of them, where a random start might lie far off or on another scale.
    Its `known` is true. Types that were not found are left to the caller, as zeros.
    """
    path = Path(path)
    rows = _Rows(vocabulary, size, path)
    with open_bytes(path) as file:
        if file.peek(4).startswith(_FASTTEXT_MAGIC):  # type: ignore[attr-defined]
            _read_fasttext(rows)
        elif bare_suffix(path) == ".bin":
            _read_word2vec(file, rows)
        else:
            _read_text(file, rows)
    if not rows.known.any():
        raise OptionError(
            f"{path} has a vector for none of the {len(rows.types)} token types of the "
            "vocabulary; choose word vectors of the texts' language"
        )
    rows.vectors[UNKNOWN] = rows.vectors[rows.known].mean(axis=0, dtype=np.float64)
    rows.known[UNKNOWN] = True
    return WordVectors(rows.vectors, rows.known)


class _Rows:
    """The rows of the vocabulary, filled in whatever order the words of a file come.

    Words are UTF-8 bytes here: a file's words, of which few are wanted, need no decoding.
    """

    def __init__(self, vocabulary: Vocabulary, size: int, path: Path) -> None:
        self.size, self.path, self.types = size, path, vocabulary.token_types
        count = len(SPECIAL) + len(self.types)
        self.vectors = np.zeros((count, size), dtype=np.float32)
        self.known = np.zeros(count, dtype=np.bool_)
        self._as_it_is = np.zeros(count, dtype=np.bool_)  # found, and not lower-cased
        self.of_word: dict[bytes, list[int]] = {}  # first the type itself, if it is one
        for row, token_type in enumerate(self.types, start=len(SPECIAL)):
            self.of_word.setdefault(token_type.lower().encode(), []).append(row)
            if token_type.lower() != token_type:
                self.of_word.setdefault(token_type.encode(), []).append(row)

    def check_size(self, size: int) -> None:
        """Refuse vectors that do not fit the network's."""
        if size != self.size:
            raise OptionError(
                f"the word vectors of {self.path} have the size {size}, but word_vector_size is "
                f"{self.size}; set it to {size}, or choose other vectors"
            )

    def put(self, word: bytes, values: npt.ArrayLike, line: int | None = None) -> None:
        """Keep the vector of a word; the first of a word stays, and its own before lower case."""
        for row in self.of_word[word]:
            as_it_is = self.types[row - len(SPECIAL)].encode() == word
            if not self.known[row] or (as_it_is and not self._as_it_is[row]):
                self.put_row(row, values, line)
                self._as_it_is[row] = as_it_is

    def put_row(self, row: int, values: npt.ArrayLike, line: int | None = None) -> None:
        with np.errstate(over="ignore"):
            vector = np.asarray(values).astype(np.float32)
        if not np.isfinite(vector).all():
            raise InputError(
                f"the vector for {self.types[row - len(SPECIAL)]!r} holds nan, infinity, or a "
                "number too large; expected ordinary numbers",
                self.path,
                line,
            )
        self.vectors[row] = vector
        self.known[row] = True


def _header(line: bytes) -> tuple[int, int] | None:
    """(words, size) from a first line of two whole numbers."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 19 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _read_text(file: BinaryIO, rows: _Rows) -> None:
    """A word and its numbers in each line."""
    size, promised, count, number = rows.size, 0, 0, 0

    def broken() -> InputError:
        problem = f"expected a word and {size} numbers, with spaces in between"
        return InputError(problem, rows.path, number)

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
            rows.check_size(numbers)
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
        if word in rows.of_word:
            try:
                rows.put(word, [float(field) for field in fields], number)
            except ValueError:
                raise broken() from None
    if count == 0:
        raise InputError("there are no word vectors in the file", rows.path)
    if count < promised:
        raise InputError(
            f"the first line promises {promised} words, but the file ends after {count}; "
            "fetch it again, or correct the first line",
            rows.path,
        )


def _count_numbers(line: bytes, expected: int) -> int:
    """How many numbers the first line of a file without a header ends with."""
    fields = line.split(b" ")[1:]
    if len(fields) == expected:
        return expected  # whether they are numbers is seen when the line is read
    count = 0
    for field in reversed(fields):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count


def _read_word2vec(file: BinaryIO, rows: _Rows) -> None:
    """A line "count size", then each word, a space, and its numbers."""
    header = _header(file.readline(100))
    if header is None:
        raise InputError(
            "neither a word2vec nor a fastText .bin; expected a first line with the number of "
            "words and the size of the vectors (a text file must not be called .bin)",
            rows.path,
        )
    count, size = header
    rows.check_size(size)
    for word, data in _entries(file, rows.path, count, b" ", 4 * size):
        word = word.lstrip(b"\n")  # some writers end each vector with one
        if word in rows.of_word:
            rows.put(word, np.frombuffer(data, dtype="<f4"))


def _entries(
    file: BinaryIO, path: Path, count: int, separator: bytes, width: int
) -> Iterator[tuple[bytes, bytes]]:
    """`count` times a word, the separator, and `width` bytes."""
    block, start = b"", 0
    for number in range(1, count + 1):
        while (end := block.find(separator, start)) < 0 or len(block) <= end + width:
            more = file.read(_LONGEST)
            if not more or (end < 0 and len(block) - start > _LONGEST):
                raise DamagedFileError(
                    f"the file breaks off, or breaks, at word {number} of {count}; fetch it again",
                    path,
                )
            block, start = block[start:] + more, 0
        yield block[start:end], block[end + 1 : end + 1 + width]
        start = end + 1 + width


def _read_fasttext(rows: _Rows) -> None:
    """Through fastText's library, which makes vectors for words it has not seen."""
    path = rows.path
    if path.suffix.lower() in COMPRESSIONS:
        raise InputError("fastText cannot read its .bin packed; unpack it first", path)
    with open(path, "rb") as file:
        _check_fasttext(file, rows)
    try:
        fasttext = importlib.import_module("fasttext")
    except ImportError:
        raise MissingExtraError(
            "fasttext-community", "vectors", "reading a fastText .bin"
        ) from None
    try:
        model = fasttext.load_model(str(path))
    except (ValueError, RuntimeError) as error:
        raise InputError(f"fastText cannot read the file ({error})", path) from None
    for word in rows.of_word:
        if model.get_word_id(word.decode()) >= 0:
            rows.put(word, model.get_word_vector(word.decode()))
    for row, token_type in enumerate(rows.types, start=len(SPECIAL)):
        if not rows.known[row]:
            vector = model.get_word_vector(token_type)
            if vector.any():  # zeros: it was trained without subwords, or the word is too short
                rows.put_row(row, vector)


def _check_fasttext(file: BinaryIO, rows: _Rows) -> None:
    """See that the file is as long as it says, before any of it is loaded.

    The library does not: it takes whatever lies in memory for the numbers that are missing, and
    fills the memory where the file breaks off amid its words.
    """
    path, end = rows.path, 92
    damaged = DamagedFileError("the file is cut off or damaged; fetch it again", path)
    try:
        # Magic number and version; 12 settings, the size first, and the sampling threshold;
        # the numbers of entries, words, labels and tokens, and of pruned entries.
        head = struct.unpack("<2i12id3i2q", file.read(end))
        rows.check_size(head[2])
        for word, _ in _entries(file, path, head[15], b"\0", 9):  # how often it occurs, its type
            end += len(word) + 10
        end += 8 * max(head[19], 0)
        for _ in ("input", "output"):
            file.seek(end)
            quantised, matrix_rows, columns = struct.unpack("<?2q", file.read(17))
            if quantised:
                raise InputError(
                    "a quantised fastText model; expected the .bin that it was made from", path
                )
            end += 17 + 4 * matrix_rows * columns
    except (struct.error, OSError, OverflowError, ValueError):  # a place that cannot be
        raise damaged from None
    if end != path.stat().st_size:
        raise damaged
