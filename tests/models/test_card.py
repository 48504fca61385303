"""What is measured after a training goes into the model's card, and stays until measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from adhominem.models.card import card_with_accuracy, card_with_unseen, ensemble_card
from adhominem.models.layout import CARD


@pytest.fixture
def model(tmp_path: Path) -> Path:
    card = ensemble_card(["one", "two"], {}, "# A model\n\nFor tests.")
    (tmp_path / CARD.name).write_text(card, "utf-8")
    return tmp_path


def titles(model: Path) -> list[str]:
    text = (model / CARD.name).read_text("utf-8")
    return [line[3:] for line in text.splitlines() if line.startswith("## ")]


def test_what_is_measured_stands_before_the_limits(model: Path) -> None:
    before, limits = titles(model), (model / CARD.name).read_text("utf-8").split("## Limits")[1]
    card_with_accuracy(model, "| auc |", "| words |")
    card_with_unseen(model, "| left out |")
    assert titles(model) == [*before[:-1], "Accuracy", "Genres not seen in training", "Limits"]
    text = (model / CARD.name).read_text("utf-8")
    assert text.startswith("# A model\n\nFor tests.")
    assert text.endswith(f"| left out |\n\n## Limits{limits}")


@pytest.mark.parametrize("first", ["accuracy", "unseen"])
def test_what_is_measured_again_takes_the_place_of_what_was(model: Path, first: str) -> None:
    for number in ("1", "2"):
        if first == "accuracy":
            card_with_accuracy(model, f"| auc {number} |", "| words |")
            card_with_unseen(model, f"| left out {number} |")
        else:
            card_with_unseen(model, f"| left out {number} |")
            card_with_accuracy(model, f"| auc {number} |", "| words |")
    text = (model / CARD.name).read_text("utf-8")
    assert "| auc 2 |" in text
    assert "| left out 2 |" in text
    assert " 1 |" not in text
    assert len(set(titles(model))) == len(titles(model))
    assert text.count("### By length") == 1
