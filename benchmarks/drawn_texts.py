"""Texts that nobody wrote, drawn to have the statistics of real ones: to make an index larger.

An author is drawn as two real ones of a genre, who share out the numbers of a LEV between them: in
sparse parts each number is one or the other's, always the same one's; plain parts are turned from
one towards the other, as seen from the middle of the genre. A text of such an author takes each
number of a sparse part from one of two texts. So numbers are those of real texts, as many are not
zero, and likenesses within genres and within authors vary much as they do in the real texts.
Measure how much with `statistics`.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

import adhominem
from adhominem.arrays import Array32, IntArray, Levs, SparseRows, joined
from adhominem.index.build import SHARD, Writer
from adhominem.index.files import read_manifest
from adhominem.index.store import Store
from adhominem.processes import worker_pool
from adhominem.text.files import Document

TEXTS = 10  # of an author that is drawn, at most
_FIRST = 0.7  # share of numbers that are the first one's, of two authors and of two texts
_TURN = np.sqrt([_FIRST, 1 - _FIRST], dtype=np.float32)


class Draw:
    """Draws texts from those of an index."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store, self.rng = store, np.random.default_rng(seed)
        genres: dict[str, dict[int, list[int]]] = {}
        accounts = store.accounts
        for number in store.live.tolist():
            of_genre = genres.setdefault(store.topic(number), {})
            of_genre.setdefault(int(accounts[number]), []).append(number)
        self.genres = {name: authors for name, authors in genres.items() if len(authors) > 1}
        counts = np.array([sum(map(len, one.values())) for one in self.genres.values()])
        self.shares = counts / counts.sum()
        self.middles = {name: self._middle(authors) for name, authors in self.genres.items()}

    def _middle(self, authors: dict[int, list[int]]) -> list[Array32]:
        """(size,) for each plain part: the mean of some texts of a genre."""
        numbers = [texts[0] for texts in authors.values()][:500]
        plain = self.store.levs(numbers).parts[:-1]
        return [part.mean(axis=0) for part in plain if not isinstance(part, SparseRows)]

    def author(self) -> Levs:
        """(texts, lev_size): the texts of a drawn author."""
        rng, names = self.rng, list(self.genres)
        genre = names[rng.choice(len(names), p=self.shares)]
        authors = self.genres[genre]
        # As many texts as real authors have: the larger ones are met more often, as among texts.
        chosen = [list(authors)[at] for at in rng.choice(len(authors), 2, replace=False)]
        sides = [rng.permutation(authors[one]) for one in chosen]
        count = min(TEXTS, max(map(len, sides)))
        numbers = [np.resize(side, count + 1) for side in sides]
        there = [self.store.levs(side) for side in numbers]  # (count + 1, lev_size) each
        parts: list[Array32 | SparseRows] = []
        middles = iter(self.middles[genre])
        for one, other in zip(there[0].parts[:-1], there[1].parts[:-1], strict=True):
            if isinstance(one, SparseRows) and isinstance(other, SparseRows):
                parts.append(self._shared_out(one, other, count))
            else:
                middle = next(middles)
                moved = _TURN[0] * (one[:count] - middle) + _TURN[1] * (other[:count] - middle)
                parts.append((middle + moved).astype(np.float32))
        lengths = np.asarray(there[0].log_tokens[:count], np.float32)[:, None]
        return Levs((*parts, lengths))

    def _shared_out(
        self, first_rows: SparseRows, second_rows: SparseRows, count: int
    ) -> SparseRows:
        """(count, size): numbers from either of two authors, each from either of two texts."""
        rng = self.rng
        second = rng.random(first_rows.size, np.float32) > _FIRST  # (size,): the same for all texts
        owner_of = second.astype(np.uint8) * 2
        counts, places, values = [], [], []
        for at in range(count):
            rows = [side.row(at + step) for side in (first_rows, second_rows) for step in (0, 1)]
            there = np.concatenate([row[0] for row in rows])
            owner = np.repeat(np.arange(4, dtype=np.uint8), [len(row[0]) for row in rows])
            source = owner_of + (rng.random(first_rows.size, np.float32) > _FIRST)
            kept = np.flatnonzero(source[there] == owner)
            kept = kept[np.argsort(there[kept], kind="stable")]
            counts.append(len(kept))
            places.append(there[kept])
            values.append(np.concatenate([row[1] for row in rows])[kept])
        return SparseRows.of_counts(
            np.array(counts), np.concatenate(places), np.concatenate(values), first_rows.size
        )


def _drawn(work: tuple[Path, int]) -> tuple[Levs, list[str]]:
    """The LEVs of as many drawn texts as are in a shard, and their authors."""
    real, number = work
    draw, authors, rows = Draw(Store(real), number), list[str](), list[Levs]()
    while len(authors) < SHARD:
        rows.append(draw.author()[: SHARD - len(authors)])
        authors += [f"drawn-{number}-{len(rows)}"] * len(rows[-1])
    return joined(rows), authors


def with_drawn(real: Path, output: Path, model: str, texts: int, jobs: int) -> Path:
    """An index of the texts of a real one, filled up with drawn texts."""
    if output.exists() and read_manifest(output).complete:
        return output
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(real, output)
    verifier = adhominem.load(model)
    writer = Writer.open(output, verifier)
    shards = max(0, round((texts - writer.manifest.texts) / SHARD))
    with worker_pool(jobs) as pool:
        drawn = pool.map(_drawn, [(real, number) for number in range(shards)])
        for number, (levs, authors) in enumerate(drawn):
            for at, author in enumerate(authors):
                name = f"drawn-{number}-{at}"
                document = Document(text=name, author=author, id=name)
                writer.add(document, levs[at : at + 1])
            print(f"  drawn: {(number + 1) * SHARD:,}", flush=True)
    writer.flush()
    writer.finish(verifier)
    writer.save(replace(writer.manifest, complete=True))
    writer.clear()
    return output


def statistics(levs: Levs) -> dict[str, float]:
    """Statistics of texts: nonzero numbers, and how likenesses vary."""
    part = next(part for part in levs.parts if isinstance(part, SparseRows))
    plain = np.asarray(part, np.float32)
    centred = plain - plain.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    cosines = centred @ centred.T
    above: Array32 = cosines[np.triu_indices(len(cosines), 1)]
    return {
        "numbers a text": float(part.counts.mean()),
        "deviation of cosines": float(above.std()),
        "effective dimensions": float(len(above) / (above**2).sum()),
        "cosine that 1 in 10,000 have": float(np.quantile(above, 1 - 1e-4)),
    }


def sample(store: Store, begin: int, end: int, count: int = 1_500) -> Levs:
    """(count, lev_size): LEVs of texts from a range, drawn at random, one per author."""
    numbers: IntArray = np.random.default_rng(0).permutation(np.arange(begin, end))
    _, first = np.unique(store.accounts[numbers], return_index=True)
    return store.levs(np.sort(numbers[np.sort(first)[:count]]))
