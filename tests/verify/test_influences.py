"""What conditions did to a number, and that the examples of the page come out right."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from adhominem import load
from adhominem.scoring.scale import USUAL_LOG_TOKENS
from adhominem.verify.influences import Influence, influences
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier
from adhominem.web.pages import EXAMPLE_TEXTS, example_text

TEXTS = {writer: [example_text(name) for name in names] for writer, names in EXAMPLE_TEXTS.items()}
MARGERY, DEZ = TEXTS.values()


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return load()


def told(
    verifier: Verifier, first: list[str], second: list[str], others: list[str] | None = None
) -> tuple[Verification, dict[str, Influence]]:
    population = verifier.population(others) if others else None
    comparison = verifier.compare(first, second, population)
    verification = verifier.judge(comparison)
    named = {one.name: one for one in influences(comparison, verification.likeness)}
    return verification, named


def test_every_condition_is_named_in_one_order(verifier: Verifier) -> None:
    _, named = told(verifier, MARGERY[:1], MARGERY[1:2])
    assert list(named) == ["Genre", "Length", "Texts", "Population"]
    assert named["Texts"].value == "1 against 1"
    assert named["Texts"].change is None  # it is what it would be held against
    assert named["Population"] == Influence(
        name="Population", value="none", instead_of="", change=None
    )
    assert named["Genre"].value.startswith("most like ")


def test_the_length_is_held_against_the_usual_one(verifier: Verifier) -> None:
    """Slowly: the design of the fusion with other lengths, weight by weight."""
    comparison = verifier.compare(MARGERY[0], MARGERY[1])
    change = influences(comparison, None)[1].change
    scale = verifier.scales.alone
    sides = [comparison.levs[0]], [comparison.levs[1]]
    scores = verifier.scorer.scores(*sides)
    here = scale.fusion(scores)[0]
    scores.conditions.log_tokens[:] = USUAL_LOG_TOKENS
    usual = scale.fusion(scores)[0]
    assert scale.calibration is not None
    assert change == pytest.approx(scale.calibration.slope * (here - usual) / np.log(10))


def test_the_population_is_held_against_none(verifier: Verifier) -> None:
    others = [text[at : at + 1_200] for text in (*MARGERY, *DEZ) for at in (0, 1_200)]
    verification, named = told(verifier, MARGERY[:1], DEZ[:2], others)
    used = verification.population is not None and named["Population"].change is not None
    if used:
        assert named["Genre"].value == "that of the population"
        assert named["Population"].instead_of == "no population"
    else:
        assert named["Population"].value.endswith("not used")
    assert named["Texts"].instead_of == "one against one"


def test_the_examples_come_out_right(verifier: Verifier) -> None:
    for texts in TEXTS.values():
        for one, other in combinations(texts, 2):
            assert verifier.verify(one, other).decision == "same author"
    for one in MARGERY:
        for other in DEZ:
            assert verifier.verify(one, other).decision == "different authors"
