"""The errors and warnings that AdHominem raises on purpose, in one tree.

A message says what was wrong, what was expected and what to do. Errors about
input carry the file and, if there is one, the line, so that a batch can skip
the row, continue, and list skipped rows at the end.
"""

from __future__ import annotations

import json
from importlib import metadata
from os import PathLike, fspath
from pathlib import Path


class AdHominemError(Exception):
    """The root of all errors that AdHominem raises on purpose."""


class OptionError(AdHominemError):
    """A setting has a value that cannot work."""


class RecordError(OptionError, ValueError):
    """JSON does not have the fields of a record; the message begins with the path to it."""


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
    """Another process is writing the output; the message names it."""


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
    """One piece of input cannot be used; `path` and `line` identify it."""

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
    """A file or folder does not exist, or contains nothing readable."""


class EmptyTextError(InputError):
    """A text without a single visible character."""


NO_WORD = "the text has no word in it; expected a text with words, or leave it out"


class TokenizerError(InputError):
    """A text that the tokenizer cannot process."""


class BinaryFileError(InputError):
    """Bytes that are not text."""


class TextEncodingError(InputError):
    """Bytes that cannot be decoded, or characters that are invalid in a text."""


class DamagedFileError(InputError):
    """A compressed or office file that is truncated or damaged."""


class TooLargeError(InputError):
    """A text, a line or a file that exceeds the limits on size or time."""


class BrokenLineError(InputError):
    """A line that is not valid JSON (or not a valid line of truth)."""


class MissingFieldError(InputError):
    """A row lacks a field, or the field has the wrong type."""


class MissingAuthorError(InputError):
    """A document without an author where one is required."""


class AnswersError(InputError):
    """Answers that do not fit the truth: missing, duplicate, unknown, or not probabilities."""


class AdHominemWarning(UserWarning):
    """The root of the warnings."""


class GuessedEncodingWarning(AdHominemWarning):
    """A file is not UTF-8; its encoding was guessed from its bytes."""


class StrayFilesWarning(AdHominemWarning):
    """A folder contains texts that do not fit its layout."""
