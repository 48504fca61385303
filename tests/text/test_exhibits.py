"""The texts of a case: whatever a side is made of, with the hash of each file."""

from __future__ import annotations

import gzip
import io
import os
import sys
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread

import pytest
from test_office import write_any

from adhominem import Document
from adhominem.errors import (
    BinaryFileError,
    EmptyTextError,
    InputError,
    NotFoundError,
    StrayFilesWarning,
    TooLargeError,
)
from adhominem.text.exhibits import Exhibit, read_exhibits
from adhominem.text.files import reading_at_most
from adhominem.text.streams import read_text

WORDS = "My dear Sir, I have the honour to enclose the papers."


def write(path: Path, text: str = WORDS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def hash_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def test_a_file_is_one_text_with_its_name_topic_and_hash(tmp_path: Path) -> None:
    path = write(tmp_path / "letter.txt", WORDS + " Über alles.\r\n")
    (exhibits,) = read_exhibits([path], "papers")
    assert exhibits.document.text.startswith(WORDS)
    assert (exhibits.document.id, exhibits.document.topic) == (str(path), "papers")
    assert exhibits.sha256 == hash_of(path)


@pytest.mark.parametrize("suffix", [".docx", ".pdf", ".odt"])
def test_an_office_file_is_read_and_hashed_as_it_lies_there(tmp_path: Path, suffix: str) -> None:
    path = write_any(tmp_path / f"letter{suffix}", WORDS)
    (exhibits,) = read_exhibits([str(path)])
    assert exhibits.document.text.strip() == WORDS
    assert exhibits.sha256 == hash_of(path)


def test_a_packed_file_is_unpacked_and_hashed_as_it_lies_there(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt.gz"
    path.write_bytes(gzip.compress(WORDS.encode()))
    (exhibits,) = read_exhibits([path])
    assert exhibits.document.text == WORDS
    assert exhibits.sha256 == hash_of(path)


def test_several_files_and_folders_are_the_texts_of_one_side_in_order(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.txt"), write(tmp_path / "two.txt", "Another.")
    inside = [write(tmp_path / "known" / name, name) for name in ("a.txt", "b.md", "c/d.txt")]
    exhibits = read_exhibits([two, tmp_path / "known", one])
    assert [exhibit.document.id for exhibit in exhibits] == [
        str(path) for path in (two, *inside, one)
    ]
    assert [exhibit.sha256 for exhibit in exhibits] == [
        hash_of(path) for path in (two, *inside, one)
    ]


def test_a_folder_says_what_of_it_is_not_read(tmp_path: Path) -> None:
    for name in ("a.txt", "old.rtf", "photo.jpg", ".hidden.txt", "~$a.docx"):
        write(tmp_path / "known" / name)
    with pytest.warns(StrayFilesWarning, match=r"2 file\(s\) are not read, the first is old.rtf"):
        (exhibits,) = read_exhibits([tmp_path / "known"])
    assert exhibits.document.id.endswith("a.txt")


def test_standard_input_is_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    data = f"{WORDS} Ciò.\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))
    (exhibits,) = read_exhibits(["-"])
    assert exhibits.document.text == data.decode()
    assert exhibits.document.id == "standard input"
    assert exhibits.sha256 == sha256(data).hexdigest()


def test_a_pipe_is_read_once_and_its_hash_is_that_of_what_came(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_text(WORDS, "utf-8"))
    writer.start()
    (exhibits,) = read_exhibits([pipe])
    writer.join()
    assert exhibits.document.text == WORDS
    assert exhibits.sha256 == sha256(WORDS.encode()).hexdigest()


def test_a_name_that_is_no_unicode_is_no_obstacle(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    (exhibits,) = read_exhibits([write(path)])
    assert exhibits.document.id == f"{tmp_path}/caf�.txt"


def test_an_encoding_is_guessed_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes("Le caf\xe9 est ferm\xe9.".encode("cp1252"))
    with pytest.warns(UserWarning, match="read as CP1252"):
        (exhibits,) = read_exhibits([path])
    assert exhibits.document.text == "Le café est fermé."
    assert exhibits.sha256 == hash_of(path)


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    (tmp_path / "binary.txt").write_bytes(b"\0\1\2\3")
    (tmp_path / "broken.docx").write_bytes(b"no zip")
    cases: list[tuple[str, type[InputError], str]] = [
        ("nowhere.txt", NotFoundError, "there is no such file or folder"),
        ("folder", NotFoundError, "no text in this folder; expected files .txt, .md, .docx"),
        ("binary.txt", BinaryFileError, "this is binary data; expected plain text in UTF-8"),
        ("broken.docx", InputError, "the file is damaged or not a .docx file at all"),
        (write(tmp_path / "empty.txt", "").name, EmptyTextError, "the text is empty"),
        (write(tmp_path / "blank.txt", " \n\t").name, EmptyTextError, "the text is empty"),
        (write(tmp_path / "a.rtf", r"{\rtf1 Hello}").name, InputError, ".rtf files are not read"),
        (write(tmp_path / "a.html", "<p>Hello").name, InputError, ".html files are not read"),
        (write(tmp_path / "a.jsonl", '{"text": "a"}').name, InputError, "a table of many texts"),
    ]
    for name, kind, message in cases:
        with pytest.raises(kind) as caught:
            read_exhibits([write(tmp_path / "good.txt"), tmp_path / name])
        assert str(caught.value).startswith(f"{tmp_path / name}: {message}")
    for data, kind in ((b"", EmptyTextError), (b"\0\1", BinaryFileError)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(kind, match=r"^standard input: "):
            read_exhibits(["-"])


def swap(files: list[Path], place: Path, stop: Event) -> None:
    """Put one file after the other in a place, by a rename or by writing into it."""
    contents = [file.read_bytes() for file in files]
    spare = place.with_name("spare")
    while not stop.is_set():
        for content in contents:
            spare.write_bytes(content)
            os.replace(spare, place)
        if place.suffix == ".txt":
            for content in contents:
                place.write_bytes(content)  # in place: a reader may see a part of it


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".docx", ".odt", ".pdf"])
def test_the_hash_is_that_of_the_text_though_files_are_swapped_all_the_time(
    tmp_path: Path, suffix: str
) -> None:
    texts, known = [f"{'one ' * 3000}end.", f"{'two ' * 2000}end."], {}
    files = [tmp_path / f"{number}{suffix}" for number in range(2)]
    for file, text in zip(files, texts, strict=True):
        if suffix == ".txt.gz":
            file.write_bytes(gzip.compress(text.encode()))
        elif suffix == ".txt":
            write(file, text)
        else:
            write_any(file, text)
        known[hash_of(file)] = read_text(file)
    place = tmp_path / f"place{suffix}"
    place.write_bytes(files[0].read_bytes())
    stop = Event()
    thread = Thread(target=swap, args=(files, place, stop))
    thread.start()
    seen = set()
    try:
        for _ in range(100):
            try:
                (exhibits,) = read_exhibits([place])
            except EmptyTextError:  # it was being written
                continue
            seen.add(exhibits.sha256)
            text = exhibits.document.text
            if suffix == ".txt":
                assert exhibits.sha256 == sha256(text.encode()).hexdigest()
            else:
                assert known[exhibits.sha256] == text
    finally:
        stop.set()
        thread.join()
    assert seen & set(known)


def test_a_pipe_may_be_an_office_file(tmp_path: Path) -> None:
    data = write_any(tmp_path / "a.docx", WORDS).read_bytes()
    pipe = tmp_path / "pipe.docx"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes(data))
    writer.start()
    (exhibits,) = read_exhibits([pipe])
    writer.join()
    assert (exhibits.document.text, exhibits.sha256) == (WORDS, sha256(data).hexdigest())


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without an end")
def test_what_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with reading_at_most(1 << 20), open("/dev/zero", encoding="latin-1") as zeros:
        monkeypatch.setattr(sys, "stdin", zeros)
        with pytest.raises(TooLargeError, match="standard input: it has more than 1,048,576 bytes"):
            read_exhibits(["-"])


def test_a_standard_input_that_is_closed_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NotFoundError, match="standard input: it is closed; expected a text"):
        read_exhibits(["-"])


def test_a_string_or_a_document_is_an_exhibit_with_the_hash_of_its_text() -> None:
    text = "Où est-il ?"
    expected = sha256(text.encode("utf-8")).hexdigest()
    assert Exhibit.of(text, "first") == Exhibit(Document(text=text, id="first"), expected)
    named = Document(text=text, id="memo", topic="ships")
    assert Exhibit.of(named, "first") == Exhibit(named, expected)
    nameless = Exhibit.of(Document(text=text, topic="ships"), "first").document
    assert (nameless.id, nameless.topic) == ("first", "ships")
    exhibit = Exhibit(named, "of the file")
    assert Exhibit.of(exhibit, "first") is exhibit


def test_folders_of_several_authors_are_not_taken_for_one(tmp_path: Path) -> None:
    for name in ("austen", "bronte", "burney"):
        write(tmp_path / name / "letter.txt")
    with pytest.raises(InputError, match=r"3 folders \(austen, bronte, \.\.\.\).*predict") as told:
        read_exhibits([tmp_path])
    assert told.value.path == str(tmp_path)
    write(tmp_path / "austen" / "letters" / "1811.txt")  # in a folder of her own
    read_exhibits([tmp_path / "austen"])
    read_exhibits([tmp_path / "austen", tmp_path / "bronte"])  # on purpose
    write(tmp_path / "letter.txt")
    with pytest.warns(StrayFilesWarning, match=r"3 folders \(austen, .*by one author"):
        assert len(read_exhibits([tmp_path])) == 5


def test_one_folder_in_a_folder_is_that_of_one_author(tmp_path: Path) -> None:
    write(tmp_path / "austen" / "emma" / "1.txt")
    (tmp_path / "empty").mkdir()
    assert len(read_exhibits([tmp_path])) == 1
