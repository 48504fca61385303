"""The codes of an index in Milvus: a server, or a cluster of them, finds the candidates.

    milvus://host:19530/forum           a collection on a server
    milvus+https://host:443/forum       the same, encrypted
    milvus:///srv/forum.db/forum        a collection of Milvus Lite, in a file on this machine

Milvus holds the code of each text, and its number. LEVs stay in the folder
that `adhominem index` has made, on this machine or on a disk that several share: candidates are
ranked, and Bayes factors computed, from there. The properties of the collection name that folder,
the model, and what the codes were made by (the `view` of the manifest).

The search is exact (FLAT). A token for the server is taken from the variable MILVUS_TOKEN.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.errors import IndexFolderError, MissingExtraError, OptionError
from adhominem.index.codes import read_codes
from adhominem.index.engine import Codes
from adhominem.index.store import Store
from adhominem.text.files import real_path

SCHEMES = {"milvus": "http", "milvus+https": "https"}
_MOST = 16_384  # texts that Milvus answers with at once
_SENT = 2_048  # texts that are sent together
_SECONDS = 10.0  # to wait for a server
_TOKEN = "MILVUS_TOKEN"  # the name of a variable
_OURS = "adhominem."  # how the names of our properties begin
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")


@dataclass(frozen=True, kw_only=True)
class MilvusAddress:
    """The address of a collection."""

    uri: str  # of the server, or the file
    collection: str

    @classmethod
    def of(cls, given: str) -> MilvusAddress:
        """An address parsed from `milvus://…`; an OptionError says what is wrong with it."""
        try:
            parts = urlsplit(given)
        except ValueError:  # a bracket that is not closed
            parts = urlsplit("")
        before, _, collection = unquote(parts.path).rpartition("/")
        is_file = not parts.netloc and before.endswith(".db")
        known = parts.scheme in SCHEMES and (is_file or (parts.netloc and not before))
        if not known or not _NAME.fullmatch(collection):
            raise OptionError(
                f"'{given}' is not the address of a collection; expected "
                "milvus://HOST:PORT/COLLECTION, or milvus:///PATH.db/COLLECTION for a file of "
                "Milvus Lite, with a name of letters, digits and underscores"
            )
        uri = before if is_file else f"{SCHEMES[parts.scheme]}://{parts.netloc}"
        return cls(uri=uri, collection=collection)


def is_address(index: str | Path) -> bool:
    """Whether an index is given by its collection rather than by its folder."""
    return isinstance(index, str) and index.partition("://")[0] in SCHEMES and "://" in index


class MilvusEngine:
    """The `Engine` that asks a collection in Milvus."""

    most = _MOST
    scanned = sys.maxsize  # all: of its fewer candidates, more must be right

    def __init__(self, address: MilvusAddress) -> None:
        try:
            from pymilvus import MilvusClient
        except ImportError:
            raise MissingExtraError("pymilvus", "milvus", "an index in Milvus") from None
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # errors of ours stand for theirs
        logging.getLogger("milvus_lite").setLevel(logging.CRITICAL)
        self.address = address
        token = os.environ.get(_TOKEN, "")
        self._client = self._call(MilvusClient, address.uri, token=token, timeout=_SECONDS)

    def _call(self, function: Callable[..., Any], *given: Any, **options: Any) -> Any:
        """What a function of Milvus returns; whatever it raises becomes our own error."""
        from pymilvus import MilvusException

        try:
            return function(*given, **options)
        except (MilvusException, OSError) as error:
            reason = getattr(error, "message", "") or error
            raise IndexFolderError(
                f"Milvus at {self.address.uri} refused ({reason}); expected a "
                f"server that runs and, if it wants a token, {_TOKEN}; start it, or correct the "
                "address"
            ) from None

    def _ask(self, method: str, **options: Any) -> Any:
        """The answer of the server to a request about the collection."""
        return self._call(getattr(self._client, method), self.address.collection, **options)

    def about(self) -> dict[str, str] | None:
        """Our properties of the collection: empty if it is not ours; None if it does not exist."""
        if not self._ask("has_collection"):
            return None
        properties = self._ask("describe_collection").get("properties") or {}
        # Servers add properties of their own, such as a time zone.
        return {name: value for name, value in properties.items() if name.startswith(_OURS)}

    def create(self, about: dict[str, str], size: int) -> None:
        """Make a collection for codes of this size; one with the same name is dropped."""
        from pymilvus import DataType

        if self._ask("has_collection"):
            self._ask("drop_collection")
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("number", DataType.INT64, is_primary=True)
        schema.add_field("code", DataType.FLOAT_VECTOR, dim=size)
        index = self._client.prepare_index_params()
        index.add_index("code", index_type="FLAT", metric_type="IP")
        strong = {"consistency_level": "Strong", "properties": about}
        self._ask("create_collection", schema=schema, index_params=index, **strong)

    def count(self, begin: int, end: int) -> int:
        """How many of the texts with these numbers the collection holds."""
        texts = f"number >= {begin} and number < {end}"
        return int(self._ask("query", filter=texts, output_fields=["count(*)"])[0]["count(*)"])

    def add(self, numbers: IntArray, codes: Codes) -> None:
        """Add texts: their numbers (texts,) and their codes (texts, numbers)."""
        for at in range(0, len(numbers), _SENT):
            plain = codes[at : at + _SENT].astype(np.float32)
            rows = zip(numbers[at : at + _SENT].tolist(), plain, strict=True)
            self._ask("upsert", data=[{"number": number, "code": code} for number, code in rows])

    def remove(self, numbers: IntArray) -> None:
        """Remove these texts from all further answers."""
        for at in range(0, len(numbers), _SENT):
            self._ask("delete", ids=numbers[at : at + _SENT].tolist())

    def candidates(self, queries: Array32, k: int) -> tuple[IntArray, Array32]:
        """(queries, k) twice: the numbers of texts, and their products; k is at most 16,384."""
        answers = self._ask(
            "search",
            data=list(queries),
            anns_field="code",
            limit=min(k, _MOST),
            search_params={"metric_type": "IP"},
            output_fields=["number"],
        )
        numbers = np.full((len(queries), k), -1, np.int64)
        products = np.full((len(queries), k), -np.inf, np.float32)
        for at, hits in enumerate(answers):
            numbers[at, : len(hits)], products[at, : len(hits)] = hits.ids, hits.distances
        return numbers, products

    def close(self) -> None:
        """Disconnect from the server."""
        self._client.close()


def fill_collection(
    given: str, store: Store, on_texts: Callable[[int], None] = lambda count: None
) -> None:
    """Update a collection to the index in a folder; texts it holds already are not sent again.

    A collection that does not exist is made. One of another index is refused.
    """
    address = MilvusAddress.of(given)
    about = _about(store)
    engine = MilvusEngine(address)
    before = engine.about()
    if before is not None and before.get("adhominem.folder") != about["adhominem.folder"]:
        whose = before.get("adhominem.folder")
        raise IndexFolderError(
            f"the collection {address.collection} at {address.uri} holds "
            + (f"the index in {whose}" if whose else "something other than an index")
            + "; choose another name for the collection, or drop it first"
        )
    if before != about:
        engine.create(about, read_codes(store, store.manifest.shards[0]).codes.shape[1])
    shards = zip(store.manifest.shards, store.begins, store.live_by_shard, strict=False)
    for shard, begin, numbers in shards:
        end = begin + shard.texts
        if engine.count(begin, end) != len(numbers):
            engine.remove(np.setdiff1d(np.arange(begin, end), numbers))
            engine.add(numbers, read_codes(store, shard).codes[numbers - begin])
        on_texts(shard.texts)
    engine.close()


def open_collection(given: str) -> tuple[Store, MilvusEngine]:
    """The index that a collection belongs to, and the engine that searches it.

    An IndexFolderError says what is missing, or that one of the two is older than the other.
    """
    address = MilvusAddress.of(given)
    engine = MilvusEngine(address)
    about = engine.about()
    if about is None or "adhominem.folder" not in about:
        raise IndexFolderError(
            f"there is no collection {address.collection} of an index at {address.uri}; expected "
            f"one that `adhominem index … -o FOLDER --milvus {given}` has made"
        )
    store = Store(about["adhominem.folder"])
    engine._ask("load_collection")  # into memory
    if about != _about(store) or engine.count(0, store.numbers) != len(store):
        raise IndexFolderError(
            f"the collection {address.collection} at {address.uri} does not match the index in "
            f"{store.folder}; run `adhominem index -o {store.folder} --milvus {given}`"
        )
    return store, engine


def _about(store: Store) -> dict[str, str]:
    """The properties of the collection of an index."""
    manifest = store.manifest
    if manifest.view is None or any(shard.codes is None for shard in manifest.shards):
        raise IndexFolderError(
            f"the index in {store.folder} has no codes yet; expected one that is finished and has "
            "more than a few texts: run `adhominem index` again with the same options"
        )
    return {
        "adhominem.folder": str(real_path(store.folder)),
        "adhominem.model": manifest.model,
        "adhominem.model_sha256": manifest.model_sha256,
        "adhominem.view": manifest.view.sha256,
    }
