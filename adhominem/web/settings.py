"""Settings of a question in a request and in a form, made from its dataclass of options.

The options say once what a setting is, which values it may have, and what it is for
(`records.settings_of`); what a REST request may hold, and what a form shows and sends, follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, Field, create_model

from adhominem.errors import OptionError
from adhominem.records import OneOf, Options, Setting, Within, settings_of
from adhominem.web.failures import RequestError

Asked = TypeVar("Asked", bound=Options)
TICKED = "yes"  # what a box that is ticked sends
_LONGEST_NUMBER = 20  # characters


def with_settings(request: type[BaseModel], options: type[Options]) -> type[Any]:
    """A request with a field for each setting of options, behind its own."""
    fields = {setting.name: (setting.kind, _field(setting)) for setting in settings_of(options)}
    model: type[Any] = create_model(  # type: ignore[call-overload]
        request.__name__, __base__=request, __module__=request.__module__, **fields
    )
    model.__doc__ = request.__doc__
    return model


def _field(setting: Setting) -> Any:
    limits: dict[str, Any] = {}
    if isinstance(setting.limit, Within):
        ends = {
            "ge": setting.limit.at_least,
            "gt": setting.limit.above,
            "le": setting.limit.at_most,
            "lt": setting.limit.below,
        }
        limits = {name: end for name, end in ends.items() if abs(end) != float("inf")}
    elif isinstance(setting.limit, OneOf):
        limits = {"json_schema_extra": {"enum": list(setting.limit.choices)}}
    return Field(setting.default, description=setting.help, **limits)


def settings_in(request: BaseModel, options: type[Asked]) -> Asked:
    """The options that a request of `with_settings` holds."""
    return options(**{one.name: getattr(request, one.name) for one in settings_of(options)})


def first_values(options: type[Options]) -> dict[str, str]:
    """What the fields of a form hold at first, by name; "" is a box that is not ticked."""
    return {
        one.name: (TICKED if one.default else "") if one.kind is bool else f"{one.default:g}"
        for one in settings_of(options)
    }


def read_settings(values: Mapping[str, str], options: type[Asked]) -> Asked:
    """The options that the fields of a form hold; a RequestError if one of them cannot be used."""
    read = {one.name: _value(one, values[one.name].strip()) for one in settings_of(options)}
    try:
        return options(**read)
    except OptionError as error:
        raise RequestError(422, "WrongSetting", str(error)) from None


def _value(setting: Setting, text: str) -> Any:
    if setting.kind is bool:
        return text == TICKED
    if setting.kind is str:
        return text
    try:
        number = text.replace(",", ".") if setting.kind is float else text
        if len(number) > _LONGEST_NUMBER or not number.isascii():
            raise ValueError
        value = setting.kind(number)
        if setting.limit is not None and not setting.limit.allows(value):
            raise ValueError
    except ValueError:
        article = "a whole number" if setting.kind is int else "a number"
        limit = "" if setting.limit is None else f", {setting.limit}"
        name = setting.name.replace("_", " ")
        raise RequestError(
            422, "WrongSetting", f"{name}: {text!r} cannot be used; expected {article}{limit}"
        ) from None
    return value
