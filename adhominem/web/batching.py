"""One thread that owns a model, and encodes the texts of all waiting requests together.

Nobody waits for company: an idle thread begins at once with whatever is there, and what arrives
meanwhile is the next batch. A request with many texts gets on by a few in each round, so that it
does not keep the others waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

import numpy as np

from adhominem.errors import InputError
from adhominem.runs.workers import Encode, Lev, encoder
from adhominem.text.document import Document
from adhominem.verifier import Levs, Verifier
from adhominem.web.failures import busy
from adhominem.web.limits import Limits

Result = TypeVar("Result")
Progress = Callable[[float], None]

_CHARACTERS_AT_ONCE = 200_000  # of all requests in a round: well below a second


class WithLevs(Verifier):
    """A verifier that knows the LEVs of some texts already."""

    def __init__(self, verifier: Verifier, known: dict[Document, Lev]) -> None:
        vars(self).update(vars(verifier))
        self._known = known

    def encode(
        self,
        documents: Sequence[str | Document],
        *,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Levs:
        """(documents, lev_size): the LEVs that are known, or all of them encoded anew."""
        known = [self._known.get(each) for each in documents if isinstance(each, Document)]
        found = [lev for lev in known if lev is not None]
        if len(found) < len(documents) or not found:
            return super().encode(documents, on_documents=on_documents)
        return np.array(found)


@dataclass(eq=False)
class Job(Generic[Result]):
    """The texts of a request, and what to do once they are encoded."""

    documents: Sequence[Document]
    finish: Callable[[WithLevs, Progress], Result]
    on_progress: Progress = lambda share: None
    answer: Future[Result] = field(default_factory=Future)
    levs: dict[Document, Lev] = field(default_factory=dict)
    encoded: int = 0

    def take(self, characters: int) -> Sequence[Document]:
        """The next texts, of about so many characters, and at least one."""
        taken = 0
        for count, document in enumerate(self.documents[self.encoded :]):
            taken += len(document.text)
            if taken > characters and count:
                return self.documents[self.encoded : self.encoded + count]
        return self.documents[self.encoded :]

    def keep(self, documents: Sequence[Document], levs: Sequence[Lev | InputError]) -> None:
        """The LEVs of texts that were taken; one that has none ends the job."""
        for document, lev in zip(documents, levs, strict=True):
            if isinstance(lev, InputError):
                return self.fail(lev)
            self.levs[document] = lev
        self.encoded += len(documents)
        if documents:
            self.on_progress(self.encoded / len(self.documents))

    def end(self, verifier: Verifier) -> None:
        """Do what is left; whoever gave up waiting stops it where it shows its progress."""

        def on_progress(share: float) -> None:
            if self.answer.done():
                raise CancelledError
            self.on_progress(share)

        try:
            result = self.finish(WithLevs(verifier, self.levs), on_progress)
        except CancelledError:
            self.answer.cancel()
        except Exception as error:
            self.fail(error)
        else:
            with suppress(InvalidStateError):  # given up at the last moment
                self.answer.set_result(result)

    def fail(self, error: Exception) -> None:
        """The job's answer is an error."""
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
        """Whether it takes requests."""
        return self._thread.is_alive() and not self._stopping

    def submit(
        self,
        documents: Sequence[Document],
        finish: Callable[[WithLevs, Progress], Result],
        on_progress: Progress = lambda share: None,
    ) -> Future[Result]:
        """The answer to come; cancel it to give up. Refused where too many wait."""
        job = Job(documents, finish, on_progress)
        with self._changed:
            if len(self._jobs) >= self._limits.waiting or not self.alive:
                raise busy()
            self._jobs.append(job)
            self._changed.notify()
        return job.answer

    def stop(self) -> None:
        """End the thread; whoever still waits is told so."""
        with self._changed:
            self._stopping = True
            for job in self._jobs:
                job.fail(busy())
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        with encoder("", self._verifier, jobs=1) as encode:
            # Nothing of a round outlives it: no text stays in memory while nobody asks.
            while self._try_round(encode):
                pass

    def _try_round(self, encode: Encode) -> bool:
        jobs = self._next()
        try:
            self._round(jobs, encode)
        except Exception:  # be it of one job: the others do not suffer for it
            for job in jobs:
                try:
                    self._round([job], encode)
                except Exception as error:
                    job.fail(error)
        return bool(jobs)

    def _next(self) -> list[Job[Any]]:
        """The oldest jobs that somebody still waits for; waits for one. None: it is over."""
        with self._changed:
            self._jobs = [job for job in self._jobs if not job.answer.done()]
            while not self._jobs and not self._stopping:
                self._changed.wait()
            return [] if self._stopping else self._jobs[: self._limits.jobs_at_once]

    def _round(self, jobs: Sequence[Job[Any]], encode: Encode) -> None:
        taken = [job.take(_CHARACTERS_AT_ONCE // len(jobs)) for job in jobs]
        levs = iter(encode([document for some in taken for document in some]))
        for job, some in zip(jobs, taken, strict=True):
            job.keep(some, [next(levs) for _ in some])
        for job in jobs:
            if job.encoded == len(job.documents) and not job.answer.done():
                job.end(self._verifier)
