"""Every question answers for a model of two languages, as the commands ask it."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import OF_LANGUAGE, language_rows, write_rows

from adhominem import Document, learn_prose, load
from adhominem.cli import main

GENRE = {"de": "briefe", "fr": "lettres"}
GREEK = "Ο γέρος καθόταν στην πόρτα του σπιτιού του και κοίταζε τη θάλασσα. Τι σκεφτόταν; " * 12


def rows(language: str, authors: int, documents: int) -> list[dict[str, str]]:
    return language_rows(language, GENRE[language], authors, documents, "-asked-")


def ask(*arguments: object) -> Any:
    done = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def texts(tmp_path: Path, language: str) -> Path:
    """Three texts by each of six authors, in a folder."""
    for row in rows(language, 6, 3):
        place = tmp_path / "texts" / row["author"]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{row['id'].rpartition('/')[2]}.txt").write_text(row["text"], "utf-8")
    return tmp_path / "texts"


both = pytest.mark.parametrize("language", GENRE)


@both
def test_rank(texts: Path, language: str, languages_folder: Path) -> None:
    author, *others = sorted(texts.iterdir())
    disputed = author / "0.txt"
    disputed.rename(texts.parent / "disputed.txt")
    told = ask("rank", texts.parent / "disputed.txt", texts, "--model", languages_folder)
    assert len(told["cases"][0]["candidates"]) == 1 + len(others)


@both
def test_cluster_and_map(texts: Path, language: str, languages_folder: Path) -> None:
    told = ask("cluster", texts, "--model", languages_folder)
    assert len(told["texts"]) == 18
    page = texts.parent / "map.html"
    assert len(ask("map", texts, "-o", page, "--model", languages_folder)["documents"]) == 18


@both
def test_contrast_counts_the_n_grams_of_the_language(
    texts: Path, language: str, languages_folder: Path
) -> None:
    first, second, *_ = sorted(texts.iterdir())
    told = ask("contrast", first, second, "--model", languages_folder, "--slice", "50")
    shown = json.dumps(told, ensure_ascii=False)
    assert any(f'"{word}"' in shown for word in OF_LANGUAGE[language][0].split())


@both
def test_roll(texts: Path, language: str, languages_folder: Path, tmp_path: Path) -> None:
    first, second, *_ = sorted(texts.iterdir())
    whole = " ".join(row["text"] for row in rows(language, 1, 9)[3:])
    (tmp_path / "whole.txt").write_text(whole, "utf-8")
    candidates = ["--against", first, "--against", second, "--words", "100", "--step", "50"]
    told = ask("roll", tmp_path / "whole.txt", *candidates, "--model", languages_folder)
    assert len(told["windows"]) > 1


@both
def test_an_index_finds_the_author(
    texts: Path, language: str, languages_folder: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    ask("index", texts, "-o", index, "--model", languages_folder)
    sought = sorted(texts.rglob("*.txt"))[0]
    told = ask("search", sought, "--index", index, "--model", languages_folder)
    assert told["searched"][0]["hits"]


# What prose is


@pytest.fixture(scope="module")
def taught(languages_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prose")
    copy = Path(copytree(languages_folder, folder / "both"))
    corpora = [
        write_rows(folder / f"{code}-{GENRE[code]}.jsonl", rows(code, 8, 4)) for code in GENRE
    ]
    learnt = learn_prose(copy, corpora, texts=32)
    assert max(learnt.foreign.values()) < 0.1
    return copy


def test_a_language_that_was_not_taught_may_be_prose_but_figures_are_not(taught: Path) -> None:
    verifier = load(taught)
    assert verifier.prose is not None
    assert verifier.prose.lexicon.common_words == ()
    figures = "\n".join(f"{at} | {at * 7} | {at * 13}.5 |" for at in range(60))
    texts = [row["text"] for code in GENRE for row in rows(code, 2, 1)] + [GREEK, figures]
    departures = verifier.departures(
        [Document(text=text) for text in texts], [verifier.tokens(text) for text in texts]
    )
    told = [departure is not None and departure.atypicality > 1 for departure in departures]
    assert told[:-2] == [False] * 4
    assert told[-1]
    greek = departures[-2]
    assert greek is not None
    assert greek.rate not in ("common_words", "odd_spelling", "other_letters")
