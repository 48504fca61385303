"""Reading a model's folder: each file once, within bounds, so that hashes are of what was read.

A folder may come from anybody. All errors in it become ModelErrors that name the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray
from adhominem.errors import ModelError, OptionError
from adhominem.model.layout import CONFIG, GENERATION, LANGUAGES, LAYOUT, VALIDATION, ModelFile
from adhominem.records import parsed_files, parsed_json
from adhominem.text.files import path_of, read_files

# The errors that damaged contents cause.
DAMAGE = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, MemoryError, OptionError),
)
_LONGEST = 300  # characters of an error, which may quote the file
_LONGEST_NAME = 100
_MOST_MEMBERS = 100
_TYPES = {
    "BOOL": np.bool_,
    "I8": np.int8,
    "U16": np.uint16,
    "I32": np.int32,
    "F16": np.float16,
    "F32": np.float32,
}
_FETCH = "fetch or train it again"

Arrays = dict[str, npt.NDArray[Any]]
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]  # type and shape of each array


class ModelFiles:
    """The files of a model's folder, or of a member's in it, as first read."""

    def __init__(self, folder: Path, whole: ModelFiles | None = None) -> None:
        """Prepare reading; `whole` are the files of the ensemble that this member belongs to."""
        self.folder = folder
        self._root = self if whole is None else whole
        self._prefix = "" if whole is None else f"{folder.name}/"
        self.generation: dict[str, str] = {}  # contents of generation.json, once files are read
        self._contents: dict[str, bytes | OSError | None] = {}
        self._parsed: dict[str, Any] = {}  # JSON files, or what is wrong with them

    @property
    def is_inside(self) -> bool:
        """Whether this is a member of an ensemble."""
        return self._root is not self

    @classmethod
    def at(cls, folder: str | Path | ModelFiles) -> ModelFiles:
        """The files of a folder; ModelFiles are returned unchanged."""
        return folder if isinstance(folder, ModelFiles) else cls(path_of(folder))

    def fetch(self, names: Mapping[str, int]) -> None:
        """Read files that are not yet read, up to their limits in bytes."""
        root = self._root
        wanted = {self._prefix + name: largest for name, largest in names.items()}
        wanted = {name: wanted[name] for name in wanted if name not in root._contents}
        if not wanted:
            return
        read: dict[str, bytes | OSError | None] = {}
        while not read or root.generation != read_generation(root.folder):  # changed meanwhile
            named = root.generation = read_generation(root.folder)
            asides = {aside(name, named[name]): name for name in wanted if name in named}
            # First these: files set aside soon move to their place.
            moved = read_files(root.folder, {place: wanted[name] for place, name in asides.items()})
            read = dict.fromkeys(wanted) | read_files(root.folder, wanted)
            read |= {asides[place]: data for place, data in moved.items()}
        root._contents |= read
        root._parsed |= parsed_files(
            {
                name: data
                for name, data in read.items()
                if name.endswith(".json") and isinstance(data, bytes)
            }
        )

    def _contents_of(self, file: ModelFile, name: str) -> bytes | OSError | None:
        name = name or file.name
        self.fetch({name: file.largest})
        return self._root._contents[self._prefix + name]

    def has(self, file: ModelFile, name: str = "") -> bool:
        """Whether there is a file of this name, even if damaged."""
        return self._contents_of(file, name) is not None

    def read(self, file: ModelFile, name: str = "") -> bytes:
        """The contents of a file, with its `name` if the layout only has a pattern."""
        contents = self._contents_of(file, name)
        if contents is None:
            raise FileNotFoundError(f"there is no {name or file.name} in it")
        if isinstance(contents, OSError):
            raise contents
        return contents

    def json(self, file: ModelFile) -> Any:
        """The contents of a JSON file."""
        self.read(file)
        parsed = self._root._parsed[self._prefix + file.name]
        if isinstance(parsed, Exception):
            raise parsed
        return parsed

    def tensors(self, file: ModelFile, name: str = "") -> tuple[Arrays, Mapping[str, str]]:
        """The arrays and metadata of a safetensors file; ValueError if it is damaged."""
        return read_tensors(self.read(file, name))

    def sha256(self, file: ModelFile, name: str = "") -> str:
        """The SHA-256 of a file."""
        return sha256(self.read(file, name)).hexdigest()

    def members(self, names: object) -> list[ModelFiles]:
        """The files of each member of an ensemble, whose folders must be in this one."""
        if not isinstance(names, list) or not 0 < len(names) <= _MOST_MEMBERS:
            raise ValueError(f"no list of 1 to {_MOST_MEMBERS} members")
        place = os.path.realpath(self.folder)
        for name in names:
            if not isinstance(name, str) or not is_plain(name):
                raise ValueError(
                    f"a member named {name!r}; expected the name of a folder in this one"
                )
            if os.path.realpath(self.folder / name) != os.path.join(place, name):
                raise ValueError(f"the member {name} is a link")
        if len(set(names)) < len(names):
            raise ValueError("a member is named twice")
        return [ModelFiles(self.folder / name, self._root) for name in names]

    def language(self, name: str, hashes: Mapping[str, str]) -> ModelFiles:
        """The files of a language's folder in this one; ValueError if their SHA-256 are others."""
        (place,) = self.members([name])
        files = ModelFiles(place.folder)
        for file in LAYOUT:
            if file.name in hashes and files.sha256(file) != hashes[file.name]:
                raise ValueError(f"{name}/{file.name} is not the file that {CONFIG.name} names")
        return files

    def _is_of_languages(self) -> bool:
        """Whether there are folders that are only read when a text of their language comes."""
        with suppress(*DAMAGE):  # reported by whatever needs it
            return bool(self.json(CONFIG)["architecture"] == LANGUAGES)
        return False

    def fetch_hashed(self) -> None:
        """Read all files that a model's answers depend on, as they are at one moment."""
        hashed = [file for file in LAYOUT if file.hashed]
        names = {file.name: file.largest for file in hashed if file is not VALIDATION}
        folders = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if fnmatch(entry.name, VALIDATION.name):
                    names[entry.name] = VALIDATION.largest
                elif entry.is_dir(follow_symlinks=False) and is_plain(entry.name):
                    folders.append(entry.name)
        if self._is_of_languages():
            folders = []
        for name in sorted(folders)[:_MOST_MEMBERS]:
            names |= {f"{name}/{f.name}": f.largest for f in hashed if not f.top_level}
        self.fetch(names)


def is_plain(name: str) -> bool:
    """Whether this is the plain name of a file or folder, not a path to elsewhere."""
    return (
        0 < len(name) <= _LONGEST_NAME
        and name.isprintable()
        and not name.startswith(".")
        and not set(name) & set("/\\:")
    )


def read_generation(folder: Path) -> dict[str, str]:
    """The SHA-256, by name, of each file that was replaced since the model was made."""
    data = read_files(folder, {GENERATION.name: GENERATION.largest}).get(GENERATION.name)
    with reading(folder, GENERATION.name):
        if isinstance(data, OSError):
            raise data
        record: dict[str, str] = parsed_json(data)["files"] if data else {}
        for name, digest in record.items():
            if not all(map(is_plain, name.split("/", 1))) or not is_sha256(digest):
                raise ValueError(f"not a file and its SHA-256: {name[:_LONGEST_NAME]!r}")
        return record


def is_sha256(digest: object) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) is not None


def aside(name: str, digest: str) -> str:
    """The name under which a file is stored until generation.json lists it."""
    return f"{name.replace('/', '.')}.{digest[:16]}.new"


@contextmanager
def reading(folder: Path, name: str, remedy: str = _FETCH) -> Iterator[None]:
    """A context that turns errors about a file's contents into ModelErrors with a remedy."""
    try:
        yield
    except DAMAGE as error:
        message = str(error)
        # A KeyError's message needs its name.
        speaks = isinstance(error, OSError | OptionError | ValueError) and message
        text = message if speaks else repr(error)
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        raise damaged(folder, f"{name}: {text}", remedy) from None


def damaged(folder: Path, why: str, remedy: str = _FETCH) -> ModelError:
    """The ModelError for a folder that cannot be used."""
    return ModelError(f"the model in {folder} is damaged ({why}); {remedy}")


def read_tensors(data: bytes) -> tuple[Arrays, Mapping[str, str]]:
    """The arrays and metadata of a safetensors file; ValueError if it is damaged.

    Floats must be finite.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: Arrays = load(data)
    except (SafetensorError, KeyError) as error:  # KeyError: a type unknown to NumPy
        raise ValueError(f"it breaks off, or is not a safetensors file: {error}") from None
    for name, array in arrays.items():
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise ValueError(f"{name} has values that are not finite numbers")
        if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
            raise ValueError(f"{name} has values that are neither true nor false")
    length = int.from_bytes(data[:8], "little")
    return arrays, json.loads(data[8 : 8 + length]).get("__metadata__") or {}


def read_floats(arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, FloatArray]:
    """The numbers of these names, of 32 or 16 bits; ValueError if their shapes are others."""
    halves = {name for name, array in arrays.items() if array.dtype == np.float16}
    kinds = {name: "F16" if name in halves else "F32" for name in shapes}
    check_shapes(arrays, {name: (kinds[name], shape) for name, shape in shapes.items()})
    return {name: arrays[name].astype(np.float64) for name in shapes}


def check_shapes(arrays: Arrays, expected: Shapes) -> None:
    """Raise ValueError unless these arrays exist with their types and shapes."""
    for name, (dtype, shape) in expected.items():
        if name not in arrays:
            raise ValueError(f"there is no {name} in it")
        array = arrays[name]
        if array.shape != shape:
            raise ValueError(f"{name} is {array.shape}; the other files expect {shape}")
        if array.dtype != _TYPES[dtype]:
            expected_type = np.dtype(_TYPES[dtype])
            raise ValueError(f"{name} is of the type {array.dtype}; expected {expected_type}")
