"""A corpus read and encoded, with the population that its texts are compared in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adhominem.arrays import Levs
from adhominem.errors import InputError, NotFoundError
from adhominem.jobs.inputs import Watch
from adhominem.jobs.population import draw, in_order, read_population
from adhominem.jobs.workers import Encode, encode_documents
from adhominem.pairs.passages import without_shared
from adhominem.score.population import Population, distinct_levs
from adhominem.text.files import Document, check_not_read, name_of
from adhominem.text.readers import read_documents
from adhominem.verify.cautions import passages_taken_out
from adhominem.verify.verifier import Verifier

MOST_DOCUMENTS = 1_000
# A few texts are often by fewer people, and a bad population of their own: what two by one author
# have in common then counts as the genre's. So many are better with it than without if the model
# does not know the genre; if it does, it takes twice as many (`benchmarks/clustering.py --small`).
FEWEST_OF_THEIR_OWN = 15


@dataclass(frozen=True)
class EncodedCorpus:
    """The documents of a corpus, or those of them that were drawn."""

    name: str
    documents: list[Document]
    levs: Levs  # (documents, lev_size)
    population: Population | None
    population_name: str  # `input`: the documents themselves; `none`; or where it was read
    remarks: list[str]
    are_few: bool = False  # too few to be their own population, and no other was given


def read_encoded(
    corpus: Path,
    verifier: Verifier,
    encode: Encode,
    *,
    population: str | Path | None,
    limit: int = MOST_DOCUMENTS,
    seed: int = 0,
    output: Path | None = None,
    skipped: list[InputError] | None,
    watch: Watch,
) -> EncodedCorpus:
    """All documents of a corpus, or `limit` of them drawn at random, with or without authors.

    `population` is where a relevant population lies; `input` stands for the corpus itself, `none`
    for none. If it is not given, it is `input` where the corpus has texts enough. An `output` must
    not be what is read. What cannot be read goes to `skipped`; without it, the first such thing is
    raised.
    """
    remarks: list[str] = []
    before = len(skipped or ())
    with watch("reading") as on_documents:
        found = read_documents(corpus, author_required=False, skipped=skipped)
        drawn, count = draw(found, limit, seed, on_documents)
    if output is not None:
        check_not_read(output)
    if count > len(drawn):
        remarks.append(
            f"the corpus has {count:,} documents; {len(drawn):,} of them were drawn at random"
        )
    texts = each_by_itself(in_order(drawn), remarks)
    with watch("encoding", len(texts)) as on_documents:
        documents, levs = encode_documents(texts, encode, skipped, on_documents)
    if not documents:
        raise NotFoundError("no document can be read here; expected one or more", corpus)
    if unread := len(skipped or ()) - before:
        remarks.append(f"{unread:,} of the inputs could not be read, and are left out")
    relevant: Population | None = None
    name = str(population or "input")
    if population is None:
        relevant, name = among_themselves(verifier, levs, remarks)
    elif name == "input":
        relevant = verifier.population_of(levs)
    elif name != "none":
        with watch("population") as on_documents:
            relevant = read_population(
                name,
                encode,
                verifier=verifier,
                seed=seed,
                skipped=skipped,
                on_documents=on_documents,
            )
    return EncodedCorpus(
        name=name_of(corpus),
        documents=documents,
        levs=levs,
        population=relevant,
        population_name=name,
        remarks=remarks,
        are_few=population is None and relevant is None,
    )


def each_by_itself(documents: Sequence[Document], remarks: list[str]) -> list[Document]:
    """Texts without the passages that several of them share, which a remark then names."""
    groups, taken_out = without_shared([[text] for text in documents])
    remarks += [caution.message for caution in passages_taken_out(taken_out)]
    return [text for (text,) in groups]


def among_themselves(
    verifier: Verifier, levs: Levs, remarks: list[str]
) -> tuple[Population | None, str]:
    """The population that texts are to each other, and what it is called; none of too few."""
    different = len(distinct_levs(levs))
    if different >= FEWEST_OF_THEIR_OWN:
        return verifier.population_of(levs), "input"
    if different > 1:
        remarks.append(
            f"{different} different texts are too few to be their own population: at least "
            f"{FEWEST_OF_THEIR_OWN} are needed"
        )
    return None, "none"
