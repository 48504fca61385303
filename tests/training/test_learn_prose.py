"""A model is taught what prose is like: by a call, by a command, and never the shipped one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import NgramRun, rich_rows, write_rows

from adhominem import learn_prose, load
from adhominem.cli import main
from adhominem.errors import InputError, OptionError
from adhominem.model.folder import model_hash
from adhominem.training.teach import draw_some


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
