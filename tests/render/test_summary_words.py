"""What is said of a number and a prior: the two never seem to contradict each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from adhominem.render.summary import against_prior, headline, shift
from adhominem.score.decision import probability_same_author


def answer(log10: float, prior: float, *, states: bool = True) -> Any:
    after = float(probability_same_author(log10 * 2.302585092994046, prior))
    return SimpleNamespace(
        log10_bayes_factor=log10,
        prior_same_author=prior,
        probability_same_author=after,
        states=states,
    )


@pytest.mark.parametrize(
    ("log10", "words"),
    [
        (1.08, "Moderate support for one author"),
        (-0.5, "Weak support for different authors"),
        (0.1, "No support to speak of, either way"),
    ],
)
def test_the_headline_says_how_strong_and_for_which_side(log10: float, words: str) -> None:
    assert headline(answer(log10, 0.5)) == words
    assert headline(answer(log10, 0.5, states=False)) == "No statement is made"


def test_the_shift_goes_the_way_of_the_evidence() -> None:
    assert (
        shift(answer(0.5, 0.1))
        == "The texts raise the probability of one author from 0.1 to 0.260."
    )
    assert "lower the probability" in shift(answer(-0.5, 0.9))
    assert shift(answer(0.0, 0.3)) == "The texts leave the probability of one author at 0.3."


def test_a_prior_that_outweighs_the_evidence_is_named() -> None:
    said = against_prior(answer(0.5, 0.1))
    assert "point to one author, but different authors remain more probable" in said
    assert "9 to 1 against one author and the evidence is only about 3.2 times" in said
    assert "in favour of one author" in against_prior(answer(-0.5, 0.9))
    for agrees in (answer(2.0, 0.1), answer(0.5, 0.5), answer(-1.0, 0.2), answer(0.0, 0.1)):
        assert against_prior(agrees) == ""
    assert against_prior(answer(0.5, 0.1, states=False)) == ""
