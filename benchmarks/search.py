"""An index of many texts: what it takes to build and to search, what it finds, beside rivals.

    python benchmarks/search.py [CORPORA] --work FOLDER [--sizes 10000 100000] [--drawn 1000000]

The texts are those of train, train-kinds and train-extra, cut into pieces of about 500 words and
shuffled. For each size:

1. build: texts a second, and what a text takes on the disk.
2. recall: of the 100 texts that a full scan finds for a text of the index, how many a search finds.
   The full scan ranks all texts by `Searcher.approximate`, from their stored LEVs, and scores the
   best thousand by the model.
3. time: of a search for one text and for 32 at once, without encoding them, in seconds and in
   seconds of processor time; memory; beside a scan of the same codes as floats by NumPy and by
   FAISS, and by Milvus Lite up to `--milvus` texts, which find candidates only.
4. success at 1, 8 and 10: for texts of dev sets, whose authors the model has never seen, is the
   other text of the author, which stands in the index, among the first? Beside the cosine of TF-IDF
   character 4-grams.

`--drawn` makes an index of this many texts: the largest real one, and texts that were drawn to have
its statistics (`drawn_texts.py`), for 2 and 3. Work that is done already in the folder is not done
again.
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
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from drawn_texts import sample, statistics, with_drawn
from measure import DEFAULT_CORPORA, run
from threadpoolctl import threadpool_limits

import adhominem
from adhominem.arrays import Levs
from adhominem.index.milvus import MilvusAddress, MilvusEngine
from adhominem.index.searcher import Searcher
from adhominem.index.store import Store
from adhominem.text.files import Document
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier

PARTS = ("train", "train-kinds", "train-extra")
WORDS = 500
TOP = 100
ONE = 12  # texts that are searched for one by one


def pieces(text: str) -> Iterator[str]:
    """A text in parts of about 500 words each."""
    words = list(re.finditer(r"\S+", text))
    cuts = np.linspace(0, len(words), max(1, round(len(words) / WORDS)) + 1).astype(int)
    for begin, end in itertools.pairwise(cuts):
        if end - begin >= WORDS // 5:
            yield text[words[begin].start() : words[end - 1].end()]


def texts_of(corpora: Path) -> list[dict[str, str]]:
    """All pieces of the texts, shuffled."""
    rows = []
    for part in PARTS:
        for path in sorted((corpora / part).glob("*.jsonl.xz")):
            genre = path.name.split(".")[0]
            with lzma.open(path, "rt", encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    labels = {"author": f"{genre}/{row['author']}", "topic": genre}
                    rows += [{"text": text, **labels} for text in pieces(row["text"])]
    random.Random(0).shuffle(rows)
    return [{"id": str(number), **row} for number, row in enumerate(rows)]


def build(corpora: Path, work: Path, size: int, model: str) -> Path:
    """An index of this many texts."""
    source, folder = work / f"{size}.jsonl", work / f"index-{size}"
    if (folder / "index.json").exists():
        print(f"\n{Store(folder).manifest.texts:,} texts, built before", flush=True)
        return folder
    if not source.exists():
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in texts_of(corpora)[:size])
    began = time.process_time(), time.monotonic()
    result = adhominem.index_files([source], folder, model=model)
    summary = f"{result.texts:,} texts, {result.bytes_a_text / 1e3:.2f} kB a text"
    if result.added:
        seconds = time.monotonic() - began[1]
        summary += f", {result.added / seconds:.0f} a second (arranging included)"
    print(f"\n{summary}", flush=True)
    return folder


def timed(work: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """Seconds, and seconds of processor time, each the minimum of several runs."""
    wall, processor = [], []
    for _ in range(times):
        began = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - began[0])
        processor.append(time.process_time() - began[1])
    return min(wall), min(processor)


def show(name: str, seconds: tuple[float, float], queries: int) -> None:
    """Print a row of the table of times."""
    wall, processor = (1e3 * second / queries for second in seconds)
    print(f"  {name:28} {wall:9.1f} ms a query, {processor:9.1f} ms of processor", flush=True)


def recall(searcher: Searcher, queries: int) -> None:
    """Print how many of the best 20 and 100 by a full scan a search finds."""
    rng = np.random.default_rng(1)
    live = searcher.store.live
    shares: dict[int, list[float]] = {20: [], TOP: []}
    for number in rng.choice(live, queries, replace=False).tolist():
        levs = searcher.store.levs([number])
        blocks = [live[at : at + 4_096] for at in range(0, len(live), 4_096)]
        scores = np.concatenate([searcher.approximate(levs, block) for block in blocks])
        best = live[np.argsort(-scores)[:1_001]]
        exact = searcher.scored(levs, [best[best != number]])[0].numbers
        for k, found in shares.items():
            hits = searcher.search(levs, k, [frozenset([number])])[0].numbers
            found.append(len(set(exact[:k].tolist()) & set(hits.tolist())) / k)
    for k, found in shares.items():
        print(f"  recall of the best {k}: {np.mean(found):.4f} ({queries} searches)", flush=True)


def times(searcher: Searcher, k: int = 20) -> None:
    """Print how long a search takes, and the rivals' scan for candidates."""
    rng = np.random.default_rng(2)
    levs = searcher.store.levs(rng.choice(searcher.store.live, 32, replace=False))
    with threadpool_limits(1, "blas"):  # as the command does
        single = [timed(partial(searcher.search, levs[at : at + 1], k)) for at in range(ONE)]
        wall, processor = np.sum(single, axis=0)
        show(f"search, one, mean of {ONE}", (wall, processor), ONE)
        show("search, 32 at once", timed(lambda: searcher.search(levs, k), 2), 32)
    memory = psutil.Process().memory_info()
    print(f"  memory {memory.rss / 1e9:.2f} GB, of that files {memory.shared / 1e9:.2f} GB")
    assert searcher.coder is not None
    points = searcher.coder.approximate.points(levs)
    queries = searcher.coder.query(levs, points)[:, : searcher.engine.scanned]
    engine_only = searcher.engine.candidates
    count = max(16_384, len(searcher.store) // 24)  # as many as a search for 20 asks for
    show("  candidates, one", timed(lambda: engine_only(queries[:1], count)), 1)
    show("  candidates, 32", timed(lambda: engine_only(queries, count), 2), 32)
    codes = np.concatenate([part[:, : queries.shape[1]] for part in searcher._codes])
    plain = codes.astype(np.float32)
    show("NumPy product, one", timed(lambda: plain @ queries[0]), 1)
    show("NumPy product, 32", timed(lambda: plain @ queries.T, 2), 32)
    import faiss

    faiss.omp_set_num_threads(psutil.cpu_count() or 1)
    flat = faiss.IndexFlatIP(plain.shape[1])
    flat.add(plain)
    show("FAISS flat, one", timed(lambda: flat.search(queries[:1], count)), 1)
    show("FAISS flat, 32", timed(lambda: flat.search(queries, count), 2), 32)


def times_in_milvus(searcher: Searcher, work: Path, k: int) -> None:
    """How long Milvus Lite takes for the same candidates."""
    address = MilvusAddress.of(f"milvus://{(work / 'milvus.db').resolve()}/codes")
    engine = MilvusEngine(address)
    engine.create({}, searcher._codes[0].shape[1])
    for begin, part in zip(searcher.store.begins.tolist(), searcher._codes, strict=False):
        engine.add(begin + np.arange(len(part)), part)
    levs = searcher.store.levs(np.arange(32))
    assert searcher.coder is not None
    queries = searcher.coder.query(levs, searcher.coder.approximate.points(levs))
    show("Milvus Lite, one", timed(lambda: engine.candidates(queries[:1], k), 2), 1)
    show("Milvus Lite, 32", timed(lambda: engine.candidates(queries, k), 1), 32)
    engine.close()


def cases(corpora: Path, of_a_set: int) -> list[tuple[str, str]]:
    """Pairs of texts by one author of the dev sets, of about 500 words each."""
    chosen = []
    for folder in sorted((corpora / "dev").iterdir()):
        pairs = [pair for pair in read_pairs(folder) if pair.same_author]
        for pair in pairs[:: max(1, len(pairs) // of_a_set)][:of_a_set]:
            chosen.append((next(pieces(pair.first.text)), next(pieces(pair.second.text))))
    return chosen


def success(
    corpora: Path, work: Path, size: int, verifier: Verifier, options: argparse.Namespace
) -> None:
    """Print how often the author's other text comes up first, or early."""
    pairs = cases(corpora, options.of_a_set)
    folder = work / f"success-{size}"
    if not folder.exists():
        shutil.copytree(work / f"index-{size}", folder)
    others = work / "others.jsonl"
    with open(others, "w", encoding="utf-8") as file:
        for at, (_, second) in enumerate(pairs):
            file.write(
                json.dumps({"id": f"other-{at}", "author": f"dev-{at}", "text": second}) + "\n"
            )
    adhominem.index_files([others], folder, model=options.model, trials=0)
    searcher = Searcher(folder, verifier)
    levs: Levs = verifier.encode([Document(text=first) for first, _ in pairs])
    ranks = []
    for at, scored in enumerate(searcher.search(levs, 10)):
        ids = [searcher.store.id(number) for number in scored.numbers.tolist()]
        ranks.append(ids.index(f"other-{at}") + 1 if f"other-{at}" in ids else 99)
    print_success(f"among {len(searcher.store):,} texts", ranks)


def print_success(name: str, ranks: list[int]) -> None:
    """Print the shares of texts that came up early."""
    shares = ", ".join(f"at {k} {np.mean(np.array(ranks) <= k):.3f}" for k in (1, 8, 10))
    print(f"  success {name}: {shares} ({len(ranks)} searches)", flush=True)


def success_of_rival(corpora: Path, work: Path, size: int, of_a_set: int) -> None:
    """Print the success of the cosine of TF-IDF character 4-grams."""
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
    print_success(f"of TF-IDF 4-grams among {table.shape[0]:,}", ranks)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--drawn", type=int, nargs="*", default=[])
    parser.add_argument("--drawn-alone", action="store_true", help="the real ones are there")
    parser.add_argument("--milvus", type=int, default=10_000, help="texts up to which it is tried")
    parser.add_argument("--rival", type=int, default=10_000, help="the same of TF-IDF")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--of-a-set", type=int, default=10)
    parser.add_argument("--only", choices=("times", "recall", "success"))
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    verifier = adhominem.load(options.model)
    for size in [] if options.drawn_alone else options.sizes:
        folder = build(options.corpora, options.work, size, options.model)
        measure(folder, verifier, options)
        if options.only in (None, "success"):
            success(options.corpora, options.work, size, verifier, options)
            if size <= options.rival:
                success_of_rival(options.corpora, options.work, size, options.of_a_set)
    real = options.work / f"index-{max(options.sizes)}"
    for size in options.drawn:
        output = options.work / f"drawn-{size}"
        folder = with_drawn(real, output, options.model, size, options.jobs)
        store = Store(folder)
        taken = sum(file.bytes for file in store.manifest.files())
        print(f"\n{len(store):,} texts, most of them drawn: {taken / 1e9:.2f} GB", flush=True)
        cut = max(options.sizes)
        for name, ends in (("real", (0, cut)), ("drawn", (cut, len(store)))):
            figures = statistics(sample(store, *ends)).items()
            print(f"  {name}: " + ", ".join(f"{what} {value:.4g}" for what, value in figures))
        measure(folder, verifier, options)


def measure(folder: Path, verifier: Verifier, options: argparse.Namespace) -> None:
    """Print times and recall of an index."""
    if options.only in (None, "times"):
        began = time.perf_counter()
        searcher = Searcher(folder, verifier)
        print(f"  opened in {time.perf_counter() - began:.1f} s")
        times(searcher)
        if len(searcher.store) <= options.milvus:
            times_in_milvus(searcher, options.work, 16_384)
    if options.only in (None, "recall"):
        recall(Searcher(folder, verifier), options.queries)


if __name__ == "__main__":
    run(main)
