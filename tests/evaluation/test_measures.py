"""All measures of a system: as the organisers published them, with intervals, and by part."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.evaluation import measures, pan
from adhominem.evaluation.answers import Answers, answers_from, load_systems, load_truth
from adhominem.evaluation.measures import MEASURES, Evaluation, evaluate, measure
from adhominem.evaluation.pan import auc
from adhominem.score.decision import probability_same_author

OFFICIAL = Path(__file__).parents[3] / "shared" / "pan20"

Item = tuple[int, float, bool]  # the value in 64ths, the log Bayes factor, same author

items_of_both_classes = st.lists(
    st.tuples(
        st.integers(0, 64),
        st.integers(-3, 3).map(float) | st.floats(-30, 30),
        st.booleans(),
    ),
    min_size=2,
    max_size=25,
).filter(lambda items: len({same for _, _, same in items}) == 2)


def answers_of(items: list[Item], given: bool = True) -> Answers:
    return answers_from(
        "system",
        np.array([value / 64 for value, _, _ in items]),
        np.array([factor for _, factor, _ in items]) if given else None,
        np.array([same for _, _, same in items]),
    )


def good_system(pairs: int, seed: int = 0) -> Answers:
    """True log likelihood ratios, of two bell curves."""
    same = np.arange(pairs) % 2 == 0
    factors = 2 * np.random.default_rng(seed).normal(size=pairs) + np.where(same, 2, -2)
    return answers_from("good", probability_same_author(factors), factors, same)


def width(evaluation: Evaluation, name: str) -> float:
    low, high = evaluation.intervals[name]
    return high - low


# The measures


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="PAN 2020's answers are not here")
def test_the_official_scores_of_all_ten_systems_come_out_of_their_files() -> None:
    official = json.loads((OFFICIAL / "official.json").read_text("utf-8"))
    assert len(official) == 10
    truth = load_truth(OFFICIAL / "truth.jsonl.xz")
    assert len(truth) == 14_311
    assert truth.authors is not None
    systems = load_systems(sorted((OFFICIAL / "answers").iterdir()), truth)
    assert {system.name for system in systems} == set(official)
    for system in systems:
        result = evaluate(system, authors=truth.authors, resamples=0)
        expected = official[system.name]
        assert {name: result.measures[name] for name in expected} == pytest.approx(
            expected, abs=1e-6
        ), system.name
        assert (result.pairs, result.same_author) == (14_311, int(truth.same_author.sum()))
        assert not any(math.isnan(value) for value in result.measures.values())


@given(items_of_both_classes, st.booleans())
def test_every_measure_is_that_of_its_own_function(items: list[Item], given: bool) -> None:
    answers = answers_of(items, given)
    value, factors, same = answers.value, answers.log_bayes_factor, answers.same_author
    expected, largest = measures.calibration_errors(value, same)
    cost, least = measures.cllr(factors, same), measures.cllr_min(factors, same)
    misleading = measures.misleading_shares(factors, same)
    strongly = measures.misleading_shares(factors, same, math.log(100))
    result = measure(answers)
    assert list(result) == list(MEASURES)
    assert all(type(value) is float for value in result.values())
    assert result == pytest.approx(
        {
            "auc": auc(value, same),
            "c@1": pan.c_at_1(value, same),
            "f1": pan.f1(value, same),
            "f05u": pan.f05u(value, same),
            "f05u_2020": pan.f05u_2020(value, same),
            "brier": pan.brier(value, same),
            "overall_2020": pan.overall_2020(value, same),
            "overall_2021": np.mean(
                [of(value, same) for of in (auc, pan.c_at_1, pan.f1, pan.f05u, pan.brier)]
            ),
            "accuracy": pan.accuracy(value, same),
            "non_answers": pan.non_answers(value, same),
            "cllr": cost,
            "cllr_min": least,
            "cllr_cal": cost - least,
            "eer": measures.equal_error_rate(factors, same),
            "ece": expected,
            "mce": largest,
            "misleading_same": misleading[0],
            "misleading_different": misleading[1],
            "strongly_misleading_same": strongly[0],
            "strongly_misleading_different": strongly[1],
        },
        abs=1e-12,
    )


@given(items_of_both_classes, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter_for_any_measure(
    items: list[Item], given: bool, rng: random.Random
) -> None:
    shuffled = rng.sample(items, len(items))
    result = measure(answers_of(shuffled, given))
    assert result == pytest.approx(measure(answers_of(items, given)), abs=1e-9)


@given(items_of_both_classes, st.booleans())
def test_a_system_and_its_mirror_image_are_equally_good(items: list[Item], given: bool) -> None:
    mirrored = [(64 - value, -factor, not same) for value, factor, same in items]
    result, other = measure(answers_of(items, given)), measure(answers_of(mirrored, given))
    alike = ("auc", "c@1", "brier", "accuracy", "non_answers", "cllr", "cllr_min", "eer")
    for name in alike:
        assert other[name] == pytest.approx(result[name], abs=1e-9), name
    for name in ("misleading", "strongly_misleading"):  # what misled about one, misleads of two
        assert other[f"{name}_same"] == result[f"{name}_different"]
        assert other[f"{name}_different"] == result[f"{name}_same"]


@pytest.mark.parametrize("same", [True, False])
def test_pairs_of_one_class_measure_what_needs_no_other_class(same: bool) -> None:
    answers = answers_from("x", np.array([0.1, 0.5, 0.9]), None, np.full(3, same))
    result = evaluate(answers, authors=[("a", "a"), ("a", "b"), ("b", "c")], resamples=20)
    assert list(result.measures) == list(MEASURES)
    known = {name: value for name, value in result.measures.items() if not math.isnan(value)}
    ending = "same" if same else "different"
    assert known == pytest.approx(
        {
            "c@1": (1 / 3) * (1 + 1 / 3),
            "brier": 1 - (0.81 + 0.25 + 0.01) / 3,
            "accuracy": 0.5,
            "non_answers": 1 / 3,
            f"misleading_{ending}": 1 / 3,
            f"strongly_misleading_{ending}": 0.0,
        }
    )
    assert result.intervals == {}
    assert result.resampled == ""
    assert (result.pairs, result.same_author) == (3, 3 * same)


def test_values_of_0_and_1_make_cllr_infinite_only_where_they_are_wrong() -> None:
    value, same = np.array([1.0, 0.9, 0.0, 0.2]), np.array([True, True, False, False])
    result = measure(answers_from("right", value, None, same))
    assert math.isfinite(result["cllr"])
    wrong = evaluate(answers_from("wrong", value, None, np.roll(same, 1)), resamples=50)
    assert wrong.measures["cllr"] == wrong.measures["cllr_cal"] == math.inf
    assert 0 <= wrong.measures["cllr_min"] <= 1
    assert wrong.intervals["cllr"][1] == math.inf


def test_remarks_tell_what_the_bayes_factors_are_made_of() -> None:
    value, same = np.array([1.0, 0.9, 0.0, 0.2]), np.array([True, True, False, False])
    odds = evaluate(answers_from("x", value, None, same), resamples=0).remarks
    assert len(odds) == 2
    assert "no log Bayes factors were given" in odds[0]
    assert odds[1].startswith("2 values are exactly 0 or 1")
    inside = evaluate(answers_from("x", value.clip(0.1, 0.9), None, same), resamples=0).remarks
    assert inside == odds[:1]
    assert evaluate(answers_from("x", value, value - 0.5, same), resamples=0).remarks == ()


def test_every_measure_has_a_title_and_a_meaning() -> None:
    titles = [entry.title for entry in MEASURES.values()]
    assert len(set(titles)) == len(titles)
    assert all(entry.meaning for entry in MEASURES.values())
    costs = {"cllr", "cllr_min", "cllr_cal", "eer", "ece", "mce"}
    for name, entry in MEASURES.items():
        if name == "non_answers":
            assert entry.higher_is_better is None
        else:
            assert entry.higher_is_better == (name not in costs and "misleading" not in name)


# Parts of the set


def test_parts_are_measured_as_if_they_were_the_whole() -> None:
    answers = good_system(60)
    even = np.arange(60) % 4 < 2
    groups = {"some": even, "same alone": answers.same_author, "none": np.zeros(60, dtype=bool)}
    result = evaluate(answers, groups=groups, resamples=10)
    assert list(result.groups) == ["some", "same alone"]  # none without a pair
    part = result.groups["some"]
    assert part.measures == measure(answers.of(even))
    assert (part.pairs, part.same_author) == (30, int(answers.same_author[even].sum()))
    assert part.intervals == part.groups == {}
    assert math.isnan(result.groups["same alone"].measures["auc"])
    assert result.measures == measure(answers)


# Intervals


def test_no_resamples_no_intervals() -> None:
    called: list[None] = []
    result = evaluate(good_system(20), resamples=0, on_resample=lambda: called.append(None))
    assert result.intervals == {}
    assert result.resampled == ""
    assert not called
    assert evaluate(good_system(20)).intervals  # unless asked otherwise
    with pytest.raises(OptionError, match="resamples is -1; expected 0"):
        evaluate(good_system(20), resamples=-1)


@pytest.mark.parametrize("by_author", [True, False])
def test_the_same_seed_gives_the_same_intervals_and_another_others(by_author: bool) -> None:
    answers = good_system(40)
    authors = [(str(at % 7), str(at % 7 if at % 2 == 0 else at % 5 + 9)) for at in range(40)]
    called: list[None] = []

    def intervals(seed: int) -> dict[str, tuple[float, float]]:
        result = evaluate(
            answers,
            authors=authors if by_author else None,
            resamples=60,
            seed=seed,
            on_resample=lambda: called.append(None),
        )
        assert result.resampled == ("authors" if by_author else "pairs")
        return result.intervals

    first = intervals(1)
    assert len(called) == 60
    assert intervals(1) == first
    assert intervals(2) != first


def test_every_interval_contains_its_estimate_in_a_normal_case() -> None:
    result = evaluate(good_system(1000), resamples=200)
    outside = {
        name: (low, result.measures[name], high)
        for name, (low, high) in result.intervals.items()
        if not low <= result.measures[name] <= high
    }
    assert {"auc", "c@1", "f1", "f05u", "overall_2021", "cllr"} <= set(result.intervals)
    assert outside == {}


def test_intervals_over_pairs_are_as_wide_as_theory_has_it() -> None:
    answers = good_system(800)
    result = evaluate(answers, resamples=500)
    right = result.measures["accuracy"]
    assert width(result, "accuracy") == pytest.approx(
        2 * 1.96 * math.sqrt(right * (1 - right) / 800), rel=0.15
    )
    errors = np.square(answers.value - answers.same_author)
    assert width(result, "brier") == pytest.approx(
        2 * 1.96 * errors.std() / math.sqrt(800), rel=0.15
    )


def test_intervals_over_authors_are_wider_where_all_pairs_of_an_author_fare_alike() -> None:
    """Forty authors with nine pairs each are forty cases, not 360."""
    rng = np.random.default_rng(0)
    authors, value, same = [], [], []
    for author in range(40):
        misled = rng.random() < 0.3
        for _ in range(9):
            authors.append((f"{author}", f"{author}"))
            value.append(0.2 if misled else 0.8)
            same.append(True)
        authors.append((f"{author}", f"{(author + 1) % 40}"))
        value.append(0.3)
        same.append(False)
    answers = answers_from("x", np.array(value), None, np.array(same))
    by_pairs = evaluate(answers, resamples=400)
    by_authors = evaluate(answers, authors=authors, resamples=400)
    name = "misleading_same"
    assert by_authors.measures == by_pairs.measures
    assert width(by_authors, name) == pytest.approx(3 * width(by_pairs, name), rel=0.2)
    share = by_authors.measures[name]
    theory = 2 * 1.96 * math.sqrt(share * (1 - share) / 40)
    assert width(by_authors, name) == pytest.approx(theory, rel=0.2)
    for wider in ("auc", "accuracy", "cllr", "brier"):
        assert width(by_authors, wider) > 1.5 * width(by_pairs, wider)


def drawn_counts(
    monkeypatch: pytest.MonkeyPatch,
    pairs: int,
    authors: list[tuple[str, str]] | None,
    resamples: int,
) -> np.ndarray:
    """(resamples, pairs): how often each pair was drawn."""
    seen: list[np.ndarray] = []

    def attend(answers: Answers) -> dict[str, float]:
        numbers = np.rint(answers.value * pairs).astype(int)  # the value tells which pair it is
        seen.append(np.bincount(numbers, minlength=pairs))
        return measure(answers)

    with monkeypatch.context() as patch:
        patch.setattr(measures, "measure", attend)
        same = np.arange(pairs) % 2 == 0 if authors is None else [a == b for a, b in authors]
        answers = answers_from("x", np.arange(pairs) / pairs, None, np.array(same))
        evaluate(answers, authors=authors, resamples=resamples)
    counts = np.array([batch for batch in seen if (batch != 1).any()])  # without the set itself
    assert len(seen) - len(counts) >= 1
    return counts


def test_a_pair_is_drawn_as_often_as_its_authors_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["d", "b", "a", "c", "e"]
    authors = [(name, name) for name in names]
    authors += [(one, other) for one in names for other in names if one != other]
    authors += [("a", "b"), ("c", "c")]  # more of the same are drawn along
    counts = drawn_counts(monkeypatch, len(authors), authors, 100)
    assert len(counts) > 80
    for count in counts:
        slots = [name for name, times in zip(names, count, strict=False) for _ in range(times)]
        assert len(slots) == len(names)  # as many authors as there are, some twice, some not
        for (one, other), result in zip(authors, count, strict=True):
            if one == other:
                assert result == sum(slot == one for slot in slots)
            else:
                meetings = ((a, b) for a in slots for b in slots)
                assert result == sum(meeting == (one, other) for meeting in meetings)
    assert (counts[:, : len(names)] > 1).any()
    np.testing.assert_allclose(counts[:, : len(names)].mean(axis=0), 1, atol=0.35)


def test_without_authors_as_many_pairs_are_drawn_as_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = drawn_counts(monkeypatch, 12, None, 200)
    assert (counts.sum(axis=1) == 12).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.3)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=30)
def test_the_fewest_pairs_and_authors_break_nothing(seed: int, by_author: bool) -> None:
    answers = answers_from("x", np.array([0.9, 0.2]), None, np.array([True, False]))
    authors = [("a", "a"), ("a", "b")] if by_author else None
    result = evaluate(answers, authors=authors, resamples=3, seed=seed)
    assert result.intervals
    for name, (low, high) in result.intervals.items():
        if math.isnan(low):  # none of the three had both classes
            assert math.isnan(high)
        else:  # one that had, has this pair or that more often, and else the same
            assert low <= high
            assert name != "auc" or (low, high) == (1, 1)
