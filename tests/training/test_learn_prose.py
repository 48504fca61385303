"""A model is taught what prose is like: by a call, by a command, and never the shipped one."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import NgramRun, rich_rows, write_rows
from hypothesis import given
from hypothesis import strategies as st

from adhominem import Tokenizer, learn_prose, load
from adhominem.cli import main
from adhominem.errors import InputError, OptionError
from adhominem.model.folder import model_hash
from adhominem.training.teach import draw_some, excerpt, fit_prose, laid_out, wrapped


@pytest.fixture
def model(ngram_run: NgramRun, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ngram_run.folder, tmp_path / "model"))


@pytest.fixture
def corpora(tmp_path: Path) -> list[Path]:
    return [
        write_rows(tmp_path / f"{name}.jsonl", rich_rows(name, 6, 4, "-prose-"))
        for name in ("letters", "notes")
    ]


def test_a_model_that_was_taught_tells_what_is_foreign(model: Path, corpora: list[Path]) -> None:
    before = model_hash(model)
    learnt = learn_prose(model, corpora, texts=20)
    assert learnt.texts == {"letters": 20, "notes": 20}
    assert set(learnt.foreign) == {"letters", "notes"}
    assert max(learnt.foreign.values()) < 0.1
    assert model_hash(model) != before
    verifier = load(model)
    assert verifier.prose is not None
    assert verifier.prose.limit == learnt.limit
    known = rich_rows("letters", 2, 2, "-new-")
    figures = "\n".join(f"{at} | {at * 7} | {at * 13}.5 |" for at in range(60))
    result = verifier.verify(figures, known[0]["text"])
    assert [caution.code for caution in result.warnings if caution.blocks_decision] == ["foreign"]


def test_the_command_does_the_same(model: Path, corpora: list[Path]) -> None:
    names = [str(path) for path in corpora]
    result = CliRunner().invoke(main, ["prose", str(model), *names, "--texts", "10", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["texts"] == {"letters": 10, "notes": 10}
    assert told["skipped"] == []
    shown = CliRunner().invoke(main, ["prose", str(model), *names, "--texts", "10"])
    assert "letters" in shown.stdout


def test_the_shipped_model_is_not_taught_anew(corpora: list[Path]) -> None:
    with pytest.raises(OptionError, match="copy it first"):
        learn_prose("general-en", corpora)


def test_a_corpus_without_a_text_is_named(model: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"author": "a", "text": 7}\n', "utf-8")
    with pytest.raises(InputError, match=r"empty\.jsonl"):
        learn_prose(model, [empty], skipped=[])
    assert not (model / "prose.json").exists()


def test_texts_are_drawn_alike_from_the_whole_of_a_stream() -> None:
    texts = [str(at) for at in range(1_000)]
    drawn = draw_some(texts, 100)
    assert len(set(drawn)) == 100
    assert 350 < sum(map(int, drawn)) / 100 < 650
    assert draw_some(texts, 100) == drawn
    assert draw_some(texts[:5], 100) == texts[:5]


# Training texts in several layouts

WORDS = st.lists(st.text("abc.", min_size=1, max_size=9), max_size=60)


@given(WORDS, st.integers(10, 40))
def test_a_wrapped_text_has_the_same_words_in_lines_that_fit(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), width, 0.0, random.Random(0)).split("\n")
    assert " ".join(lines).split() == words
    assert all(len(line) <= width for line in lines)


@given(WORDS, st.integers(1, 30), st.integers(0, 9))
def test_an_excerpt_is_a_row_of_words_of_the_text(words: list[str], count: int, seed: int) -> None:
    text = "\n".join(words)
    part = excerpt(text, count, random.Random(seed))
    assert part in text
    assert len(part.split()) == min(count, len(words))


def test_layouts_change_nothing_but_line_ends() -> None:
    text = "one two three four five six seven eight nine ten " * 20
    chance = random.Random(0)
    layouts = {laid_out(text, chance) for _ in range(20)}
    assert len(layouts) > 5
    assert {" ".join(layout.split()) for layout in layouts} == {" ".join(text.split())}


def test_the_same_texts_teach_the_same() -> None:
    genres = {
        "letters": [
            f"I wrote to my brother on day {day}, and he has not answered me. " * 9
            for day in range(30)
        ],
        "notes": [
            f"the meeting of day {day} went well, and we shall meet again. " * 9
            for day in range(30)
        ],
    }
    tokenizer = Tokenizer()
    (first, _), (second, _) = fit_prose(genres, tokenizer), fit_prose(genres, tokenizer)
    assert first == second
    assert first.genres == ("letters", "notes")
    code = "7; 8; 9; {x} = 12 | 13\n" * 30
    (departure,) = first.departures([code], [tokenizer.tokens(code)])
    assert departure.atypicality > 1
