"""The texts of a case with candidates: copies are left out, and told."""

from __future__ import annotations

import pytest
from conftest import made_up_rows

from adhominem.errors import InputError
from adhominem.questions.candidates import CaseMaterial, sort_out
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document

# Long enough for shingles to be sampled from each.
TEXTS = [
    " ".join(row["text"] for row in made_up_rows(1, 30, f"copy {number} ")) for number in range(8)
]


def document(number: int, author: str, name: str = "") -> Document:
    return Document(text=TEXTS[number], author=author, id=f"{author}/{name or number}")


def sorted_out(
    disputed: list[str], candidates: dict[str, list[Document]], **options: object
) -> CaseMaterial:
    exhibits = [Exhibit.of(text, f"disputed-{at}") for at, text in enumerate(disputed)]
    return sort_out(exhibits, candidates, **options)  # type: ignore[arg-type]


def codes(material: CaseMaterial) -> list[str]:
    return [caution.code for caution in material.cautions]


def test_different_texts_are_kept_and_nothing_is_said() -> None:
    candidates = {"a": [document(0, "a"), document(1, "a")], "b": [document(2, "b")]}
    material = sorted_out([TEXTS[3]], candidates)
    assert material.candidates == {name: tuple(texts) for name, texts in candidates.items()}
    assert material.cautions == ()


def test_a_known_text_that_is_the_disputed_one_is_left_out() -> None:
    candidates = {"a": [document(0, "a"), document(1, "a")], "b": [document(2, "b")]}
    material = sorted_out([TEXTS[0]], candidates)
    assert [text.id for text in material.candidates["a"]] == ["a/1"]
    assert codes(material) == ["disputed_among_known"]
    assert "disputed-0 and a/0" in material.cautions[0].message


def test_a_part_of_the_disputed_text_in_a_known_one_is_told_of() -> None:
    words = TEXTS[3].split()
    mixed = f"{TEXTS[4]} {' '.join(words[: len(words) // 3])}"
    candidates = {"a": [Document(text=mixed, author="a", id="a/x")], "b": [document(2, "b")]}
    material = sorted_out([TEXTS[3]], candidates)
    assert codes(material) == ["shared_text"]
    assert len(material.candidates["a"]) == 1


def test_a_text_under_two_names_is_left_out_of_both() -> None:
    candidates = {
        "a": [document(0, "a"), document(1, "a")],
        "b": [document(0, "b"), document(2, "b")],
    }
    material = sorted_out([TEXTS[3]], candidates)
    ids = {name: [text.id for text in texts] for name, texts in material.candidates.items()}
    assert ids == {"a": ["a/1"], "b": ["b/2"]}
    assert codes(material) == ["text_of_two_candidates"]


def test_a_text_twice_under_one_name_counts_once() -> None:
    candidates = {"a": [document(0, "a"), document(0, "a", "again")], "b": [document(2, "b")]}
    material = sorted_out([TEXTS[3]], candidates)
    assert [text.id for text in material.candidates["a"]] == ["a/0"]
    assert codes(material) == ["repeated_text"]


def test_who_is_left_without_a_text_is_named_and_not_ranked() -> None:
    candidates = {
        "a": [document(0, "a")],
        "b": [document(1, "b")],
        "c": [document(2, "c")],
        "d": [],
    }
    material = sorted_out([TEXTS[0]], candidates)
    assert list(material.candidates) == ["b", "c"]
    (told,) = [caution for caution in material.cautions if caution.code == "no_texts"]
    assert "a, d" in told.message


def test_fewer_than_two_candidates_are_an_error_that_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"texts of 1 candidate; .* as `adhominem verify` does"):
        sorted_out([TEXTS[0]], {"a": [document(0, "a")], "b": [document(1, "b")]})


def test_disputed_copies_count_once_together_and_are_all_ranked_one_by_one() -> None:
    candidates = {"a": [document(0, "a")], "b": [document(1, "b")]}
    together = sorted_out([TEXTS[3], TEXTS[4], TEXTS[3]], candidates)
    assert [exhibit.document.id for exhibit in together.disputed] == ["disputed-0", "disputed-1"]
    assert codes(together) == ["repeated_disputed"]
    alone = sorted_out([TEXTS[3], TEXTS[4], TEXTS[3]], candidates, together=False)
    assert len(alone.disputed) == 3
