"""Pairs to answer, and what the answers should be, for the tests of predict."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import WORDS, SmallRun

from adhominem import Verifier, load
from adhominem.cli import main
from adhominem.questions.predict import files as module
from adhominem.score.decision import probability_same_author
from adhominem.text.pan import Pair, pair_rows

Answer = dict[str, Any]


def made_up(seed: object) -> str:
    rng = random.Random(f"{seed}")
    liked = [*rng.choices(WORDS, k=4), rng.choice([",", ";", "!"])]
    return " ".join(rng.choices(WORDS + 8 * liked, k=rng.randint(20, 60)))


TEXTS = [made_up(number) for number in range(25)]


def made_up_pairs(count: int = 40) -> list[Answer]:
    """Rows in which most texts stand several times, some with a topic."""
    rng = random.Random(0)
    return [
        {
            "id": f"pair-{number}",
            "fandoms": [rng.choice(["", "ships"]), ""],
            "pair": rng.sample(TEXTS, 2),
        }
        for number in range(count)
    ]


def write(path: Path, rows: list[Any]) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def read(path: Path) -> list[Answer]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def assert_equal(answers: list[Answer], expected: list[Answer]) -> None:
    """The same cases in the same order; sums in another order differ in the last bits."""
    assert [row["id"] for row in answers] == [row["id"] for row in expected]
    for name in ("value", "log_bayes_factor"):
        np.testing.assert_allclose(
            [row[name] for row in answers], [row[name] for row in expected], atol=1e-5
        )


@pytest.fixture(scope="module")
def model(small_run: SmallRun) -> Path:
    return small_run.folder


@pytest.fixture(scope="module")
def verifier(model: Path) -> Verifier:
    return load(model)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write(tmp_path / "pairs.jsonl", made_up_pairs())


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CASES_AT_ONCE", 3)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """How often each text, with its topic, went through the network."""
    counts: Counter[tuple[str, str]] = Counter()
    real = Verifier.encode

    def counting(self: Verifier, documents: Any, **options: Any) -> Any:
        counts.update((document.topic, document.text) for document in documents)
        return real(self, documents, **options)

    monkeypatch.setattr(Verifier, "encode", counting)
    return counts


def slow_answers(verifier: Verifier, path: Path, prior: float = 0.5) -> list[Answer]:
    """Pair by pair."""
    answers = []
    for pair in pair_rows(path):
        assert isinstance(pair, Pair)
        factor = verifier.score(verifier.encode([pair.first]), verifier.encode([pair.second]))[0]
        value = float(probability_same_author(factor, prior))
        answers.append({"id": pair.id, "value": value, "log_bayes_factor": float(factor)})
    return answers


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result
