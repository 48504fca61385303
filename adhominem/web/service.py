"""What is served: a model, a population, and two threads, one for quick and one for slow work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TypeVar

from adhominem.arrays import Levs
from adhominem.errors import AdHominemError
from adhominem.index.searcher import Searcher
from adhominem.jobs.run import read_population
from adhominem.jobs.workers import encoder
from adhominem.model.folder import DEFAULT_MODEL, model_for
from adhominem.score.population import Population
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier, load
from adhominem.web.batching import (
    LONG_TEXT,
    Finish,
    Job,
    Progress,
    Sides,
    Worker,
    no_progress,
)
from adhominem.web.failures import Limits, RequestError, logger, too_large

Result = TypeVar("Result")
SERVERS = "the server’s own"  # what its population is called in an answer
_FEWEST_SHARE = 0.01  # of the work: smaller steps of progress are not sent
_BETWEEN_LOOKS = 10.0  # seconds, at whether the index has changed
_TIMES_READ = 20  # that an explanation goes through its texts, about


class Service:
    """A model that answers many clients at once."""

    def __init__(
        self,
        verifier: Verifier,
        explainer: Verifier,
        *,
        population: Population | None = None,
        limits: Limits | None = None,
        searcher: Searcher | None = None,
        chooses: bool = False,
    ) -> None:
        """`verifier` and `explainer` are the same model twice: each thread has its own.

        An index is searched in the thread of the second. With `chooses`, texts in another language
        are answered by the model that is for it, if there is one.
        """
        self.chooses, self._opening = chooses, Lock()
        self._others: dict[str, Service] = {}  # by their models, opened when they are needed
        self.searcher, self._look_again = searcher, 0.0
        self.limits = limits or Limits()
        self.verifier, self.population = verifier, population
        self._quick = Worker(verifier, self.limits, "verify")
        self._slow = Worker(explainer, replace(self.limits, jobs_at_once=1), "explain")

    @classmethod
    def open(
        cls,
        model: str | Path | None = None,
        population: str | Path | None = None,
        limits: Limits | None = None,
        index: str | Path | None = None,
    ) -> Service:
        """A model by its name or folder, the population of the texts at a path, and an index.

        Without a `model`, it is chosen by the language of the texts of each request.
        """
        chooses, model = model is None, model or DEFAULT_MODEL
        verifier, explainer = load(model), load(model)
        relevant = None
        if population is not None:
            with encoder(model, verifier, jobs=1) as encode:
                relevant = read_population(population, encode, verifier=verifier)
        searcher = None if index is None else Searcher(index, explainer)
        return cls(
            verifier,
            explainer,
            population=relevant,
            limits=limits,
            searcher=searcher,
            chooses=chooses,
        )

    def for_language(self, language: str) -> Service:
        """The service with the model for texts in a language, which may be this one."""
        model = model_for(language)
        if not self.chooses or model == self.verifier.name:
            return self
        with self._opening:
            if model not in self._others:
                self._others[model] = Service.open(model, limits=self.limits)
            return self._others[model]

    def current_index(self) -> Searcher:
        """Its index as it is now; as it was, while the new one is unfinished or damaged.

        Only the thread that searches may call this.
        """
        assert self.searcher is not None
        if monotonic() >= self._look_again:
            try:
                self.searcher = self.searcher.renewed()
            except AdHominemError as error:
                logger.warning("the index of before is searched: %s", error)
            self._look_again = monotonic() + _BETWEEN_LOOKS
        return self.searcher

    @property
    def alive(self) -> bool:
        """Whether it answers."""
        return self._quick.alive and self._slow.alive

    @property
    def knows_topics(self) -> bool:
        """Whether a text's topic changes anything."""
        return any(member.knows_topics for member in self.verifier.members)

    def close(self) -> None:
        """End the threads."""
        self._quick.stop()
        self._slow.stop()
        for other in self._others.values():
            other.close()

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Give up what takes longer than a request may."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                yield
        except TimeoutError:
            raise RequestError(
                504,
                "TimeLimit",
                f"the answer took longer than {self.limits.seconds:g} s, and was given up; send "
                "fewer or shorter texts, or start the server with a larger --timeout",
            ) from None

    async def encode(self, documents: Sequence[Document]) -> Levs:
        """(documents, lev_size): the LEVs of texts."""
        self.check(documents, self.limits.characters, "the texts")
        self.check_number(documents, self.limits.texts, "the texts to encode")
        return await self.work(
            documents, lambda verifier, *_: verifier.encode(documents), is_quick=True
        )

    async def find_population(
        self, documents: Sequence[Document], on_progress: Progress = no_progress
    ) -> Population:
        """The population made of these texts."""
        self.check_number(documents, self.limits.population_texts, "the population")
        self.check(documents, self.limits.population_characters, "the population")
        return await self.work(
            documents,
            lambda verifier, *_: verifier.population(documents),
            on_progress,
            is_quick=True,
        )

    async def work(
        self,
        documents: Sequence[Document],
        finish: Finish[Result],
        on_progress: Progress = no_progress,
        *,
        work: int = 0,
        is_quick: bool = False,
        sides: Sides | None = None,
    ) -> Result:
        """What `finish` makes of texts once they are encoded and maybe compared.

        `work` is how many characters it goes through. In the thread for slow work, texts are
        encoded a few at a time, and others who wait for it have their turn in between.
        """
        # A single text that fills a round, and more, does not hold up the short ones.
        longest = max((len(document.text) for document in documents), default=0)
        worker = self._quick if is_quick and longest <= LONG_TEXT else self._slow
        return await _answer(worker, Job(documents, finish, on_progress, work, sides=sides))

    def check_labels(self, *labels: str) -> None:
        """Refuse a name, a topic or a heading that is as long as a text."""
        most = self.limits.label_characters
        longest = max(map(len, labels), default=0)
        if longest > most:
            raise too_large(
                f"a name, topic or heading of {longest:,} characters; expected at most {most:,}"
            )

    def check_number(self, texts: Sequence[object], most: int, of_what: str) -> None:
        """Refuse more texts than are taken."""
        if len(texts) > most:
            raise too_large(f"{of_what}: {len(texts):,} texts; expected at most {most:,}")

    def check(self, texts: Sequence[Document], most: int, of_what: str) -> None:
        """The one check of all that is going to be tokenized, whichever way it came."""
        characters = sum(len(text.text) for text in texts)
        if characters > most:
            raise too_large(
                f"{of_what}: {characters:,} characters in all; expected at most {most:,}; send "
                "excerpts"
            )
        self.check_labels(*(label for text in texts for label in (text.id, text.topic)))


async def _answer(worker: Worker, job: Job[Result]) -> Result:
    """The answer of a thread; cancelling gives the job up."""
    loop = asyncio.get_running_loop()
    on_progress, told = job.on_progress, 0.0

    def tell(share: float) -> None:
        nonlocal told
        if share - told >= _FEWEST_SHARE or share >= 1:
            told = share
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(on_progress, share)

    if on_progress is not no_progress:  # or the loop would be woken up for nothing
        job.on_progress = tell
    return await asyncio.wrap_future(worker.submit(job))
