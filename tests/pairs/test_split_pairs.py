"""The paper's split: dev keeps PAN's pairs, train the texts of the others, each once."""

from __future__ import annotations

import json
import random
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.pairs.split import PARTS, SplitOptions, SplitReport, shared_texts, split
from adhominem.text.readers import read_documents, read_pairs

Row = dict[str, Any]
NAME = "pan20-authorship-verification-training-small"
OPTIONS = SplitOptions(by="pairs", shares=(0.8, 0.2, 0.0))


def text_of(author: int, number: int) -> str:
    rng = random.Random(f"{author}/{number}")
    words = ["".join(rng.choices("etaoinshr", k=rng.randint(3, 8))) for _ in range(20)]
    return f"“{author}/{number}”\u2028{' '.join(words)}"


def made_up_pairs(count: int = 100) -> tuple[list[Row], list[Row]]:
    """Pairs whose texts come up in several of them, as PAN's do, and their truth."""
    rng = random.Random(count)
    pairs: list[Row] = []
    truths: list[Row] = []
    drawn: set[frozenset[tuple[int, int]]] = set()
    while len(pairs) < count:
        authors = [rng.randrange(25)] * 2 if len(pairs) % 2 else rng.sample(range(25), 2)
        works = rng.sample(range(6), 2)
        both = list(zip(authors, works, strict=True))
        if frozenset(both) in drawn:
            continue
        drawn.add(frozenset(both))
        id = f"pair-{rng.getrandbits(64):x}"
        texts, fandoms = [text_of(*one) for one in both], [f"fandom {work}" for work in works]
        pairs.append({"id": id, "fandoms": fandoms, "pair": texts})
        names = [str(author) for author in authors]
        truths.append({"id": id, "same": authors[0] == authors[1], "authors": names})
    return pairs, truths


def write(folder: Path, pairs: list[Row], truths: list[Row] | None, name: str = NAME) -> Path:
    folder.mkdir(exist_ok=True)
    for ending, rows in (("", pairs), ("-truth", truths)):
        if rows is not None:
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{name}{ending}.jsonl").write_text(lines, "utf-8")
    return folder / f"{name}.jsonl"


def rows_in(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def split_rows(
    folder: Path, pairs: list[Row], truths: list[Row] | None, **settings: Any
) -> SplitReport:
    return split([write(folder / "in", pairs, truths)], folder / "out", OPTIONS, **settings)


@pytest.mark.parametrize("shares", [(0.8, 0.2, 0.0), (0.7, 0.2, 0.1)])
def test_dev_and_test_keep_pans_pairs_in_their_order_and_train_the_other_texts(
    tmp_path: Path, shares: tuple[float, float, float]
) -> None:
    pairs, truths = made_up_pairs()
    path, options = write(tmp_path / "in", pairs, truths), SplitOptions(by="pairs", shares=shares)
    report = split([path], tmp_path / "out", options)

    def place(row: Row) -> int:
        key = blake2b(f"0/pair/{row['id']}".encode(), digest_size=16).digest()
        return sum(other < key for other in keys)

    keys = [blake2b(f"0/pair/{row['id']}".encode(), digest_size=16).digest() for row in pairs]
    ends = [round(100 * sum(shares[:at])) for at in range(4)]
    part_of = {row["id"]: sum(place(row) >= end for end in ends[1:3]) for row in pairs}
    for part in (1, 2):
        here = tmp_path / "out" / PARTS[part]
        if not shares[part]:
            assert not here.exists()
            continue
        assert rows_in(here / "pairs.jsonl") == [r for r in pairs if part_of[r["id"]] == part]
        assert rows_in(here / "truth.jsonl") == [r for r in truths if part_of[r["id"]] == part]
    held_out = {text for row in pairs if part_of[row["id"]] for text in row["pair"]}
    in_train = [row for row in pairs if not part_of[row["id"]]]
    expected = {
        (text, topic, author)
        for row, truth in zip(pairs, truths, strict=True)
        for text, topic, author in zip(row["pair"], row["fandoms"], truth["authors"], strict=True)
        if not part_of[row["id"]] and text not in held_out
    }
    assert [file.name for file in (tmp_path / "out" / "train").iterdir()] == [f"{NAME}.jsonl.zst"]
    written = list(read_documents(tmp_path / "out" / "train"))
    assert len(written) == len(expected)
    assert {(text.text, text.topic, text.author) for text in written} == expected
    assert report.totals["train"].pairs == len(in_train) == round(100 * shares[0])
    assert report.totals["train"].documents == len(expected)
    assert report.totals["dev"].pairs == round(100 * shares[1])
    assert report.totals["dev"].same_author_pairs == sum(
        truth["same"] for truth in truths if part_of[truth["id"]] == 1
    )
    lost = [row for row in in_train if set(row["pair"]) & held_out]
    assert report.train_pairs_that_lost_texts == len(lost) > 0
    assert f"{len(lost)} of the train pairs lost a text, or both, by that" in report.remarks()
    removed = [text for row in in_train for text in row["pair"] if text in held_out]
    assert len(report.removed_duplicates) == len(removed)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["options"]["by"] == "pairs"
    assert manifest["totals"]["dev"]["documents"] == report.totals["dev"].documents


def test_the_order_of_the_pairs_does_not_matter_and_the_seed_does(tmp_path: Path) -> None:
    pairs, truths = made_up_pairs()
    drawn = []
    for attempt, seed in enumerate((1, 1, 2)):
        order = random.Random(attempt).sample(range(len(pairs)), len(pairs))
        shuffled = [pairs[at] for at in order], [truths[at] for at in order]
        path, output = write(tmp_path / f"{attempt}", *shuffled), tmp_path / f"out-{attempt}"
        split([path], output, SplitOptions(by="pairs", shares=(0.8, 0.2, 0), seed=seed))
        texts = {text.text for text in read_documents(output / "train")}
        drawn.append((texts, {pair.id for pair in read_pairs(output / "dev")}))
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_a_folder_with_zenodos_names_and_a_packed_file_are_the_same_set(tmp_path: Path) -> None:
    import zstandard

    pairs, truths = made_up_pairs()
    path = write(tmp_path / "in", pairs, truths)
    (tmp_path / "packed").mkdir()
    packed = tmp_path / "packed" / f"{NAME}.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    (tmp_path / "packed" / f"{NAME}-truth.jsonl").write_bytes(
        (tmp_path / "in" / f"{NAME}-truth.jsonl").read_bytes()
    )
    reports = [
        split([source], tmp_path / f"out-{at}", OPTIONS)
        for at, source in enumerate((path, tmp_path / "in", packed))
    ]
    assert reports[0] == reports[1] == reports[2]


def test_a_text_that_differs_in_white_space_alone_is_taken_from_train(tmp_path: Path) -> None:
    pairs, truths = made_up_pairs()
    split_rows(tmp_path, pairs, truths)
    shared = rows_in(tmp_path / "out" / "dev" / "pairs.jsonl")[0]["pair"][0]
    train = next(text.text for text in read_documents(tmp_path / "out" / "train"))
    for row in pairs:
        row["pair"] = [shared.replace(" ", "\n") if t == train else t for t in row["pair"]]
    split([write(tmp_path / "again", pairs, truths)], tmp_path / "new", OPTIONS)
    texts = {" ".join(text.text.split()) for text in read_documents(tmp_path / "new" / "train")}
    assert " ".join(shared.split()) not in texts


# Bad input: named, and nothing is left behind


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        (lambda pairs, truths: truths.pop(4), (NAME, 5), "no usable line for the pair"),
        (
            lambda pairs, truths: (pairs.pop(4), pairs.pop(7)),
            (f"{NAME}-truth", 5),
            "is not among the pairs, nor are those of 1 further lines",
        ),
        (lambda pairs, truths: truths[4].pop("authors"), (NAME, 5), "has no author"),
        (
            lambda pairs, truths: pairs[4].update(id=pairs[2]["id"]),
            (NAME, 5),
            "is that of line 3, too",
        ),
        (
            lambda pairs, truths: truths[4].update(id=truths[2]["id"]),
            (f"{NAME}-truth", 5),
            "a second line for the pair",
        ),
    ],
)
def test_pairs_and_truth_that_do_not_fit_are_named_with_file_and_line(
    tmp_path: Path, change: Any, place: tuple[str, int], message: str
) -> None:
    pairs, truths = made_up_pairs()
    change(pairs, truths)
    name, line = place
    with pytest.raises(InputError, match=message) as raised:
        split_rows(tmp_path, pairs, truths)
    assert str(raised.value).startswith(f"{tmp_path / 'in' / name}.jsonl:{line}: ")
    assert [file.name for file in tmp_path.iterdir()] == ["in"]
    skipped: list[InputError] = []
    report = split_rows(tmp_path, pairs, truths, skipped=skipped)
    assert str(raised.value) in report.skipped
    assert sum(part.pairs for part in report.totals.values()) == 98 + (len(pairs) == 100)


def test_pairs_without_a_truth_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no truth is beside these pairs; expected truth"):
        split_rows(tmp_path, made_up_pairs()[0], None)
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def test_what_is_not_one_pair_set_is_refused(tmp_path: Path) -> None:
    for name in ("small", "large"):
        write(tmp_path / "two", *made_up_pairs(), name)
    with pytest.raises(OptionError, match="takes one set of PAN 2020 or 2021, not 2 corpora"):
        split([tmp_path / "two"], tmp_path / "out", OPTIONS)
    rows = [{"author": "a", "text": "One text."}]
    path = write(tmp_path / "texts", rows, None)
    with pytest.raises(OptionError, match=r"not documents\.jsonl; give its file of pairs"):
        split([path], tmp_path / "out", OPTIONS)
    with pytest.raises(OptionError, match="topic_disjoint with by=author alone"):
        SplitOptions(by="pairs", topic_disjoint=True)
    with pytest.raises(OptionError, match="is 'topics'; expected 'author' or 'pairs'"):
        SplitOptions(by="topics")
    assert not (tmp_path / "out").exists()


def test_too_few_pairs_are_refused(tmp_path: Path) -> None:
    pairs, truths = made_up_pairs(2)
    with pytest.raises(OptionError, match=r"2 pairs are too few to give dev a share of 0\.2; add"):
        split_rows(tmp_path, pairs, truths)
    pairs = [{**pairs[0], "id": str(number)} for number in range(10)]
    truths = [{**truths[0], "id": str(number)} for number in range(10)]
    with pytest.raises(OptionError, match="10 pairs are too few to give train"):
        split_rows(tmp_path, pairs, truths)  # all of one text, which is in dev
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def test_doubts_are_counted_with_the_first_of_each_sort(tmp_path: Path) -> None:
    pairs, truths = made_up_pairs()
    assert split_rows(tmp_path, pairs, truths).doubts == []
    for at in (30, 60):
        del pairs[at]["fandoms"]
    pairs[70]["pair"] = pairs[50]["pair"][::-1]
    truths[70] = {**truths[50], "id": pairs[70]["id"], "authors": truths[50]["authors"][::-1]}
    stranger = {"id": "p", "fandoms": ["a", "b"], "pair": ["A text by two.", pairs[0]["pair"][0]]}
    for author in ("x", "y"):
        pairs.append({**stranger, "id": author})
        authors = [author, truths[0]["authors"][0]]
        truths.append({"id": author, "same": False, "authors": authors})
    report = split([write(tmp_path / "in", pairs, truths)], tmp_path / "again", OPTIONS)
    assert report.doubts == [
        "1 texts stand there twice, under two names: their labels are in doubt; the first is "
        "'x/first'",
        f"2 pairs have the two texts of a pair with another id; the first is '{pairs[70]['id']}'",
        "2 pairs lack fandoms, which others have, and get no contextual prefix; the first is in "
        f"{tmp_path / 'in' / NAME}.jsonl:31",
    ]
    assert report.remarks()[-3:] == report.doubts


def test_a_set_without_any_fandoms_raises_no_doubt(tmp_path: Path) -> None:
    pairs, truths = made_up_pairs()
    for row in pairs:
        del row["fandoms"]
    assert split_rows(tmp_path, pairs, truths).doubts == []


def test_texts_that_a_test_set_shares_are_found_without_its_truth(tmp_path: Path) -> None:
    pairs, truths = made_up_pairs()
    split_rows(tmp_path, pairs, truths)
    train = next(text.text for text in read_documents(tmp_path / "out" / "train"))
    rows = [
        {"id": "t1", "pair": ["A text of the test set.", train.upper()]},
        {"id": "t2", "pair": ["Another text.", "A fourth text."]},
    ]
    path = write(tmp_path / "test", rows, None)
    assert shared_texts([tmp_path / "out" / "train"], [path]) == ["t1/second"]
    assert shared_texts([tmp_path / "out" / "train"], [tmp_path / "out" / "dev"]) == []
