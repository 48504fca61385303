"""Cases of known authors: what is on their sides, how many there are, and who is left."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.pairs.cases import DrawnCase, by_others, draw_cases
from adhominem.text.files import Document

Sizes = dict[str, int]
material = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 7), min_size=2)


def documents(sizes: Sizes, *, works: int = 100) -> list[Document]:
    """So many by each author, mixed; with few `works`, several texts are of one."""
    made = [
        Document(text=f"{name} {at}", author=name, work=f"{at % works}", id=f"{name}/{at}")
        for name, count in sizes.items()
        for at in range(count)
    ]
    np.random.default_rng(0).shuffle(made)  # type: ignore[arg-type]
    return made


def author_of(texts: list[Document], case: DrawnCase) -> str:
    """Of the known texts, which are by one."""
    (name,) = {texts[at].author for at in case.known}
    return name


@given(material, st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32))
def test_no_text_and_no_work_is_on_both_sides_and_no_author_in_the_population(
    sizes: Sizes, known: int, works: int, seed: int
) -> None:
    texts = documents(sizes, works=works)
    try:
        drawn = draw_cases(texts, known, seed=seed)
    except OptionError:
        assume(False)
    assert {case.same_author for case in drawn} == {True, False}
    for case in drawn:
        questioned, sides = texts[case.questioned], [texts[at] for at in case.known]
        assert len(set(case.known)) == known
        assert case.questioned not in case.known
        assert case.same_author == (author_of(texts, case) == questioned.author)
        if case.same_author:
            assert questioned.work not in {text.work for text in sides}
        others = {texts[at].author for at in by_others(texts, case)}
        assert others == set(sizes) - {questioned.author, author_of(texts, case)}


@given(material, st.integers(1, 4))
def test_each_text_is_questioned_once_by_its_author_and_at_most_once_by_another(
    sizes: Sizes, known: int
) -> None:
    assume(max(sizes.values()) > known)
    texts = documents(sizes)
    drawn = draw_cases(texts, known)
    same = Counter(case.questioned for case in drawn if case.same_author)
    different = Counter(case.questioned for case in drawn if not case.same_author)
    expected = {at for at, text in enumerate(texts) if sizes[text.author] > known}
    assert same == dict.fromkeys(expected, 1)
    assert set(different.values()) == {1}
    assert len(different) <= len(same)


def test_there_are_as_many_of_both_classes_and_authors_take_turns() -> None:
    texts = documents({"a": 30, "b": 6, "c": 6, "d": 2})
    drawn = draw_cases(texts, 3)
    different = [case for case in drawn if not case.same_author]
    assert len(different) == len(drawn) - len(different) == 42
    suspects = Counter(author_of(texts, case) for case in different)
    assert "d" not in suspects
    few = draw_cases(texts, 3, most=6)
    assert [case.same_author for case in few] == [True] * 6 + [False] * 6
    assert Counter(texts[case.questioned].author for case in few[:6]) == {"a": 2, "b": 2, "c": 2}
    by = Counter(texts[case.questioned].author for case in few[6:])
    assert set(by) == {"a", "b", "c", "d"}
    assert max(by.values()) == 2
    assert max(Counter(author_of(texts, case) for case in few[6:]).values()) <= 3


def test_the_seed_decides_and_nothing_else() -> None:
    texts = documents({"a": 9, "b": 6, "c": 6})
    assert draw_cases(texts, 3, seed=5) == draw_cases(texts, 3, seed=5)
    assert draw_cases(texts, 3, seed=5) != draw_cases(texts, 3, seed=6)


@pytest.mark.parametrize(
    ("sizes", "works", "problem"),
    [
        ({}, 9, "texts by 0 known authors; expected two or more"),
        ({"a": 9}, 9, "texts by 1 known author; expected two or more"),
        ({"a": 3, "b": 2}, 9, "2 authors, and the one with most texts, a, has 3; for 3 known"),
        ({"a": 6, "b": 6}, 1, "must have 4 or more of different works"),
    ],
)
def test_too_few_texts_are_an_error_that_says_what_there_is(
    sizes: Sizes, works: int, problem: str
) -> None:
    with pytest.raises(OptionError, match=problem):
        draw_cases(documents(sizes, works=works), 3)
