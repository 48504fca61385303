"""What holds for every baseline."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from baseline_pairs import made_up_pairs, pair, presidents, truth, turned_round

from adhominem.errors import MissingExtraError, MissingFieldError, OptionError
from adhominem.evaluation.baselines import (
    BASELINES,
    Baseline,
    Predictions,
    baseline,
    distinct_texts,
    run_baseline,
)
from adhominem.evaluation.pan import auc

pytest.importorskip("sklearn")
pytest.importorskip("pyppmd")

every_baseline = pytest.mark.parametrize("make", [*map(baseline, BASELINES)], ids=BASELINES)
Make = Callable[..., Baseline]


def same_predictions(one: Predictions, other: Predictions) -> bool:
    if one.log_bayes_factor is None or other.log_bayes_factor is None:
        return one.log_bayes_factor is other.log_bayes_factor and np.array_equal(
            one.value, other.value
        )
    return np.array_equal(one.value, other.value) and np.array_equal(
        one.log_bayes_factor, other.log_bayes_factor
    )


@every_baseline
def test_presidents_who_were_not_in_training_are_told_apart(make: Make) -> None:
    train, test = presidents()
    said = make().fit(train).predict(test)
    assert auc(said.value, truth(test)) > 0.7


@every_baseline
def test_answers_are_from_0_to_1_and_follow_the_bayes_factor_where_there_is_one(make: Make) -> None:
    said = make().fit(made_up_pairs(40)).predict(made_up_pairs(30, seed="others"))
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
def test_the_order_of_a_pair_does_not_matter(make: Make) -> None:
    train, test = made_up_pairs(40), made_up_pairs(30, seed="others")
    learnt = make().fit(train)
    assert same_predictions(learnt.predict(test), learnt.predict(turned_round(test)))
    learnt_again = make().fit(turned_round(train))
    np.testing.assert_allclose(learnt_again.predict(test).value, learnt.predict(test).value)


@every_baseline
def test_the_same_pairs_give_the_same_answers(make: Make) -> None:
    train, test = made_up_pairs(40), made_up_pairs(30, seed="others")
    assert same_predictions(make().fit(train).predict(test), make().fit(train).predict(test))


@every_baseline
def test_an_answer_does_not_depend_on_the_other_pairs(make: Make) -> None:
    learnt = make().fit(made_up_pairs(40))
    test = made_up_pairs(6, seed="others")
    alone = [learnt.predict([pair]).value[0] for pair in test]
    np.testing.assert_allclose(learnt.predict(test).value, alone, rtol=1e-12)
    assert len(learnt.predict([]).value) == 0


@every_baseline
def test_the_truth_of_test_pairs_is_not_looked_at(make: Make) -> None:
    learnt = make().fit(made_up_pairs(40))
    test = made_up_pairs(10, seed="others")
    without = [replace(pair, same_author=None) for pair in test]
    assert same_predictions(learnt.predict(test), learnt.predict(without))


@every_baseline
def test_learning_again_forgets_what_was_learnt_before(make: Make) -> None:
    train, test = made_up_pairs(40), made_up_pairs(10, seed="others")
    twice = make().fit(made_up_pairs(30, seed="before")).fit(train)
    assert same_predictions(twice.predict(test), make().fit(train).predict(test))


@every_baseline
def test_training_pairs_without_truth_are_refused_by_name(make: Make) -> None:
    train = [*made_up_pairs(10), pair("a text", "another", id="the odd one")]
    with pytest.raises(MissingFieldError, match=r"'the odd one'.*not known; expected a truth"):
        make().fit(train)


@every_baseline
@pytest.mark.parametrize(
    ("train", "counts"),
    [
        ([], "0 of 0"),
        (made_up_pairs(10)[::2], "5 of 5"),
        (made_up_pairs(10)[1::2], "0 of 5"),
    ],
    ids=["none", "same author", "different authors"],
)
def test_training_pairs_of_one_kind_alone_are_refused(make: Make, train: Any, counts: str) -> None:
    with pytest.raises(OptionError, match=f"{counts} training pairs are by one author; expected"):
        make().fit(train)


@every_baseline
def test_nothing_is_answered_before_anything_is_learnt(make: Make) -> None:
    with pytest.raises(OptionError, match="call fit before predict"):
        make().predict(made_up_pairs(2))


@pytest.mark.parametrize(
    ("name", "option", "value", "expected"),
    [
        ("naive", "features", 0, "1 or more"),
        ("naive", "ngram_size", 0, "1 or more"),
        ("delta", "words", 0, "1 or more"),
        ("compression", "jobs", 0, "1 or more"),
        ("compression", "order", 1, "2 to 64"),
        ("compression", "order", 65, "2 to 64"),
    ],
)
def test_options_that_cannot_work_are_refused(
    name: str, option: str, value: int, expected: str
) -> None:
    with pytest.raises(OptionError, match=f"{option} is {value}; expected {expected}"):
        baseline(name)(**{option: value})


@pytest.mark.parametrize(
    ("name", "module", "library"),
    [
        ("naive", "sklearn.feature_extraction.text", "scikit-learn"),
        ("delta", "sklearn.linear_model", "scikit-learn"),
        ("compression", "sklearn.linear_model", "scikit-learn"),
        ("compression", "pyppmd", "pyppmd"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    name: str, module: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"'{library}'.*\.\[evaluate\]"):
        baseline(name)().fit(made_up_pairs(4))


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_runs_by_its_name_with_any_number_of_processes(name: str) -> None:
    train, test = made_up_pairs(20), made_up_pairs(10, seed="others")
    expected = baseline(name)().fit(train).predict(test)
    assert same_predictions(run_baseline(name, train, test), expected)
    assert same_predictions(run_baseline(name, train, test, jobs=2), expected)


def test_a_name_that_no_baseline_has_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        OptionError, match="no baseline 'bert'; expected one of: naive, compression, delta"
    ):
        baseline("bert")


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


@pytest.mark.parametrize(
    ("value", "log_bayes_factor"),
    [
        ([0.2, 1.1], None),
        ([-0.1], None),
        ([float("nan")], None),
        ([[0.5]], None),
        ([0.2, 0.3], [1.0]),
    ],
)
def test_predictions_that_are_no_answers_cannot_be_made(value: Any, log_bayes_factor: Any) -> None:
    factors = None if log_bayes_factor is None else np.array(log_bayes_factor)
    with pytest.raises(ValueError, match="value"):
        Predictions(value=np.array(value), log_bayes_factor=factors)
