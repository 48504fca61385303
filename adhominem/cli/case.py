"""What the commands on one case share: two sides, a model, a population."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adhominem.cli.shared import device_option, model_option, population_option, skip_list

if TYPE_CHECKING:
    from adhominem.errors import InputError
    from adhominem.scoring.population import Population
    from adhominem.text.exhibits import Exhibit
    from adhominem.verify.verifier import Verifier

also_first_option = click.option(
    "--also-first", multiple=True, metavar="FILE", help="One more text of the first side."
)
also_second_option = click.option(
    "--also-second", multiple=True, metavar="FILE", help="One more of the second side."
)
_OPTIONS = (
    click.argument("first"),
    click.argument("second"),
    model_option,
    also_first_option,
    also_second_option,
    click.option("--topic-first", default="", metavar="TEXT", help="What the first side is about."),
    click.option("--topic-second", default="", metavar="TEXT", help="What the second is about."),
    population_option,
    device_option,
)
delta_option = click.option(
    "--delta",
    default=0.125,
    show_default=True,
    type=click.FloatRange(0, 0.5, max_open=True),
    help="Undecided within 0.5 +- delta.",
)
scale_option = click.option(
    "--scale", type=click.Path(path_type=Path), help="A verbal scale of your own, as JSON."
)


@dataclass(frozen=True)
class Case:
    """The texts of both sides, and what they are compared with."""

    verifier: Verifier
    first: list[Exhibit]
    second: list[Exhibit]
    population: Population | None
    skipped: list[InputError]  # texts of the population


def case_options(command: Callable[..., None]) -> Callable[..., None]:
    """Arguments and options of a case; the command gets a `Case` instead of them."""

    @wraps(command)
    def with_case(
        first: str,
        second: str,
        model: str,
        also_first: tuple[str, ...],
        also_second: tuple[str, ...],
        topic_first: str,
        topic_second: str,
        population: str | None,
        device: str,
        **others: Any,
    ) -> None:
        check_sides(first, second)
        from adhominem.models.shipped import model_folder
        from adhominem.text.exhibits import read_exhibits
        from adhominem.text.files import note_input
        from adhominem.verify.verifier import load

        verifier = load(model, device=device)
        for file in model_folder(model).rglob("*"):
            note_input(file)
        sides = (
            read_exhibits([first, *also_first], topic_first),
            read_exhibits([second, *also_second], topic_second),
        )
        skipped = skip_list()
        relevant = None
        if population is not None:
            relevant = population_at(population, model, verifier, skipped)
        command(Case(verifier, *sides, relevant, skipped), **others)

    for option in reversed(_OPTIONS):
        with_case = option(with_case)
    return with_case


def check_sides(first: str, second: str) -> None:
    """Standard input can be read but once."""
    if first == second == "-":
        raise click.UsageError("both sides are standard input; expected at most one")


def population_at(
    path: str, model: str, verifier: Verifier, skipped: list[InputError]
) -> Population:
    """The relevant population of the texts at a path."""
    from adhominem.cli.terminal import counting
    from adhominem.jobs.population import read_population
    from adhominem.jobs.workers import encoder

    with (
        encoder(model, verifier, jobs=1) as encode,
        counting("population", None) as on_documents,
    ):
        return read_population(
            path, encode, verifier=verifier, skipped=skipped, on_documents=on_documents
        )
