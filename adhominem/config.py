"""Configurations whose settings can be changed one by one: `--set encoder.lev_size=80`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from adhominem.errors import OptionError
from adhominem.records import Options, from_json, to_json

Preset = TypeVar("Preset")


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
                raise OptionError(
                    f"'{setting}' is not a setting; expected one like encoder.lev_size=80"
                )
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
        """The config as JSON, for `from_json`."""
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


def pick_preset(name: str, presets: Mapping[str, Preset]) -> Preset:
    """The preset of this name."""
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
