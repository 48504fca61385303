"""The files of an index: written whole, read without being loaded.

    index.json               the manifest: all other valid files, with their sizes and hashes
    texts-000001.safetensors a shard: packed LEVs, and the metadata of each text
    codes-000001-ab12.safetensors  these texts as short codes, for finding candidates

A file counts once the manifest names it, and the manifest is replaced in one move, after the file
is on the disk. So whatever happens, a shard is complete or absent.

Nothing damaged is used. The manifest has a checksum of itself and of the header of each file, and a
header has one of each array, which is compared when the file is opened. Only what is large, and
read a row at a time, is not read then: it has a checksum of each row (`PackedLevs`, zstd).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self
from zlib import crc32

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from adhominem.errors import IndexFolderError
from adhominem.records import Within, from_json, notes_of, parsed_json, strict_json, to_json
from adhominem.text.writing import replace_file

FORMAT = 5
Arrays = Mapping[str, npt.NDArray[Any]]
MANIFEST = "index.json"
_BY_ROW = (".values", ".steps", "texts.data")  # how the names of arrays end that rows are read of
_LARGEST = 1e9  # no number of an index comes near


@dataclass(frozen=True, kw_only=True)
class IndexFile:
    """A file that the manifest lists."""

    name: str
    bytes: Annotated[int, Within(0)]
    sha256: str
    header: int  # its CRC-32


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A few thousand texts of an index, and their codes once these are made."""

    texts: Annotated[int, Within(1)]
    levs: IndexFile
    codes: IndexFile | None = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The files, options and removed texts that make up an index."""

    model: str
    model_sha256: str
    format: int = FORMAT
    joined: bool = False  # an author's texts are one
    keeps_texts: bool = False
    key_check: str = ""  # of the key that ids were hashed with; empty if they are plain
    next_number: Annotated[int, Within(1)] = 1  # of a file that is written next
    shards: tuple[Shard, ...] = ()
    removed: tuple[int, ...] = ()  # numbers of texts that no longer count
    removing: tuple[str, ...] = ()  # whose removal has begun: ids and authors, until it is finished
    author_share: Annotated[float, Within(0, 1)] = 0.0  # people that texts seem to be by, a text
    complete: bool = False  # whether all that searches need was made of the texts that count
    view: IndexFile | None = None  # what codes are made by
    chance: IndexFile | None = None  # what Bayes factors texts by different people have

    @property
    def texts(self) -> int:
        """The number of texts, without removed ones."""
        return sum(shard.texts for shard in self.shards) - len(self.removed)

    def files(self) -> list[IndexFile]:
        """All files of the index beside the manifest."""
        files = [file for shard in self.shards for file in (shard.levs, shard.codes)]
        return [file for file in (*files, self.view, self.chance) if file]

    def changed(self, **changes: Any) -> Manifest:
        """The manifest for changed texts; measurements on the old ones no longer hold."""
        return replace(self, chance=None, author_share=0.0, complete=False, **changes)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an index."""
    path = folder / MANIFEST
    if not path.exists():
        raise IndexFolderError(
            f"there is no index in {folder}; expected a folder that `adhominem index` has made"
        )
    with naming_damage(path):
        data = parsed_json(path.read_bytes())
        if data["format"] != FORMAT:
            raise IndexFolderError(
                f"{path} has format {data['format']!r}; expected {FORMAT}: build the index "
                "again with this version"
            )
        if data.pop("crc32") != crc32(strict_json(data).encode()):
            raise ValueError("its checksum is not the one recorded")
        return from_json(Manifest, data, "index")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest: from now on, this is the index."""
    data = to_json(manifest)
    data["crc32"] = crc32(strict_json(data).encode())
    replace_file(folder / MANIFEST, strict_json(data, indent=1).encode())


def write_arrays(folder: Path, name: str, arrays: Arrays) -> IndexFile:
    """Write a file of arrays, and wait until it is on disk."""
    plain = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    checks = {key: crc32(array.data) for key, array in plain.items() if not key.endswith(_BY_ROW)}
    data = save(plain, {"crc32": strict_json(checks)})
    replace_file(folder / name, data)
    header = crc32(data[: 8 + int.from_bytes(data[:8], "little")])
    return IndexFile(name=name, bytes=len(data), sha256=sha256(data).hexdigest(), header=header)


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """A context in which whatever does not fit is reported as damage of this file."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise damaged(path, error) from None


def damaged(path: Path, reason: object) -> IndexFolderError:
    """The error for a file that is not as it was written."""
    return IndexFolderError(
        f"{path} is damaged ({reason}); restore it from a copy, or build the index again"
    )


def read_arrays(folder: Path, file: IndexFile) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, as they were written; rows of LEVs and texts are not read yet."""
    path = folder / file.name
    with naming_damage(path):
        if Path(file.name).name != file.name:
            raise ValueError("its name is not a plain name")
        if path.stat().st_size != file.bytes:
            raise ValueError(f"it has {path.stat().st_size:,} bytes, not {file.bytes:,}")
        # Mapped here, and not by `safe_open`, which copies each array into memory.
        raw = np.asarray(np.memmap(path, np.uint8, "r"))  # plain: reading from it costs less
        start = 8 + int(raw[:8].view("<u8")[0])
        if crc32(raw[:start].data) != file.header:
            raise ValueError("its header is not as it was written")
        header = json.loads(raw[8:start].tobytes())
        checks = json.loads(header.pop("__metadata__")["crc32"])
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name, entry in header.items():
            part = raw[slice(*(start + offset for offset in entry["data_offsets"]))]
            if not name.endswith(_BY_ROW) and crc32(part.data) != checks[name]:
                raise ValueError(f"its {name} are not as they were written")
            letter, bits = entry["dtype"][0], int(entry["dtype"][1:])
            kind = np.dtype(f"{letter.lower()}{bits // 8}")  # F32 is f4
            if (start + entry["data_offsets"][0]) % kind.itemsize:
                part = part.copy()  # numbers must lie at a multiple of their size
            arrays[name] = array = part.view(kind).reshape(entry["shape"])
            if kind.kind == "f" and array.size and not float(np.abs(array).max()) < _LARGEST:
                raise ValueError(f"its {name} hold something that is not a number, or too large")
        return arrays


def checked(arrays: Arrays, name: str, kinds: str, *shape: int | None) -> npt.NDArray[Any]:
    """An array of a file; a ValueError unless it has one of these kinds, and this shape.

    None in a shape stands for any length.
    """
    if name not in arrays:
        raise ValueError(f"it has no {name}")
    array = arrays[name]
    kind, actual = array.dtype.str[1:], array.shape
    fits = len(actual) == len(shape) and all(
        n in (None, m) for n, m in zip(shape, actual, strict=True)
    )
    if not fits or kind not in kinds.split():
        raise ValueError(f"its {name} are {kind} {actual}; expected {kinds} {shape}")
    return array


@dataclass(frozen=True)
class InFile:
    """A note in the type hint of a field that is an array in a file: its kinds, and its shape.

    A size with a name is the same in all arrays of the file. Without sizes, the field is a number.
    """

    kinds: str
    sizes: str = ""


class Stored:
    """A dataclass some of whose fields are arrays in a file, as `InFile` says."""

    @classmethod
    def _in_file(cls) -> list[tuple[str, InFile]]:
        notes = notes_of(cls).items()
        return [(name, one) for name, (_, of) in notes for one in of if isinstance(one, InFile)]

    def arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        """The arrays to write, with a prefix to their names."""
        result = {}
        for name, note in self._in_file():
            array, kinds = np.atleast_1d(getattr(self, name)), note.kinds.split()
            fits = array.dtype.str[1:] in kinds
            result[prefix + name] = array if fits else array.astype(kinds[0])
        return result

    @classmethod
    def from_arrays(
        cls,
        arrays: Arrays,
        prefix: str = "",
        *,
        sizes: Mapping[str, int] | None = None,
        **others: Any,
    ) -> Self:
        """Read what `arrays` returned; a ValueError if anything is missing or does not fit.

        `sizes` are those that are known, `others` the fields that are not in the file.
        """
        known = dict(sizes or {})
        for name, note in cls._in_file():
            shape = [
                int(size) if size.isdigit() else known.get(size) for size in note.sizes.split()
            ]
            array = checked(arrays, prefix + name, note.kinds, *(shape or [1]))
            known |= zip(note.sizes.split(), array.shape, strict=False)
            others[name] = array if shape else array[0].item()
        return cls(**others)


def check_ends(ends: npt.NDArray[np.int64], length: int) -> None:
    """Raise a ValueError unless these are the ends of rows that fill an array of this length."""
    if (np.diff(ends, prepend=0, append=length) < 0).any() or (len(ends) and ends[-1] != length):
        raise ValueError(f"its ends do not rise to {length}")


def check_file(folder: Path, file: IndexFile) -> None:
    """Raise an IndexFolderError that names the file unless its bytes are those written."""
    path = folder / file.name
    with naming_damage(path), open(path, "rb") as opened:
        if file_digest(opened, "sha256").hexdigest() != file.sha256:
            raise ValueError("its SHA-256 is not the one recorded")


@dataclass(frozen=True)
class Strings(Stored):
    """Many short strings in one array."""

    ends: Annotated[npt.NDArray[np.int64], InFile("i8", "texts")]
    data: Annotated[npt.NDArray[np.uint8], InFile("u1", "bytes")]

    def __post_init__(self) -> None:
        check_ends(self.ends, len(self.data))

    @classmethod
    def of(cls, strings: list[str] | list[bytes]) -> Strings:
        """An array made from strings or from bytes."""
        parts = [part.encode() if isinstance(part, str) else part for part in strings]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return cls(ends, np.frombuffer(b"".join(parts), np.uint8))

    def bytes_at(self, at: int) -> bytes:
        """One string as bytes."""
        begin = int(self.ends[at - 1]) if at else 0
        return self.data[begin : int(self.ends[at])].tobytes()

    def __getitem__(self, at: int) -> str:
        return self.bytes_at(at).decode("utf-8", "replace")

    def all(self) -> list[str]:
        """All strings."""
        data, ends = self.data.tobytes(), [0, *self.ends.tolist()]
        return [data[slice(*part)].decode("utf-8", "replace") for part in pairwise(ends)]
