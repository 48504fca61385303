"""What a Bayes factor is called: the rung of the unrounded number, the same on both sides."""

from __future__ import annotations

import json
import os
from math import inf, nan, nextafter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.score.decision import DIFFERENT, NONE, SAME, VerbalScale

SCALE = VerbalScale()
WORDS = [words for _, words in SCALE.rungs]


def test_a_rung_is_a_decade_wide_and_the_last_has_no_end() -> None:
    assert [start for start, _ in SCALE.rungs] == [0, 0.3, 1, 2, 3, 4, 5]
    assert [SCALE.words(decade + 0.5) for decade in range(6)] == WORDS[1:]
    assert SCALE.words(300.0) == WORDS[-1]
    assert len(set(WORDS)) == len(WORDS)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("decade", [1, 2, 3, 4, 5])
def test_the_rung_is_that_of_the_unrounded_number(decade: int, sign: int) -> None:
    just_below = nextafter(decade, 0)
    assert f"{just_below:.2f}" == f"{decade:.2f}"
    assert SCALE.words(sign * just_below) == WORDS[decade]
    assert SCALE.words(sign * float(decade)) == WORDS[decade + 1]


def test_almost_a_decade_is_still_weak_and_a_decade_is_moderate() -> None:
    for sign in (1, -1):
        assert SCALE.words(sign * 0.9999) == "weak support"
        assert SCALE.words(sign * 1.0) == "moderate support"


@given(st.floats(0.3, 400) | st.floats(-400, -0.3))
def test_the_two_sides_mirror_each_other(log10_bayes_factor: float) -> None:
    assert SCALE.words(log10_bayes_factor) == SCALE.words(-log10_bayes_factor)
    for_same, for_different = (
        SCALE.sentence(abs(log10_bayes_factor)),
        SCALE.sentence(-abs(log10_bayes_factor)),
    )
    assert for_same.index(SAME) < for_same.index(DIFFERENT)
    assert for_different.index(DIFFERENT) < for_different.index(SAME)
    assert SCALE.words(log10_bayes_factor) in for_same


@given(st.floats(-400, 400), st.floats(-400, 400))
def test_stronger_evidence_never_gets_weaker_words(one: float, other: float) -> None:
    weaker, stronger = sorted((one, other), key=abs)
    assert WORDS.index(SCALE.words(weaker)) <= WORDS.index(SCALE.words(stronger))


@given(st.floats(-400, 400))
def test_a_sentence_weighs_two_propositions_and_is_no_verdict(log10_bayes_factor: float) -> None:
    sentence = SCALE.sentence(log10_bayes_factor)
    assert sentence.startswith("The texts ")
    assert sentence.count("proposition") >= 1
    assert " over the " in sentence
    lower = sentence.lower()
    for verdict in ("probab", "likely", "certain", "percent", "%", "odds", "chance", "guilty"):
        assert verdict not in lower
    assert not any(character.isdigit() for character in sentence)


def test_next_to_no_evidence_supports_neither_side() -> None:
    neither = "The texts give no support to speak of for either proposition over the other."
    for nothing in (0.0, -0.0, 0.01, -0.29):
        assert SCALE.sentence(nothing) == neither
    own = VerbalScale(((0.0, "a hint"),))
    assert own.sentence(0.0) == neither
    assert own.sentence(0.01).startswith("The texts give a hint for the proposition that one")


@pytest.mark.parametrize("number", [inf, -inf, nan])
def test_what_is_no_number_has_no_words(number: float) -> None:
    for say in (SCALE.words, SCALE.sentence):
        with pytest.raises(OptionError, match="expected a number"):
            say(number)


def write(path: Path, rows: object) -> Path:
    path.write_text(rows if isinstance(rows, str) else json.dumps(rows), "utf-8")
    return path


def test_a_scale_of_ones_own_is_read_from_json(tmp_path: Path) -> None:
    own = VerbalScale.read(write(tmp_path / "scale.json", [[0, "hardly any"], [2.5, "größte"]]))
    assert own.rungs == ((0, "hardly any"), (2.5, "größte"))
    assert own.words(-2.4999) == "hardly any"
    assert own.words(-2.5) == "größte"
    assert "give größte for the proposition" in own.sentence(3)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[1, "moderate support"]],
        [[0, "weak"], [2, "strong"], [1, "moderate"]],
        [[0, "weak"], [1, "moderate"], [1, "more than moderate"]],
        "[[0, 'weak']]",
        '[[0, "weak"], [NaN, "strong"]]',
        '[[0, "weak"], [Infinity, "strong"]]',
        [[0, "weak"], ["1", "moderate"]],
        ["0w", "1m"],
        [[0, "weak", "support"]],
        [[0, ""]],
        [[0, None]],
        [[0, 5]],
        {"0": "weak"},
        0,
        "",
    ],
    ids=str,
)
def test_what_is_no_scale_is_refused_and_the_file_is_named(tmp_path: Path, rows: object) -> None:
    path = write(tmp_path / "scale.json", rows)
    with pytest.raises(OptionError, match="is not a verbal scale") as caught:
        VerbalScale.read(path)
    assert str(caught.value).startswith(str(path))
    assert 'expected a JSON list like [[0, "weak support"]' in str(caught.value)


def test_a_scale_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"nowhere\.json is not a verbal scale"):
        VerbalScale.read(tmp_path / "nowhere.json")


def test_a_scale_of_anybody_is_read_or_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "scale.json"
    deep = "[" * 100_000
    for text in (
        deep,
        '[[0, "a"], [1e999, "b"]]',
        '[[false, "a"]]',
        f'[[0, "a"], [{10**400}, "b"]]',
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(OptionError, match="is not a verbal scale"):
            VerbalScale.read(path)
    path.unlink()
    os.mkfifo(path)  # nobody will ever write to it
    with pytest.raises(OptionError, match="is not a verbal scale"):
        VerbalScale.read(path)


@pytest.mark.parametrize(
    ("lower", "upper", "reach"),
    [
        (-1.3, 2.1, "at most moderately strong support for one author, and at most moderate "
         "support for different authors"),
        (-0.2, 0.4, f"at most weak support for one author, and {NONE} for different authors"),
        (-1.5, 1.5, "at most moderate support for either proposition"),
        (-0.1, 0.0, f"{NONE} for either proposition"),
    ],
)  # fmt: skip
def test_what_can_be_said_at_most_is_told_by_the_bounds(
    lower: float, upper: float, reach: str
) -> None:
    assert VerbalScale().reach(lower, upper) == reach
