"""A relevant population from files of any layout: every text once, or some of them by chance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from conftest import NgramRun, rich_rows, write_rows

from adhominem import Document, load
from adhominem.arrays import Levs
from adhominem.errors import BrokenLineError, EmptyTextError, InputError, NotFoundError, OptionError
from adhominem.jobs import run as module
from adhominem.jobs import workers
from adhominem.jobs.run import read_population
from adhominem.jobs.workers import encoder
from adhominem.score.population import PopulationText

ROWS = rich_rows("letters", 4, 3, "-population-")
TEXTS = [row["text"] for row in ROWS]


class Numbered:
    """In the place of an encoder: a text that is a number is encoded as that number."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, documents: Sequence[Document]) -> Iterator[Levs | EmptyTextError]:
        self.batches.append([document.text for document in documents])
        for document in documents:
            if document.text.isdigit():
                yield Levs((np.array([[float(document.text), 1]], np.float32),))
            else:
                yield EmptyTextError(f"the text '{document.id}' has no word in it")


def numbers(path: Path, count: int) -> Path:
    return write_rows(path, [{"text": str(number)} for number in range(count)])


# Layouts


def write_layout(layout: str, folder: Path) -> Path:
    folder.mkdir()
    if layout == "a table":
        return write_rows(folder / "texts.jsonl", [{"text": text} for text in TEXTS])
    if layout == "tables":
        write_rows(folder / "one.jsonl", [{"text": text} for text in TEXTS[:7]])
        write_rows(folder / "two.jsonl", [{"text": text} for text in TEXTS[7:]])
    elif layout == "files":
        for number, text in enumerate(TEXTS):
            (folder / f"letter {number}.txt").write_text(text, "utf-8")
    elif layout == "author folders":
        for row in ROWS:
            path = folder / f"{row['id']}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(row["text"], "utf-8")
    elif layout == "pairs":  # in which all texts stand twice, and nobody knows who wrote them
        pairs = [
            {"id": str(at), "fandoms": ["", ""], "pair": [TEXTS[at - 1], TEXTS[at]]}
            for at in range(12)
        ]
        lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
        (folder / "pairs.jsonl").write_text(lines, "utf-8")
    return folder


@pytest.mark.parametrize("layout", ["a table", "tables", "files", "author folders", "pairs"])
def test_whatever_the_layout_the_mean_is_that_of_every_text_once(
    layout: str, ngram_run: NgramRun, tmp_path: Path
) -> None:
    path = write_layout(layout, tmp_path / "texts")
    verifier = load(ngram_run.folder)
    told: list[int] = []
    with encoder(ngram_run.folder, verifier, 1) as encode:
        population = read_population(path, encode, on_documents=told.append)
    expected = verifier.population(TEXTS)
    assert population.texts == expected.texts == 12 == sum(told)
    np.testing.assert_allclose(population.lev_mean, expected.lev_mean, rtol=1e-6, atol=1e-9)
    by_hand = np.mean(verifier.encode(TEXTS).astype(np.float64), axis=0)
    np.testing.assert_allclose(expected.lev_mean, by_hand, rtol=1e-9)


def test_what_a_truth_beside_the_texts_lacks_is_of_the_population_all_the_same(
    tmp_path: Path,
) -> None:
    pairs = [
        {"id": str(at), "fandoms": ["", ""], "pair": [str(at), str(10 + at)]} for at in range(6)
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), "utf-8")
    truth = {"id": "3", "same": True, "authors": ["x", "x"]}
    (tmp_path / "truth.jsonl").write_text(json.dumps(truth) + "\n{ no line", "utf-8")
    for path in (tmp_path, tmp_path / "pairs.jsonl"):
        population = read_population(path, Numbered())  # without a list of what is skipped
        assert (population.texts, population.lev_mean[0]) == (12, 7.5)


def test_problems_without_a_line_in_the_truth_are_of_the_population(tmp_path: Path) -> None:
    for at in range(6):
        (folder := tmp_path / f"EN00{at}").mkdir()
        (folder / "known01.txt").write_text(str(at), "utf-8")
        (folder / "unknown.txt").write_text(str(10 + at), "utf-8")
    (tmp_path / "truth.txt").write_text("EN003 Y\n", "utf-8")
    population = read_population(tmp_path, Numbered())
    assert (population.texts, population.lev_mean[0]) == (12, 7.5)


def test_texts_are_encoded_some_at_a_time_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_BATCH", 4)
    encode = Numbered()
    population = read_population(numbers(tmp_path / "texts.jsonl", 10), encode)
    assert encode.batches == [list("0123"), list("4567"), list("89")]
    assert (population.texts, population.lev_mean.tolist()) == (10, [4.5, 1])


# What cannot be used


def test_what_cannot_be_read_or_has_no_word_is_skipped_or_raised(tmp_path: Path) -> None:
    path = numbers(tmp_path / "texts.jsonl", 6)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"text": "...", "id": "dots"}\n{"text": \n{"text": "30"}\n')
    skipped: list[InputError] = []
    population = read_population(path, Numbered(), skipped=skipped)
    assert (population.texts, population.lev_mean[0]) == (7, 45 / 7)
    assert [type(error) for error in skipped] == [BrokenLineError, EmptyTextError]
    assert (skipped[0].path, skipped[0].line) == (str(path), 8)
    with pytest.raises(BrokenLineError, match=r"texts.jsonl:8"):
        read_population(path, Numbered())
    path.write_text(path.read_text("utf-8").replace('{"text": \n', ""), "utf-8")
    with pytest.raises(EmptyTextError, match="dots"):
        read_population(path, Numbered())


def test_too_few_texts_or_no_such_place_are_errors(tmp_path: Path) -> None:
    few = numbers(tmp_path / "few.jsonl", 4)
    with pytest.raises(OptionError, match="has 4 different texts; expected 5 or more"):
        read_population(few, Numbered())
    few.write_text('{"text": "..."}\n' * 9, "utf-8")
    with pytest.raises(OptionError, match="has 0 different texts; expected 5 or more"):
        read_population(few, Numbered(), skipped=[])
    with pytest.raises(NotFoundError, match="no such file or folder"):
        read_population(tmp_path / "missing", Numbered())


# Many texts


def test_of_many_texts_so_many_are_drawn_and_the_seed_repeats_the_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_TEXTS", 10)
    path = numbers(tmp_path / "texts.jsonl", 30)

    def drawn(seed: int) -> list[str]:
        encode = Numbered()
        assert read_population(path, encode, seed=seed).texts == 10
        (texts,) = encode.batches
        assert len(set(texts)) == 10
        assert texts == sorted(texts, key=int)
        return texts

    draws = [drawn(seed) for seed in range(150)]
    assert drawn(7) == draws[7] != draws[8]
    # each text is as likely as any other, wherever it stands: 50 of 150, give or take
    counts = Counter(text for draw in draws for text in draw)
    assert len(counts) == 30
    assert 25 < min(counts.values()) < max(counts.values()) < 75
    halves = [sum(counts[str(at)] for at in half) for half in (range(15), range(15, 30))]
    assert abs(halves[0] - halves[1]) < 120


def test_a_population_lists_its_texts_by_name_hash_and_words(tmp_path: Path) -> None:
    rows = [{"text": str(number), "id": f"no. {number}"} for number in range(7)]
    path = write_rows(tmp_path / "texts.jsonl", [*rows, rows[2]])
    population = read_population(path, Numbered())
    assert population.material == tuple(
        PopulationText(name=row["id"], sha256=sha256(row["text"].encode()).hexdigest(), words=1)
        for row in rows
    )
