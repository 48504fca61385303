"""The command that looks at the installation: what is there, what is missing, what is broken."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import tomllib
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
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_FEW_BYTES = 100 << 20  # left for temporary files
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
    sha256: str
    calibrated: bool
    problem: str


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
    default_model: str
    devices: tuple[str, ...]  # for --device
    cores: int
    threads: dict[str, str]  # environment variables that limit the threads of a product
    compiled: dict[str, bool]  # the parts in C, and whether they run
    kernel: str  # their state in a sentence
    scratch: str  # where temporary files go. There is no cache
    scratch_free_bytes: int
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


def examine(model: str | Path | None = None) -> Checkup:
    """Check this installation, and try each shipped model and, if given, another one.

    A missing extra is not reported as a problem: not everybody needs it.
    """
    required = dict(_required())
    libraries = required.pop("", ())
    problems = [*_library_problems(libraries)]
    default, models = "", list[ModelState]()
    try:
        from adhominem.model.folder import DEFAULT_MODEL, shipped_models

        default = os.environ.get("ADHOMINEM_MODEL") or DEFAULT_MODEL
        named = [] if model is None else [str(model)]
        models += map(_try_model, dict.fromkeys([*shipped_models(), default, *named]))
    except ImportError as error:  # even NumPy may be missing, and this must say so
        problems.append(f"AdHominem cannot be loaded ({error}); install it again")
    devices, device_problem = _devices()
    scratch = tempfile.gettempdir()
    free = shutil.disk_usage(scratch).free
    problems += [f"the model {state.name}: {state.problem}" for state in models if state.problem]
    if device_problem:
        problems.append(device_problem)
    if free < _FEW_BYTES:
        problems.append(
            f"only {free >> 20:,} MB are free in {scratch}, where temporary files go; make room, "
            "or set TMPDIR to another folder"
        )
    return Checkup(
        version=adhominem.__version__,
        folder=str(Path(__file__).parents[1]),
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(),
        libraries=libraries,
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
        default_model=default,
        devices=devices,
        cores=cores(),
        threads={name: os.environ[name] for name in _THREADS if name in os.environ},
        compiled=parts_in_c(),
        kernel=what_runs(),
        scratch=scratch,
        scratch_free_bytes=free,
        problems=tuple(problems),
    )


def _required() -> Iterator[tuple[str, tuple[Library, ...]]]:
    """The libraries that each extra requires, by the extra's name; '' is the core."""
    by_extra: dict[str, list[Library]] = {}
    for line in _requirements():
        match = _REQUIREMENT.match(line)
        if match is not None and match[1] != "adhominem":
            name, requirement = match[1], match[2].strip()
            version = _installed(name)
            fits = version is not None and _fits(version, requirement)
            library = Library(name=name, requirement=requirement, version=version, fits=fits)
            by_extra.setdefault(match[3] or "", []).append(library)
    return ((name, tuple(libraries)) for name, libraries in by_extra.items())


def _requirements() -> list[str]:
    """The package's requirements, like `numpy>=1.26`, and `torch>=2.8; extra == "train"`.

    In a clone, pyproject.toml may be newer than the metadata noted at installation.
    """
    file = Path(__file__).parents[2] / "pyproject.toml"
    if not file.is_file():
        try:
            return metadata.requires("adhominem") or []
        except metadata.PackageNotFoundError:
            return []
    project = tomllib.loads(file.read_text("utf-8"))["project"]
    lines: list[str] = list(project["dependencies"])
    for extra, libraries in project["optional-dependencies"].items():
        lines += (f'{line}; extra == "{extra}"' for line in libraries)
    return lines


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


def _library_problems(libraries: tuple[Library, ...]) -> Iterator[str]:
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
        return ModelState(name=name, sha256="", calibrated=False, problem=str(error))
    finite = isfinite(result.log10_bayes_factor)
    return ModelState(
        name=name,
        sha256=result.model_sha256,
        calibrated=result.lower_bound is not None,
        problem="" if finite else "its Bayes factor is not finite",
    )


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
