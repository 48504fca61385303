"""The command `adhominem serve`: where it listens, what it says, what it logs, how it ends."""

from __future__ import annotations

import asyncio
import builtins
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner
from serving import POPULATION, SECRET, docx

import adhominem
from adhominem.cli import main
from adhominem.errors import OptionError
from adhominem.web import server
from adhominem.web.failures import Limits
from adhominem.web.server import open_socket, url_of
from adhominem.web.uploads import FileReader, Part


@pytest.fixture
def population(tmp_path: Path) -> Path:
    folder = tmp_path / "others"
    folder.mkdir()
    for number, text in enumerate(POPULATION):
        (folder / f"{number}.txt").write_text(text, "utf-8")
    return folder


def test_it_serves_until_it_is_interrupted_and_logs_no_text(population: Path) -> None:
    command = [sys.executable, "-m", "adhominem", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--population", str(population)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "ADHOMINEM_TOKEN": "t0ken"},
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert address is not None, said
    assert "general-en" in said
    headers = {"Authorization": "Bearer t0ken", "Content-Type": "application/json"}
    body = f'{{"first": "{SECRET} once more", "second": "and another"}}'.encode()
    request = urllib.request.Request(f"{address[0]}/api/verify?{SECRET}", body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        assert b'"texts": 6' in response.read()
    process.send_signal(signal.SIGINT)
    out, logged = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == ""
    assert re.fullmatch(r"[-\d]+ [:,\d]+ POST /api/verify 200 \d+ ms\n", logged)


_HERE = str(Path(adhominem.__file__).parents[1])
_SHADOWING = (
    *("json", "struct", "encodings", "zipfile", "warnings", "signal", "resource", "tempfile"),
    *("docx", "lxml", "numpy", "sitecustomize", "usercustomize", "adhominem", "random", "re"),
)


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """Modules that leave a mark when they are run."""
    folder = tmp_path / "case"
    (folder / "marks").mkdir(parents=True)
    for name in _SHADOWING:
        mark = str(folder / "marks" / name)
        (folder / f"{name}.py").write_text(f"open({mark!r}, 'w').close()\n", "utf-8")
    return folder


def test_nothing_in_the_folder_where_it_is_started_is_run(hostile_folder: Path) -> None:
    import httpx2

    kept = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "adhominem", "serve", "--port", "0"],  # as if installed
        cwd=hostile_folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**kept, "PYTHONPATH": _HERE},
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert address is not None, said
    with httpx2.Client(timeout=60) as client:
        answer = client.post(
            address[0],
            headers={"Accept": "application/x-ndjson"},
            data={"second_text": POPULATION[0]},
            files=[("first_file", ("letter.docx", docx(POPULATION[1])))],
        )
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert '"verdict"' in answer.text
    assert list((hostile_folder / "marks").iterdir()) == []


def test_an_empty_entry_of_the_path_does_not_lead_there_either(
    hostile_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile_folder)
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}{_HERE}{os.pathsep}.")
    file = Part("", docx(POPULATION[0]), "letter.docx")
    texts, _ = asyncio.run(FileReader(Limits()).read([file]))
    assert texts[0].document.text.split() == POPULATION[0].split()
    assert list((hostile_folder / "marks").iterdir()) == []


def test_beyond_this_machine_it_wants_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    served: list[Any] = []

    class Server:
        def run(self, sockets: list[socket.socket]) -> None:
            served.append(sockets)

    class Service:
        class verifier:  # noqa: N801
            name = "a model"

    monkeypatch.setattr(server, "make_server", lambda service, access: Server())
    monkeypatch.setattr(server, "_log_tersely", lambda: None)
    for host, token in (("127.0.0.1", ""), ("0.0.0.0", "t0ken"), ("0.0.0.0", "")):
        server.serve(Service(), host=host, port=0, token=token, say=said.append)  # type: ignore[arg-type]
    assert len(served) == 3
    assert len(said) == 4
    # A name is for a proxy, by which others can reach it.
    server.serve(Service(), host="127.0.0.1", port=0, names=["a.example"], say=said.append)  # type: ignore[arg-type]
    assert "asks for no token" in said.pop(-2)
    (warning,) = [line for line in said if line.startswith("warning")]
    assert "asks for no token" in warning
    assert said.index(warning) == 2


def test_a_port_that_is_taken_is_an_error_that_says_so() -> None:
    with open_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert url_of(taken) == f"http://127.0.0.1:{port}"
        assert taken.proto == socket.IPPROTO_TCP
        with pytest.raises(OptionError, match=f"port {port} .*choose another --port"):
            open_socket("127.0.0.1", port)
    with pytest.raises(OptionError, match="not known"):
        open_socket("no.such.host.invalid", 0)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_fastapi(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "fastapi":
            raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_fastapi)
    result = CliRunner().invoke(main, ["serve"])
    assert result.exit_code == 1
    assert "pip install --editable '.[serve]'" in result.stderr


def test_the_other_commands_do_not_load_the_web() -> None:
    code = "import sys, adhominem.cli; print({'fastapi', 'uvicorn', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_exception_is_logged_by_its_type() -> None:
    formatter = server._Terse("%(message)s")
    try:
        raise KeyError(SECRET)
    except KeyError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "it failed", (), sys.exc_info())
    assert formatter.format(record) == "it failed\nKeyError"


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_page_is_opened_once_somebody_listens(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    over = Event()

    class Server:
        def run(self, sockets: list[socket.socket]) -> None:
            assert over.wait(20)

    def open_browser(url: str) -> bool:
        port = int(url.removeprefix("http://127.0.0.1:"))
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        opened.append(url)
        return False  # as where there is none

    def say(message: str) -> None:
        said.append(message)
        if "no browser" in message:
            over.set()

    said: list[str] = []
    monkeypatch.setattr("webbrowser.open", open_browser)
    monkeypatch.setattr(server, "make_server", lambda service, access: Server())
    monkeypatch.setattr(server, "_log_tersely", lambda: None)
    monkeypatch.setattr("adhominem.cli.terminal.complain", say)
    done = CliRunner().invoke(main, ["serve", "--open", "--port", "0", "--host", host])
    assert done.exit_code == 0, done.output
    assert said[-1] == f"no browser can be opened here; open {opened[0]} in one"
    over.set()
    CliRunner().invoke(main, ["serve", "--port", "0", "--host", host])
    assert len(opened) == 1  # not unless it is asked for
