"""Indexes that were damaged, whose update was killed, or that change under a running server.

Nothing damaged may be answered from: an answer is that of the whole index, or there is an error
that names the file. Whatever was killed is finished by the same command.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from conftest import rich_rows, write_rows
from rewritten_indexes import Arrays, rewrite

from adhominem import Document, Verifier, load
from adhominem.compiled import NUMPY, VARIABLE
from adhominem.errors import IndexFolderError
from adhominem.index import build
from adhominem.index.files import MANIFEST, read_arrays, read_manifest
from adhominem.index.search import search_texts
from adhominem.index.searcher import Searcher
from adhominem.jobs.index import index_files
from adhominem.text.exhibits import Exhibit
from attack.conftest import Attack

ROWS = rich_rows("letters", 8, 4, "-attacked-")[:28]
LETTER = Exhibit.of(
    Document(text=rich_rows("letters", 8, 5, "-attacked-")[4]["text"], id="letter"), "letter"
)
GONE = ROWS[4]["author"]
TRIALS = 3


@pytest.fixture(scope="module")
def mixed(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


@pytest.fixture(scope="module", autouse=True)
def small_shards() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "SHARD", 10)
        yield


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Texts to build an index of, and texts to add."""
    folder = tmp_path_factory.mktemp("sources")
    return write_rows(folder / "one.jsonl", ROWS[:20]), write_rows(folder / "two.jsonl", ROWS[20:])


@pytest.fixture(scope="module")
def small_index(
    mixed_folder: Path, sources: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("small") / "index"
    index_files(sources, folder, model=mixed_folder, keep_texts=True, trials=TRIALS, jobs=1)
    return folder


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "index"))


def answer(folder: Path, verifier: Verifier) -> str:
    """All that an index tells, but for where it is."""
    searcher = Searcher(folder, verifier)
    told = search_texts(searcher, [LETTER], k=30).to_json() | {"index": ""}
    texts = [searcher.store.text(number) for number in searcher.store.live.tolist()]
    return json.dumps([told, texts, sorted(searcher.store.ids)], default=str)


def answer_or_error(folder: Path, verifier: Verifier, name: str) -> str | None:
    """The same; None where an error names this file."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # numbers may be beyond all that texts have
            return answer(folder, verifier)
    except IndexFolderError as error:
        assert name in str(error), error
        return None


# Damage


def arrays_in(data: bytes) -> Iterator[tuple[str, int, int]]:
    """The arrays of a file, with their first and last bytes; its header is one, too."""
    length = 8 + int.from_bytes(data[:8], "little")
    yield "header", 0, length
    for name, told in json.loads(data[8:length]).items():
        if name != "__metadata__":
            begin, end = (length + at for at in told["data_offsets"])
            yield name, begin, end


@pytest.mark.parametrize("kernel", ["", NUMPY])
def test_no_flipped_bit_changes_an_answer(
    small_index: Path,
    mixed: Verifier,
    tmp_path: Path,
    attack: Attack,
    monkeypatch: pytest.MonkeyPatch,
    kernel: str,
) -> None:
    monkeypatch.setenv(VARIABLE, kernel)
    folder, rng, silent = copied(small_index, tmp_path), Random(kernel), []
    right = answer(folder, mixed)
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        parts = [("all", 0, len(data))] * 5 if path.name == MANIFEST else arrays_in(data)
        for name, begin, end in parts:
            for _ in range(attack.rounds(1, 15) if end > begin else 0):
                flipped = bytearray(data)
                flipped[rng.randrange(begin, end)] ^= 1 << rng.randrange(8)
                path.write_bytes(flipped)
                attack.tried("flipped bits")
                told = answer_or_error(folder, mixed, path.name)
                if told is not None:
                    silent.append(name)
                    assert told == right, name
        path.write_bytes(data)
    assert answer(folder, mixed) == right
    # Texts that are removed, and LEVs that no search looks at, are not read; here are none.
    assert silent == []


CHANGES: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "zeros": lambda array, rng: np.zeros_like(array),
    "the largest": lambda array, rng: np.full_like(array, _limit(array, "max")),
    "the least": lambda array, rng: np.full_like(array, _limit(array, "min")),
    "large": lambda array, rng: _one(array, rng, 1e8),
    "a tiny one": lambda array, rng: _one(array, rng, 1e-30),
    "no number": lambda array, rng: _one(array, rng, np.nan),
    "infinite": lambda array, rng: _one(array, rng, -np.inf),
    "negative": lambda array, rng: _one(array, rng, -1),
    "all negative": lambda array, rng: -array,
    "one less": lambda array, rng: array[:-1],
    "none": lambda array, rng: array[:0],
    "twice": lambda array, rng: np.concatenate([array, array]),
    "another kind": lambda array, rng: array.astype(np.float64 if array.dtype != "f8" else "f4"),
    "bytes": lambda array, rng: array.astype(np.uint8),
    "one column": lambda array, rng: array.reshape(-1, 1),
    "in a row": lambda array, rng: array.reshape(-1),
    "by chance": lambda array, rng: np.frombuffer(rng.bytes(array.nbytes), array.dtype).reshape(
        array.shape
    ),
    "in another order": lambda array, rng: rng.permutation(array),
}


def _limit(array: Any, name: str) -> Any:
    kind = np.finfo if array.dtype.kind == "f" else np.iinfo
    return getattr(kind(array.dtype), name)


def _one(array: Any, rng: np.random.Generator, value: float) -> Any:
    changed = array.copy().reshape(-1)
    if changed.size:
        changed[rng.integers(changed.size)] = np.asarray(value).astype(array.dtype)
    return changed.reshape(array.shape)


def test_values_that_no_index_has_end_in_an_error_that_names_the_file_or_in_an_answer(
    small_index: Path, mixed: Verifier, tmp_path: Path, attack: Attack
) -> None:
    folder, rng = copied(small_index, tmp_path), np.random.default_rng(0)
    manifest = (folder / MANIFEST).read_bytes()
    by_kind = {file.name.partition("-")[0]: file for file in read_manifest(folder).files()}
    assert sorted(by_kind) == ["chance", "codes", "texts", "view"]
    for file in by_kind.values():
        data = (folder / file.name).read_bytes()
        for array in read_arrays(folder, file):
            chosen = list(CHANGES) if attack.long else rng.choice(list(CHANGES), 4, replace=False)
            for change in chosen:

                def changed(arrays: Arrays, name: str = array, how: str = change) -> Arrays:
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        return {**arrays, name: CHANGES[how](arrays[name], rng)}

                rewrite(folder, file.name, changed)
                attack.tried("rewritten arrays")
                try:
                    answer_or_error(folder, mixed, str(folder))
                except Exception as error:
                    raise AssertionError(f"{file.name}, {array}: {change}") from error
                finally:
                    (folder / file.name).write_bytes(data)
                    (folder / MANIFEST).write_bytes(manifest)
