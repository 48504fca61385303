"""A corpus whose texts are all compared with each other: what `cluster` and `map` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, Levs
from adhominem.errors import NotFoundError
from adhominem.jobs.run import Run
from adhominem.pairs.passages import originals, without_shared
from adhominem.questions.question import Texts
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.population import Population, distinct_levs
from adhominem.score.scorer import square
from adhominem.text.files import Document
from adhominem.text.sentences import count_words
from adhominem.verify.cautions import cautions_of_many, listed, passages_taken_out
from adhominem.verify.verifier import Verifier

MOST_DOCUMENTS = 1_000
# A few texts are often by fewer people, and then a poor population for each other: what two texts
# by one author have in common is taken for the genre. From this number on, the population helps if
# the model does not know the genre; if it does, from twice as many (`benchmarks/clustering.py
# --small`).
FEWEST_FOR_POPULATION = 15
POPULATION_OF_CORPUS = (
    "Texts of the same genre by anybody.  [default: input, the corpus itself, if it has "
    f"{FEWEST_FOR_POPULATION} texts or more; otherwise none]"
)
_SHORT_WORDS = 500  # of a text: below, there is little evidence in it
_LONG_WORDS = 4_000  # of a text: above, its genre is louder than its author, without a population


@dataclass(frozen=True)
class MappedDocument:
    """A document of a corpus, as an answer lists it."""

    name: str
    author: str  # empty where unknown
    words: int


@dataclass(frozen=True)
class ComparedCorpus:
    """The documents of a corpus, or a random sample of them, compared pair by pair."""

    name: str
    documents: list[Document]
    listed: tuple[MappedDocument, ...]
    originals: list[int]  # for each document the first one with the same text
    levs: Levs  # (documents, lev_size)
    population: Population | None
    population_name: str  # `input` for the documents themselves; `none`; or its path
    are_few: bool  # too few to be their own population, and no other was given
    scored: LogBayesFactors  # of all pairs
    no_statement: BoolArray  # (documents,)
    remarks_on_reading: list[str]

    def table(self, log_bayes_factor: FloatArray) -> FloatArray:
        """(documents, documents) from (pairs,): 0 without a statement, NaN on the diagonal."""
        factors = square(log_bayes_factor)
        factors[self.no_statement] = factors[:, self.no_statement] = 0.0
        np.fill_diagonal(factors, np.nan)
        return factors

    def remarks(self, verifier: Verifier, without_statement: str, *more: str) -> tuple[str, ...]:
        """Cautions for readers, with what it means that no statement is made on a text."""
        remarks = list(self.remarks_on_reading)
        if self.no_statement.any():
            names = [text.name for text in compress(self.listed, self.no_statement)]
            remarks.append(
                "no statement is made on texts that are not running prose of a kind that the model "
                f"knows: {listed(names)}; the Bayes factors of all pairs with them are 1, so "
                f"{without_statement}"
            )
        remarks += more
        if short := [text.name for text in self.listed if text.words < _SHORT_WORDS]:
            remarks.append(
                f"there is little evidence in texts of fewer than {_SHORT_WORDS} words: "
                f"{listed(short)}"
            )
        long = sum(text.words > _LONG_WORDS for text in self.listed)
        if long and self.population is None:
            remarks.append(
                f"{long:,} texts of more than {_LONG_WORDS:,} words without a population: what "
                "such texts of a genre have in common speaks louder than who wrote them"
            )
        copies = [
            f"{self.listed[at].name} = {self.listed[first].name}"
            for at, first in enumerate(self.originals)
            if first != at
        ]
        if copies:
            remarks.append(f"copies of one text say nothing about who wrote it: {listed(copies)}")
        cautions = cautions_of_many(verifier, self.population, verifier.misleading())
        remarks += [caution.message for caution in cautions]
        if self.scored.population_misfit.any():
            remarks.append(
                f"{np.mean(self.scored.population_misfit):.0%} of the pairs do not lie among the "
                "texts of the population, and were compared without it"
            )
        return tuple(remarks)


def compare_corpus(
    verifier: Verifier, run: Run, texts: Texts, population: Texts | None
) -> ComparedCorpus:
    """A corpus with the Bayes factors of all pairs of its texts.

    The population that is named `input` is the corpus itself, and `none` is none; by default it is
    the corpus if that has enough texts.
    """
    count, drawn = texts.count, len(texts.documents)
    remarks = []
    if count > drawn:
        remarks.append(
            f"the corpus has {count:,} documents; {drawn:,} of them were drawn at random"
        )
    relevant = None if population is None else population.relevant(verifier, run)
    documents, before = each_by_itself(texts.documents, remarks), len(run.skipped or ())
    with run.watch("encoding", len(documents)) as on_documents:
        good, levs = run.levs(verifier, documents, on_documents)
    if not good:
        raise NotFoundError(
            "no document can be read here; expected one or more", texts.path or texts.name
        )
    if unread := texts.unread + len(run.skipped or ()) - before:
        remarks.append(f"{unread:,} of the inputs could not be read, and are left out")
    are_few = False
    if population is None:
        different = len(distinct_levs(levs))
        are_few = different < FEWEST_FOR_POPULATION
        source = "none" if are_few else "input"
        if are_few and different > 1:
            remarks.append(
                f"{different} different texts are too few to be their own population: at least "
                f"{FEWEST_FOR_POPULATION} are needed"
            )
    else:
        source = population.name or ("given" if population else "none")
    if source == "input":
        relevant = verifier.population_of(levs)
    with run.watch("comparing", len(good) * (len(good) - 1) // 2) as on_pairs:
        scored = verifier.scorer.all_pairs(levs, relevant, on_pairs=on_pairs)
    return ComparedCorpus(
        name=texts.name or "texts",
        documents=good,
        listed=tuple(
            MappedDocument(
                document.id or f"document {at}",
                document.author.strip(),
                count_words(document.text),
            )
            for at, document in enumerate(good, start=1)
        ),
        originals=originals([document.text for document in good]),
        levs=levs,
        population=relevant,
        population_name=source,
        are_few=are_few,
        scored=scored,
        no_statement=verifier.no_statement_on(good),
        remarks_on_reading=remarks,
    )


def each_by_itself(documents: Sequence[Document], remarks: list[str]) -> list[Document]:
    """Texts without the passages that several of them share; a remark names these."""
    groups, taken_out = without_shared([[text] for text in documents])
    remarks += [caution.message for caution in passages_taken_out(taken_out)]
    return [text for (text,) in groups]
