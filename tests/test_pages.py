"""The pages that show real output: what they show is what their commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_script import DOCS, docs_script

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
