"""The command that looks at the installation: what is there, what is missing, what is broken."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from math import isfinite
from pathlib import Path

import click

import adhominem
from adhominem.cli import options as opt
from adhominem.compiled import parts_in_c, what_runs
from adhominem.errors import AdHominemError, how_to_install
from adhominem.processes import cores

EXTRAS = {  # what each adds
    "documents": "reading .pdf files",
    "evaluate": "figures, and the baseline systems",
    "report": "case reports as PDF and as Word files",
    "serve": "the web page and the REST interface",
    "parquet": "text vectors as a Parquet table",
    "train": "training models, and comparing texts on a GPU",
    "milvus": "indexes of texts in a Milvus database",
    "ray": "encoding on several machines",
    "docs": "building the documentation",
}
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?([^;]*)(?:;.*extra == ['\"](\w+)['\"])?")
_SAMPLE = "It was late, and nobody had come; so we shut the door, put out the lamp, and waited. "


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library that AdHominem or one of its extras requires."""

    name: str
    requirement: str  # like >=1.26; empty: any version
    version: str | None  # the installed version; None if it is missing
    fits: bool


@dataclass(frozen=True, kw_only=True)
class ExtraState:
    """An extra, and which of its libraries are not installed."""

    name: str
    adds: str
    missing: tuple[str, ...]  # libraries, those that are too old included
    install: str  # the command that adds it


@dataclass(frozen=True, kw_only=True)
class ModelState:
    """A model that was loaded to compare two short texts; `problem` is empty if that worked."""

    name: str
    sha256: str = ""
    calibrated: bool = False
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Checkup:
    """What an installation consists of, and what is wrong with it."""

    version: str
    folder: str  # of the package
    python: str
    platform: str
    libraries: tuple[Library, ...]  # that AdHominem cannot do without
    extras: tuple[ExtraState, ...]
    models: tuple[ModelState, ...]
    devices: tuple[str, ...]  # for --device
    cores: int
    compiled: dict[str, bool]  # the parts in C, and whether they run
    problems: tuple[str, ...]  # each with its remedy; with any of them, the installation is broken


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

    checkup = examine(model)
    if as_json:
        print_result(checkup)
    else:
        for name, line in _lines(checkup):
            say(f"{name:<10}  {line}")
    if checkup.problems:
        sys.exit(1)


def _lines(checkup: Checkup) -> Iterator[tuple[str, str]]:
    """What is shown to people: a word, and what is said of it."""
    yield "AdHominem", f"{checkup.version}, in {checkup.folder}"
    yield "Python", f"{checkup.python} on {checkup.platform}"
    yield "libraries", ", ".join(f"{one.name} {one.version or '-'}" for one in checkup.libraries)
    for model in checkup.models:
        state = "calibrated" if model.calibrated else "not calibrated"
        works = f"works, {state}, SHA-256 {model.sha256}"
        yield "model", f"{model.name}: {'broken' if model.problem else works}"
    yield "devices", f"{', '.join(checkup.devices)}; {checkup.cores} cores"
    yield "C", what_runs()
    present = [extra.name for extra in checkup.extras if not extra.missing]
    yield "installed", ", ".join(present) or "no extra"
    for extra in checkup.extras:
        if extra.missing:
            lacks = f"lacks {', '.join(extra.missing)}; {extra.install}"
            yield "missing", f"{extra.name}: {extra.adds}; {lacks}"
    for problem in checkup.problems:
        yield "PROBLEM", problem
    if not checkup.problems:
        yield "result", "nothing is broken"


def examine(model: str | Path | None = None) -> Checkup:
    """Check this installation, and try each shipped model and, if given, another one.

    A missing extra is not reported as a problem: not everybody needs it.
    """
    required = _required()
    libraries = required.get("", [])
    problems = [*_library_problems(libraries)]
    models = list[ModelState]()
    try:
        from adhominem.model.folder import DEFAULT_MODEL, shipped_models

        default = os.environ.get("ADHOMINEM_MODEL") or DEFAULT_MODEL
        named = [] if model is None else [str(model)]
        models += map(_try_model, dict.fromkeys([*shipped_models(), default, *named]))
    except ImportError as error:  # even NumPy may be missing, and this must say so
        problems.append(f"AdHominem cannot be loaded ({error}); install it again")
    devices, device_problem = _devices()
    problems += [f"the model {state.name}: {state.problem}" for state in models if state.problem]
    return Checkup(
        version=adhominem.__version__,
        folder=str(Path(__file__).parents[1]),
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(),
        libraries=tuple(libraries),
        extras=tuple(
            ExtraState(
                name=name,
                adds=adds,
                missing=tuple(one.name for one in required.get(name, ()) if not one.fits),
                install=how_to_install(name),
            )
            for name, adds in EXTRAS.items()
        ),
        models=tuple(models),
        devices=devices,
        cores=cores(),
        compiled=parts_in_c(),
        problems=(*problems, *([device_problem] if device_problem else [])),
    )


def _required() -> dict[str, list[Library]]:
    """The libraries that each extra requires, by the extra's name; "" is the core."""
    by_extra: dict[str, list[Library]] = {}
    try:
        lines = metadata.requires("adhominem") or []
    except metadata.PackageNotFoundError:
        lines = []
    for match in filter(None, map(_REQUIREMENT.match, lines)):
        name, requirement = match[1], match[2].strip()
        version = _installed(name)
        fits = version is not None and _fits(version, requirement)
        library = Library(name=name, requirement=requirement, version=version, fits=fits)
        by_extra.setdefault(match[3] or "", []).append(library)
    return by_extra


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _fits(version: str, requirement: str) -> bool:
    """Whether a version meets a requirement's lower bound; other bounds are left to pip."""
    bounds = re.findall(r">=\s*([\w.]+)", requirement)
    return all(_numbers(version) >= _numbers(bound) for bound in bounds)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", version.partition("+")[0]))


def _library_problems(libraries: list[Library]) -> Iterator[str]:
    if not libraries:
        yield "AdHominem's requirements are unknown: it is not installed; run pip install"
    for library in libraries:
        wanted = f"pip install '{library.name}{library.requirement}'"
        if library.version is None:
            yield f"{library.name} is not installed; run {wanted}"
        elif not library.fits:
            yield (
                f"{library.name} {library.version} does not fit {library.requirement}; run {wanted}"
            )


def _try_model(name: str) -> ModelState:
    """Load a model and let it compare two texts, which takes it through the whole chain."""
    from adhominem.verify.verifier import load

    try:
        result = load(name).verify(_SAMPLE * 10, _SAMPLE * 9)
    except (AdHominemError, OSError) as error:
        return ModelState(name=name, problem=str(error))
    calibrated = result.lower_bound is not None
    problem = "" if isfinite(result.log10_bayes_factor) else "its Bayes factor is not finite"
    return ModelState(name=name, sha256=result.model_sha256, calibrated=calibrated, problem=problem)


def _devices() -> tuple[tuple[str, ...], str]:
    """The devices that `--device` accepts, and the error if torch cannot be loaded."""
    if _installed("torch") is None:
        return ("cpu",), ""
    try:
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        names = [f"cuda:{at} ({torch.cuda.get_device_name(at)})" for at in range(count)]
    except Exception as error:  # a torch built for another machine fails in many ways
        return ("cpu",), f"torch is installed, but cannot be used ({error}); install it again"
    return ("cpu", *names), ""
