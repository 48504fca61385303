"""Everything that AdHominem raises or warns about on purpose: one tree.

A message says what was wrong, what was expected and what to do. Errors about
input carry the file and, where there is one, the line, so that a batch can
skip the row, go on, and list at the end what it skipped.
"""

from __future__ import annotations

import json
from importlib import metadata
from os import PathLike, fspath
from pathlib import Path


class AdHominemError(Exception):
    """The root: catch this to catch whatever AdHominem raises on purpose."""


class OptionError(AdHominemError):
    """A setting has a value that cannot work."""


class RecordError(OptionError, ValueError):
    """JSON does not hold what a record is made of; the message begins with the path to it."""


class MissingExtraError(AdHominemError):
    """A library that belongs to an optional extra is not installed."""

    def __init__(self, library: str, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the library '{library}', which is not installed. "
            f"Install it with: {how_to_install(extra)}"
        )


def how_to_install(extra: str) -> str:
    """The command that adds an extra to this installation, whether a clone or a package."""
    if (Path(__file__).parents[1] / "pyproject.toml").is_file():
        return f"pip install --editable '.[{extra}]' (in your clone of the repository)"
    try:
        origin = metadata.distribution("adhominem").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        origin = None
    if origin and "dir_info" in json.loads(origin):  # `pip install .`, of a folder
        return f"pip install '.[{extra}]' (in the folder that AdHominem was installed from)"
    return f"pip install 'adhominem[{extra}]'"


class LockedError(AdHominemError):
    """Another process is writing there; the message says which one."""


class CorpusError(AdHominemError):
    """A prepared corpus is missing, damaged, or from a newer version."""


class IndexFolderError(AdHominemError):
    """An index of texts is missing, damaged, or was made with another model or another version."""


class ModelError(AdHominemError):
    """A model folder is missing, damaged, or from a newer version."""


class CheckpointError(AdHominemError):
    """A checkpoint is damaged, or belongs to another run."""


class DivergedError(AdHominemError):
    """Training has left the range of numbers; the last checkpoint is from before that."""


class InputError(AdHominemError):
    """One piece of input cannot be used. `path` and `line` say which one."""

    def __init__(
        self,
        problem: str,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
    ) -> None:
        self.problem = problem
        self.path = None if path is None else fspath(path)
        self.line = line
        super().__init__(problem, path, line)

    def __str__(self) -> str:
        if self.path is None:
            return self.problem
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.problem}"

    def at(self, path: str | PathLike[str] | None, line: int | None = None) -> InputError:
        """This error with the place where it happened."""
        return type(self)(self.problem, path, line)


class NotFoundError(InputError):
    """There is no such file or folder, or nothing readable in it."""


class EmptyTextError(InputError):
    """A text without a single visible character."""


NO_WORD = "the text has no word in it; expected a text with words, or leave it out"


class TokenizerError(InputError):
    """A text that the tokenizer's engine gives up on."""


class BinaryFileError(InputError):
    """Bytes that are not text."""


class TextEncodingError(InputError):
    """Bytes that are text in no encoding tried, or characters that no text may hold."""


class DamagedFileError(InputError):
    """A compressed or office file that breaks off or does not unpack."""


class TooLargeError(InputError):
    """A text, a line or a file that is larger, or takes more time, than anything honest does."""


class BrokenLineError(InputError):
    """A line that is not the JSON (or the truth line) it should be."""


class MissingFieldError(InputError):
    """A row lacks a field, or the field has the wrong type."""


class MissingAuthorError(InputError):
    """A document whose author is not known, where one is needed."""


class AnswersError(InputError):
    """Answers that do not fit the truth: missing, double, unknown, or no probabilities."""


class AdHominemWarning(UserWarning):
    """The root of the warnings."""


class GuessedEncodingWarning(AdHominemWarning):
    """A file is not UTF-8; it was read in the encoding that its bytes show."""


class StrayFilesWarning(AdHominemWarning):
    """A folder holds texts that its layout has no place for."""
