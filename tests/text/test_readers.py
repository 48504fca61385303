"""Readers: whatever a user has comes as documents, and what cannot be read says where it is."""

from __future__ import annotations

import errno
import gzip
import json
import lzma
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import docx
import pytest
import zstandard
from odf import opendocument
from odf import text as odf_text

from adhominem.errors import (
    BinaryFileError,
    BrokenLineError,
    DamagedFileError,
    EmptyTextError,
    GuessedEncodingWarning,
    InputError,
    MissingAuthorError,
    MissingFieldError,
    NotFoundError,
    StrayFilesWarning,
    TextEncodingError,
)
from adhominem.text import files
from adhominem.text.files import Document, counting_bytes
from adhominem.text.readers import (
    Layout,
    documents_in,
    find_sources,
    read_documents,
    read_pair,
    read_pairs,
    read_problems,
)
from adhominem.text.streams import read_text

GOOD = {"author": "ann", "topic": "tea", "work": "letters", "id": "1", "text": "Dear Bob,"}

PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def write(path: Path, data: str | bytes) -> Path:
    """A file with the folders above it, packed as its suffix says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(PACK.get(path.suffix.lower(), bytes)(data))
    return path


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    """One row a line: a string as it is, all else as JSON."""
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return write(path, "".join(line + "\n" for line in lines))


def write_pdf(path: Path, text: str) -> Path:
    """The smallest PDF with a line of text in it."""
    content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(data)
    return write(path, data + b"xref\n0 6\n0000000000 65535 f \n" + table + end)


def authors_and_ids(documents: Iterable[Document]) -> list[tuple[str, str]]:
    return [(document.author, document.id) for document in documents]


# -- one file


@pytest.mark.parametrize("suffix", PACK)
def test_one_text_file_is_a_document_without_an_author(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a letter.txt{suffix}", "Dear Bob,\r\n\r\nÜber “alles”.\n")
    (document,) = read_documents(path, author_required=False)
    assert document == Document(
        text="Dear Bob,\r\n\r\nÜber “alles”.\n", work="a letter", id="a letter"
    )


def test_one_text_file_where_an_author_is_needed_says_what_to_do(tmp_path: Path) -> None:
    path = write(tmp_path / "letter.txt", "Dear Bob,")
    with pytest.raises(MissingAuthorError) as caught:
        list(read_documents(path))
    assert str(caught.value) == (
        f"{path}: the document 'letter' has no author; "
        "expected its folder, with author_title.txt files or one subfolder an author"
    )


# -- a folder for each author


def test_author_folders_give_author_work_and_id_in_order(tmp_path: Path) -> None:
    write(tmp_path / "Jane Austen" / "emma.txt", "Emma Woodhouse")
    write(tmp_path / "Jane Austen" / "Juvenilia" / "love & freindship.TXT", "My Father was")
    write(tmp_path / "brontë_e" / "wuthering_heights.txt.xz", "1801.")
    write(tmp_path / "brontë_e" / "notes.md", "# Notes")
    documents = list(read_documents(tmp_path))
    assert documents == [
        Document(text=text, author=author, work=work, id=id)
        for text, author, work, id in [
            (
                "My Father was",
                "Jane Austen",
                "Juvenilia/love & freindship",
                "Jane Austen/Juvenilia/love & freindship",
            ),
            ("Emma Woodhouse", "Jane Austen", "emma", "Jane Austen/emma"),
            ("# Notes", "brontë_e", "notes", "brontë_e/notes"),
            ("1801.", "brontë_e", "wuthering_heights", "brontë_e/wuthering_heights"),
        ]
    ]


def test_hidden_files_locks_and_what_is_no_text_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "ann" / "a.txt", "Text.")
    for name in (
        ".DS_Store",
        "ann/.DS_Store",
        "ann/._a.txt",
        "ann/.hidden/b.txt",
        ".git/config.txt",
        "._blogs.jsonl",
        "ann/~$a.docx",
        "ann/photo.png",
        "ann/Thumbs.db",
    ):
        write(tmp_path / name, b"\0\1\2 binary")
    assert authors_and_ids(read_documents(tmp_path)) == [("ann", "ann/a")]


def test_texts_beside_the_author_folders_are_not_passed_over_in_silence(tmp_path: Path) -> None:
    write(tmp_path / "ann" / "a.txt", "Text.")
    write(tmp_path / "README.txt", "About this corpus.")
    with pytest.warns(StrayFilesWarning, match=r"1 text\(s\) beside .* README\.txt"):
        assert authors_and_ids(read_documents(tmp_path)) == [("ann", "ann/a")]


def test_two_chapters_of_one_name_are_two_works(tmp_path: Path) -> None:
    write(tmp_path / "ann" / "emma" / "1.txt", "Text.")
    write(tmp_path / "ann" / "sanditon" / "1.txt", "Text.")
    assert [document.work for document in read_documents(tmp_path)] == ["emma/1", "sanditon/1"]


def test_a_file_that_is_no_plain_text_is_refused_by_its_suffix(tmp_path: Path) -> None:
    write(tmp_path / "letter.rtf", "{\\rtf1 Dear Ann}")
    with pytest.raises(InputError, match=r"letter\.rtf: \.rtf files are not read"):
        list(read_documents(tmp_path / "letter.rtf"))


def test_pairs_and_problems_stop_or_skip_like_documents(tmp_path: Path) -> None:
    write(tmp_path / "pairs.jsonl", '{"id": "1", "pair": ["One.", "Two."]}\nbroken\n')
    with pytest.raises(InputError, match=r"pairs\.jsonl:2"):
        list(read_pairs(tmp_path))
    skipped: list[InputError] = []
    assert [pair.id for pair in read_pairs(tmp_path, skipped=skipped)] == ["1"]
    assert len(skipped) == 1
    assert not list(read_problems(tmp_path, skipped=skipped))
    assert len(skipped) == 2


def test_office_files_in_author_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    word = docx.Document()
    word.add_paragraph("A letter of Ann’s.")
    word.save(str(tmp_path / "ann" / "letter.docx"))
    writer = opendocument.OpenDocumentText()
    writer.text.addElement(odf_text.P(text="An essay of Bob’s."))
    (tmp_path / "bob").mkdir()
    writer.save(str(tmp_path / "bob" / "essay.odt"))
    write_pdf(tmp_path / "bob" / "paper.PDF", "A paper of his.")
    write(tmp_path / "bob" / "plain.txt", "A plain text.")
    counts: list[int] = []
    (source,) = find_sources(tmp_path)
    with counting_bytes(counts.append):
        documents = list(source.documents())
    assert [(document.id, document.text) for document in documents] == [
        ("ann/letter", "A letter of Ann’s."),
        ("bob/essay", "An essay of Bob’s."),
        ("bob/paper", "A paper of his."),
        ("bob/plain", "A plain text."),
    ]
    assert sum(counts) == source.size() > 0


def test_a_damaged_office_file_is_skipped_and_named(tmp_path: Path) -> None:
    bad = write(tmp_path / "ann" / "a.docx", b"PK\x03\x04 and no more")
    write(tmp_path / "ann" / "b.txt", "Text.")
    skipped: list[InputError] = []
    assert authors_and_ids(read_documents(tmp_path, skipped=skipped)) == [("ann", "ann/b")]
    assert [(type(error), error.path) for error in skipped] == [(DamagedFileError, str(bad))]


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", EmptyTextError, "the text is empty; expected at least one visible character"),
        (" \r\n\t\u2003\n".encode(), EmptyTextError, "the text is empty"),
        (b"\xef\xbb\xbf", EmptyTextError, "the text is empty"),
        (
            b"\x89PNG\r\n\x1a\n" + random.Random(6).randbytes(100),
            BinaryFileError,
            "this is binary data; expected plain text in UTF-8",
        ),
        (b"Text with\0a NUL", BinaryFileError, "binary data"),
        (b"caf\x81 \x9d", TextEncodingError, "save the file again as UTF-8"),
        ("\ufeffText with\0a NUL".encode("utf-8"), BinaryFileError, "binary data"),
    ],
    ids=["empty", "blank", "only a mark", "png", "nul", "no encoding", "nul after a mark"],
)
@pytest.mark.parametrize("name", ["ann/b.txt", "ann_b.txt"])
def test_a_file_that_cannot_be_used_stops_the_reading_or_is_skipped_and_listed(
    tmp_path: Path, name: str, data: bytes, kind: type[InputError], message: str
) -> None:
    for letter in "ac":
        write(tmp_path / name.replace("b.", f"{letter}."), f"Text {letter}.")
    bad = write(tmp_path / name, data)
    skipped: list[InputError] = []
    texts = [document.text for document in read_documents(tmp_path, skipped=skipped)]
    assert texts == ["Text a.", "Text c."]
    (error,) = skipped
    assert type(error) is kind
    assert str(error).startswith(f"{bad}: ")
    assert message in str(error)

    documents = read_documents(tmp_path)
    assert next(documents).text == "Text a."
    with pytest.raises(kind) as caught:
        next(documents)
    assert str(caught.value) == str(error)


def test_a_file_in_another_encoding_is_read_with_a_warning_that_names_it(tmp_path: Path) -> None:
    write(tmp_path / "ann" / "a.txt", "“Déjà vu” – naïve".encode("cp1252"))
    write(tmp_path / "ann" / "b.txt", "“Déjà vu” – naïve".encode("utf-16"))
    write(tmp_path / "ann" / "c.txt", "“Déjà vu” – naïve".encode("utf-8-sig"))
    with pytest.warns(GuessedEncodingWarning) as caught:
        texts = {document.text for document in read_documents(tmp_path)}
    assert texts == {"“Déjà vu” – naïve"}
    assert [str(warning.message).split(". If")[0] for warning in caught] == [
        f"{tmp_path}/ann/a.txt is not UTF-8; read as CP1252",
        f"{tmp_path}/ann/b.txt is not UTF-8; read as UTF-16",
    ]


# -- author and title in the name


@pytest.mark.parametrize(
    ("name", "author", "work"),
    [
        ("austen_emma.txt", "austen", "emma"),
        ("austen_emma_1.txt", "austen", "emma_1"),
        ("jane_austen_-_emma.txt", "jane_austen", "emma"),
        ("jane_austen_-_emma_-_volume_1.txt", "jane_austen", "emma_-_volume_1"),
        ("Jane Austen_Emma (1).TXT", "Jane Austen", "Emma (1)"),
        ("J. R. R. Tolkien_-_The Hobbit.txt.gz", "J. R. R. Tolkien", "The Hobbit"),
        ("Doyle_Sign of 4.v2.md", "Doyle", "Sign of 4.v2"),
        ("ÉMILE_-_Zoë.txt", "ÉMILE", "Zoë"),
    ],
)
def test_author_and_title_are_read_from_the_name(
    tmp_path: Path, name: str, author: str, work: str
) -> None:
    write(tmp_path / name, "Text.")
    (document,) = read_documents(tmp_path)
    assert (document.author, document.work) == (author, work)


@pytest.mark.parametrize("name", ["emma.txt", "_emma.txt", "_-_emma.txt"])
def test_a_name_without_an_author_is_an_error_that_names_the_file(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path / "austen_persuasion.txt", "Text.")
    bad = write(tmp_path / name, "Text.")
    skipped: list[InputError] = []
    works = [document.work for document in read_documents(tmp_path, skipped=skipped)]
    assert works == ["persuasion"]
    (error,) = skipped
    assert isinstance(error, MissingAuthorError)
    assert error.path == str(bad)
    assert "expected a name like author_title.txt" in str(error)
    assert len(list(read_documents(tmp_path, author_required=False))) == 2


# -- lines of JSON


@pytest.mark.parametrize("suffix", PACK)
def test_a_row_of_json_is_a_document(tmp_path: Path, suffix: str) -> None:
    path = write_rows(tmp_path / f"blogs.jsonl{suffix}", [GOOD | {"age": 7}])
    (source,) = find_sources(path)
    assert (source.name, source.layout) == ("blogs", Layout.JSON_LINES)
    counts: list[int] = []
    with counting_bytes(counts.append):
        assert list(source.documents()) == [Document(**GOOD)]
    assert sum(counts) == source.size() == path.stat().st_size


def test_fields_that_are_missing_or_null_are_unknown_and_the_id_is_the_line(
    tmp_path: Path,
) -> None:
    rows = [{"author": "ann", "text": "a"}, "", GOOD | dict.fromkeys(("topic", "work", "id"))]
    documents = list(read_documents(write_rows(tmp_path / "blogs.jsonl", rows)))
    assert [(d.topic, d.work, d.id) for d in documents] == [
        ("", "", "blogs:1"),
        ("", "", "blogs:3"),
    ]


@pytest.mark.parametrize(
    ("row", "kind", "message"),
    [
        ('{"author": "ann", "text": "cut', BrokenLineError, "not a line of JSON"),
        ("[1, 2]", BrokenLineError, "a JSON list; expected an object like {...}"),
        ("[" * 100_000, BrokenLineError, "not a line of JSON"),
        (
            {"author": "ann", "body": "a"},
            MissingFieldError,
            "'text' is missing; fields: author, bo",
        ),
        ({}, MissingFieldError, "the field 'text' is missing; fields: none"),
        (GOOD | {"text": None}, MissingFieldError, "field 'text' is NoneType, expected a string"),
        (GOOD | {"text": ["a"]}, MissingFieldError, "field 'text' is list, expected a string"),
        (GOOD | {"author": 7}, MissingFieldError, "field 'author' is int, expected a string"),
        (GOOD | {"topic": {}}, MissingFieldError, "field 'topic' is dict, expected a string"),
        (GOOD | {"work": 1.5}, MissingFieldError, "field 'work' is float, expected a string"),
        (GOOD | {"id": True}, MissingFieldError, "field 'id' is bool, expected a string"),
        (GOOD | {"text": ""}, EmptyTextError, "the text is empty"),
        (GOOD | {"text": " \u2029\t"}, EmptyTextError, "the text is empty"),
        (GOOD | {"text": "a\ud83d"}, TextEncodingError, "'text' holds half a character (U+D83D)"),
        (GOOD | {"author": "\udc00"}, TextEncodingError, "'author' holds half a character"),
        ({"text": "a"}, MissingAuthorError, "'rows:2' has no author; expected a field 'author'"),
        (GOOD | {"author": None}, MissingAuthorError, "expected a field 'author'"),
        (GOOD | {"author": ""}, MissingAuthorError, "expected a field 'author'"),
    ],
)
def test_a_bad_row_stops_the_reading_or_is_skipped_and_listed(
    tmp_path: Path, row: Any, kind: type[InputError], message: str
) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [GOOD, row, GOOD | {"id": "3"}])
    skipped: list[InputError] = []
    ids = [document.id for document in read_documents(path, skipped=skipped)]
    assert ids == ["1", "3"]
    (error,) = skipped
    assert type(error) is kind
    assert (error.path, error.line) == (str(path), 2)
    assert str(error).startswith(f"{path}:2: ")
    assert message in str(error)

    documents = read_documents(path)
    assert next(documents).id == "1"
    with pytest.raises(kind) as caught:
        next(documents)
    assert str(caught.value) == str(error)


def test_a_row_without_an_author_will_do_where_none_is_needed(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [{"text": "a"}])
    assert authors_and_ids(read_documents(path, author_required=False)) == [("", "rows:1")]


def test_a_row_in_cp1252_is_read_with_a_warning_that_names_the_line(tmp_path: Path) -> None:
    row = json.dumps(GOOD | {"text": "Café"}, ensure_ascii=False) + "\n"
    path = write(tmp_path / "rows.jsonl", row.encode() + row.encode("cp1252") + row.encode())
    with pytest.warns(GuessedEncodingWarning, match=r"rows\.jsonl:2 is not UTF-8; read as CP1252"):
        texts = [document.text for document in read_documents(path)]
    assert texts == ["Café"] * 3


@pytest.mark.filterwarnings("ignore::adhominem.errors.GuessedEncodingWarning")
def test_half_a_character_in_utf_16_costs_its_row_alone(tmp_path: Path) -> None:
    row = json.dumps(GOOD | {"text": "é?"}, ensure_ascii=False) + "\n"
    data = ("\ufeff" + row + row.replace("?", "\ud83d") + row).encode("utf-16-le", "surrogatepass")
    path = write(tmp_path / "rows.jsonl", data)
    skipped: list[InputError] = []
    assert [d.text for d in read_documents(path, skipped=skipped)] == ["é?", "é?"]
    assert [(type(error), error.line) for error in skipped] == [(TextEncodingError, 2)]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_the_documents_before_a_cut_come_and_then_the_error(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(7)
    rows = [GOOD | {"id": str(number), "text": rng.randbytes(400).hex()} for number in range(900)]
    path = write_rows(tmp_path / f"rows.jsonl{suffix}", rows)
    path.write_bytes(path.read_bytes()[:-200])
    skipped: list[InputError] = []
    documents = list(read_documents(path, skipped=skipped))
    assert len(documents) > 400
    assert documents == [Document(**row) for row in rows[: len(documents)]]
    (error,) = skipped
    assert isinstance(error, DamagedFileError)
    assert (error.path, error.line) == (str(path), len(documents) + 1)
    with pytest.raises(DamagedFileError):
        list(read_documents(path))


@pytest.mark.parametrize("data", ["", "\n\n"])
def test_a_file_without_rows_is_an_error(tmp_path: Path, data: str) -> None:
    path = write(tmp_path / "rows.jsonl", data)
    with pytest.raises(EmptyTextError, match=r"rows\.jsonl: the file is empty; expected one JSON"):
        list(read_documents(path))


def test_finding_and_reading_the_first_row_reads_only_the_beginning(tmp_path: Path) -> None:
    rng = random.Random(8)
    rows = (GOOD | {"text": rng.randbytes(2_000).hex()} for _ in range(1_500))
    path = write_rows(tmp_path / "rows.jsonl.gz", rows)
    (source,) = find_sources(path)
    counts: list[int] = []
    documents = source.documents()
    with counting_bytes(counts.append):
        assert next(documents).author == "ann"
        assert sum(counts) <= 1 << 20 < source.size()
        assert len(list(documents)) == 1_499
    assert sum(counts) == source.size()


def test_a_folder_of_json_lines_is_a_corpus_for_each_file(tmp_path: Path) -> None:
    write_rows(tmp_path / "b.jsonl.xz", [GOOD | {"id": "b1"}])
    write_rows(tmp_path / "a.JSONL", [GOOD | {"id": "a1"}, GOOD | {"id": "a2"}])
    write(tmp_path / "README.md", "What this is.")
    write(tmp_path / "._a.jsonl", b"\0")
    (tmp_path / "folder.jsonl").mkdir()
    sources = find_sources(tmp_path)
    assert [source.name for source in sources] == ["a", "b"]
    assert {source.layout for source in sources} == {Layout.JSON_LINES}
    assert [document.id for document in read_documents(tmp_path)] == ["a1", "a2", "b1"]


def test_documents_in_a_file_with_the_name_of_pairs_are_documents(tmp_path: Path) -> None:
    write_rows(tmp_path / "pairs.jsonl", [GOOD])
    assert list(read_documents(tmp_path)) == [Document(**GOOD)]


# -- PAN


def pair(id: str, *texts: str) -> dict[str, Any]:
    return {"id": id, "fandoms": ["Tea", "Sea"], "pair": texts}


def truth(id: str, *authors: str) -> dict[str, Any]:
    return {"id": id, "same": authors[0] == authors[1], "authors": authors}


@pytest.mark.parametrize(
    ("pairs_name", "truth_name"),
    [("pairs.jsonl.zst", "truth.jsonl"), ("pan20-small.jsonl", "pan20-small-truth.jsonl")],
)
def test_pairs_are_taken_apart_to_documents_each_once(
    tmp_path: Path, pairs_name: str, truth_name: str
) -> None:
    folder = tmp_path / "dev"
    pairs = [pair("1", "A.", "B."), pair("2", "C.", "A."), pair("3", "B.", "B.")]
    truths = [truth("1", "ann", "bob"), truth("2", "ann", "ann"), truth("3", "bob", "eve")]
    path = write_rows(folder / pairs_name, pairs)
    write_rows(folder / truth_name, truths)
    for where in (folder, path):
        (source,) = find_sources(where)
        assert source.layout is Layout.PAIRS
        counts: list[int] = []
        with counting_bytes(counts.append):
            documents = list(source.documents())
        # The text of two authors is two documents.
        assert [(d.author, d.text, d.topic, d.id) for d in documents] == [
            ("ann", "A.", "Tea", "1/first"),
            ("bob", "B.", "Sea", "1/second"),
            ("ann", "C.", "Tea", "2/first"),
            ("eve", "B.", "Sea", "3/second"),
        ]
        assert sum(counts) == source.size() == path.stat().st_size


def test_a_wrong_truth_is_skipped_with_its_pair_and_the_others_come(tmp_path: Path) -> None:
    write_rows(tmp_path / "pairs.jsonl", [pair("1", "A.", "B."), pair("2", "C.", "D.")])
    wrong = truth("1", "ann", "bob") | {"same": True}
    truths = write_rows(tmp_path / "truth.jsonl", [wrong, truth("2", "ann", "ann")])
    skipped: list[InputError] = []
    assert [d.text for d in read_documents(tmp_path, skipped=skipped)] == ["C.", "D."]
    assert [(error.path, error.line) for error in skipped] == [
        (str(truths), 1),
        (str(tmp_path / "pairs.jsonl"), 1),
    ]
    with pytest.raises(BrokenLineError, match=r"truth\.jsonl:1: 'same' is true, but the authors"):
        next(read_documents(tmp_path))


def test_pairs_without_a_truth_have_no_authors(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "pairs.jsonl", [pair("1", "A.", "B."), pair("2", "A.", "C.")])
    texts = [document.text for document in read_documents(tmp_path, author_required=False)]
    assert texts == ["A.", "B.", "C."]
    with pytest.raises(MissingAuthorError) as caught:
        next(read_documents(tmp_path))
    assert str(caught.value) == (
        f"{path}: the document '1/first' has no author; "
        "expected a truth.jsonl with 'authors' beside it"
    )


def test_one_pair_is_read_up_to_its_id_and_named_with_its_fandoms(tmp_path: Path) -> None:
    rows = [
        pair("p1", "One.", "Two."),
        {**pair("p2", "Three.", "Four."), "fandoms": ["Tea", ""]},
        "no JSON",
    ]
    path = write_rows(tmp_path / "pairs.jsonl", rows)
    write_rows(tmp_path / "truth.jsonl", ["no JSON either"])
    for place in (path, tmp_path):
        read = read_pair(place, "p2")
        assert [text.text for text in (read.first, read.second)] == ["Three.", "Four."]
        assert [text.id for text in (read.first, read.second)] == ["p2/first (Tea)", "p2/second"]
        assert (read.first.topic, read.same_author) == ("Tea", None)


def test_an_unknown_id_of_a_pair_is_an_error_that_shows_another(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "pairs.jsonl", [pair("p1", "One.", "Two."), "no JSON"])
    with pytest.raises(
        NotFoundError, match=r"no pair has the id 'p9', of 1 .* such as 'p1'"
    ) as raised:
        read_pair(path, "p9")
    assert str(path) in str(raised.value)
    path.unlink()
    with pytest.raises(NotFoundError, match=r"no pairs\.jsonl in this folder"):
        read_pair(tmp_path, "p9")


def problem_folder(folder: Path) -> Path:
    write(folder / "EN01" / "known01.txt", "A.")
    write(folder / "EN01" / "known02.txt", "B.")
    write(folder / "EN01" / "unknown.txt", "C.")
    write(folder / "EN02" / "known01.txt", "D.")
    write(folder / "EN02" / "unknown.txt", "E.")
    write(folder / "truth.txt", "\ufeffEN01 Y\r\nEN02 N\r\n")
    write(folder / "contents.json", '{"problems": ["EN01", "EN02"]}')
    return folder


@pytest.mark.parametrize("path", ["pan13", "pan13/.", "pan13/EN01/.."])
def test_problems_are_taken_apart_and_their_authors_named_by_the_folder(
    tmp_path: Path, path: str
) -> None:
    problem_folder(tmp_path / "pan13")
    (source,) = find_sources(tmp_path / path)
    assert (source.name, source.layout) == ("pan13", Layout.PROBLEMS)
    counts: list[int] = []
    with counting_bytes(counts.append):
        documents = list(source.documents())
    assert authors_and_ids(documents) == [
        ("pan13/EN01", "EN01/known01"),
        ("pan13/EN01", "EN01/known02"),
        ("pan13/EN01", "EN01/unknown"),
        ("pan13/EN02", "EN02/known01"),
        ("pan13/EN02/unknown", "EN02/unknown"),
    ]
    assert sum(counts) == source.size() == 10


def test_the_working_folder_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(problem_folder(tmp_path / "pan13"))
    assert next(read_documents(".")).author == "pan13/EN01"


def test_problems_without_a_truth_give_their_known_texts(tmp_path: Path) -> None:
    (problem_folder(tmp_path) / "truth.txt").unlink()
    skipped: list[InputError] = []
    assert [d.text for d in read_documents(tmp_path, skipped=skipped)] == ["A.", "B.", "D."]
    assert [type(error) for error in skipped] == [MissingAuthorError, MissingAuthorError]
    assert "'EN01/unknown' has no author; expected a truth.txt" in str(skipped[0])
    assert len(list(read_documents(tmp_path, author_required=False))) == 5


def test_a_problem_that_is_incomplete_is_skipped_and_named(tmp_path: Path) -> None:
    (problem_folder(tmp_path) / "EN02" / "known01.txt").unlink()
    skipped: list[InputError] = []
    assert [d.text for d in read_documents(tmp_path, skipped=skipped)] == ["A.", "B.", "C."]
    assert [(type(error), error.path) for error in skipped] == [
        (NotFoundError, str(tmp_path / "EN02"))
    ]


def test_an_author_with_an_unknown_title_makes_no_problem_folder(tmp_path: Path) -> None:
    write(tmp_path / "burns" / "unknown lines.txt", "O my Luve")
    write(tmp_path / "keats" / "ode.txt", "Thou still")
    assert [document.author for document in read_documents(tmp_path)] == ["burns", "keats"]


# -- nothing to read


@pytest.mark.parametrize("name", ["missing", "missing.txt", "missing.jsonl", "x" * 5_000, "a\0b"])
def test_what_is_not_there_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="there is no such file or folder") as caught:
        find_sources(tmp_path / name)
    assert caught.value.path == str(tmp_path / name)


@pytest.mark.parametrize("names", [[], [".DS_Store"], ["photo.png"], [".git/a.txt"], ["a/b.csv"]])
def test_a_folder_with_nothing_to_read_says_what_was_expected(
    tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        write(tmp_path / name, "x")
    with pytest.raises(NotFoundError) as caught:
        list(read_documents(tmp_path, skipped=[]))
    assert str(caught.value) == (
        f"{tmp_path}: nothing to read in this folder; "
        "expected files .txt, .md, .docx, .odt, .pdf, .jsonl"
    )


@pytest.mark.parametrize("suffix", [".txt", ".docx", ".pdf"])
def test_the_text_of_one_file_can_be_had_alone_and_its_absence_is_named(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"a{suffix}"
    with pytest.raises(NotFoundError, match="there is no such file"):
        read_text(path)
    path.mkdir()
    with pytest.raises(NotFoundError, match="this is a folder; expected a file"):
        read_text(path)
    path.rmdir()
    if suffix == ".docx":
        word = docx.Document()
        word.add_paragraph("A text.")
        word.save(str(path))
    elif suffix == ".pdf":
        write_pdf(path, "A text.")
    else:
        write(path, "A text.")
    counts: list[int] = []
    with counting_bytes(counts.append):
        assert read_text(path) == "A text."
    assert sum(counts) == path.stat().st_size


def test_texts_beside_json_lines_are_not_passed_over_in_silence(tmp_path: Path) -> None:
    write(tmp_path / "letters.jsonl", json.dumps(GOOD) + "\n")
    write(tmp_path / "ann" / "letter.txt", "Dear Bob,")
    write(tmp_path / "README.md", "About these letters.")
    with pytest.warns(
        StrayFilesWarning, match=r"1 text\(s\) beside the \.jsonl files .*letter\.txt"
    ):
        (source,) = find_sources(tmp_path)
    assert source.layout is Layout.JSON_LINES


def test_a_folder_that_cannot_be_read_is_told_of_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for author in ("ann", "bob"):
        write(tmp_path / author / "letter.txt", "Dear Sir,")
    genuine = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path).name == "ann":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return genuine(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.warns(StrayFilesWarning, match=r"ann: the folder is passed over, .*Permission"):
        (document,) = read_documents(tmp_path)
    assert document.author == "bob"
    with pytest.raises(InputError, match=r"ann: the file cannot be read \(Permission denied\)"):
        list(read_documents(tmp_path / "ann"))


def test_one_file_that_cannot_be_read_is_skipped_whatever_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for author in ("ann", "bob"):
        write(tmp_path / author / "letter.txt", "Dear Sir,")

    def open_or_fail(path: Path) -> Any:
        if path.parent.name == "ann":
            raise OSError(errno.EIO, "Input/output error")
        return opened(path)

    opened = files._InputFile
    monkeypatch.setattr(files, "_InputFile", open_or_fail)
    skipped: list[InputError] = []
    (document,) = read_documents(tmp_path, skipped=skipped)
    assert document.author == "bob"
    (error,) = skipped
    assert "ann/letter.txt: the file cannot be read (Input/output error); " in str(error)


def test_the_documents_of_a_table_in_memory_are_those_of_its_file(tmp_path: Path) -> None:
    rows = [{"text": "One.", "author": "a"}, {"text": ""}, {"text": "Two.", "id": "x"}]
    pairs = [{"id": "p", "pair": ["One.", "Two."], "fandoms": ["f", "g"]}] * 2
    for table in (rows, pairs):
        path = write(tmp_path / "t.jsonl", "\n".join(map(json.dumps, table)))
        skipped: list[InputError] = []
        in_memory: list[InputError] = []
        expected = list(read_documents(path, author_required=False, skipped=skipped))
        assert list(documents_in(path.read_bytes(), path, skipped=in_memory)) == expected
        assert [str(error) for error in in_memory] == [str(error) for error in skipped]


def test_names_that_are_no_unicode_are_no_obstacle(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    folder = tmp_path / odd
    write(folder / odd / f"{odd}.txt", "Dear Sir,")
    (document,) = read_documents(folder)
    assert (document.author, document.work, document.id) == ("caf�", "caf�", "caf�/caf�")
    (source,) = find_sources(folder)
    assert source.name == "caf�"
    table = write(tmp_path / f"{odd}.jsonl", json.dumps({"author": "a", "text": "One."}))
    (document,) = read_documents(table)
    assert document.id == "caf�:1"
