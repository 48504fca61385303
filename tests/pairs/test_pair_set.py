"""Fixed pair sets: what is written is what was drawn, and PAN's reader reads it."""

from __future__ import annotations

import json
import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from adhominem import read_pairs
from adhominem.errors import InputError, OptionError
from adhominem.pairs.cases import PairSet, write_pair_set
from adhominem.paper.sampling import PairOptions, draw_epoch
from adhominem.text.readers import Source, find_sources

Row = dict[str, str]


def make_rows(authors: int = 10, documents: int = 4, corpus: str = "a") -> list[Row]:
    """Every text different, some with characters that JSON, lines and encodings trip over."""
    strange = ["\u2028 “naïve” —", "\r\n\ttab", '\\ "quoted"', "😀\x85", "plain"]
    return [
        {
            "author": f"{corpus} author {author}",
            "topic": ("", "war", "peace")[number % 3],
            "work": f"work {number % 2}",
            "id": f"{corpus}{author}/{number}",
            "text": f"{corpus}{author}/{number} {strange[(author + number) % 5]} "
            + "word " * random.Random(author * 99 + number).randint(1, 30),
        }
        for author in range(authors)
        for number in range(documents)
    ]


def write(path: Path, rows: list[Row]) -> Source:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (source,) = find_sources(path)
    return source


def read_back(folder: Path, rows: list[Row]) -> list[tuple[Row, Row, bool]]:
    """The pairs in a folder, as rows of the corpus, by their texts."""
    by_text = {row["text"]: row for row in rows}
    pairs = []
    for pair in read_pairs(folder):
        sides = []
        for document in (pair.first, pair.second):
            row = by_text[document.text]
            assert (document.author, document.topic) == (row["author"], row["topic"])
            sides.append(row)
        pairs.append((sides[0], sides[1], pair.same_author))
    return pairs


def test_the_written_folder_reads_back_with_texts_authors_topics_and_labels(
    tmp_path: Path,
) -> None:
    rows = make_rows()
    written = write_pair_set([write(tmp_path / "c.jsonl", rows)], tmp_path / "out")
    pairs = read_back(tmp_path / "out", rows)
    assert len(pairs) == len(rows) // 2 == len(written.pairs)
    for first, second, same in pairs:
        assert (first["author"] == second["author"]) is same
    expected = zip(
        written.pairs.first.tolist(),
        written.pairs.second.tolist(),
        written.pairs.same_author.tolist(),
        strict=True,
    )
    assert pairs == [(rows[first], rows[second], same) for first, second, same in expected]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "pairs.jsonl",
        "truth.jsonl",
    ]


def test_the_files_have_pans_fields_and_ids_that_match(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / "one.jsonl", make_rows(15)),
        write(tmp_path / "two.jsonl", make_rows(15, corpus="b")),
    ]
    write_pair_set(sources, tmp_path / "out", PairOptions(different_authors_within="corpus"))
    tables = [
        [json.loads(line) for line in (tmp_path / "out" / name).read_text("utf-8").split("\n")[:-1]]
        for name in ("pairs.jsonl", "truth.jsonl")
    ]
    assert all(set(row) == {"id", "fandoms", "pair"} for row in tables[0])
    assert all(set(row) == {"id", "same", "authors"} for row in tables[1])
    ids = [row["id"] for row in tables[0]]
    assert ids == [row["id"] for row in tables[1]]
    assert len(set(ids)) == len(ids)
    for row, truth in zip(*tables, strict=True):
        assert row["id"].startswith("one-" if truth["authors"][0].startswith("a") else "two-")
    assert len({len(id) for id in ids}) == 1  # numbers of one width: sorted, they are in order


def test_the_pairs_are_the_first_epoch_of_this_seed(tmp_path: Path) -> None:
    source = write(tmp_path / "c.jsonl", make_rows(20))
    options = PairOptions(balanced=True, same_author_across="work")
    written = write_pair_set([source], tmp_path / "out", options, seed=5)
    drawn = draw_epoch(written.labels, seed=5, epoch=0, options=options)
    assert written.pairs.first.tolist() == drawn.first.tolist()
    assert written.pairs.second.tolist() == drawn.second.tolist()
    assert 0 < written.pairs.same_author_count == written.pairs.different_author_count
    for first, second, same in read_back(tmp_path / "out", make_rows(20)):
        assert not same or first["work"] != second["work"]


def test_the_same_seed_writes_the_same_bytes_and_another_one_others(tmp_path: Path) -> None:
    source = write(tmp_path / "c.jsonl", make_rows(20))
    files = []
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        write_pair_set([source], tmp_path / name, seed=seed)
        files.append((tmp_path / name / "pairs.jsonl").read_bytes())
    assert files[0] == files[1] != files[2]


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (7, 7), (19, 19), (20, 20), (500, 20)])
def test_at_most_so_many_pairs_are_written(tmp_path: Path, count: int, expected: int) -> None:
    rows = make_rows()
    source = write(tmp_path / "c.jsonl", rows)
    written = write_pair_set([source], tmp_path / "out", count=count)
    assert len(written.pairs) == len(read_back(tmp_path / "out", rows)) == expected
    everything = write_pair_set([source], tmp_path / "all")
    assert written.pairs.first.tolist() == everything.pairs.first.tolist()[:expected]


@pytest.mark.parametrize("count", [2, 9, 10])
def test_a_balanced_set_that_is_cut_stays_balanced(tmp_path: Path, count: int) -> None:
    source = write(tmp_path / "c.jsonl", make_rows(20))
    for seed in range(8):
        written = write_pair_set(
            [source], tmp_path / str(seed), PairOptions(balanced=True), seed=seed, count=count
        )
        assert written.pairs.same_author_count == count // 2
        assert written.pairs.different_author_count == count // 2


def test_the_set_knows_which_pairs_share_a_known_topic_and_how_long_texts_are(
    tmp_path: Path,
) -> None:
    rows = make_rows(20)
    written = write_pair_set([write(tmp_path / "c.jsonl", rows)], tmp_path / "out")
    pairs = read_back(tmp_path / "out", rows)
    shared = [first["topic"] == second["topic"] != "" for first, second, _ in pairs]
    assert written.same_topic.tolist() == shared
    assert 0 < sum(shared) < len(shared)
    assert any(first["topic"] == second["topic"] == "" for first, second, _ in pairs)
    assert written.words.tolist() == [len(row["text"].split()) for row in rows]


def test_several_corpora_make_one_set(tmp_path: Path) -> None:
    rows = {"one": make_rows(6), "two": make_rows(6, corpus="b")}
    sources = [write(tmp_path / f"{name}.jsonl", part) for name, part in rows.items()]
    write_pair_set(sources, tmp_path / "out", PairOptions(different_authors_within="corpus"))
    for first, second, same in read_back(tmp_path / "out", [*rows["one"], *rows["two"]]):
        assert same or first["author"][0] == second["author"][0]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (make_rows(1, 1), PairOptions()),
        (make_rows(1, 5), PairOptions(balanced=True)),
        (make_rows(5, 1), PairOptions(balanced=True)),
        (make_rows(1, 3)[::2], PairOptions(same_author_across="work")),
    ],
    ids=["one text", "one author", "no two texts of an author", "one work"],
)
def test_where_no_pair_is_possible_an_error_says_so_and_nothing_is_left_behind(
    tmp_path: Path, rows: list[Row], options: PairOptions
) -> None:
    source = write(tmp_path / "c.jsonl", rows)
    with pytest.raises(OptionError, match=f"{len(rows)} documents by .* make no pair"):
        write_pair_set([source], tmp_path / "out", options)
    assert [file.name for file in tmp_path.iterdir()] == ["c.jsonl"]


def test_a_count_below_one_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "c.jsonl", make_rows())
    with pytest.raises(OptionError, match="count is 0"):
        write_pair_set([source], tmp_path / "out", count=0)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "pairs.jsonl").write_text("mine", "utf-8")
    heard: list[float] = []
    source = write(tmp_path / "c.jsonl", make_rows())
    with pytest.raises(OptionError, match="exists already"):
        write_pair_set([source], tmp_path / "out", watch=lambda *what: nullcontext(heard.append))
    assert heard == []
    assert (tmp_path / "out" / "pairs.jsonl").read_text("utf-8") == "mine"


def test_bad_rows_are_skipped_or_stop_the_work(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    write(path, make_rows())
    path.write_text("[1, 2]\n" + path.read_text("utf-8"), "utf-8")
    skipped: list[InputError] = []
    written = write_pair_set(find_sources(path), tmp_path / "out", skipped=skipped)
    assert [(error.path, error.line) for error in skipped] == [(str(path), 1)]
    assert len(written.pairs) == 20
    with pytest.raises(InputError, match=r"c\.jsonl:1: "):
        write_pair_set(find_sources(path), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_pair_set_can_be_drawn_from_a_pair_set(tmp_path: Path) -> None:
    rows = make_rows()
    write_pair_set([write(tmp_path / "c.jsonl", rows)], tmp_path / "out")
    again: PairSet = write_pair_set(find_sources(tmp_path / "out"), tmp_path / "again", seed=9)
    assert len(read_back(tmp_path / "again", rows)) == len(again.pairs) == 20
    assert np.unique(again.labels.author).size == 10
