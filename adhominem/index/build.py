"""Writing an index: texts added shard by shard, removed, and the rest put together again."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from adhominem.arrays import IntArray, Levs, joined
from adhominem.errors import IndexFolderError, InputError, OptionError
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
from adhominem.index.store import Store, Texts, sums_of
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

SHARD = 8_192  # texts: what a killed run may have to encode again
DIGEST_BYTES = 16
_OURS = ("texts-", "codes-", "view-", "chance-")  # how the names of files begin


def digest_of(text: str) -> bytes:
    """To recognise a text by: its words, whatever stands between them."""
    return blake2b(" ".join(text.split()).encode(), digest_size=DIGEST_BYTES).digest()


def hashed(name: str, key: bytes) -> str:
    """A name that only who has the key can recognise; nothing stays nothing."""
    return hmac.new(key, name.encode(), "sha256").hexdigest()[:32] if name else ""


def key_check(key: bytes | None) -> str:
    """To tell later whether a key is the same, without the key."""
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
    """The manifest of an index that is there, or of a new one; other settings are refused.

    Whoever adds no texts need not give them, nor the key.
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
    for name, (there, given) in settings.items():
        if there != given:
            raise IndexFolderError(
                f"the index in {folder} was made with other options ({name}); give the same ones, "
                "or choose another folder"
            )
    return manifest


class Writer:
    """Adds texts to an index. What `texts` counts is on the disk, whatever happens next."""

    def __init__(self, folder: Path, manifest: Manifest, key: bytes | None = None) -> None:
        self.folder, self.manifest, self._key = folder, manifest, key
        store = Store(folder, manifest)
        self._there: dict[str, bytes] = {}  # the digest of each text, by its id
        for begin, texts in zip(store.begins.tolist(), store.shards, strict=False):
            alive = store.alive[begin : begin + len(texts.ids)].tolist()
            rows = zip(texts.ids.all(), map(bytes, texts.digests), alive, strict=True)
            self._there.update((id, digest) for id, digest, counts in rows if counts)
        self._waiting: list[tuple[Document, bytes, Levs]] = []
        self.already_there = self.added = 0
        counting = {file.name for file in manifest.files()}
        for leftover in folder.glob("*-[0-9]*.safetensors"):  # of a run that was killed
            if leftover.name not in counting and leftover.name.startswith(_OURS):
                leftover.unlink()

    def new(self, documents: Iterable[Document]) -> Iterator[Document | InputError]:
        """Those of some documents that are not in the index, under the ids that they have in it."""
        for document in documents:
            named = self._named(document)
            digest = digest_of(document.text)
            before = self._there.get(named.id)
            if before == digest:
                self.already_there += 1
            elif before is not None:
                yield InputError(
                    f"the index holds another text under the id '{named.id}'; remove that first, "
                    "or give this one another id"
                )
            else:
                self._there[named.id] = digest
                yield named

    def _named(self, document: Document) -> Document:
        id = document.id or digest_of(document.text).hex()
        if self._key is None:
            return replace(document, id=id)
        return replace(
            document, id=hashed(id, self._key), author=hashed(document.author, self._key)
        )

    def add(self, document: Document, lev: Levs) -> None:
        """A document of `new`, with its LEV (1, lev_size)."""
        self._waiting.append((document, digest_of(document.text), lev))
        if len(self._waiting) >= SHARD:
            self.flush()

    @property
    def waiting(self) -> int:
        """How many texts are added, and not written yet."""
        return len(self._waiting)

    def flush(self) -> None:
        """Write what is waiting. When this returns, it is on the disk."""
        if not self._waiting:
            return
        documents, digests, rows = zip(*self._waiting, strict=True)
        self._waiting = []
        packed = PackedLevs.of(joined(list(rows)))
        texts = Texts(
            Strings.of([document.id for document in documents]),
            Strings.of([document.author for document in documents]),
            Strings.of([document.topic for document in documents]),
            np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES),
            packed,
            *sums_of(packed.levs(np.arange(len(packed)))),
            _packed(documents) if self.manifest.keeps_texts else None,
        )
        self.manifest = with_shard(self.folder, self.manifest, texts)
        write_manifest(self.folder, self.manifest)
        self.added += len(documents)


def _packed(documents: Sequence[Document]) -> Strings:
    import zstandard

    press = zstandard.ZstdCompressor(level=6)
    return Strings.of([press.compress(document.text.encode()) for document in documents])


def with_shard(folder: Path, manifest: Manifest, texts: Texts) -> Manifest:
    """The manifest with one more shard, which is written here."""
    name = f"texts-{manifest.next_number:06}.safetensors"
    file = write_arrays(folder, name, texts.arrays())
    shard = Shard(texts=len(texts.ids), levs=file)
    return replace(manifest, shards=(*manifest.shards, shard), next_number=manifest.next_number + 1)


def removed(folder: Path, manifest: Manifest, ids: Iterable[str], key: bytes | None) -> Manifest:
    """The manifest without some texts: by their ids, or all texts of an author by the author."""
    store = Store(folder, manifest)
    gone: set[int] = set(manifest.removed)
    by_author: dict[str, list[int]] = {}
    for number in store.live.tolist():
        by_author.setdefault(store.author(number), []).append(number)
    for given in ids:
        names = [given] if key is None else [given, hashed(given, key)]
        numbers = [store.ids[name] for name in names if name in store.ids]
        numbers += [number for name in names if name for number in by_author.get(name, [])]
        if not numbers:
            raise InputError(
                f"no text of the index has the id or the author '{given}'; nothing was removed"
            )
        gone |= set(numbers)
    return replace(manifest, removed=tuple(sorted(gone)))


def compacted(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest of new shards without the texts that were removed; the old ones stay so far."""
    store = Store(folder, manifest)
    result = replace(manifest, shards=(), removed=(), population=None, view=None, chance=None)
    kept: list[tuple[Texts, IntArray]] = []

    def write() -> None:
        nonlocal result
        if kept:
            result = with_shard(folder, result, _together(kept))
            kept.clear()

    for begin, texts in zip(store.begins.tolist(), store.shards, strict=False):
        rows = np.flatnonzero(store.alive[begin : begin + len(texts.ids)])
        if sum(len(one) for _, one in kept) + len(rows) > SHARD:
            write()
        if len(rows):
            kept.append((texts, rows))
    write()
    return result


def _together(kept: Sequence[tuple[Texts, IntArray]]) -> Texts:
    """Some rows of some shards as one."""
    levs = joined([texts.levs.levs(rows) for texts, rows in kept])
    packed = PackedLevs.of(levs)

    def strings(name: str) -> Strings:
        chosen: list[bytes] = []
        for texts, rows in kept:
            chosen += [getattr(texts, name).bytes_at(at) for at in rows.tolist()]
        return Strings.of(chosen)

    return Texts(
        strings("ids"),
        strings("authors"),
        strings("topics"),
        np.concatenate([texts.digests[rows] for texts, rows in kept]),
        packed,
        *sums_of(packed.levs(np.arange(len(packed)))),
        strings("packed") if kept[0][0].packed is not None else None,
    )
