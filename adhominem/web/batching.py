"""One thread that owns a model, and encodes the texts of all waiting requests together.

An idle thread begins at once with whatever is there, and what arrives meanwhile is the next batch.
A round is short: all small jobs are in the next one, and one of the large jobs gets on by a few
texts beside them. The smaller or the older a job, the earlier it is due; where the queue is full,
the one that is due last is refused.

Nothing that a request does ends the thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

from adhominem.arrays import Levs
from adhominem.errors import InputError
from adhominem.jobs.workers import Encode, encoder
from adhominem.questions.question import cost
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.encoding import MOST_LEVS, Kept
from adhominem.verify.verification import ComparedSides
from adhominem.verify.verifier import Verifier
from adhominem.web.failures import BrokenOffError, Limits, busy, logger, place_of

Result = TypeVar("Result")
Progress = Callable[[float], None]

LONG_TEXT = _AT_ONCE = 200_000  # characters of all requests in a round: well below a second
_LITTLE = 4  # parts of a round: what is more than one of them is much to ask for
_A_SECOND = 200_000  # characters of work, about: by how much later the larger of two is due


# The two sides of a comparison, and the population that they are seen against.
Sides = tuple[Sequence[Exhibit], Sequence[Exhibit], Population | None]
# What is made of encoded texts by a verifier that knows their LEVs. If the job has `Sides`, their
# comparison is known as well.
Finish = Callable[[Verifier, Progress, ComparedSides | None], Result]


def no_progress(share: float) -> None:
    """Tell nobody how much of the work is done."""


@dataclass(eq=False)
class Job(Generic[Result]):
    """The texts of a request, and what to do once they are encoded."""

    documents: Sequence[Document]
    finish: Finish[Result]
    on_progress: Progress = no_progress
    work: int = 0  # characters that `finish` goes through
    sides: Sides | None = None  # to be compared before `finish`, with those of other jobs
    answer: Future[Result] = field(default_factory=Future)
    levs: dict[Document, Levs] = field(default_factory=dict)
    encoded: int = 0
    left: int = field(init=False)  # characters to encode
    reading: float = field(init=False)  # share of the progress that encoding is
    due: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = cost(self.documents)
        self.due = time.monotonic() + (self.work + self.left) / _A_SECOND
        self.reading = self.left / max(1, self.work + self.left)

    @property
    def is_long(self) -> bool:
        """Whether the job takes several rounds, or most of one."""
        return self.left > _AT_ONCE // _LITTLE

    def take(self, most: int, at_least: int) -> Sequence[Document]:
        """The next texts to encode: work of `most` characters, or at least `at_least` texts."""
        taken = 0
        for count, document in enumerate(self.documents[self.encoded :]):
            taken += cost([document])
            if taken > most and count >= at_least:
                return self.documents[self.encoded : self.encoded + count]
        return self.documents[self.encoded :]

    def keep(self, documents: Sequence[Document], levs: Sequence[Levs | InputError]) -> None:
        """Keep the LEVs of texts that were taken; one that has none ends the job."""
        for document, lev in zip(documents, levs, strict=True):
            if isinstance(lev, InputError):
                return self.fail(lev)
            self.levs[document] = lev
        self.encoded += len(documents)
        self.left -= cost(documents)
        if documents:
            try:
                self.on_progress(self.reading * self.encoded / len(self.documents))
            except BaseException as error:
                self.fail(error)

    def end(self, verifier: Verifier, comparison: ComparedSides | None) -> None:
        """Finish the job, whose comparison may be known.

        If its client has given up, it ends where it next shows its progress.
        """

        def on_progress(share: float) -> None:
            if self.answer.done():
                raise CancelledError
            self.on_progress(self.reading + (1 - self.reading) * share)

        try:
            result = self.finish(_knowing(verifier, self.levs), on_progress, comparison)
        except BaseException as error:  # a panic and an exit, too
            self.fail(error)
        else:
            with suppress(InvalidStateError):  # given up at the last moment
                self.answer.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Answer the job with an error, of a sort that can be handed on."""
        if self.answer.done():
            return
        if not isinstance(error, Exception) or isinstance(error, StopIteration | CancelledError):
            logger.error("%s", place_of(error))
            error = BrokenOffError(error)
        with suppress(InvalidStateError):
            self.answer.set_exception(error)


class Worker:
    """A thread that alone uses a verifier, and a bounded queue before it."""

    def __init__(self, verifier: Verifier, limits: Limits, name: str) -> None:
        self._verifier, self._limits = verifier, limits
        self._jobs: list[Job[Any]] = []  # those that are being worked on, too
        self._changed = Condition()
        self._stopping = False
        self._thread = Thread(target=self._run, name=f"adhominem-{name}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the worker takes jobs."""
        return self._thread.is_alive() and not self._stopping

    def submit(self, job: Job[Result]) -> Future[Result]:
        """The answer to come to a job; cancel it to give up. If too many wait, one is refused."""
        with self._changed:
            if self._stopping:
                raise busy()
            waiting = [other for other in self._jobs if not other.answer.done()]
            if len(waiting) >= self._limits.waiting:
                waiting.remove(_refuse_last([job, *waiting]))
            self._jobs = [*waiting, job]
            self._changed.notify()
        return job.answer

    def stop(self) -> None:
        """End the thread, and refuse the jobs that still wait."""
        with self._changed:
            self._stopping = True
            for job in self._jobs:
                job.fail(busy())
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        with encoder("", self._verifier, jobs=1) as encode:
            # Nothing of a round outlives it: no text stays in memory while nobody asks.
            while not self._stopping:
                self._try_round(encode)

    def _try_round(self, encode: Encode) -> None:
        jobs: list[Job[Any]] = []
        try:
            jobs = self._next()
            self._round(jobs, encode)
        except BaseException:  # perhaps of one job: the others do not suffer for it
            for job in [job for job in jobs if not job.answer.done()]:
                try:
                    self._round([job], encode)
                except BaseException as error:
                    job.fail(error)

    def _next(self) -> list[Job[Any]]:
        """Wait for jobs: those that are due first, and one of the long ones. [] at the end."""
        with self._changed:
            self._jobs = [job for job in self._jobs if not job.answer.done()]
            while not self._jobs and not self._stopping:
                self._changed.wait()
            if self._stopping:
                return []
            ordered = sorted(self._jobs, key=lambda job: job.due)
            if self._limits.jobs_at_once == 1:
                return ordered[:1]
            long = [job for job in ordered if job.is_long][:1]
            short = [job for job in ordered if not job.is_long]
            return [*short[: self._limits.jobs_at_once - len(long)], *long]

    def _round(self, jobs: Sequence[Job[Any]], encode: Encode) -> None:
        taken: list[Sequence[Document]] = []
        left = _AT_ONCE
        for job in jobs:
            most, at_least = left, 0 if taken else 1
            if job.is_long:  # the shorter the round, the sooner new jobs begin
                most, at_least = _AT_ONCE // (_LITTLE if taken else 2), 1
            taken.append(job.take(most, at_least))
            left -= cost(taken[-1])
        levs = iter(encode(list(chain.from_iterable(taken))))
        for job, documents in zip(jobs, taken, strict=True):
            job.keep(documents, list(islice(levs, len(documents))))
        ready = [job for job in jobs if job.encoded == len(job.documents)]
        comparisons = self._compared([job for job in ready if not job.answer.done()])
        for job in ready:
            if not job.answer.done():
                job.end(self._verifier, comparisons.get(job))

    def _compared(self, jobs: Sequence[Job[Any]]) -> dict[Job[Any], ComparedSides]:
        """The comparisons that jobs ask for, those that are alike together."""
        groups: dict[tuple[int, int, int], dict[Job[Any], Sides]] = {}
        for job in jobs:
            if job.sides is not None:
                first, second, population = job.sides
                like = len(first), len(second), id(population)
                groups.setdefault(like, {})[job] = job.sides
        comparisons: dict[Job[Any], ComparedSides] = {}
        for group in groups.values():
            levs = {text: lev for job in group for text, lev in job.levs.items()}
            pairs = [(first, second) for first, second, _ in group.values()]
            population = next(iter(group.values()))[2]
            compared = _knowing(self._verifier, levs).compare_all(pairs, population)
            comparisons |= zip(group, compared, strict=True)
        return comparisons


def _knowing(verifier: Verifier, levs: Mapping[Document, Levs]) -> Verifier:
    """A verifier that knows the LEVs of some texts already."""
    kept = Kept(len(levs) + MOST_LEVS)
    for document, lev in levs.items():
        kept.keep([document], lev)
    return verifier.keeping(kept)


def _refuse_last(jobs: Sequence[Job[Any]]) -> Job[Any]:
    """The job that is due last, which is refused; the first is new, and refused by an error."""
    last = max(jobs, key=lambda job: job.due)
    if last is jobs[0]:
        raise busy()
    last.fail(busy())
    return last
