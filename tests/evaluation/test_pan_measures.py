"""PAN's measures: worked out by hand, in a loop, and as the organisers published them."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, fbeta_score

from adhominem.evaluation.pan import (
    accuracy,
    auc,
    best_delta,
    brier,
    c_at_1,
    f05u,
    f05u_2020,
    f1,
    non_answers,
    overall_2020,
)
from adhominem.score.decision import without_weak_answers

OFFICIAL = Path(__file__).parents[3] / "shared" / "pan20"

# answers, truth, c@1, F1, F0.5u of 2020, AUC
HAND_MADE = {
    "all right": ([0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0], 1, 1, 1, 1),
    "all wrong": ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0], 0, 0, 0, 0),
    # a hit, a miss, a false alarm, a right no: F1 = 2 / (2 + 1 + 1), F0.5u = 1.25 / 2.5
    "one of each": ([0.9, 0.2, 0.8, 0.1], [1, 1, 0, 0], 0.5, 0.5, 0.5, 0.75),
    # one is left open: c@1 = (3 + 1 * 3 / 4) / 4; F1 does not see it; 2020's F0.5u hits it
    "a same-author pair left open": (
        [0.9, 0.5, 0.2, 0.1],
        [1, 1, 0, 0],
        0.9375,
        1,
        1,
        1,
    ),
    # c@1 as above; the open pair counts as a false alarm in 2020: 2.5 / (2.5 + 1)
    "a different-author pair left open": (
        [0.9, 0.8, 0.5, 0.1],
        [1, 1, 0, 0],
        0.9375,
        1,
        2.5 / 3.5,
        1,
    ),
    # nothing was answered: no answer is right; in 2020 all said "same author"
    "all left open": ([0.5] * 4, [1, 1, 0, 0], 0, 0, 2.5 / 4.5, 0.5),
    "never the same author": ([0.1] * 4, [1, 1, 0, 0], 0.5, 0, 0, 0.5),
}


@pytest.mark.parametrize("name", HAND_MADE)
def test_measures_worked_out_by_hand(name: str) -> None:
    answers, truth, *expected = HAND_MADE[name]
    values, same_author = np.array(answers), np.array(truth, dtype=bool)
    result = [measure(values, same_author) for measure in (c_at_1, f1, f05u_2020, auc)]
    assert result == pytest.approx(expected)
    assert overall_2020(values, same_author) == pytest.approx(np.mean(expected))


def slow_c_at_1(answers: list[float], truth: list[bool]) -> float:
    correct, open_ = 0.0, 0.0
    for answer, same in zip(answers, truth, strict=True):
        if answer == 0.5:
            open_ += 1
        elif (answer > 0.5) == same:
            correct += 1
    return (correct + open_ * correct / len(answers)) / len(answers)


def slow_f1(answers: list[float], truth: list[bool]) -> float:
    answered = [pair for pair in zip(answers, truth, strict=True) if pair[0] != 0.5]
    hits = sum(answer > 0.5 and same for answer, same in answered)
    if not hits:
        return 0.0
    precision = hits / sum(answer > 0.5 for answer, _ in answered)
    recall = hits / sum(same for _, same in answered)
    return 2 * precision * recall / (precision + recall)


def slow_f05u_2020(answers: list[float], truth: list[bool]) -> float:
    hits = misses = false_alarms = 0
    for answer, same in zip(answers, truth, strict=True):
        said_same = answer >= 0.5  # the evaluator of 2020 made yes or no of it first
        hits += said_same and same
        misses += not said_same and same
        false_alarms += said_same and not same
    if not hits:
        return 0.0
    return 1.25 * hits / (1.25 * hits + 0.25 * misses + false_alarms)


def slow_f05u(answers: list[float], truth: list[bool]) -> float:
    """As defined: non-answers stand beside the misses, whoever wrote the texts."""
    hits = misses = false_alarms = left_open = 0
    for answer, same in zip(answers, truth, strict=True):
        if answer == 0.5:
            left_open += 1
        elif answer > 0.5 and same:
            hits += 1
        elif answer > 0.5:
            false_alarms += 1
        elif same:
            misses += 1
    if not hits:
        return 0.0
    return 1.25 * hits / (1.25 * hits + 0.25 * (misses + left_open) + false_alarms)


answered = st.sampled_from([0.0, 0.2, 0.499, 0.5, 0.501, 0.7, 1.0])
pairs = st.lists(st.tuples(answered, st.booleans()), min_size=1, max_size=20)


@given(pairs)
def test_measures_are_those_of_a_loop_over_the_pairs(items: list[tuple[float, bool]]) -> None:
    answers, truth = [answer for answer, _ in items], [same for _, same in items]
    values, same_author = np.array(answers), np.array(truth)
    assert c_at_1(values, same_author) == pytest.approx(slow_c_at_1(answers, truth))
    assert f1(values, same_author) == pytest.approx(slow_f1(answers, truth))
    assert f05u_2020(values, same_author) == pytest.approx(slow_f05u_2020(answers, truth))
    assert f05u(values, same_author) == pytest.approx(slow_f05u(answers, truth))


@given(pairs)
def test_f05u_and_accuracy_are_scikit_learns_where_every_pair_is_answered(
    items: list[tuple[float, bool]],
) -> None:
    answers = np.array([answer for answer, _ in items if answer != 0.5])
    truth = np.array([same for answer, same in items if answer != 0.5], dtype=bool)
    if len(answers):
        expected = fbeta_score(truth, answers > 0.5, beta=0.5, zero_division=0)
        assert f05u(answers, truth) == pytest.approx(expected)
        assert f05u_2020(answers, truth) == f05u(answers, truth)
        assert accuracy(answers, truth) == pytest.approx(accuracy_score(truth, answers > 0.5))
        # the non-answers are passed over
        everything = np.array([answer for answer, _ in items])
        same = np.array([same for _, same in items])
        assert accuracy(everything, same) == accuracy(answers, truth)


@given(pairs, st.data())
def test_a_non_answer_is_never_a_hit(items: list[tuple[float, bool]], data: st.DataObject) -> None:
    values = np.array([answer for answer, _ in items])
    same_author = np.array([same for _, same in items])
    left_open = values.copy()
    left_open[data.draw(st.integers(0, len(items) - 1))] = 0.5
    opened = (left_open != values) & (values > 0.5)
    if (opened & same_author).any():  # a hit was taken back
        assert f05u(left_open, same_author) < f05u(values, same_author)
    elif opened.any():  # a false alarm was
        assert f05u(left_open, same_author) >= f05u(values, same_author)
    none_said_same = np.where(values > 0.5, 0.5, values)
    assert f05u(none_said_same, same_author) == 0


@given(pairs)
def test_the_brier_complement_is_scikit_learns_and_counts_non_answers(
    items: list[tuple[float, bool]],
) -> None:
    answers, truth = [answer for answer, _ in items], [same for _, same in items]
    values, same_author = np.array(answers), np.array(truth)
    slow = 1 - sum((a - s) ** 2 for a, s in items) / len(items)
    assert brier(values, same_author) == pytest.approx(slow)
    expected = 1 - brier_score_loss(truth, answers, labels=[False, True])
    assert brier(values, same_author) == pytest.approx(expected)


# answers, truth, F0.5u, Brier complement, accuracy, non-answers
OF_2021 = {
    "all right": ([1.0, 0.0], [1, 0], 1, 1, 1, 0),
    "all wrong": ([0.0, 1.0], [1, 0], 0, 0, 0, 0),
    "all left open": ([0.5, 0.5], [1, 0], 0, 0.75, 0, 1),
    # a hit, and a same-author pair left open: 1.25 / (1.25 + 0.25)
    "a same-author pair left open": (
        [1.0, 0.5, 0.0],
        [1, 1, 0],
        1.25 / 1.5,
        1 - 0.25 / 3,
        1,
        1 / 3,
    ),
    # the same for a different-author pair: it is left open, too
    "another pair left open": ([1.0, 0.5, 0.0], [1, 0, 0], 1.25 / 1.5, 1 - 0.25 / 3, 1, 1 / 3),
    "one of each": ([0.9, 0.2, 0.8, 0.1], [1, 1, 0, 0], 0.5, 1 - 1.30 / 4, 0.5, 0),
}


@pytest.mark.parametrize("name", OF_2021)
def test_measures_of_2021_worked_out_by_hand(name: str) -> None:
    answers, truth, *expected = OF_2021[name]
    values, same_author = np.array(answers), np.array(truth, dtype=bool)
    result = [measure(values, same_author) for measure in (f05u, brier, accuracy, non_answers)]
    assert result == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 3))
@settings(max_examples=15)
def test_the_best_delta_is_that_of_trying_them_one_by_one(seed: int, skill: float) -> None:
    rng = np.random.default_rng(seed)
    same_author = np.arange(60) % 2 == 0
    log_odds = skill * np.where(same_author, 1, -1) + 2 * rng.normal(size=60)
    probability = 1 / (1 + np.exp(-log_odds))
    best, best_score = -1.0, -1.0
    for step in range(100):
        delta = 0.005 * step
        answers = [p if abs(p - 0.5) >= delta else 0.5 for p in probability]
        score = overall_2020(np.array(answers), same_author)
        if score > best_score:  # of equals, the smallest
            best, best_score = delta, score
    result = best_delta([(probability, same_author)])
    assert result == pytest.approx(best)
    answers_found = without_weak_answers(probability, result)
    assert overall_2020(answers_found, same_author) == pytest.approx(best_score)


def test_leaving_only_wrong_answers_open_is_found() -> None:
    probability = np.array([0.9, 0.8, 0.45, 0.55, 0.2, 0.1])  # the two in the middle are wrong
    same_author = np.array([True, True, True, False, False, False])
    assert best_delta([(probability, same_author)]) == pytest.approx(0.055)
    assert best_delta([(np.array([0.9, 0.55, 0.45, 0.1]), np.array([1, 1, 0, 0], bool))]) == 0


def read_lines(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="PAN 2020's answers are not here")
def test_the_official_scores_of_all_ten_systems_come_out() -> None:
    truth = {row["id"]: row["same"] for row in read_lines(OFFICIAL / "truth.jsonl.xz")}
    official = json.loads((OFFICIAL / "official.json").read_text("utf-8"))
    assert len(official) == 10
    same_author = np.array(list(truth.values()))
    measures = {
        "auc": auc,
        "c@1": c_at_1,
        "f1": f1,
        "f05u_2020": f05u_2020,
        "overall_2020": overall_2020,
    }
    for system, expected in official.items():
        rows = read_lines(OFFICIAL / "answers" / f"{system}.jsonl.xz")
        answer = {row["id"]: row["value"] for row in rows}
        answers = np.array([answer[id] for id in truth])
        result = {name: measure(answers, same_author) for name, measure in measures.items()}
        assert result == pytest.approx(expected, abs=1e-6), system
