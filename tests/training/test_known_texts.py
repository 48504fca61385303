"""Whoever the truth does not name is somebody all the same."""

from __future__ import annotations

import pytest

from adhominem import Document
from adhominem.errors import OptionError
from adhominem.text.pan import Pair
from adhominem.training.simulate import documents_of


def pair_of(first: str, second: str, same: bool | None, *names: str) -> Pair:
    one, other = names or ("", "")
    return Pair(
        id=f"{first} {second}",
        first=Document(text=first, author=one),
        second=Document(text=second, author=other),
        same_author=same,
    )


def authors_of(*known: Pair) -> tuple[dict[str, str], int]:
    texts, unnamed = documents_of("set", known)
    assert all(text.author for text in texts)
    return {text.text: text.author for text in texts}, unnamed


def test_where_the_truth_names_no_authors_each_pair_has_its_own() -> None:
    names, unnamed = authors_of(
        pair_of("a", "b", True), pair_of("c", "d", False), pair_of("e", "f", True)
    )
    assert unnamed == 3
    assert names["a"] == names["b"]
    assert names["e"] == names["f"]
    assert len(set(names.values())) == 4
    elsewhere, _ = documents_of("other", [pair_of("a", "b", True)])
    assert elsewhere[0].author not in names.values()


def test_a_text_that_is_in_several_pairs_has_one_author() -> None:
    names, _ = authors_of(
        pair_of("a", "b", True),
        pair_of("c", "d", True),
        pair_of("x", "a", False),
        pair_of("b", "c", True),
    )
    assert len({names[text] for text in "abcd"}) == 1
    assert names["x"] != names["a"]
    named, unnamed = authors_of(
        pair_of("a", "b", True), pair_of("b", "c", True, "Ann", "Ann"), pair_of("d", "a", False)
    )
    assert [named[text] for text in "abc"] == ["Ann"] * 3
    assert named["d"] != "Ann"
    assert unnamed == 2


def test_documents_come_as_they_are() -> None:
    texts = [Document(text="a", author="Ann"), Document(text="b", author="Bob")]
    assert documents_of("set", texts) == (texts, 0)
    assert documents_of("set", [pair_of("a", "b", False, "Ann", "Bob")]) == (texts, 0)


def test_texts_without_an_author_and_pairs_without_truth_are_refused() -> None:
    texts = [Document(text="a", author="Ann"), Document(text="By nobody.")]
    with pytest.raises(OptionError, match=r"1 of the 2 texts of set have no author"):
        documents_of("set", texts)
    with pytest.raises(OptionError, match=r"1 of 2 pairs have no truth"):
        documents_of("set", [pair_of("a", "b", True), pair_of("c", "d", None)])
