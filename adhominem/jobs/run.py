"""One run of a job or a question: what is read, who hears how far it is, and who encodes texts."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from adhominem.arrays import Levs, joined
from adhominem.errors import InputError, OptionError
from adhominem.jobs.workers import Encode, encode_documents, encoder_of
from adhominem.pairs.passages import without_recurring
from adhominem.score.population import Population
from adhominem.text.files import Document, real_path
from adhominem.text.pan import Pair
from adhominem.text.readers import Corpora as Corpora
from adhominem.text.readers import Unit as Unit
from adhominem.text.readers import Watch as Watch
from adhominem.text.readers import open_corpora as open_corpora
from adhominem.text.readers import read_documents, read_pairs
from adhominem.text.readers import reading as reading
from adhominem.text.readers import unwatched as unwatched
from adhominem.verify.verification import ComparedSides
from adhominem.verify.verifier import Verifier

MOST_TEXTS = 1_000  # of a population: more would hardly move the mean
PairSets = Mapping[str, Sequence[Pair]] | Sequence[str | Path]  # by name, or where they lie


def part(on_progress: Callable[[float], None], begin: float, end: float) -> Callable[[float], None]:
    """What hears of a part of some work, as a share of that part."""
    return lambda share: on_progress(begin + (end - begin) * share)


@dataclass
class Run:
    """What goes on while a question is answered."""

    watch: Watch = unwatched
    skipped: list[InputError] | None = None  # what cannot be used; None: the first is raised
    encode: Encode | None = None  # by worker processes; None: the verifier itself
    comparison: ComparedSides | None = (
        None  # of the `sides` of the question, if it is known already
    )
    model: str | Path = ""  # the model that was loaded, where the question is on files
    _without: set[str] = field(default_factory=set)  # texts that have no LEV

    def levs(
        self,
        verifier: Verifier,
        documents: Sequence[Document],
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> tuple[list[Document], Levs]:
        """Those of the documents that have a LEV, in order, and these (documents, lev_size).

        Why others have none is reported once. A verifier that is `keeping` texts gets the LEVs.
        """
        kept = verifier.kept
        left = [text for text in documents if text.text not in self._without]
        known = {
            (text.text, text.topic): (text, lev)
            for text, lev in zip(left, kept.levs_of(left), strict=True)
        }
        new = [text for text, lev in known.values() if lev is None]
        good, levs = list[Document](), Levs(())
        if new:
            encode = self.encode or encoder_of(verifier)
            good, levs = encode_documents(new, encode, self.skipped, on_documents)
            kept.keep(good, levs)
        self._without |= {text.text for text in new} - {text.text for text in good}
        if len(new) == len(left):
            return good, levs
        on_documents(len(left) - len(new))
        fresh = {(text.text, text.topic): levs[at : at + 1] for at, text in enumerate(good)}
        rows = [(text, fresh.get(key := (text.text, text.topic), known[key][1])) for text in left]
        there = [(text, lev) for text, lev in rows if lev is not None]
        return [text for text, _ in there], joined([Levs(()), *(lev for _, lev in there)])


def read_pair_sets(
    sets: PairSets, skipped: list[InputError] | None
) -> Mapping[str, Sequence[Pair]]:
    """Pair sets by name; those given as paths are read, and named after file or folder."""
    if isinstance(sets, Mapping):
        return sets
    by_name: dict[str, Sequence[Pair]] = {}
    for path in sets:
        name = real_path(path).name
        if name in by_name:
            raise OptionError(f"two pair sets are named '{name}'; rename one")
        by_name[name] = list(read_pairs(path, skipped=skipped))
    return by_name


def read_population(
    path: str | Path,
    encode: Encode,
    *,
    verifier: Verifier | None = None,
    seed: int = 0,
    language: str = "",
    skipped: list[InputError] | None = None,
    on_documents: Callable[[int], None] = lambda count: None,
) -> Population:
    """The population of the distinct texts at a path, or of a random sample of them.

    With a `verifier`, the population also records whether its texts are of several genres. Passages
    that recur are removed. The `language` is that of all texts, if it is given. Texts that cannot
    be read, or contain no word, are appended to `skipped`; without it, the first of them raises.
    """
    # By any author: texts that the truth beside them lacks are included, too.
    documents = read_documents(path, author_required=False, labelled=False, skipped=skipped)
    if language:
        documents = (replace(document, language=language) for document in documents)
    texts, recurring = without_recurring(draw(distinct(documents), MOST_TEXTS, seed)[0])
    encoded, levs = encode_documents(texts, encode, skipped, on_documents)
    if verifier is None:
        return Population.of(levs, encoded)
    return verifier.population_of(levs, encoded, recurring)


def distinct(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents without those whose text came before."""
    hashes: set[str] = set()
    for document in documents:
        if document.sha256 not in hashes:
            hashes.add(document.sha256)
            yield document


def draw(
    documents: Iterable[Document],
    most: int,
    seed: int,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[list[Document], int]:
    """At most `most` documents at random, in order, and how many there were in all.

    No more than these are held in memory.
    """
    rng = np.random.default_rng(seed)
    drawn: list[tuple[float, int, Document]] = []  # a random number and the index before each
    count = 0
    for document in documents:
        heapq.heappush(drawn, (rng.random(), count, document))
        if len(drawn) > most:
            heapq.heappop(drawn)
        count += 1
        on_documents(1)
    return [document for _, _, document in sorted(drawn, key=lambda row: row[1])], count
