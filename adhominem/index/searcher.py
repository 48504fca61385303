"""Searching an index: candidates by their codes, ranked by their LEVs, scored by the model.

ranked by    texts             score                             remaining
engine       all               the first numbers of codes        a share, or some ten thousand
codes        the remaining     all numbers of codes              a quarter, or some ten thousand
LEVs         as many as are    the approximate log Bayes factor  a few more than requested
             needed: `expected_misses`
the model    the remaining     the calibrated log Bayes factor   as many as requested
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adhominem.arrays import Array32, FloatArray, IntArray, Levs, joined
from adhominem.errors import IndexFolderError
from adhominem.index.approximate import Points, PointTable
from adhominem.index.chance import Chance, read_chance
from adhominem.index.codes import Coder, read_coder, read_codes
from adhominem.index.engine import Engine, Scan, in_threads, largest, row_products
from adhominem.index.files import read_manifest
from adhominem.index.milvus import is_address, open_collection
from adhominem.index.packing import PackedLevs, packed_and_back
from adhominem.index.store import Store
from adhominem.score.calibration import LogBayesFactors
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
_AT_ONCE = 32  # texts that are searched for
_ROUNDS = 3  # further searches, where hits share passages with the text searched for
_PAIRS_AT_ONCE = 400  # that the model scores in a thread
_MISSED = 0.002  # share of the hits that may be missed
_TAIL = 0.02  # share of the rests that the tail is judged by
_GOES_ON = 0.25  # times as many as the later half holds are expected of what is left, at least
_LEFT = 1_024  # candidates that stand for all that are left


@dataclass(frozen=True, eq=False)
class Scored:
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
            folder, engine = open_collection(str(folder))
        self.store = Store(folder)
        self.verifier = verifier
        self.chance: Chance | None = read_chance(self.store)
        self.store.check_model(verifier)
        self.population: Population | None = self.store.make_population(verifier)
        self.coder: Coder | None = None  # None in an index of few texts: all are scored
        if self.population is not None:
            self.coder = read_coder(self.store, verifier, self.population)
            if self.coder is None or any(
                shard.codes is None for shard in self.store.manifest.shards
            ):
                raise _unfinished(folder)
            self._open_codes(self.coder, engine)

    def _open_codes(self, coder: Coder, engine: Engine | None) -> None:
        store = self.store
        shards = [read_codes(store, shard, coder) for shard in store.manifest.shards]
        self._codes = tuple(arrays["codes"] for arrays in shards)  # (texts, numbers) each
        self._points = PointTable.of(shards)
        if engine is None:
            numbers = store.live_by_shard
            rows = [part - begin for part, begin in zip(numbers, store.begins, strict=False)]
            engine = Scan(
                numbers,
                [codes[at, : Scan.scanned] for codes, at in zip(self._codes, rows, strict=True)],
            )
        self.engine: Engine = engine

    def renewed(self) -> Searcher:
        """The index as it is on disk now; an IndexFolderError while that cannot be opened."""
        if (
            self._opened_as is None
            or (now := read_manifest(self.store.folder)) == self.store.manifest
        ):
            return self
        if not now.complete:
            raise _unfinished(self.store.folder)
        return Searcher(self._opened_as, self.verifier)

    def search(
        self, levs: Levs, k: int, left_out: Sequence[frozenset[int]] | None = None
    ) -> list[Scored]:
        """For each of some LEVs (texts, lev_size), the k texts with most evidence for one author.

        For each text, the texts in `left_out` are skipped.
        """
        results: list[Scored] = []
        for at in range(0, len(levs), _AT_ONCE):
            queries = packed_and_back(levs[at : at + _AT_ONCE])
            outside = None if left_out is None else left_out[at : at + _AT_ONCE]
            nearest = self.nearest(queries, k + self._margin(k), outside, k)
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
        waiting = list(range(len(results)))
        for more in range(_ROUNDS, -1, -1):
            shares = {at: self.store.sharing(sketches[at], results[at].numbers) for at in waiting}
            waiting = [at for at in waiting if shares[at].any()]
            for at in waiting:
                result, kept = results[at], np.flatnonzero(~shares[at])
                apart[at] += result.numbers[shares[at]].tolist()
                results[at] = Scored(result.numbers[kept], result.factors[kept])
            if not waiting or not more:
                break
            gone = [left_out[at] | frozenset(apart[at]) for at in waiting]
            for at, result in zip(waiting, self.search(levs[waiting], k, gone), strict=True):
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
        self,
        queries: Levs,
        k: int,
        left_out: Sequence[frozenset[int]] | None = None,
        hits: int | None = None,
    ) -> list[IntArray]:
        """For each of some LEVs, as stored in the index, about the k texts with most evidence.

        Among these, the best `hits` (by default, all) should be complete.
        """
        outside = left_out or [frozenset()] * len(queries)
        coder = self.coder
        if coder is None:
            return [_without(self.store.live, gone) for gone in outside]
        points = coder.approximate.points(queries)
        codes = coder.query(queries, points)  # (queries, numbers)
        brought_up = self._brought_up(codes, k, outside)

        def ranked(at: int) -> IntArray:
            numbers, products = self._candidates(brought_up[at], codes[at], k)
            query, point = PackedLevs.of(queries[at : at + 1]), points[at : at + 1]
            depth = max(_FIRST, _FIRST_A_HIT * k, round(_FIRST_SHARE * len(self.store)))
            scores = self._approximate(query, point, numbers[:depth])
            while expected_misses(products, scores, hits or k) > _MISSED * (hits or k):
                more = self._approximate(query, point, numbers[len(scores) : 2 * len(scores)])
                scores = np.concatenate([scores, more])
            return numbers[np.argsort(-scores, kind="stable")[:k]]

        return in_threads(ranked, range(len(queries)), worth_it=len(queries) > 1)

    def scored(
        self, queries: Levs, numbers: Sequence[IntArray], k: int | None = None
    ) -> list[Scored]:
        """The model's scores of some texts (texts, lev_size), each with given texts of the index.

        Of the numbers given for each text, the k with most evidence are returned, the best first.
        """
        counts = [len(texts) for texts in numbers]
        if not sum(counts):
            return [Scored(texts, self.verifier.scorer([], [])) for texts in numbers]
        query_of, everything = np.repeat(np.arange(len(queries)), counts), np.concatenate(numbers)
        parts = np.array_split(np.arange(len(query_of)), -(-len(query_of) // _PAIRS_AT_ONCE))

        def score(pairs: IntArray) -> LogBayesFactors:
            # In one table, so that a text is multiplied once, not for each of its pairs.
            encoded = joined([queries, self.store.levs(everything[pairs])])
            sides = encoded[query_of[pairs]], encoded[len(queries) + np.arange(len(pairs))]
            return self.verifier.scorer(*sides, self.population, despite_misfit=True)

        factors = LogBayesFactors.joined(in_threads(score, parts, worth_it=len(parts) > 1))
        results = []
        for texts, end in zip(numbers, np.cumsum(counts), strict=True):
            rows = np.arange(end - len(texts), end)
            order = np.argsort(-factors.unbounded[rows], kind="stable")[:k]
            results.append(Scored(texts[order], factors[rows[order]]))
        return results

    def _brought_up(
        self, codes: Array32, k: int, outside: Sequence[frozenset[int]]
    ) -> list[tuple[IntArray, Array32]]:
        """For each query, by its code (queries, numbers), the texts that the engine brings up.

        The products with the part of their codes that the engine scans are returned, too.
        """
        texts = len(self.store)
        share = round(min(_SHARE_A_HIT * k, _LARGEST_SHARE) * texts)
        count = max(_CANDIDATES, _CANDIDATES_A_HIT * k, share)
        count = min(count + max(map(len, outside), default=0), texts, self.engine.most)
        answers = self.engine.candidates(codes[:, : self.engine.scanned], count)
        result = []
        for numbers, products, gone in zip(*answers, outside, strict=True):
            there = (numbers >= 0) & (numbers < self.store.numbers)  # an engine may be newer
            kept = there & ~np.isin(numbers, list(gone))
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

    def approximate(self, queries: Levs, numbers: Sequence[IntArray]) -> list[FloatArray]:
        """For each text (texts, lev_size), the approximate log Bayes factors with some texts."""
        assert self.coder is not None
        points = self.coder.approximate.points(queries)
        return [
            self._approximate(PackedLevs.of(queries[at : at + 1]), points[at : at + 1], row)
            for at, row in enumerate(numbers)
        ]

    def _approximate(self, query: PackedLevs, point: Points, numbers: IntArray) -> FloatArray:
        assert self.coder is not None
        products = self.store.products(numbers, query)  # (numbers, members)
        return self.coder.approximate.scores(point, products, self._points[numbers])


def _unfinished(folder: str | Path) -> IndexFolderError:
    return IndexFolderError(
        f"the index in {folder} is not finished; run `adhominem index` again with the same options"
    )


def _without(numbers: IntArray, gone: frozenset[int]) -> IntArray:
    return numbers[~np.isin(numbers, list(gone))] if gone else numbers


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
    rests = np.sort(scores[half:] - products[half : len(scores)])
    step = -(-len(left) // _LEFT)
    needed = least - left[step // 2 :: step]  # (left,): what a rest must be, to be among the best
    above = 1 - np.searchsorted(rests, needed, side="left") / len(rests)
    # Far out there are too few to count: the tail falls as its beginning does.
    begin = float(np.quantile(rests, 1 - _TAIL))
    fall = max(float((rests[rests > begin] - begin).mean()) if rests[-1] > begin else 0.0, 1e-6)
    beyond = _TAIL * np.exp(-np.maximum(needed - begin, 0) / fall)
    above = np.where(needed > begin, beyond, above)
    late = int((scores[half:] >= least).sum())
    return max(float(above.mean() * len(left)), _GOES_ON * late)
