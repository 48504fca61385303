"""Questions about more than two sides: one library call each, in the thread for slow work.

The texts of a question are encoded first, a few at a time; what the library then asks the verifier
for is there already. So others who wait for the thread need not wait for all of a long question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from adhominem.jobs.inputs import Unit, Watch
from adhominem.jobs.population import draw, in_order
from adhominem.questions.cluster.cluster import Clustering
from adhominem.questions.cluster.files import PRIOR, cluster_texts
from adhominem.questions.contrast.contrast import Contrast, ContrastOptions, contrast_texts
from adhominem.questions.known import MOST_POPULATION
from adhominem.questions.rank.rank import rank_texts
from adhominem.questions.rank.ranking import Ranking
from adhominem.questions.rank.trust import MOST_TRIALS
from adhominem.questions.roll.roll import Rolled, RollOptions
from adhominem.questions.roll.rolling import Known, roll_text, window_texts
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier
from adhominem.web.batching import Progress, cost, no_progress
from adhominem.web.failures import too_large
from adhominem.web.limits import Limits
from adhominem.web.service import Service

_TIMES_READ = 5  # that the reasons for one candidate over another go through a text, about
_TIMES_COUNTED = 6  # the same, that habits are counted and compared: slower than encoding
_PER_COMPARISON = 30  # characters of work, about: of two texts among many
_PER_WINDOW = 240  # the same, of a window with a candidate


@dataclass(frozen=True, kw_only=True)
class WhoCase:
    """Which of these candidates wrote it, if any?"""

    disputed: Sequence[Exhibit]
    candidates: Mapping[str, Sequence[Exhibit]]
    # None of its texts: those of the other candidates.
    population: Sequence[Document] | Population = ()
    population_name: str = ""
    prior_none: float = 0.5
    one_by_one: bool = False
    trials: int = MOST_TRIALS
    explained: bool = False


@dataclass(frozen=True, kw_only=True)
class PartsCase:
    """Which part of a text is by which of these candidates?"""

    text: Exhibit
    candidates: Mapping[str, Sequence[Exhibit]] = field(default_factory=dict)
    population: Population | None = None
    population_name: str = ""
    options: RollOptions = field(default_factory=RollOptions)


@dataclass(frozen=True, kw_only=True)
class ClusterCase:
    """How many people wrote these texts?"""

    documents: Sequence[Document]
    population: Population | None = None
    alone: bool = False  # without a population, not even these texts
    prior_same_author: float = PRIOR


@dataclass(frozen=True, kw_only=True)
class ContrastCase:
    """What sets these two sides apart?"""

    first: Sequence[Document]
    second: Sequence[Document]
    names: tuple[str, str] = ("first", "second")
    usual: Sequence[Document] = ()
    options: ContrastOptions = field(default_factory=ContrastOptions)


async def rank(service: Service, case: WhoCase, on_progress: Progress = no_progress) -> Ranking:
    """What `rank_texts` says of a case."""
    limits = service.limits
    disputed = _documents(case.disputed)
    known = _check_candidates(service, disputed, case.candidates)
    others: list[Document] = []  # to encode
    if not isinstance(case.population, Population):
        service.check_number(case.population, limits.population_texts, "the population")
        service.check(case.population, limits.population_characters, "the population")
        others = in_order(draw(case.population, MOST_POPULATION, 0)[0])
    if case.explained:
        service.check([*disputed, *known], limits.explained_characters, "texts to explain")
    population = case.population if isinstance(case.population, Population) else others
    work = sum(map(cost, known)) if case.trials else 1  # they are cut, and encoded once more
    work += _PER_COMPARISON * len(case.candidates) * (len(disputed) + 2 * case.trials)
    work += _TIMES_READ * sum(map(cost, [*disputed, *known])) if case.explained else 0

    def finish(verifier: Verifier, tell: Progress) -> Ranking:
        return rank_texts(
            verifier,
            case.disputed,
            {name: _documents(texts) for name, texts in case.candidates.items()},
            population=population or None,
            population_name=case.population_name,
            prior_none=case.prior_none,
            one_by_one=case.one_by_one,
            trials=case.trials,
            explained=case.explained,
            on_progress=tell,
        )

    return await service.work([*disputed, *known, *others], finish, on_progress, work=work)


async def roll(service: Service, case: PartsCase, on_progress: Progress = no_progress) -> Rolled:
    """What `roll_text` says of a case."""
    document = case.text.document
    known = _check_candidates(service, [document], case.candidates)
    service.check_number(known, service.limits.texts, "the candidates")  # each with each window
    parts = await asyncio.to_thread(_windows, document, case.options, service.limits)
    service.check(parts, service.limits.population_characters, "the windows, which overlap")
    candidates = [Known(name, texts) for name, texts in case.candidates.items()]

    def finish(verifier: Verifier, tell: Progress) -> Rolled:
        return roll_text(
            verifier,
            case.text,
            candidates,
            options=case.options,
            population=case.population,
            population_name=case.population_name,
            on_progress=tell,
        )

    work = cost(document) + _PER_WINDOW * len(parts) * max(1, len(candidates))
    return await service.work([*parts, document, *known], finish, on_progress, work=work)


async def cluster(
    service: Service, case: ClusterCase, on_progress: Progress = no_progress
) -> Clustering:
    """What `cluster_texts` makes of texts."""
    documents, limits = case.documents, service.limits
    service.check_number(documents, limits.population_texts, "the texts")
    service.check(documents, limits.characters, "the texts")
    service.check_labels(*(document.author for document in documents))

    def finish(verifier: Verifier, tell: Progress) -> Clustering:
        return cluster_texts(
            verifier,
            documents,
            prior_same_author=case.prior_same_author,
            population=case.population,
            alone=case.alone,
            watch=_told(tell),
        )

    work = _PER_COMPARISON * len(documents) * (len(documents) - 1) // 2
    return await service.work(documents, finish, on_progress, work=work)


async def contrast(
    service: Service, case: ContrastCase, on_progress: Progress = no_progress
) -> Contrast:
    """What `contrast_texts` makes of two sides."""
    limits = service.limits
    service.check_number(case.first, limits.texts, "the first side")
    service.check_number(case.second, limits.texts, "the second side")
    service.check_number(case.usual, limits.population_texts, "the population")
    documents = [*case.first, *case.second, *case.usual]
    service.check(documents, limits.characters, "the texts and the population")
    service.check_labels(*case.names)

    def finish(verifier: Verifier, tell: Progress) -> Contrast:
        with _told(tell)("counting", len(documents)) as on_texts:
            return contrast_texts(
                verifier,
                case.first,
                case.second,
                names=case.names,
                usual=case.usual,
                population="given" if case.usual else "",
                options=case.options,
                on_texts=on_texts,
            )

    # Nothing is encoded: habits are counted.
    work = _TIMES_COUNTED * sum(map(cost, documents))
    return await service.work([], finish, on_progress, work=work)


def _documents(texts: Sequence[Exhibit]) -> list[Document]:
    return [text.document for text in texts]


def _check_candidates(
    service: Service, disputed: Sequence[Document], candidates: Mapping[str, Sequence[Exhibit]]
) -> list[Document]:
    """The known texts of all candidates, if they and the disputed ones are not too much."""
    known = [document for texts in candidates.values() for document in _documents(texts)]
    service.check_labels(*candidates)
    service.check_number(disputed, service.limits.texts, "the disputed texts")
    service.check_number(known, service.limits.population_texts, "the candidates")
    service.check([*disputed, *known], service.limits.characters, "the texts")
    return known


def _windows(document: Document, options: RollOptions, limits: Limits) -> list[Document]:
    """The windows of a text, unless they are too many."""
    count = len(document.text.split()) // options.step + 1
    if count > limits.population_texts:
        raise too_large(
            f"about {count:,} windows; expected at most {limits.population_texts:,}: send an "
            f"excerpt, or take a larger step than {options.step:,} words"
        )
    return window_texts(document, options)


def _told(tell: Progress) -> Watch:
    """A `Watch` of a job with one part, whose share it tells."""

    @contextmanager
    def watch(
        what: str, total: int | None = None, unit: Unit = "pieces"
    ) -> Iterator[Callable[[float], None]]:
        done = 0.0

        def on_pieces(count: float) -> None:
            nonlocal done
            done += count
            tell(min(1.0, done / max(1, total or 1)))

        yield on_pieces

    return watch
