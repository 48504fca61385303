"""The split: nothing of one part on another, whatever the order of the files."""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import InputError, OptionError
from adhominem.pairs.split import NO_PART, PARTS, SplitOptions, assign_parts, split
from adhominem.text.corpus import LabelCollector, Labels
from adhominem.text.files import Document
from adhominem.text.readers import Source, find_sources

Row = dict[str, str]


def made_up(words: int, seed: object) -> str:
    rng = random.Random(f"{seed}")
    return " ".join("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 8))) for _ in range(words))


def make_rows(
    authors: int, documents: int = 3, corpus: str = "a", topics: int = 0, words: int = 30
) -> list[Row]:
    """Documents that have nothing in common, by authors who write so many each."""
    return [
        {
            "author": f"{corpus}{author}",
            "topic": f"topic {(author * 7 + number * 3) % topics}" if topics else "",
            "work": f"work {number}",
            "id": f"{corpus}{author}/{number}",
            "text": made_up(words, (corpus, author, number)),
        }
        for author in range(authors)
        for number in range(documents)
    ]


def write(path: Path, rows: list[Row]) -> Source:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (source,) = find_sources(path)
    return source


def read(folder: Path) -> dict[str, list[Document]]:
    """What was written, by part."""
    return {
        part: [
            document
            for file in sorted((folder / part).iterdir())
            for source in find_sources(file)
            for document in source.documents()
        ]
        for part in PARTS
    }


def sides_of_authors(folder: Path) -> dict[str, set[str]]:
    sides: dict[str, set[str]] = {}
    for part, documents in read(folder).items():
        for document in documents:
            sides.setdefault(document.author, set()).add(part)
    return sides


def as_rows(documents: list[Document]) -> list[Row]:
    rows = [asdict(document) for document in documents]
    assert {row.pop("language") for row in rows} == {""}  # it was not said
    return sorted(rows, key=lambda row: row["id"])


def make_labels(rows: list[tuple[str, str, str]]) -> Labels:
    """Labels from (author, topic, corpus)."""
    collector = LabelCollector()
    for author, topic, corpus in rows:
        collector.add(Document(text="x", author=author, topic=topic), corpus)
    return collector.labels()


def parts(sides: np.ndarray[Any, Any]) -> list[float]:
    """The share of each part among the documents that stay."""
    kept = sides[sides != NO_PART]
    return (np.bincount(kept, minlength=3) / len(kept)).tolist()


names = st.sampled_from([f"author {index}" for index in range(25)])
triples = st.tuples(names, st.sampled_from(["", "t1", "t2", "t3", "t4"]), st.sampled_from("ab"))


@given(st.lists(triples, min_size=30, max_size=60), st.integers(0, 99), st.booleans())
def test_no_author_is_on_two_sides_and_no_topic_either_if_so_wished(
    rows: list[tuple[str, str, str]], seed: int, topic_disjoint: bool
) -> None:
    labels = make_labels(rows)
    options = SplitOptions(shares=(0.5, 0.3, 0.2), seed=seed, topic_disjoint=topic_disjoint)
    try:
        sides = assign_parts(labels, options)
    except OptionError:  # too few authors: another test
        return
    parts_of: dict[tuple[str, str], set[int]] = {}
    for (author, topic, _), part in zip(rows, sides.tolist(), strict=True):
        if part != NO_PART:
            parts_of.setdefault(("author", author), set()).add(part)
            if topic and topic_disjoint:
                parts_of.setdefault(("topic", topic), set()).add(part)
        else:
            assert topic_disjoint
            assert topic
    assert all(len(parts) == 1 for parts in parts_of.values())


@given(st.lists(st.integers(1, 9), min_size=20, max_size=40), st.integers(0, 99))
def test_sides_are_the_stretches_of_the_documents_in_hash_order(
    documents: list[int], seed: int
) -> None:
    sizes = {f"Zoë {index}": size for index, size in enumerate(documents)}
    shares = (0.5, 0.3, 0.2)
    rows = [(author, "", "c") for author, size in sizes.items() for _ in range(size)]
    sides = assign_parts(make_labels(rows), SplitOptions(shares=shares, seed=seed))
    ordered = sorted(
        sizes, key=lambda name: blake2b(f"{seed}/author/{name}".encode(), digest_size=16).digest()
    )
    before = 0
    expected = {}
    for author in ordered:
        middle = (before + sizes[author] / 2) / len(rows)
        expected[author] = 0 if middle < 0.5 else 1 if middle < 0.5 + 0.3 else 2
        before += sizes[author]
    assert sides.tolist() == [expected[author] for author, _, _ in rows]


@pytest.mark.parametrize("shares", [(0.8, 0.1, 0.1), (0.34, 0.33, 0.33), (0.9, 0.1, 0.0)])
def test_shares_come_out_as_asked_for(shares: tuple[float, float, float]) -> None:
    rng = random.Random(0)
    rows = [
        (f"author {author}", "", "c") for author in range(500) for _ in range(rng.randint(1, 9))
    ]
    for seed in range(5):
        sides = assign_parts(make_labels(rows), SplitOptions(shares=shares, seed=seed))
        assert parts(sides) == pytest.approx(shares, abs=0.01)


def test_each_corpus_gets_its_share_however_small() -> None:
    rows = [(f"large {author}", "", "large") for author in range(1000) for _ in range(4)]
    rows += [(f"small {author}", "", "small") for author in range(10) for _ in range(3)]
    labels = make_labels(rows)
    for seed in range(5):
        sides = assign_parts(labels, SplitOptions(seed=seed))
        small = labels.corpus == labels.corpus_names.index("small")
        assert parts(sides[small]) == pytest.approx((0.8, 0.1, 0.1))
        assert parts(sides[~small]) == pytest.approx((0.8, 0.1, 0.1), abs=0.005)


def test_an_author_of_two_corpora_is_on_one_side(tmp_path: Path) -> None:
    shared = [{**row, "author": f"a{index % 20}"} for index, row in enumerate(make_rows(20))]
    sources = [
        write(tmp_path / "one.jsonl", make_rows(20)),
        write(tmp_path / "two.jsonl", [{**row, "id": f"two {row['id']}"} for row in shared]),
    ]
    split(sources, tmp_path / "out", SplitOptions(shares=(0.6, 0.2, 0.2), duplicate_share=1))
    assert all(len(sides) == 1 for sides in sides_of_authors(tmp_path / "out").values())


def test_another_seed_makes_another_split() -> None:
    labels = make_labels([(f"author {index}", "", "c") for index in range(100)])
    drawn = {tuple(assign_parts(labels, SplitOptions(seed=seed)).tolist()) for seed in range(4)}
    assert len(drawn) == 4


@pytest.mark.parametrize("topic_disjoint", [False, True])
def test_the_order_of_rows_and_files_does_not_matter(tmp_path: Path, topic_disjoint: bool) -> None:
    corpora = {"one": make_rows(40, topics=8), "two": make_rows(30, corpus="b", topics=8)}
    corpora["two"][5]["text"] = corpora["one"][20]["text"]  # whichever is first, one must go
    corpora["two"][6]["author"] = corpora["one"][6]["author"]  # in both corpora
    options = SplitOptions(shares=(0.6, 0.2, 0.2), topic_disjoint=topic_disjoint, seed=3)
    results = []
    for attempt in range(3):
        rng = random.Random(attempt)
        folder = tmp_path / str(attempt)
        sources = []
        for name, rows in rng.sample(sorted(corpora.items()), 2):
            sources.append(write(folder / f"{name}.jsonl", rng.sample(rows, len(rows))))
        report = split(sources, folder / "out", options)
        hashes = {
            (part, corpus): (counts.sha256, counts.documents, counts.authors, counts.words)
            for part, cells in report.parts.items()
            for corpus, counts in cells.items()
        }
        written = {part: as_rows(documents) for part, documents in read(folder / "out").items()}
        results.append((hashes, written, sides_of_authors(folder / "out")))
    assert results[0] == results[1] == results[2]
    assert len({counts[0] for counts in results[0][0].values()}) == 6


def test_the_hash_of_a_side_changes_with_any_of_its_texts(tmp_path: Path) -> None:
    rows = make_rows(30)
    hashes = []
    for name in ("one", "two"):
        report = split([write(tmp_path / name / "c.jsonl", rows)], tmp_path / name / "out")
        hashes.append([report.parts[part]["c"].sha256 for part in PARTS])
        gone = read(tmp_path / name / "out")["dev"][0]
        rows = [row if row["id"] != gone.id else {**row, "text": row["text"] + "."} for row in rows]
    assert [one == other for one, other in zip(*hashes, strict=True)] == [True, False, True]


def test_disjoint_topics_keep_the_shares_among_what_stays() -> None:
    rng = random.Random(1)
    rows = [
        (f"author {author}", f"topic {rng.randrange(300)}", "c")
        for author in range(2000)
        for _ in range(rng.randint(1, 6))
    ]
    labels = make_labels(rows)
    sides = assign_parts(labels, SplitOptions(topic_disjoint=True, shares=(0.7, 0.2, 0.1)))
    assert parts(sides) == pytest.approx((0.7, 0.2, 0.1), abs=0.03)
    assert (sides != NO_PART).mean() > 0.38  # (.7 ** .5 + .2 ** .5 + .1 ** .5) ** -2 = 0.39
    for part in range(3):
        inside, rest = (
            labels.topic[sides == part],
            labels.topic[(sides != part) & (sides != NO_PART)],
        )
        assert not set(inside.tolist()) & set(rest.tolist())


@pytest.mark.parametrize("known", [0.0, 0.5])
def test_documents_without_a_topic_stay_and_do_not_spoil_the_shares(known: float) -> None:
    rng = random.Random(2)
    rows = [
        (f"author {author}", f"t{rng.randrange(300)}" if rng.random() < known else "", "c")
        for author in range(3000)
        for _ in range(3)
    ]
    rows += [(f"other {author}", f"t{rng.randrange(300)}", "other") for author in range(3000)]
    labels = make_labels(rows)
    sides = assign_parts(labels, SplitOptions(topic_disjoint=True))
    without = labels.topic == -1
    assert (sides[without] != NO_PART).all()
    for corpus in range(2):
        assert parts(sides[labels.corpus == corpus]) == pytest.approx((0.8, 0.1, 0.1), abs=0.03)


def test_what_is_left_out_for_its_topic_is_counted(tmp_path: Path) -> None:
    rows = make_rows(60, topics=12)
    options = SplitOptions(topic_disjoint=True, shares=(0.5, 0.25, 0.25))
    report = split([write(tmp_path / "c.jsonl", rows)], tmp_path / "out", options)
    written = sum(map(len, read(tmp_path / "out").values()))
    assert 0 < report.documents_left_out_for_topic == len(rows) - written
    assert f"{report.documents_left_out_for_topic} documents were left out" in report.remarks()[0]


class Sides:
    """A corpus of which the part of each document is known, to put copies where they hurt."""

    def __init__(self, tmp_path: Path, **kind: Any) -> None:
        self.folder = tmp_path
        self.options = SplitOptions(shares=(0.4, 0.3, 0.3), topic_disjoint="topics" in kind)
        self.rows = make_rows(30, **kind)
        labels = make_labels([(row["author"], row["topic"], "c") for row in self.rows])
        sides = assign_parts(labels, self.options)
        self.on = {
            name: [row for row, part in zip(self.rows, sides, strict=True) if part == number]
            for number, name in [*enumerate(PARTS), (NO_PART, "none")]
        }

    def split(self) -> tuple[Any, dict[str, set[str]]]:
        """The report, and the ids that were written, by part."""
        source = write(self.folder / "c.jsonl", self.rows)
        report = split([source], self.folder / "out", self.options)
        written = read(self.folder / "out")
        return report, {part: {document.id for document in written[part]} for part in PARTS}

    def assert_gone(self, written: dict[str, set[str]], gone: list[Row]) -> None:
        ids = {row["id"] for row in gone}
        for part in PARTS:
            assert written[part] == {row["id"] for row in self.on[part]} - ids


@pytest.mark.parametrize(
    ("earlier", "later"), [("train", "dev"), ("train", "test"), ("dev", "test")]
)
def test_a_copy_is_taken_from_the_earlier_side_and_listed(
    tmp_path: Path, earlier: str, later: str
) -> None:
    corpus = Sides(tmp_path, words=300)
    gone, kept = corpus.on[earlier][4], corpus.on[later][2]
    gone["text"] = kept["text"].upper()
    report, written = corpus.split()
    corpus.assert_gone(written, [gone])
    assert report.removed_duplicates == [
        {"id": gone["id"], "duplicate_of": kept["id"], "share": 1.0}
    ]
    assert report.remarks() == ["1 copies of a text in a later part were taken out"]


def test_an_excerpt_on_another_side_is_taken_out_with_its_share(tmp_path: Path) -> None:
    corpus = Sides(tmp_path, words=400)
    gone, kept = corpus.on["train"][0], corpus.on["test"][0]
    excerpt = kept["text"].split()[100:370]
    gone["text"] = " ".join(excerpt + gone["text"].split()[:60])
    report, written = corpus.split()
    corpus.assert_gone(written, [gone])
    (removed,) = report.removed_duplicates
    assert removed["share"] == pytest.approx(270 / 330, abs=0.15)


def test_the_share_that_makes_a_copy_is_an_option(tmp_path: Path) -> None:
    corpus = Sides(tmp_path, words=1000)
    one, other = corpus.on["train"][0], corpus.on["test"][0]
    one["text"] = " ".join(other["text"].split()[:250] + one["text"].split()[:750])
    report, _ = corpus.split()
    assert report.removed_duplicates == []
    low = SplitOptions(shares=corpus.options.shares, duplicate_share=0.1)
    report = split(find_sources(tmp_path / "c.jsonl"), tmp_path / "low", low)
    assert [entry["id"] for entry in report.removed_duplicates] == [one["id"]]


@pytest.mark.parametrize("words", [5, 300], ids=["short", "long"])
def test_a_text_on_all_three_sides_stays_on_the_last_alone(tmp_path: Path, words: int) -> None:
    corpus = Sides(tmp_path, words=words)
    train, dev, test = (corpus.on[part][1] for part in PARTS)
    train["text"] = dev["text"] = test["text"]
    report, written = corpus.split()
    corpus.assert_gone(written, [train, dev])
    removed = {str(entry["id"]): entry["duplicate_of"] for entry in report.removed_duplicates}
    assert removed == {train["id"]: test["id"], dev["id"]: test["id"]}
    assert all(entry["share"] in (1.0, None) for entry in report.removed_duplicates)


def test_the_copy_of_a_copy_is_taken_out_too_and_its_share_is_not_made_up(tmp_path: Path) -> None:
    corpus = Sides(tmp_path, words=400)
    ends, chain, tests = corpus.on["train"][0], corpus.on["train"][7], corpus.on["test"][0]
    first, second = made_up(400, "first").split(), made_up(400, "second").split()
    ends["text"], tests["text"] = " ".join(first), " ".join(second)
    chain["text"] = " ".join(first[:350] + second[:350])  # of which both hold over half
    report, written = corpus.split()
    corpus.assert_gone(written, [ends, chain])
    share = {str(entry["id"]): entry["share"] for entry in report.removed_duplicates}
    assert share[ends["id"]] is None
    assert share[chain["id"]] == pytest.approx(350 / 400, abs=0.15)


@pytest.mark.parametrize("words", [5, 300], ids=["short", "long"])
def test_copies_on_two_sides_are_found_past_one_that_was_left_out_for_its_topic(
    tmp_path: Path, words: int
) -> None:
    corpus = Sides(tmp_path, words=words, topics=9)
    left_out, train, test = corpus.on["none"][0], corpus.on["train"][0], corpus.on["test"][0]
    left_out["text"] = train["text"] = test["text"]
    corpus.rows.remove(left_out)
    corpus.rows.insert(0, left_out)
    report, written = corpus.split()
    corpus.assert_gone(written, [train])
    assert [entry["id"] for entry in report.removed_duplicates] == [train["id"]]


def test_a_text_under_two_names_on_one_side_stays_and_is_counted_once(tmp_path: Path) -> None:
    corpus = Sides(tmp_path, words=60)
    by_author = {row["author"]: row for row in corpus.on["train"]}
    one, two, three, four, five, six, *_ = by_author.values()
    one["text"] = two["text"] = three["text"]
    four["text"] = five["text"]
    again = next(row for row in corpus.on["train"] if row["author"] == six["author"] and row != six)
    again["text"] = six["text"]  # twice, but under one name
    report, written = corpus.split()
    corpus.assert_gone(written, [])
    assert report.duplicates_within_a_side_under_two_names == 2
    assert report.remarks() == [
        "2 texts stand there twice, under two names: their labels are in doubt; the first is "
        f"'{one['id']}'",
        "1 texts repeat another of their author and part, whole or for the most part; the first is "
        f"'{six['id']}'",
    ]


def test_what_is_written_reads_back_as_what_was_read_each_corpus_under_its_name(
    tmp_path: Path,
) -> None:
    rows = {"one": make_rows(20), "two": make_rows(20, corpus="b")}
    rows["one"][0]["text"] = '“Naïve”\u2028 — \r\n\ttab \\ "quoted" {brace} 😀\n'
    rows["two"][0] |= {"topic": "", "work": ""}
    sources = [write(tmp_path / f"{name}.jsonl", part) for name, part in rows.items()]
    split(sources, tmp_path / "out", SplitOptions(shares=(0.6, 0.2, 0.2)))
    documents = [document for part in read(tmp_path / "out").values() for document in part]
    expected = sorted([*rows["one"], *rows["two"]], key=lambda row: row["id"])
    assert as_rows(documents) == expected
    for part in PARTS:
        assert [source.name for source in find_sources(tmp_path / "out" / part)] == ["one", "two"]
        (one, _) = find_sources(tmp_path / "out" / part)
        assert {document.author[0] for document in one.documents()} == {"a"}


def test_a_corpus_with_nothing_on_a_side_has_no_file_there(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / "large.jsonl", make_rows(40)),
        write(tmp_path / "small.jsonl", make_rows(1, corpus="b")),
    ]
    report = split(sources, tmp_path / "out", SplitOptions(shares=(0.8, 0.2, 0.0)))
    files = {part: [file.name for file in (tmp_path / "out" / part).iterdir()] for part in PARTS}
    sizes = {
        part: {name: cell.documents for name, cell in cells.items()}
        for part, cells in (report.parts.items())
    }
    assert {part: sorted(names) for part, names in files.items()} == {
        part: [f"{name}.jsonl.zst" for name, size in sorted(counts.items()) if size]
        for part, counts in sizes.items()
    }
    assert sum(counts["small"] > 0 for counts in sizes.values()) == 1
    assert sizes["test"] == {"large": 0, "small": 0}


def test_a_corpus_called_pairs_is_read_back_as_documents(tmp_path: Path) -> None:
    rows = make_rows(30)
    split([write(tmp_path / "pairs.jsonl", rows)], tmp_path / "out")
    (train,) = find_sources(tmp_path / "out" / "train")
    assert train.name in ("pairs", "train")
    assert [*train.documents()] == read(tmp_path / "out")["train"]


def test_the_manifest_says_what_the_report_says(tmp_path: Path) -> None:
    source = write(tmp_path / "c.jsonl", make_rows(30, topics=3))
    report = split([source], tmp_path / "out", SplitOptions(seed=7))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest == {"schema": 1, **json.loads(json.dumps(asdict(report)))}
    assert manifest["options"]["seed"] == 7
    assert manifest["parts"]["dev"]["c"]["sha256"] == report.parts["dev"]["c"].sha256


def test_the_report_counts_what_was_written(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / "one.jsonl", make_rows(30, 5)),
        write(tmp_path / "two.jsonl", make_rows(20, 2, corpus="b")),
    ]
    report = split(sources, tmp_path / "out")
    for part in PARTS:
        for source in find_sources(tmp_path / "out" / part):
            documents = [*source.documents()]
            counts = report.parts[part][source.name]
            assert counts.documents == len(documents)
            assert counts.authors == len({document.author for document in documents})
            assert counts.words == sum(len(document.text.split()) for document in documents)
            assert counts.pairs == len(documents) // 2
            most = sum(size // 2 for size in Counter(d.author for d in documents).values())
            assert 0 < counts.same_author_pairs <= most
    columns, rows = report.table()
    assert columns[1:4] == ["train pairs", "dev pairs", "test pairs"]
    assert [row[0] for row in rows] == ["one", "two", "all"]
    for column in (1, 2, 3):
        assert rows[0][column] + rows[1][column] == rows[2][column]
    assert rows[2][5] == "/".join(
        str(sum(cell.documents for cell in report.parts[part].values())) for part in PARTS
    )


def test_too_few_authors_are_refused_and_nothing_is_left_behind(tmp_path: Path) -> None:
    source = write(tmp_path / "c.jsonl", make_rows(2))
    with pytest.raises(OptionError, match=r"2 authors are too few to give .* a share of 0\.1"):
        split([source], tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["c.jsonl"]


def test_no_documents_at_all_are_refused(tmp_path: Path) -> None:
    skipped: list[InputError] = []
    (tmp_path / "c.jsonl").write_text("", "utf-8")
    with pytest.raises(OptionError, match="0 authors are too few"):
        split(find_sources(tmp_path / "c.jsonl"), tmp_path / "out", skipped=skipped)
    assert len(skipped) == 1


def test_two_corpora_of_one_name_are_refused(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / "x" / "letters.jsonl", make_rows(20)),
        write(tmp_path / "y" / "letters.jsonl", make_rows(20, corpus="b")),
    ]
    with pytest.raises(OptionError, match="are named 'letters'"):
        split(sources, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_exists_is_refused_before_the_reading_and_left_alone(
    tmp_path: Path, kind: str
) -> None:
    source = write(tmp_path / "c.jsonl", make_rows(20))
    output = tmp_path / "out"
    mine = output
    if kind == "folder":
        output.mkdir()
        mine = output / "mine.txt"
    mine.write_text("the only copy", "utf-8")
    heard: list[float] = []
    with pytest.raises(OptionError, match="exists already"):
        split([source], output, watch=lambda *what: nullcontext(heard.append))
    assert heard == []
    assert mine.read_text("utf-8") == "the only copy"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "out"]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    split([write(tmp_path / "c.jsonl", make_rows(30))], tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "dev",
        "manifest.json",
        "test",
        "train",
    ]


def with_bad_rows(path: Path) -> Source:
    rows = [json.dumps(row) for row in make_rows(30)]
    rows[1:1] = ["{broken", json.dumps({"author": "x"}), ""]
    rows.append(json.dumps({"text": "no author", "id": "orphan"}))
    rows.append(json.dumps({"text": " \n", "author": "x"}))
    path.write_text("\n".join(rows), "utf-8")
    (source,) = find_sources(path)
    return source


def test_bad_rows_are_skipped_and_listed_with_their_lines(tmp_path: Path) -> None:
    source = with_bad_rows(tmp_path / "c.jsonl")
    skipped: list[InputError] = []
    report = split([source], tmp_path / "out", skipped=skipped)
    assert [error.line for error in skipped] == [2, 3, 94, 95]
    assert report.skipped == [str(error) for error in skipped]
    assert str(tmp_path / "c.jsonl:3") in report.skipped[1]
    written = [document for part in read(tmp_path / "out").values() for document in part]
    assert as_rows(written) == sorted(make_rows(30), key=lambda row: row["id"])


def test_without_a_list_for_them_the_first_bad_row_stops_the_split(tmp_path: Path) -> None:
    source = with_bad_rows(tmp_path / "c.jsonl")
    with pytest.raises(InputError, match=r"c\.jsonl:2: "):
        split([source], tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["c.jsonl"]


def test_every_byte_is_heard_of_twice(tmp_path: Path) -> None:
    source = write(tmp_path / "c.jsonl", make_rows(30))
    heard: list[float] = []
    split([source], tmp_path / "out", watch=lambda *what: nullcontext(heard.append))
    assert sum(heard) == 2 * source.size() > 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shares": (0.8, 0.1, 0.2)}, "add up to 1"),
        ({"shares": (1.0, 0.1, -0.1)}, r"shares\[2\] is -0.1; expected 0 to 1"),
        ({"shares": (0.5, 0.5)}, "expected 3 entries"),
        ({"shares": ()}, "expected 3 entries"),
        ({"shares": (float("nan"), 0.5, 0.5)}, r"shares\[0\] is nan; expected a finite number"),
        ({"duplicate_share": 0}, "expected above 0 to 1"),
        ({"duplicate_share": 1.5}, "expected above 0 to 1"),
        ({"seed": -1}, "expected 0 or more"),
    ],
)
def test_options_that_cannot_work_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        SplitOptions(**wrong)
