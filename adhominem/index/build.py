"""Writing an index: texts added shard by shard, removed, and the rest compacted.

What searches need besides the texts, population and codes, is made once all is written
(`finished`).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Levs, joined
from adhominem.errors import IndexFolderError, InputError, OptionError
from adhominem.index.approximate import ApproximateScorer
from adhominem.index.codes import SAMPLE, Coder, read_coder
from adhominem.index.files import (
    MANIFEST,
    Manifest,
    Shard,
    Strings,
    read_manifest,
    write_arrays,
    write_manifest,
)
from adhominem.index.packing import PackedLevs
from adhominem.index.store import COHORT, DIGEST_BYTES, Bytes, ShardTexts, Store, sum_of
from adhominem.pairs.passages import sketch
from adhominem.score.population import Population
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

SHARD = 8_192  # texts: what a killed run may have to encode again
_GROWN = 2.0  # times as many texts as when the coder was made: then it is made again
_AT_ONCE = 256  # texts whose codes are made together
_MORE = 16_384  # texts, at most, that correct the directions of a coder
_OURS = re.compile(r"\.?(texts|codes|view|chance)-\d{6}(-[0-9a-f]{4})?\.safetensors(\..*)?")


def digest_of(text: str) -> bytes:
    """A digest that identifies a text by its words, whatever stands between them."""
    return blake2b(" ".join(text.split()).encode(), digest_size=DIGEST_BYTES).digest()


def hashed(name: str, key: bytes) -> str:
    """A name hashed so that only holders of the key can recognise it; empty stays empty."""
    return hmac.new(key, name.encode(), "sha256").hexdigest()[:32] if name else ""


def key_check(key: bytes | None) -> str:
    """A value to check later, without the key, whether a key is the same."""
    return "" if key is None else hashed("adhominem index", key)


def opened(
    folder: Path,
    verifier: Verifier,
    *,
    join_authors: bool,
    keep_texts: bool,
    key: bytes | None,
    adds: bool = True,
) -> Manifest:
    """The manifest of an existing index, or of a new one; other settings raise an error.

    Callers that add no texts may leave out the settings and the key.
    """
    if not (folder / MANIFEST).exists():
        if folder.exists() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise OptionError(f"{folder} holds other files; choose a new folder for the index")
        folder.mkdir(parents=True, exist_ok=True)
        manifest = Manifest(
            model=verifier.name,
            model_sha256=verifier.sha256,
            joined=join_authors,
            keeps_texts=keep_texts,
            key_check=key_check(key),
        )
        write_manifest(folder, manifest)
        return manifest
    manifest = read_manifest(folder)
    Store(folder, replace(manifest, shards=(), removed=())).check_model(verifier)
    settings: dict[str, tuple[object, object]] = {}
    if adds or key is not None:
        settings["the key that ids are hashed with"] = (manifest.key_check, key_check(key))
    if adds:
        settings["joined authors"] = (manifest.joined, join_authors)
        settings["kept texts"] = (manifest.keeps_texts, keep_texts)
    for name, (there, wanted) in settings.items():
        if there != wanted:
            raise IndexFolderError(
                f"the index in {folder} was made with other options ({name}); give the same ones, "
                "or choose another folder"
            )
    return manifest


def clear(folder: Path, manifest: Manifest) -> None:
    """Remove files that the manifest does not list, from killed or earlier runs, texts included."""
    counting = {file.name for file in manifest.files()}
    for entry in folder.iterdir():
        if entry.name not in counting and _OURS.fullmatch(entry.name):
            entry.unlink()


class Writer:
    """Adds texts to an index. The texts that `texts` counts are safely on disk."""

    def __init__(self, folder: Path, manifest: Manifest, key: bytes | None = None) -> None:
        self.folder, self.manifest, self._key = folder, manifest, key
        store = Store(folder, manifest)
        self._digests = {id: bytes(store.digests[number]) for id, number in store.ids.items()}
        self._known_keys = {
            key
            for texts in store.shards
            for key in _copy_keys(texts.strings["sketches"], texts.digests)
        }
        self._waiting: list[tuple[Document, bytes, Levs, bool]] = []
        self.already_there = self.added = 0

    def new(self, documents: Iterable[Document]) -> Iterator[Document | InputError]:
        """The documents that are not in the index yet, under the ids that they will have in it."""
        for document in documents:
            named = self._named(document)
            digest = digest_of(document.text)
            before = self._digests.get(named.id)
            if before == digest:
                self.already_there += 1
            elif before is not None:
                yield InputError(
                    f"the index holds another text under the id '{named.id}'; remove that first, "
                    "or give this one another id"
                )
            else:
                self._digests[named.id] = digest
                yield named

    def _named(self, document: Document) -> Document:
        id = document.id or digest_of(document.text).hex()
        if self._key is None:
            return replace(document, id=id)
        return replace(
            document, id=hashed(id, self._key), author=hashed(document.author, self._key)
        )

    def add(self, document: Document, lev: Levs, *, foreign: bool = False) -> None:
        """Add a document of `new` with its LEV (1, lev_size), and whether it is `foreign`."""
        self._waiting.append((document, digest_of(document.text), lev, foreign))
        if len(self._waiting) >= SHARD:
            self.flush()

    @property
    def waiting(self) -> int:
        """How many texts have been added but not written yet."""
        return len(self._waiting)

    def flush(self) -> None:
        """Write the waiting texts. When this returns, they are on disk."""
        if not self._waiting:
            return
        documents, digests, levs, foreign = zip(*self._waiting, strict=True)
        self._waiting = []
        strings = {
            "ids": Strings.of([document.id for document in documents]),
            "authors": Strings.of([document.author for document in documents]),
            "topics": Strings.of([document.topic for document in documents]),
            "sketches": Strings.of([sketch(one.text).astype("<u4").tobytes() for one in documents]),
        }
        if self.manifest.keeps_texts:
            strings["texts"] = _compressed(documents)
        packed = PackedLevs.of(joined(list(levs)))
        texts = _summed(strings, _as_rows(digests), np.array(foreign), packed, self._known_keys)
        self.manifest = _with_shard(self.folder, self.manifest, texts)
        write_manifest(self.folder, self.manifest)
        self.added += len(documents)


def _as_rows(digests: Sequence[bytes]) -> Bytes:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES)


def _compressed(documents: Sequence[Document]) -> Strings:
    import zstandard

    compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)
    return Strings.of([compressor.compress(document.text.encode()) for document in documents])


def _copy_keys(sketches: Strings, digests: Bytes) -> Iterator[bytes]:
    """A key for each text that most near copies of it share: its two smallest hashes."""
    for row, digest in enumerate(map(bytes, digests)):
        yield sketches.bytes_at(row)[:8] or digest


def _summed(
    strings: Mapping[str, Strings],
    digests: Bytes,
    foreign: npt.NDArray[Any],
    levs: PackedLevs,
    known_keys: set[bytes],
) -> ShardTexts:
    """The texts of a shard; those with known keys are left out of its sum. Their keys are added."""
    counted = np.zeros(len(levs), np.uint8)
    for row, key in enumerate(_copy_keys(strings["sketches"], digests)):
        counted[row] = key not in known_keys
        known_keys.add(key)
    sums = sum_of(levs.levs(np.flatnonzero(counted)))
    return ShardTexts(strings, digests, counted, foreign.astype(np.uint8), levs, sums)


def _with_shard(folder: Path, manifest: Manifest, texts: ShardTexts) -> Manifest:
    """The manifest with one more shard, which is written here."""
    name = f"texts-{manifest.next_number:06}.safetensors"
    shard = Shard(texts=len(texts), levs=write_arrays(folder, name, texts.arrays()))
    return manifest.changed(shards=(*manifest.shards, shard), next_number=manifest.next_number + 1)


def removed(
    folder: Path, manifest: Manifest, ids: Iterable[str], key: bytes | None
) -> tuple[Manifest, int]:
    """The manifest without the texts with these ids or authors, and how many these are.

    Texts that an earlier run has removed are counted if they are still on disk: that run may have
    been killed before it finished, and is continued.
    """
    store = Store(folder, manifest)
    by_name: dict[str, set[int]] = {name: set() for name in manifest.removing}
    for begin, texts in zip(store.begins.tolist(), store.shards, strict=False):
        rows = zip(texts.strings["ids"].all(), texts.strings["authors"].all(), strict=True)
        for number, id_and_author in enumerate(rows, start=begin):
            for name in id_and_author:
                by_name.setdefault(name, set()).add(number)
    gone, removing = set[int](), set[str]()
    for name in ids:
        plain_or_hashed = {name} if key is None else {name, hashed(name, key)}
        names = {name for name in plain_or_hashed if name and name in by_name}
        if not names:
            raise InputError(
                f"no text of the index has the id or the author '{name}'; nothing was removed. If "
                "an earlier run has removed it, it is gone; otherwise, correct the name"
            )
        gone = gone.union(*(by_name[name] for name in names))
        removing |= names
    count, manifest = len(gone), replace(manifest, removing=tuple(sorted(removing)))
    if gone <= {*manifest.removed}:
        return manifest, count
    return manifest.changed(removed=tuple(sorted(gone.union(manifest.removed)))), count


def compacted(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with new shards that omit the removed texts; the old shards stay for now."""
    store, known_keys = Store(folder, manifest), set[bytes]()
    shards: list[list[int]] = [[]]  # the numbers of the texts of each
    for numbers in store.live_by_shard:
        if len(shards[-1]) + len(numbers) > SHARD:
            shards.append([])
        shards[-1] += numbers.tolist()
    manifest = manifest.changed(shards=(), removed=(), view=None)
    for kept in filter(None, shards):
        rows = [store.place(number) for number in kept]
        strings = {
            name: Strings.of([texts.strings[name].bytes_at(row) for texts, row in rows])
            for name in rows[0][0].strings
        }
        digests = store.digests[kept]
        texts = _summed(strings, digests, store.foreign[kept], store.packed(kept), known_keys)
        manifest = _with_shard(folder, manifest, texts)
    return manifest


# What searches need beside the texts


def finished(
    folder: Path,
    manifest: Manifest,
    verifier: Verifier,
    on_texts: Callable[[int], None] = lambda count: None,
) -> Manifest:
    """An index that can be searched; what has been made before is not made again."""
    store = Store(folder, manifest)
    population = store.make_population(verifier)
    if population is None:  # too few texts for one: each is compared by itself
        return manifest
    if not manifest.author_share:
        manifest = replace(manifest, author_share=population.authors / population.texts)
        write_manifest(folder, manifest)
        store = Store(folder, manifest)
    coder = read_coder(store, verifier, population)
    if coder is None or population.texts > _GROWN * coder.approximate.population.texts:
        manifest, coder = with_coder(store, verifier, population)
    assert manifest.view is not None
    for at, shard in enumerate(manifest.shards):
        if shard.codes is None:
            made = with_codes(store, at, shard, coder, manifest.view.sha256)
            shards = (*manifest.shards[:at], made, *manifest.shards[at + 1 :])
            manifest = replace(manifest, shards=shards)
            write_manifest(folder, manifest)
        on_texts(shard.texts)
    return manifest


def with_coder(store: Store, verifier: Verifier, population: Population) -> tuple[Manifest, Coder]:
    """The manifest of an index with a new coder, which is written here, and without codes."""
    approximate = ApproximateScorer(verifier.scorer, population)
    # A quarter of a large index, up to a limit, corrects the directions that a sample shows.
    more = store.distinct[: min(_MORE, len(store) // 4)]
    batches = range(0, len(more) if len(more) > SAMPLE else 0, _AT_ONCE)
    coder = Coder.of(
        approximate,
        store.levs(store.distinct[:SAMPLE]),
        (store.levs(more[at : at + _AT_ONCE]) for at in batches),
    )
    manifest = store.manifest
    arrays = {
        **coder.arrays(),
        "texts": np.array([population.texts]),
        "lev_mean": population.lev_mean,
        "authors": np.array([population.authors]),
        "cohort": store.distinct[:COHORT],
    }
    file = write_arrays(store.folder, f"view-{manifest.next_number:06}.safetensors", arrays)
    shards = tuple(replace(shard, codes=None) for shard in manifest.shards)
    manifest = replace(manifest, view=file, shards=shards, next_number=manifest.next_number + 1)
    write_manifest(store.folder, manifest)
    return manifest, coder


def with_codes(store: Store, at: int, shard: Shard, coder: Coder, sha256_of_coder: str) -> Shard:
    """A shard with the codes of its texts, which are written here."""
    parts: dict[str, list[npt.NDArray[Any]]] = {}
    for begin in range(0, shard.texts, _AT_ONCE):
        rows = np.arange(begin, min(begin + _AT_ONCE, shard.texts))
        levs = store.levs(rows + store.begins[at])
        points = coder.approximate.points(levs)
        for name, array in {"codes": coder.codes(levs, points), **points.arrays()}.items():
            parts.setdefault(name, []).append(array)
    arrays = {name: np.concatenate(several) for name, several in parts.items()}
    stem = shard.levs.name.removesuffix(".safetensors").replace("texts", "codes")
    name = f"{stem}-{sha256(sha256_of_coder.encode()).hexdigest()[:4]}.safetensors"
    return replace(shard, codes=write_arrays(store.folder, name, arrays))
