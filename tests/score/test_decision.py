"""A decision is taken beyond the margin alone, and says why."""

from __future__ import annotations

from math import nan, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.score.decision import Decision, decide, say_probability, show_probability

SAME, DIFFERENT, UNDECIDED = (
    Decision.SAME_AUTHOR,
    Decision.DIFFERENT_AUTHORS,
    Decision.UNDECIDED,
)


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.1, 0.125, 0.2, 0.3, 0.45])
def test_the_margin_belongs_to_the_undecided(delta: float) -> None:
    upper, lower = 0.5 + delta, 0.5 - delta
    assert decide(upper, delta).decision is UNDECIDED
    assert decide(lower, delta).decision is UNDECIDED
    assert decide(nextafter(upper, 1), delta).decision is SAME
    assert decide(nextafter(lower, 0), delta).decision is DIFFERENT
    assert decide(0.5, delta).decision is UNDECIDED


def test_without_a_margin_only_one_half_is_undecided() -> None:
    assert decide(0.5, 0).decision is UNDECIDED
    assert decide(nextafter(0.5, 1), 0).decision is SAME
    assert decide(nextafter(0.5, 0), 0).decision is DIFFERENT


@given(st.floats(0, 1), st.floats(0, 0.5, exclude_max=True))
def test_a_decision_is_that_of_its_definition(probability: float, delta: float) -> None:
    slow = UNDECIDED
    if probability > 0.5 + delta:
        slow = SAME
    if probability < 0.5 - delta:
        slow = DIFFERENT
    assert decide(probability, delta).decision is slow


def test_the_reason_gives_the_probability_and_the_margin() -> None:
    assert decide(0.9, 0.125).reason == "the probability of one author is 0.900, above 0.625"
    assert decide(0.1, 0.125).reason == "the probability of one author is 0.100, below 0.375"
    assert decide(0.6, 0.125).reason == (
        "the probability of one author is 0.600, within 0.5 ± 0.125"
    )


@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_obstacles_stand_in_the_way_of_any_decision_and_are_the_reason(probability: float) -> None:
    decided = decide(probability, 0.125, ("a.txt is too short", "b.txt is in another language"))
    assert decided.decision is UNDECIDED
    assert decided.reason == "a.txt is too short; b.txt is in another language"


@pytest.mark.parametrize("probability", [0.0, 1e-12, 1 - 1e-12, 1.0])
def test_no_probability_is_shown_as_certain(probability: float) -> None:
    reason = decide(probability, 0.1).reason
    assert "0.000" not in reason
    assert "1.000" not in reason
    for certain, shown, said in (
        (1 - 1e-12, "> 0.999", "more than 0.999"),
        (1e-12, "< 0.001", "less than 0.001"),
    ):
        assert (show_probability(certain), say_probability(certain)) == (shown, said)
    assert show_probability(1.0, 2) == "> 0.99"
    assert show_probability(None) == "–"
    assert show_probability(0.9985) == "0.999"
    assert show_probability(0.001) == "0.001"


@pytest.mark.parametrize("delta", [-0.1, 0.5, 1.0, nan])
def test_a_margin_that_leaves_no_room_is_refused(delta: float) -> None:
    with pytest.raises(OptionError, match=r"delta is .* expected 0 to below 0.5"):
        decide(0.9, delta)


@pytest.mark.parametrize("probability", [nan, -0.1, 1.1])
def test_what_is_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(OptionError, match=r"the probability is .*; expected 0 to 1"):
        decide(probability, 0.1)


def test_a_decision_is_its_words() -> None:
    assert [str(each) for each in Decision] == ["same author", "different authors", "undecided"]
