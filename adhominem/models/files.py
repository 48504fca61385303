"""Reading a model's folder: each file within bounds, and hashed as it is read.

A folder may come from anybody. Whatever is wrong with it becomes a ModelError that names the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from os.path import join, realpath
from pathlib import Path
from typing import Any

import numpy.typing as npt

from adhominem.errors import ModelError, OptionError
from adhominem.models.layout import ModelFile
from adhominem.models.tensors import Check, read_tensors
from adhominem.strict_json import parsed_json
from adhominem.text.files import open_regular

# What damaged contents raise while they are read.
_DAMAGE = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, MemoryError, OptionError),
)
_LONGEST = 300  # characters of what an error says: it may quote the file
_LONGEST_NAME = 100

Arrays = dict[str, npt.NDArray[Any]]


class ModelFiles:
    """The files of one folder.

    It remembers the hash of each file, so that a file that is read twice is the same both times.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hashes: dict[str, str] = {}
        self._members: dict[str, ModelFiles] = {}

    @classmethod
    def at(cls, folder: str | Path | ModelFiles) -> ModelFiles:
        """Those of a folder; or as they are."""
        return folder if isinstance(folder, ModelFiles) else cls(Path(folder))

    def has(self, name: str) -> bool:
        """Whether there is anything of this name."""
        try:
            return (self.folder / name).exists()
        except OSError:  # it cannot be looked at: so it is there, and reading it says why
            return True

    def read(self, file: ModelFile, name: str = "") -> bytes:
        """The contents of a file; `name` where that of the file is a pattern."""
        with open_regular(self.folder / (name or file.name), file.largest)[0] as opened:
            data = opened.read(file.largest)
        self._remember(name or file.name, sha256(data).hexdigest())
        return data

    def json(self, file: ModelFile) -> Any:
        """What a JSON file says."""
        return parsed_json(self.read(file))

    def tensors(
        self, file: ModelFile, check: Check, name: str = ""
    ) -> tuple[Arrays, Mapping[str, str]]:
        """The arrays of a safetensors file, whose sizes are checked before they are read."""
        name = name or file.name
        opened, size = open_regular(self.folder / name, file.largest)
        digest = sha256()
        with opened:
            found = read_tensors(opened, size, check, digest.update)
        self._remember(name, digest.hexdigest())
        return found

    def sha256(self, file: ModelFile, name: str = "") -> str:
        """The hash of a file, which is read if it has not been yet."""
        name = name or file.name
        if name not in self._hashes:
            self.read(file, name)
        return self._hashes[name]

    def copy(self, file: ModelFile, folder: Path) -> None:
        """Put a file into another folder, if it is one and no larger than it may be."""
        opened, _ = open_regular(self.folder / file.name, file.largest)
        with opened, open(folder / file.name, "xb") as copied:
            shutil.copyfileobj(opened, copied)

    def _remember(self, name: str, found: str) -> None:
        if self._hashes.setdefault(name, found) != found:
            raise ModelError(
                f"{self.folder / name} was changed while the model was read; load it again"
            )

    def member(self, name: object) -> ModelFiles:
        """The files of a member, whose folder must lie in this one."""
        if not isinstance(name, str) or not is_plain(name):
            raise ValueError(f"a member named {name!r}; expected the name of a folder in this one")
        if name not in self._members:
            folder = self.folder / name
            if realpath(folder) != join(realpath(self.folder), name):
                raise ValueError(f"the member {name} is a link")
            self._members[name] = ModelFiles(folder)
        return self._members[name]


def is_plain(name: str) -> bool:
    """Whether this is the name of a file or a folder, and not the way to one elsewhere."""
    return (
        0 < len(name) <= _LONGEST_NAME
        and name.isprintable()
        and not name.startswith(".")
        and not set(name) & set("/\\:")
    )


@contextmanager
def reading(folder: Path, name: str, remedy: str = "fetch or train it again") -> Iterator[None]:
    """Whatever the contents of a file raise becomes a ModelError that says what to do."""
    try:
        yield
    except _DAMAGE as error:
        raise damaged(folder, f"{name}: {reason(error)}", remedy) from None


def reason(error: BaseException) -> str:
    """What an error says, in brief: a KeyError says next to nothing without its name."""
    said = str(error)
    told = said if isinstance(error, OSError | OptionError | ValueError) and said else repr(error)
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"


def damaged(folder: Path, why: str, remedy: str = "fetch or train it again") -> ModelError:
    """The error of a folder that cannot be used."""
    return ModelError(f"the model in {folder} is damaged ({why}); {remedy}")
