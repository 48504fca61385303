"""The LaTeX document: nothing of the text is a command, and all of it is typeset."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import any_explanations, explanation

from adhominem.explain.explanation import Explanation
from adhominem.harmless import harmless
from adhominem.render.latex import latex_heat_map
from adhominem.render.layout import PASSAGE_COLOURS

COMMAND = re.compile(r"\\([a-zA-Z]+|.)\s?")
TYPESET = {  # what a command without arguments gives
    "textbackslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textquotesingle": "'",
    "textasciigrave": "`",
    "textquotedbl": '"',
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textminus": "−",
    "lineend": "\n",
    "allowbreak": "",
    "par": "",
}


def typeset(source: str) -> str:
    """What a text's source gives, by a small part of TeX's rules."""
    result: list[str] = []
    at = 0
    while at < len(source):
        if source[at] != "\\":
            result.append({"{": "", "}": "", "~": "\N{NO-BREAK SPACE}"}.get(source[at], source[at]))
            at += 1
            continue
        command = COMMAND.match(source, at)
        assert command
        at = command.end(1)
        name = command[1]
        if name in ("{", "}", "$", "&", "#", "%", "_"):
            result.append(name)
        elif name in ("passage", "token", "other"):
            first, at = argument(source, at)
            second, at = argument(source, at)
            if name == "passage":
                assert source[at : at + 2] in ("%\n", "%")  # the last one may be empty
                at += 2
            else:
                result.append(typeset(second) if name == "token" else first)
        else:
            result.append(TYPESET[name])
    return "".join(result)


def argument(source: str, at: int) -> tuple[str, int]:
    assert source[at] == "{"
    depth = 0
    for end in range(at, len(source)):
        if source[end - 1] != "\\":
            depth += {"{": 1, "}": -1}.get(source[end], 0)
        if depth == 0:
            return source[at + 1 : end], end + 1
    raise AssertionError("an argument without an end")


def texts_of(document: str) -> list[str]:
    """The source of each text: between its head and the next, or the caption."""
    return [
        part.split("}\n", 1)[1].split("\n\n")[0] for part in document.split("\\subsection*")[1:]
    ]


@given(any_explanations())
def test_all_of_each_text_is_typeset(result: Explanation) -> None:
    sources = texts_of(latex_heat_map(result))
    for source, text in zip(sources, result.texts, strict=True):
        assert "".join(typeset(source).split()) == "".join(harmless(text.text).split())


@given(any_explanations())
def test_braces_balance_and_no_line_is_longer_than_tex_reads(result: Explanation) -> None:
    document = latex_heat_map(result)
    braces = re.findall(r"\\.|[{}]", document, re.DOTALL)
    depth = 0
    for brace in braces:
        depth += {"{": 1, "}": -1}.get(brace, 0)
        assert depth >= 0
    assert depth == 0
    assert max(map(len, document.split("\n"))) < 20_000
    document.encode("utf-8")


@given(st.text("\\{}$&#^_~%-,'`\"<>|\n abc", max_size=80))
def test_what_tex_reads_as_commands_is_escaped(text: str) -> None:
    (source, _) = texts_of(latex_heat_map(explanation(text, "x", ngrams=())))
    assert "".join(typeset(source).split()) == "".join(text.split())
    # Nothing stands bare that would make a comment, a formula, or another sign of two.
    bare = re.sub(r"\\.", "", source.replace("%\n", "\n"))
    assert not re.search(r"[$&#^_%]|--|,,|''|``|<<|>>", bare)


def test_it_is_a_whole_document_with_the_number_and_the_colours_of_the_page() -> None:
    document = latex_heat_map(explanation())
    assert document.startswith("\\documentclass")
    assert document.endswith("\\end{document}\n")
    assert "log10 Bayes factor \\textbf{+1.23}" in document
    assert "A Bayes factor is not a verdict" in document
    assert "not why it decided" in document
    assert f"\\definecolor{{w9}}{{HTML}}{{{PASSAGE_COLOURS[9][1:].upper()}}}" in document
    assert re.search(r"\\par\\passage\{w\d\}\{(\+|\\textminus\{\})\d\.\d{3}\}%\n", document)
    assert "\\newcommand{\\token}[2]{\\colorbox{#1}" in document


def test_without_a_network_the_passages_have_the_colours_of_their_contributions() -> None:
    document = latex_heat_map(explanation(attention=False))
    assert re.search(r"\\token\{(same|diff)\d\}", document)
    assert not re.search(r"\\token\{t\d\}", document)
    assert "No network looked at these texts" in document


@pytest.mark.parametrize("engine", ["pdflatex", "xelatex"])
def test_it_compiles(engine: str, tmp_path: Path) -> None:
    if shutil.which(engine) is None:
        pytest.skip(f"{engine} is not installed")
    odd = "“Žluťoučký” kůň, naïve – 中文 Ωμέγα \u202e🙂 \x1b[0m \\input{secret} \\end{document}\n\n"
    long = "https://example.org/" + "a_b%c" * 60
    result = explanation(f"{odd}{long} \n\n\n % {{ }} $x$ #1 & ~ ^\n" * 3)
    (tmp_path / "map.tex").write_text(latex_heat_map(result), "utf-8")
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "map.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-2000:]
    assert (tmp_path / "map.pdf").stat().st_size > 1000
