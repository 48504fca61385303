"""Writing an index: texts added shard by shard, removed, and the rest compacted.

What searches need besides the texts, population and codes, is made once all is written
(`Writer.finish`).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np

from adhominem.arrays import Levs, joined
from adhominem.errors import IndexFolderError, InputError, OptionError
from adhominem.index.approximate import ApproximateScorer
from adhominem.index.codes import SAMPLE, CodedTexts, Coder, read_coder
from adhominem.index.files import (
    MANIFEST,
    Arrays,
    IndexFile,
    Manifest,
    Shard,
    Strings,
    read_manifest,
    write_arrays,
    write_manifest,
)
from adhominem.index.packing import PackedLevs
from adhominem.index.store import BATCH, COHORT, DIGEST_BYTES, Bytes, ShardTexts, Store, sum_of
from adhominem.pairs.passages import sketch
from adhominem.score.population import Population
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

SHARD = 8_192  # texts: what a killed run may have to encode again
_GROWN = 2.0  # times as many texts as when the coder was made: then it is made again
_MORE = 16_384  # texts, at most, that correct the directions of a coder
_OURS = re.compile(r"\.?(texts|codes|view|chance)-\d{6}(-[0-9a-f]{4})?\.safetensors(\..*)?")


def digest_of_words(text: str) -> bytes:
    """A digest that identifies a text by its words, whatever stands between them."""
    return blake2b(" ".join(text.split()).encode(), digest_size=DIGEST_BYTES).digest()


def hashed(name: str, key: bytes) -> str:
    """A name hashed so that only holders of the key can recognise it; empty stays empty."""
    return hmac.new(key, name.encode(), "sha256").hexdigest()[:32] if name else ""


class Writer:
    """An index that is changed, step by step. What its manifest says is safely on the disk."""

    def __init__(self, folder: Path, manifest: Manifest, key: bytes | None = None) -> None:
        self.folder, self.manifest, self._key = folder, manifest, key
        self._waiting: list[tuple[Document, Levs, bool]] = []
        self.already_there = self.added = 0

    @classmethod
    def open(
        cls,
        folder: Path,
        verifier: Verifier,
        *,
        join_authors: bool = False,
        keep_texts: bool = False,
        key: bytes | None = None,
        adds: bool = True,
    ) -> Writer:
        """An existing index, or a new one; other settings than it was made with raise an error.

        Callers that add no texts may leave out the settings and the key.
        """
        key_check = "" if key is None else hashed("adhominem index", key)
        if not (folder / MANIFEST).exists():
            if folder.exists() and any(file.name[0] != "." for file in folder.iterdir()):
                raise OptionError(f"{folder} holds other files; choose a new folder for the index")
            folder.mkdir(parents=True, exist_ok=True)
            manifest = Manifest(
                model=verifier.name,
                model_sha256=verifier.sha256,
                joined=join_authors,
                keeps_texts=keep_texts,
                key_check=key_check,
            )
            write_manifest(folder, manifest)
            return cls(folder, manifest, key)
        manifest = read_manifest(folder)
        Store(folder, replace(manifest, shards=(), removed=())).check_model(verifier)
        for name, there, wanted, matters in (
            ("the key that ids are hashed with", manifest.key_check, key_check, adds or key),
            ("joined authors", manifest.joined, join_authors, adds),
            ("kept texts", manifest.keeps_texts, keep_texts, adds),
        ):
            if matters and there != wanted:
                raise IndexFolderError(
                    f"the index in {folder} was made with other options ({name}); give the same "
                    "ones, or choose another folder"
                )
        return cls(folder, manifest, key)

    def store(self) -> Store:
        """The index as it is now."""
        return Store(self.folder, self.manifest)

    def save(self, manifest: Manifest) -> None:
        """Replace the manifest, on the disk too."""
        self.manifest = manifest
        write_manifest(self.folder, manifest)

    def write(self, kind: str, arrays: Arrays) -> IndexFile:
        """Write a file with the next number; it counts once a manifest that names it is saved."""
        number = self.manifest.next_number
        self.manifest = replace(self.manifest, next_number=number + 1)
        return write_arrays(self.folder, f"{kind}-{number:06}.safetensors", arrays)

    def clear(self) -> None:
        """Remove files that the manifest does not list, of killed or earlier runs."""
        counting = {file.name for file in self.manifest.files()}
        for entry in self.folder.iterdir():
            if entry.name not in counting and _OURS.fullmatch(entry.name):
                entry.unlink()

    # Texts

    @cached_property
    def _digests(self) -> dict[str, bytes]:
        """The digests of the texts of the index and of those to be added, by their ids."""
        store = self.store()
        return {id: bytes(store.digests[number]) for id, number in store.ids.items()}

    @cached_property
    def _known_keys(self) -> set[bytes]:
        """The keys of all texts that were written: see `_copy_keys`."""
        shards = self.store().shards
        return {key for texts in shards for key in _copy_keys(texts.strings, texts.digests)}

    def new(self, documents: Iterable[Document]) -> Iterator[Document | InputError]:
        """The documents that are not in the index yet, under the ids that they will have in it."""
        for document in documents:
            digest = digest_of_words(document.text)
            id, author = document.id or digest.hex(), document.author
            if self._key is not None:
                id, author = hashed(id, self._key), hashed(author, self._key)
            before = self._digests.get(id)
            if before is None:
                self._digests[id] = digest
                yield replace(document, id=id, author=author)
            elif before == digest:
                self.already_there += 1
            else:
                yield InputError(
                    f"the index holds another text under the id '{id}'; remove that first, "
                    "or give this one another id"
                )

    def add(self, document: Document, lev: Levs, *, foreign: bool = False) -> bool:
        """Add a document of `new` with its LEV (1, lev_size), and whether it is `foreign`.

        This says whether all documents so far have been written.
        """
        self._waiting.append((document, lev, foreign))
        if len(self._waiting) >= SHARD:
            self.flush()
        return not self._waiting

    def flush(self) -> None:
        """Write the waiting texts. When this returns, they are on disk."""
        if not self._waiting:
            return
        known_keys = self._known_keys
        documents, levs, foreign = zip(*self._waiting, strict=True)
        self._waiting = []
        strings = {
            "ids": Strings.of([document.id for document in documents]),
            "authors": Strings.of([document.author for document in documents]),
            "topics": Strings.of([document.topic for document in documents]),
            "sketches": Strings.of([sketch(one.text).astype("<u4").tobytes() for one in documents]),
        }
        if self.manifest.keeps_texts:
            import zstandard

            compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)
            strings["texts"] = Strings.of([compressor.compress(d.text.encode()) for d in documents])
        digests = np.frombuffer(b"".join(digest_of_words(one.text) for one in documents), np.uint8)
        packed = PackedLevs.of(joined(list(levs)))
        rows = digests.reshape(-1, DIGEST_BYTES)
        self._write_shard(strings, rows, np.array(foreign, np.uint8), packed, known_keys)
        self.save(self.manifest)
        self.added += len(documents)

    def _write_shard(
        self,
        strings: Mapping[str, Strings],
        digests: Bytes,
        foreign: Bytes,
        levs: PackedLevs,
        known_keys: set[bytes],
    ) -> None:
        """Write a shard; its sum leaves out texts with known keys, to which theirs are added."""
        counted = np.zeros(len(levs), np.uint8)
        for row, key in enumerate(_copy_keys(strings, digests)):
            counted[row] = key not in known_keys
            known_keys.add(key)
        sums = sum_of(levs.levs(np.flatnonzero(counted)))
        texts = ShardTexts(strings, levs, digests, counted, foreign, sums)
        shard = Shard(texts=len(levs), levs=self.write("texts", texts.arrays()))
        self.manifest = self.manifest.changed(shards=(*self.manifest.shards, shard))

    def remove(self, names: Iterable[str]) -> int:
        """Remove the texts with these ids or by these authors, and say how many these are.

        Texts that an earlier run has removed are counted if they are still on disk: that run may
        have been killed before it finished, and is continued.
        """
        store, manifest = self.store(), self.manifest
        by_name: dict[str, set[int]] = {name: set() for name in manifest.removing}
        ids_and_authors = zip(store.strings("ids"), store.strings("authors"), strict=True)
        for number, theirs in enumerate(ids_and_authors):
            for name in theirs:
                by_name.setdefault(name, set()).add(number)
        gone, removing = set[int](), set[str]()
        for name in names:
            plain_or_hashed = {name} if self._key is None else {name, hashed(name, self._key)}
            known = {name for name in plain_or_hashed if name and name in by_name}
            if not known:
                raise InputError(
                    f"no text of the index has the id or the author '{name}'; nothing was removed. "
                    "If an earlier run has removed it, it is gone; otherwise, correct the name"
                )
            gone = gone.union(*(by_name[name] for name in known))
            removing |= known
        if not gone <= {*manifest.removed}:
            manifest = manifest.changed(removed=tuple(sorted(gone.union(manifest.removed))))
        self.save(replace(manifest, removing=tuple(sorted(removing))))
        return len(gone)

    def compact(self) -> None:
        """Write new shards that omit the removed texts; the old shards stay until `clear`."""
        store, known_keys = self.store(), set[bytes]()
        shards: list[list[int]] = [[]]  # the numbers of the texts of each
        for numbers in store.live_by_shard:
            if len(shards[-1]) + len(numbers) > SHARD:
                shards.append([])
            shards[-1] += numbers.tolist()
        self.manifest = self.manifest.changed(shards=(), removed=(), view=None)
        for kept in filter(None, shards):
            rows = [store.place(number) for number in kept]
            strings = {
                name: Strings.of([texts.strings[name].bytes_at(row) for texts, row in rows])
                for name in rows[0][0].strings
            }
            foreign = store.foreign[kept].astype(np.uint8)
            self._write_shard(strings, store.digests[kept], foreign, store.packed(kept), known_keys)
        self.save(self.manifest)

    # What searches need beside the texts

    def finish(
        self, verifier: Verifier, on_texts: Callable[[int], None] = lambda count: None
    ) -> None:
        """Make what searches need; what has been made before is not made again."""
        store = self.store()
        population = store.make_population(verifier)
        if population is None:  # too few texts for one: each is compared by itself
            return
        if not self.manifest.author_share:
            share = population.authors / population.texts
            self.save(replace(self.manifest, author_share=share))
            store = self.store()
        coder = read_coder(store, verifier, population)
        if coder is None or population.texts > _GROWN * coder.approximate.population.texts:
            coder = self._make_coder(store, verifier, population)
        for at, shard in enumerate(self.manifest.shards):
            if shard.codes is None:
                shards = list(self.manifest.shards)
                shards[at] = replace(shard, codes=self._write_codes(store, at, coder))
                self.save(replace(self.manifest, shards=tuple(shards)))
            on_texts(shard.texts)

    def _make_coder(self, store: Store, verifier: Verifier, population: Population) -> Coder:
        """A new coder of the index, which has no codes from now on."""
        # A quarter of a large index, up to a limit, corrects the directions that a sample shows.
        more = store.distinct[: min(_MORE, len(store) // 4)]
        batches = range(0, len(more) if len(more) > SAMPLE else 0, BATCH)
        coder = Coder.of(
            ApproximateScorer(verifier.scorer, population),
            store.levs(store.distinct[:SAMPLE]),
            (store.levs(more[at : at + BATCH]) for at in batches),
        )
        arrays = {
            **coder.arrays(),
            "texts": np.array([population.texts]),
            "lev_mean": population.lev_mean,
            "authors": np.array([population.authors]),
            "cohort": store.distinct[:COHORT],
        }
        view = self.write("view", arrays)
        shards = tuple(replace(shard, codes=None) for shard in self.manifest.shards)
        self.save(replace(self.manifest, view=view, shards=shards))
        return coder

    def _write_codes(self, store: Store, at: int, coder: Coder) -> IndexFile:
        """Write the codes of the texts of a shard."""
        shard, view, batches = self.manifest.shards[at], self.manifest.view, []
        for begin in range(0, shard.texts, BATCH):
            rows = np.arange(begin, min(begin + BATCH, shard.texts))
            levs = store.levs(rows + store.begins[at])
            points = coder.approximate.points(levs)
            batches.append(CodedTexts(**vars(points), codes=coder.codes(levs, points)))
        assert view is not None
        stem = shard.levs.name.removesuffix(".safetensors").replace("texts", "codes")
        name = f"{stem}-{sha256(view.sha256.encode()).hexdigest()[:4]}.safetensors"
        return write_arrays(self.folder, name, CodedTexts.joined(batches).arrays())


def _copy_keys(strings: Mapping[str, Strings], digests: Bytes) -> Iterator[bytes]:
    """A key for each text that most near copies of it share: its two smallest hashes."""
    for row, digest in enumerate(map(bytes, digests)):
        yield strings["sketches"].bytes_at(row)[:8] or digest
