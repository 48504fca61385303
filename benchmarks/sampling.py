"""How fast an epoch of pairs is drawn: seconds and peak memory.

    python benchmarks/sampling.py [CORPORA]

Three corpora: the one at hand; 300,000 documents whose numbers per author are drawn
from its; and 300,000 of which half are their authors' only ones, as in PAN 2020.
Floor: each document is touched once, so a random permutation of all documents.
Rival: Algorithms 1-3 word for word, on Python lists, with a search through group 1
for each author.
"""

from __future__ import annotations

import random
import sys
import time

import numpy as np
import numpy.typing as npt
from measure import DEFAULT_CORPORA, measured, run

import adhominem
from adhominem.errors import InputError
from adhominem.paper.sampling import PairOptions, draw_epoch
from adhominem.text.corpus import LabelCollector, Labels


def read_labels(corpora: str) -> Labels:
    collector = LabelCollector()
    skipped: list[InputError] = []
    for source in adhominem.find_sources(corpora):
        for document in source.documents(skipped=skipped):
            collector.add(document, source.name)
    return collector.labels()


def enlarge(labels: Labels, documents: int, only_ones: int = 0) -> Labels:
    """Labels of `count` documents, `only_ones` by authors of one, the others as in `labels`."""
    rng = np.random.default_rng(0)
    sizes = rng.choice(np.bincount(labels.author), documents)  # more authors than needed
    sizes[:only_ones] = 1
    author = np.repeat(np.arange(len(sizes)), sizes)[:documents].astype(np.int32)
    pick = rng.integers(0, len(labels), documents)
    return Labels(
        [str(index) for index in range(int(author[-1]) + 1)],
        labels.topic_names,
        labels.work_names,
        labels.corpus_names,
        author,
        labels.topic[pick],
        labels.work[pick],
        labels.corpus[pick],
    )


def rival(author: npt.NDArray[np.int32]) -> int:
    """Algorithms 1-3 as they are printed in the paper."""
    rng = random.Random(0)
    by_author: dict[int, list[int]] = {}
    for document, writer in enumerate(author.tolist()):
        by_author.setdefault(writer, []).append(document)
    group1: list[tuple[int, int]] = []
    group2: list[tuple[int, list[int]]] = []
    pairs = 0

    def take(documents: list[int]) -> int:
        return documents.pop(rng.randrange(len(documents)))

    def clean(writer: int, documents: list[int]) -> None:
        nonlocal pairs
        if len(documents) > 1:
            group2.append((writer, documents))
        elif documents:
            for entry in group1:
                if entry[0] == writer:
                    pairs += 1
                    group1.remove(entry)
                    return
            group1.append((writer, documents[0]))

    for writer, documents in by_author.items():
        if len(documents) % 2:
            group1.append((writer, take(documents)))
        if documents:
            group2.append((writer, documents))
    while group2 or len(group1) > 1:
        if group2:
            writer, documents = group2.pop(rng.randrange(len(group2)))
            take(documents), take(documents)
            pairs += 1
            clean(writer, documents)
        if len(group1) > 1:
            group1.pop(rng.randrange(len(group1))), group1.pop(rng.randrange(len(group1)))
            pairs += 1
        elif len(group2) > 1:
            two = [group2.pop(rng.randrange(len(group2))) for _ in range(2)]
            for _, documents in two:
                take(documents)
            pairs += 1
            for writer, documents in two:
                clean(writer, documents)
    return pairs


def main() -> None:
    corpora = sys.argv[1] if len(sys.argv) > 1 else DEFAULT_CORPORA
    labels = read_labels(corpora)
    all_options = PairOptions(
        balanced=True,
        same_author_across="work",
        different_authors_within="topic",
        one_corpus_batches=True,
    )
    print(f"data: {corpora}")
    for what, data in (
        ("at hand", labels),
        ("enlarged", enlarge(labels, 300_000)),
        ("half single", enlarge(labels, 300_000, only_ones=150_000)),
    ):
        print(f"{what}: {len(data):,} documents by {len(data.author_names):,} authors")
        began = time.perf_counter()
        np.random.default_rng(0).permutation(len(data))
        print(f"  {'a permutation (floor)':30} {time.perf_counter() - began:8.3f} s")
        began = time.perf_counter()
        rival(data.author)
        slow = time.perf_counter() - began
        print(f"  {'word for word (rival)':30} {slow:8.3f} s")
        for name, options in (("the paper's", PairOptions()), ("all options on", all_options)):
            began = time.perf_counter()
            drawn = draw_epoch(data, seed=0, epoch=0, options=options)
            seconds = time.perf_counter() - began
            with measured() as cost:  # again, since watching the memory takes time
                draw_epoch(data, seed=0, epoch=0, options=options)
            print(
                f"  {'draw_epoch, ' + name:30} {seconds:8.3f} s  "
                f"{slow / seconds:.1f} times the rival, {cost.peak_mb:.0f} MB at most; "
                f"{drawn.same_author_count:,} same, {drawn.different_author_count:,} different",
                flush=True,
            )


if __name__ == "__main__":
    run(main)
