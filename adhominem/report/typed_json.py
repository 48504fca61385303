"""Dataclasses to plain JSON and back, with every type checked on the way."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from math import isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Built = TypeVar("Built")
_HALF = re.compile("[\ud800-\udfff]")  # of a character: no file can hold it


def as_json(value: Any) -> Any:
    """Dataclasses as dictionaries, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(each) for each in value]
    return value


def from_json(genre: type[Built], data: Any) -> Built:
    """A dataclass from what `as_json` made of it; a ValueError if it is not that."""
    built = _read(genre, data, genre.__name__)
    assert isinstance(built, genre)
    return built


def _read(genre: Any, data: Any, name: str) -> Any:
    origin, inner = get_origin(genre), get_args(genre)
    if origin is UnionType:  # X | None
        if data is None and NoneType in inner:
            return None
        (genre,) = (each for each in inner if each is not NoneType)
        return _read(genre, data, name)
    if origin is tuple:
        return _read_tuple(inner, data, name)
    if origin is dict:
        _check(isinstance(data, dict), name)
        return {str(key): _read(inner[1], each, name) for key, each in data.items()}
    if is_dataclass(genre):
        return _read_dataclass(genre, data, name)
    if genre is float and isinstance(data, int) and not isinstance(data, bool):
        try:
            data = float(data)
        except OverflowError:
            raise ValueError(f"{name} is not what it should be") from None
    _check(type(data) is genre and (genre is not float or isfinite(data)), name)
    _check(genre is not str or not _HALF.search(data), name)
    return data


def _read_tuple(inner: tuple[Any, ...], data: Any, name: str) -> tuple[Any, ...]:
    _check(isinstance(data, list), name)
    genres = [inner[0]] * len(data) if inner[-1] is Ellipsis else list(inner)
    _check(len(genres) == len(data), name)
    return tuple(_read(genre, each, name) for genre, each in zip(genres, data, strict=True))


def _read_dataclass(genre: Any, data: Any, name: str) -> Any:
    hints = get_type_hints(genre)
    _check(isinstance(data, dict) and set(data) <= set(hints), name)
    read = {each: _read(hints[each], data[each], f"{name}.{each}") for each in data}
    try:
        return genre(**read)
    except TypeError as error:  # something is missing
        raise ValueError(str(error)) from None


def _check(fits: bool, name: str) -> None:
    if not fits:
        raise ValueError(f"{name} is not what it should be")
