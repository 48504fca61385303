"""Safetensors files: read as their library reads them, refused before there is room for them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import SmallRun
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import load, save

from adhominem.model.files import check_shapes, read_tensors

TYPES = [np.bool_, np.int8, np.uint8, np.int16, np.int32, np.int64, np.float16, np.float32]
Arrays = dict[str, npt.NDArray[Any]]


def some_arrays() -> st.SearchStrategy[Arrays]:
    each = st.sampled_from([*TYPES, np.float64]).flatmap(
        lambda kind: arrays.arrays(
            kind,
            arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
            elements={"allow_nan": False, "allow_infinity": False}
            if np.issubdtype(kind, np.floating)
            else None,
        )
    )
    return st.dictionaries(st.text("abc.ü", min_size=1), each, max_size=5)


@given(some_arrays(), st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=2))
def test_what_the_library_writes_is_read_as_it_reads_it(
    written: Arrays, metadata: dict[str, str]
) -> None:
    data = save(written, metadata or None)
    found, told = read_tensors(data)
    assert told == metadata
    expected = load(data)
    assert set(found) == set(expected) == set(written)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value)
        assert found[name].flags.writeable


def file_of(header: Any, data: bytes = bytes(16)) -> bytes:
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + data


def tensor(**other: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [4], "data_offsets": [0, 16], **other}


DAMAGES = {
    "nothing": b"",
    "half a length": b"\x00\x00",
    "a header beyond the file": (2**20).to_bytes(8, "little") + b"{}",
    "a giant header": (2**63).to_bytes(8, "little") + b"{}",
    "no JSON": file_of("x")[:8] + b"[[[",
    "a list": file_of([]),
    "a number for a tensor": file_of({"a": 7}),
    "no shape": file_of({"a": {"dtype": "F32", "data_offsets": [0, 16]}}),
    "an unknown type": file_of({"a": tensor(dtype="F4")}),
    "a type that is none": file_of({"a": tensor(dtype=["F32"])}),
    "another shape": file_of({"a": tensor(shape=[5])}),
    "a shape without end": file_of({"a": tensor(shape=[2**61, 2**61])}),
    "a negative shape": file_of({"a": tensor(shape=[-4])}),
    "a shape of halves": file_of({"a": tensor(shape=[4.0])}),
    "a true shape": file_of({"a": tensor(shape=[True, 4])}),
    "many dimensions": file_of({"a": tensor(shape=[4] + [1] * 100)}),
    "one offset": file_of({"a": tensor(data_offsets=[16])}),
    "offsets the wrong way round": file_of({"a": tensor(data_offsets=[16, 0])}),
    "offsets beyond the end": file_of({"a": tensor(data_offsets=[16, 32])}),
    "two in one place": file_of({"a": tensor(), "b": tensor()}),
    "a gap": file_of({"a": tensor(data_offsets=[8, 24])}, bytes(24)),
    "too much data": file_of({"a": tensor()}, bytes(20)),
    "too little data": file_of({"a": tensor()}, bytes(12)),
    "metadata that are a list": file_of({"a": tensor(), "__metadata__": []}),
    "metadata of numbers": file_of({"a": tensor(), "__metadata__": {"genres": 7}}),
    "no number": save({"a": np.array([1, np.nan], np.float32)}),
    "infinity": save({"a": np.array([[np.inf]], np.float16)}),
    "more than true": file_of({"a": tensor(dtype="BOOL", shape=[16])}, bytes(15) + b"\x02"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_a_value_error(damage: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_tensors(DAMAGES[damage])


def test_arrays_of_another_type_or_shape_are_refused() -> None:
    arrays, _ = read_tensors(save({"a": np.zeros(4, np.float32)}))
    check_shapes(arrays, {"a": ("F32", (4,))})
    for expected, message in (
        ({"a": ("F32", (5,))}, r"a is \(4,\); the other files expect \(5,\)"),
        ({"b": ("F32", (4,))}, "there is no b"),
        ({"a": ("I32", (4,))}, "type float32; expected int32"),
    ):
        with pytest.raises(ValueError, match=message):
            check_shapes(arrays, expected)


def test_the_network_has_the_weights_that_its_options_say(small_run: SmallRun) -> None:
    from adhominem.model.member import weight_shapes
    from adhominem.paper.config import EncoderOptions
    from adhominem.paper.network import Network
    from adhominem.text.vocabulary import SPECIAL

    for options in (small_run.config.encoder, EncoderOptions(window_lstm_size=7, lev_size=3)):
        network = Network(11, 13, options)
        shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
        assert weight_shapes(options, len(SPECIAL) + 11, len(SPECIAL) + 13) == shapes
