"""A document checks itself when it is made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest
from hypothesis import given
from rich_texts import rich_texts

from adhominem.errors import (
    AdHominemError,
    EmptyTextError,
    InputError,
    MissingFieldError,
    TextEncodingError,
)
from adhominem.text.files import Document

FIELDS = [field.name for field in fields(Document)]


def test_all_but_the_text_is_empty_where_unknown() -> None:
    document = Document(text="Hello.")
    assert [getattr(document, name) for name in FIELDS] == ["Hello.", "", "", "", ""]


def test_a_document_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Document(text="Hello.").author = "Ann"  # type: ignore[misc]


@given(rich_texts.filter(lambda text: text.strip() and "\0" not in text))
def test_a_text_is_kept_as_it_was_given(text: str) -> None:
    assert Document(text=text).text == text


@pytest.mark.parametrize("text", ["", " ", "\n\t\r\n", "\u00a0\u2003\u3000", "\x1c\x85"])
def test_a_text_without_a_visible_character_is_refused(text: str) -> None:
    with pytest.raises(EmptyTextError, match="expected at least one visible character"):
        Document(text=text)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", [None, 7, b"bytes", ["text"]])
def test_a_field_that_is_no_string_is_named(name: str, value: object) -> None:
    with pytest.raises(MissingFieldError, match=f"'{name}' is {type(value).__name__}"):
        Document(**{"text": "Hello.", name: value})


@pytest.mark.parametrize("name", FIELDS)
def test_half_a_character_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(TextEncodingError, match=rf"'{name}'.*U\+D83D.*position 3"):
        Document(**{"text": "Hello.", name: "abc\ud83d"})


def test_a_whole_pair_of_escapes_is_one_character() -> None:
    assert Document(text="\U0001f600", author="Zoë").author == "Zoë"


def test_a_copy_with_another_field_is_checked_too() -> None:
    with pytest.raises(EmptyTextError):
        replace(Document(text="Hello."), text=" ")


def test_every_refusal_can_be_caught_as_one_and_told_its_place() -> None:
    with pytest.raises(AdHominemError) as caught:
        Document(text="")
    error = caught.value
    assert isinstance(error, InputError)
    placed = error.at("novels.jsonl", 12)
    assert type(placed) is EmptyTextError
    assert (placed.path, placed.line) == ("novels.jsonl", 12)
    assert str(placed) == f"novels.jsonl:12: {error}"
