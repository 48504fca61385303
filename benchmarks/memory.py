"""How much memory does `predict` take, and how long, whatever the input?

    python benchmarks/memory.py CORPORA [--against CHECKOUT] [--pairs 4000] [--texts 2800 8000]

Pairs are drawn among --texts texts of 300 words: documents of each corpus in CORPORA, joined and
cut. They are answered with `--population input`, in one process. Of more than 1,000 texts, a
population is drawn. The floor is what a single pair takes: the model.
With --against, another checkout of this project does the same, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measure import measured, run
from throughput import MODEL, Record, texts_of


def write_pairs(path: Path, texts: list[str], pairs: int) -> None:
    """Random pairs in PAN's format; each text is in a single pair if there are enough."""
    rng = np.random.default_rng(0)
    order = np.concatenate(
        [rng.permutation(len(texts)) for _ in range(2 * pairs // len(texts) + 1)]
    )
    rows = (
        json.dumps({"id": str(at), "fandoms": ["", ""], "pair": [texts[one], texts[other]]})
        for at, (one, other) in enumerate(order[: 2 * pairs].reshape(-1, 2).tolist())
    )
    path.write_text("\n".join(rows) + "\n", "utf-8")


def child(path: Path, population: bool) -> Record:
    """One measurement, in the checkout that is imported."""
    from adhominem.questions.predict.files import predict

    with measured() as result:
        done = predict(
            MODEL,
            path,
            path.with_suffix(".answers.jsonl"),
            population="input" if population else None,
        )
    done.output.unlink()
    return {
        "peak_mb": result.peak_mb,
        "seconds": result.seconds,
        "texts": done.texts_encoded,
    }


def measure(checkout: Path, path: Path, *, population: bool = True) -> Record:
    """One measurement in a process of its own, with the package of a checkout."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{checkout}{os.pathsep}{Path(__file__).parent}",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, __file__, str(path), "--child", str(int(population))]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    record: Record = json.loads(done.stdout)
    return record


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--pairs", type=int, default=4_000)
    parser.add_argument("--texts", type=int, nargs="+", default=[2_800, 8_000])
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        print(json.dumps(child(arguments.corpora, bool(arguments.child))))
        return
    checkouts = {"this": Path(__file__).parents[1]}
    if arguments.against:
        checkouts["the other"] = arguments.against.resolve()
    print("| pairs | texts | checkout | peak memory in MB | less the floor | seconds |")
    print("|---" * 6 + "|")
    with TemporaryDirectory() as scratch:
        single, many = Path(scratch, "one.jsonl"), Path(scratch, "pairs.jsonl")
        texts = list(texts_of(arguments.corpora, arguments.words, max(arguments.texts)))
        write_pairs(single, texts[:2], 1)
        floors = {
            name: measure(checkout, single, population=False)["peak_mb"]
            for name, checkout in checkouts.items()
        }
        for count in arguments.texts:
            write_pairs(many, texts[:count], arguments.pairs)
            for name, checkout in checkouts.items():
                record = measure(checkout, many)
                peak = record["peak_mb"]
                print(
                    f"| {arguments.pairs:,} | {record['texts']:,} | {name} | {peak:,.0f} "
                    f"| {peak - floors[name]:,.0f} | {record['seconds']:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    run(main)
