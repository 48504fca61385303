"""The safetensors format, read from an open file: first its header, then, if that holds, its data.

The library of that name maps a file into memory, and hashing it would read it once more. Here it
is read once, and nothing is made room for before its sizes have been checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from adhominem.records import parsed_json

_LARGEST_HEADER = 2**22
_MOST_DIMENSIONS = 8
_TYPES = {
    "BOOL": np.dtype(np.bool_),
    "I8": np.dtype("<i1"),
    "U8": np.dtype("<u1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}


@dataclass(frozen=True)
class Tensor:
    """What the header says of one of the arrays."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


Header = Mapping[str, Tensor]
Check = Callable[[Header, Mapping[str, str]], None]  # raises ValueError; gets the metadata, too
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]  # the type and the shape of each array


def read_tensors(
    file: BinaryIO, size: int, check: Check, on_bytes: Callable[[bytes | bytearray], None]
) -> tuple[dict[str, npt.NDArray[Any]], Mapping[str, str]]:
    """The arrays of a file of so many bytes, and its metadata; a ValueError if it is damaged.

    `on_bytes` hears all bytes. Floating-point numbers must be finite.
    """
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > min(_LARGEST_HEADER, size - 8):
        raise ValueError("it breaks off in its header, or is no safetensors file")
    head = file.read(length)
    header, metadata = _header(parsed_json(head), size - 8 - length)
    check(header, metadata)
    data = bytearray(size - 8 - length)
    if file.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise ValueError("it breaks off")
    for part in (start, head, data):
        on_bytes(part)
    arrays = {
        name: np.frombuffer(data, each.dtype, prod(each.shape), each.begin).reshape(each.shape)
        for name, each in header.items()
    }
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has values that are no finite numbers")
        if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
            raise ValueError(f"{name} has values that are neither true nor false")
    return arrays, metadata


def _header(found: Any, size: int) -> tuple[dict[str, Tensor], Mapping[str, str]]:
    """The arrays that the header names; together they are the whole of the data, each once."""
    if not isinstance(found, dict):
        raise ValueError("its header is no object")
    metadata = found.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("its metadata are no strings")
    tensors = {name: _tensor(name, each) for name, each in found.items()}
    place = 0
    for name, each in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if each.begin != place:
            raise ValueError(f"{name} begins at byte {each.begin:,}; expected {place:,}")
        place = each.end
    if place != size:
        raise ValueError(f"its arrays have {place:,} bytes; the file has {size:,} for them")
    return tensors, metadata


def _tensor(name: str, found: Any) -> Tensor:
    if not isinstance(found, dict) or set(found) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{name} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = (found[each] for each in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise ValueError(f"{name} is of the type {dtype!r}; expected one of {', '.join(_TYPES)}")
    numbers = [shape, offsets]
    if not all(isinstance(row, list) and all(_is_size(n) for n in row) for row in numbers):
        raise ValueError(f"{name} has a shape or offsets that are no sizes")
    if len(shape) > _MOST_DIMENSIONS or len(offsets) != 2:
        raise ValueError(f"{name} has {len(shape)} dimensions and {len(offsets)} offsets")
    begin, end = offsets
    if prod(shape) * _TYPES[dtype].itemsize != end - begin:
        raise ValueError(f"{name} of shape {tuple(shape)} has {end - begin:,} bytes")
    return Tensor(_TYPES[dtype], tuple(shape), begin, end)


def _is_size(number: object) -> bool:
    return type(number) is int and 0 <= number < 2**62


def check_shapes(header: Header, expected: Shapes) -> None:
    """A ValueError unless these arrays are there, each of its type and shape."""
    for name, (dtype, shape) in expected.items():
        if name not in header:
            raise ValueError(f"there is no {name} in it")
        found = header[name]
        if found.shape != shape:
            raise ValueError(f"{name} is {found.shape}; the other files expect {shape}")
        if found.dtype != _TYPES[dtype]:
            raise ValueError(f"{name} is of the type {found.dtype}; expected {_TYPES[dtype]}")
