"""Word vectors that others trained, as a start for the network's own.

Text and word2vec files are streamed, so that only the vocabulary's rows are ever in memory;
fastText's `.bin` is read by its library.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

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
    path, types = Path(path), vocabulary.token_types
    # Words are UTF-8 bytes here: a file's words, of which few are wanted, need no decoding.
    wanted = {spelling.encode() for name in types for spelling in (name, name.lower())}
    of_word: dict[bytes, _Entry] = {}
    with open_bytes(path) as file:
        if file.peek(4).startswith(_FASTTEXT_MAGIC):  # type: ignore[attr-defined]
            entries = _read_fasttext(path, size, types)
        elif bare_suffix(path) == ".bin":
            entries = _read_word2vec(file, path, size, wanted)
        else:
            entries = _read_text(file, path, size, wanted)
        for entry in entries:
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


class _Entry(NamedTuple):
    """A wanted word of a file."""

    word: bytes
    vector: npt.NDArray[np.float32]
    line: int | None = None


def _check_size(given: int, size: int, path: Path) -> None:
    """Refuse vectors that do not fit the network's."""
    if given != size:
        raise OptionError(
            f"the word vectors of {path} have the size {given}, but word_vector_size is "
            f"{size}; set it to {given}, or choose other vectors"
        )


def _header(line: bytes) -> tuple[int, int] | None:
    """(words, size) from a first line of two whole numbers."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 19 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _read_text(file: BinaryIO, path: Path, size: int, wanted: set[bytes]) -> Iterator[_Entry]:
    """A word and its numbers in each line."""
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
                yield _Entry(word, values.astype(np.float32), number)
    if count == 0:
        raise InputError("there are no word vectors in the file", path)
    if count < promised:
        raise InputError(
            f"the first line promises {promised} words, but the file ends after {count}; "
            "fetch it again, or correct the first line",
            path,
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


def _read_word2vec(file: BinaryIO, path: Path, size: int, wanted: set[bytes]) -> Iterator[_Entry]:
    """A line "count size", then each word, a space, and its numbers."""
    header = _header(file.readline(100))
    if header is None:
        raise InputError(
            "neither a word2vec nor a fastText .bin; expected a first line with the number of "
            "words and the size of the vectors (a text file must not be called .bin)",
            path,
        )
    _check_size(header[1], size, path)
    for word, data in _entries(file, path, header[0], b" ", 4 * size):
        word = word.lstrip(b"\n")  # some writers end each vector with one
        if word in wanted:
            yield _Entry(word, np.frombuffer(data, dtype="<f4"))


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


def _read_fasttext(path: Path, size: int, types: Sequence[str]) -> Iterator[_Entry]:
    """Through fastText's library, which makes vectors for words it has not seen."""
    if path.suffix.lower() in COMPRESSIONS:
        raise InputError("fastText cannot read its .bin packed; unpack it first", path)
    with open(path, "rb") as file:
        _check_fasttext(file, path, size)
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
    for name in types:
        seen = (word for word in (name, name.lower()) if model.get_word_id(word) >= 0)
        word = next(seen, name)
        vector = model.get_word_vector(word)
        if vector.any():  # zeros: it was trained without subwords, or the word is too short
            yield _Entry(word.encode(), vector)


def _check_fasttext(file: BinaryIO, path: Path, size: int) -> None:
    """See that the file is as long as it says, before any of it is loaded.

    The library does not: it takes whatever lies in memory for the numbers that are missing, and
    fills the memory where the file breaks off amid its words.
    """
    end = 92
    damaged = DamagedFileError("the file is cut off or damaged; fetch it again", path)
    try:
        # Magic number and version; 12 settings, the size first, and the sampling threshold;
        # the numbers of entries, words, labels and tokens, and of pruned entries.
        head = struct.unpack("<2i12id3i2q", file.read(end))
        _check_size(head[2], size, path)
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
