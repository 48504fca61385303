"""Texts by machines are told from those by people, with few false alarms in unknown genres."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.score.prose import SHORTEST, MachineLook, _regression

SIZE = 6


def made_up(seed: int, genres: int = 6, texts: int = 200) -> tuple[list, dict]:
    """Genres differ in three directions; machines from all of them in another one."""
    random = np.random.default_rng(seed)
    direction = np.eye(SIZE)[-1]
    people = {
        f"genre{at}": np.concatenate([random.normal(size=3), np.zeros(3)])
        + random.normal(size=(texts, SIZE))
        for at in range(genres)
    }
    machines = [4 * direction + random.normal(size=(texts, SIZE)) for _ in range(2)]
    return machines, people


def slow_gradient(machines: list, people: list, weights: np.ndarray, constant: float) -> float:
    """Of the penalised likelihood, text by text, at its largest."""
    rows = [(lev, at < len(machines), group) for at, group in enumerate([*machines, *people])
            for lev in group]  # fmt: skip
    total = len(rows)
    shares = {True: len(machines), False: len(people)}
    counts = [total / 2 / shares[is_machine] / len(group) for _, is_machine, group in rows]
    levs = np.array([lev for lev, _, _ in rows])
    mean = np.average(levs, axis=0, weights=counts)
    scale = 1 / np.sqrt(np.average((levs - mean) ** 2, axis=0, weights=counts)).mean()
    gradient = np.append(-weights / scale, 0.0)
    for (lev, is_machine, _), count in zip(rows, counts, strict=True):
        probability = 1 / (1 + np.exp(-(lev @ weights + constant)))
        gradient += count * (is_machine - probability) * np.append(lev * scale, 1.0)
    return float(np.abs(gradient).max()) / total


def test_machines_are_told_and_people_hardly_ever() -> None:
    machines, people = made_up(0)
    look, alarms = MachineLook.fit(machines, people)
    assert max(alarms.values()) <= 0.02
    long = np.full(200, np.log(SHORTEST))
    new_machines, new_people = made_up(1)
    assert min(look.beyond(levs, long).mean() for levs in new_machines) > 0.5
    assert max(look.beyond(levs, long).mean() for levs in new_people.values()) < 0.05


def test_of_short_texts_nothing_is_said() -> None:
    machines, people = made_up(0)
    look, _ = MachineLook.fit(machines, people)
    levs = machines[0]
    assert not look.beyond(levs, np.full(len(levs), np.log(SHORTEST - 1))).any()


def test_the_regression_is_at_its_maximum() -> None:
    machines, people = made_up(2, genres=3, texts=40)
    groups = list(people.values())
    weights, constant = _regression(machines, groups)
    assert slow_gradient(machines, groups, weights, constant) < 1e-6


def test_classes_that_part_cleanly_give_finite_weights() -> None:
    machines = [np.full((5, SIZE), 100.0)]
    look, _ = MachineLook.fit(machines, {"a": np.zeros((5, SIZE)), "b": np.zeros((3, SIZE))})
    assert np.isfinite(look.weights).all()
    assert look.scores(machines[0]).min() > 0 > look.scores(np.zeros((1, SIZE)))[0]


@settings(max_examples=20, deadline=None)
@given(st.floats(0.01, 100), st.integers(0, 5))
def test_the_scale_of_levs_does_not_matter(scale: float, seed: int) -> None:
    machines, people = made_up(seed, genres=3, texts=30)
    look, alarms = MachineLook.fit(machines, people)
    other, others = MachineLook.fit(
        [scale * levs for levs in machines], {name: scale * levs for name, levs in people.items()}
    )
    np.testing.assert_allclose(
        other.scores(scale * machines[0]), look.scores(machines[0]), rtol=1e-4, atol=1e-4
    )
    assert others == alarms


def test_both_kinds_are_needed() -> None:
    machines, people = made_up(0)
    for given_machines, given_people in (([], people), (machines, {})):
        with pytest.raises(OptionError, match="at least one of each"):
            MachineLook.fit(given_machines, given_people)
