"""A document: the unit that one author wrote, and all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from adhominem.errors import EmptyTextError, MissingFieldError, TextEncodingError


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text with its author, topic, work and id; empty where unknown.

    `topic` is the paper's fandom. `work` is the book, thread, case or item the
    text was taken from: two documents of one work share more than their author.
    """

    text: str
    author: str = ""
    topic: str = ""
    work: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str):
                raise MissingFieldError(
                    f"field '{field.name}' is {type(value).__name__}, expected a string"
                )
            if not value.isascii():
                _check_encodable(field.name, value)
        if not self.text or self.text.isspace():
            raise EmptyTextError("the text is empty; expected at least one visible character")


def _check_encodable(name: str, value: str) -> None:
    """Half of a surrogate pair (a broken JSON escape) is no character."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TextEncodingError(
            f"field '{name}' holds half a character (U+{ord(value[error.start]):04X}) "
            f"at position {error.start}; write the text again as UTF-8"
        ) from None
