"""How many people wrote these texts, and who wrote what: clusters beside those of Delta.

    python benchmarks/clustering.py [CORPORA] [SET ...] [--draws 5] [--small]

From each dev set, draws of 30 to 100 texts by 5 to 30 authors, who have unequally many (a Dirichlet
distribution of weight 1; fewer where a set has fewer). `adhominem cluster` knows neither the
number of authors nor any other text: the draw itself is the population. The rival is hierarchical
clustering of Burrows's Delta on the 200 most frequent tokens of the draw, with that linkage
(average, complete or Ward's) and that cut which turn out best in hindsight, for each draw.

Means over draws: BCubed precision, recall and F, the adjusted Rand index, clusters as a multiple of
the authors (geometric mean), and F of Delta at its best cut. The last row counts sets once each.

`--small`: do a few texts by a few authors do better as their own population, or without one? For
each number of texts, means over sets of F, the adjusted Rand index, and Cllr of all pairs; without
a population also as if the model did not know the genre, nor any like it (`unseen.py`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA, run
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from unseen import group_of

import adhominem
from adhominem import Document
from adhominem.arrays import FloatArray, IntArray, Levs
from adhominem.evaluation.measures import cllr
from adhominem.evaluation.pan import ClusterMeasures, measure_clusters
from adhominem.questions.cluster.cluster import PRIOR, merge_texts
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer, square
from adhominem.text.readers import read_pairs
from adhominem.text.tokenizer import Tokenizer
from adhominem.verify.verifier import Verifier

WORDS = 200  # of Delta
SMALL = (5, 6, 8, 10, 15, 20, 30, 50)  # texts
COLUMNS = (
    "set",
    "texts",
    "authors",
    "precision",
    "recall",
    "F",
    "ARI",
    "clusters",
    "Delta F",
    "ARI",
)


def distinct(folder: Path) -> list[Document]:
    """The distinct texts of a pair set."""
    texts: dict[str, Document] = {}
    for pair in read_pairs(folder):
        for document in (pair.first, pair.second):
            texts.setdefault(document.text, document)
    return list(texts.values())


def draw(authors: list[str], rng: np.random.Generator) -> IntArray:
    """Some texts by some of the authors, with unequal numbers of texts."""
    names = sorted(set(authors))
    chosen = rng.choice(names, min(int(rng.integers(5, 31)), len(names)), replace=False)
    weight = dict(zip(chosen, rng.dirichlet(np.ones(len(chosen))) + 1e-9, strict=True))
    pool = np.array([at for at, author in enumerate(authors) if author in weight])
    shares = np.array([weight[authors[at]] for at in pool])
    count = min(int(rng.integers(30, 101)), len(pool))
    return rng.choice(pool, count, replace=False, p=shares / shares.sum())


def draw_few(authors: list[str], count: int, rng: np.random.Generator) -> IntArray:
    """`count` texts by two authors or more, most with several; empty if too few."""
    texts_of: dict[str, list[int]] = {}
    for at, author in enumerate(authors):
        texts_of.setdefault(author, []).append(at)
    names = rng.permutation(sorted(name for name, texts in texts_of.items() if len(texts) > 1))
    first = int(rng.integers(2, max(3, count // 2 + 1)))
    for most in (first, 3 * first):  # authors
        pool = [at for name in names[:most] for at in texts_of[name]]
        while len(pool) >= count:
            chosen = rng.choice(pool, count, replace=False)
            if len({authors[at] for at in chosen}) > 1:
                return chosen
    return np.zeros(0, np.int64)


def clustered(
    scorer: Scorer, levs: Levs, authors: list[str], population: Population | None, prior: float
) -> tuple[ClusterMeasures, FloatArray]:
    """How well texts are clustered by author, and the log Bayes factors of all pairs."""
    factors = square(scorer.all_pairs(levs, population).log_bayes_factor)
    partition = merge_texts(factors, prior)
    cluster_of = {text: at for at, group in enumerate(partition.clusters) for text in group}
    return measure_clusters([cluster_of[at] for at in range(len(authors))], authors), factors


def mean_of_draws(
    verifier: Verifier,
    scorer: Scorer,
    texts: tuple[list[str], Levs],
    draws: list[IntArray],
    prior: float,
    own_population: bool,
) -> list[float]:
    """Mean F and adjusted Rand index of draws, and Cllr of all their pairs."""
    authors, levs = texts
    figures, log_factors, same_author = [], [], []
    for chosen in draws:
        few, truth = levs[chosen], [authors[at] for at in chosen]
        population = verifier.population_of(few) if own_population else None
        measures, factors = clustered(scorer, few, truth, population, prior)
        pairs = np.triu_indices(len(chosen), 1)
        figures.append((measures.bcubed_f, measures.adjusted_rand_index))
        log_factors.append(factors[pairs])
        same_author.append(np.equal.outer(truth, truth)[pairs])
    cost = cllr(np.concatenate(log_factors), np.concatenate(same_author))
    return [*np.mean(figures, axis=0).tolist(), cost]


def small_table(
    verifier: Verifier, folders: list[Path], draws: int, prior: float, seed: int
) -> None:
    """A few texts as their own population, and without one."""
    encoded = []
    for folder in folders:
        documents, unknowing = distinct(folder), verifier.scorer
        for genre in {folder.name, *group_of(folder.name)}:
            unknowing = unknowing.without(genre)
        authors = [document.author for document in documents]
        encoded.append(((authors, verifier.encode(documents)), unknowing))
    titles = ("own population", "none", "none, genre unknown")
    print("| texts | sets | draws | authors |", *(f"F, {name} | ARI | Cllr |" for name in titles))
    print("|---" * (4 + 3 * len(titles)) + "|")
    for count in SMALL:
        rows, counted = [], []
        for texts, unknowing in encoded:
            rng = np.random.default_rng([seed, count])
            drawn = [draw_few(texts[0], count, rng) for _ in range(draws)]
            drawn = [chosen for chosen in drawn if len(chosen)]
            if not drawn:
                continue
            modes = ((verifier.scorer, True), (verifier.scorer, False), (unknowing, False))
            row = [
                mean_of_draws(verifier, scorer, texts, drawn, prior, has_population)
                for scorer, has_population in modes
            ]
            rows.append(np.concatenate(row))
            counted += [len({texts[0][at] for at in chosen}) for chosen in drawn]
        means = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
        about = f"{len(rows)} | {len(counted)} | {np.mean(counted):.1f}"
        print(f"| {count} | {about} | {means} |", flush=True)


def delta_table(tokens: list[list[str]]) -> FloatArray:
    """(texts, words): z-scores of the most frequent words of these texts."""
    total = Counter(token for text in tokens for token in text)
    words = [word for word, _ in total.most_common(WORDS)]
    counts = [Counter(text) for text in tokens]
    table = np.array(
        [
            [count[word] / len(text) for word in words]
            for count, text in zip(counts, tokens, strict=True)
        ]
    )
    deviation = table.std(axis=0)
    return np.asarray((table - table.mean(axis=0)) / np.where(deviation > 0, deviation, np.inf))


def best_delta(tokens: list[list[str]], truth: list[str]) -> tuple[float, float]:
    """The best F over linkages and cuts, and the best adjusted Rand index, each in hindsight."""
    distances = pdist(delta_table(tokens), "cityblock") / WORDS
    measures = []
    for method in ("average", "complete", "ward"):
        tree = linkage(distances, method)
        for count in range(1, len(tokens) + 1):
            measures.append(measure_clusters(fcluster(tree, count, "maxclust").tolist(), truth))
    return (
        max(measured.bcubed_f for measured in measures),
        max(measured.adjusted_rand_index for measured in measures),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("sets", nargs="*", help="dev sets; all unless named")
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--prior", type=float, default=PRIOR)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="few texts, with and without them")
    arguments = parser.parse_args()
    verifier, tokenizer = adhominem.load(arguments.model), Tokenizer()
    folders = sorted(
        path
        for path in (arguments.corpora / "dev").iterdir()
        if path.is_dir() and (not arguments.sets or path.name in arguments.sets)
    )
    if arguments.small:
        small_table(verifier, folders, arguments.draws, arguments.prior, arguments.seed)
        return
    print(f"| {' | '.join(COLUMNS)} |")
    print("|---" * len(COLUMNS) + "|")
    rows = []
    for folder in folders:
        documents = distinct(folder)
        rng = np.random.default_rng(arguments.seed)
        levs = verifier.encode(documents)
        tokens = [tokenizer.tokens(document.text) for document in documents]
        of_set = []
        for _ in range(arguments.draws):
            chosen = draw([document.author for document in documents], rng)
            truth = [documents[at].author for at in chosen]
            population = verifier.population_of(levs[chosen])
            measures, _ = clustered(
                verifier.scorer, levs[chosen], truth, population, arguments.prior
            )
            of_set.append(
                [
                    measures.texts,
                    measures.authors,
                    measures.bcubed_precision,
                    measures.bcubed_recall,
                    measures.bcubed_f,
                    measures.adjusted_rand_index,
                    np.log(measures.clusters / measures.authors),
                    *best_delta([tokens[at] for at in chosen], truth),
                ]
            )
        row = np.mean(of_set, axis=0)
        rows.append(row)
        show(folder.name, row)
    show("mean", np.mean(rows, axis=0))


def show(name: str, row: FloatArray) -> None:
    """Print a row of the table."""
    texts, authors, *measures = row.tolist()
    measures[4] = float(np.exp(measures[4]))
    shown = " | ".join(f"{value:.3f}".replace("0.", ".", 1) for value in measures)
    print(f"| {name} | {texts:.0f} | {authors:.0f} | {shown} |", flush=True)


if __name__ == "__main__":
    run(main)
