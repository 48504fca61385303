"""Texts searched for in an index: hits with Bayes factors, and what these are worth among many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

import numpy as np

import adhominem
from adhominem.arrays import IntArray
from adhominem.errors import NotFoundError, OptionError
from adhominem.index.build import digest_of_words
from adhominem.index.searcher import Chance, Scored, Searcher
from adhominem.index.store import Store
from adhominem.pairs.passages import sketch, without_shared
from adhominem.questions.rank.evidence import NO_STATEMENT
from adhominem.records import with_schema
from adhominem.score.decision import LOG_10, VerbalScale, probability_same_author
from adhominem.text.exhibits import Exhibit, with_text
from adhominem.text.language import InLanguage
from adhominem.verify.cautions import Caution, caution, cautions_of, listed
from adhominem.verify.verifier import Verifier

HITS = 20
NOT_A_VERDICT = (
    "A hit is a text to look at, not an answer: among many texts, some by other people come up "
    "with strong evidence by chance"
)
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
class FalseHits:
    """How many false hits to expect in a search at a given strength or above."""

    log10_bayes_factor: float
    words: str  # of the verbal scale
    expected: float
    measured_by: str  # "searches" or "pairs"


@dataclass(frozen=True, kw_only=True)
class SearchResult(InLanguage):
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
    if not len(store):
        raise NotFoundError("the index has no texts; add some with `adhominem index`", store.folder)
    if k < 1:
        raise OptionError(f"k is {k}; expected 1 or more")
    prior = 1 / max(len(store), 2) if prior_same_author is None else prior_same_author
    probability_same_author(0.0, prior)  # refuses a wrong prior before any work
    copies = [store.copies(digest_of_words(exhibit.document.text)) for exhibit in exhibits]
    levs = verifier.encode([exhibit.document for exhibit in exhibits])
    sketches = [frozenset(sketch(one.document.text, most=None).tolist()) for one in exhibits]
    results = searcher.search_apart(levs, k, sketches, [frozenset(same) for same in copies])
    searched = []
    for at, (exhibit, (scored, sharing)) in enumerate(zip(exhibits, results, strict=True)):
        (((once,),), taken_out) = without_shared([[exhibit.document]])  # as it was encoded
        tokens = verifier.tokens(once.text)
        states = not verifier.no_statement_on([once])[0]
        hits = tuple(_hits(searcher, scored, prior, scale, states))
        (text,) = verifier.examine([with_text(exhibit, once)], [tokens], levs[at : at + 1])
        of_text = cautions_of(
            searcher.verifier, [[text]], population=searcher.population, taken_out=taken_out
        )
        ids = tuple(store.id(number) for number in sharing)
        searched.append(
            Searched(
                name=exhibit.document.id,
                sha256=exhibit.sha256,
                words=len(tokens),
                hits=hits,
                copies=tuple(store.id(number) for number in copies[at]),
                sharing=ids,
                warnings=(
                    *of_text,
                    *_shared(text.name, ids),
                    *cautions_of_index(store, scored.numbers),
                    *_other_genre(text.name, hits),
                ),
            )
        )
    chance = searcher.chance
    ranks = np.zeros(0, int) if chance is None else chance.ranks[chance.others > 0]
    return SearchResult(
        index=str(store.folder),
        texts=len(store),
        prior_same_author=prior,
        log10_needed=log10(1 - prior) - log10(prior),
        false_hits=() if chance is None else _false_hits(chance, len(store), scale, verifier),
        measured=_measured(chance),
        trials=len(ranks),
        first=int((ranks == 1).sum()),
        among_ten=int(((ranks > 0) & (ranks <= 10)).sum()),
        searched=tuple(searched),
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
        language=verifier.main_language,
        language_given=verifier.language_given,
    )


def _hits(
    searcher: Searcher, scored: Scored, prior: float, scale: VerbalScale, states: bool
) -> Iterator[Hit]:
    """The hits of one text; unless it `states`, no statement is made, nor on foreign hits."""
    store, chance, factors = searcher.store, searcher.chance, scored.factors
    for at, number in enumerate(scored.numbers.tolist()):
        stated = states and not store.foreign[number]
        factor = float(factors.log_bayes_factor[at]) if stated else 0.0
        shard, row = store.place(number)
        probability = float(probability_same_author(factor, prior)) if stated else None
        yield Hit(
            id=store.id(number),
            author=store.author(number),
            topic=store.topic(number),
            words=round(float(np.exp(shard.levs.log_tokens[row]))),
            log10_bayes_factor=factor / LOG_10,
            verbal=scale.words(factor / LOG_10) if stated else NO_STATEMENT,
            probability_same_author=probability,
            at_bound=stated and bool(factors.at_bound[at]),
            other_genre=bool(factors.population_misfit[at]),
            expected_false_hits=(
                chance.expected(factor, len(store))[0] if chance is not None and stated else None
            ),
        )


def _shared(name: str, sharing: Sequence[str]) -> Iterator[Caution]:
    if sharing:
        yield caution(
            "shared_text",
            f"passages of {name} also stand in texts that would be hits: {listed(sharing)}",
            "they are not among the hits, since whoever quotes a text, or has the same "
            "boilerplate, looks like its author",
            "compare them with `adhominem verify`, which leaves such passages out; remove "
            "boilerplate from the text, and search again",
        )


def _other_genre(name: str, hits: Sequence[Hit]) -> Iterator[Caution]:
    if hits and sum(hit.other_genre for hit in hits) > _MANY_STRANGE * len(hits):
        yield caution(
            "other_genre_than_index",
            f"{name} does not lie among the texts of the index, which seem to be of another genre",
            "texts that share its genre look as if they shared its author, and the Bayes factors "
            "are too large",
            "search an index of texts of its genre, or compare the hits with `adhominem verify` "
            "and a population of that genre",
        )


def cautions_of_index(store: Store, numbers: IntArray) -> Iterator[Caution]:
    """What to beware of with an index, and with these of its texts."""
    foreign = [store.id(number) for number in numbers[store.foreign[numbers]].tolist()]
    if foreign:
        yield caution(
            "foreign",
            "texts of the index that are not running prose of a kind that the model knows "
            f"({len(foreign):,}): {listed(foreign)}",
            "no statement is made on them",
            "remove them with `adhominem index --remove ID`",
        )
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
    chance: Chance, texts: int, scale: VerbalScale, verifier: Verifier
) -> tuple[FalseHits, ...]:
    """The false hits to expect at each rung of the scale that can be reached."""
    calibration = verifier.calibration
    most = np.inf if calibration is None else calibration.widest(population=True)[1] / LOG_10
    rows = []
    for start, words in scale.rungs:
        if 0 < start <= most:
            number, how = chance.expected(start * LOG_10, texts)
            rows.append(
                FalseHits(log10_bayes_factor=start, words=words, expected=number, measured_by=how)
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
    searches = f", and {len(chance.trials):,} searches for texts of the index"
    return f"{len(chance.pairs):,} pairs of {whose}" + (searches if len(chance.trials) else "")
