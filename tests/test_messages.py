"""Words for errors and warnings: what happened, what it means for the number, what to do."""

from __future__ import annotations

import ast
import re

from docs_script import DOCS, docs_script

make_messages = docs_script("make_messages")
MESSAGES = list(make_messages.messages())
CAUTIONS = [one for one in MESSAGES if one.kind.islower()]
OTHERS = [one for one in MESSAGES if not one.kind.islower()]
# Parts of a larger message, which says what to do.
PARTS = {"RecordError"}


def test_the_page_of_messages_is_that_of_the_code() -> None:
    """If not, run `python docs/make_messages.py`."""
    assert (DOCS / "messages.md").read_text("utf-8") == make_messages.messages_page()


def test_there_are_many_messages() -> None:
    assert len(CAUTIONS) > 35
    assert len(OTHERS) > 250
    assert {one.kind for one in CAUTIONS} >= {"no_population", "too_short", "foreign", "at_bound"}


def test_a_caution_says_what_happened_what_it_means_and_what_to_do() -> None:
    for one in CAUTIONS:
        assert len(one.parts) == 3, f"{one}: make it with `caution`, of verify/cautions.py"
        assert all(part.strip() and not part.endswith(".") for part in one.parts), one


def test_an_error_says_what_was_expected_or_what_to_do() -> None:
    for one in OTHERS:
        words = one.parts[0]
        is_whole = re.search(r"\w \w", words)  # else it is put together elsewhere
        if one.kind not in PARTS and is_whole:
            assert re.search(r"expected|; |[.:] [A-Z]|: \w+ ", words), one


def test_a_part_that_is_filled_in_stands_in_braces() -> None:
    (call,) = ast.parse("Caution('x', f'{len(texts):,} texts of {side.name}' 'and more')").body
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    (message,) = make_messages._message(call.value, "here.py")
    assert message.kind == "x"
    assert message.parts == ("{texts} texts of {name}and more",)
