"""The command that looks at the installation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from adhominem.cli import options as opt

if TYPE_CHECKING:
    from adhominem.jobs.doctor import Checkup


@click.command()
@click.option("--model", metavar="MODEL", help="Try this model, too: a name or a folder.")
@opt.json
def doctor(model: str | None, as_json: bool) -> None:
    """Is everything installed, and does it work?

    Shows the version, the models (each is loaded and tried), the devices and cores, which parts run
    in C, and which extras are missing and what they would add. A missing extra is not an error.
    Exit status: 0 if all is well, 1 if something is broken.

    \b
        adhominem doctor
        adhominem doctor --json
    """
    from adhominem.cli.terminal import print_result, say
    from adhominem.jobs.doctor import examine

    checkup = examine(model)
    if as_json:
        print_result(checkup)
    else:
        for name, told in _lines(checkup):
            say(f"{name:<10}  {told}")
    if checkup.problems:
        sys.exit(1)


def _lines(checkup: Checkup) -> Iterator[tuple[str, str]]:
    """What is shown to people: a word, and what is said of it."""
    yield "AdHominem", f"{checkup.version}, in {checkup.folder}"
    yield "Python", f"{checkup.python} on {checkup.platform}"
    yield "libraries", ", ".join(f"{one.name} {one.version or '-'}" for one in checkup.libraries)
    for model in checkup.models:
        default = ", used unless you name another" if model.name == checkup.default_model else ""
        state = "calibrated" if model.calibrated else "not calibrated"
        works = f"works, {state}, SHA-256 {model.sha256}"
        yield "model", f"{model.name}: {'broken' if model.problem else works}{default}"
    yield "devices", ", ".join(checkup.devices)
    limits = ", ".join(f"{name}={value}" for name, value in checkup.threads.items())
    yield "cores", f"{checkup.cores}{f' ({limits})' if limits else ''}"
    yield "C", checkup.kernel
    free = f"{checkup.scratch_free_bytes / 1e9:,.1f} GB free"
    yield "disk", f"temporary files go to {checkup.scratch} ({free}); nothing is cached"
    yield (
        "installed",
        ", ".join(one.name for one in checkup.extras if not one.missing) or "no extra",
    )
    missing = [extra for extra in checkup.extras if extra.missing]
    for extra in missing:
        yield "missing", f"{extra.name}: {extra.adds}; lacks {', '.join(extra.missing)}"
    if missing:
        yield "to add one", missing[0].install
    for problem in checkup.problems:
        yield "PROBLEM", problem
    if not checkup.problems:
        yield "result", "nothing is broken"
