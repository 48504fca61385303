"""PAN's macro-F1: its rules, against scikit-learn's F1 of the same classes."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from adhominem.errors import OptionError
from adhominem.evaluation.pan import macro_f1

NONE = "<UNK>"


def official(truth: list[str], answers: list[str]) -> float:
    """As PAN's script does it: answers that name no true author are none, which is no class."""
    authors = sorted(set(truth) - {NONE})
    named = [answer if answer in truth else NONE for answer in answers]
    return float(f1_score(truth, named, labels=authors, average="macro", zero_division=0))


@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", NONE])] * 2), min_size=1, max_size=30))
def test_it_is_the_mean_f1_over_true_authors(rows: list[tuple[str, str]]) -> None:
    truth, answers = [row[0] for row in rows], [row[1] for row in rows]
    if set(truth) == {NONE}:
        assert isnan(macro_f1(truth, answers, NONE))
    else:
        assert macro_f1(truth, answers, NONE) == pytest.approx(official(truth, answers))


def test_a_text_by_nobody_that_is_given_to_an_author_counts_against_that_author() -> None:
    assert macro_f1(["a", NONE], ["a", NONE], NONE) == 1
    assert macro_f1(["a", NONE], ["a", "a"], NONE) == pytest.approx(2 / 3)
    assert macro_f1(["a", NONE], [NONE, NONE], NONE) == 0


def test_an_answer_that_names_somebody_without_texts_counts_as_none() -> None:
    assert macro_f1(["a", "b"], ["a", "z"], NONE) == macro_f1(["a", "b"], ["a", NONE], NONE)


def test_answers_must_be_as_many_as_texts() -> None:
    with pytest.raises(OptionError, match="1 answers for 2 texts"):
        macro_f1(["a", "b"], ["a"], NONE)
