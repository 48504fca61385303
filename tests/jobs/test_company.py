"""Whether texts may draw on companions is learnt: files of two texts an author have none."""

from __future__ import annotations

import random
from pathlib import Path
from shutil import copytree

import pytest

from adhominem import Document, load
from adhominem.jobs.calibrate import calibrate_model
from adhominem.models.folder import DEFAULT_MODEL

WORDS = [
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "that",
    "it",
    "is",
    "was",
    "for",
    "as",
    "with",
    "but",
    "not",
    "by",
    "from",
    "or",
    "so",
    "if",
    "we",
    "no",
    "on",
    "at",
    "be",
]


def texts(authors: int, of_each: int, name: str = "") -> list[Document]:
    """Authors whom anybody could tell apart: each has a few words of all that there are."""
    documents = []
    for author in range(authors):
        rng = random.Random(f"{name} {author}")
        habits = rng.sample(WORDS, 7)
        for number in range(of_each):
            sentences = [
                " ".join(rng.choices(habits, k=rng.randint(4, 9))).capitalize() + "."
                for _ in range(40)
            ]
            documents.append(
                Document(text=" ".join(sentences), author=f"{name} {author}", id=f"{number}")
            )
    return documents


@pytest.fixture(scope="module")
def folder(mixed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(copytree(mixed_folder, tmp_path_factory.mktemp("company") / "model"))


def test_a_calibration_learns_how_much_company_it_takes(folder: Path) -> None:
    # A set by two authors has too few pairs to learn from, and is no reason to stop.
    sets = {"clear": texts(40, 5, "c"), "two": texts(2, 10, "t")}
    assert calibrate_model(folder, sets).companions is not None
    verifier = load(folder)
    assert verifier.scales.least_company > 0
    several = verifier.encode(texts(12, 6, "s"))
    pairs = verifier.encode(texts(36, 2, "p"))
    assert verifier.population_of(several, companions=True).companions is not None
    assert verifier.population_of(pairs, companions=True).companions is None


def test_companions_are_not_calibrated_where_no_author_has_three_texts(folder: Path) -> None:
    assert calibrate_model(folder, {"pairs": texts(60, 2, "q")}).companions is None


def test_the_shipped_model_knows_how_much_company_it_takes() -> None:
    verifier = load(DEFAULT_MODEL)
    assert verifier.scales.companions is not None
    assert 0 < verifier.scales.least_company < 3
