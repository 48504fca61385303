"""PAN's formats: what is read, and the error in the place of what is not."""

from __future__ import annotations

import errno
import gzip
import json
import lzma
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from adhominem.errors import (
    BinaryFileError,
    BrokenLineError,
    DamagedFileError,
    EmptyTextError,
    GuessedEncodingWarning,
    InputError,
    MissingFieldError,
    NotFoundError,
    TextEncodingError,
)
from adhominem.text.files import counting_bytes
from adhominem.text.pan import (
    Pair,
    PanProblem,
    find_file,
    find_truth,
    is_problem_folder,
    pair_rows,
    problem_rows,
)
from adhominem.text.streams import read_json_lines

PAIR = {"id": "p1", "fandoms": ["Tea", "Sea"], "pair": ["One text.", "Another text."]}
TRUTH = {"id": "p1", "same": False, "authors": ["ann", "bob"]}

PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    """One row a line: a string or bytes as they are, all else as JSON."""
    lines = [
        row
        if isinstance(row, bytes)
        else (row if isinstance(row, str) else json.dumps(row)).encode()
        for row in rows
    ]
    path.write_bytes(PACK.get(path.suffix, bytes)(b"".join(line + b"\n" for line in lines)))
    return path


def write_pairs(folder: Path, pairs: Iterable[Any], truth: Iterable[Any] | None = None) -> Path:
    if truth is not None:
        write_rows(folder / "truth.jsonl", truth)
    return write_rows(folder / "pairs.jsonl", pairs)


def write_problem(folder: Path, known: Iterable[str], *unknown: str) -> None:
    folder.mkdir(parents=True)
    for number, text in enumerate(known, start=1):
        (folder / f"known{number:02}.txt").write_text(text, encoding="utf-8")
    for number, text in enumerate(unknown):
        (folder / f"unknown{number or ''}.txt").write_text(text, encoding="utf-8")


def only_error(items: Iterable[Any]) -> InputError:
    (item,) = items
    assert isinstance(item, InputError)
    return item


# -- lines of JSON


def test_json_lines_come_with_their_numbers_and_blank_lines_are_passed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n{"b": "\xc3\xa9\xe2\x80\xa8"}')
    assert list(read_json_lines(path)) == [(1, {"a": 1}), (4, {"b": "é\u2028"})]


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ('{"text": "cut o', BrokenLineError, "Unterminated string starting at: column 10"),
        ("plain text", BrokenLineError, "not a line of JSON (Expecting value"),
        ('{"a": 1} {"a": 2}', BrokenLineError, "not a line of JSON (Extra data"),
        ('["text"]', BrokenLineError, "a JSON list; expected an object like {...}"),
        ('"text"', BrokenLineError, "a JSON str; expected an object like {...}"),
        ("17", BrokenLineError, "a JSON int; expected an object like {...}"),
        ("null", BrokenLineError, "expected an object like {...}"),
        ('{"a": ' + "[" * 100_000, BrokenLineError, "not a line of JSON (maximum recursion"),
        ('{"a": ' + "1" * 5_000 + "}", BrokenLineError, "not a line of JSON (Exceeds the limit"),
        (b'{"a": "\x89PNG\x1a\x00"}', BinaryFileError, "binary data"),
        (b'{"a": "\x81\x8d"}', TextEncodingError, "not UTF-8 (byte 7 is 0x81)"),
        (b'{"a": "NUL \x00"}', BinaryFileError, "binary data"),
    ],
)
def test_a_bad_line_comes_as_an_error_with_its_place_and_the_next_is_read(
    tmp_path: Path, line: str | bytes, kind: type[InputError], message: str
) -> None:
    path = write_rows(tmp_path / "a.jsonl", [{"a": 1}, line, {"b": 2}])
    first, (number, error), last = read_json_lines(path)
    assert (first, last) == ((1, {"a": 1}), (3, {"b": 2}))
    assert (number, type(error)) == (2, kind)
    assert str(error).startswith(f"{path}:2: ")
    assert message in str(error)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_the_rows_before_a_cut_come_and_then_one_error_with_the_line(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    # The cut is in the second frame: the first is complete.
    frames = [PACK[suffix](f'{{"row": {number}}}\n'.encode() * 2) for number in range(2)]
    path.write_bytes(b"".join(frames)[:-5])
    rows = [row for _, row in read_json_lines(path)]
    assert rows[:2] == [{"row": 0}, {"row": 0}]
    assert isinstance(rows[-1], DamagedFileError)
    assert rows[-1].line == len(rows)
    assert all(row == {"row": 1} for row in rows[2:-1])


def test_a_missing_file_comes_as_an_error_without_a_line(tmp_path: Path) -> None:
    ((_, error),) = read_json_lines(tmp_path / "a.jsonl")
    assert isinstance(error, NotFoundError)
    assert (
        str(error)
        == f"{tmp_path / 'a.jsonl'}: there is no such file; look at the name and the place"
    )


@pytest.mark.parametrize("data", [b"", b"\n \n\t\r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("suffix", PACK)
def test_a_file_without_rows_is_an_error(tmp_path: Path, data: bytes, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(PACK[suffix](data))
    ((_, error),) = read_json_lines(path)
    assert isinstance(error, EmptyTextError)
    assert str(error) == f"{path}: the file is empty; expected one JSON object a line"


# -- pairs of 2020 and 2021


@pytest.mark.parametrize("suffix", PACK)
def test_a_pair_has_its_texts_topics_authors_and_answer(tmp_path: Path, suffix: str) -> None:
    write_rows(tmp_path / f"pairs.jsonl{suffix}", [PAIR])
    write_rows(tmp_path / "truth.jsonl.gz", [TRUTH])
    for path in (tmp_path, tmp_path / f"pairs.jsonl{suffix}"):
        (pair,) = pair_rows(path)
        assert isinstance(pair, Pair)
        assert (pair.id, pair.same_author) == ("p1", False)
        first, second = pair.first, pair.second
        assert (first.text, first.author, first.topic) == ("One text.", "ann", "Tea")
        assert (second.text, second.author, second.topic) == ("Another text.", "bob", "Sea")
        assert (first.id, second.id) == ("p1/first", "p1/second")


@pytest.mark.parametrize(
    ("pairs", "truth"),
    [
        ("pairs.jsonl", "truth.jsonl"),
        ("dev-pairs.jsonl.xz", "dev-truth.jsonl"),
        ("my.pairs.jsonl", "my.truth.jsonl.zst"),
        # The names of PAN's own archives.
        ("pan20-training-small.jsonl", "pan20-training-small-truth.jsonl"),
    ],
)
def test_the_truth_is_found_beside_the_pairs(tmp_path: Path, pairs: str, truth: str) -> None:
    write_rows(tmp_path / pairs, [PAIR])
    assert find_truth(tmp_path / pairs) is None
    write_rows(tmp_path / truth, [TRUTH])
    assert find_truth(tmp_path / pairs) == tmp_path / truth
    (pair,) = pair_rows(tmp_path / pairs)
    assert isinstance(pair, Pair)
    assert pair.same_author is False


def test_a_truth_of_any_name_can_be_given(tmp_path: Path) -> None:
    truth = write_rows(tmp_path / "answers.jsonl", [TRUTH | {"same": True, "authors": ["x", "x"]}])
    pairs = write_pairs(tmp_path, [PAIR], [TRUTH])
    (pair,) = pair_rows(pairs, truth)
    assert isinstance(pair, Pair)
    assert (pair.same_author, pair.first.author) == (True, "x")


@pytest.mark.parametrize("name", ["pairs.jsonl", "dev.jsonl", "dev.jsonl.gz"])
def test_without_a_truth_nothing_is_known_of_the_authors(tmp_path: Path, name: str) -> None:
    row = {"id": "p1", "pair": ["One text.", "Another text."], "fandoms": None}
    (pair,) = pair_rows(write_rows(tmp_path / name, [row]))
    assert isinstance(pair, Pair)
    assert pair.same_author is None
    assert (pair.first.author, pair.first.topic, pair.second.author) == ("", "", "")


def test_a_truth_without_authors_gives_the_answers(tmp_path: Path) -> None:
    (pair,) = pair_rows(write_pairs(tmp_path, [PAIR], [{"id": "p1", "same": True}]))
    assert isinstance(pair, Pair)
    assert (pair.same_author, pair.first.author) == (True, "")


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"id": None}, MissingFieldError, "the field 'id' is NoneType, expected str"),
        ({"id": 7}, MissingFieldError, "the field 'id' is int, expected str"),
        ({"pair": "One text."}, MissingFieldError, "the field 'pair' is str, expected list"),
        ({"pair": ["One text."]}, MissingFieldError, "'pair' is not a list of two strings"),
        ({"pair": ["a", "b", "c"]}, MissingFieldError, "'pair' is not a list of two strings"),
        ({"pair": ["a", None]}, MissingFieldError, "'pair' is not a list of two strings"),
        ({"fandoms": ["Tea"]}, MissingFieldError, "'fandoms' is not a list of two strings"),
        ({"pair": ["a", " \n"]}, EmptyTextError, "the text is empty"),
        ({"pair": ["a", "\ud83d"]}, TextEncodingError, "half a character (U+D83D)"),
        ({"id": "p9"}, MissingFieldError, "the truth has no usable line for the pair 'p9'"),
    ],
)
def test_a_bad_pair_comes_as_an_error_with_its_place(
    tmp_path: Path, changes: dict[str, Any], kind: type[InputError], message: str
) -> None:
    path = write_pairs(tmp_path, [PAIR, PAIR | changes, PAIR], [TRUTH])
    first, error, last = pair_rows(path)
    assert isinstance(first, Pair)
    assert first == last
    assert type(error) is kind
    assert str(error).startswith(f"{path}:2: ")
    assert message in str(error)


@pytest.mark.parametrize("name", ["id", "pair"])
def test_a_missing_field_is_named_with_those_that_are_there(tmp_path: Path, name: str) -> None:
    row = {key: value for key, value in PAIR.items() if key != name}
    error = only_error(pair_rows(write_pairs(tmp_path, [row])))
    there = ", ".join(row)
    assert str(error).endswith(f"1: the field '{name}' is missing; the row has: {there}")


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (TRUTH | {"same": True}, BrokenLineError, "'same' is true, but the authors are ['ann', "),
        (TRUTH | {"authors": ["ann", "ann"]}, BrokenLineError, "'same' is false, but the authors"),
        (TRUTH | {"same": "no"}, MissingFieldError, "the field 'same' is str, expected bool"),
        (TRUTH | {"same": 0}, MissingFieldError, "the field 'same' is int, expected bool"),
        (TRUTH | {"authors": ["ann"]}, MissingFieldError, "not a list of two strings"),
        ({"same": True}, MissingFieldError, "the field 'id' is missing"),
        ({"id": "p1"}, MissingFieldError, "the field 'same' is missing"),
        ("garbage", BrokenLineError, "not a line of JSON"),
    ],
)
def test_a_bad_truth_line_is_an_error_and_leaves_its_pair_without_an_answer(
    tmp_path: Path, line: Any, kind: type[InputError], message: str
) -> None:
    path = write_pairs(tmp_path, [PAIR, PAIR | {"id": "p2"}], [TRUTH | {"id": "p2"}, line])
    in_truth, in_pairs, good = pair_rows(path)
    assert type(in_truth) is kind
    assert str(in_truth).startswith(f"{tmp_path / 'truth.jsonl'}:2: ")
    assert message in str(in_truth)
    assert isinstance(in_pairs, MissingFieldError)
    assert str(in_pairs).startswith(f"{path}:1: the truth has no usable line for the pair 'p1'")
    assert isinstance(good, Pair)
    assert good.id == "p2"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["p3"], "'p3' is not among the pairs; expected the truth of these pairs"),
        (["p3", "p4", "p5"], "'p3' is not among the pairs, nor are those of 2 further lines"),
    ],
)
def test_a_truth_with_lines_for_no_pair_is_one_error_at_the_end(
    tmp_path: Path, more: list[str], message: str
) -> None:
    truth = [TRUTH | {"id": id} for id in ("p1", *more, "p2")]
    path = write_pairs(tmp_path, [PAIR, PAIR | {"id": "p2"}], truth)
    first, second, error = pair_rows(path)
    assert isinstance(first, Pair)
    assert isinstance(second, Pair)
    assert isinstance(error, BrokenLineError)
    assert str(error).startswith(f"{tmp_path / 'truth.jsonl'}:2: {message}")
    assert len(list(pair_rows(path, labelled=False))) == 2
    broken, _ = pair_rows(write_pairs(tmp_path, ["broken", PAIR | {"id": "p2"}]))
    assert isinstance(broken, BrokenLineError)  # of which the truth may speak


def test_a_folder_without_pairs_says_what_is_missing(tmp_path: Path) -> None:
    error = only_error(pair_rows(tmp_path))
    assert isinstance(error, NotFoundError)
    assert (
        str(error)
        == f"{tmp_path}: there is no pairs.jsonl in this folder; give PAN's folder, or the file"
    )


def test_missing_pairs_are_an_error(tmp_path: Path) -> None:
    error = only_error(pair_rows(tmp_path / "pairs.jsonl"))
    assert isinstance(error, NotFoundError)
    assert error.path == str(tmp_path / "pairs.jsonl")


def test_pairs_stream_one_by_one(tmp_path: Path) -> None:
    path = write_pairs(tmp_path, [PAIR, PAIR | {"pair": ["x" * 3_000_000, "y"]}])
    counts: list[int] = []
    pairs = pair_rows(path)
    with counting_bytes(counts.append):
        assert isinstance(next(pairs), Pair)
        assert sum(counts) <= 1 << 20  # one buffer
        assert isinstance(next(pairs), Pair)
        assert list(pairs) == []
    assert sum(counts) == path.stat().st_size


def test_a_file_is_found_plain_before_packed(tmp_path: Path) -> None:
    assert find_file(tmp_path, "a.jsonl") is None
    (tmp_path / "a.jsonl.xz").touch()
    assert find_file(tmp_path, "a.jsonl") == tmp_path / "a.jsonl.xz"
    (tmp_path / "a.jsonl").mkdir()
    assert find_file(tmp_path, "a.jsonl") == tmp_path / "a.jsonl.xz"
    (tmp_path / "a.jsonl").rmdir()
    (tmp_path / "a.jsonl").touch()
    assert find_file(tmp_path, "a.jsonl") == tmp_path / "a.jsonl"


# -- problem folders of 2013 to 2015


def problem_folder(folder: Path, truth: bytes | None = b"EN01 Y\nEN02 N\n") -> Path:
    write_problem(folder / "EN02", ["Known."], "Not by the same.")
    write_problem(folder / "EN01", ["Known one.", "Known two."], "By the same.")
    if truth is not None:
        (folder / "truth.txt").write_bytes(truth)
    return folder


@pytest.mark.parametrize(
    "truth",
    [
        b"EN01 Y\nEN02 N\n",
        b"\xef\xbb\xbfEN01 Y\r\nEN02 N\r\n",  # PAN 2013's begins with a mark
        b"\nEN02\tn\n\n  EN01   y",
    ],
)
def test_problems_have_known_and_questioned_texts_and_an_answer(
    tmp_path: Path, truth: bytes
) -> None:
    yes, no = problem_rows(problem_folder(tmp_path, truth))
    assert isinstance(yes, PanProblem)
    assert isinstance(no, PanProblem)
    assert (yes.id, yes.same_author, no.id, no.same_author) == ("EN01", True, "EN02", False)
    assert [document.text for document in yes.known] == ["Known one.", "Known two."]
    assert [document.id for document in yes.known] == ["EN01/known01", "EN01/known02"]
    assert yes.questioned.text == "By the same."
    assert yes.questioned.id == "EN01/unknown"
    assert {document.author for document in (*yes.known, yes.questioned)} == {"EN01"}
    assert no.known[0].author == "EN02" != no.questioned.author != ""
    works = [document.work for document in (*yes.known, yes.questioned)]
    assert len(set(works)) == 3


def test_without_a_truth_the_author_in_question_is_unknown(tmp_path: Path) -> None:
    for problem in problem_rows(problem_folder(tmp_path, None)):
        assert isinstance(problem, PanProblem)
        assert problem.same_author is None
        assert (problem.known[0].author, problem.questioned.author) == (problem.id, "")


def test_contents_json_says_which_problems_there_are_and_in_what_order(tmp_path: Path) -> None:
    problem_folder(tmp_path, b"EN01 Y\nEN02 N\nEN03 Y\n")
    write_problem(tmp_path / "EN03", ["Known."], "Not listed.")
    (tmp_path / "contents.json").write_bytes(b'\xef\xbb\xbf{"problems": ["EN02", "EN01"]}')
    problems = list(problem_rows(tmp_path))
    assert [problem.id for problem in problems if isinstance(problem, PanProblem)] == [
        "EN02",
        "EN01",
    ]
    assert len(problems) == 2


def test_a_problem_that_contents_json_names_but_is_not_there_is_an_error(tmp_path: Path) -> None:
    problem_folder(tmp_path, None)
    (tmp_path / "contents.json").write_text('{"problems": ["EN01", "EN07", "EN02"]}')
    first, error, last = problem_rows(tmp_path)
    assert isinstance(first, PanProblem)
    assert isinstance(last, PanProblem)
    assert isinstance(error, NotFoundError)
    assert str(error).startswith(f"{tmp_path / 'EN07'}: contents.json names this problem")


@pytest.mark.parametrize("name", ["../outside", "{outside}", "EN01/../../outside", "..", ".", ""])
def test_contents_json_that_points_out_of_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    problem_folder(folder, None)
    write_problem(outside, ["Known."], "Secret.")
    names = ["EN01", name.format(outside=outside)]
    (folder / "contents.json").write_text(json.dumps({"problems": names}))
    error = only_error(problem_rows(folder))
    assert isinstance(error, BrokenLineError)
    assert error.path == str(folder / "contents.json")
    assert f"'{names[1]}' is not the name of a folder" in str(error)


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "a\0b"])
def test_a_name_that_no_folder_can_have_is_skipped(tmp_path: Path, name: str) -> None:
    problem_folder(tmp_path, None)
    (tmp_path / "contents.json").write_text(json.dumps({"problems": ["EN01", name, "EN02"]}))
    first, error, last = problem_rows(tmp_path)
    assert isinstance(first, PanProblem)
    assert isinstance(last, PanProblem)
    assert isinstance(error, NotFoundError)


@pytest.mark.parametrize(
    "contents",
    [
        '{"problems": ["EN01"',
        '{"language": "English"}',
        '["EN01"]',
        "17",
        '{"problems": "EN01"}',
        '{"problems": null}',
        '{"problems": {"EN01": "Y"}}',
        '{"problems": ["EN01", 2]}',
        '{"problems": ' + "[" * 100_000,
        '{"problems": ' + "1" * 5000 + "}",
    ],
)
def test_a_broken_contents_json_is_one_error(tmp_path: Path, contents: str) -> None:
    problem_folder(tmp_path)
    (tmp_path / "contents.json").write_text(contents)
    error = only_error(problem_rows(tmp_path))
    assert isinstance(error, BrokenLineError)
    assert error.path == str(tmp_path / "contents.json")
    assert "expected an object" in str(error) or "problems" in str(error)


def test_whatever_the_system_says_of_a_problem_is_an_error_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem_folder(tmp_path, None)
    genuine = Path.glob

    def fail(folder: Path, pattern: str) -> Any:
        if folder.name == "EN01":
            raise OSError(errno.ESTALE, "Stale file handle")
        return genuine(folder, pattern)

    monkeypatch.setattr(Path, "glob", fail)
    error, problem = problem_rows(tmp_path)
    assert isinstance(problem, PanProblem)
    place = tmp_path / "EN01"
    assert str(error).startswith(f"{place}: the file cannot be read (Stale file handle); ")


@pytest.mark.parametrize("line", ["EN01", "EN01 maybe", "EN01 Y N", "EN01Y"])
def test_a_garbage_truth_line_is_an_error_and_leaves_its_problem_without_an_answer(
    tmp_path: Path, line: str
) -> None:
    problem_folder(tmp_path, f"EN02 N\n\n{line}\n".encode())
    in_truth, no_answer, good = problem_rows(tmp_path)
    assert isinstance(in_truth, BrokenLineError)
    place = tmp_path / "truth.txt"
    assert str(in_truth) == f"{place}:3: '{line}'; expected a problem and Y or N"
    assert isinstance(no_answer, MissingFieldError)
    assert str(no_answer) == f"{place}: no usable line for the problem 'EN01'; expected one"
    assert isinstance(good, PanProblem)
    assert good.id == "EN02"


def test_an_empty_truth_is_not_taken_for_none(tmp_path: Path) -> None:
    errors = list(problem_rows(problem_folder(tmp_path, b"")))
    assert [type(error) for error in errors] == [MissingFieldError, MissingFieldError]


def test_a_binary_truth_is_one_error(tmp_path: Path) -> None:
    error = only_error(problem_rows(problem_folder(tmp_path, b"\x89PNG\x1a\x00")))
    assert isinstance(error, BinaryFileError)
    assert error.path == str(tmp_path / "truth.txt")


@pytest.mark.parametrize(
    ("known", "unknown", "counts"),
    [
        ([], ["Text."], "0 known*.txt and 1 unknown*.txt"),
        (["Text."], [], "1 known*.txt and 0 unknown*.txt"),
        (["Text."], ["Text.", "Text."], "1 known*.txt and 2 unknown*.txt"),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_problem_with_too_few_or_too_many_texts_is_an_error_with_its_folder(
    tmp_path: Path, known: list[str], unknown: list[str], counts: str, listed: bool
) -> None:
    problem_folder(tmp_path, None)
    write_problem(tmp_path / "EN00", known, *unknown)
    if listed:
        (tmp_path / "contents.json").write_text('{"problems": ["EN00", "EN01", "EN02"]}')
    error, good, _ = problem_rows(tmp_path)
    assert isinstance(error, NotFoundError)
    assert str(error).startswith(f"{tmp_path / 'EN00'}: {counts}; expected at least one known")
    assert isinstance(good, PanProblem)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b" \n", EmptyTextError), (b"", EmptyTextError), (b"a\x00b", BinaryFileError)],
)
def test_a_text_that_cannot_be_used_is_an_error_with_its_file(
    tmp_path: Path, data: bytes, kind: type[InputError]
) -> None:
    problem_folder(tmp_path)
    (tmp_path / "EN01" / "known02.txt").write_bytes(data)
    error, good = problem_rows(tmp_path)
    assert type(error) is kind
    assert error.path == str(tmp_path / "EN01" / "known02.txt")
    assert isinstance(good, PanProblem)


def test_a_problem_text_in_cp1252_is_read_with_a_warning(tmp_path: Path) -> None:
    problem_folder(tmp_path)
    (tmp_path / "EN02" / "unknown.txt").write_bytes("Café".encode("cp1252"))
    with pytest.warns(GuessedEncodingWarning, match=r"EN02/unknown\.txt is not UTF-8"):
        _, problem = problem_rows(tmp_path)
    assert isinstance(problem, PanProblem)
    assert problem.questioned.text == "Café"


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_folder_without_problems_is_an_error(tmp_path: Path, name: str) -> None:
    error = only_error(problem_rows(tmp_path / name))
    assert isinstance(error, NotFoundError)
    assert error.path == str(tmp_path / name)


def test_a_problem_folder_is_told_from_authors_with_an_unknown_title(tmp_path: Path) -> None:
    assert is_problem_folder(problem_folder(tmp_path / "pan"))
    (tmp_path / "authors" / "burns").mkdir(parents=True)
    (tmp_path / "authors" / "burns" / "unknown lines.txt").write_text("O my Luve")
    assert not is_problem_folder(tmp_path / "authors")


def test_a_second_truth_line_for_a_pair_or_problem_is_an_error(tmp_path: Path) -> None:
    line = json.dumps({"id": "p1", "same": True, "authors": ["a", "a"]})
    (tmp_path / "truth.jsonl").write_text(f"{line}\n{line}\n")
    (tmp_path / "pairs.jsonl").write_text(json.dumps(PAIR) + "\n")
    error, pair = pair_rows(tmp_path)
    assert isinstance(pair, Pair)
    assert isinstance(error, BrokenLineError)
    assert str(error).endswith("truth.jsonl:2: a second line for the pair 'p1'; expected one")
    problem = tmp_path / "EN01"
    problem.mkdir()
    for name in ("known01.txt", "unknown.txt"):
        (problem / name).write_text("A text.")
    (tmp_path / "truth.txt").write_text("EN01 Y\nEN01 N\n")
    error, problem = problem_rows(tmp_path)
    assert isinstance(problem, PanProblem)
    assert str(error).endswith("truth.txt:2: a second line for 'EN01'; expected one")


def test_packed_problem_folders_are_read_like_plain_ones(tmp_path: Path) -> None:
    (tmp_path / "EN01").mkdir()
    for name in ("known01.txt.gz", "unknown.txt.gz"):
        with gzip.open(tmp_path / "EN01" / name, "wt") as file:
            file.write(f"The text of {name}.")
    with gzip.open(tmp_path / "truth.txt.gz", "wt") as file:
        file.write("EN01 N\n")
    assert is_problem_folder(tmp_path)
    (problem,) = problem_rows(tmp_path)
    assert isinstance(problem, PanProblem)
    assert problem.same_author is False
    assert problem.known[0].id == "EN01/known01"
    assert problem.questioned.author == "EN01/unknown"


def test_a_row_of_a_million_objects_is_skipped_before_it_is_built(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": [' + "{}," * 1_000_000 + '0]}\n{"text": "next"}\n')
    (_, error), (_, row) = read_json_lines(path)
    assert str(error) == f"{path}:1: more than 1,000,000 lists and objects; expected one text"
    assert row == {"text": "next"}


def test_a_pipe_or_a_device_in_a_problem_is_skipped_not_waited_on(tmp_path: Path) -> None:
    for name in ("EN1", "EN2", "EN3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "known01.txt").write_text("known", "utf-8")
    os.mkfifo(tmp_path / "EN1" / "unknown.txt")
    (tmp_path / "EN2" / "unknown.txt").symlink_to("/dev/zero")
    (tmp_path / "EN3" / "unknown.txt").write_text("unknown", "utf-8")
    pipe, device, good = problem_rows(tmp_path)
    for error in (pipe, device):
        assert isinstance(error, InputError)
        assert "a folder, a pipe or a device; expected a file" in str(error)
    assert isinstance(good, PanProblem)
