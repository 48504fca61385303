"""What was read is known by whatever name, as long as a job runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adhominem.errors import OptionError
from adhominem.text.files import (
    check_none_read_in,
    check_not_read,
    note_input,
    noting_inputs,
    read_text,
)
from adhominem.text.writing import replaced_file, write_whole


def test_what_is_opened_is_noted_and_forgotten_when_the_job_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("evidence", "utf-8")
    with noting_inputs():
        check_not_read(path)
        with noting_inputs():
            read_text(path)
        with pytest.raises(OptionError, match="would be overwritten, but it was read as input"):
            check_not_read(path)
    read_text(path)
    check_not_read(path)
    with noting_inputs():
        check_not_read(path)


def test_a_file_that_was_saved_anew_since_it_was_read_is_the_same(tmp_path: Path) -> None:
    path, new = tmp_path / "a.txt", tmp_path / "new"
    path.write_text("evidence", "utf-8")
    new.write_text("a better version", "utf-8")
    with noting_inputs():
        read_text(path)
        os.replace(new, path)
        with pytest.raises(OptionError, match="would be overwritten"):
            check_not_read(path)
        path.unlink()
        with pytest.raises(OptionError, match="would be overwritten"):
            check_not_read(path)


@pytest.mark.parametrize("writer", [write_whole, replaced_file])
def test_the_writers_ask_before_they_begin_and_when_they_are_done(
    writer: type, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("evidence", "utf-8")
    for read_before in (True, False):
        with noting_inputs():
            if read_before:
                read_text(path)
            with (  # noqa: PT012
                pytest.raises(OptionError, match="would be overwritten"),
                writer(path),
            ):
                assert not read_before
                read_text(path)
        assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
        assert path.read_text("utf-8") == "evidence"


def test_a_folder_in_which_something_was_read_is_told_from_its_neighbours(tmp_path: Path) -> None:
    inside = tmp_path / "work" / "deep" / "a.txt"
    inside.parent.mkdir(parents=True)
    inside.write_text("evidence", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "work")
    with noting_inputs():
        note_input(tmp_path / "link" / "deep" / "a.txt")
        for folder in (tmp_path / "work", tmp_path / "link", tmp_path):
            with pytest.raises(OptionError, match="would be replaced, but it holds"):
                check_none_read_in(folder)
        check_none_read_in(tmp_path / "wor")
        check_none_read_in(tmp_path / "work" / "other")
