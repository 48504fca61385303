"""Searching an index: candidates by their codes, ranked by their LEVs, told by the model.

what looks   at what         by what                          and leaves
engine       all texts       the first numbers of codes       a share, or some ten thousand
codes        these           all numbers of codes             a quarter, or some ten thousand
LEVs         as many as it   nearly the log Bayes factor      a few more than are asked for
             takes: `depth`
the model    these           the calibrated log Bayes factor  those asked for
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, FloatArray, IntArray, Levs, joined
from adhominem.errors import IndexFolderError
from adhominem.index.chance import Chance, read_chance
from adhominem.index.chosen import largest, row_products
from adhominem.index.depth import MISSED, expected_misses
from adhominem.index.engine import Engine, make_engine
from adhominem.index.files import read_manifest
from adhominem.index.finish import read_codes, read_view
from adhominem.index.milvus import is_address, open_collection
from adhominem.index.packing import PackedLevs, packed_and_back
from adhominem.index.store import Store
from adhominem.index.threads import in_threads
from adhominem.index.view import Points, PointTable, View
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.population import Population
from adhominem.verify.verifier import Verifier

_CANDIDATES = 16_384  # of an engine, at least, and for each hit that is asked for, and a share:
_CANDIDATES_A_HIT = 164
_SHARE_A_HIT = 1 / 600
_LARGEST_SHARE = 1 / 5
_KEPT_SHARE = 1 / 4  # of the candidates, by all numbers of their codes; or for each hit:
_KEPT_A_HIT = 800
_FIRST = 3_072  # candidates whose LEVs are looked at first; or for each hit, or a share of all:
_FIRST_A_HIT = 8
_FIRST_SHARE = 1 / 320  # then twice as many, and so on
_MARGIN = 5  # more than are asked for, that the model scores; or a share of these:
_MARGIN_SHARE = 0.1
_WIDE_MARGIN = 40  # the same, where the view of an index is an old one
_WIDE_MARGIN_SHARE = 0.75
_IN_SMALL = 20_000  # divided by the number of texts: the fewer they are, the rougher `near` is
_FRESH = 0.95  # share of the texts that the view of an index knows, or it is an old one
_AT_ONCE = 32  # texts that are searched for
_ROUNDS = 3  # further searches, where hits share passages with the text searched for
_PAIRS_AT_ONCE = 400  # that the model scores in a thread


@dataclass(frozen=True, eq=False)
class Scored:
    """The texts of an index that are nearest to one text, by what the model says of them."""

    numbers: IntArray  # (hits,): of texts; those with most evidence first
    factors: LogBayesFactors  # (hits,) each


class Searcher:
    """An index ready to be searched."""

    def __init__(
        self, folder: str | Path, verifier: Verifier, *, engine: Engine | None = None
    ) -> None:
        """An index by its folder, or by the address of its collection in Milvus.

        An `engine` that is given holds the codes of all texts that count, as much of them as it
        looks through.
        """
        self._given = folder if engine is None else None
        if is_address(folder):
            folder, engine = open_collection(str(folder))
        self.store = Store(folder)
        self.verifier = verifier
        self.chance: Chance | None = read_chance(self.store)
        self.store.check_model(verifier)
        self.population: Population | None = self.store.make_population(verifier)
        self.view: View | None = None
        if self.population is not None:
            self.view = read_view(self.store, verifier, self.population)
        if self.view is not None:
            self._open_codes(engine)
        elif self.population is not None:
            raise _unfinished(folder)

    def _open_codes(self, engine: Engine | None) -> None:
        store, manifest = self.store, self.store.manifest
        assert self.view is not None
        shards: list[dict[str, npt.NDArray[Any]]] = []
        for shard in manifest.shards:
            if shard.codes is None:
                raise _unfinished(store.folder)
            shards.append(read_codes(store, shard, self.view))
        self._codes = tuple(arrays["codes"] for arrays in shards)  # (texts, numbers) each
        self._points = PointTable.of(shards)
        self.engine: Engine = make_engine() if engine is None else engine
        if engine is None:
            for begin, codes in zip(store.begins, self._codes, strict=False):
                self.engine.add(begin + np.arange(len(codes)), codes[:, : self.engine.scanned])
            self.engine.remove(np.flatnonzero(~store.alive))

    def renewed(self) -> Searcher:
        """The index as it is on the disk now; an IndexFolderError while that cannot be opened."""
        if self._given is None or (now := read_manifest(self.store.folder)) == self.store.manifest:
            return self
        if not now.complete:
            raise _unfinished(self.store.folder)
        return Searcher(self._given, self.verifier)

    def search(
        self, levs: Levs, k: int, left_out: Sequence[frozenset[int]] | None = None
    ) -> list[Scored]:
        """For each of some LEVs (texts, lev_size) the k texts with most evidence for one author.

        The texts `left_out` of each are passed over.
        """
        results: list[Scored] = []
        for at in range(0, len(levs), _AT_ONCE):
            queries = packed_and_back(levs[at : at + _AT_ONCE])
            outside = None if left_out is None else left_out[at : at + _AT_ONCE]
            near = self.nearest(queries, k + self._margin(k), outside, k)
            results += self.scored(queries, near, k)
        return results

    def search_apart(
        self,
        levs: Levs,
        k: int,
        sketches: Sequence[frozenset[int]],
        left_out: Sequence[frozenset[int]],
    ) -> list[tuple[Scored, list[int]]]:
        """The same, and apart from these the numbers of texts that share passages with each text.

        Shared passages make texts look alike, whoever wrote them: such texts make room for others,
        unless even the fourth search brings up more of them.
        """
        found, apart = self.search(levs, k, left_out), [list[int]() for _ in sketches]
        waiting = list(range(len(found)))
        for more in range(_ROUNDS, -1, -1):
            shares = {at: self.store.sharing(sketches[at], found[at].numbers) for at in waiting}
            waiting = [at for at in waiting if shares[at].any()]
            for at in waiting:
                one, kept = found[at], np.flatnonzero(~shares[at])
                apart[at] += one.numbers[shares[at]].tolist()
                found[at] = Scored(one.numbers[kept], one.factors[kept])
            if not waiting or not more:
                break
            gone = [left_out[at] | frozenset(apart[at]) for at in waiting]
            for at, one in zip(waiting, self.search(levs[waiting], k, gone), strict=True):
                found[at] = one
        return list(zip(found, apart, strict=True))

    def _margin(self, k: int) -> int:
        """How many more than k texts the model scores."""
        # Until an index has doubled, its view is that of the texts it had before.
        texts = 0 if self.population is None else self.population.texts
        if self.view is None or self.view.population.texts <= _FRESH * texts:
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
        """For each of some LEVs, as the index has them, about the k texts with most evidence.

        Of these, the best `hits` should be complete; all of them unless it says otherwise.
        """
        outside = left_out or [frozenset()] * len(queries)
        if self.view is None:
            return [_without(self.store.live, gone) for gone in outside]
        points = self.view.points(queries)
        codes = self.view.query(queries, points)  # (queries, numbers)
        brought_up = self._brought_up(codes, k, outside)

        def look(at: int) -> IntArray:
            numbers, products = self._candidates(brought_up[at], codes[at], k)
            query, point = PackedLevs.of(queries[at : at + 1]), points[at : at + 1]
            depth = max(_FIRST, _FIRST_A_HIT * k, round(_FIRST_SHARE * len(self.store)))
            near = self._near(query, point, numbers[:depth])
            while expected_misses(products, near, hits or k) > MISSED * (hits or k):
                more = self._near(query, point, numbers[len(near) : 2 * len(near)])
                near = np.concatenate([near, more])
            return numbers[np.argsort(-near, kind="stable")[:k]]

        return in_threads(look, range(len(queries)), worth_it=len(queries) > 1)

    def scored(
        self, queries: Levs, numbers: Sequence[IntArray], k: int | None = None
    ) -> list[Scored]:
        """What the model says of some texts (texts, lev_size), each with texts of the index.

        Of the numbers of each, the k with most evidence are told, the best first.
        """
        counts = [len(texts) for texts in numbers]
        if not sum(counts):
            return [Scored(texts, self.verifier.scorer([], [])) for texts in numbers]
        which, everything = np.repeat(np.arange(len(queries)), counts), np.concatenate(numbers)
        parts = np.array_split(np.arange(len(which)), -(-len(which) // _PAIRS_AT_ONCE))

        def score(pairs: IntArray) -> LogBayesFactors:
            # In one table, so that a text is multiplied once, not for each of its pairs.
            both = joined([queries, self.store.levs(everything[pairs])])
            sides = both[which[pairs]], both[len(queries) + np.arange(len(pairs))]
            return self.verifier.scorer(*sides, self.population, even_if_strange=True)

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

        With them come the products of what it looks through of their codes.
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
        """Of what was brought up those that may be among the k best; the products of whole codes.

        The largest product is the first.
        """
        numbers, products = brought_up
        products = products + row_products(self._codes, numbers, query[self.engine.scanned :])
        most = max(_CANDIDATES, _KEPT_A_HIT * k, round(_KEPT_SHARE * len(numbers)))
        kept = largest(products, most)
        order = kept[np.argsort(-products[kept], kind="stable")]
        return numbers[order], products[order]

    def near(self, queries: Levs, numbers: Sequence[IntArray]) -> list[FloatArray]:
        """For each text (texts, lev_size), of some of the index: nearly the log Bayes factors."""
        assert self.view is not None
        points = self.view.points(queries)
        return [
            self._near(PackedLevs.of(queries[at : at + 1]), points[at : at + 1], row)
            for at, row in enumerate(numbers)
        ]

    def _near(self, query: PackedLevs, point: Points, numbers: IntArray) -> FloatArray:
        assert self.view is not None
        products = self.store.products(numbers, query)  # (numbers, members)
        return self.view.near(point, products, self._points[numbers])


def _unfinished(folder: str | Path) -> IndexFolderError:
    return IndexFolderError(
        f"the index in {folder} is not finished; run `adhominem index` again with the same options"
    )


def _without(numbers: IntArray, gone: frozenset[int]) -> IntArray:
    return numbers[~np.isin(numbers, list(gone))] if gone else numbers
