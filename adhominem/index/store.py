"""An index that lies on the disk: its texts by number, their LEVs, its population."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, BoolArray, FloatArray, IntArray, Levs
from adhominem.errors import IndexFolderError, OptionError
from adhominem.index.engine import by_shard
from adhominem.index.files import (
    MANIFEST,
    InFile,
    Manifest,
    Shard,
    Stored,
    Strings,
    check_file,
    damaged,
    naming_damage,
    read_arrays,
    read_manifest,
)
from adhominem.index.packing import LevTable, PackedLevs
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.score.genres import Group
from adhominem.score.population import FEWEST, Population
from adhominem.score.products import column_means
from adhominem.text.files import path_of
from adhominem.verify.verifier import Verifier

Bytes = npt.NDArray[np.uint8]
COHORT = 200  # texts of the population that are kept, as of any other
DIGEST_BYTES = 16
STRINGS = ("ids", "authors", "topics", "sketches")  # sketches: 4 bytes a shingle
BATCH = 256  # texts whose LEVs are unpacked together
_MOST_LOG_TOKENS = 50.0
_MARKS = 32  # hashes of a text by which near copies are recognised
_SMALLEST = 8  # of them, by which they are looked up
_COPIED = 3 / 8  # share of a text that another holds: from there on, it is a near copy
_SAMPLE = 1_000  # texts that show what is usual in an index
_FEWEST_USUAL = 20  # texts: in fewer, nothing is
_USUAL = 0.5  # share of the texts
_LARGEST_USUAL = 1 / 3  # share of the texts' passages


@dataclass(frozen=True, eq=False)
class ShardTexts(Stored):
    """The texts of a shard: their metadata and their LEVs."""

    strings: Mapping[str, Strings]  # by name: `STRINGS`, and texts if they are kept, compressed
    levs: PackedLevs
    digests: Annotated[Bytes, InFile("u1", "texts 16")]  # of their words
    counted: Annotated[Bytes, InFile("u1", "texts")]  # whether a LEV is in the sums: no later copy
    foreign: Annotated[Bytes, InFile("u1", "texts")]  # whether no statement is made on a text
    sums: Annotated[AnyFloats, InFile("f4", "lev_size")]  # of LEVs

    def __len__(self) -> int:
        return len(self.levs)

    def arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        """The arrays to write."""
        named = super().arrays(prefix) | self.levs.arrays()
        for name, strings in self.strings.items():
            named |= strings.arrays(f"{name}.")
        return named

    @classmethod
    def read(cls, folder: Path, shard: Shard) -> ShardTexts:
        """The texts of a shard; an IndexFolderError names a file that is damaged."""
        arrays, count = read_arrays(folder, shard.levs), shard.texts
        with naming_damage(folder / shard.levs.name):
            levs = PackedLevs.of_arrays(arrays, count)
            if not np.abs(levs.log_tokens).max() <= _MOST_LOG_TOKENS:
                raise ValueError("it holds a text of more words than there are")
            names = (*STRINGS, "texts") if "texts.ends" in arrays else STRINGS
            sizes = {"texts": count, "lev_size": sum(part.size for part in levs.parts) + 1}
            strings = {name: Strings.from_arrays(arrays, f"{name}.", sizes=sizes) for name in names}
            if (strings["sketches"].ends % 4).any():
                raise ValueError("it holds a sketch that is cut off")
            return cls.from_arrays(arrays, sizes=sizes, strings=strings, levs=levs)

    def marks(self, usual: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """(texts, _MARKS): the smallest hashes of each sketch, repeated if it has fewer.

        Hashes that are `usual` are skipped.
        """
        sketches = self.strings["sketches"]
        data, counts = sketches.data.view("<u4"), np.diff(sketches.ends // 4, prepend=0)
        if len(usual):
            kept = ~np.isin(data, usual)
            counts = np.diff(np.append(0, np.cumsum(kept))[np.cumsum(counts)], prepend=0)
            data = data[kept]
        begins = np.cumsum(counts) - counts
        places = begins[:, None] + np.arange(_MARKS) % np.maximum(counts, 1)[:, None]
        marks = data.take(places, mode="clip") if len(data) else places
        of_words = self.digests[:, :4].copy().view("<u4")  # of a text that has no hash
        return np.where(counts[:, None] > 0, marks, of_words).astype(np.uint32)


class Store:
    """An index on disk. Texts are identified by numbers; removed texts keep theirs."""

    def __init__(self, folder: str | Path, manifest: Manifest | None = None) -> None:
        self.folder = path_of(folder)
        self.manifest = manifest or read_manifest(self.folder)
        self.shards = [ShardTexts.read(self.folder, shard) for shard in self.manifest.shards]
        counts = [shard.texts for shard in self.manifest.shards]
        self.begins = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        gone = self.manifest.removed
        if len({*gone}) < len(gone) or (gone and not 0 <= min(gone) <= max(gone) < self.numbers):
            raise damaged(self.folder / MANIFEST, "a text was removed that was not there")

    def __len__(self) -> int:
        return self.manifest.texts

    @property
    def numbers(self) -> int:
        """How many texts have numbers, including removed ones."""
        return int(self.begins[-1])

    @cached_property
    def alive(self) -> BoolArray:
        """(numbers,): whether a text has not been removed."""
        alive = np.ones(self.numbers, dtype=bool)
        alive[list(self.manifest.removed)] = False
        return alive

    @cached_property
    def live(self) -> IntArray:
        """(texts,): the numbers of the texts that have not been removed."""
        return np.flatnonzero(self.alive)

    @property
    def live_by_shard(self) -> list[IntArray]:
        """For each shard, the numbers of its texts that have not been removed."""
        return np.split(self.live, np.searchsorted(self.live, self.begins[1:-1]))

    def strings(self, name: str) -> Iterator[str]:
        """The ids, authors or topics of all texts, by number."""
        return chain.from_iterable(shard.strings[name].all() for shard in self.shards)

    def _of_shards(self, name: str, *size: int) -> Bytes:
        """(numbers, …): the arrays of this name of all shards in one."""
        none = np.zeros((0, *size), np.uint8)
        return np.concatenate([none, *(getattr(shard, name) for shard in self.shards)])

    @cached_property
    def digests(self) -> Bytes:
        """(numbers, 16): the digest of each text's words."""
        return self._of_shards("digests", DIGEST_BYTES)

    @cached_property
    def foreign(self) -> BoolArray:
        """(numbers,): texts on which no statement is made, being no prose of a known kind."""
        return np.asarray(self._of_shards("foreign") != 0)

    @cached_property
    def shuffled(self) -> IntArray:
        """(texts,): the live texts in an order that depends on their words, not on insertion."""
        keys = self.digests.view("<u8")[:, 0]
        return self.live[np.argsort(keys[self.live], kind="stable")]

    @cached_property
    def distinct(self) -> IntArray:
        """(distinct texts,): `shuffled` without near copies of earlier texts."""
        return self.shuffled[self.repeated < _COPIED]

    @cached_property
    def repeated(self) -> FloatArray:
        """(texts,): the approximate share of each of `shuffled` that an earlier text holds, too.

        It is estimated from their smallest hashes, if they share one of the very first.
        """
        usual = np.array(sorted(self._usual), np.uint32)
        marks = [np.zeros((0, _MARKS), np.uint32), *(texts.marks(usual) for texts in self.shards)]
        of_texts = np.concatenate(marks)[self.shuffled]
        smallest = of_texts[:, :_SMALLEST]
        _, first, which = np.unique(smallest, return_index=True, return_inverse=True)
        most = np.zeros(len(of_texts), np.int64)
        for earlier in (first // _SMALLEST)[which.reshape(smallest.shape)].T:  # (texts,)
            later = np.flatnonzero(earlier < np.arange(len(most)))
            theirs = of_texts[earlier[later]]
            shared = [(theirs == mark[:, None]).any(axis=1) for mark in of_texts[later].T]
            most[later] = np.maximum(most[later], np.sum(shared, axis=0))
        return most / _MARKS

    def sketch(self, number: int) -> frozenset[int]:
        """The sketch of a text to find shared passages by, without passages that are usual here."""
        return self._whole_sketch(number) - self._usual

    def _whole_sketch(self, number: int) -> frozenset[int]:
        shard, row = self.place(number)
        return frozenset(np.frombuffer(shard.strings["sketches"].bytes_at(row), "<u4").tolist())

    @cached_property
    def _usual(self) -> frozenset[int]:
        """Passages that most texts have, like a mailing list's footer, and that show nothing.

        If they make up much of the texts, the texts are copies of each other.
        """
        sketches = [self._whole_sketch(number) for number in self.shuffled[:_SAMPLE].tolist()]
        counts = Counter(chain.from_iterable(sketches))
        usual = {key: count for key, count in counts.items() if count > _USUAL * len(sketches)}
        much = sum(usual.values()) > _LARGEST_USUAL * counts.total()
        return frozenset() if much or len(sketches) < _FEWEST_USUAL else frozenset(usual)

    def sharing(self, sketch: frozenset[int], numbers: IntArray) -> BoolArray:
        """(numbers,): which texts share a passage with one that has this sketch."""
        shares = [not sketch.isdisjoint(self.sketch(number)) for number in numbers.tolist()]
        return np.array(shares, dtype=bool)

    def copies(self, digest: bytes) -> list[int]:
        """The numbers of the live texts that have the same words, by their digest."""
        same = (self.digests == np.frombuffer(digest, np.uint8)).all(axis=1)
        numbers: list[int] = np.flatnonzero(same & self.alive).tolist()
        return numbers

    @cached_property
    def ids(self) -> dict[str, int]:
        """The numbers of the live texts, by their ids."""
        ids = list(self.strings("ids"))
        return {ids[number]: number for number in self.live.tolist()}

    @cached_property
    def accounts(self) -> IntArray:
        """(numbers,): the account of each text, as the number of its first text.

        An author is an account, and so is a text whose author is not known.
        """
        first: dict[str, int] = {}
        numbered = enumerate(self.strings("authors"))
        owners = [first.setdefault(author, at) if author else at for at, author in numbered]
        return np.array(owners, np.int64)

    @property
    def has_authors(self) -> bool:
        """Whether the author of any text is known."""
        return any(len(shard.strings["authors"].data) for shard in self.shards)

    def place(self, number: int) -> tuple[ShardTexts, int]:
        """The shard of a text, and its row there."""
        at = int(np.searchsorted(self.begins, number, side="right")) - 1
        return self.shards[at], int(number - self.begins[at])

    def _string(self, name: str, number: int) -> str:
        shard, row = self.place(number)
        return shard.strings[name][row]

    def id(self, number: int) -> str:
        """The id of a text."""
        return self._string("ids", number)

    def author(self, number: int) -> str:
        """The author of a text; empty if unknown."""
        return self._string("authors", number)

    def topic(self, number: int) -> str:
        """The topic of a text; empty if unknown."""
        return self._string("topics", number)

    def account(self, number: int) -> str:
        """The author of a text, or its id where that is unknown."""
        return self.author(number) or self.id(number)

    def text(self, number: int) -> str | None:
        """The text itself, if the index keeps texts."""
        import zstandard

        shard, row = self.place(number)
        if "texts" not in shard.strings:
            return None
        with self._naming_damage([number]):
            try:
                packed = shard.strings["texts"].bytes_at(row)
                return zstandard.ZstdDecompressor().decompress(packed).decode("utf-8")
            except (zstandard.ZstdError, MemoryError) as error:
                raise ValueError(error) from None

    def levs(self, numbers: Sequence[int] | IntArray) -> Levs:
        """(numbers, lev_size): the LEVs of some texts, in this order."""
        if not len(numbers):
            return Levs(())
        with self._naming_damage(numbers):
            return self.packed(numbers).levs(np.arange(len(numbers)))

    def packed(self, numbers: Sequence[int] | IntArray) -> PackedLevs:
        """The packed LEVs of one or more texts, in this order."""
        wanted = np.asarray(numbers, np.int64)
        with self._naming_damage(wanted):
            parts = list(by_shard([shard.levs for shard in self.shards], wanted))
            packed = PackedLevs.joined([levs.chosen(rows) for levs, _, rows in parts])
        return packed.chosen(np.argsort(np.concatenate([places for _, places, _ in parts])))

    @cached_property
    def _tables(self) -> list[LevTable]:
        """The table of each member's part of all LEVs."""
        parts = zip(*(shard.levs.parts for shard in self.shards), strict=True)
        return [LevTable(shards) for shards in parts]

    def products(self, numbers: IntArray, query: PackedLevs) -> Array32:
        """(numbers, members): the products of some texts with one other text, (1, lev_size)."""
        with self._naming_damage(numbers):
            parts = zip(self._tables, query.parts, strict=True)
            return np.stack([table.products(numbers, part) for table, part in parts], axis=1)

    @contextmanager
    def _naming_damage(self, numbers: Sequence[int] | IntArray) -> Iterator[None]:
        """A context in which an error names the damaged shard: the first whose hash differs."""
        try:
            yield
        except (OptionError, IndexError, ValueError, AssertionError) as error:
            shards = np.unique(np.searchsorted(self.begins, numbers, side="right") - 1)
            files = [self.manifest.shards[at].levs for at in shards.tolist()]
            for file in files:
                check_file(self.folder, file)
            raise damaged(self.folder / files[0].name, error) from None

    def check(self) -> None:
        """Raise an IndexFolderError that names the first file that is not as it was written."""
        for file in self.manifest.files():
            check_file(self.folder, file)

    def check_model(self, verifier: Verifier) -> None:
        """Raise unless the model is the one that the texts were encoded with."""
        theirs = self.manifest.model_sha256
        if verifier.sha256 != theirs:
            raise IndexFolderError(
                f"the index was made with the model {self.manifest.model} (SHA-256 {theirs[:12]}…),"
                f" not with this one ({verifier.name or DEFAULT_MODEL}, {verifier.sha256[:12]}…); "
                "give that model, or build the index again"
            )
        sizes = [member.lev_size for member in verifier.scorer.members]
        for shard, texts in zip(self.manifest.shards, self.shards, strict=True):
            parts = zip(texts.levs.parts, self.shards[0].levs.parts, strict=False)
            alike = all(type(one) is type(other) for one, other in parts)
            if not alike or [part.size for part in texts.levs.parts] != sizes:
                raise damaged(self.folder / shard.levs.name, "its LEVs are not those of the model")

    def make_population(self, verifier: Verifier) -> Population | None:
        """The texts of the index as the relevant population; None if they are too few."""
        count = len(self.distinct)
        if count < FEWEST:
            return None
        sums = np.sum([np.asarray(shard.sums, np.float64) for shard in self.shards], axis=0)
        counted = (self._of_shards("counted") != 0).astype(np.int64)
        wanted = np.zeros(self.numbers, np.int64)
        wanted[self.distinct] = 1
        for sign in (-1, 1):
            numbers = np.flatnonzero(wanted - counted == sign)
            for at in range(0, len(numbers), BATCH):
                sums = sums + sign * sum_of(self.levs(numbers[at : at + BATCH]))
        cohort = self.levs(self.distinct[:COHORT])
        groups: tuple[Group, ...] = ()
        if verifier.lead.genres is not None:
            sample = self.levs(self.distinct[:_SAMPLE])
            groups = verifier.lead.genres.groups(verifier.scorer.lead_columns(sample))
        seeming = verifier.scorer.seeming_authors
        share = self.manifest.author_share or min(1.0, seeming(cohort) / len(cohort))
        return Population(count, sums / count, cohort, seeming_authors=share * count, groups=groups)


def sum_of(levs: Levs) -> FloatArray:
    """(lev_size,): the sum of LEVs."""
    if not len(levs):
        return np.zeros(sum(part.shape[1] for part in levs.parts))
    return np.concatenate([column_means(part) for part in levs.parts]) * len(levs)
