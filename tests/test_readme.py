"""The README and the pages of docs/: their commands, Python, links and figures."""

import json
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import click
import pytest

from adhominem.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("recipes/**/*.md"))
    if path.name != "CHANGELOG.md"  # it tells of commands that were
}
# The pages whose commands are run, in an order in which each finds what it needs.
RUN = ("docs/training.md", "docs/guide.md", "docs/evaluation.md", "docs/models.md")


def blocks(page: str, language: str) -> list[str]:
    """The contents of the page's code blocks of a language, which may be empty."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], flags=re.DOTALL | re.MULTILINE)


def run_blocks(page: str) -> list[str]:
    """The blocks of commands on a page, without those that say why they are not run."""
    marked = re.compile(
        r"^(<!-- not run: .*? -->\n)?```console\n(.*?)^```", re.DOTALL | re.MULTILINE
    )
    return [block for not_run, block in marked.findall(PAGES[page]) if not not_run]


def typed(block: str) -> list[str]:
    """What is typed in a block of commands, continued lines as one."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line[2:] for line in lines if line.startswith("$ ")]


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
    """A folder with the examples' texts, in which the commands of the pages of `RUN` have run."""
    folder = tmp_path_factory.mktemp("pages")
    run_example(folder, "write_addresses(Path('addresses.jsonl'))")
    addresses = [
        json.loads(line)["text"]
        for line in (folder / "addresses.jsonl").read_text("utf-8").splitlines()[:10]
    ]
    (folder / "first.txt").write_text(addresses[0], "utf-8")
    (folder / "second.txt").write_text(addresses[1], "utf-8")
    pair = json.dumps({"id": "ID", "pair": addresses[:2]})
    (folder / "pairs.jsonl").write_text(f"{pair}\n", "utf-8")
    (folder / "similar-texts").mkdir()
    for number, text in enumerate(addresses[2:]):
        (folder / "similar-texts" / f"{number}.txt").write_text(text, "utf-8")
    typed_there = [line for page in RUN for block in run_blocks(page) for line in typed(block)]
    commands = [line for line in typed_there if line.startswith("adhominem ")]
    assert len(commands) >= 20
    for command in commands:
        does = serve if command.startswith("adhominem serve") else run
        does(folder, "-m", *shlex.split(command, comments=True))
        if command.startswith("adhominem split"):  # texts to compare: what the example takes
            run_example(folder, "write_cases(Path('.'))")
    return folder


def test_the_commands_leave_what_the_pages_say(after_the_commands: Path) -> None:
    made = (
        "split/manifest.json",
        "corpus/tokens.bin",
        "dev-pairs/truth.jsonl",
        "model/config.json",
        "answers.jsonl",
        "evaluation/index.html",
        "levs.parquet",
        "explanation.html",
        "study.json",
        "study.html",
        "report.html",
        "map.html",
    )
    for file in made:
        assert (after_the_commands / file).stat().st_size > 0


def test_the_readme_shows_what_its_command_prints() -> None:
    """Lines may be wrapped, and hashes cut short or left out."""
    (block,) = [block for block in blocks("README.md", "console") if "\n$ adhominem" in block]
    there, command = typed(block)
    shown = re.sub(r"^\$ .*$", "", block, flags=re.MULTILINE).split()
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=ROOT / there.removeprefix("cd "),
        capture_output=True,
        text=True,
        check=True,
    )
    printed = (done.stdout + done.stderr).split()
    assert len(shown) == len(printed) > 50
    for one, other in zip(shown, printed, strict=True):
        assert one == other or (one.endswith("…") and other.startswith(one[:-1]))


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def rows(text: str) -> list[list[str]]:
    """The cells of all tables in a text."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


CONDITIONS = ROOT / "benchmarks" / "results" / "conditions.json"


def conditions() -> dict[tuple[str, str], dict[str, float]]:
    """What `benchmarks/conditions.py` measured with whole texts, by known texts and population."""
    if CONDITIONS.exists():
        (table,) = json.loads(CONDITIONS.read_text("utf-8"))["tables"]
        return {
            (f"{row['known']}", f"{row['population']}"): row
            for row in table
            if row["words"] == "all"
        }
    page = PAGES["docs/decisions.md"].partition("### Figures by condition")[2].partition("###")[0]
    printed = [row for row in rows(page) if row[2:3] == ["all"]]
    names = {"AUC": 4, "Cllr": 5, "accuracy": 9, "beyond 2": 10, "wrong > 1": 11}
    return {
        (row[0], row[1]): {name: float(row[at]) for name, at in names.items()} for row in printed
    }


def test_the_figures_of_the_readme_are_those_of_the_benchmark() -> None:
    measured = conditions()
    shown = [row for row in rows(README) if row[0].isdigit() and len(row) == 7]
    assert len(shown) == 8
    for known, population, *figures in shown:
        row = measured[known, population.removesuffix(" texts")]
        assert figures == [
            f"{row['AUC']:.3f}"[1:],
            f"{row['Cllr']:.3f}"[1:],
            f"{row['accuracy']:.0%}",
            f"{row['beyond 2']:.0%}",
            f"{row['wrong > 1']:.1%}",
        ]


def called() -> list[tuple[str, str]]:
    """Every call of the command on a page, in a block or in running text, and the page."""
    calls = []
    for page, text in PAGES.items():
        outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        lines = [line for block in blocks(page, r"\w*") for line in typed(block)]
        lines += [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", outside)]
        calls += [(page, line[at.start() :]) for line in lines
                  if (at := re.search(r"(?<![\w/-])adhominem (?=[\w-])", line))]  # fmt: skip
    return calls


@pytest.mark.parametrize(("page", "line"), called())
def test_a_command_on_a_page_has_options_and_choices_that_there_are(page: str, line: str) -> None:
    _, name, *arguments = shlex.split(line, comments=True)
    if name == "COMMAND" or name.startswith("-"):  # adhominem --help
        return
    context = click.Context(main, info_name="adhominem")
    command = main.get_command(context, name)
    assert command is not None
    values, _, _ = command.make_parser(click.Context(command)).parse_args(arguments)
    for parameter in command.params:
        value = values.get(parameter.name or "")
        placeholder = isinstance(value, str) and value.isupper()
        if isinstance(parameter.type, click.Choice) and isinstance(value, str) and not placeholder:
            parameter.type.convert(value, parameter, None)


def test_many_commands_are_checked_and_a_wrong_option_is_noticed() -> None:
    assert len(called()) > 40
    context = click.Context(main, info_name="adhominem")
    command = main.get_command(context, "calibrate")
    assert command is not None
    with pytest.raises(click.NoSuchOption):
        command.make_parser(click.Context(command)).parse_args(["--kind", "isotonic"])


@pytest.mark.parametrize("code", blocks("docs/library.md", "python"))
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


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_of_a_page_exists(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([\w-]+)`|\$ make ([\w-]+)", PAGES[page]):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]+))?\)", text):
        if link.startswith("http"):
            continue
        target = (ROOT / page).parent / link if link else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{link}#{anchor}"


def test_the_readme_leads_to_the_list_of_pages_and_that_to_every_page() -> None:
    assert "(docs/index.md)" in README
    listed = PAGES["docs/index.md"]
    for page in PAGES:
        if page.startswith("docs/") and page != "docs/index.md":
            assert f"({page.removeprefix('docs/')})" in listed, page


@pytest.mark.slow
def test_the_demo_compares_two_pairs_with_the_shipped_model(tmp_path: Path) -> None:
    printed = run(tmp_path, str(ROOT / "examples" / "demo.py"))
    commands = re.findall(r"^\$ (.*)$", printed, flags=re.MULTILINE)
    same = "adhominem verify 1864-Lincoln-1.txt 1861-Lincoln-1.txt"
    different = "adhominem verify 1864-Lincoln-1.txt 1901-Roosevelt-1.txt"
    population = " --population others"
    assert commands == [same + population, different + population, same]
    signs = re.findall(r"^log10 Bayes factor  ([+-])\d", printed, flags=re.MULTILINE)
    assert signs == ["+", "-", "+"]  # right at first sight
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
