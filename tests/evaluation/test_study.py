"""A validation study: its measures, its intervals over authors, and its file."""

from __future__ import annotations

import json
from math import log, log10
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adhominem.errors import InputError, OptionError
from adhominem.evaluation.study import (
    MEASURES,
    StudyCase,
    StudyConditions,
    StudyText,
    ValidationStudy,
    measure_cases,
    read_study,
)


def study(
    authors: int = 12, per_author: int = 4, spread: float = 1.0, **conditions: Any
) -> ValidationStudy:
    """Cases of one known text, whose Bayes factors are right more often than not."""
    rng = np.random.default_rng(0)
    texts = tuple(
        StudyText(id=f"{name}/{at}", author=f"author {name}", words=300 + at, sha256=f"{at:064x}")
        for name in range(authors)
        for at in range(per_author)
    )
    cases = []
    for at in range(len(texts)):
        after = at // per_author * per_author + (at + 1) % per_author
        for known, same in ((after, True), ((at + per_author) % len(texts), False)):
            value = float(rng.normal(0.8 if same else -0.8, spread))
            cases.append(
                StudyCase(
                    questioned=at,
                    known=(known,),
                    same_author=same,
                    population_texts=0,
                    log10_bayes_factor=value,
                )
            )
    return ValidationStudy.of(
        texts,
        tuple(cases),
        StudyConditions(**{"resamples": 100, **conditions}),
        material="letters",
        model="m",
        model_sha256="ab" * 32,
        version="1.2.3",
    )


def slow_measures(cases: list[StudyCase]) -> dict[str, float]:
    """Those that can be counted by hand."""
    same = [case.log10_bayes_factor for case in cases if case.same_author]
    different = [case.log10_bayes_factor for case in cases if not case.same_author]
    wins = [(one > other) + (one == other) / 2 for one in same for other in different]
    measures = {
        "auc": sum(wins) / len(wins),
        "cllr": sum(log(1 + 10**-value) for value in same) / len(same) / log(2) / 2
        + sum(log(1 + 10**value) for value in different) / len(different) / log(2) / 2,
        "median_same": float(np.median(same)),
        "median_different": float(np.median(different)),
    }
    for name, factor in (("", 1), ("_10", 10), ("_100", 100)):
        wrong = [value < -log10(factor) for value in same]
        measures[f"misleading_same{name}"] = sum(wrong) / len(wrong)
        wrong = [value > log10(factor) for value in different]
        measures[f"misleading_different{name}"] = sum(wrong) / len(wrong)
    return measures


def test_the_measures_are_those_that_one_counts_by_hand() -> None:
    made = study(spread=2.0)
    assert list(made.measures) == list(MEASURES)
    for name, value in slow_measures(list(made.cases)).items():
        assert made.measures[name] == pytest.approx(value), name
    assert 0 < made.measures["misleading_same_10"] < made.measures["misleading_same"]
    assert (made.authors, made.same_author, made.different_authors) == (12, 48, 48)
    assert made.measures["cllr_min"] <= made.measures["cllr"]


def test_the_intervals_are_those_of_authors_drawn_by_hand() -> None:
    made = study(authors=7, spread=2.0, resamples=150, seed=4)
    rng = np.random.default_rng(4)
    names = sorted({text.author for text in made.texts})
    drawn: dict[str, list[float]] = {}
    for _ in range(150):
        times = dict(zip(names, rng.multinomial(7, [1 / 7] * 7), strict=True))
        cases = []
        for case in made.cases:
            one, other = (made.texts[at].author for at in (case.known[0], case.questioned))
            cases += [case] * int(times[one] if one == other else times[one] * times[other])
        if len({case.same_author for case in cases}) == 2:
            for name, value in slow_measures(cases).items():
                drawn.setdefault(name, []).append(value)
    for name in set(drawn) - {name for name, value in made.measures.items() if value in (0, 1)}:
        low, high = np.quantile(drawn[name], [0.025, 0.975], method="nearest")
        assert made.intervals[name] == pytest.approx((low, high)), name
    assert set(made.intervals) == set(MEASURES) - {"cllr_min"}


def test_a_rate_of_none_has_the_exact_interval_of_so_many_cases() -> None:
    made = study(spread=0.1)
    assert made.measures["misleading_same"] == 0
    low, high = made.intervals["misleading_same"]
    assert low == 0
    assert (1 - high) ** made.same_author == pytest.approx(0.025)


def test_without_resamples_there_are_no_intervals() -> None:
    assert study(resamples=0).intervals == {}


def test_few_authors_and_few_cases_are_remarked_upon() -> None:
    assert study().remarks == ()
    remarks = study(authors=3, per_author=2).remarks
    assert [remark.split(":")[0] for remark in remarks] == [
        "only 3 authors",
        "only 6 same-author cases",
        "only 6 different-author cases",
    ]


def test_a_class_without_cases_has_no_measures() -> None:
    values = measure_cases(np.ones(3), np.ones(3, dtype=bool))
    assert all(np.isnan(value) for value in values.values())
    assert all(np.isnan(value) for value in measure_cases(np.ones(0), np.ones(0, bool)).values())


# Its file


def test_a_study_reads_back_as_it_was_written(tmp_path: Path) -> None:
    made = study(known=1, words=300, population="none")
    (path := tmp_path / "study.json").write_text(made.to_text(), "utf-8")
    again = read_study(path)
    assert again == made
    assert again.sha256 == made.sha256
    printed = {**made.to_json(), "skipped": []}  # what --json prints
    path.write_text(json.dumps(printed, indent=2), "utf-8")
    assert read_study(path).sha256 == made.sha256


def changed(change: Any) -> str:
    data = study().to_json()
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not a validation study, or it is damaged"),
        ("[" * 99_999, "nested too deeply"),
        ("{}", "study is not of schema 1"),
        (changed(lambda data: data.update(schema=2)), "not of schema 1"),
        (changed(lambda data: data.pop("model_sha256")), "study.model_sha256 is missing"),
        (changed(lambda data: data.update(more=1)), "unknown keys: 'more'"),
        (
            changed(lambda data: data["measures"].update(auc=0.99)),
            "its measures are not those of its cases",
        ),
        (changed(lambda data: data["measures"].pop("auc")), "study.measures are not auc, cllr"),
        (
            changed(lambda data: data["cases"][0].update(log10_bayes_factor=1e999)),
            "expected a finite number",
        ),
        (
            changed(lambda data: data["cases"][0].update(known=[999])),
            "case 1 names texts that do not exist",
        ),
        (changed(lambda data: data["cases"][0].update(known=[])), "case 1 names texts"),
        (changed(lambda data: data["cases"][0].update(questioned=-1)), "expected 0 or more"),
        (
            changed(lambda data: data["cases"][1].update(same_author=True)),
            "the sides of case 2 do not match",
        ),
        (
            changed(lambda data: data["cases"][0].update(known=[0])),
            "the sides of case 1 do not match",
        ),
        (changed(lambda data: data.update(cases=[])), "cases of both classes are expected"),
    ],
)
def test_a_damaged_or_foreign_file_is_an_error_that_names_it(
    text: str, problem: str, tmp_path: Path
) -> None:
    (path := tmp_path / "study.json").write_text(text, "utf-8")
    with pytest.raises(InputError, match=problem) as raised:
        read_study(path)
    assert str(path) in str(raised.value)
    assert "expected the .json that `adhominem validate` wrote" in str(raised.value)


@pytest.mark.parametrize(
    "conditions",
    [
        {"known": 0},
        {"words": 0},
        {"population": "other"},
        {"population_size": 0, "population": "input"},
        {"seed": -1},
        {"resamples": -1},
        {"most_cases": 0},
    ],
)
def test_conditions_that_cannot_be_are_refused(conditions: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        StudyConditions(**conditions)
