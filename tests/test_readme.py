"""The README's commands and its Python, as a newcomer would run them."""

import json
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def serve(folder: Path, *arguments: str) -> None:
    """Start the server on a port of its own, ask whether it is well, and stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *arguments, "--port", str(port)]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            for _ in range(600):
                assert server.poll() is None, server.stderr and server.stderr.read()
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
                        assert answer.status == 200
                        return
                except OSError:
                    time.sleep(0.1)
            raise AssertionError("the server does not answer")
        finally:
            server.terminate()


def run_example(folder: Path, call: str) -> None:
    """A function of examples/train.py, in the folder."""
    path = f"import sys; sys.path.insert(0, {str(ROOT / 'examples')!r})"
    run(folder, "-c", f"{path}; from pathlib import Path; import train; train.{call}")


@pytest.fixture(scope="module")
def after_the_commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples' texts, in which every `$ adhominem` of the README has run."""
    folder = tmp_path_factory.mktemp("readme")
    run_example(folder, "write_addresses(Path('addresses.jsonl'))")
    addresses = [
        json.loads(line)["text"]
        for line in (folder / "addresses.jsonl").read_text("utf-8").splitlines()[:10]
    ]
    (folder / "first.txt").write_text(addresses[0], "utf-8")
    (folder / "second.txt").write_text(addresses[1], "utf-8")
    (folder / "similar-texts").mkdir()
    for number, text in enumerate(addresses[2:]):
        (folder / "similar-texts" / f"{number}.txt").write_text(text, "utf-8")
    lines = [line for block in blocks("console") for line in block.splitlines()]
    commands = [line[2:] for line in lines if line.startswith("$ adhominem ")]
    assert len(commands) >= 3
    for command in commands:
        does = serve if command.startswith("adhominem serve") else run
        does(folder, "-m", *shlex.split(command, comments=True))
        if command.startswith("adhominem split"):  # texts to compare: what the example takes
            run_example(folder, "write_cases(Path('.'))")
    return folder


def test_the_commands_leave_what_the_readme_says(after_the_commands: Path) -> None:
    made = (
        "split/manifest.json",
        "corpus/tokens.bin",
        "dev-pairs/truth.jsonl",
        "model/config.json",
        "answers.jsonl",
        "evaluation/index.html",
        "levs.parquet",
        "explanation.html",
        "report.html",
        "map.html",
    )
    for file in made:
        assert (after_the_commands / file).stat().st_size > 0


@pytest.mark.parametrize("code", blocks("python"))
def test_a_python_example_prints_what_its_comments_say(after_the_commands: Path, code: str) -> None:
    printed = run(after_the_commands, "-c", code).splitlines()
    comments = [
        line.split("  # ")[1] if "  # " in line else None
        for line in code.splitlines()
        if line.startswith("print(")
    ]
    assert len(printed) == len(comments)
    for line, comment in zip(printed, comments, strict=True):
        assert comment is None or line == comment.split(": ")[0]


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([\w-]+)`|\$ make ([\w-]+)", README):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE)


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


@pytest.mark.slow
def test_the_demo_compares_two_pairs_with_the_shipped_model(tmp_path: Path) -> None:
    printed = run(tmp_path, str(ROOT / "examples" / "demo.py"))
    commands = re.findall(r"^\$ (.*)$", printed, flags=re.MULTILINE)
    same = "adhominem verify 1864-Lincoln-1.txt 1861-Lincoln-1.txt"
    different = "adhominem verify 1864-Lincoln-1.txt 1901-Roosevelt-1.txt"
    population = " --population others"
    assert commands == [same, different, same + population, different + population]
    assert len(re.findall(r"^log10 Bayes factor  [+-]\d", printed, flags=re.MULTILINE)) == 4
    assert printed.count("Population  50 texts") == 2
    written = {path.name for path in (tmp_path / ".demo" / "others").iterdir()}
    assert len(written) == 50
    assert not any("Lincoln" in name or "1901-Roosevelt" in name for name in written)


@pytest.mark.slow
def test_the_example_learns_to_tell_presidents_apart_that_it_has_not_seen(tmp_path: Path) -> None:
    printed = run(tmp_path, str(ROOT / "examples" / "train.py"))
    assert "249 addresses by 43 presidents" in printed
    assert re.search(r"epoch 2: \d+ by the same author, \d+ by different authors", printed)
    (dev_auc,) = re.findall(r"^ *dev-pairs +(0\.\d+)", printed, flags=re.MULTILINE)
    assert float(dev_auc) > 0.7
