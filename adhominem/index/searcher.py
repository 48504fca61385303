"""Searching an index: candidates by their codes, ranked by their LEVs, scored by the model.

ranked by    texts             score                             remaining
engine       all               the first numbers of codes        a share, or some ten thousand
codes        the remaining     all numbers of codes              a quarter, or some ten thousand
LEVs         as many as are    the approximate log Bayes factor  a few more than requested
             needed: `expected_misses`
the model    the remaining     the calibrated log Bayes factor   as many as requested

Among many texts, some by other people come up with strong evidence by chance. How many was measured
twice on the index itself (`Chance`). Pairs of texts by different people, drawn at random, show how
often a Bayes factor is at least that large; but among a million texts, one pair in a hundred
thousand matters. So some texts are searched for, and everything found by other people is a false
hit. Beyond that, the number of false links is extrapolated (`tail`). Where no author is known,
texts are assumed to be by different people: among many authors, two texts drawn at random nearly
always are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from adhominem.arrays import Array32, FloatArray, IntArray, Levs, joined
from adhominem.errors import IndexFolderError
from adhominem.index.approximate import Points, PointTable
from adhominem.index.codes import Coder, read_coder, read_codes
from adhominem.index.engine import Engine, Scan, in_threads, largest, row_products
from adhominem.index.files import InFile, Stored, naming_damage, read_arrays, read_manifest
from adhominem.index.milvus import is_address, open_collection
from adhominem.index.packing import PackedLevs, packed_and_back
from adhominem.index.store import Store
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.genres import PairRows
from adhominem.score.population import Population
from adhominem.verify.verifier import Verifier

_CANDIDATES = 16_384  # of an engine, at least, and for each hit that is asked for, and a share:
_CANDIDATES_A_HIT = 164
_SHARE_A_HIT = 1 / 600
_LARGEST_SHARE = 1 / 5
_KEPT_SHARE = 1 / 4  # of the candidates, by all numbers of their codes; or for each hit:
_KEPT_A_HIT = 800
_FIRST = 3_072  # candidates ranked by their LEVs first; or for each hit, or a share of all:
_FIRST_A_HIT = 8
_FIRST_SHARE = 1 / 320  # then twice as many, and so on
_MARGIN = 5  # more than are asked for, that the model scores; or a share of these:
_MARGIN_SHARE = 0.1
_WIDE_MARGIN = 40  # the same, where the codes of an index are old ones
_WIDE_MARGIN_SHARE = 0.75
_IN_SMALL = 20_000  # divided by the number of texts: in few, approximations are rougher
_FRESH = 0.95  # share of the texts that were there when codes were made, or they are old ones
TOGETHER = 32  # texts that are searched for at once
_ROUNDS = 3  # further searches, where hits share passages with the text searched for
_PAIRS_AT_ONCE = 400  # that the model scores in a thread
_MISSED = 0.002  # share of the hits that may be missed
_TAIL_OF_RESTS = 0.02  # share of them that the tail is judged by
_ROUNDING = 1e-9  # nats
_GOES_ON = 0.25  # times as many as the later half holds are expected of what is left, at least
_LEFT = 1_024  # candidates that stand for all that are left

# Of chance
PAIRS = 3_000
TRIALS = 50
_HITS = 50  # of a trial
_ONE_PERSON = 0.01  # share of the pairs that may be by one person after all
_FEWEST_PAIRS = 20  # fewer say nothing
_TAIL_OF_PAIRS = 0.05  # share of the pairs that the tail is judged by
_NO_HIT = -1e6


@dataclass(frozen=True, eq=False)
class Scored(PairRows):
    """The texts of an index that are nearest to one text, with their scores by the model."""

    numbers: IntArray  # (hits,): of texts; those with most evidence first
    factors: LogBayesFactors  # (hits,) each


class Searcher:
    """An index opened for searches."""

    def __init__(
        self, folder: str | Path, verifier: Verifier, *, engine: Engine | None = None
    ) -> None:
        """Open an index by its folder, or by the address of its collection in Milvus.

        If an `engine` is given, it holds the codes of all texts that count, with as many numbers of
        each as it scans.
        """
        self._opened_as = folder if engine is None else None
        if is_address(folder):
            store, engine = open_collection(str(folder))
        else:
            store = Store(folder)
        self.store = store
        self.verifier = verifier
        self.chance = _read_chance(store)
        store.check_model(verifier)
        self.population: Population | None = store.make_population(verifier)
        self.coder: Coder | None = None  # None in an index of few texts: all are scored
        if self.population is None:
            return
        self.coder = read_coder(store, verifier, self.population)
        if self.coder is None or any(shard.codes is None for shard in store.manifest.shards):
            raise _unfinished(store.folder)
        shards = [read_codes(store, shard, self.coder) for shard in store.manifest.shards]
        self._codes = tuple(shard.codes for shard in shards)  # (texts, numbers) each
        self._points = PointTable(shards)
        if engine is None:
            live = store.live_by_shard
            rows = [part - begin for part, begin in zip(live, store.begins, strict=False)]
            scanned = zip(self._codes, rows, strict=True)
            engine = Scan(live, [codes[at, : Scan.scanned] for codes, at in scanned])
        self.engine: Engine = engine

    def renewed(self) -> Searcher:
        """The index as it is on disk now; an IndexFolderError while that cannot be opened."""
        if self._opened_as is None:
            return self
        manifest = read_manifest(self.store.folder)
        if manifest == self.store.manifest:
            return self
        if not manifest.complete:
            raise _unfinished(self.store.folder)
        return Searcher(self._opened_as, self.verifier)

    def search(
        self, levs: Levs, k: int, left_out: Sequence[frozenset[int]] | None = None
    ) -> list[Scored]:
        """For each of some LEVs (texts, lev_size), the k texts with most evidence for one author.

        For each text, the texts in `left_out` are skipped.
        """
        left_out = left_out or [frozenset()] * len(levs)
        results: list[Scored] = []
        for at in range(0, len(levs), TOGETHER):
            queries = packed_and_back(levs[at : at + TOGETHER])
            nearest = self.nearest(queries, k + self._margin(k), left_out[at : at + TOGETHER], k)
            results += self.scored(queries, nearest, k)
        return results

    def search_apart(
        self,
        levs: Levs,
        k: int,
        sketches: Sequence[frozenset[int]],
        left_out: Sequence[frozenset[int]],
    ) -> list[tuple[Scored, list[int]]]:
        """Like `search`, with texts that share passages with a query listed separately.

        Shared passages make texts look alike, whoever wrote them. Such texts are replaced by
        others, unless even the fourth search brings up more of them.
        """
        results, apart = self.search(levs, k, left_out), [list[int]() for _ in sketches]
        unsure = list(range(len(results)))
        for further in range(_ROUNDS, -1, -1):
            shares = {at: self.store.sharing(sketches[at], results[at].numbers) for at in unsure}
            unsure = [at for at in unsure if shares[at].any()]
            for at in unsure:
                apart[at] += results[at].numbers[shares[at]].tolist()
                results[at] = results[at][~shares[at]]
            if not unsure or not further:
                break
            skipped = [left_out[at] | frozenset(apart[at]) for at in unsure]
            for at, result in zip(unsure, self.search(levs[unsure], k, skipped), strict=True):
                results[at] = result
        return list(zip(results, apart, strict=True))

    def _margin(self, k: int) -> int:
        """How many texts beyond k the model scores."""
        # Until an index has doubled, its codes are made as for the texts it had before.
        texts = 0 if self.population is None else self.population.texts
        if self.coder is None or self.coder.approximate.population.texts <= _FRESH * texts:
            return max(_WIDE_MARGIN, round(_WIDE_MARGIN_SHARE * k))
        small = _IN_SMALL // max(1, len(self.store))
        return max(_MARGIN, round(_MARGIN_SHARE * k), small)

    def nearest(
        self, queries: Levs, k: int, left_out: Sequence[frozenset[int]], hits: int
    ) -> list[IntArray]:
        """For each of some LEVs, as stored in the index, about the k texts with most evidence.

        Among these, the best `hits` should be complete.
        """
        coder = self.coder
        if coder is None:
            return [np.setdiff1d(self.store.live, list(skipped)) for skipped in left_out]
        points = coder.approximate.points(queries)
        codes = coder.query(queries, points)  # (queries, numbers)
        brought_up = self._brought_up(codes, k, left_out)

        def ranked(at: int) -> IntArray:
            numbers, products = self._candidates(brought_up[at], codes[at], k)
            query, point = queries[at : at + 1], points[at : at + 1]
            depth = max(_FIRST, _FIRST_A_HIT * k, round(_FIRST_SHARE * len(self.store)))
            scores = self.approximate(query, numbers[:depth], point)
            while expected_misses(products, scores, hits) > _MISSED * hits:
                more = self.approximate(query, numbers[len(scores) : 2 * len(scores)], point)
                scores = np.concatenate([scores, more])
            return numbers[np.argsort(-scores, kind="stable")[:k]]

        return in_threads(ranked, range(len(queries)), worth_it=len(queries) > 1)

    def scored(
        self, queries: Levs, numbers: Sequence[IntArray], k: int | None = None
    ) -> list[Scored]:
        """The model's scores of some texts (texts, lev_size), each with given texts of the index.

        Of the numbers given for each text, the k with most evidence are returned, the best first.
        """
        ends = np.cumsum([len(texts) for texts in numbers])
        if not ends[-1]:
            return [Scored(texts, self.verifier.scorer([], [])) for texts in numbers]
        everything = np.concatenate(numbers)
        query_of = np.searchsorted(ends, np.arange(len(everything)), side="right")
        parts = np.array_split(np.arange(len(everything)), -(-len(everything) // _PAIRS_AT_ONCE))

        def score(pairs: IntArray) -> LogBayesFactors:
            # In one table, so that a text is multiplied once, not for each of its pairs.
            encoded = joined([queries, self.store.levs(everything[pairs])])
            sides = encoded[query_of[pairs]], encoded[len(queries) + np.arange(len(pairs))]
            return self.verifier.scorer(*sides, self.population, despite_misfit=True)

        factors = LogBayesFactors.joined(in_threads(score, parts, worth_it=len(parts) > 1))
        results = []
        for texts, end in zip(numbers, ends, strict=True):
            result = Scored(texts, factors[end - len(texts) : end])
            results.append(result[np.argsort(-result.factors.unbounded, kind="stable")[:k]])
        return results

    def _brought_up(
        self, codes: Array32, k: int, left_out: Sequence[frozenset[int]]
    ) -> list[tuple[IntArray, Array32]]:
        """For each query, by its code (queries, numbers), the texts that the engine brings up.

        The products with the part of their codes that the engine scans are returned, too.
        """
        texts = len(self.store)
        share = round(min(_SHARE_A_HIT * k, _LARGEST_SHARE) * texts)
        count = max(_CANDIDATES, _CANDIDATES_A_HIT * k, share) + max(map(len, left_out), default=0)
        count = min(count, texts, self.engine.most)
        answers = self.engine.candidates(codes[:, : self.engine.scanned], count)
        result = []
        for numbers, products, skipped in zip(*answers, left_out, strict=True):
            known = (numbers >= 0) & (numbers < self.store.numbers)  # an engine may be newer
            kept = known & ~np.isin(numbers, list(skipped))
            result.append((numbers[kept], products[kept]))
        return result

    def _candidates(
        self, brought_up: tuple[IntArray, Array32], query: Array32, k: int
    ) -> tuple[IntArray, Array32]:
        """Candidates for the k best, and the products of whole codes, the largest first."""
        numbers, products = brought_up
        products = products + row_products(self._codes, numbers, query[self.engine.scanned :])
        most = max(_CANDIDATES, _KEPT_A_HIT * k, round(_KEPT_SHARE * len(numbers)))
        kept = largest(products, most)
        order = kept[np.argsort(-products[kept], kind="stable")]
        return numbers[order], products[order]

    def approximate(
        self, query: Levs, numbers: IntArray, point: Points | None = None
    ) -> FloatArray:
        """(numbers,): the approximate log Bayes factors of a text (1, lev_size) with some texts."""
        assert self.coder is not None
        scorer = self.coder.approximate
        products = self.store.products(numbers, PackedLevs.of(query))  # (numbers, members)
        point = scorer.points(query) if point is None else point
        return scorer.scores(point, products, self._points[numbers])


def _unfinished(folder: Path) -> IndexFolderError:
    return IndexFolderError(
        f"the index in {folder} is not finished; run `adhominem index` again with the same options"
    )


def expected_misses(products: Array32, scores: FloatArray, hits: int) -> float:
    """How many of the best `hits` are expected among the candidates not yet scored.

    `products` (candidates,) are those of codes, the largest first; `scores` (scored,) are those of
    the first candidates by their LEVs. The *rest* is what LEVs add to the product of a code. It
    varies: the rests of the scored candidates show by how much, best those of the later half, which
    are most like the remaining candidates. But a few texts are much more alike than their codes
    say, and no tail shows them. So as long as the later half holds any of the best, more are
    expected.
    """
    left = products[len(scores) :]
    if not len(left) or len(scores) < hits:
        return float(len(left))
    least = -np.partition(-scores, hits - 1)[hits - 1]
    half = len(scores) // 2
    rests = scores[half:] - products[half : len(scores)]
    step = -(-len(left) // _LEFT)
    needed = least - left[step // 2 :: step]  # (left,): what a rest must be, to be among the best
    above = tail(rests, needed, _TAIL_OF_RESTS, unsure=0)
    late = int((scores[half:] >= least).sum())
    return max(float(above.mean() * len(left)), _GOES_ON * late)


# Chance


@dataclass(frozen=True, eq=False)
class Chance(Stored):
    """Log Bayes factors of texts by different people, in nats, within bounds."""

    texts: Annotated[int, InFile("i8")]  # of the index then
    known_authors: Annotated[bool, InFile("i8")]
    pairs: Annotated[FloatArray, InFile("f8", "pairs")]
    trials: Annotated[FloatArray, InFile("f8", "trials hits")]  # by others; or _NO_HIT
    ranks: Annotated[IntArray, InFile("i8", "trials")]  # of the first hit by the author, or 0
    others: Annotated[IntArray, InFile("i8", "trials")]  # other texts of the author

    def __post_init__(self) -> None:
        if self.texts < 1 or not self.trials.shape[1]:
            raise ValueError("it was measured on no texts")

    def expected(self, log_bayes_factor: float, texts: int) -> tuple[float, str]:
        """The false hits to expect, at least as strong, in a search among this many texts.

        It is also said by what they were measured: "searches" or "pairs".
        """
        # A pair of texts that was searched for from its other side differs by rounding.
        least = log_bayes_factor - _ROUNDING
        # Where the last hit of each search is weaker, no more would come.
        if len(self.trials) and (self.trials[:, -1] < least).all():
            a_search = float((self.trials >= least).sum(axis=1).mean())
            return a_search * texts / self.texts, "searches"
        share = float((self.pairs >= least).mean()) if len(self.pairs) else 0.0
        return share * texts, "pairs"


def tail(
    sample: FloatArray,
    points: FloatArray,
    share: float = _TAIL_OF_PAIRS,
    unsure: float = _ONE_PERSON,
) -> FloatArray:
    """(points,): the share of values like those of a sample that are as large or larger.

    The largest `share` of the sample is assumed to fall off exponentially, since far out there are
    too few to count. The largest that are `unsure` count as that much or more.
    """
    rising = np.sort(sample)
    begin, end = np.quantile(rising, (1 - share, 1 - unsure))
    end = end if unsure else np.inf
    beyond = np.minimum(rising[rising > begin], end) - begin
    sure = max(1, int(((rising > begin) & (rising < end)).sum()))
    fall = float(beyond.sum()) / sure if len(beyond) else 1.0
    counted = 1 - np.searchsorted(rising, points, side="left") / len(rising)
    excess = np.maximum(points - begin, 0)
    return np.where(points > begin, share * np.exp(-excess / max(fall, 1e-6)), counted)


def _read_chance(store: Store) -> Chance | None:
    file = store.manifest.chance
    if file is None:
        return None
    with naming_damage(store.folder / file.name):
        return Chance.from_arrays(read_arrays(store.folder, file))


def measure_chance(
    searcher: Searcher,
    *,
    pairs: int = PAIRS,
    trials: int = TRIALS,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Chance | None:
    """Measure the Bayes factors of texts by different people; None if there are too few texts."""
    store, rng = searcher.store, np.random.default_rng(0)
    live, accounts = store.shuffled, store.accounts
    _, of_account, counts = np.unique(accounts[live], return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return None
    first, second = (live[rng.integers(0, len(live), pairs)] for _ in range(2))
    apart = accounts[first] != accounts[second]
    for at in np.flatnonzero(apart).tolist():
        apart[at] = not store.sharing(store.sketch(int(first[at])), second[at : at + 1])[0]
    first, second = first[apart], second[apart]
    if len(first) < _FEWEST_PAIRS:
        return None
    by_chance = []
    for at in range(0, len(first), _PAIRS_AT_ONCE):
        one, other = (store.levs(side[at : at + _PAIRS_AT_ONCE]) for side in (first, second))
        factors = searcher.verifier.scorer(one, other, searcher.population, despite_misfit=True)
        by_chance.append(factors.log_bayes_factor)
        on_progress(0.5 * min(1.0, (at + _PAIRS_AT_ONCE) / len(first)))
    tried = rng.permutation(len(live))[: trials if store.has_authors else 0]
    table = np.full((len(tried), min(_HITS, len(live))), _NO_HIT)
    ranks = np.zeros(len(tried), np.int64)
    for at, number in enumerate(live[tried].tolist()):
        copies = frozenset(store.copies(store.digests[number].tobytes()))  # and itself
        query, sketch = store.levs([number]), store.sketch(number)
        scored, _ = searcher.search_apart(query, table.shape[1], [sketch], [copies])[0]
        same = accounts[scored.numbers] == accounts[number]
        false_hits = scored.factors.log_bayes_factor[~same]
        table[at, : len(false_hits)] = false_hits
        ranks[at] = np.argmax(same) + 1 if same.any() else 0
        on_progress(0.5 + 0.5 * (at + 1) / len(tried))
    others = counts[of_account[tried]] - 1
    return Chance(len(live), store.has_authors, np.concatenate(by_chance), table, ranks, others)
