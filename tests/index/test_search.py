"""Searching: candidates as a full scan would rank them, and what is told of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import rich_rows
from rewritten_indexes import rewrite

from adhominem import Document, Verifier, answer, load
from adhominem.cli import main
from adhominem.compiled import NUMPY, VARIABLE
from adhominem.errors import IndexFolderError, InputError, NotFoundError
from adhominem.index import searcher as searching
from adhominem.index.engine import Scan
from adhominem.index.packing import packed_and_back
from adhominem.index.searcher import Searcher, expected_misses
from adhominem.index.store import Store
from adhominem.questions.search.index_files import index_files
from adhominem.questions.search.page import PAGE
from adhominem.questions.search.search import search_texts
from adhominem.text.exhibits import Exhibit

NEW = rich_rows("letters", 30, 6, "-index-")[4]  # a fifth letter by the first of the authors


@pytest.fixture(scope="module")
def mixed(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


def exhibit(text: str, name: str = "letter.txt") -> Exhibit:
    return Exhibit.of(Document(text=text, id=name), name)


@pytest.fixture(scope="module")
def letters_by_many(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """360 texts and the shipped model."""
    folder = tmp_path_factory.mktemp("many")
    source = folder / "texts.jsonl"
    rows = rich_rows("letters", 60, 6, "-near-")
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    index_files([source], folder / "index", trials=0)
    return Searcher(folder / "index", load())


@pytest.mark.parametrize("model", ["shipped", "mixed"])
def test_approximations_are_what_the_model_says(
    letters_by_many: Searcher, made_index: Path, mixed: Verifier, model: str
) -> None:
    """The mixed one has a member that goes by its own layer."""
    shipped = model == "shipped"
    searcher = letters_by_many if shipped else Searcher(made_index, mixed)
    for number in (3, 40, 111):
        numbers = np.setdiff1d(searcher.store.live, [number])
        levs = searcher.store.levs([number])
        scores = searcher.approximate(levs, numbers)
        scored = searcher.scored(levs, [numbers])[0]
        said = np.empty(len(searcher.store))
        said[scored.numbers] = scored.factors.unbounded
        # What both texts do to their own population, the less the larger that is, is left out.
        assert np.corrcoef(scores, said[numbers])[0, 1] > (0.9995 if shipped else 0.999)
        assert np.abs(scores - said[numbers]).mean() < (0.1 if shipped else 0.3)


def test_approximations_are_the_model_to_a_hair_where_the_population_has_none_of_the_texts(
    letters_by_many: Searcher,
) -> None:
    searcher = letters_by_many
    assert searcher.coder is not None
    approximate = searcher.coder.approximate
    new = rich_rows("letters", 6, 4, "-other-")
    levs = packed_and_back(searcher.verifier.encode([row["text"] for row in new]))
    points = approximate.points(levs)
    columns = [np.asarray(rows, np.float32) for rows in searcher.verifier.scorer.columns(levs)]
    products = np.stack([rows[1:] @ rows[0] for rows in columns], axis=1)
    scores = approximate.scores(points[:1], products, points[1:])
    first, second = np.zeros(len(levs) - 1, np.int64), np.arange(1, len(levs))
    said = searcher.verifier.scorer(
        levs[first], levs[second], approximate.population, despite_misfit=True
    )
    np.testing.assert_allclose(scores, said.unbounded, atol=0.02)


def test_codes_that_are_old_ones_get_a_wide_margin(
    letters_by_many: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert letters_by_many._margin(20) == 20_000 // 360
    monkeypatch.setattr(searching, "_FRESH", 1.1)
    assert [letters_by_many._margin(k) for k in (20, 100)] == [40, 75]


def test_the_population_of_an_index_is_that_of_its_texts(letters_by_many: Searcher) -> None:
    store, verifier = letters_by_many.store, letters_by_many.verifier
    population = letters_by_many.population
    assert population is not None
    made = verifier.population_of(store.levs(store.live))
    assert population.texts == made.texts == len(store)
    np.testing.assert_allclose(population.lev_mean, made.lev_mean, atol=1e-5)
    assert population.authors == pytest.approx(made.authors, rel=0.3)  # of other texts of its
    again = Store(store.folder, replace(store.manifest, author_share=0.0))
    measured = again.make_population(verifier)
    assert measured is not None
    assert measured.authors == population.authors


def test_three_steps_find_what_a_full_scan_finds(
    letters_by_many: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scan, "scanned", 64)
    store, codes = letters_by_many.store, letters_by_many._codes
    engine = Scan(store.live_by_shard, [part[:, :64] for part in codes])
    searcher = Searcher(store.folder, load(), engine=engine)
    for name, value in (
        ("_CANDIDATES", 20),
        ("_CANDIDATES_A_HIT", 1),
        ("_SHARE_A_HIT", 0.02),
        ("_KEPT_SHARE", 0.6),
        ("_KEPT_A_HIT", 1),
        ("_FIRST", 20),
        ("_FIRST_A_HIT", 1),
    ):
        monkeypatch.setattr(searching, name, value)
    levs = searcher.store.levs(np.arange(0, 360, 9))  # 40, more than are searched for at once
    outside = [frozenset([at]) for at in range(0, 360, 9)]
    assert searcher.coder is not None
    queries = searcher.coder.query(levs, searcher.coder.approximate.points(levs))
    for texts, query in zip(searcher._brought_up(queries, 5, outside), queries, strict=True):
        assert len(searcher._candidates(texts, query, 5)[0]) < 0.4 * 360
    everything = [np.setdiff1d(searcher.store.live, list(gone)) for gone in outside]
    full = searcher.scored(levs, everything, 5)
    quick = searcher.search(levs, 5, outside)
    shared = [
        len(set(one.numbers.tolist()) & set(other.numbers.tolist()))
        for one, other in zip(quick, full, strict=True)
    ]
    assert len(shared) == 40
    assert np.mean(shared) >= 0.98 * 5


def test_hits_are_the_same_in_c_and_numpy(
    letters_by_many: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    levs = letters_by_many.store.levs([3, 50, 7])
    compiled = letters_by_many.search(levs, 10)
    monkeypatch.setenv(VARIABLE, NUMPY)
    plain = Searcher(letters_by_many.store.folder, load())
    for one, other in zip(compiled, plain.search(levs, 10), strict=True):
        assert one.numbers.tolist() == other.numbers.tolist()
        np.testing.assert_allclose(one.factors.unbounded, other.factors.unbounded, rtol=1e-6)


def test_hits_are_the_models_own_bayes_factors(made_index: Path, mixed: Verifier) -> None:
    searcher = Searcher(made_index, mixed)
    result = search_texts(searcher, [exhibit(NEW["text"])], k=10)
    store = searcher.store
    hit = result.searched[0].hits[0]
    number = store.ids[hit.id]
    levs = mixed.encode([NEW["text"]])
    factors = mixed.scorer(levs, store.levs([number]), searcher.population, despite_misfit=True)
    assert hit.log10_bayes_factor == pytest.approx(
        factors.log_bayes_factor[0] / np.log(10), abs=0.05
    )
    assert result.prior_same_author == pytest.approx(1 / 120)
    assert result.log10_needed == pytest.approx(np.log10(119))
    assert [one.log10_bayes_factor for one in result.searched[0].hits] == sorted(
        (one.log10_bayes_factor for one in result.searched[0].hits), reverse=True
    )


def test_a_text_of_the_index_is_not_its_own_hit(made_index: Path, mixed: Verifier) -> None:
    row = rich_rows("letters", 30, 4, "-index-")[0]
    result = search_texts(Searcher(made_index, mixed), [exhibit("\n" + row["text"])], k=120)
    searched = result.searched[0]
    assert searched.copies == (row["id"],)
    assert row["id"] not in {hit.id for hit in searched.hits}
    assert len(searched.hits) == 119


def test_a_search_that_leaves_out_every_text_has_no_hits(
    mixed: Verifier, mixed_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "copies").mkdir()
    for at in range(6):
        (tmp_path / "copies" / f"{at}.txt").write_text(NEW["text"] + "\n" * at, "utf-8")
    index_files([tmp_path / "copies"], tmp_path / "index", model=mixed_folder, jobs=1)
    searcher, other = Searcher(tmp_path / "index", mixed), exhibit("The answer was received.")
    alone = search_texts(searcher, [exhibit(NEW["text"])])
    among = search_texts(searcher, [other, exhibit(NEW["text"]), other])
    assert [len(one.hits) for one in alone.searched] == [0]
    assert [len(one.hits) for one in among.searched] == [6, 0, 6]
    assert len(alone.searched[0].copies) == 6
    assert "Left out, as the same text" in PAGE.whole(alone)


def test_false_hits_are_told_at_each_strength(made_index: Path, mixed: Verifier) -> None:
    result = search_texts(Searcher(made_index, mixed), [exhibit(NEW["text"])], k=3)
    expected = [row.expected for row in result.false_hits]
    assert expected
    assert expected == sorted(expected, reverse=True)
    assert "by different authors" in result.measured
    assert 0 < result.trials <= 5


def test_a_short_text_and_another_language_are_warned_of(made_index: Path, mixed: Verifier) -> None:
    searcher = Searcher(made_index, mixed)
    result = search_texts(searcher, [exhibit("Dear Smith, the answer was received.")], k=1)
    assert "too_short" in {caution.code for caution in result.searched[0].warnings}


def test_removed_texts_do_not_come_up(
    made_index: Path, mixed: Verifier, mixed_folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "index"
    shutil.copytree(made_index, copy)
    author, texts = NEW["author"], 4
    gone = index_files([], copy, model=mixed_folder, remove=[author], trials=0)
    assert (gone.removed, gone.texts) == (texts, 120 - texts)
    result = search_texts(Searcher(copy, mixed), [exhibit(NEW["text"])], k=116)
    assert author not in {hit.author for hit in result.searched[0].hits}
    smaller = index_files([], copy, model=mixed_folder, compact=True, trials=0)
    assert smaller.texts == 116
    again = search_texts(Searcher(copy, mixed), [exhibit(NEW["text"])], k=116)
    old, new = (
        {hit.id: hit.log10_bayes_factor for hit in one.searched[0].hits} for one in (result, again)
    )
    assert old.keys() == new.keys()
    assert max(abs(old[id] - new[id]) for id in old) < 0.02
    with pytest.raises(InputError, match="nothing was removed"):
        index_files([], copy, model=mixed_folder, remove=["nobody"], trials=0)


def test_an_index_without_texts_is_said_to_be_empty(
    made_index: Path, mixed: Verifier, mixed_folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "index"
    shutil.copytree(made_index, copy)
    authors = {row["author"] for row in rich_rows("letters", 30, 4, "-index-")}
    index_files([], copy, model=mixed_folder, remove=sorted(authors), trials=0)
    with pytest.raises(NotFoundError, match="no texts"):
        search_texts(Searcher(copy, mixed), [exhibit(NEW["text"])])


@pytest.mark.parametrize(
    ("which", "name"),
    [
        ("codes", "codes"),
        ("codes", "places"),
        ("view", "steps"),
        ("view", "authors"),
        ("chance", "ranks"),
    ],
)
def test_a_file_that_lacks_an_array_is_named_as_damaged(
    made_index: Path, mixed: Verifier, tmp_path: Path, which: str, name: str
) -> None:
    copy = tmp_path / "index"
    shutil.copytree(made_index, copy)
    (path,) = copy.glob(f"{which}-*")
    rewrite(copy, path.name, lambda arrays: {key: arrays[key] for key in arrays if key != name})
    with pytest.raises(IndexFolderError, match=f"{path.name} is damaged .*it has no {name}"):
        search_texts(Searcher(copy, mixed), [exhibit(NEW["text"])])


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("squares", lambda array: array[:-1], r"its squares are f4 \(119, 3\)"),
        ("squares", lambda array: array[:, 0].copy(), r"its squares are f4 \(120,\);"),
        ("usual", lambda array: array[:, None].copy(), r"its usual are f4 \(120, 1\);"),
        (
            "places",
            lambda array: array[:, :-1].copy(),
            r"its places are f2 .*expected f2 \(120, ",
        ),
        ("codes", lambda array: array[:, :-1].copy(), r"its codes are i1 \(120, 120\); expected"),
        ("codes", lambda array: array.astype(np.float32), "its codes are f4 "),
    ],
)
def test_codes_that_do_not_fit_are_named_as_damaged(
    made_index: Path,
    mixed: Verifier,
    tmp_path: Path,
    name: str,
    change: Callable[[Any], Any],
    reason: str,
) -> None:
    copy = tmp_path / "index"
    shutil.copytree(made_index, copy)
    (path,) = copy.glob("codes-*")
    rewrite(copy, path.name, lambda arrays: {**arrays, name: change(arrays[name])})
    with pytest.raises(IndexFolderError, match=f"{path.name} is damaged .*{reason}"):
        Searcher(copy, mixed)


def test_another_model_is_refused(made_index: Path) -> None:
    with pytest.raises(IndexFolderError, match="was made with the model mixed"):
        Searcher(made_index, load())


def test_the_command_prints_hits_writes_a_page_and_json(
    made_index: Path, mixed_folder: Path, tmp_path: Path
) -> None:
    text = tmp_path / "letter.txt"
    text.write_text(NEW["text"], "utf-8")
    call = ["search", str(text), "--index", str(made_index), "--model", str(mixed_folder)]
    page = tmp_path / "hits.html"
    shown = CliRunner().invoke(main, [*call, "-k", "3", "-o", str(page)])
    assert shown.exit_code == 0, shown.output
    assert "False hits to expect among 120 texts" in shown.output
    assert "A hit is a text to look at" in shown.output
    assert "A hit is a text to look at" in page.read_text("utf-8")
    printed = CliRunner().invoke(main, [*call, "--json"]).stdout
    assert printed.count('"schema"') == 1
    told = json.loads(printed)
    assert told["schema"] == 1
    assert len(told["searched"][0]["hits"]) == 20
    assert answer("search", texts=text, index=made_index, model=mixed_folder, k=2).texts == 120


def test_as_many_misses_are_expected_as_there_are() -> None:
    rng = np.random.default_rng(0)
    missed, expected = [], []
    for _ in range(40):
        products = -np.sort(-rng.normal(size=8_000)).astype(np.float32)
        scores = products + rng.normal(0.5, 0.4, 8_000)
        best = np.argsort(-scores)[:400]
        missed.append((best >= 1_000).sum())
        expected.append(expected_misses(products, scores[:1_000], 400))
    assert 10 < np.mean(missed) < 60
    assert 0.8 * np.mean(missed) < np.mean(expected) < 1.6 * np.mean(missed)


def test_nothing_is_missed_once_all_was_looked_at() -> None:
    products = np.array([3, 2, 1], np.float32)
    assert expected_misses(products, np.array([1.0, 2.0, 3.0]), 2) == 0
    assert expected_misses(products, np.array([1.0]), 2) == 2  # fewer than are asked for
