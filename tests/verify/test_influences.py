"""What conditions did to a number, and that the examples of the page come out right."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from conftest import SmallRun

from adhominem import load
from adhominem.arrays import AnyLevs
from adhominem.score.members import LayerMember
from adhominem.verify.sensitivity import Influence, influences
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


def factor(verifier: Verifier, first: AnyLevs, second: AnyLevs) -> float:
    return float(verifier.scorer([first], [second]).unbounded[0]) / np.log(10)


def test_the_length_is_held_against_the_usual_one(verifier: Verifier) -> None:
    """The same LEVs, but for how many tokens they are said to come from."""
    comparison = verifier.compare(MARGERY[:2], DEZ[0])
    change = influences(comparison, None)[1].change
    usual = [np.asarray(levs, np.float64) for levs in comparison.levs]
    for levs in usual:
        levs[:, -1] = np.log(650)
    expected = factor(verifier, *comparison.levs) - factor(verifier, *usual)
    assert change == pytest.approx(expected, abs=1e-5)
    assert change


def test_several_texts_are_held_against_one_against_one_on_average(verifier: Verifier) -> None:
    comparison = verifier.compare(MARGERY[:2], DEZ)
    change = influences(comparison, None)[2].change
    pairs = [
        factor(verifier, comparison.levs[0][[one]], comparison.levs[1][[other]])
        for one, other in product(range(2), range(3))
    ]
    expected = factor(verifier, *comparison.levs) - np.mean(pairs)
    assert change == pytest.approx(expected, abs=1e-5)


def test_the_genre_is_held_against_a_model_that_does_not_know_it(verifier: Verifier) -> None:
    verification, named = told(verifier, MARGERY[:1], DEZ[:1])
    assert verification.likeness is not None
    comparison = verifier.compare(MARGERY[0], DEZ[0])
    genre = max(verification.likeness.genres, key=verification.likeness.genres.__getitem__)
    without = verifier.scorer.without(genre)
    sides = [[levs] for levs in comparison.levs]
    expected = comparison.log_bayes_factor - float(without(*sides).unbounded[0])
    assert named["Genre"].change == pytest.approx(expected / np.log(10), abs=1e-6)
    assert named["Genre"].instead_of == "a model that does not know this genre"


def test_the_population_is_held_against_none(verifier: Verifier) -> None:
    others = [text[at : at + 1_200] for text in (*MARGERY, *DEZ) for at in (0, 1_200)]
    _, named = told(verifier, MARGERY[:1], DEZ[:2], others)
    comparison = verifier.compare(MARGERY[:1], DEZ[:2], verifier.population(others))
    assert comparison.used is not None
    assert named["Genre"].value == "that of the population"
    assert named["Population"].instead_of == "no population"
    expected = comparison.log_bayes_factor / np.log(10) - factor(verifier, *comparison.levs)
    assert named["Population"].change == pytest.approx(expected, abs=1e-6)
    assert named["Texts"].instead_of == "one against one, on average"


def test_a_population_of_another_genre_did_nothing(verifier: Verifier) -> None:
    others = [text[at : at + 1_200] for text in (*MARGERY, *DEZ) for at in (0, 1_200)]
    comparison = verifier.compare(MARGERY[0], DEZ[0], verifier.population(others))
    strange = replace(comparison.scored, population_misfit=np.array([True]))
    population = influences(replace(comparison, scored=strange), None)[-1]
    assert population.value == "12 texts of another genre, not used"
    assert population.change is None


def test_a_model_whose_layer_knows_neither_length_nor_genre_says_so(small_run: SmallRun) -> None:
    small = load(small_run.folder)
    assert isinstance(small.scorer.members[0], LayerMember)
    genre, length, texts, _ = influences(small.compare(MARGERY[:2], DEZ[0]), None)
    assert genre.value == "not known to the model"
    assert genre.change is length.change is None
    assert texts.change is not None


def test_the_examples_come_out_right(verifier: Verifier) -> None:
    for texts in TEXTS.values():
        for one, other in combinations(texts, 2):
            assert verifier.verify(one, other).decision == "same author"
    for one in MARGERY:
        for other in DEZ:  # mostly of another genre: then no statement without a population
            told = verifier.verify(one, other)
            if "two_genres" in [caution.code for caution in told.warnings]:
                assert (told.decision, told.log_bayes_factor) == ("undecided", 0)
            else:
                assert told.decision == "different authors"
