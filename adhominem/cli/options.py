"""Arguments and options that several commands have, named like the parameters they are for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

PATH = click.Path(path_type=Path)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def output_option(help: str, *, required: bool = True) -> Decorator:
    """`-o`, for what a command writes."""
    return click.option("-o", "--output", required=required, type=PATH, help=help)


def delta_option(default: float, help: str) -> Decorator:
    """`--delta`, half the width of the band of non-answers."""
    return click.option(
        "--delta",
        default=default,
        show_default=True,
        type=click.FloatRange(0, 0.5, max_open=True),
        help=help,
    )


corpora_argument = click.argument(
    "corpora", metavar="SOURCES...", nargs=-1, required=True, type=PATH
)
output_folder = output_option("The folder to make.")
seed_option = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Repeats a run."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force_option = click.option(
    "--force", is_flag=True, help="Write the output even if nothing is in it."
)
jobs_option = click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes."
)
all_cores_option = click.option(
    "--jobs", default=os.cpu_count() or 1, show_default="all cores", type=click.IntRange(min=1)
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
no_companions_option = click.option(
    "--no-companions",
    is_flag=True,
    help="With `--population input`, draw on no other texts that look to be by the same author.",
)
device_option = click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="cpu, or cuda where there is torch and a GPU.",
)
prior_option = click.option(
    "--prior",
    "prior_same_author",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How probable one author is before the texts are read.",
)
