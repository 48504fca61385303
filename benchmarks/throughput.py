"""How many texts a second the shipped model encodes, end to end, and where the time goes.

    python benchmarks/throughput.py CORPORA [--against CHECKOUT] [--words 400000] [--rounds 3]
    python benchmarks/throughput.py CORPORA --device cuda --jobs 16 [--against CHECKOUT]

Texts of 300, 1,570 and 3,700 words: documents of each corpus in CORPORA, joined and cut. They are
read from a file of JSON lines and encoded, as `adhominem encode` does it, on one core and by two
worker processes. Half of them come first and do not count: what is kept of token types is then as
full as in a long run, but the texts that count are new. The floor is reading and tokenizing.

With --against, another checkout of this project does the same: each measurement is a process of its
own, in turn with the other's, and the best of several rounds counts, since the machine may be
busier at one time than at another. What counts is their ratio. On one core, seconds are those of
the CPU; on two, those of a clock.

With --device, --jobs worker processes on the CPU alone are compared with as many that feed the
device, by the clock; the texts that count are read REPEATS times over, since they are few for that
many processes. The largest difference of LEVs between device and CPU is printed, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import measured, run

WORDS = (300, 1_570, 3_700)
AT_ONCE = 512  # documents, as in `adhominem encode`
MODEL = "general-en"
REPEATS = 4
COMPARED = 300  # texts whose LEVs are compared
# What each stage calls, in this checkout or in others. A stage inside of another is not counted
# with it.
STAGES = {
    "tokenizing": ("text.tokenizer:Tokenizer.tokens", "text.tokenizer:Tokenizer.numbers"),
    "n-gram counting": (
        "ngrams.counter:NgramCounter.count",
        "ngrams.encoder:NgramsTogether._counted",
    ),
    "n-gram transform": (
        "ngrams.encoder:NgramEncoder.encode",
        "ngrams.encoder:NgramsTogether.encode",
    ),
    "network": (
        "paper.runtime:Runtime.encode",
        "paper.runtime:Runtime.encode_numbered",
    ),
}
Record = dict[str, Any]


class Stopwatch:
    """The time spent in each stage, less that in stages inside it."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._inside = [0.0]

    def wrap(self, stage: str, place: str) -> None:
        """Time a method, if this checkout has it."""
        module, _, path = place.partition(":")
        class_name, _, method = path.partition(".")
        try:
            owner = getattr(import_module(f"adhominem.{module}"), class_name)
            inner: Callable[..., Any] = getattr(owner, method)
        except (ImportError, AttributeError):
            return

        def outer(*arguments: Any, **options: Any) -> Any:
            self._inside.append(0.0)
            began = time.thread_time()
            result = inner(*arguments, **options)
            spent = time.thread_time() - began
            self.seconds[stage] += spent - self._inside.pop()
            self._inside[-1] += spent
            return result

        setattr(owner, method, outer)


def texts_of(corpora: Path, words: int, count: int) -> Iterator[str]:
    """Texts of a given length, from each corpus in turn."""
    from adhominem.text.readers import find_sources

    def joined(source: Any) -> Iterator[str]:
        pending = ""
        for document in source.documents(author_required=False, skipped=[]):
            pending = f"{pending}\n\n{document.text}" if pending else document.text
            while (cut := _end_of_word(pending, words)) is not None:
                yield pending[:cut]
                pending = pending[cut:].lstrip()

    streams = [joined(source) for source in find_sources(corpora)]
    rows = (text for row in zip(*streams, strict=False) for text in row)
    return islice(rows, count)


def _end_of_word(text: str, number: int) -> int | None:
    match = next(islice(re.finditer(r"\S+", text), number - 1, None), None)
    return None if match is None else match.end()


def child(folder: Path, jobs: int) -> Record:
    """One measurement, in the checkout that is imported."""
    import adhominem
    from adhominem.jobs import workers
    from adhominem.text.readers import read_documents

    watch = Stopwatch()

    def one_after_another(documents: Iterator[Any], encode: Any) -> Iterator[Any]:
        while batch := list(islice(documents, AT_ONCE)):
            yield zip(batch, encode(batch), strict=True)

    batches = getattr(workers, "encoded_batches", one_after_another)  # which others may not have

    def run(name: str, encode: Any) -> int:
        """Read and encode all texts of a file."""
        documents = read_documents(folder / name, author_required=False)
        count = 0
        for batch in batches(documents, encode):
            for _, lev in batch:
                count += 1
                assert np.shape(lev)[-1] == lev_size  # one row, or a table of one
        return count

    verifier = adhominem.load(MODEL)
    lev_size = verifier.lev_size
    with ExitStack() as stack:
        encode = stack.enter_context(workers.encoder(MODEL, verifier, jobs))
        run("before.jsonl", encode)
        if jobs == 1:
            for stage, places in STAGES.items():
                for place in places:
                    watch.wrap(stage, place)
        result = stack.enter_context(measured())
        # On one core, its own time: what others do there meanwhile is not counted.
        clock = time.thread_time if jobs == 1 else time.perf_counter
        began = clock()
        count = run("texts.jsonl", encode)
        seconds = clock() - began
    began = time.thread_time()
    for _ in read_documents(folder / "texts.jsonl", author_required=False):
        pass
    reading = time.thread_time() - began
    stages = {"reading": reading, **watch.seconds} if jobs == 1 else {}
    return {
        "texts": count,
        "seconds": seconds,
        "peak_mb": result.peak_mb,
        "stages": stages,
    }


def device_child(folder: Path, jobs: int, device: str) -> Record:
    """One measurement with a device, in the checkout that is imported."""
    import numpy as np

    import adhominem
    from adhominem.jobs import workers
    from adhominem.text.readers import read_documents

    verifier = adhominem.load(MODEL, device=device)
    levs = []

    def run(names: list[str], encode: Any) -> int:
        documents = (
            document
            for name in names
            for document in read_documents(folder / name, author_required=False)
        )
        count = 0
        for batch in workers.encoded_batches(documents, encode):
            for _, lev in batch:
                if count < COMPARED:
                    levs.append(np.asarray(lev).reshape(-1))
                count += 1
        return count

    with workers.encoder(MODEL, verifier, jobs, device) as encode:
        began = time.perf_counter()
        run(["before.jsonl"], encode)
        first = time.perf_counter() - began
        levs.clear()
        began = time.perf_counter()
        count = run(["texts.jsonl"] * REPEATS, encode)
        seconds = time.perf_counter() - began
    path = folder / "levs.npy"
    difference = 0.0
    if path.exists():  # of the CPU, which comes first
        difference = float(np.abs(np.load(path) - np.array(levs)).max())
    else:
        np.save(path, np.array(levs))
    return {"texts": count, "seconds": seconds, "first": first, "difference": difference}


def report_device(
    words: int, folder: Path, checkouts: dict[str, Path], arguments: argparse.Namespace
) -> None:
    """Print a table for one length of texts, with and without the device."""
    print(f"\ntexts of {words:,} words, {arguments.jobs} worker processes\n", flush=True)
    print("| | texts/s | LEVs differ by | seconds for the first texts |\n|---|---|---|---|")
    for name, checkout in checkouts.items():
        # Before there were workers for a device, more jobs put a whole model on it each.
        jobs = arguments.jobs if name == "this" else 1
        for device, number in (("cpu", arguments.jobs), (arguments.device, jobs)):
            done = measure(checkout, folder, number, device)
            rate = done["texts"] / done["seconds"]
            title = f"{name}, {device}, {number} jobs"
            cells = f"{rate:.0f} | {done['difference']:.1e} | {done['first']:.1f}"
            print(f"| {title} | {cells} |", flush=True)


def measure(checkout: Path, folder: Path, jobs: int, device: str = "") -> Record:
    """One measurement in a process of its own, with the package of a checkout."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{checkout}{os.pathsep}{Path(__file__).parent}",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, __file__, str(folder), "--child", str(jobs), "--device", device]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    record: Record = json.loads(done.stdout)
    return record


def best_of(records: list[Record]) -> Record:
    """The fastest record, with the median of the memory."""
    memory = sorted(record["peak_mb"] for record in records)
    return {**min(records, key=lambda r: r["seconds"]), "peak_mb": memory[len(memory) // 2]}


def report(words: int, results: dict[tuple[str, int], Record], names: list[str]) -> None:
    """Print tables for one length of texts."""
    texts = results[names[0], 1]["texts"]
    print(f"\n{texts} texts of {words:,} words\n")
    print(f"| ms a text, one core | {' | '.join(names)} |")
    print(f"|---|{'---|' * len(names)}")
    alone = [results[name, 1] for name in names]
    for stage in alone[0]["stages"]:
        cells = [f"{1e3 * record['stages'][stage] / texts:.2f}" for record in alone]
        print(f"| {stage} | {' | '.join(cells)} |")
    rest = [record["seconds"] - sum(record["stages"].values()) for record in alone]
    print(f"| all else | {' | '.join(f'{1e3 * seconds / texts:.2f}' for seconds in rest)} |")
    floors = [record["stages"]["reading"] + record["stages"]["tokenizing"] for record in alone]
    for jobs, processors in ((1, "one core"), (2, "two cores")):
        if (names[0], jobs) not in results:
            continue
        records = [results[name, jobs] for name in names]
        rates = [texts / record["seconds"] for record in records]
        print(f"| **{processors}: texts/s** | {' | '.join(f'{rate:.1f}' for rate in rates)} |")
        slowest = texts / results[names[-1], 1]["seconds"]
        if len(names) > 1:
            times = [f"{rate / slowest:.2f}" for rate in rates]
            print(f"| {processors}: times {names[-1]} on one | {' | '.join(times)} |")
        memory = [f"{record['peak_mb']:.0f}" for record in records]
        print(f"| {processors}: peak memory in MB | {' | '.join(memory)} |")
    above = [
        f"{record['seconds'] / floor:.1f}" for record, floor in zip(alone, floors, strict=True)
    ]
    print(f"| times above the floor, one core | {' | '.join(above)} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--words", type=int, default=400_000, help="of all texts of a length")
    parser.add_argument("--lengths", type=int, nargs="+", default=WORDS)
    parser.add_argument("--one-core", action="store_true", help="leave out two")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="", help="such as cuda")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="with --device")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child and arguments.device:
        done = device_child(arguments.corpora, arguments.child, arguments.device)
        print(json.dumps(done))
        return
    if arguments.child:
        print(json.dumps(child(arguments.corpora, arguments.child)))
        return
    checkouts = {"this": Path(__file__).parents[1]}
    if arguments.against:
        checkouts["the other"] = arguments.against.resolve()
    for words in arguments.lengths:
        count = arguments.words // words
        with TemporaryDirectory() as scratch:
            folder = Path(scratch)
            texts = list(texts_of(arguments.corpora, words, 2 * count))
            for name, part in (("before", texts[::2]), ("texts", texts[1::2])):
                rows = (json.dumps({"id": str(at), "text": text}) for at, text in enumerate(part))
                folder.joinpath(f"{name}.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
            if arguments.device:
                report_device(words, folder, checkouts, arguments)
                continue
            records: dict[tuple[str, int], list[Record]] = {}
            for _ in range(arguments.rounds):
                for jobs in (1,) if arguments.one_core else (1, 2):
                    for name, checkout in checkouts.items():
                        record = measure(checkout, folder, jobs)
                        records.setdefault((name, jobs), []).append(record)
        best = {key: best_of(taken) for key, taken in records.items()}
        report(words, best, list(checkouts))


if __name__ == "__main__":
    run(main)
