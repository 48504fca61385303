"""Cases made of texts by known authors: nobody's text is where it must not be."""

from __future__ import annotations

import random
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.text.files import Document
from adhominem.text.sentences import first_words
from adhominem.training import simulate as module
from adhominem.training.simulate import (
    CaseTexts,
    Condition,
    SimulatedCases,
    conditions,
    side_words,
)

LENGTHS = (20, 50)


def documents(authors: int, texts: int, works: int = 0) -> list[Document]:
    """Texts of 10 to 100 words; of `works` two in a row are of one work."""
    rng = random.Random(f"{authors} {texts}")
    return [
        Document(
            text=" ".join(f"w{author}-{number}-{word}" for word in range(rng.randint(10, 100))),
            author=f"author {author}",
            work=f"work {author} {number // 2}" if number < works else "",
        )
        for author in range(authors)
        for number in range(texts)
    ]


MATERIAL = CaseTexts("letters", documents(30, 8), LENGTHS)


def all_cases(material: CaseTexts, seed: int = 0) -> list[SimulatedCases]:
    drawn = [material.cases(condition, 30, seed) for condition in conditions()]
    return [cases for cases in drawn if cases is not None]


CASES = all_cases(MATERIAL)


def source(material: CaseTexts, number: int) -> frozenset[str]:
    """The whole texts that a text is made of, by their first words."""
    parts = material.documents[number].text.split("\n\n")
    return frozenset(part.split()[0] for part in parts)


# Who is where


def test_all_conditions_are_covered_where_there_are_texts_enough() -> None:
    assert {cases.condition for cases in CASES} == set(conditions())
    for condition in conditions():
        drawn = MATERIAL.cases(condition, 30, 0)
        assert drawn is not None
        assert drawn.known.shape[1:] == (condition.known,)
        assert drawn.questioned.shape[1:] == (condition.questioned,)
        same = int(drawn.same_author.sum())
        assert module._FEWEST_CASES <= min(same, len(drawn) - same) <= 30
        assert max(same, len(drawn) - same) <= 30
        assert len(drawn.populations) == (len(drawn) if condition.population else 0)
        assert all(len(chosen) == condition.population for chosen in drawn.populations)


@pytest.mark.parametrize("cases", CASES, ids=lambda cases: str(cases.condition))
def test_the_sides_of_a_case_are_by_those_who_are_said_to_have_written_them(
    cases: SimulatedCases,
) -> None:
    for at in range(len(cases)):
        for side, texts in enumerate((cases.known[at], cases.questioned[at])):
            names = {MATERIAL.documents[number].author for number in texts}
            assert names == {str(cases.authors[at, side])}
        assert cases.same_author[at] == (cases.authors[at, 0] == cases.authors[at, 1])


@pytest.mark.parametrize("cases", CASES, ids=lambda cases: str(cases.condition))
def test_no_text_is_on_both_sides_not_even_in_a_longer_or_shorter_one(
    cases: SimulatedCases,
) -> None:
    for known, questioned in zip(cases.known, cases.questioned, strict=True):
        sides = [[source(MATERIAL, number) for number in texts] for texts in (known, questioned)]
        assert not frozenset.union(*sides[0]) & frozenset.union(*sides[1])
        for side in sides:  # nor twice on one
            assert len(frozenset.union(*side)) == sum(map(len, side))


@pytest.mark.parametrize("cases", CASES, ids=lambda cases: str(cases.condition))
def test_the_authors_of_a_case_are_never_in_its_population(cases: SimulatedCases) -> None:
    for at, chosen in enumerate(cases.populations):
        names = {MATERIAL.documents[number].author for number in chosen}
        assert not names & set(cases.authors[at].tolist())
        assert len(set(chosen.tolist())) == len(chosen)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_texts_of_one_work_are_never_on_both_sides(seed: int) -> None:
    material = CaseTexts("letters", documents(20, 8, works=6), LENGTHS, seed)
    works = {
        document.text.split()[0]: document.work for document in material.documents[: material.whole]
    }
    drawn = all_cases(material, seed)
    assert {cases.condition.questioned for cases in drawn} == {1, 3}
    assert {cases.condition.joined for cases in drawn} == {False, True}
    for cases in drawn:
        for known, questioned in zip(cases.known, cases.questioned, strict=True):
            sides = [
                {works[word] for number in texts for word in source(material, number)} - {""}
                for texts in (known, questioned)
            ]
            assert not sides[0] & sides[1]


# What is done to texts


def test_cut_texts_are_the_beginnings_of_whole_ones_and_short_texts_stay_whole() -> None:
    beginnings = {}
    for document in MATERIAL.documents[: MATERIAL.whole]:
        words = document.text.split()
        beginnings[words[0]] = words
    cut = {}
    for cases in CASES:
        if cases.condition.cut != "all":
            continue
        for number in {
            *cases.known.ravel(),
            *cases.questioned.ravel(),
            *np.concatenate([*cases.populations, [0]]),
        }:
            words = MATERIAL.documents[int(number)].text.split()
            whole = beginnings[words[0]]
            cut[words[0]] = len(words)
            assert words == whole[: len(words)]
            if number >= MATERIAL.whole:
                assert len(words) in LENGTHS
                assert len(words) < 0.8 * len(whole)
            elif number:
                assert 0.8 * len(whole) <= min(LENGTHS)
    assert set(LENGTHS) < set(cut.values())


def test_only_the_questioned_texts_are_cut_where_the_condition_says_so() -> None:
    for cases in CASES:
        if cases.condition.cut == "questioned":
            assert cases.known.max() < MATERIAL.whole < cases.questioned.max()
            assert all(chosen.max() < MATERIAL.whole for chosen in cases.populations)
        elif cases.condition.cut == "" and not cases.condition.joined:
            assert max(cases.known.max(), cases.questioned.max()) < MATERIAL.whole


def test_the_population_may_be_longer_than_the_sides_or_shorter() -> None:
    for cases in CASES:
        sides = min(cases.known.max(), cases.questioned.max())
        if cases.condition.cut == "sides":
            assert sides >= MATERIAL.whole
            assert all(chosen.max() < MATERIAL.whole for chosen in cases.populations)
        elif cases.condition.cut == "population":
            assert sides < MATERIAL.whole
            assert all(chosen.max() >= MATERIAL.whole for chosen in cases.populations)


def test_joined_texts_are_several_of_one_author_and_leave_two() -> None:
    joined = [
        at for at in range(MATERIAL.whole, len(MATERIAL.documents)) if len(source(MATERIAL, at)) > 1
    ]
    assert len({MATERIAL.documents[at].author for at in joined}) == len(joined) == 30
    for at in joined:
        assert len(source(MATERIAL, at)) in module._JOINED
    (cases,) = [cases for cases in CASES if cases.condition == Condition(joined=True)]
    assert set(cases.known.ravel().tolist()) <= set(joined)
    assert cases.questioned.max() < MATERIAL.whole


@given(st.text(" \n\tab.é", max_size=40), st.integers(1, 12))
def test_the_first_words_are_the_beginning_of_a_text(text: str, words: int) -> None:
    made = first_words(text, words)
    assert text.startswith(made)
    assert made.split() == text.split()[:words]
    if len(text.split()) < words:
        assert made == text


def test_words_are_the_geometric_mean_of_the_side_with_shorter_texts() -> None:
    words = np.array([100, 400, 1_000, 50, 800])
    cases = SimulatedCases(
        Condition(2, 1),
        np.array([[0, 1], [2, 2]]),
        np.array([[2], [4]]),
        (),
        np.array([True, False]),
        np.array([["a", "a"], ["a", "b"]]),
    )
    np.testing.assert_allclose(side_words(words, cases), [200, 800])


# Which texts


def test_authors_with_several_texts_come_first_and_none_has_more_than_eight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_TEXTS", 40)
    rows = [*documents(30, 1), *(Document(text=f"{at} b c", author="many") for at in range(30))]
    rows += [
        Document(text=f"{author} {at} d", author=f"two {author}")
        for author in range(12)
        for at in (0, 1)
    ]
    material = CaseTexts("letters", rows, LENGTHS)
    names = [document.author for document in material.documents[: material.whole]]
    assert names.count("many") == 8
    assert sum(name.startswith("two") for name in names) == 24
    assert 40 <= len(names) < 48


def test_a_text_that_is_there_twice_counts_once() -> None:
    rows = documents(10, 3)
    assert CaseTexts("letters", rows + rows, LENGTHS).whole == 30


def test_cases_are_repeatable_by_seed() -> None:
    again = CaseTexts("letters", documents(30, 8), LENGTHS)
    assert [document.text for document in again.documents] == [
        document.text for document in MATERIAL.documents
    ]
    for cases, expected in zip(all_cases(again), CASES, strict=True):
        for field in fields(SimulatedCases):
            one, other = getattr(cases, field.name), getattr(expected, field.name)
            if field.name == "populations":
                assert [chosen.tolist() for chosen in one] == [chosen.tolist() for chosen in other]
            else:
                assert np.array_equal(one, other)
    others = all_cases(again, seed=1)
    assert any(
        not np.array_equal(cases.known, expected.known)
        for cases, expected in zip(others, CASES, strict=True)
    )


def test_conditions_that_texts_are_too_few_for_are_left_out() -> None:
    pairs_alone = CaseTexts("letters", documents(20, 2), LENGTHS)
    drawn = {cases.condition for cases in all_cases(pairs_alone)}
    assert {condition.known for condition in drawn} == {1}
    assert Condition() in drawn
    assert not any(condition.joined for condition in drawn)
    few = CaseTexts("letters", documents(4, 2), LENGTHS)
    assert not [
        cases for cases in all_cases(few) if cases.condition.population
    ]  # 4 texts by others
    single = CaseTexts("letters", documents(20, 1), LENGTHS)
    assert all_cases(single) == []


def test_where_texts_are_fewer_all_populations_are_as_small_whoever_wrote_the_texts() -> None:
    material = CaseTexts("letters", documents(12, 3), LENGTHS)
    drawn = material.cases(Condition(1, 1, 100), 30, 0)
    assert drawn is not None
    assert {len(chosen) for chosen in drawn.populations} == {30}  # but for those of two authors
