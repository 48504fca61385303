"""An index in Milvus answers as the one in its folder does; tested with Milvus Lite."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import rich_rows

from adhominem import Verifier, load
from adhominem.cli import main
from adhominem.errors import IndexFolderError, OptionError
from adhominem.index import searcher as searching
from adhominem.index.milvus import MilvusAddress, MilvusEngine, is_address
from adhominem.index.searcher import Searcher
from adhominem.questions.search.index_files import index_files

MilvusClient = pytest.importorskip("pymilvus").MilvusClient
NEW = rich_rows("letters", 30, 6, "-index-")[4]["text"]


@pytest.fixture(scope="module")
def mixed(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


@pytest.fixture(scope="module")
def folder(made_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("milvus") / "index"
    shutil.copytree(made_index, copy)
    return copy


@pytest.fixture(scope="module")
def address(folder: Path, mixed_folder: Path) -> str:
    """A collection of Milvus Lite with all 120 texts."""
    address = f"milvus://{folder.parent / 'codes.db'}/forum"
    index_files([], folder, model=mixed_folder, milvus=address)
    return address


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the index were large: engines are asked at all."""
    monkeypatch.setattr(searching, "_CANDIDATES", 60)
    monkeypatch.setattr(searching, "_CANDIDATES_A_HIT", 1)


def test_hits_are_those_of_the_folder(
    address: str, folder: Path, mixed: Verifier, few_candidates: None
) -> None:
    levs = mixed.encode([NEW, rich_rows("letters", 30, 6, "-index-")[10]["text"]])
    here, there = Searcher(folder, mixed), Searcher(address, mixed)
    size = here._codes[0].shape[1]
    queries = np.random.default_rng(0).normal(size=(3, size)).astype(np.float32)
    for one, other in zip(
        *(engine.candidates(queries, 30)[0] for engine in (here.engine, there.engine)), strict=True
    ):
        assert set(one.tolist()) == set(other.tolist())
    for local, remote in zip(here.search(levs, 5), there.search(levs, 5), strict=True):
        assert local.numbers.tolist() == remote.numbers.tolist()
        np.testing.assert_array_equal(local.factors.unbounded, remote.factors.unbounded)


def test_the_command_searches_a_collection(
    address: str, mixed_folder: Path, tmp_path: Path
) -> None:
    text = tmp_path / "letter.txt"
    text.write_text(NEW, "utf-8")
    call = ["search", str(text), "--index", address, "--model", str(mixed_folder), "-k", "3"]
    shown = CliRunner().invoke(main, call)
    assert shown.exit_code == 0, shown.output
    assert "False hits to expect among 120 texts" in shown.output


def test_a_collection_that_is_behind_is_refused_and_brought_up_to_date(
    address: str, folder: Path, mixed: Verifier, mixed_folder: Path, few_candidates: None
) -> None:
    author = rich_rows("letters", 30, 4, "-index-")[0]["author"]
    index_files([], folder, model=mixed_folder, remove=[author], trials=0)
    with pytest.raises(IndexFolderError, match=r"does not match the index in .*; run"):
        Searcher(address, mixed)
    index_files([], folder, model=mixed_folder, milvus=address, trials=0)
    searcher = Searcher(address, mixed)
    hits = searcher.search(mixed.encode([NEW]), 20)[0].numbers
    assert len(hits) == 20
    assert searcher.store.alive[hits].all()


def test_another_model_is_refused(address: str) -> None:
    with pytest.raises(IndexFolderError, match="was made with the model mixed"):
        Searcher(address, load())


def test_a_missing_collection_and_one_of_another_index_are_refused(
    address: str, made_index: Path, mixed: Verifier, mixed_folder: Path
) -> None:
    with pytest.raises(IndexFolderError, match="there is no collection nothing of an index"):
        Searcher(address.replace("/forum", "/nothing"), mixed)
    with pytest.raises(IndexFolderError, match=r"holds the index in .*; choose another name"):
        index_files([], made_index, model=mixed_folder, milvus=address)


def test_properties_that_a_server_adds_change_nothing(
    address: str, folder: Path, mixed: Verifier, mixed_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe = MilvusClient.describe_collection

    def with_more(*given: Any, **options: Any) -> dict[str, Any]:
        told = describe(*given, **options)
        return {**told, "properties": {**told["properties"], "timezone": "UTC"}}

    def refuse(*_: object) -> None:
        raise AssertionError("the collection was made again")

    monkeypatch.setattr(MilvusClient, "describe_collection", with_more)
    monkeypatch.setattr(MilvusEngine, "create", refuse)
    index_files([], folder, model=mixed_folder, milvus=address, trials=0)
    assert len(Searcher(address, mixed).search(mixed.encode([NEW]), 3)[0].numbers) == 3


@pytest.mark.parametrize("properties", [{}, {"timezone": "UTC"}])
def test_a_collection_of_somebody_else_is_not_dropped(
    folder: Path, mixed_folder: Path, tmp_path: Path, properties: dict[str, str]
) -> None:
    address = f"milvus://{tmp_path / 'theirs.db'}/forum"
    engine = MilvusEngine(MilvusAddress.of(address))
    engine.create(properties, 4)
    with pytest.raises(IndexFolderError, match="holds something other than an index"):
        index_files([], folder, model=mixed_folder, milvus=address, trials=0)
    assert engine.about() == {}


def test_a_server_that_does_not_answer_is_named(mixed: Verifier) -> None:
    with pytest.raises(IndexFolderError, match=r"Milvus at http://127\.0\.0\.1:1 refused"):
        Searcher("milvus://127.0.0.1:1/forum", mixed)


def test_addresses_are_a_server_or_a_file_and_a_collection() -> None:
    server = MilvusAddress.of("milvus+https://host:443/forum")
    assert (server.uri, server.collection) == ("https://host:443", "forum")
    file = MilvusAddress.of("milvus:///srv/my%20codes.db/forum")
    assert (file.uri, file.collection) == ("/srv/my codes.db", "forum")
    wrong_ones = ("milvus://host:19530", "milvus://host/a/b", "milvus://host/a-b", "http://h/a")
    for wrong in (*wrong_ones, "milvus://[::1/forum"):
        with pytest.raises(OptionError, match="is not the address of a collection"):
            MilvusAddress.of(wrong)
    assert not is_address("forum-index")
    assert not is_address(Path("milvus://host/forum"))
