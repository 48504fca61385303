"""Only files are read, and only as much as was said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adhominem.text.files import open_regular, read_folder


def read_regular(path: Path, largest: int) -> bytes:
    file, size = open_regular(path, largest)
    with file:
        return file.read(size)


def test_a_file_is_read_as_it_is_through_a_link_too(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    (tmp_path / "link").symlink_to(path)
    assert read_regular(path, 3) == read_regular(tmp_path / "link", 100) == b"abc"
    file, size = open_regular(path, 3)
    with file:
        assert (file.read(), size) == (b"abc", 3)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    with pytest.raises(OSError, match=r"large has 1,099,511,627,776 bytes; expected 10 at most"):
        read_regular(tmp_path / "large", 10)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody will ever write to it
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "device"):
        with pytest.raises(OSError, match=f"{name} is no file"):
            read_regular(tmp_path / name, 100)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing", 100)


def test_no_file_stays_open(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(OSError, match="is no file"):
            read_regular(tmp_path / "folder", 1)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_is_read_whole_and_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "member" / "deeper").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for place in (folder, folder / "member", folder / "member" / "deeper", tmp_path / "elsewhere"):
        (place / "a.json").write_bytes(place.name.encode())
    (folder / "large.json").write_bytes(b"12345678910")
    (folder / "notes.txt").write_bytes(b"nobody asked")
    (folder / ".hidden.json").write_bytes(b"hidden")
    os.mkfifo(folder / "pipe.json")  # nobody will ever write to it
    (folder / "link.json").symlink_to(folder / "a.json")
    (folder / "lost.json").symlink_to(folder / "nothing")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")

    contents = read_folder(folder, lambda name: 10 if name.endswith(".json") else None)

    problems = {name: str(error) for name, error in contents.items() if isinstance(error, OSError)}
    assert {name: data for name, data in contents.items() if name not in problems} == {
        "a.json": b"model",
        "link.json": b"model",
        "member/a.json": b"member",
    }
    assert list(problems) == ["large.json", "lost.json", "pipe.json", "linked"]
    assert "has 11 bytes; expected 10 at most" in problems["large.json"]
    assert "No such file" in problems["lost.json"]
    assert "is no file" in problems["pipe.json"]
    assert "is a link" in problems["linked"]


def test_what_lies_in_a_folder_of_another_type_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.json").write_bytes(b"")
    assert read_folder(tmp_path, {"inside/a.json": 10}.get) == {}
    with pytest.raises(FileNotFoundError):
        read_folder(tmp_path / "nothing", {}.get)
