"""What a Ray cluster costs beside worker processes of one machine, and what a death costs.

    python benchmarks/cluster.py CORPORA [--texts 6144] [--words 500] [--rounds 2]
    python benchmarks/cluster.py CORPORA --command-alone [--texts 4096]

A cluster of two nodes with three logical CPUs each runs on this machine. `adhominem encode` does
the same texts with `--jobs 2` and with `--engine ray --jobs 2`, in turn: all of them, and a quarter
of them. The difference of the two gives what a text takes, the rest is the start: by the clock, and
by the processor, in all processes of the command and of the cluster, which others on the machine
disturb less. The best of several rounds counts, each for itself.

Then, each time when half of the shards are finished, one thing is killed by SIGKILL: a process with
a model; the whole second node; `adhominem encode` itself, which is then started again. Printed are
the time that the command took in all, and whether the table has the same bytes. The second node is
killed last: it does not come back.

With --command-alone, the time of a text in the process of the command is printed, of which there is
one however large the cluster is: reading it, sending it out, and writing what comes back. It is
what limits the texts a second. An engine in the same process stands in for the cluster, and its
time is taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from measure import DEFAULT_CORPORA, run
from throughput import texts_of
from two_nodes import TwoNodes, two_nodes

from adhominem import Document, Verifier, encode, index_files
from adhominem.jobs import ray_engine
from adhominem.jobs.workers import Answer, answer_to

_SHARD = 512  # texts, as in `adhominem encode`
_LOCAL, _RAY = "--jobs 2", "--engine ray --jobs 2"


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpora", nargs="?", default=DEFAULT_CORPORA, type=Path)
    parser.add_argument("--texts", type=int, default=6_144)
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--command-alone", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        for count in (options.texts, options.texts // 4):
            with open(folder / f"{count}.jsonl", "w", encoding="utf-8") as file:
                texts = texts_of(options.corpora, options.words, count)
                for at, text in enumerate(islice(texts, count)):
                    file.write(json.dumps({"id": f"{at}", "text": text}) + "\n")
        if options.command_alone:
            command_alone(folder, options.texts)
            return
        began = time.perf_counter()
        with two_nodes() as cluster:
            print(f"two nodes are up after {time.perf_counter() - began:.1f} s\n", flush=True)
            undisturbed = compare(folder, cluster, options.texts, options.rounds)
            deaths(folder, cluster, options.texts, undisturbed)


def compare(folder: Path, cluster: TwoNodes, texts: int, rounds: int) -> float:
    """Compare the two engines; Ray's seconds for all texts are returned."""
    best: dict[tuple[str, int], tuple[float, float]] = {}
    for _ in range(rounds):
        for count in (texts // 4, texts):
            for how in (_LOCAL, _RAY):
                began, spent = time.perf_counter(), Spent(cluster)
                run = started(folder, how, count, cluster.environment)
                while run.poll() is None:
                    spent.look(run.pid)
                    time.sleep(0.2)
                now = time.perf_counter() - began, spent.seconds
                before = best.get((how, count), now)
                best[how, count] = min(now[0], before[0]), min(now[1], before[1])
            same = table(folder, _LOCAL, count) == table(folder, _RAY, count)
            print(f"{count:,} texts: the tables have the same bytes: {same}", flush=True)
    print("\n| | a quarter | all | start | ms a text |\n|---|---|---|---|---|")
    costs = {}
    for at, clock in enumerate(("by the clock", "of processor")):
        for how in (_LOCAL, _RAY):
            quarter, whole = best[how, texts // 4][at], best[how, texts][at]
            costs[how, clock] = cost = (whole - quarter) / (texts - texts // 4)
            print(
                f"| `{how}`, {clock} | {quarter:.1f} s | {whole:.1f} s "
                f"| {whole - texts * cost:.1f} s | {1000 * cost:.2f} |"
            )
        ratio = costs[_RAY, clock] / costs[_LOCAL, clock]
        print(f"| Ray / worker processes, {clock} | | | | {ratio:.2f} |")
    print()
    return best[_RAY, texts][0]


class Spent:
    """Processor seconds from now on, of the cluster and of the processes of a command."""

    def __init__(self, cluster: TwoNodes) -> None:
        self._cluster = cluster
        self._before = {process: _spent(process) for process in cluster.processes()}
        self._now: dict[psutil.Process, float] = {}  # of those that have ended, the last look

    def look(self, command: int) -> None:
        """Read the processor time of all running processes."""
        with suppress(psutil.Error):
            run = psutil.Process(command)
            for process in (run, *run.children(recursive=True), *self._cluster.processes()):
                self._now[process] = max(self._now.get(process, 0), _spent(process))

    @property
    def seconds(self) -> float:
        """Seconds up to the last `look`."""
        return sum(now - self._before.get(process, 0) for process, now in self._now.items())


def _spent(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def deaths(folder: Path, cluster: TwoNodes, texts: int, undisturbed: float) -> None:
    """Kill processes in the middle of the work, and measure the rest."""
    print("| killed | all in all | more than undisturbed | same bytes |")
    print("|---|---|---|---|")
    victims: dict[str, Callable[[psutil.Process], list[psutil.Process]]] = {
        "a process with a model": lambda run: cluster.at_work()[:1],
        "the command itself": lambda run: [run],
        "the second node": lambda run: [
            *cluster.nodes[1].children(recursive=True),
            cluster.nodes[1],
        ],
    }
    for name, chosen in victims.items():
        began = time.perf_counter()
        run = started(folder, _RAY, texts, cluster.environment)
        wait_for_half(folder, texts)
        for victim in chosen(psutil.Process(run.pid)):
            with suppress(psutil.Error):
                victim.kill()
        finished = shards(folder, texts)
        if run.wait():  # killed: the same command goes on
            finished = shards(folder, texts)
            started(folder, _RAY, texts, cluster.environment).wait()
        seconds = time.perf_counter() - began
        same = table(folder, _LOCAL, texts) == table(folder, _RAY, texts)
        print(
            f"| {name}, with {finished} of {-(-texts // _SHARD)} shards finished | {seconds:.1f} s "
            f"| {seconds - undisturbed:.1f} s | {same} |",
            flush=True,
        )


class Apart:
    """An engine in this process, whose processor time is known."""

    ahead = 4

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.seconds = 0.0

    def begin(self, documents: Sequence[Document]) -> Sequence[Document]:
        """Texts to be encoded."""
        return documents

    def result(self, shard: Sequence[Document]) -> Answer:
        """Encode texts."""
        began = time.process_time()
        answer = answer_to(self._verifier, shard)
        self.seconds += time.process_time() - began
        return answer


def command_alone(folder: Path, texts: int) -> None:
    """Print the time per text that the command itself takes, without encoding."""
    engines: list[Apart] = []

    @contextmanager
    def apart(model: str, verifier: Verifier, jobs: int) -> Iterator[Apart]:
        engines.append(Apart(verifier))
        yield engines[-1]

    ray_engine.ray_engine = apart  # type: ignore[assignment]
    names = {"encode": "a.npz", "index": "index"}
    print("| command | beside encoding, ms of processor a text | encoding |\n|---|---|---|")
    for command, name in names.items():
        spent = []
        for count in (texts // 4, texts):
            source, output = [folder / f"{count}.jsonl"], folder / f"{count}-{name}"
            began = time.process_time()
            if command == "index":
                index_files(source, output, engine="ray", trials=0)
            else:
                encode("general-en", source, output, engine="ray")
            elsewhere = engines[-1].seconds
            spent.append((time.process_time() - began - elsewhere, elsewhere))
        here, there = (
            1000 * (whole - quarter) / (texts - texts // 4)
            for quarter, whole in zip(*spent, strict=True)
        )
        print(f"| `{command}` | {here:.2f} | {there:.2f} |", flush=True)


def started(
    folder: Path, how: str, count: int, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """A started `adhominem encode` of these texts."""
    output = path_of(folder, how, count)
    output.unlink(missing_ok=True)
    call = [sys.executable, "-m", "adhominem", "encode", str(folder / f"{count}.jsonl")]
    return subprocess.Popen(
        [*call, "-o", str(output), *how.split()],
        env={**environment, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=None if os.environ.get("VERBOSE") else subprocess.DEVNULL,
    )


def wait_for_half(folder: Path, texts: int) -> None:
    """Wait until half of the shards are finished."""
    while shards(folder, texts) < texts // _SHARD // 2:
        time.sleep(0.05)


def shards(folder: Path, texts: int) -> int:
    """The number of finished shards."""
    output = path_of(folder, _RAY, texts)
    return len(list(output.with_name(f"{output.name}.shards").glob("*.levs.safetensors")))


def path_of(folder: Path, how: str, count: int) -> Path:
    """The path of a table."""
    return folder / f"{'ray' if how == _RAY else 'local'}-{count}.npz"


def table(folder: Path, how: str, count: int) -> bytes:
    """The bytes of a table."""
    return path_of(folder, how, count).read_bytes()


if __name__ == "__main__":
    run(main)
