"""Word vectors of others: the right row for each token type, and broken files say so."""

from __future__ import annotations

import gzip
import lzma
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import (
    DamagedFileError,
    InputError,
    NotFoundError,
    OptionError,
)
from adhominem.paper.word_vectors import (
    WordVectors,
    read_word_vectors,
)
from adhominem.text.vocabulary import PADDING, UNKNOWN, Vocabulary

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
WORDS = {"the": [1.0, 2.0], "café": [3.0, -4.5], "’s": [0.25, 1e-3], "zebra": [9.0, 9.0]}
VOCABULARY = Vocabulary(("’s", "the", "unheard", "café"), ())


def test_further_words_are_read_along_but_do_not_count_for_the_unknown(tmp_path: Path) -> None:
    path = written(tmp_path / "words.vec", b"the 1 2\nharry 5 6\nPotter 7 8\n")
    more = ["Harry", "Potter", "Digimon", "the"]
    result = read_word_vectors(path, VOCABULARY, 2, more)
    assert {name: vector.tolist() for name, vector in result.more.items()} == {
        "Harry": [5, 6],
        "Potter": [7, 8],
        "the": [1, 2],
    }
    alone = read_word_vectors(path, VOCABULARY, 2)
    np.testing.assert_array_equal(result.vectors, alone.vectors)
    np.testing.assert_array_equal(result.known, alone.known)


def text(words: Mapping[str, list[float]], header: bool = True, end: str = "\n") -> bytes:
    lines = [f"{len(words)} {len(next(iter(words.values())))}"] if header else []
    lines += [" ".join([word, *map(str, values)]) for word, values in words.items()]
    return "".join(line + end for line in lines).encode()


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def vector_of(result: WordVectors, vocabulary: Vocabulary, token_type: str) -> list[float]:
    row = 2 + vocabulary.token_types.index(token_type)
    assert result.known[row]
    return [float(number) for number in result.vectors[row]]


def check_words(result: WordVectors) -> None:
    """The vocabulary above, looked up in the words above."""
    assert result.vectors.dtype == np.float32
    assert result.known.dtype == np.bool_
    expected = np.array(
        [[0, 0], [4.25 / 3, -2.499 / 3], [0.25, 1e-3], [1, 2], [0, 0], [3, -4.5]], np.float32
    )
    np.testing.assert_allclose(result.vectors, expected, rtol=1e-6)
    assert result.known.tolist() == [False, True, True, True, False, True]


# Text files.


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("suffix", [".vec", ".txt"])
@pytest.mark.parametrize("header", [True, False])
def test_text_rows_come_in_the_order_of_the_vocabulary(
    tmp_path: Path, packing: str, suffix: str, header: bool
) -> None:
    path = written(tmp_path / f"words{suffix}{packing}", PACK[packing](text(WORDS, header)))
    check_words(read_word_vectors(path, VOCABULARY, 2))
    check_words(read_word_vectors(str(path), VOCABULARY, 2))


@pytest.mark.parametrize("end", [" \n", "\r\n", " \r\n", "\n\n"])
def test_ends_of_lines_do_not_matter(tmp_path: Path, end: str) -> None:
    for header in (True, False):
        path = written(tmp_path / "words.vec", text(WORDS, header, end))
        check_words(read_word_vectors(path, VOCABULARY, 2))


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    for header in (True, False):
        path = written(tmp_path / "words.vec", b"\xef\xbb\xbf" + text(WORDS, header))
        check_words(read_word_vectors(path, VOCABULARY, 2))


def test_a_file_without_a_last_line_feed_is_read_to_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "words.vec", text({"a": [1, 2], "the": [3, 4]}).rstrip())
    assert vector_of(read_word_vectors(path, VOCABULARY, 2), VOCABULARY, "the") == [3, 4]


def test_padding_is_zero_and_unknown_the_mean_of_the_found(tmp_path: Path) -> None:
    path = written(tmp_path / "words.vec", text({"a": [1, 5], "b": [3, 7], "zebra": [99, 99]}))
    result = read_word_vectors(path, Vocabulary(("b", "missing", "a"), ()), 2)
    assert not result.known[PADDING]
    assert result.vectors[PADDING].tolist() == [0, 0]
    assert result.known[UNKNOWN]
    assert result.vectors[UNKNOWN].tolist() == [2, 6]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_type_is_looked_up_as_it_is_before_lower_case(tmp_path: Path, backwards: bool) -> None:
    words = {"the": [1.0], "The": [2.0], "éa": [3.0], "LOUD": [4.0]}
    words = dict(reversed(words.items())) if backwards else words
    path = written(tmp_path / "words.vec", text(words))
    vocabulary = Vocabulary(("The", "THE", "the", "Éa", "loud"), ())
    result = read_word_vectors(path, vocabulary, 1)
    found = {kind: vector_of(result, vocabulary, kind) for kind in vocabulary.token_types[:4]}
    assert found == {"The": [2], "THE": [1], "the": [1], "Éa": [3]}
    assert not result.known[-1]  # never the other way round


def test_of_a_word_that_comes_twice_the_first_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "words.txt", b"the 1 2\nthe 3 4\n")
    vocabulary = Vocabulary(("the", "The"), ())
    result = read_word_vectors(path, vocabulary, 2)
    assert vector_of(result, vocabulary, "the") == [1, 2]
    assert vector_of(result, vocabulary, "The") == [1, 2]


@pytest.mark.parametrize("header", [True, False])
def test_words_with_spaces_are_parsed_from_the_right(tmp_path: Path, header: bool) -> None:
    words = {". . .": [7.0, 8.0], "the": [1.0, 2.0], "at name": [3.0, 4.0], " ": [5.0, 6.0]}
    path = written(tmp_path / "words.txt", text(words, header))
    vocabulary = Vocabulary(("the", ". . .", "at", "."), ())
    result = read_word_vectors(path, vocabulary, 2)
    assert vector_of(result, vocabulary, "the") == [1, 2]
    assert vector_of(result, vocabulary, ". . .") == [7, 8]
    assert result.known[-2:].tolist() == [False, False]


def test_words_that_are_numbers_or_odd_spaces_are_words(tmp_path: Path) -> None:
    words = {"1": [1.0, 2.0], "2.5": [3.0, 4.0], "\xa0": [5.0, 6.0], "\u2028": [7.0, 8.0]}
    path = written(tmp_path / "glove.txt", text(words, header=False))
    vocabulary = Vocabulary(tuple(words), ())
    result = read_word_vectors(path, vocabulary, 2)
    assert {kind: vector_of(result, vocabulary, kind) for kind in words} == words


def test_a_word_that_is_not_utf8_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path / "words.txt", b"caf\xe9 1 2\nthe 3 4\n")
    assert vector_of(read_word_vectors(path, VOCABULARY, 2), VOCABULARY, "the") == [3, 4]


ROWS = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="\n \ufeff"), min_size=1, max_size=8),
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    min_size=1,
    max_size=10,
)


@given(words=ROWS, header=st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, words: dict[str, list[float]], header: bool
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    vocabulary = Vocabulary(tuple(words), ())
    plain = read_word_vectors(written(folder / "a.vec", text(words, header)), vocabulary, 3)
    archive = written(folder / "a.vec.gz", gzip.compress(text(words, header)))
    packed = read_word_vectors(archive, vocabulary, 3)
    for result in (plain, packed):
        np.testing.assert_array_equal(
            result.vectors[2:], np.array(list(words.values()), np.float32)
        )
        assert result.known.tolist() == [False] + [True] * (1 + len(words))


# What is wrong says so, and where.


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"3 2\nthe 1 2\na 1\nb 1 2\n", 3),  # too short, and not even wanted
        (b"the 1 2\na\n", 2),
        (b"2 2\na 1 2\nthe 1 x\n", 3),
        (b"a 1 2\nthe 1,5 2\n", 2),
        (b"the 1 oops\n", 1),
        (b"the  1\n", 1),
        (b"just words\n", 1),
        (b"word\n", 1),
        (b"\nthe 1 2\n", 1),
        (b"the\t1\t2\n", 1),
        (b"\xff\xfet\0h\0e\0", 1),
        (b"a 1 2\n" + b"x 1 2 " * 200_000, 2),
    ],
)
@pytest.mark.parametrize("packing", ["", ".zst"])
def test_a_broken_line_is_named(tmp_path: Path, content: bytes, line: int, packing: str) -> None:
    path = written(tmp_path / f"words.vec{packing}", PACK[packing](content))
    with pytest.raises(InputError, match="expected a word and 2 numbers") as caught:
        read_word_vectors(path, VOCABULARY, 2)
    assert (caught.value.path, caught.value.line) == (str(path), line)


@pytest.mark.parametrize("number", ["nan", "inf", "-Infinity", "1e39", "-1e400"])
def test_a_number_that_is_none_is_named(tmp_path: Path, number: str) -> None:
    path = written(tmp_path / "words.vec", f"2 2\na 1 2\nthe 1 {number}\n".encode())
    with pytest.raises(InputError, match="'the' holds nan, infinity") as caught:
        read_word_vectors(path, VOCABULARY, 2)
    assert (caught.value.path, caught.value.line) == (str(path), 3)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("words.vec", text(WORDS)),
        ("words.vec", text(WORDS, header=False)),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 300])
def test_another_size_is_refused_with_both(
    tmp_path: Path, name: str, content: bytes, size: int
) -> None:
    path = written(tmp_path / name, content)
    with pytest.raises(OptionError, match=rf"have the size 2, but word_vector_size is {size};"):
        read_word_vectors(path, VOCABULARY, size)


@pytest.mark.parametrize("name", ["words.vec", "words.txt"])
def test_nothing_found_is_refused(tmp_path: Path, name: str) -> None:
    words = {"der": [1.0], "die": [2.0]}
    content = text(words)
    with pytest.raises(OptionError, match="none of the 4 token types"):
        read_word_vectors(written(tmp_path / name, content), VOCABULARY, 1)


def test_a_file_that_ends_before_its_header_says_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "words.vec", b"3 2\nthe 1 2\na 1 2\n")
    with pytest.raises(InputError, match="promises 3 words, but the file ends after 2"):
        read_word_vectors(path, VOCABULARY, 2)


@pytest.mark.parametrize("content", [b"", b"2 2\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="no word vectors in the file"):
        read_word_vectors(written(tmp_path / "words.vec", content), VOCABULARY, 2)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        read_word_vectors(tmp_path / "nothing.vec", VOCABULARY, 2)


@pytest.mark.parametrize("name", ["words.vec", "words.txt"])
@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_a_cut_off_archive_is_damaged(tmp_path: Path, name: str, packing: str) -> None:
    words = {f"word{number}": list(np.random.default_rng(number).random(8)) for number in range(99)}
    data = PACK[packing](text(words))
    path = written(tmp_path / f"{name}{packing}", data[:-20])
    with pytest.raises(DamagedFileError):
        read_word_vectors(path, Vocabulary(("word1",), ()), 8)


def test_only_the_rows_of_the_vocabulary_are_kept_in_memory(tmp_path: Path) -> None:
    size, count = 100, 8_000
    path = tmp_path / "words.vec.zst"
    lines = [f"word{number}{' 0.1234567' * size}\n".encode() for number in range(count)]
    path.write_bytes(zstandard.compress(b"%d %d\n" % (count, size) + b"".join(lines), 1))
    read_word_vectors(path, Vocabulary(("word1",), ()), size)  # imports and caches
    tracemalloc.start()
    try:
        result = read_word_vectors(path, Vocabulary(("word7999", "word0"), ()), size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.known.tolist() == [False, True, True, True]
    assert peak < 4 << 20  # the file is 8 MB, as Python objects more; zstd reads in blocks


@pytest.mark.parametrize("name", ["words.bin", "words.bin.gz"])
def test_a_binary_file_is_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"2 2\nthe \x00\x00")
    with pytest.raises(InputError, match=r"expected text: fastText has a \.vec beside its \.bin"):
        read_word_vectors(tmp_path / name, Vocabulary(("the",), ()), 2)
