"""The answers of a run so far, on disk, for the next run to continue with.

OUTPUT.partial holds them in the order in which they were computed. OUTPUT.digests has the settings
that they depend on in its first line, and then, for each answer, the digest of its id and texts. An
answer counts once its digest is written. A run that continues uses the answers of exactly those
cases that are unchanged; at the end the answers are put into the order of the input.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from adhominem.errors import InputError, OptionError
from adhominem.pairs.passages import Hashes, TakenOut, without_shared
from adhominem.text.files import Document, check_not_read
from adhominem.text.pan import Pair, PanProblem
from adhominem.text.writing import lock_of, locked, write_whole

Case = Pair | PanProblem

_FORMAT = 5  # of both files, and of what is compared
_DIGEST_BYTES = 16


def documents_of(case: Case) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """The texts of the two sides."""
    if isinstance(case, Pair):
        return (case.first,), (case.second,)
    return case.known, (case.questioned,)


def without_shared_passages(case: Case, recurring: Hashes | None) -> tuple[Case, TakenOut]:
    """A case without passages that its sides share, and what was removed for that."""
    (first, second), taken_out = without_shared(documents_of(case), recurring)
    if not taken_out:
        return case, ()
    words = max(words for _, words in taken_out)
    if isinstance(case, Pair):
        return replace(case, first=first[0], second=second[0]), [(case.id, words)]
    return replace(case, known=tuple(first), questioned=second[0]), [(case.id, words)]


def digest_of(case: Case) -> bytes:
    """The digest that identifies a case by its id, its texts and topics, and their order."""
    sides = [[(text.topic, text.text) for text in side] for side in documents_of(case)]
    return blake2b(json.dumps([case.id, sides]).encode("ascii"), digest_size=_DIGEST_BYTES).digest()


class PartialAnswers:
    """Answers that are added batch by batch, and persist beyond this process."""

    def __init__(
        self, output: Path, settings: Mapping[str, Any], score: str = "log_bayes_factor"
    ) -> None:
        """`score` names the number that a line has beside the value."""
        self._output, self._score = output, score
        self._path, self._digests_path = _files_of(output)
        for path in (output, self._path, self._digests_path):
            check_not_read(path)
        head = json.dumps({"format": _FORMAT, **settings}) + "\n"
        self._rows: dict[bytes, int] = {}  # of the answers that were there: digests, rows
        self._open: set[int] = set()  # the rows in which no statement is made
        self.without_statement: list[str] = []  # the ids of such answers to the input so far
        self._order = array("Q")  # of the input's answers, the rows in which they stand
        output.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size:
            self._go_on(head)
        else:
            self._digests_path.write_text(head, "ascii")
            self._path.write_bytes(b"")
        self._before = self._written = len(self._rows)
        self._recognised = not self._before
        self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115
        self._digests = open(self._digests_path, "a", encoding="ascii")  # noqa: SIM115

    @property
    def answers(self) -> int:
        """How many cases of the input have an answer so far."""
        return len(self._order)

    @property
    def scored(self) -> int:
        """How many answers this run has computed."""
        return self._written - self._before

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._rows

    def _go_on(self, head: str) -> None:
        """Read back the answers of a stopped run; an incomplete batch at the end is dropped."""
        digests: list[bytes] = []
        with suppress(FileNotFoundError):
            digests = self._digests_path.read_bytes().splitlines(keepends=True)
        if digests[:1] != [head.encode("ascii")]:
            raise OptionError(
                f"{self._path} was started with another model or other settings (which include "
                "the texts of a population); continue with the same ones, or remove it"
            )
        ends = [0, len(head)]
        with open(self._path, "rb") as file:
            for lines in zip(file, digests[1:], strict=False):
                answer, digest = _read(lines[0]), _read(lines[1])
                if not isinstance(answer, dict) or "id" not in answer or digest is None:
                    break
                if "states" in answer:
                    self._open.add(len(self._rows))
                self._rows[bytes.fromhex(digest)] = len(self._rows)
                ends = [end + len(line) for end, line in zip(ends, lines, strict=True)]
        os.truncate(self._path, ends[0])
        os.truncate(self._digests_path, ends[1])

    def recognise(self, cases: Iterable[Case]) -> None:
        """Raise an OptionError if no answer here is to any of the first cases of the input."""
        ids = {case.id for case in cases}
        if self._recognised or not ids:
            return
        with open(self._path, encoding="utf-8") as file:
            if not any(json.loads(line)["id"] in ids for line in file):
                raise OptionError(
                    f"{self._path} holds answers for another input; continue with the same one, or "
                    "remove it"
                )
        self._recognised = True

    def add(
        self,
        cases: Iterable[tuple[Case, bytes]],
        scored: Mapping[str, tuple[float, float] | None],
    ) -> None:
        """Add the next cases of the input, with the values and scores by id of newly scored ones.

        None stands for a case on which no statement is made. When this returns, the answers are
        safely on disk.
        """
        lines: list[str] = []
        digests: list[str] = []
        for case, digest in cases:
            row = self._rows.get(digest)
            if row is None and case.id in scored:
                row = self._written + len(lines)
                lines.append(_line(case.id, scored[case.id], self._score))
                digests.append(f'"{digest.hex()}"\n')
                if scored[case.id] is None:
                    self._open.add(row)
            if row is not None:
                self._order.append(row)
                if row in self._open:
                    self.without_statement.append(case.id)
        for file, added in ((self._file, lines), (self._digests, digests)):
            file.write("".join(added))
            file.flush()
        self._written += len(lines)

    def finish(self) -> None:
        """Give the file its name; raises if there is not a single answer."""
        os.fsync(self._file.fileno())
        self.close()
        nothing = "there is no pair or problem that could be answered"
        if self._before and not self._order:
            raise InputError(
                f"{nothing}; {self._path}, with the answers of an earlier run, is kept"
            )
        if self._order and self._order == array("Q", range(self._written)):
            os.replace(self._path, self._output)
        elif self._order:  # some cases were changed, added or taken out in between
            with write_whole(self._output) as file:
                file.writelines(self._in_order())
        for path in _files_of(self._output):
            path.unlink(missing_ok=True)
        if not self._order:
            raise InputError(f"{nothing}; expected one or more")

    def _in_order(self) -> Iterator[str]:
        begins = array("Q", [0])
        with open(self._path, "rb") as file:
            for line in file:
                begins.append(begins[-1] + len(line))
            for row in self._order:
                file.seek(begins[row])
                yield file.readline().decode("utf-8")

    def close(self) -> None:
        """Close the files; their contents stay."""
        self._file.close()
        self._digests.close()


def remove_rest(output: Path) -> None:
    """Remove what a run that was killed at the very end has left beside its answers."""
    partial, digests = _files_of(output)
    if not partial.exists() and (digests.exists() or lock_of(output).exists()):
        with locked(output):
            digests.unlink(missing_ok=True)


def _files_of(output: Path) -> tuple[Path, Path]:
    """The paths of the answers and of their digests."""
    return output.with_name(f"{output.name}.partial"), output.with_name(f"{output.name}.digests")


def _read(line: bytes) -> Any:
    """What a line of JSON holds; None if it is incomplete."""
    with suppress(ValueError):
        return json.loads(line) if line.endswith(b"\n") else None


def _line(id: str, answer: tuple[float, float] | None, score: str) -> str:
    """An answer with ten digits: the last ones depend on what else was computed with it."""
    value, number = (float(f"{number:.10g}") for number in answer or (0.5, 0.0))
    row: dict[str, Any] = {"id": id, "value": value, score: number}
    if answer is None:
        row["states"] = False
        if score == "distance":  # no evidence is a log Bayes factor of 0, but no distance
            row[score] = None
    return json.dumps(row, ensure_ascii=False) + "\n"
