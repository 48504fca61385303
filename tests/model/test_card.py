"""What is measured after a training goes into the model's card, and stays until measured again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_calibration_file import CALIBRATION, report_of
from test_validation import made_up

from adhominem.model.calibration import CalibrationReport
from adhominem.model.card import (
    calibrated_card,
    ensemble_card,
    put_section,
)
from adhominem.model.layout import CARD


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
    put_section(model, "accuracy", accuracy="| auc |", lengths="| words |")
    put_section(model, "unseen", tables="| left out |")
    assert titles(model) == [*before[:-1], "Accuracy", "Genres not seen in training", "Limits"]
    text = (model / CARD.name).read_text("utf-8")
    assert text.startswith("# A model\n\nFor tests.")
    assert text.endswith(f"| left out |\n\n## Limits{limits}")


@pytest.mark.parametrize("first", ["accuracy", "unseen"])
def test_what_is_measured_again_takes_the_place_of_what_was(model: Path, first: str) -> None:
    for number in ("1", "2"):
        if first == "accuracy":
            put_section(model, "accuracy", accuracy=f"| auc {number} |", lengths="| words |")
            put_section(model, "unseen", tables=f"| left out {number} |")
        else:
            put_section(model, "unseen", tables=f"| left out {number} |")
            put_section(model, "accuracy", accuracy=f"| auc {number} |", lengths="| words |")
    text = (model / CARD.name).read_text("utf-8")
    assert "| auc 2 |" in text
    assert "| left out 2 |" in text
    assert " 1 |" not in text
    assert len(set(titles(model))) == len(titles(model))
    assert text.count("### By length") == 1


# Calibration


def report(number: int) -> CalibrationReport:
    measures = dict.fromkeys(("auc", "cllr", "cllr_min", "cllr_cal", "eer", "ece"), number / 8)
    return replace(report_of(number), before=measures, after={**measures, "cllr": number / 16})


@pytest.mark.parametrize("population", [None, report(2)])
@pytest.mark.parametrize("twin", [False, True])
def test_a_calibrated_card_has_the_bounds_and_the_cost_before_and_after(
    population: CalibrationReport | None, twin: bool
) -> None:
    card = ensemble_card(["one", "two"], {}, "# A model")
    made = calibrated_card(card, CALIBRATION, report(1), population, made_up(9_000), twin=twin)
    assert made.startswith("# A model")
    assert made.count("## Calibration") == made.count("## Limits") == 1
    assert "not calibrated" not in made
    assert "- -0.87 and 0.58 without a population" in made  # log10
    assert ("- -0.04 and 0.13 with a population" in made) == bool(population)
    assert "| without a population, before | 0.125 | 0.125 |" in made
    assert "| without a population, after | 0.125 | 0.062 |" in made
    assert ("| with a population, before | 0.250 | 0.250 |" in made) == bool(population)
    assert "| 1 | none |" in made
    assert ("a twin of the model" in made) == twin
    again = calibrated_card(made, CALIBRATION, report(1), population, made_up(9_000), twin=twin)
    assert again == made
