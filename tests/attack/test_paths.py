"""Paths that are none: links to themselves, devices without an end, and names that were not set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from conftest import rich_rows, write_rows

from adhominem import calibrate_model, load
from adhominem.cli import main
from adhominem.errors import AdHominemError, OptionError
from adhominem.text.files import path_of
from attack.conftest import Attack

COMMANDS = sorted(main.commands)


def paths_of(command: str) -> list[click.Parameter]:
    """What of a command takes a path."""
    return [one for one in main.commands[command].params if isinstance(one.type, click.Path)]


def given(parameter: click.Parameter, value: str) -> list[str]:
    """A value for a parameter; of a choice, the first one."""
    if isinstance(parameter.type, click.Choice):
        value = str(parameter.type.choices[0])
    if isinstance(parameter, click.Argument):
        return [value] * max(1, parameter.nargs)
    return [parameter.opts[0], value]


def call(command: str, other: str, path: click.Parameter, value: str) -> list[str]:
    """A command with a value for one path, and another for all else that it needs."""
    needed = [one for one in main.commands[command].params if one.required and one is not path]
    return [command, *(part for one in needed for part in given(one, other)), *given(path, value)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_was_not_set_is_refused(command: str, tmp_path: Path, attack: Attack) -> None:
    """To Path, "" is the folder that one is in."""
    before = [*tmp_path.iterdir()]
    for parameter in paths_of(command):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            done = CliRunner().invoke(main, call(command, "x.html", parameter, ""))
        attack.tried("paths")
        assert done.exit_code == 2, (parameter.name, done.output)
        assert "it is empty" in done.output
    assert [*tmp_path.iterdir()] == before


def test_the_library_refuses_it_as_well() -> None:
    for act in (path_of, load):
        with pytest.raises(OptionError, match="a path is empty"):
            act("")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_to_itself_ends_in_an_error(command: str, tmp_path: Path, attack: Attack) -> None:
    loop, text = tmp_path / "loop", tmp_path / "text.txt"
    loop.symlink_to(loop)
    text.write_text("A letter of some words.", "utf-8")
    for parameter in paths_of(command):
        for other in (str(text), str(loop)):
            arguments = call(command, other, parameter, str(loop))
            done = CliRunner().invoke(main, arguments)
            attack.tried("paths")
            assert isinstance(done.exception, SystemExit | AdHominemError), (arguments, done)
            assert done.exit_code != 0, arguments


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no /dev/zero")
@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "/dev/zero", "/dev/zero"],
        ["verify", "/dev/zero", "/dev/zero"],
        ["cluster", "/dev/zero"],
        ["predict", "/dev/zero", "-o", "answers.jsonl"],
    ],
)
def test_a_device_is_refused(arguments: list[str], tmp_path: Path, attack: Attack) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "adhominem", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    attack.tried("paths")
    assert done.returncode == 1
    assert done.stderr.startswith("error: /dev/zero: ")


def test_calibrating_with_a_few_authors_is_refused(
    mixed_folder: Path, tmp_path: Path, attack: Attack
) -> None:
    texts = write_rows(tmp_path / "few.jsonl", rich_rows("letters", 4, 4, "-few-"))
    with pytest.raises(OptionError, match=r"16 texts by 4 authors.*add texts"):
        calibrate_model(mixed_folder, [texts])
    attack.tried("calibrations")
