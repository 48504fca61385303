"""Records: conversion between dataclasses and JSON, and limits on the values of fields.

    to_json(record)         a dataclass as plain dictionaries, lists, numbers and strings
    with_schema(record)     JSON for users, with the version of its schema
    strict_json(value)      plain values as JSON that every program reads
    parsed_json(text)       untrusted JSON as plain values
    from_json(cls, data)    plain values as a dataclass, each checked against its type hint

A limit is part of the type hint of its field: `hop: Annotated[int, Within(1, 1_000)] = 25`. It is
checked when the field is read from JSON and, for subclasses of `Options`, whenever one is made. A
string in the hint is the help that users get: commands, forms and the REST interface are made from
it (`settings_of`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from math import inf, isfinite
from reprlib import Repr
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from adhominem.errors import OptionError, RecordError

SCHEMA = 1  # of JSON for users, by default
# Metadata of a field that is not in the JSON; {"alias": name} gives a field another name there.
UNWRITTEN = MappingProxyType({"json": False})
Record = TypeVar("Record")
_CONSTANTS = {"NaN": None, "Infinity": "inf", "-Infinity": "-inf"}
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character; two of them may be one
_HALF = re.compile("[\ud800-\udfff]")
_SHORT = Repr()
_SHORT.maxlevel = 2  # of a value shown in an error


# Limits of a field


@dataclass(frozen=True)
class Within:
    """A limit to finite numbers from `at_least` to `at_most`, above `above`, below `below`."""

    at_least: float = -inf
    at_most: float = inf
    above: float = -inf
    below: float = inf

    def allows(self, value: Any) -> bool:
        return bool(self.at_least <= value <= self.at_most and self.above < value < self.below)

    def __str__(self) -> str:
        low = f"above {self.above:,}" if self.above > -inf else f"{self.at_least:,}"
        if self.below < inf:
            return f"{low} to below {self.below:,}"
        if self.at_most < inf:
            return f"{low} to {self.at_most:,}"
        return low if self.above > -inf else f"{low} or more"


class OneOf:
    """A limit to one of these strings."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def allows(self, value: Any) -> bool:
        return value in self.choices

    def __str__(self) -> str:
        return " or ".join(map(repr, self.choices))


class SomeOf(OneOf):
    """A limit to some of these strings, which are read in this order without repetition."""

    def allows(self, value: Any) -> bool:
        return set(value) <= set(self.choices)

    def __str__(self) -> str:
        return f"some of {', '.join(map(repr, self.choices))}"


@dataclass(frozen=True)
class Longest:
    """A limit on the characters of a string, or on the entries of a tuple."""

    length: int

    def allows(self, value: Any) -> bool:
        return len(value) <= self.length

    def __str__(self) -> str:
        return f"a length of {self.length:,} at most"


# Common types of options. A model's settings are untrusted, and sizes decide how much memory is
# used, or how long a loop is, when it is read and run: no model comes near the largest.
Size = Annotated[int, Within(1, 2**24)]
SizeOrNone = Annotated[int, Within(0, 2**24)]  # 0 leaves it out
Seed = Annotated[int, Within(0)]
Share = Annotated[float, Within(0, 1)]
ShareBelow1 = Annotated[float, Within(0, below=1)]
Positive = Annotated[float, Within(above=0)]
NotNegative = Annotated[float, Within(0)]


class Options:
    """The base of options, dataclasses that raise OptionError for values of wrong type or size.

    An int for a float, or a list for a tuple, as in JSON, is converted. `ordered` names fields that
    limit each other: `("shortest", "<=", "longest")`.
    """

    ordered: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    def __post_init__(self) -> None:
        for name, value in self.checked(vars(self)).items():
            object.__setattr__(self, name, value)

    @classmethod
    def checked(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of some fields, as the fields will have them."""
        made, options = dict(values), cast(Any, cls)
        for name, hint in _hints(options).items():
            if name in made:
                try:
                    made[name] = _read(hint, made[name], name)
                except RecordError as error:
                    raise OptionError(str(error)) from None
        for name, sign, limit in cls.ordered:
            if name in made and limit in made:
                value, most = made[name], made[limit]
                if value > most or (sign == "<" and value == most):
                    raise OptionError(
                        f"{name} is {value}, {limit} {most}; expected {name} {sign} {limit}"
                    )
        return made


@dataclass(frozen=True)
class Offered:
    """A note in a type hint: what a setting is called where it is offered, and where it is not."""

    option: str = ""  # of the command; empty: named after the field
    field: str = ""  # of the form; the same
    to: tuple[str, ...] = ("command", "rest", "form")
    served: Within | None = None  # a narrower limit, for what a server is asked for


@dataclass(frozen=True)
class Setting:
    """A field of options, as offered to users."""

    name: str
    kind: type  # int, float, bool or str
    limit: Any  # a `Within` or a `OneOf`; None without one
    default: Any
    help: str
    offered: Offered = Offered()

    @property
    def field(self) -> str:
        return self.offered.field or self.name

    @property
    def served(self) -> Any:
        return self.offered.served or self.limit


def notes_of(cls: Any) -> dict[str, tuple[Any, list[Any]]]:
    """The fields of a dataclass by name: the type of each, and the notes in its hint."""
    of_fields = {}
    for name, hint in _hints(cls).items():
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else [hint]
        of_fields[name] = kind, notes
    return of_fields


def settings_of(cls: Any, to: str = "") -> tuple[Setting, ...]:
    """The fields of options that have a help; those that are offered `to` a place, if it is one."""
    settings = []
    defaults = {field.name: field.default for field in fields(cls)}
    for name, (kind, notes) in notes_of(cls).items():
        if get_origin(kind) in (UnionType, Union):
            kind = _not_none(kind)
        offered = next((note for note in notes if isinstance(note, Offered)), Offered())
        limit = next((note for note in notes if hasattr(note, "allows")), None)
        settings += [
            Setting(name, kind, limit, defaults[name], note, offered)
            for note in notes
            if isinstance(note, str) and (not to or to in offered.to)
        ]
    return tuple(settings)


# Writing


def to_json(value: Any) -> Any:
    """A value with dataclasses as dictionaries, tuples as lists, all else unchanged."""
    if is_dataclass(value) and not isinstance(value, type):
        written = _written(type(value)).items()
        return {name: to_json(getattr(value, field.name)) for name, field in written}
    if isinstance(value, dict):
        return {name: to_json(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(entry) for entry in value]
    return value


def with_schema(record: Any, schema: int = SCHEMA) -> dict[str, Any]:
    """A record or a dictionary as JSON for users, with the version of its `schema`.

    The version grows when a key is removed or changes its meaning. A dictionary that has a version
    keeps it.
    """
    return {"schema": schema, **to_json(record)}


def strict_json(value: object, indent: int | None = None) -> str:
    """Plain values as strict JSON: NaN as null, infinity as a string, letters unescaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if "NaN" in text or "Infinity" in text:  # maybe only in a string: then nothing changes
        plain = json.loads(text, parse_constant=_CONSTANTS.__getitem__)
        text = json.dumps(plain, ensure_ascii=False, indent=indent)
    return text


# Reading


def parsed_json(data: bytes | str) -> Any:
    """The plain values in JSON in UTF-8; every error is a ValueError."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = json.loads(text)
        if _ESCAPED_HALF.search(text):  # it could not be shown or written
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parsed_files(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The plain values in JSON files, by name; the error in place of what cannot be parsed."""
    parsed: dict[str, Any] = {}
    for name, data in files.items():
        try:
            parsed[name] = parsed_json(data)
        except (ValueError, MemoryError) as error:
            parsed[name] = error
    return parsed


def from_json(cls: type[Record], data: Any, path: str = "", *, schema: int | None = None) -> Record:
    """The dataclass that `to_json` wrote as `data`, with every value checked by its type hint.

    With a `schema`, `data` is from `with_schema`, and any other version is refused.

    Missing fields have their defaults. Anything else that does not fit raises a RecordError, which
    is an OptionError and a ValueError, with the path to it: "config.lev_size".
    """
    path = path or cls.__name__
    if schema is not None:
        if not isinstance(data, dict) or data.get("schema") != schema:
            raise RecordError(f"{path} is not of schema {schema}")
        data = {name: value for name, value in data.items() if name != "schema"}
    record: Record = _read(cls, data, path)
    return record


def _read(hint: Any, value: Any, path: str) -> Any:
    """A plain value as a value of the hinted type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        read = _read(inner[0], value, path)
        for limit in inner[1:]:
            if read is None or not hasattr(limit, "allows"):  # the help, for example
                continue
            _expect(limit.allows(read), read, limit, path)
            if isinstance(limit, SomeOf):
                read = tuple(choice for choice in limit.choices if choice in read)
        return read
    if origin in (UnionType, Union):  # X | None
        if value is None:
            _expect(NoneType in inner, value, str(hint), path)
            return None
        return _read(_not_none(hint), value, path)
    if origin in (tuple, list):
        _expect(isinstance(value, tuple | list), value, "a list", path)
        hints = inner if origin is tuple and inner[-1] is not Ellipsis else inner[:1] * len(value)
        _expect(len(hints) == len(value), value, f"{len(hints)} entries", path)
        entries = enumerate(zip(hints, value, strict=True))
        return origin(_read(hint, entry, f"{path}[{at}]") for at, (hint, entry) in entries)
    if origin is dict:
        _expect(isinstance(value, dict), value, "an object", path)
        return {
            _read(inner[0], name, path): _read(inner[1], entry, f"{path}[{_SHORT.repr(name)}]")
            for name, entry in value.items()
        }
    if is_dataclass(hint):
        return value if isinstance(value, hint) else _read_record(hint, value, path)  # type: ignore[arg-type]
    if hint is float and type(value) is int and abs(value) < 2**1023:
        value = float(value)
    _expect(type(value) is hint, value, getattr(hint, "__name__", str(hint)), path)
    _expect(hint is not float or isfinite(value), value, "a finite number", path)
    _expect(hint is not str or not _HALF.search(value), value, "whole characters", path)
    return value


def _not_none(hint: Any) -> Any:
    """X of a hint `X | None`."""
    (kind,) = (member for member in get_args(hint) if member is not NoneType)
    return kind


def _read_record(cls: Any, value: Any, path: str) -> Any:
    _expect(isinstance(value, dict), value, "an object", path)
    known = _written(cls)
    if unknown := sorted(set(value) - set(known)):
        raise RecordError(f"{path}: unknown keys: {_SHORT.repr(unknown)[1:-1]}")
    for name, field in known.items():
        if name not in value and field.default is MISSING and field.default_factory is MISSING:
            raise RecordError(f"{path}.{name} is missing")
    hints = _hints(cls)
    read = {
        known[name].name: _read(hints[known[name].name], entry, f"{path}.{name}")
        for name, entry in value.items()
    }
    try:
        return cls(**read)
    except OptionError as error:  # inconsistent fields
        raise RecordError(f"{path}: {error}") from None


def _expect(fits: bool, value: Any, expected: object, path: str) -> None:
    if not fits:
        raise RecordError(f"{path} is {_SHORT.repr(value)}; expected {expected}")


@cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def _written(cls: Any) -> dict[str, Field[Any]]:
    """The fields that are in the JSON of a dataclass, by their names there."""
    return {
        field.metadata.get("alias", field.name): field
        for field in fields(cls)
        if field.metadata.get("json", True)
    }


# Configurations, whose settings can be changed one by one: `--set encoder.lev_size=80`


class BaseConfig(Options):
    """The base of configurations: dataclasses of options, possibly in groups."""

    # Settings of earlier versions, with the value that corresponds to today's behaviour.
    dropped: ClassVar[tuple[tuple[str, object], ...]] = ()

    def with_setting(self, setting: str) -> Self:
        """A copy with one setting changed: `encoder.lev_size=80`, `data.windows.hop=20`."""
        return self.with_settings([setting])

    def with_settings(self, settings: Sequence[str]) -> Self:
        """A copy with some settings changed; only the final result must be consistent."""
        data: Any = self.to_json()
        for setting in settings:
            path, equals, value = setting.partition("=")
            if not equals:
                problem = f"'{setting}' is not a setting"
                raise OptionError(f"{problem}; expected one like encoder.lev_size=80")
            *groups, name = path.split(".")
            place = data
            for group in groups:
                place = _known(place, group, path)
            before = _known(place, name, path)
            if isinstance(before, dict):
                raise OptionError(f"'{path}' is a group of settings; expected one like {path}.NAME")
            place[name] = value if isinstance(before, str) else _parsed(value)
        return self.from_json(data)

    def to_json(self) -> dict[str, Any]:
        written: dict[str, Any] = to_json(self)
        return written

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The config that `to_json` wrote, or an earlier version's.

        Missing settings have their defaults, since new ones default to the earlier behaviour;
        unknown ones raise OptionError.
        """
        for path, value in cls.dropped:
            data = _without(data, path.split("."), value)
        return from_json(cls, data, "config")


def pick_preset(name: str, presets: Mapping[str, Record]) -> Record:
    if name not in presets:
        raise OptionError(f"there is no preset '{name}'; expected one of: {', '.join(presets)}")
    return presets[name]


def _known(place: Any, name: str, path: str) -> Any:
    if not isinstance(place, dict):
        raise OptionError(f"'{path}' is a part of a setting; expected one like encoder.lev_size")
    if name not in place:
        raise OptionError(f"there is no setting '{path}'; expected one of: {', '.join(place)}")
    return place[name]


def _without(data: Any, path: Sequence[str], value: object) -> Any:
    """A copy without a setting, if that has this value."""
    name, *rest = path
    if not isinstance(data, dict) or name not in data:
        return data
    if rest:
        return {**data, name: _without(data[name], rest, value)}
    if type(data[name]) is not type(value) or data[name] != value:
        return data
    return {key: entry for key, entry in data.items() if key != name}


def _parsed(value: str) -> object:
    """A setting's text parsed as JSON, or else the text itself, which its limit may refuse."""
    try:
        return json.loads(value.lower() if value in ("True", "False") else value)
    except ValueError:
        return value
