"""Keep two fifths of the authors of each larger source for calibration.

    python recipes/general-any/keep_back.py TRAIN-LANG WORK

Writes WORK/twin-texts/SOURCE.jsonl, without the authors kept back, and WORK/kept-back/SOURCE.jsonl,
their texts, of sources from which twelve or more are kept.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from adhominem.text.streams import read_json_lines

SHARE = 0.4
FEWEST = 25  # authors of two works or more, for some of them to be kept back
FEWEST_KEPT = 12  # of a source, to calibrate with it
LEFT_OUT = ("bs", "gsw")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), "utf-8")


def main(train: Path, work: Path) -> None:
    chance = random.Random(20)
    for source in sorted(train.iterdir()):
        name = source.name.split(".")[0]
        if name.split("-")[0] in LEFT_OUT:
            continue
        rows = [row for _, row in read_json_lines(source) if isinstance(row, dict)]
        works = defaultdict(set)
        for row in rows:
            works[row["author"]].add(row["work"])
        several = sorted(author for author, of_author in works.items() if len(of_author) > 1)
        size = int(SHARE * len(several)) if len(several) >= FEWEST else 0
        kept = set(chance.sample(several, size))
        write(
            work / "twin-texts" / f"{name}.jsonl",
            [row for row in rows if row["author"] not in kept],
        )
        if len(kept) >= FEWEST_KEPT:
            write(
                work / "kept-back" / f"{name}.jsonl", [row for row in rows if row["author"] in kept]
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
