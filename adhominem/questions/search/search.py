"""Texts searched for in an index: hits with Bayes factors, and what these are worth among many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, log10
from typing import Any

import numpy as np

import adhominem
from adhominem.errors import NotFoundError, OptionError
from adhominem.index.build import digest_of
from adhominem.index.chance import Chance, FalseHits
from adhominem.index.searcher import Scored, Searcher
from adhominem.index.store import Store
from adhominem.pairs.passages import TakenOut, sketch, without_shared
from adhominem.questions.rank.evidence import NO_STATEMENT
from adhominem.records import with_schema
from adhominem.score.decision import VerbalScale, probability_same_author
from adhominem.text.exhibits import Exhibit, with_text
from adhominem.verify.cautions import Caution, ExaminedText, caution, cautions_of, listed
from adhominem.verify.verifier import Verifier

HITS = 20
NOT_A_VERDICT = (
    "A hit is a text to look at, not an answer: among many texts, some by other people come up "
    "with strong evidence by chance"
)
_LOG_10 = log(10)
_REPEATED = 0.25  # share of a text
_MANY_REPEATED = 0.05  # share of the texts of an index
_MANY_STRANGE = 0.5  # share of hits that the collection is of another genre for


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A text of the index that may be by the author of the text that was searched for."""

    id: str
    author: str  # as the index has it; empty if unknown
    topic: str
    words: int  # and marks: tokens
    log10_bayes_factor: float
    verbal: str  # the words of the scale
    probability_same_author: float | None  # under the prior; None: no statement is made
    at_bound: bool  # whether nothing stronger can be said under these conditions
    other_genre: bool  # whether both seem to be of another genre than the index
    expected_false_hits: float | None  # so strong or stronger; None if it was not measured


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What came up for one text."""

    name: str
    sha256: str
    words: int
    hits: tuple[Hit, ...]
    copies: tuple[str, ...]  # ids of texts that are the same, which were left out
    sharing: tuple[str, ...]  # ids of texts that would be hits, but share passages with it
    warnings: tuple[Caution, ...]


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The hits, and what they are worth given the number of texts."""

    index: str
    texts: int  # of the index
    prior_same_author: float
    log10_needed: float  # Bayes factor at which a hit is as probable as not
    false_hits: tuple[FalseHits, ...]
    measured: str  # on what
    trials: int  # searches for texts of the index, by authors with other texts in it
    first: int  # of these, how often the first hit was by the author
    among_ten: int
    searched: tuple[Searched, ...]
    model: str
    model_sha256: str
    version: str

    def to_json(self) -> dict[str, Any]:
        """For programs, with the version of the schema."""
        return {**with_schema(self), "note": NOT_A_VERDICT}


def search_texts(
    searcher: Searcher,
    exhibits: Sequence[Exhibit],
    *,
    k: int = HITS,
    prior_same_author: float | None = None,
    scale: VerbalScale | None = None,
    verifier: Verifier | None = None,
) -> SearchResult:
    """Search an index for texts by the authors of some texts, each by itself.

    Without a prior it is 1 in as many as there are texts. A text that stands in the index is not
    its own hit, nor is a copy of it. A `verifier` that is given encodes the texts instead of the
    searcher's own, which is the same model: it may know their LEVs already.
    """
    store, scale = searcher.store, scale or VerbalScale()
    verifier = searcher.verifier if verifier is None else verifier
    texts = len(store)
    if not texts:
        raise NotFoundError("the index has no texts; add some with `adhominem index`", store.folder)
    if k < 1:
        raise OptionError(f"k is {k}; expected 1 or more")
    prior = 1 / max(texts, 2) if prior_same_author is None else prior_same_author
    probability_same_author(0.0, prior)  # refuses a wrong prior before any work
    chance = searcher.chance
    copies = [store.copies(digest_of(one.document.text)) for one in exhibits]
    levs = verifier.encode([one.document for one in exhibits])
    sketches = [frozenset(sketch(one.document.text, most=None).tolist()) for one in exhibits]
    found = searcher.search_apart(levs, k, sketches, [frozenset(numbers) for numbers in copies])
    searched = []
    for at, (exhibit, (scored, apart)) in enumerate(zip(exhibits, found, strict=True)):
        sharing = tuple(store.id(number) for number in apart)
        (((once,),), taken_out) = without_shared([[exhibit.document]])  # as it was encoded
        tokens = verifier.tokens(once.text)
        states = not verifier.no_statement_on([once])[0]
        hits = tuple(_hits(searcher, scored, chance, prior, scale, states))
        (examined,) = verifier.examine([with_text(exhibit, once)], [tokens], levs[at : at + 1])
        warnings = _cautions(searcher, examined, scored, hits, sharing, taken_out)
        searched.append(
            Searched(
                name=exhibit.document.id,
                sha256=exhibit.sha256,
                words=len(tokens),
                hits=hits,
                copies=tuple(store.id(number) for number in copies[at]),
                sharing=sharing,
                warnings=tuple(warnings),
            )
        )
    told = chance.others > 0 if chance is not None else np.zeros(0, bool)
    ranks = chance.ranks[told] if chance is not None else np.zeros(0, int)
    return SearchResult(
        index=str(store.folder),
        texts=texts,
        prior_same_author=prior,
        log10_needed=log10(1 - prior) - log10(prior),
        false_hits=_false_hits(chance, texts, scale, verifier),
        measured=_measured(chance),
        trials=len(ranks),
        first=int((ranks == 1).sum()),
        among_ten=int(((ranks > 0) & (ranks <= 10)).sum()),
        searched=tuple(searched),
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
    )


def _hits(
    searcher: Searcher,
    scored: Scored,
    chance: Chance | None,
    prior: float,
    scale: VerbalScale,
    states: bool,
) -> Iterator[Hit]:
    """Those of one text, on which a statement is made if it `states` one; none on foreign hits."""
    store, factors = searcher.store, scored.factors
    for at, number in enumerate(scored.numbers.tolist()):
        stated = states and not store.foreign[number]
        factor = float(factors.log_bayes_factor[at]) if stated else 0.0
        shard, row = store.place(number)
        false = None
        if stated and chance is not None:
            false = chance.expected(factor, len(store))[0]
        yield Hit(
            id=store.id(number),
            author=store.author(number),
            topic=store.topic(number),
            words=round(float(np.exp(shard.levs.log_tokens[row]))),
            log10_bayes_factor=factor / _LOG_10,
            verbal=scale.words(factor / _LOG_10) if stated else NO_STATEMENT,
            probability_same_author=float(probability_same_author(factor, prior))
            if stated
            else None,
            at_bound=stated and bool(factors.at_bound[at]),
            other_genre=bool(factors.population_misfit[at]),
            expected_false_hits=false,
        )


def _cautions(
    searcher: Searcher,
    text: ExaminedText,
    scored: Scored,
    hits: Sequence[Hit],
    sharing: Sequence[str],
    taken_out: TakenOut,
) -> Iterator[Caution]:
    """What to beware of with one text, and with this index."""
    store = searcher.store
    yield from cautions_of(
        searcher.verifier, [[text]], population=searcher.population, taken_out=taken_out
    )
    if sharing:
        yield caution(
            "shared_text",
            f"passages of {text.name} also stand in texts that would be hits: {listed(sharing)}",
            "they are not among the hits, since whoever quotes a text, or has the same "
            "boilerplate, looks like its author",
            "compare them with `adhominem verify`, which leaves such passages out; remove "
            "boilerplate from the text, and search again",
        )
    foreign = [store.id(number) for number in scored.numbers.tolist() if store.foreign[number]]
    yield from of_foreign(foreign)
    yield from cautions_of_index(store)
    if hits and sum(hit.other_genre for hit in hits) > _MANY_STRANGE * len(hits):
        yield caution(
            "other_genre_than_index",
            f"{text.name} does not lie among the texts of the index, which seem to be of "
            "another genre",
            "texts that share its genre look as if they shared its author, and the Bayes factors "
            "are too large",
            "search an index of texts of its genre, or compare the hits with `adhominem verify` "
            "and a population of that genre",
        )


def of_foreign(ids: Sequence[str]) -> Iterator[Caution]:
    """Texts of an index that are not what the model was made for."""
    if ids:
        yield caution(
            "foreign",
            "texts of the index that are not running prose of a kind that the model knows "
            f"({len(ids):,}): {listed(ids)}",
            "no statement is made on them",
            "remove them with `adhominem index --remove ID`",
        )


def cautions_of_index(store: Store) -> Iterator[Caution]:
    """What to beware of with an index, whatever is looked for in it."""
    repeated = int((store.repeated >= _REPEATED).sum())
    if repeated > _MANY_REPEATED * len(store):
        yield caution(
            "repeats_in_index",
            f"{repeated:,} of the {len(store):,} texts of the index share a quarter of their "
            "passages, or more, with others",
            "in its population, near copies count once; what the rest share looks more usual than "
            "it is, and numbers may be off by some tenths",
            "remove copies with `adhominem index --remove ID`, and boilerplate before texts are "
            "indexed",
        )


def _false_hits(
    chance: Chance | None, texts: int, scale: VerbalScale, verifier: Verifier
) -> tuple[FalseHits, ...]:
    """At each rung of the scale that can be reached."""
    if chance is None:
        return ()
    calibration = verifier.calibration
    most = np.inf if calibration is None else calibration.widest(population=True)[1] / _LOG_10
    rows = []
    for start, words in scale.rungs:
        if 0 < start <= most:
            expected, how = chance.expected(start * _LOG_10, texts)
            rows.append(
                FalseHits(log10_bayes_factor=start, words=words, expected=expected, measured_by=how)
            )
    return tuple(rows)


def _measured(chance: Chance | None) -> str:
    if chance is None:
        return "nothing: the index has too few texts by different people that share nothing"
    whose = (
        "texts of the index by different authors"
        if chance.known_authors
        else "texts of the index, whose authors are not known: each is taken to be by another"
    )
    told = f"{len(chance.pairs):,} pairs of {whose}"
    if len(chance.trials):
        told += f", and {len(chance.trials):,} searches for texts of the index"
    return told
