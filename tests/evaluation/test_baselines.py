"""What holds for every baseline."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from baseline_pairs import made_up_pairs, pair, presidents, truth, turned_round

from adhominem.errors import MissingExtraError, MissingFieldError, OptionError
from adhominem.evaluation.baselines import BASELINES, Predictions, distinct_texts, run_baseline
from adhominem.evaluation.pan import auc

pytest.importorskip("sklearn")
pytest.importorskip("pyppmd")

every_baseline = pytest.mark.parametrize("name", BASELINES)
TRAIN, TEST = made_up_pairs(40), made_up_pairs(30, seed="others")


def same_predictions(one: Predictions, other: Predictions) -> bool:
    factors: Any = one.log_bayes_factor, other.log_bayes_factor
    return np.array_equal(one.value, other.value) and np.array_equal(*factors)


@every_baseline
def test_presidents_who_were_not_in_training_are_told_apart(name: str) -> None:
    train, test = presidents()
    assert auc(run_baseline(name, train, test).value, truth(test)) > 0.7


@every_baseline
def test_answers_are_from_0_to_1_and_follow_the_bayes_factor_where_there_is_one(name: str) -> None:
    said = run_baseline(name, TRAIN, TEST)
    assert said.value.dtype == np.float64
    assert said.value.shape == (30,)
    assert said.value.min() >= 0
    assert said.value.max() <= 1
    if said.log_bayes_factor is not None:
        answered = said.value != 0.5
        assert answered.any()
        np.testing.assert_array_equal(
            said.value[answered] > 0.5, said.log_bayes_factor[answered] > 0
        )


@every_baseline
def test_the_order_of_a_pair_does_not_matter(name: str) -> None:
    learnt = run_baseline(name, TRAIN, TEST)
    assert same_predictions(learnt, run_baseline(name, TRAIN, turned_round(TEST)))
    learnt_again = run_baseline(name, turned_round(TRAIN), TEST)
    np.testing.assert_allclose(learnt_again.value, learnt.value)


@every_baseline
def test_an_answer_depends_neither_on_the_other_pairs_nor_on_the_truth(name: str) -> None:
    test = TEST[:6]
    expected = run_baseline(name, TRAIN, test)
    alone = [run_baseline(name, TRAIN, [pair]).value[0] for pair in test]
    np.testing.assert_allclose(expected.value, alone, rtol=1e-12)
    assert len(run_baseline(name, TRAIN, []).value) == 0
    without = [replace(pair, same_author=None) for pair in test]
    assert same_predictions(expected, run_baseline(name, TRAIN, without))
    assert same_predictions(expected, run_baseline(name, TRAIN, test, jobs=2))


@every_baseline
def test_training_pairs_without_truth_are_refused_by_name(name: str) -> None:
    train = [*TRAIN, pair("a text", "another", id="the odd one")]
    with pytest.raises(MissingFieldError, match=r"'the odd one'.*not known; expected a truth"):
        run_baseline(name, train, TEST)


@pytest.mark.parametrize(
    ("train", "counts"),
    [([], "0 of 0"), (TRAIN[:10:2], "5 of 5"), (TRAIN[1:10:2], "0 of 5")],
    ids=["none", "same author", "different authors"],
)
def test_training_pairs_of_one_kind_alone_are_refused(train: Any, counts: str) -> None:
    with pytest.raises(OptionError, match=f"{counts} training pairs are by one author; expected"):
        run_baseline("delta", train, TEST)


@pytest.mark.parametrize(
    ("name", "module", "library"),
    [
        ("naive", "sklearn.feature_extraction.text", "scikit-learn"),
        ("compression", "pyppmd", "pyppmd"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    name: str, module: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"'{library}'.*\.\[evaluate\]"):
        run_baseline(name, TRAIN, TEST)


def test_what_cannot_be_run_is_refused() -> None:
    with pytest.raises(
        OptionError, match="no baseline 'bert'; expected one of: naive, compression, delta"
    ):
        run_baseline("bert", TRAIN, TEST)
    with pytest.raises(OptionError, match="jobs is 0; expected 1 or more"):
        run_baseline("compression", TRAIN, TEST, jobs=0)


def test_the_names_can_be_listed_without_loading_anything_heavy() -> None:
    code = "import sys; from adhominem.evaluation.baselines import BASELINES; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "adhominem.evaluation.baselines" in loaded
    assert not {"sklearn", "scipy", "pyppmd", "torch"} & loaded


def test_each_text_is_taken_once_however_many_pairs_it_stands_in() -> None:
    texts, (first, second) = distinct_texts([pair("x", "y"), pair("z", "x"), pair("y", "y")])
    assert texts == ["x", "y", "z"]
    assert (first.tolist(), second.tolist()) == ([0, 2, 1], [1, 0, 1])
