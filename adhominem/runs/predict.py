"""Answers for a whole file of pairs, or for PAN's problem folders: PAN's main job.

The pairs are streamed: memory does not grow with the file. Each distinct text is encoded once, in
worker processes if asked for. Answers go to OUTPUT.partial as they are found; a run that was
killed reads them back, drops a half-written last line, and goes on behind them. At the end the
file is moved to its name.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import EmptyTextError, InputError, OptionError
from adhominem.models.folder import member_folders
from adhominem.runs.workers import Encode, encoder
from adhominem.scoring.probability import probability_same_author, without_weak_answers
from adhominem.text.document import Document
from adhominem.text.files import write_whole
from adhominem.text.pan import Pair, Problem
from adhominem.verifier import Verifier, load

FloatArray = npt.NDArray[np.float64]
Case = Pair | Problem

_CASES_AT_ONCE = 256
_MOST_KEPT = 300_000  # LEVs, the latest ones: some 200 MB at 60 numbers each


@dataclass(frozen=True)
class Predicted:
    """What a run came to."""

    answers: int  # in the file now
    scored: int  # by this run
    encoded: int  # distinct texts that this run encoded
    output: Path


def predict(
    model: str | Path,
    cases: Iterable[Case | InputError],
    output: str | Path,
    *,
    prior_same_author: float = 0.5,
    delta: float = 0.0,
    jobs: int = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
) -> Predicted:
    """Write an answer for each pair or problem: `id`, `value`, `log_bayes_factor`.

    Answers within 0.5 ± `delta` become 0.5. What cannot be read or scored goes to `skipped`;
    without it, the first such thing is raised.
    """
    output = Path(output)
    if output.exists():
        raise OptionError(f"{output} exists already; remove it, or choose another name")
    settings = {
        "model": _model_hash(Path(model)),
        "prior_same_author": prior_same_author,
        "delta": delta,
    }
    partial = _Partial(output, settings)
    scored = 0
    verifier = load(model, device=device)
    with encoder(model, verifier, jobs, device) as encode:
        levs = _Levs(encode)
        for some in _batches(_todo(cases, partial, skipped)):
            good, sides = levs.of(some, skipped)
            factors = _scores(verifier, sides)
            values = without_weak_answers(
                probability_same_author(factors, prior_same_author), delta
            )
            partial.add(good, values, factors)
            scored += len(good)
    partial.finish()
    return Predicted(partial.answers, scored, levs.encoded, output)


def _todo(
    cases: Iterable[Case | InputError],
    partial: _Partial,
    skipped: list[InputError] | None,
) -> Iterator[Case]:
    """The cases that have no answer yet. Answers stand in the order of the cases."""
    answered = partial.ids()
    next_answered = next(answered, None)
    for case in cases:
        if isinstance(case, InputError):
            _skip(case, skipped)
        elif next_answered is not None and case.id == next_answered:
            next_answered = next(answered, None)
        else:  # behind the answers; or among them, if it could not be scored the last time either
            yield case


def _batches(cases: Iterator[Case]) -> Iterator[list[Case]]:
    while some := list(islice(cases, _CASES_AT_ONCE)):
        yield some


def _skip(error: InputError, skipped: list[InputError] | None) -> None:
    if skipped is None:
        raise error
    skipped.append(error)


def _scores(verifier: Verifier, sides: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """(cases,): pairs all at once, problems with several known texts one by one."""
    if all(len(first) == len(second) == 1 for first, second in sides):
        size = verifier.lev_size
        first, second = (
            np.concatenate([np.zeros((0, size)), *(pair[side] for pair in sides)])
            for side in (0, 1)
        )
        return verifier.score(first, second)
    return np.array([verifier.score_sets(first, second) for first, second in sides])


def _documents(case: Case) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    if isinstance(case, Pair):
        return (case.first,), (case.second,)
    return case.known, (case.questioned,)


class _Levs:
    """The LEVs of texts, each encoded once as long as it is remembered."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._kept: OrderedDict[bytes, FloatArray | EmptyTextError] = OrderedDict()
        self.encoded = 0

    def of(
        self, cases: Sequence[Case], skipped: list[InputError] | None
    ) -> tuple[list[Case], list[tuple[FloatArray, FloatArray]]]:
        """The cases whose texts all could be encoded, and the LEVs of their two sides."""
        keys = {}
        new: dict[bytes, Document] = {}
        for case in cases:
            for side in _documents(case):
                for document in side:
                    key = _key(document)
                    keys[id(document)] = key
                    if key in self._kept:
                        self._kept.move_to_end(key)
                    else:
                        new[key] = document
        for key, lev in zip(new, self._encode(list(new.values())), strict=True):
            self._kept[key] = lev
        self.encoded += len(new)
        good, sides = [], []
        for case in cases:
            found = [[self._kept[keys[id(each)]] for each in side] for side in _documents(case)]
            wrong = [lev for side in found for lev in side if isinstance(lev, EmptyTextError)]
            if wrong:
                _skip(EmptyTextError(f"the case '{case.id}': {wrong[0].problem}"), skipped)
                continue
            good.append(case)
            first, second = (np.stack([np.asarray(lev) for lev in side]) for side in found)
            sides.append((first, second))
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return good, sides


def _key(document: Document) -> bytes:
    text = f"{document.topic}\0{document.text}".encode()
    return blake2b(text, digest_size=16).digest()


class _Partial:
    """The answers so far, on disk."""

    def __init__(self, output: Path, settings: dict[str, Any]) -> None:
        self._output = output
        self._path = output.with_name(f"{output.name}.partial")
        self._settings_path = output.with_name(f"{output.name}.settings.json")
        self.answers = 0
        output.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            self._go_on(settings)
        else:
            with write_whole(self._settings_path) as file:
                json.dump(settings, file)
            self._path.touch()
        self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115

    def _go_on(self, settings: dict[str, Any]) -> None:
        """Read back what a run that was stopped has found; half a line at the end is dropped."""
        try:
            before = json.loads(self._settings_path.read_text("utf-8"))
        except (OSError, ValueError):
            before = None
        if before != settings:
            raise OptionError(
                f"{self._path} was begun with another model or other settings; go on with the "
                "same ones, or remove it"
            )
        whole = 0
        with open(self._path, "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                try:
                    json.loads(line)["id"]
                except (ValueError, KeyError, TypeError):
                    break
                whole += len(line)
                self.answers += 1
        os.truncate(self._path, whole)

    def ids(self) -> Iterator[str]:
        """Of the answers that were there when this run began."""
        before = self.answers
        with open(self._path, encoding="utf-8") as file:
            for line in islice(file, before):
                yield str(json.loads(line)["id"])

    def add(self, cases: Sequence[Case], values: FloatArray, factors: FloatArray) -> None:
        """Some more answers, on disk when this returns."""
        for case, value, factor in zip(cases, values.tolist(), factors.tolist(), strict=True):
            row = {"id": case.id, "value": value, "log_bayes_factor": factor}
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self.answers += 1
        self._file.flush()

    def finish(self) -> None:
        """All is found: the file gets its name."""
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._path, self._output)
        self._settings_path.unlink(missing_ok=True)


def _model_hash(folder: Path) -> str:
    """Of all that the answers depend on."""
    digest = sha256()
    for member in member_folders(folder):
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            digest.update((member / name).read_bytes())
    for path in (folder / "calibration.json",):
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()
