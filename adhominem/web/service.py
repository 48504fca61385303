"""What is served: a model, a population, and two threads, one for quick and one for slow work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from adhominem.arrays import Levs
from adhominem.errors import AdHominemError
from adhominem.index.searcher import Searcher
from adhominem.jobs.run import read_population
from adhominem.jobs.workers import encoder
from adhominem.model.calibration import LikeCases
from adhominem.questions.report.evidence import like_cases
from adhominem.questions.report.report import Report, make_report
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.explanation import Explanation, explain_texts
from adhominem.verify.sensitivity import Influence, influences
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier, load
from adhominem.web.batching import (
    LONG_TEXT,
    Finish,
    Job,
    Progress,
    Sides,
    Worker,
    cost,
    no_progress,
)
from adhominem.web.failures import RequestError, logger, too_large
from adhominem.web.limits import Limits

Result = TypeVar("Result")
SERVERS = "the server’s own"  # what its population is called in an answer
_FEWEST_SHARE = 0.01  # of the work: smaller steps of progress are not sent
_BETWEEN_LOOKS = 10.0  # seconds, at whether the index has changed
_TIMES_READ = 20  # that an explanation goes through its texts, about


@dataclass(frozen=True, kw_only=True)
class Case:
    """Two sides to compare, and how."""

    first: Sequence[Exhibit]
    second: Sequence[Exhibit]
    population: Population | None = None
    prior_same_author: float = 0.5
    delta: float = 0.125
    heading: Mapping[str, Any] = field(default_factory=dict)  # what `make_report` takes beside it

    @property
    def documents(self) -> list[Document]:
        """The texts of both sides."""
        return [exhibit.document for exhibit in (*self.first, *self.second)]

    @property
    def settings(self) -> dict[str, Any]:
        """How to compare, as the library's functions take it."""
        return {
            "population": self.population,
            "prior_same_author": self.prior_same_author,
            "delta": self.delta,
        }


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What a comparison came to, what did that, and how cases of known authors came out."""

    verification: Verification
    influences: tuple[Influence, ...]
    like: LikeCases | None  # under like conditions, if the model was tried on any


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
    ) -> None:
        """`verifier` and `explainer` are the same model twice: each thread has its own.

        An index is searched in the thread of the second.
        """
        self.searcher, self._look_again = searcher, 0.0
        self.limits = limits or Limits()
        self.verifier, self.population = verifier, population
        self._quick = Worker(verifier, self.limits, "verify")
        self._slow = Worker(explainer, replace(self.limits, jobs_at_once=1), "explain")

    @classmethod
    def open(
        cls,
        model: str | Path,
        population: str | Path | None = None,
        limits: Limits | None = None,
        index: str | Path | None = None,
    ) -> Service:
        """A model by its name or folder, the population of the texts at a path, and an index."""
        verifier, explainer = load(model), load(model)
        relevant = None
        if population is not None:
            with encoder(model, verifier, jobs=1) as encode:
                relevant = read_population(population, encode, verifier=verifier)
        searcher = None if index is None else Searcher(index, explainer)
        return cls(verifier, explainer, population=relevant, limits=limits, searcher=searcher)

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

    async def look(self, case: Case, on_progress: Progress = no_progress) -> Looked:
        """The same, with what is shown beside it."""
        self.check(case.documents, self.limits.characters, "the texts")

        def finish(verifier: Verifier, *_: Any) -> Looked:
            comparison = verifier.compare(case.first, case.second, case.population)
            verification = verifier.judge(comparison, case.prior_same_author, case.delta)
            return Looked(
                verification=verification,
                influences=influences(comparison, verification.likeness),
                like=like_cases(verifier.validation, comparison, verification.likeness),
            )

        return await self._encoded(case.documents, finish, on_progress)

    async def explain(self, case: Case, on_progress: Progress = no_progress) -> Explanation:
        """What `explain_texts` says of a case."""
        return await self._explained(case, explain_texts, case.settings, on_progress)

    async def report(self, case: Case, on_progress: Progress = no_progress) -> Report:
        """What `make_report` makes of a case."""
        return await self._explained(case, make_report, self._heading(case), on_progress)

    async def report_file(self, case: Case, write: Callable[[Report], bytes]) -> bytes:
        """The same as a file, which is written in the thread for slow work, too."""

        def make_file(*sides: Any, **settings: Any) -> bytes:
            return write(make_report(*sides, **settings))

        return await self._explained(case, make_file, self._heading(case), no_progress)

    def _heading(self, case: Case) -> dict[str, Any]:
        return {"population": case.population, **case.heading}

    async def encode(self, documents: Sequence[Document]) -> Levs:
        """(documents, lev_size): the LEVs of texts."""
        self.check(documents, self.limits.characters, "the texts")
        self.check_number(documents, self.limits.texts, "the texts to encode")
        return await self._encoded(documents, lambda verifier, *_: verifier.encode(documents))

    async def find_population(
        self, documents: Sequence[Document], on_progress: Progress = no_progress
    ) -> Population:
        """The population made of these texts."""
        self.check_number(documents, self.limits.population_texts, "the population")
        self.check(documents, self.limits.population_characters, "the population")
        return await self._encoded(
            documents, lambda verifier, *_: verifier.population(documents), on_progress
        )

    async def work(
        self,
        documents: Sequence[Document],
        finish: Finish[Result],
        on_progress: Progress = no_progress,
        *,
        work: int,
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

    def check_case(self, case: Case) -> None:
        """Refuse a side with too many texts."""
        self.check_number(case.first, self.limits.texts, "the first side")
        self.check_number(case.second, self.limits.texts, "the second side")

    def check_labels(self, *labels: str) -> None:
        """Refuse a name, a topic or a heading that is as long as a text."""
        most = self.limits.label_characters
        longest = max(map(len, labels), default=0)
        if longest > most:
            raise too_large(
                f"a name, topic or heading of {longest:,} characters; expected at most {most:,}"
            )

    async def _encoded(
        self,
        documents: Sequence[Document],
        finish: Finish[Result],
        on_progress: Progress = no_progress,
        sides: Sides | None = None,
    ) -> Result:
        """What `finish` makes of texts once they are encoded, and maybe compared."""
        return await self.work(documents, finish, on_progress, work=0, is_quick=True, sides=sides)

    async def _explained(
        self,
        case: Case,
        explain: Callable[..., Result],
        settings: Mapping[str, Any],
        on_progress: Progress,
    ) -> Result:
        """What `explain` makes of a case, going through its texts many times."""
        self.check(case.documents, self.limits.explained_characters, "texts to explain")
        work = _TIMES_READ * sum(map(cost, case.documents))

        def finish(verifier: Verifier, tell: Progress, _: Any) -> Result:
            return explain(verifier, case.first, case.second, **settings, on_progress=tell)

        # Without texts to encode before: the progress is that of the explanation alone.
        return await self.work([], finish, on_progress, work=work)

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
