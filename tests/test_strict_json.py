"""JSON that every program reads."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.strict_json import parsed_json, strict_json

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
    ],
    ids=range(8),
)
def test_json_of_anybody_is_read_or_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parsed_json(data)


def test_json_is_read_from_bytes_and_from_text() -> None:
    assert (
        parsed_json('{"ü": [1, 2.5]}'.encode()) == parsed_json('{"ü": [1, 2.5]}') == {"ü": [1, 2.5]}
    )
