"""An index of many texts: what it takes to build and to search, what it finds, beside rivals.

    python benchmarks/search.py [CORPORA] --work FOLDER [--sizes 10000 100000] [--repeat 10]

The texts are those of train, train-kinds and train-extra, cut into pieces of about 500 words and
shuffled. For each size:

1. build: texts a second, and what a text takes on the disk.
2. recall: of the 100 texts that a full scan finds for a text of the index, how many a search finds.
   The full scan ranks all texts by `Searcher.near`, from their stored LEVs, and scores the best
   thousand by the model.
3. time: of a search for one text and for 32 at once, without encoding them, in seconds and in
   seconds of processor time; memory; beside a scan of the same codes as floats by NumPy and by
   FAISS, if that is installed, which find candidates only.
4. success at 1, 8 and 10: for texts of dev sets, whose authors the model has never seen, is the
   other text of the author, which stands in the index, among the first? Beside the cosine of TF-IDF
   character 4-grams.

`--repeat` copies the shards of the largest index so many times: for time, memory and disk alone,
since texts that stand there several times say nothing of recall. Work that is done already in the
folder is not done again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import random
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
from measure import DEFAULT_CORPORA

import adhominem
from adhominem.arrays import Levs
from adhominem.index.files import IndexFile, read_manifest, write_manifest
from adhominem.index.searcher import Searcher
from adhominem.text.files import Document
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier

PARTS = ("train", "train-kinds", "train-extra")
WORDS = 500
TOP = 100


def pieces(text: str) -> Iterator[str]:
    """A text in parts of about 500 words each."""
    words = list(re.finditer(r"\S+", text))
    cuts = np.linspace(0, len(words), max(1, round(len(words) / WORDS)) + 1).astype(int)
    for begin, end in itertools.pairwise(cuts):
        if end - begin >= WORDS // 5:
            yield text[words[begin].start() : words[end - 1].end()]


def texts_of(corpora: Path) -> list[dict[str, str]]:
    """All pieces, shuffled."""
    rows = []
    for part in PARTS:
        for path in sorted((corpora / part).glob("*.jsonl.xz")):
            genre = path.name.split(".")[0]
            with lzma.open(path, "rt", encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    told = {"author": f"{genre}/{row['author']}", "topic": genre}
                    rows += [{"text": text, **told} for text in pieces(row["text"])]
    random.Random(0).shuffle(rows)
    return [{"id": str(number), **row} for number, row in enumerate(rows)]


def build(corpora: Path, work: Path, size: int) -> Path:
    """An index of so many texts."""
    source, folder = work / f"{size}.jsonl", work / f"index-{size}"
    if not source.exists():
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in texts_of(corpora)[:size])
    began = time.process_time(), time.monotonic()
    result = adhominem.index_files([source], folder)
    told = f"{result.texts:,} texts, {result.bytes_a_text / 1e3:.2f} kB a text"
    if result.added:
        seconds = time.monotonic() - began[1]
        told += f", {result.added / seconds:.0f} a second (arranging included)"
    print(f"\n{told}", flush=True)
    return folder


def timed(work: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """Seconds, and seconds of processor time: the least of some."""
    wall, processor = [], []
    for _ in range(times):
        began = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - began[0])
        processor.append(time.process_time() - began[1])
    return min(wall), min(processor)


def show(name: str, seconds: tuple[float, float], queries: int) -> None:
    """A row of the table of times."""
    wall, processor = (1e3 * second / queries for second in seconds)
    print(f"  {name:28} {wall:9.1f} ms a query, {processor:9.1f} ms of processor", flush=True)


def recall(searcher: Searcher, queries: int) -> None:
    """Of the best 20 and 100 by a full scan, those that a search finds."""
    rng = np.random.default_rng(1)
    live = searcher.store.live
    shares: dict[int, list[float]] = {20: [], TOP: []}
    for number in rng.choice(live, queries, replace=False).tolist():
        levs = searcher.store.levs([number])
        near = np.concatenate(
            [searcher.near(levs, [live[at : at + 4_096]])[0] for at in range(0, len(live), 4_096)]
        )
        best = live[np.argsort(-near)[:1_001]]
        exact = searcher.scored(levs, [best[best != number]])[0].numbers
        for k, told in shares.items():
            hits = searcher.search(levs, k, [frozenset([number])])[0].numbers
            told.append(len(set(exact[:k].tolist()) & set(hits.tolist())) / k)
    for k, told in shares.items():
        print(f"  recall of the best {k}: {np.mean(told):.4f} ({queries} searches)", flush=True)


def times(searcher: Searcher, k: int = 20) -> None:
    """How long a search takes, and the rivals' scan for candidates."""
    rng = np.random.default_rng(2)
    levs = searcher.store.levs(rng.choice(searcher.store.live, 32, replace=False))
    memory = psutil.Process().memory_info()
    print(f"  memory {memory.rss / 1e9:.2f} GB, of that files {memory.shared / 1e9:.2f} GB")
    show("search, one", timed(lambda: searcher.search(levs[:1], k)), 1)
    show("search, 32 at once", timed(lambda: searcher.search(levs, k), 2), 32)
    assert searcher.view is not None
    queries = searcher.view.query(levs, searcher.view.points(levs))
    engine_only = searcher.engine.candidates
    show("  candidates, one", timed(lambda: engine_only(queries[:1], 16_384)), 1)
    show("  candidates, 32", timed(lambda: engine_only(queries, 16_384), 2), 32)
    codes = np.concatenate([part["codes"] for part in searcher._codes])
    plain = codes.astype(np.float32)
    show("NumPy product, one", timed(lambda: plain @ queries[0]), 1)
    show("NumPy product, 32", timed(lambda: plain @ queries.T, 2), 32)
    try:
        import faiss
    except ImportError:
        return
    faiss.omp_set_num_threads(psutil.cpu_count() or 1)
    flat = faiss.IndexFlatIP(plain.shape[1])
    flat.add(plain)
    show("FAISS flat, one", timed(lambda: flat.search(queries[:1], 1_024)), 1)
    show("FAISS flat, 32", timed(lambda: flat.search(queries, 1_024), 2), 32)


def cases(corpora: Path, of_a_set: int) -> list[tuple[str, str]]:
    """Pairs of texts by one author of the dev sets, of about 500 words each."""
    chosen = []
    for folder in sorted((corpora / "dev").iterdir()):
        pairs = [pair for pair in read_pairs(folder) if pair.same_author]
        for pair in pairs[:: max(1, len(pairs) // of_a_set)][:of_a_set]:
            chosen.append((next(pieces(pair.first.text)), next(pieces(pair.second.text))))
    return chosen


def success(corpora: Path, work: Path, size: int, verifier: Verifier, of_a_set: int) -> None:
    """Whether the author's other text comes up first, or soon."""
    pairs = cases(corpora, of_a_set)
    folder = work / f"success-{size}"
    if not folder.exists():
        shutil.copytree(work / f"index-{size}", folder)
    others = work / "others.jsonl"
    with open(others, "w", encoding="utf-8") as file:
        for at, (_, second) in enumerate(pairs):
            file.write(
                json.dumps({"id": f"other-{at}", "author": f"dev-{at}", "text": second}) + "\n"
            )
    adhominem.index_files([others], folder, trials=0)
    searcher = Searcher(folder, verifier)
    levs: Levs = verifier.encode([Document(text=first) for first, _ in pairs])
    ranks = []
    for at, scored in enumerate(searcher.search(levs, 10)):
        ids = [searcher.store.id(number) for number in scored.numbers.tolist()]
        ranks.append(ids.index(f"other-{at}") + 1 if f"other-{at}" in ids else 99)
    tell_success(f"among {len(searcher.store):,} texts", ranks)


def tell_success(name: str, ranks: list[int]) -> None:
    """The shares of those that came up early."""
    shares = ", ".join(f"at {k} {np.mean(np.array(ranks) <= k):.3f}" for k in (1, 8, 10))
    print(f"  success {name}: {shares} ({len(ranks)} searches)", flush=True)


def success_of_rival(corpora: Path, work: Path, size: int, of_a_set: int) -> None:
    """The same by the cosine of TF-IDF character 4-grams."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    pairs = cases(corpora, of_a_set)
    with open(work / f"{size}.jsonl", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    grams = TfidfVectorizer(
        analyzer="char",
        ngram_range=(4, 4),
        max_features=50_000,
        sublinear_tf=True,
        dtype=np.float32,
    )
    table = grams.fit_transform([second for _, second in pairs] + texts)
    queries = grams.transform([first for first, _ in pairs])
    products = np.asarray((queries @ table.T).todense())
    ranks = [int((row > row[at]).sum()) + 1 for at, row in enumerate(products)]
    tell_success(f"of TF-IDF 4-grams among {table.shape[0]:,}", ranks)


def repeated(folder: Path, output: Path, count: int) -> Path:
    """An index whose shards stand there so many times."""
    manifest = read_manifest(folder)
    if output.exists():
        return output
    output.mkdir()
    shards = []

    def copied(file: IndexFile, at: int) -> IndexFile:
        name = f"{at:03}-{file.name}"
        shutil.copyfile(folder / file.name, output / name)
        return replace(file, name=name)

    for at in range(count):
        for shard in manifest.shards:
            assert shard.codes is not None
            shards.append(
                replace(shard, levs=copied(shard.levs, at), codes=copied(shard.codes, at))
            )
    assert manifest.view is not None
    shutil.copyfile(folder / manifest.view.name, output / manifest.view.name)
    write_manifest(output, replace(manifest, shards=tuple(shards), removed=(), chance=None))
    return output


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--of-a-set", type=int, default=10)
    parser.add_argument("--only", choices=("times", "recall", "success"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    verifier = adhominem.load()
    for size in options.sizes:
        folder = build(options.corpora, options.work, size)
        if options.only in (None, "times"):
            times(Searcher(folder, verifier))
        if options.only in (None, "recall"):
            recall(Searcher(folder, verifier), options.queries)
        if options.only in (None, "success"):
            success(options.corpora, options.work, size, verifier, options.of_a_set)
            if size <= 10_000:
                success_of_rival(options.corpora, options.work, size, options.of_a_set)
    if options.repeat:
        largest = options.work / f"index-{max(options.sizes)}"
        folder = repeated(largest, options.work / f"repeated-{options.repeat}", options.repeat)
        searcher = Searcher(folder, verifier)
        size_on_disk = sum(file.bytes for file in searcher.store.manifest.files())
        print(f"\n{len(searcher.store):,} texts, repeated: {size_on_disk / 1e9:.2f} GB")
        times(searcher)


if __name__ == "__main__":
    main()
