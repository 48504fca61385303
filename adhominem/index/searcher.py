"""Searching an index: candidates by their codes, ranked by their LEVs, told by the model.

engine      all texts      the first numbers of codes       some thousand candidates
codes       candidates     all numbers of codes             some hundred
LEVs        these          nearly the log Bayes factor      somewhat more than are asked for
the model   these          the calibrated log Bayes factor  those asked for
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, FloatArray, IntArray, Levs
from adhominem.compiled import compiled
from adhominem.errors import IndexFolderError
from adhominem.index.engine import Engine, make_engine, whole_numbers
from adhominem.index.files import read_arrays
from adhominem.index.finish import read_view
from adhominem.index.milvus import is_address, open_collection
from adhominem.index.packing import packed_and_back
from adhominem.index.store import Store
from adhominem.index.threads import in_threads
from adhominem.index.view import HEAD, Points, View
from adhominem.scoring.population import Population
from adhominem.scoring.scorer import LogBayesFactors
from adhominem.verify.verifier import Verifier

_CANDIDATES = 16_384  # of an engine, at least, and for each hit that is asked for:
_CANDIDATES_A_HIT = 164
_REFINED = 4_096  # that codes leave over, at least, and for each hit:
_REFINED_A_HIT = 41
_MARGIN = 12  # more than are asked for, that the model scores; and of these a share of:
_MARGIN_SHARE = 0.75


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

        An `engine` that is given holds the codes of all texts that count.
        """
        if is_address(folder):
            folder, engine = open_collection(str(folder))
        self.store = Store(folder)
        self.verifier = verifier
        self.store.check_model(verifier)
        self.population: Population | None = self.store.make_population(verifier)
        self.view: View | None = None
        if self.population is not None:
            self.view = read_view(self.store, verifier, self.population)
        if self.view is not None:
            self._open_codes(engine)
        elif self.population is not None:
            raise IndexFolderError(
                f"the index in {folder} is not finished; run `adhominem index` again with the same "
                "options"
            )

    def _open_codes(self, engine: Engine | None) -> None:
        store, manifest = self.store, self.store.manifest
        self._codes: list[dict[str, npt.NDArray[Any]]] = []
        for shard in manifest.shards:
            if shard.codes is None:
                raise IndexFolderError(
                    f"the index in {store.folder} is not finished; run `adhominem index` again "
                    "with the same options"
                )
            self._codes.append(read_arrays(store.folder, shard.codes))
        head = min(HEAD, self._codes[0]["codes"].shape[1])
        self.engine: Engine = make_engine() if engine is None else engine
        if engine is None:
            for begin, arrays in zip(store.begins, self._codes, strict=False):
                codes = arrays["codes"][:, :head]
                self.engine.add(begin + np.arange(len(codes)), codes)
            self.engine.remove(np.flatnonzero(~store.alive))

    def search(
        self, levs: Levs, k: int, left_out: Sequence[frozenset[int]] | None = None
    ) -> list[Scored]:
        """For each of some LEVs (texts, lev_size) the k texts with most evidence for one author.

        The texts `left_out` of each are passed over.
        """
        queries = packed_and_back(levs)
        near = self.nearest(queries, k + max(_MARGIN, round(_MARGIN_SHARE * k)), left_out)
        return self.scored(queries, near, k)

    def nearest(
        self, queries: Levs, k: int, left_out: Sequence[frozenset[int]] | None = None
    ) -> list[IntArray]:
        """For each of some LEVs, as the index has them, about the k texts with most evidence."""
        outside = left_out or [frozenset()] * len(queries)
        points = None if self.view is None else self.view.points(queries)
        chosen = self._candidates(queries, points, k, max(map(len, outside), default=0))
        for at, numbers in enumerate(chosen):
            if outside[at]:
                chosen[at] = numbers[~np.isin(numbers, list(outside[at]))]
        if points is None:
            return chosen
        near = self.near(queries, chosen, points)
        return [
            numbers[np.argsort(-one, kind="stable")[:k]]
            for numbers, one in zip(chosen, near, strict=True)
        ]

    def scored(
        self, queries: Levs, numbers: Sequence[IntArray], k: int | None = None
    ) -> list[Scored]:
        """What the model says of some texts (texts, lev_size), each with texts of the index.

        Of the numbers of each, the k with most evidence are told, the best first.
        """
        counts = [len(texts) for texts in numbers]
        if not sum(counts):
            return [Scored(texts, self.verifier.scorer([], [])) for texts in numbers]
        factors = self.verifier.scorer(
            queries[np.repeat(np.arange(len(queries)), counts)],
            self.store.levs(np.concatenate(numbers)),
            self.population,
            even_if_strange=True,
        )
        results = []
        for texts, end in zip(numbers, np.cumsum(counts), strict=True):
            rows = np.arange(end - len(texts), end)
            order = np.argsort(-factors.unbounded[rows], kind="stable")[:k]
            results.append(Scored(texts[order], _chosen(factors, rows[order])))
        return results

    def _candidates(
        self, queries: Levs, points: Points | None, k: int, more: int
    ) -> list[IntArray]:
        """For each query the numbers of texts that may be among the k best."""
        refined = max(_REFINED, _REFINED_A_HIT * k) + more
        if self.view is None or points is None or len(self.store) <= refined:
            return [self.store.live] * len(queries)
        codes = self.view.query(queries, points)  # (queries, numbers)
        head = min(HEAD, codes.shape[1])
        count = min(max(_CANDIDATES, _CANDIDATES_A_HIT * k) + more, len(self.store))
        count = min(count, self.engine.most)
        numbers, _ = self.engine.candidates(np.ascontiguousarray(codes[:, :head]), count)
        kept = [np.sort(row[row >= 0]) for row in numbers]
        result = []
        for row, products in zip(kept, self._code_products(kept, codes), strict=True):
            if len(row) > refined:
                row = row[np.argpartition(products, len(row) - refined)[-refined:]]
            result.append(np.sort(row))
        return result

    def _code_products(self, numbers: Sequence[IntArray], codes: Array32) -> list[npt.NDArray[Any]]:
        """For each query (queries, numbers) the products with the codes of some texts."""
        module = compiled("adhominem.index._looking")
        if module is None:
            gathered = [self._gathered("codes", row).astype(np.float32) for row in numbers]
            return [table @ code for table, code in zip(gathered, codes, strict=True)]
        everything, whole = np.concatenate(numbers), whole_numbers(codes)[0]
        which = np.repeat(np.arange(len(numbers)), [len(row) for row in numbers])
        result = np.empty(len(everything), np.int32)

        def multiply(part: tuple[int, IntArray]) -> None:
            at, chosen = part
            rows = everything[chosen] - self.store.begins[at]
            products = np.empty(len(rows), np.int32)
            shard = self._codes[at]["codes"]
            module.code_products(shard, whole, rows, which[chosen], products)
            result[chosen] = products

        in_threads(multiply, self.store.by_shard(everything))
        return np.split(result, np.cumsum([len(row) for row in numbers])[:-1])

    def near(
        self, queries: Levs, numbers: Sequence[IntArray], points: Points | None = None
    ) -> list[FloatArray]:
        """For each text (texts, lev_size), of some of the index: nearly the log Bayes factors.

        All of a text lack the same constant. Their `points` are computed unless they are given.
        """
        assert self.view is not None
        points = self.view.points(queries) if points is None else points
        columns = self.verifier.scorer.columns(queries)
        plain = [np.ascontiguousarray(part, np.float32) for part in columns]
        products = self.store.products(numbers, plain)
        return [
            self.view.near(points[at : at + 1], products[at], self._points(row))
            for at, row in enumerate(numbers)
        ]

    def _points(self, numbers: IntArray) -> Points:
        """Where some texts are."""
        return Points(
            self._gathered("factors", numbers),
            self._gathered("to_mean", numbers),
            self._gathered("kin", numbers).astype(np.float32),
            self._gathered("bias", numbers),
        )

    def _gathered(self, name: str, numbers: IntArray) -> Array32:
        """(numbers, ...): rows of the arrays of all shards, by rising numbers."""
        cuts = np.searchsorted(numbers, self.store.begins)
        parts = [
            self._codes[at][name][numbers[cuts[at] : cuts[at + 1]] - self.store.begins[at]]
            for at in range(len(self._codes))
            if cuts[at + 1] > cuts[at]
        ]
        return np.concatenate(parts) if parts else self._codes[0][name][:0]


def _chosen(factors: LogBayesFactors, order: IntArray) -> LogBayesFactors:
    return LogBayesFactors(
        factors.raw[order],
        factors.unbounded[order],
        factors.log_bayes_factor[order],
        factors.lower_bound[order],
        factors.upper_bound[order],
        factors.strange[order],
        factors.calibrated,
    )
