"""Building an index: whole shards or none, resumed, refused where something does not fit."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import rich_rows, write_rows

from adhominem.cli import main
from adhominem.errors import IndexFolderError, InputError, NotFoundError, OptionError
from adhominem.index import build
from adhominem.index.files import read_manifest
from adhominem.index.store import Store
from adhominem.questions.search.index_files import index_files

ROWS = rich_rows("letters", 30, 4, "-index-")


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SHARD", 16)


def test_an_index_keeps_ids_authors_and_no_texts(made_index: Path) -> None:
    store = Store(made_index)
    assert len(store) == len(ROWS)
    number = store.ids[ROWS[5]["id"]]
    assert store.author(number) == ROWS[5]["author"]
    assert store.text(number) is None
    words = ROWS[5]["text"].encode()[:40]
    assert not any(words in file.read_bytes() for file in made_index.iterdir())
    store.check()


def test_texts_are_kept_if_asked_for(mixed_folder: Path, letters: Path, tmp_path: Path) -> None:
    index_files([letters], tmp_path / "index", model=mixed_folder, keep_texts=True, trials=0)
    store = Store(tmp_path / "index")
    assert store.text(store.ids[ROWS[5]["id"]]) == ROWS[5]["text"]


@pytest.mark.usefixtures("small_shards")
def test_what_is_there_is_passed_over_and_the_rest_added(
    mixed_folder: Path, letters: Path, tmp_path: Path
) -> None:
    part = write_rows(tmp_path / "part.jsonl", ROWS[:40])
    folder = tmp_path / "index"
    first = index_files([part], folder, model=mixed_folder, trials=0)
    assert (first.added, first.already_there, first.shards) == (40, 0, 3)
    second = index_files([letters], folder, model=mixed_folder, trials=0)
    assert (second.added, second.already_there, second.texts) == (80, 40, 120)
    assert sorted(Store(folder).ids) == sorted(row["id"] for row in ROWS)


def test_another_text_under_the_same_id_is_skipped(
    made_index: Path, mixed_folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "index"
    shutil.copytree(made_index, copy)
    changed = write_rows(tmp_path / "changed.jsonl", [{**ROWS[0], "text": ROWS[1]["text"] + " x"}])
    skipped: list[InputError] = []
    result = index_files([changed], copy, model=mixed_folder, trials=0, skipped=skipped)
    assert result.added == 0
    assert len(skipped) == 1
    assert "another text under the id" in str(skipped[0])


def test_authors_are_joined_if_asked_for(mixed_folder: Path, letters: Path, tmp_path: Path) -> None:
    result = index_files(
        [letters], tmp_path / "index", model=mixed_folder, join_authors=True, trials=0
    )
    assert result.texts == 30
    assert set(Store(tmp_path / "index").ids) == {row["author"] for row in ROWS}


def test_ids_are_hashed_with_a_key(mixed_folder: Path, letters: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("0123456789abcdef0123456789abcdef\n")
    folder = tmp_path / "index"
    index_files([letters], folder, model=mixed_folder, hash_ids=key, trials=0)
    store = Store(folder)
    assert ROWS[0]["id"] not in store.ids
    assert build.hashed(ROWS[0]["id"], key.read_bytes().strip()) in store.ids
    with pytest.raises(IndexFolderError, match="the key"):
        index_files([letters], folder, model=mixed_folder, trials=0)
    result = index_files(
        [], folder, model=mixed_folder, hash_ids=key, remove=[ROWS[0]["id"]], trials=0
    )
    assert result.removed == 1
    key.write_text("short")
    with pytest.raises(OptionError, match="16 or more"):
        index_files([letters], folder, model=mixed_folder, hash_ids=key, trials=0)


def test_a_damaged_shard_is_named(made_index: Path, mixed_folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "index"
    shutil.copytree(made_index, copy)
    shard = copy / read_manifest(copy).shards[0].levs.name
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 0xFF
    shard.write_bytes(data)
    with pytest.raises(IndexFolderError, match=shard.name):
        index_files([], copy, model=mixed_folder, check=True)
    shard.write_bytes(data[:-10])
    with pytest.raises(IndexFolderError, match=f"{shard.name} is damaged"):
        Store(copy)
    shard.unlink()
    with pytest.raises(IndexFolderError, match=shard.name):
        Store(copy)


def test_a_folder_that_is_no_index_is_refused(tmp_path: Path, mixed_folder: Path) -> None:
    with pytest.raises(IndexFolderError, match="there is no index"):
        Store(tmp_path)
    for other in (3, 99):  # an index of the version before this one, or of a later one
        (tmp_path / "index.json").write_text(f'{{"format": {other}}}')
        with pytest.raises(IndexFolderError, match=f"format {other}; expected 5: build the index"):
            Store(tmp_path)
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(IndexFolderError, match="damaged"):
        Store(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file.txt").write_text("mine")
    with pytest.raises(OptionError, match="holds other files"):
        index_files([tmp_path / "other"], tmp_path / "other", model=mixed_folder)
    with pytest.raises(NotFoundError, match="no texts to index"):
        index_files([], tmp_path / "new", model=mixed_folder)


_KILLED = """
import os, sys
from adhominem.index import build
from adhominem.questions.search.index_files import index_files
build.SHARD = 16
flush, count = build.Writer.flush, 0
def flushed(self):
    global count
    flush(self)
    count += 1
    print(self.manifest.texts, flush=True)
    if count == 3:
        os.kill(os.getpid(), 9)
build.Writer.flush = flushed
index_files([sys.argv[1]], sys.argv[2], model=sys.argv[3], trials=0, jobs=1)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_killed_run_loses_nothing_that_it_said_was_written(
    mixed_folder: Path, letters: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    program = tmp_path / "killed.py"
    program.write_text(_KILLED, "utf-8")
    arguments = [sys.executable, str(program), str(letters), str(folder), str(mixed_folder)]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    said = int(ended.stdout.split()[-1])
    assert said == 48
    store = Store(folder)
    store.check()
    assert len(store) == said
    (folder / "texts-000099.safetensors").write_bytes(b"half a shard")
    went_on = index_files([letters], folder, model=mixed_folder, trials=0)
    assert (went_on.already_there, went_on.added, went_on.texts) == (48, 72, 120)
    assert not (folder / "texts-000099.safetensors").exists()


def test_the_command_says_what_a_text_takes(
    mixed_folder: Path, letters: Path, tmp_path: Path
) -> None:
    call = ["index", str(letters), "-o", str(tmp_path / "index"), "--model", str(mixed_folder)]
    shown = CliRunner().invoke(main, [*call, "--trials", "0", "--jobs", "1"])
    assert shown.exit_code == 0, shown.output
    assert "120 texts: 120 added" in shown.output
    assert "kB a text" in shown.output
    again = CliRunner().invoke(main, [*call, "--trials", "0", "--json"])
    assert json.loads(again.stdout)["already_there"] == 120
