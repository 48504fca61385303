"""Dataclasses survive JSON, what does not fit is named by its path, and every program reads it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError, RecordError
from adhominem.records import (
    UNWRITTEN,
    Longest,
    OneOf,
    Options,
    Positive,
    Seed,
    Share,
    ShareBelow1,
    Size,
    Within,
    from_json,
    parsed_json,
    strict_json,
    to_json,
    with_schema,
)

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_what_json_knows_stays_as_it_is(value: Any) -> None:
    assert json.loads(strict_json(value)) == value


@given(st.lists(st.sampled_from([math.nan, math.inf, -math.inf, 1.5, "NaN", "Infinity"])))
def test_no_number_is_left_that_json_does_not_know(value: list[object]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads(strict_json(value, indent=2), parse_constant=refuse)
    for before, after in zip(value, found, strict=True):
        if isinstance(before, float) and not math.isfinite(before):
            assert after == (None if math.isnan(before) else "inf" if before > 0 else "-inf")
        else:
            assert after == before


@pytest.mark.parametrize("text", ["“Don’t”", "żółć", "中"])
def test_letters_are_not_escaped(text: str) -> None:
    assert text in strict_json({"text": text})


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b"9" * 5_000,
        b"\xff",
        b"",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        rb'{"a": "\ud800"}',
        rb'{"\uDFFFa": 1}',
    ],
    ids=range(10),
)
def test_json_of_anybody_is_read_or_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parsed_json(data)


def test_a_character_may_be_written_as_two_halves() -> None:
    assert parsed_json(rb'["\ud83d\ude00", "\\ud800"]') == ["\U0001f600", r"\ud800"]


def test_json_is_read_from_bytes_and_from_text() -> None:
    assert (
        parsed_json('{"ü": [1, 2.5]}'.encode()) == parsed_json('{"ü": [1, 2.5]}') == {"ü": [1, 2.5]}
    )


# Records


@dataclass(frozen=True)
class Point:
    x: float
    label: str = "here"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    points: tuple[Point, ...]
    corner: tuple[int, str]
    shades: dict[str, float]
    lines: list[int] = field(default_factory=list)
    title: str | None = None
    page: Annotated[int, Within(1, 9)] | None = None
    closed: bool = False
    cache: object = field(default=None, metadata=UNWRITTEN)


@dataclass(frozen=True, kw_only=True)
class Choices(Options):
    hop: Annotated[int, Within(1, 1_000)] = 25
    size: Size = 3
    share: Share = 0.5
    dropout: ShareBelow1 = 0.0
    rate: Positive = 1.0
    seed: Seed = 0
    form: Annotated[str, OneOf("line", "")] = ""
    names: Annotated[tuple[Annotated[str, Longest(3)], ...], Longest(2)] = ()


@dataclass(frozen=True, kw_only=True)
class All(Options):
    choices: Choices = field(default_factory=Choices)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.choices.hop > 100 and self.choices.size > 100:
            raise OptionError("hop and size are both above 100")


DRAWING: dict[str, Any] = {"points": [{"x": 1}], "corner": [1, "a"], "shades": {"grey": 0.5}}
finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(exclude_categories=["Cs"]))
drawings = st.builds(
    Drawing,
    points=st.lists(st.builds(Point, finite, text)).map(tuple),
    corner=st.tuples(st.integers(), text),
    shades=st.dictionaries(text, finite),
    lines=st.lists(st.integers()),
    title=st.none() | text,
    page=st.none() | st.integers(1, 9),
    closed=st.booleans(),
)


@given(drawings)
def test_a_record_survives_json(drawing: Drawing) -> None:
    assert from_json(Drawing, parsed_json(strict_json(to_json(drawing)))) == drawing
    assert from_json(Drawing, parsed_json(strict_json(with_schema(drawing))), schema=1) == drawing


def test_what_is_not_there_takes_its_default_and_whole_numbers_are_floats() -> None:
    drawing = from_json(Drawing, DRAWING)
    assert drawing == Drawing(points=(Point(1.0),), corner=(1, "a"), shades={"grey": 0.5})
    assert type(drawing.points[0].x) is float


def test_a_field_that_is_not_written_is_neither_written_nor_read() -> None:
    drawing = Drawing(points=(), corner=(1, "a"), shades={}, cache=object())
    assert "cache" not in to_json(drawing)
    with pytest.raises(RecordError, match="unknown keys: 'cache'"):
        from_json(Drawing, {**DRAWING, "cache": None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": {}}, r"Drawing\.points is \{\}; expected a list"),
        ({"points": [1]}, r"Drawing\.points\[0\] is 1; expected an object"),
        ({"points": [{"x": 1, "y": 2}]}, r"Drawing\.points\[0\]: unknown keys: 'y'"),
        ({"points": [{}]}, r"Drawing\.points\[0\]\.x is missing"),
        ({"points": [{"x": "1"}]}, r"Drawing\.points\[0\]\.x is '1'; expected float"),
        ({"points": [{"x": True}]}, "x is True; expected float"),
        ({"points": [{"x": math.nan}]}, "x is nan; expected a finite number"),
        ({"points": [{"x": math.inf}]}, "x is inf; expected a finite number"),
        ({"points": [{"x": 10**400}]}, "x is 1000.*; expected float"),
        ({"points": [{"x": 1, "label": "\ud800"}]}, "label is .*; expected whole characters"),
        ({"corner": [1]}, r"corner is \[1\]; expected 2 entries"),
        ({"corner": [True, "a"]}, r"corner\[0\] is True; expected int"),
        ({"corner": None}, "corner is None; expected a list"),
        ({"shades": []}, r"shades is \[\]; expected an object"),
        ({"shades": {"grey": "0"}}, r"shades\['grey'\] is '0'; expected float"),
        ({"shades": {"\udfff": 0.5}}, "expected whole characters"),
        ({"lines": [1.5]}, r"lines\[0\] is 1\.5; expected int"),
        ({"title": 1}, "title is 1; expected str"),
        ({"page": 10}, r"Drawing\.page is 10; expected 1 to 9"),
        ({"closed": 1}, "closed is 1; expected bool"),
        ({"colour": 1, "more": 2}, "Drawing: unknown keys: 'colour', 'more'"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        from_json(Drawing, {**DRAWING, **change})


@pytest.mark.parametrize("data", [[], None, 1, "drawing", {}, {"x": {}}])
def test_data_that_is_no_such_record_is_refused(data: Any) -> None:
    with pytest.raises(RecordError, match="drawing"):
        from_json(Drawing, data, "drawing")
    with pytest.raises(RecordError, match="Drawing is not of schema 1"):
        from_json(Drawing, data, schema=1)


@given(values)
def test_any_json_is_a_record_or_a_record_error(value: Any) -> None:
    for change in (value, {**DRAWING, "shades": value}, {**DRAWING, "points": [value]}):
        problem = ""
        try:
            assert isinstance(from_json(Drawing, change), Drawing)
        except RecordError as error:
            problem = str(error)
        assert len(problem) < 1_000


def test_json_for_users_says_its_schema() -> None:
    assert with_schema(Point(1.0)) == {"schema": 1, "x": 1.0, "label": "here"}
    assert with_schema({"points": (Point(1.0),)}, 3)["schema"] == 3
    assert with_schema({"schema": 2}) == {"schema": 2}
    with pytest.raises(RecordError, match="Point is not of schema 2"):
        from_json(Point, with_schema(Point(1.0)), schema=2)


# Options


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hop": 0}, "hop is 0; expected 1 to 1,000"),
        ({"hop": 1_001}, "hop is 1001; expected 1 to 1,000"),
        ({"hop": "25"}, "hop is '25'; expected int"),
        ({"hop": True}, "hop is True; expected int"),
        ({"size": 2**24 + 1}, "size is 16777217; expected 1 to 16,777,216"),
        ({"share": 1.1}, r"share is 1\.1; expected 0 to 1"),
        ({"share": math.nan}, "share is nan; expected a finite number"),
        ({"dropout": 1}, r"dropout is 1\.0; expected 0 to below 1"),
        ({"rate": 0.0}, r"rate is 0\.0; expected above 0"),
        ({"seed": -1}, "seed is -1; expected 0 or more"),
        ({"form": "circle"}, "form is 'circle'; expected 'line' or ''"),
        ({"names": ["a", "b", "c"]}, "names is .*; expected a length of 2 at most"),
        ({"names": ["abcd"]}, r"names\[0\] is 'abcd'; expected a length of 3 at most"),
    ],
)
def test_options_beyond_their_limits_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=f"^{message}$"):
        Choices(**change)
    with pytest.raises(RecordError, match=rf"^all\.choices\.{message}$"):
        from_json(All, {"choices": change}, "all")


def test_options_hold_the_types_of_their_hints() -> None:
    choices = Choices(share=1, names=["a"])  # type: ignore[arg-type]
    assert (choices.share, choices.names, choices.hop) == (1.0, ("a",), 25)
    assert type(choices.share) is float
    assert Choices(seed=2**70).seed == 2**70


def test_options_that_do_not_fit_each_other_are_refused_by_path() -> None:
    with pytest.raises(RecordError, match=r"^all: hop and size are both above 100$"):
        from_json(All, {"choices": {"hop": 101, "size": 101}}, "all")
