"""Answers for a whole file of pairs, or for PAN's problem folders: PAN's main job.

The pairs are streamed: but for what tells repeated texts of a population, memory does not grow with
the file. Each distinct text is encoded once, as long as it is remembered, in worker processes if
asked for. Answers go to OUTPUT.partial as they are found; a run that was
killed reads them back, drops a half-written last line, and goes on behind them. At the end the
file is moved to its name.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.cautions import Caution, cautions_of_many
from adhominem.errors import InputError, OptionError
from adhominem.runs.population import read_population
from adhominem.runs.workers import Encode, Lev, encoder
from adhominem.scoring.population import Population
from adhominem.scoring.probability import probability_same_author, without_weak_answers
from adhominem.text.document import Document
from adhominem.text.files import COMPRESSIONS
from adhominem.text.pan import Pair, Problem
from adhominem.text.readers import stop_or_skip
from adhominem.text.writing import write_whole
from adhominem.verifier import load

FloatArray = npt.NDArray[np.float64]
Levs = npt.NDArray[np.float32]
Case = Pair | Problem

_CASES_AT_ONCE = 256
_MOST_BYTES = 400_000_000  # of LEVs that are kept, the latest ones


@dataclass(frozen=True)
class Predicted:
    """What a run came to."""

    answers: int  # in the file now
    scored: int  # by this run
    encoded: int  # distinct texts that this run encoded
    output: Path
    calibrated: bool
    population_texts: int  # 0: no population was used
    companions: bool  # whether texts could draw on them
    warnings: tuple[Caution, ...]  # of the model and of the population


def predict(
    model: str | Path,
    cases: Iterable[Case | InputError],
    output: str | Path,
    *,
    population: str | Path | None = None,
    companions: bool = False,
    prior_same_author: float = 0.5,
    delta: float = 0.0,
    jobs: int = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
) -> Predicted:
    """Write an answer for each pair or problem: `id`, `value`, `log_bayes_factor`.

    `population` is where the texts of a relevant population lie: it may be the pairs' own file, and
    then, and only then, texts should draw on their `companions` in it. They can if the model is
    calibrated for it, and if there are neither too few texts nor too many.
    Answers within 0.5 ± `delta` become 0.5. What cannot be read or scored goes to `skipped`;
    without it, the first such thing is raised.
    """
    output = Path(output)
    if output.exists():
        raise OptionError(f"{output} exists already; remove it, or choose another name")
    if output.suffix.lower() in COMPRESSIONS:
        raise OptionError(f"answers are not packed; expected a name like {output.stem}")
    verifier = load(model, device=device)
    with ExitStack() as stack:
        levs = _Levs(stack.enter_context(encoder(model, verifier, jobs, device)))
        knows_companions = companions and verifier.scales.companions is not None
        relevant = None
        if population is not None:
            unread = None if skipped is None else stack.enter_context(_listed_once(skipped))
            relevant = read_population(
                population,
                levs.encode,
                verifier=verifier,
                companions=knows_companions,
                skipped=unread,
            )
        settings = {
            "model": verifier.sha256,
            "prior_same_author": prior_same_author,
            "delta": delta,
            "population": None if relevant is None else _print_of(relevant),
            "companions": relevant is not None and relevant.companions is not None,
        }
        calibrated = verifier.scales.of(relevant).calibration is not None
        partial = stack.enter_context(closing(_Partial(output, settings)))
        before = partial.answers
        todo: Iterator[Case] = stop_or_skip(cases, skipped)
        for some in _batches(_passed_over(todo, partial)):
            if levs.of(some, skipped)[0]:  # this one can be answered: why has it no answer?
                raise partial.of_other_input()
        for some in _batches(todo):
            good, sides = levs.of(some, skipped)
            first, second = [side for side, _ in sides], [side for _, side in sides]
            factors = verifier.score(first, second, relevant)
            values = without_weak_answers(
                probability_same_author(factors, prior_same_author), delta
            )
            partial.add(good, values, factors)
        partial.finish()
    return Predicted(
        partial.answers,
        partial.answers - before,
        levs.encoded,
        output,
        calibrated,
        0 if relevant is None else relevant.texts,
        relevant is not None and relevant.companions is not None,
        tuple(cautions_of_many(calibrated, relevant, verifier.kind_names)),
    )


def _passed_over(cases: Iterator[Case], partial: _Partial) -> Iterator[Case]:
    """The cases among the answered ones that have no answer: they could not be scored."""
    for answered in partial.ids():
        for case in cases:
            if case.id == answered:
                break
            yield case
        else:
            raise partial.of_other_input()


def _batches(cases: Iterator[Case]) -> Iterator[list[Case]]:
    while some := list(islice(cases, _CASES_AT_ONCE)):
        yield some


@contextmanager
def _listed_once(skipped: list[InputError]) -> Iterator[list[InputError]]:
    """For what cannot be read of a population, which may be the input itself."""
    unread: list[InputError] = []
    try:
        yield unread
    finally:
        listed = {str(error) for error in skipped}
        skipped += [error for error in unread if str(error) not in listed]


def _print_of(population: Population) -> str:
    """Tells a population from others: its mean, but for what the last digits depend on."""
    return sha256(np.float16(population.lev_mean).tobytes()).hexdigest()


def _documents(case: Case) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    if isinstance(case, Pair):
        return (case.first,), (case.second,)
    return case.known, (case.questioned,)


class _Levs:
    """The LEVs of texts, each encoded once as long as it is remembered."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._kept: OrderedDict[bytes, Lev | InputError] = OrderedDict()
        self.encoded = 0

    def encode(self, documents: Sequence[Document]) -> Iterator[Lev | InputError]:
        """Of each document its LEV, or why it has none."""
        keys = [_key(document) for document in documents]
        new = {
            key: document
            for key, document in zip(keys, documents, strict=True)
            if key not in self._kept
        }
        for key, lev in zip(new, self._encode(list(new.values())), strict=True):
            # As the network gave it: half the memory, and no hold on the batch it came in.
            self._kept[key] = lev if isinstance(lev, InputError) else lev.astype(np.float32)
        self.encoded += len(new)
        found = [self._kept[key] for key in keys]
        for key in keys:
            self._kept.move_to_end(key)
        size = next((lev.nbytes for lev in found if not isinstance(lev, InputError)), 1)
        while len(self._kept) * size > _MOST_BYTES:
            self._kept.popitem(last=False)
        return iter(found)

    def of(
        self, cases: Sequence[Case], skipped: list[InputError] | None
    ) -> tuple[list[Case], list[tuple[Levs, Levs]]]:
        """The cases whose texts all could be encoded, and the LEVs of their two sides."""
        documents = {id(each): each for case in cases for each in chain(*_documents(case))}
        levs = dict(zip(documents, self.encode(list(documents.values())), strict=True))
        good, sides = [], []
        for case in cases:
            found = [[levs[id(each)] for each in side] for side in _documents(case)]
            wrong = [
                lev.at(document.id)
                for document, lev in zip(chain(*_documents(case)), chain(*found), strict=True)
                if isinstance(lev, InputError)
            ]
            if wrong:
                if skipped is None:
                    raise wrong[0]
                skipped.append(wrong[0])
                continue
            good.append(case)
            first, second = (np.array(side, dtype=np.float32) for side in found)
            sides.append((first, second))
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
        if self._path.exists() and self._path.stat().st_size:
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
        """Some more answers; they outlive this process when this returns."""
        for case, value, factor in zip(cases, values.tolist(), factors.tolist(), strict=True):
            row = {"id": case.id, "value": _short(value), "log_bayes_factor": _short(factor)}
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self.answers += 1
        self._file.flush()

    def finish(self) -> None:
        """All is found: the file gets its name. One without a single answer is no file."""
        os.fsync(self._file.fileno())
        self.close()
        if self.answers:
            os.replace(self._path, self._output)
        else:
            self._path.unlink()
        self._settings_path.unlink(missing_ok=True)
        if not self.answers:
            raise InputError("there is no pair or problem that could be answered")

    def close(self) -> None:
        """Let go of the file; what is in it stays."""
        self._file.close()

    def of_other_input(self) -> OptionError:
        """What to say if the answers so far are not those of the cases at hand."""
        return OptionError(
            f"{self._path} holds answers for another input; go on with the same one, or remove it"
        )


def _short(number: float) -> float:
    """With ten digits: the last ones depend on what else was computed with it."""
    return float(f"{number:.10g}")
