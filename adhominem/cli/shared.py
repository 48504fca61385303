"""What the commands share: arguments, options, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from adhominem.errors import InputError, OptionError
from adhominem.text.files import DEFAULT_MOST_BYTES, reading_at_most

if TYPE_CHECKING:
    from adhominem.text.pan import Pair
    from adhominem.text.readers import Source

Row = TypeVar("Row")

SKIPPED_STATUS = 3


sources_argument = click.argument(
    "sources", nargs=-1, required=True, type=click.Path(path_type=Path)
)
output_folder = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to make."
)
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


def _limit_texts(context: click.Context, parameter: click.Parameter, count: int) -> None:
    context.with_resource(reading_at_most(count))


# Of every command that reads texts: the group adds it to them.
max_bytes_option = click.Option(
    ["--max-bytes"],
    default=DEFAULT_MOST_BYTES,
    show_default=True,
    type=click.IntRange(min=1),
    expose_value=False,
    callback=_limit_texts,
    help="The largest text to read, in bytes once unpacked; in a table, the longest line.",
)


def find_all(paths: tuple[Path, ...]) -> tuple[list[Source], int]:
    """The corpora at all these paths, and their bytes."""
    from adhominem.text.files import note_input
    from adhominem.text.readers import find_sources

    sources = [source for path in paths for source in find_sources(path)]
    for source in sources:
        for file in source.files():
            note_input(file)
    return sources, sum(source.size() for source in sources)


def skip_list() -> list[InputError]:
    """Where bad rows go; they are shown when the command ends, be it by an error."""
    from adhominem.cli.terminal import list_skipped

    skipped: list[InputError] = []
    click.get_current_context().call_on_close(lambda: list_skipped(skipped))
    return skipped


def finish(skipped: list[InputError]) -> None:
    """End the command, and say whether anything was left out."""
    sys.exit(SKIPPED_STATUS if skipped else 0)


def read_all_pairs(path: Path, skipped: list[InputError]) -> list[Pair]:
    """The pairs of a set; what cannot be read is skipped."""
    from adhominem.text.readers import read_pairs

    return list(read_pairs(path, skipped=skipped))


def read_pair_sets(paths: tuple[Path, ...], skipped: list[InputError]) -> dict[str, list[Pair]]:
    """The pairs of several sets by name; what cannot be read is skipped."""
    sets: dict[str, list[Pair]] = {}
    for path in paths:
        name = path.resolve().name
        if name in sets:
            raise OptionError(f"two pair sets are named '{name}'; rename one")
        sets[name] = read_all_pairs(path, skipped)
    return sets


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


@contextmanager
def answering(
    read: Callable[[Callable[[int], None]], Iterable[Row]], size: int, *, population: bool
) -> Iterator[tuple[Iterator[Row], Callable[[int], None]]]:
    """The cases that are read, and what hears of a population's texts: a bar each, in turn."""
    from adhominem.cli.terminal import counting, progress

    with ExitStack() as bar:

        def cases() -> Iterator[Row]:
            bar.close()  # where cases are read, the population is known
            yield from read(bar.enter_context(progress("answering", size)))

        if population:
            yield cases(), bar.enter_context(counting("population", None))
        else:
            yield cases(), lambda texts: None


def check_companions(population: str | None, no_companions: bool) -> None:
    """That the option is not given in vain."""
    if no_companions and population != "input":
        raise click.UsageError("--no-companions is for `--population input`")


def told_of_companions(found: bool, texts: int) -> str:
    """In words: whether texts of an input that is its own population could draw on each other."""
    from adhominem.scoring.companions import FEWEST, MOST

    if found:
        return (
            f"Texts could draw on companions among {texts:,}: others of the input that look to be "
            "by the same author."
        )
    return (
        "Companions were not looked for: that takes a model that is calibrated for it, and "
        f"{FEWEST} to {MOST:,} different texts."
    )


device_option = click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="cpu, or cuda where there is torch and a GPU.",
)
prior_option = click.option(
    "--prior",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How probable one author is before the texts are read.",
)
