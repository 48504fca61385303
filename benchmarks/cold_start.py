"""From pressing return to the answer: `adhominem verify` on two texts of 1,000 words.

    python benchmarks/cold_start.py MODEL [--times 7]

Each run is a process of its own; the median counts, after one run that does not: like an installed
package, the code is compiled by then. The rival is `python -c "import torch"`, in turn with it,
since the machine may be busier at one time than at another.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import run

COMMON = ("the", "of", "and", "to", "a", "in", "is", "that", "it", "was", "for", "on", "with", "as")


def made_up_text(seed: int, words: int = 1_000) -> str:
    """Words of a natural text's frequencies, common and rare ones."""
    rng = random.Random(seed)
    rare = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(3, 10))) for _ in range(400)]
    chosen = [rng.choice(COMMON if rng.random() < 0.55 else rare) for _ in range(words)]
    return ". ".join(" ".join(chosen[at : at + 15]) for at in range(0, words, 15))


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--times", type=int, default=7)
    arguments = parser.parse_args()
    with TemporaryDirectory() as scratch:
        files = [Path(scratch) / name for name in ("first.txt", "second.txt")]
        for seed, file in enumerate(files):
            file.write_text(made_up_text(seed), "utf-8")
        commands = {
            "adhominem verify": [
                *(sys.executable, "-m", "adhominem", "verify"),
                *(*map(str, files), "--model", str(arguments.model)),
            ],
            "import torch": [sys.executable, "-c", "import torch"],
            "import numpy": [sys.executable, "-c", "import numpy"],
            "python alone": [sys.executable, "-c", "pass"],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(1 + arguments.times):
            for name, command in commands.items():
                taken[name].append(seconds(command))
    rival = statistics.median(taken["import torch"][1:])
    print("| | seconds | of `import torch` |")
    print("|---|---|---|")
    for name, times in taken.items():
        median = statistics.median(times[1:])
        print(f"| {name} | {median:.2f} | {median / rival:.2f} |")


if __name__ == "__main__":
    run(main)
