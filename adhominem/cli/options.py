"""Arguments and options that several commands have, named like the parameters they are for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any

import click

from adhominem.records import OneOf, Setting


class _NotEmpty(click.ParamType[Any]):
    """Refuses "", which an unset variable of a shell leaves; to Path, it is the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "" and (param is None or param.default != ""):
            self.fail("it is empty, perhaps by an unset variable; expected a value", param, ctx)
        return super().convert(value, param, ctx)


class _DeltaOrAuto(click.FloatRange):
    """A delta, or the word `auto`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "auto" else super().convert(value, param, ctx)


class _Path(_NotEmpty, click.Path):
    pass


class _Text(_NotEmpty, click.types.StringParamType):
    pass


PATH, TEXT = _Path(path_type=Path), _Text()
PRIOR = click.FloatRange(0, 1, min_open=True, max_open=True)
ONE_OR_MORE = click.IntRange(min=1)
DELTA_OR_AUTO = _DeltaOrAuto(0, 0.5, max_open=True)
Job = dict[str, Any]  # `skipped`, a list for what cannot be read, and `watch`, for the progress
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def setting(one: Setting) -> Decorator:
    """An option for a setting of a dataclass of options."""
    is_shown = one.kind is not bool and one.default not in (None, "")
    return click.option(
        one.offered.option or f"--{one.name.replace('_', '-')}",
        one.name,
        default=one.default,
        show_default=is_shown,
        is_flag=one.kind is bool,
        type=_kind(one),
        help=one.help,
    )


def _kind(setting: Setting) -> click.ParamType[Any] | None:
    """What a setting may be, as click checks it."""
    limit = setting.limit
    if setting.kind is bool or limit is None:
        return TEXT if setting.kind is str else None
    if isinstance(limit, OneOf):
        return click.Choice(limit.choices)
    low, high = max(limit.at_least, limit.above), min(limit.at_most, limit.below)
    least, most = (end if isfinite(end) else None for end in (low, high))
    if setting.kind is int:
        return click.IntRange(least, most)
    above, below = limit.above > -inf, limit.below < inf
    return click.FloatRange(least, most, min_open=above, max_open=below)


def output(help: str, *, required: bool = True) -> Decorator:
    """`-o`, for what a command writes."""
    return click.option("-o", "--output", required=required, type=PATH, help=help)


def path(name: str, help: str, **settings: Any) -> Decorator:
    """A file or folder; the name of the parameter follows where it is another: `--pairs sets`."""
    return click.option(*name.split(), type=PATH, help=help, **settings)


def number(
    name: str, default: float, help: str, *, of: click.ParamType[Any] = ONE_OR_MORE
) -> Decorator:
    """A number with a default that the help shows; `name` is as for `path`."""
    return click.option(*name.split(), default=default, show_default=True, type=of, help=help)


def choice(
    name: str, choices: Sequence[str], help: str, *, default: str | None = None
) -> Decorator:
    """One of several words; the help shows the default if there is one."""
    shown, words = default is not None, click.Choice(choices)
    return click.option(name, type=words, default=default, show_default=shown, help=help)


def flag(name: str, help: str) -> Decorator:
    """A switch that is off unless it is given."""
    return click.option(name, is_flag=True, help=help)


def text(name: str, help: str, metavar: str = "TEXT", default: str = "") -> Decorator:
    """A word, or a line of the user's own; the help shows the default if there is one."""
    shown = bool(default)
    return click.option(name, default=default, show_default=shown, metavar=metavar, help=help)


def population(
    metavar: str = "PATH",
    help: str = "Texts of the same genre by anybody: a folder, or a file of texts or pairs.",
) -> Decorator:
    """Where the texts of a relevant population lie, and what else can be said instead."""
    return click.option("--population", metavar=metavar, help=help)


json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def runs_job(function: Callable[..., None]) -> Callable[..., None]:
    """Add `--json`, and give the function first what jobs take beside options: see `Job`."""
    return json(click.pass_obj(function))


corpora = click.argument("corpora", metavar="SOURCES...", nargs=-1, required=True, type=PATH)
output_folder = output("The folder to make.")
seed = number("--seed", 0, "Repeats a run.", of=click.IntRange(min=0))
force = flag("--force", "Write the output even if nothing is in it.")
jobs = click.option(
    "--jobs",
    type=ONE_OR_MORE,
    show_default="all cores, for long work",
    help="Worker processes.",
)
engine = choice(
    "--engine",
    ["local", "ray"],
    "Encode texts on this machine, or on the Ray cluster at RAY_ADDRESS.",
    default="local",
)
all_cores = click.option(
    "--jobs", default=os.cpu_count() or 1, show_default="all cores", type=ONE_OR_MORE
)
model = click.option(
    "--model",
    envvar="ADHOMINEM_MODEL",
    default=None,
    show_default="by the language of the texts; general-en for English",
    help="A shipped model, or a model's folder; or set ADHOMINEM_MODEL.",
)
fixed_model = click.option(
    "--model",
    envvar="ADHOMINEM_MODEL",
    default="general-en",
    show_default=True,
    help="A shipped model, or a model's folder; or set ADHOMINEM_MODEL.",
)
language = text(
    "--language",
    "The language of all texts, by its code, such as de.  [default: found from them]",
    metavar="CODE",
)
device = text("--device", "cpu, or cuda where there is torch and a GPU.", default="cpu")
prior = number(
    "--prior prior_same_author",
    0.5,
    "How probable one author is before the texts are read.",
    of=PRIOR,
)
