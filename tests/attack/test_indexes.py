"""Indexes that were damaged, whose update was killed, or that change under a running server.

Nothing damaged may be answered from: an answer is that of the whole index, or there is an error
that names the file. Whatever was killed is finished by the same command.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import zstandard
from conftest import rich_rows, write_rows
from rewritten_indexes import Arrays, rewrite

from adhominem import Document, Verifier, load
from adhominem.compiled import NUMPY, VARIABLE
from adhominem.errors import IndexFolderError, InputError
from adhominem.index import build, files
from adhominem.index.files import MANIFEST, read_arrays, read_manifest
from adhominem.index.searcher import Searcher
from adhominem.index.store import Store
from adhominem.questions.search import index_files as indexing
from adhominem.questions.search.index_files import index_files
from adhominem.questions.search.link import link_accounts
from adhominem.questions.search.search import search_texts
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
def small_and_quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "SHARD", 10)
        patch.setattr(indexing, "load", cache(indexing.load))
        patch.setattr(indexing, "measure_chance", partial(indexing.measure_chance, pairs=60))
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
        if name not in str(error):
            raise
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
    assert set(silent) <= {"texts.data"}  # some bits of zstd's headers mean nothing


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
    "in another order": lambda array, rng: rng.permutation(array.copy()),
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


# Kills


class Killed(BaseException):
    """Stands for SIGKILL: nothing that would be tidied up is tidied up."""


class Killer:
    """Ends a run at a certain step: before, in the middle of, or after writing or deleting."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps, self.last, self.how = 0, -1, ""
        write, unlink = files.replace_file, Path.unlink

        def replace_file(path: Path, data: bytes) -> None:
            half = path.with_name(f".{path.name}.999999.partial")
            self.step(lambda: write(path, data), lambda: half.write_bytes(data[: len(data) // 2]))

        def unlinked(path: Path, missing_ok: bool = False) -> None:
            if build._OURS.fullmatch(path.name) and not path.name.startswith("."):
                self.step(lambda: unlink(path, missing_ok), lambda: None)
            else:
                unlink(path, missing_ok)

        patch.setattr(files, "replace_file", replace_file)
        patch.setattr(Path, "unlink", unlinked)

    def at(self, step: int, how: str) -> None:
        self.steps, self.last, self.how = 0, step, how

    def step(self, work: Callable[[], object], half: Callable[[], object]) -> None:
        self.steps += 1
        if self.steps - 1 == self.last:
            {"before": lambda: None, "half": half, "after": work}[self.how]()
            raise Killed
        work()


def contents(folder: Path) -> list[Any]:
    """All that an index is, but for the numbers in the names of its files."""
    manifest = read_manifest(folder)
    counting = {file.name for file in manifest.files()} | {MANIFEST}
    assert {path.name for path in folder.iterdir()} == counting  # nothing is left over
    Store(folder).check()

    def read(file: Any) -> Any:
        if file is None:
            return None
        arrays = read_arrays(folder, file).items()
        return {name: (array.shape, array.tobytes()) for name, array in arrays}

    shards = [(shard.texts, read(shard.levs), read(shard.codes)) for shard in manifest.shards]
    assert manifest.complete
    return [shards, read(manifest.view), read(manifest.chance), manifest.removed, manifest.removing]


RUNS: dict[str, dict[str, Any]] = {
    "first build": {"corpora": (0, 1)},
    "addition": {"corpora": (1,)},
    "removal": {"remove": [GONE]},
    "removal from the disk": {"remove": [GONE], "compact": True},
    "addition and removal": {"corpora": (1,), "remove": [GONE], "compact": True},
}


@pytest.mark.parametrize("name", RUNS)
def test_the_same_command_finishes_what_was_killed(
    name: str,
    sources: tuple[Path, Path],
    mixed_folder: Path,
    tmp_path: Path,
    attack: Attack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, began, options = tmp_path / "index", tmp_path / "began", dict(RUNS[name])
    corpora = [sources[at] for at in options.pop("corpora", ())]
    same: dict[str, Any] = {
        "model": mixed_folder,
        "keep_texts": bool(corpora),
        "trials": TRIALS,
        "jobs": 1,
    }

    def run() -> None:
        index_files(corpora, folder, **same, **options)

    def start() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        if began.exists():
            shutil.copytree(began, folder)

    if name != "first build":
        index_files(sources[:1], began, **{**same, "keep_texts": True})
    killer = Killer(monkeypatch)
    start()
    run()
    whole, steps = contents(folder), killer.steps
    moments = [(step, how) for step in range(steps) for how in ("before", "half", "after")]
    for step, how in moments if attack.long else moments[:: max(1, len(moments) // 9)]:
        start()
        killer.at(step, how)
        with pytest.raises(Killed):
            run()
        killer.at(-1, "")
        attack.tried("kills")
        if (step, how) == (steps - 1, "after") and options.get("compact"):
            with pytest.raises(InputError, match="it is gone"):  # all was done, but for an answer
                run()
        else:
            run()
        assert contents(folder) == whole, (step, how)


def test_a_removal_that_was_killed_and_not_run_again_is_gone_on_with_by_another_name(
    small_index: Path, mixed_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(small_index, tmp_path)
    killer = Killer(monkeypatch)
    killer.at(1, "before")  # the manifest says that the texts are removed, and no more is done
    with pytest.raises(Killed):
        index_files(
            [], folder, model=mixed_folder, remove=[GONE], compact=True, trials=TRIALS, jobs=1
        )
    killer.at(-1, "")
    (one, *_) = [row["id"] for row in ROWS if row["author"] == GONE]
    done = index_files(
        [], folder, model=mixed_folder, remove=[one], compact=True, trials=TRIALS, jobs=1
    )
    assert (done.removed, done.texts) == (1, len(ROWS) - 4)


def everything_in(folder: Path) -> bytes:
    """All bytes of an index, and all of its texts unpacked, files that do not count among them."""
    found = b""
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes()
        found += path.name.encode() + data
        for at in range(len(data)):
            if data.startswith(zstandard.FRAME_HEADER, at):
                unpacker = zstandard.ZstdDecompressor().decompressobj()
                try:
                    found += unpacker.decompress(data[at:])
                except zstandard.ZstdError:
                    continue
    return found


@pytest.mark.parametrize("half", [False, True])
def test_nothing_of_a_removed_person_is_left_in_the_folder(
    small_index: Path,
    mixed_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    half: bool,
) -> None:
    folder = copied(small_index, tmp_path)
    theirs = [row for row in ROWS if row["author"] == GONE]
    words = [GONE, *(row["id"] for row in theirs), *(row["text"][:60] for row in theirs)]
    before = everything_in(folder)
    assert all(word.encode() in before for word in words)
    if half:  # files of killed runs that do not count hold texts, too
        (shard, *_) = folder.glob("texts-*")
        shutil.copy(shard, folder / "texts-000099.safetensors")
        shutil.copy(shard, folder / ".texts-000100.safetensors.999999.partial")
        killer = Killer(monkeypatch)
        killer.at(8, "after")  # new shards count, and old ones are still there
        with pytest.raises(Killed):
            index_files(
                [], folder, model=mixed_folder, remove=[GONE], compact=True, trials=TRIALS, jobs=1
            )
        assert len([*folder.glob("texts-*")]) > len(read_manifest(folder).shards)
        killer.at(-1, "")
    index_files([], folder, model=mixed_folder, remove=[GONE], compact=True, trials=TRIALS, jobs=1)
    after = everything_in(folder)
    assert [word for word in words if word.encode() in after] == []
    others = [row for row in ROWS if row["author"] != GONE]
    assert all(row["text"][:60].encode() in after for row in others)


# The order of texts, and copies


def factors(folder: Path, verifier: Verifier) -> dict[str, float]:
    result = search_texts(Searcher(folder, verifier), [LETTER], k=300)
    return {hit.id: hit.log10_bayes_factor for hit in result.searched[0].hits}


def test_the_order_of_texts_changes_nothing(
    mixed_folder: Path, mixed: Verifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "SHARD", 64)
    rows = rich_rows("letters", 75, 4, "-ordered-")  # more than the 200 that populations keep
    told = []
    for seed in (None, 1):
        texts = rows if seed is None else Random(seed).sample(rows, len(rows))
        folder = tmp_path / f"index-{seed}"
        source = write_rows(tmp_path / f"{seed}.jsonl", texts)
        index_files([source], folder, model=mixed_folder, trials=TRIALS, jobs=1)
        searcher = Searcher(folder, mixed)
        assert searcher.chance is not None
        links = link_accounts(searcher, rate=1.0, limit=40)
        told.append(
            (
                factors(folder, mixed),
                searcher.chance,
                {frozenset((one.first, one.second)): one.log10_bayes_factor for one in links.links},
            )
        )
    (one, chance, links), (other, chance_2, links_2) = told
    assert one == pytest.approx(other, abs=1e-4)
    assert chance.pairs == pytest.approx(chance_2.pairs, abs=1e-4)
    assert chance.trials == pytest.approx(chance_2.trials, abs=1e-4)
    assert links == pytest.approx(links_2, abs=1e-4)


def test_copies_of_a_text_count_once(mixed_folder: Path, mixed: Verifier, tmp_path: Path) -> None:
    many = [{**ROWS[9], "id": f"copy-{at}", "text": ROWS[9]["text"] + " " * at} for at in range(9)]
    source = write_rows(tmp_path / "plain.jsonl", ROWS)
    copies = write_rows(tmp_path / "copies.jsonl", many)
    plain, repeated = tmp_path / "plain", tmp_path / "repeated"
    index_files([source], plain, model=mixed_folder, trials=TRIALS, jobs=1)
    index_files([copies, source], repeated, model=mixed_folder, trials=TRIALS, jobs=1)
    one, other = factors(plain, mixed), factors(repeated, mixed)
    assert {id: other[id] for id in one} == pytest.approx(one, abs=1e-4)
    # Whichever of them is removed: the others stand for it.
    gone = [row["id"] for row in many[:5]]
    index_files([], repeated, model=mixed_folder, remove=gone, trials=TRIALS, jobs=1)
    other = factors(repeated, mixed)
    assert {id: other[id] for id in one} == pytest.approx(one, abs=1e-4)
    index_files([], repeated, model=mixed_folder, compact=True, trials=TRIALS, jobs=1)
    other = factors(repeated, mixed)
    assert {id: other[id] for id in one} == pytest.approx(one, abs=1e-4)


# A server whose index changes


def test_a_server_searches_the_old_index_until_the_new_one_is_finished(
    small_index: Path,
    mixed_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    testing = pytest.importorskip("fastapi.testclient")
    from adhominem.web import service as serving
    from adhominem.web.server import create_app

    monkeypatch.setattr(serving, "_BETWEEN_LOOKS", 0.0)
    folder = copied(small_index, tmp_path)
    service = serving.Service.open(mixed_folder, index=folder)
    client = testing.TestClient(create_app(service), raise_server_exceptions=False)

    def told() -> tuple[int, bool]:
        """How many texts the index has, and whether one of those that are removed comes up."""
        asked = {"texts": LETTER.document.text, "k": 100}
        answer = client.post("/api/search", json=asked)
        assert answer.status_code == 200, answer.text
        assert client.get("/health").status_code == 200
        hits = answer.json()["searched"][0]["hits"]
        return answer.json()["texts"], any(hit["author"] == GONE for hit in hits)

    def update(**options: Any) -> None:
        index_files([], folder, model=mixed_folder, trials=TRIALS, jobs=1, **options)

    before, after = (len(ROWS), True), (len(ROWS) - 4, False)
    assert told() == before
    killer = Killer(monkeypatch)
    states = []
    for step in range(40):  # an update that stops after each step, and goes on
        killer.at(step, "after")
        try:
            update(remove=[GONE], compact=True)
        except Killed:
            killer.at(-1, "")
            states.append(told())
            continue
        except InputError:  # all was done in the last round
            break
    assert set(states) == {before, after}
    assert states == sorted(states, reverse=True)  # never back to the old one
    assert "not finished" in caplog.text
    # What is damaged is not opened, and not searched, either.
    for path in folder.glob("texts-*"):
        path.unlink()
    (folder / MANIFEST).touch()
    assert told() == after
    (folder / MANIFEST).write_text("{", "utf-8")
    assert told() == after
    shutil.rmtree(folder)
    assert told() == after
    service.close()


def test_a_row_that_is_damaged_under_a_server_is_a_refusal_that_the_log_explains(
    small_index: Path, mixed_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    testing = pytest.importorskip("fastapi.testclient")
    from adhominem.web.server import create_app
    from adhominem.web.service import Service

    folder = copied(small_index, tmp_path)
    service = Service.open(mixed_folder, index=folder)
    client = testing.TestClient(create_app(service), raise_server_exceptions=False)
    for path in folder.glob("texts-*"):
        data = bytearray(path.read_bytes())
        for name, begin, end in list(arrays_in(bytes(data))):
            if name.endswith(".values"):
                data[begin:end] = bytes(byte ^ 1 for byte in data[begin:end])
        with open(path, "r+b") as file:  # the same file: what is open sees it
            file.write(data)
    answer = client.post("/api/search", json={"texts": LETTER.document.text})
    assert answer.status_code == 503
    assert str(folder) not in answer.text
    assert "texts-" in caplog.text
    assert client.get("/health").status_code == 200
    service.close()
