"""The files of an index: written whole, read without being loaded.

    index.json               the manifest: which other files count, with their sizes and hashes
    texts-000001.safetensors a shard: packed LEVs, and what is known of each text
    codes-000001-ab12.safetensors  the same texts as short codes, for finding candidates

A file counts once the manifest names it, and the manifest is replaced in one move, after the file
is on the disk. So whatever happens, a shard is there as a whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from adhominem.errors import IndexFolderError
from adhominem.records import Within, from_json, parsed_json, strict_json, to_json
from adhominem.text.writing import replace_file

FORMAT = 2
MANIFEST = "index.json"
_KINDS: dict[str, Any] = {
    "I8": np.int8,
    "U8": np.uint8,
    "U16": np.uint16,
    "F16": np.float16,
    "I64": np.int64,
    "F32": np.float32,
    "F64": np.float64,
}


@dataclass(frozen=True, kw_only=True)
class IndexFile:
    """A file that counts."""

    name: str
    bytes: Annotated[int, Within(0)]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Some thousand texts of an index, and their codes once these are made."""

    texts: Annotated[int, Within(1)]
    levs: IndexFile
    codes: IndexFile | None = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What an index is made of."""

    model: str
    model_sha256: str
    format: int = FORMAT
    joined: bool = False  # an author's texts are one
    keeps_texts: bool = False
    key_check: str = ""  # of the key that ids were hashed with; empty if they are plain
    next_number: Annotated[int, Within(1)] = 1  # of a file that is written next
    shards: tuple[Shard, ...] = ()
    removed: tuple[int, ...] = ()  # numbers of texts that no longer count
    population: IndexFile | None = None  # its centre and cohort, once all is written
    view: IndexFile | None = None  # what codes are made by
    chance: IndexFile | None = None  # what Bayes factors texts by different people have

    @property
    def texts(self) -> int:
        """Those that count."""
        return sum(shard.texts for shard in self.shards) - len(self.removed)

    def files(self) -> list[IndexFile]:
        """All that count beside the manifest."""
        files = [file for shard in self.shards for file in (shard.levs, shard.codes)]
        return [file for file in (*files, self.population, self.view, self.chance) if file]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an index."""
    path = folder / MANIFEST
    try:
        data = parsed_json(path.read_bytes())
        if isinstance(data, dict) and data.get("format") != FORMAT:
            raise IndexFolderError(
                f"{path} has format {data.get('format')!r}; expected {FORMAT}: build the index "
                "again with this version"
            )
        return from_json(Manifest, data, "index")
    except FileNotFoundError:
        raise IndexFolderError(
            f"there is no index in {folder}; expected a folder that `adhominem index` has made"
        ) from None
    except (OSError, ValueError) as error:
        raise IndexFolderError(f"{path} is damaged ({error}); build the index again") from None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest: from now on, this is the index."""
    replace_file(folder / MANIFEST, strict_json(to_json(manifest), indent=1).encode())


def write_arrays(folder: Path, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> IndexFile:
    """Write a file of arrays, and wait until it is on the disk."""
    data = save({key: np.ascontiguousarray(array) for key, array in arrays.items()})
    replace_file(folder / name, data)
    return IndexFile(name=name, bytes=len(data), sha256=sha256(data).hexdigest())


def read_arrays(folder: Path, file: IndexFile) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, which stay on the disk until they are looked at."""
    path = folder / file.name
    try:
        if Path(file.name).name != file.name:
            raise ValueError("its name is no plain name")
        if path.stat().st_size != file.bytes:
            raise ValueError(f"it has {path.stat().st_size:,} bytes, not {file.bytes:,}")
        raw = np.asarray(np.memmap(path, np.uint8, "r"))  # plain: each look at it costs less
        length = int(raw[:8].view("<u8")[0])
        header = json.loads(raw[8 : 8 + length].tobytes())
        arrays = {}
        for name, told in header.items():
            if name == "__metadata__":
                continue
            begin, end = (8 + length + at for at in told["data_offsets"])
            kind = np.dtype(_KINDS[told["dtype"]])
            # A copy where the place in the file is none for such numbers: small arrays all.
            part = raw[begin:end]
            array = part.view(kind) if begin % kind.itemsize == 0 else _copied(part, kind)
            arrays[name] = array.reshape(told["shape"])
        return arrays
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise damaged(path, error) from None


def _copied(part: npt.NDArray[np.uint8], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.frombuffer(part.tobytes(), kind)


def check_file(folder: Path, file: IndexFile) -> None:
    """An IndexFolderError that names the file, unless its bytes are those that were written."""
    digest = sha256()
    path = folder / file.name
    try:
        with open(path, "rb") as opened:
            while block := opened.read(1 << 22):
                digest.update(block)
    except OSError as error:
        raise damaged(path, error) from None
    if digest.hexdigest() != file.sha256:
        raise damaged(path, "its SHA-256 is not the one that was written down")


def damaged(path: Path, reason: object) -> IndexFolderError:
    """The error of a file that is not as it was written."""
    return IndexFolderError(
        f"{path} is damaged ({reason}); restore it from a copy, or build the index again"
    )


@dataclass(frozen=True)
class Strings:
    """Many short strings in one array."""

    ends: npt.NDArray[np.int64]  # (strings,)
    data: npt.NDArray[np.uint8] = field(repr=False)

    @classmethod
    def of(cls, strings: list[str] | list[bytes]) -> Strings:
        """From strings, or from bytes."""
        parts = [part.encode() if isinstance(part, str) else part for part in strings]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return cls(ends, np.frombuffer(b"".join(parts), np.uint8))

    def __len__(self) -> int:
        return len(self.ends)

    def bytes_at(self, at: int) -> bytes:
        """One of them, as it was."""
        begin = int(self.ends[at - 1]) if at else 0
        return self.data[begin : int(self.ends[at])].tobytes()

    def __getitem__(self, at: int) -> str:
        return self.bytes_at(at).decode("utf-8", "replace")

    def all(self) -> list[str]:
        """All of them."""
        data = self.data.tobytes()
        begins = [0, *self.ends[:-1].tolist()]
        return [
            data[begin:end].decode("utf-8", "replace")
            for begin, end in zip(begins, self.ends.tolist(), strict=True)
        ]

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """As they are written."""
        return {f"{name}.ends": self.ends, f"{name}.data": self.data}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Strings:
        """What `arrays` gave."""
        return cls(arrays[f"{name}.ends"], arrays[f"{name}.data"])
