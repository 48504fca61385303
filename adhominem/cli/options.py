"""Arguments and options that several commands have, named like the parameters they are for."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

PATH = click.Path(path_type=Path)
PRIOR = click.FloatRange(0, 1, min_open=True, max_open=True)
DELTA = click.FloatRange(0, 0.5, max_open=True)
ONE_OR_MORE = click.IntRange(min=1)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def output_option(help: str, *, required: bool = True) -> Decorator:
    """`-o`, for what a command writes."""
    return click.option("-o", "--output", required=required, type=PATH, help=help)


def path_option(name: str, help: str, *, into: str = "", **settings: Any) -> Decorator:
    """A file or folder, for the parameter `into` if that has another name."""
    names = (name, into) if into else (name,)
    return click.option(*names, type=PATH, help=help, **settings)


def number_option(
    name: str, default: float, help: str, *, of: click.ParamType[Any] = ONE_OR_MORE, into: str = ""
) -> Decorator:
    """A number with a default that the help shows; `into` is as for `path_option`."""
    names = (name, into) if into else (name,)
    return click.option(*names, default=default, show_default=True, type=of, help=help)


def choice_option(
    name: str, choices: Sequence[str], help: str, *, default: str | None = None
) -> Decorator:
    """One of several words; the help shows the default if there is one."""
    shown = default is not None
    kind = click.Choice(choices)
    return click.option(name, type=kind, default=default, show_default=shown, help=help)


def flag_option(name: str, help: str) -> Decorator:
    """A switch that is off unless it is given."""
    return click.option(name, is_flag=True, help=help)


def text_option(name: str, help: str, metavar: str = "TEXT") -> Decorator:
    """A line of the user's own words."""
    return click.option(name, default="", metavar=metavar, help=help)


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def job_options(function: Callable[..., None]) -> Callable[..., None]:
    """`--json`, and what jobs take beside options: `skipped` and `watch`."""

    @json_option
    @functools.wraps(function)
    def run(**options: Any) -> None:
        from adhominem.cli.terminal import watch

        function(skipped=click.get_current_context().obj, watch=watch, **options)

    return run


corpora_argument = click.argument(
    "corpora", metavar="SOURCES...", nargs=-1, required=True, type=PATH
)
output_folder = output_option("The folder to make.")
seed_option = number_option("--seed", 0, "Repeats a run.", of=click.IntRange(min=0))
force_option = flag_option("--force", "Write the output even if nothing is in it.")
jobs_option = number_option("--jobs", 1, "Worker processes.")
all_cores_option = click.option(
    "--jobs", default=os.cpu_count() or 1, show_default="all cores", type=ONE_OR_MORE
)
model_option = click.option(
    "--model",
    envvar="ADHOMINEM_MODEL",
    default="general-en",
    show_default=True,
    help="A shipped model, or a model's folder; or set ADHOMINEM_MODEL.",
)
population_option = click.option(
    "--population",
    metavar="PATH",
    help="Texts of the same genre by anybody: a folder, or a file of texts or pairs.",
)
no_companions_option = flag_option(
    "--no-companions",
    "With `--population input`, draw on no other texts that look to be by the same author.",
)
device_option = click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="cpu, or cuda where there is torch and a GPU.",
)
prior_option = number_option(
    "--prior",
    0.5,
    "How probable one author is before the texts are read.",
    of=PRIOR,
    into="prior_same_author",
)
