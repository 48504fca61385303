"""How fast texts become a packed corpus: tokens/s, seconds, peak memory.

    python benchmarks/prepare.py [CORPORA]

Floor: every byte must be unpacked and parsed once; "read alone" is that time.
Rival: the `tokenizers` library over each whole text, normalised the same way, on
one core, without the memory of chunks. All in one run, since machines vary.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import DEFAULT_CORPORA, measured, run
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

import adhominem
from adhominem.errors import InputError
from adhominem.text.normalisation import Normaliser
from adhominem.text.tokenizer import TOKEN_PATTERN


def texts(corpora: str) -> Iterator[str]:
    skipped: list[InputError] = []
    return (document.text for document in adhominem.read_documents(corpora, skipped=skipped))


def read_alone(corpora: str) -> int:
    return sum(len(text.split()) for text in texts(corpora))


def rival(corpora: str) -> int:
    normaliser = Normaliser()
    split = Split(Regex(TOKEN_PATTERN), behavior="removed", invert=True)
    return sum(len(split.pre_tokenize_str(normaliser(text))) for text in texts(corpora))


def ours(corpora: str, jobs: int) -> int:
    with TemporaryDirectory() as folder:
        sources = adhominem.find_sources(corpora)
        corpus = adhominem.prepare(sources, Path(folder) / "corpus", jobs=jobs, skipped=[])
        return int(corpus.offsets[-1])


def main() -> None:
    corpora = sys.argv[1] if len(sys.argv) > 1 else DEFAULT_CORPORA
    print(f"data: {corpora} on {os.cpu_count()} cores")
    runs: list[tuple[str, Callable[[], int]]] = [
        ("read alone (floor; words)", lambda: read_alone(corpora)),
        ("tokenizers, whole texts, 1 core (rival)", lambda: rival(corpora)),
        ("adhominem prepare --jobs 1", lambda: ours(corpora, 1)),
        ("adhominem prepare --jobs 2", lambda: ours(corpora, 2)),
    ]
    seconds: dict[str, float] = {}
    for name, work in runs:
        with measured() as cost:
            tokens = work()
        seconds[name] = cost.seconds
        print(
            f"{name:42} {tokens:12,} tokens {cost.seconds:7.1f} s "
            f"{tokens / cost.seconds / 1e6:6.2f} M/s {cost.peak_mb:7.0f} MB at most",
            flush=True,
        )
    (_, floor), (_, slow), *fast = seconds.items()
    for name, time in fast:
        print(
            f"{name}: {slow / time:.1f} times the rival's speed, {time / floor:.1f} times the floor"
        )


if __name__ == "__main__":
    run(main)
