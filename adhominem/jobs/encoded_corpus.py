"""A corpus read and encoded, with the population that its texts are compared against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adhominem.arrays import Levs
from adhominem.errors import InputError, NotFoundError
from adhominem.jobs.run import Run, Watch, draw, read_population
from adhominem.jobs.workers import Encode
from adhominem.pairs.passages import without_shared
from adhominem.score.population import Population, distinct_levs
from adhominem.text.files import Document, check_not_read, name_of
from adhominem.text.readers import read_documents
from adhominem.verify.cautions import passages_taken_out
from adhominem.verify.verifier import Verifier

MOST_DOCUMENTS = 1_000
# A few texts are often by fewer people, and then a poor population for each other: what two texts
# by one author have in common is taken for the genre. From this number on, the population helps if
# the model does not know the genre; if it does, from twice as many (`benchmarks/clustering.py
# --small`).
FEWEST_FOR_POPULATION = 15


@dataclass(frozen=True)
class EncodedCorpus:
    """The documents of a corpus, or a random sample of them, with their LEVs."""

    name: str
    documents: list[Document]
    levs: Levs  # (documents, lev_size)
    population: Population | None
    population_name: str  # `input` for the documents themselves; `none`; or its path
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
    """Read and encode all documents of a corpus, or `limit` of them drawn at random.

    `population` is the path of a relevant population; `input` means the corpus itself, `none` means
    none. By default it is `input` if the corpus has enough texts. An `output` must not be one of
    the files read. Documents that cannot be read are appended to `skipped`; without it, the first
    of them raises.
    """
    run, remarks = Run(watch, skipped, encode), list[str]()
    with watch("reading") as on_documents:
        texts = read_documents(corpus, author_required=False, skipped=skipped)
        drawn, count = draw(texts, limit, seed, on_documents)
    if output is not None:
        check_not_read(output)
    if count > len(drawn):
        remarks.append(drawn_of(count, len(drawn)))
    unread, relevant = len(skipped or ()), None
    if population not in (None, "input", "none"):
        with watch("population") as on_documents:
            relevant = read_population(
                str(population),
                encode,
                verifier=verifier,
                seed=seed,
                skipped=skipped,
                on_documents=on_documents,
            )
    return encode_corpus(
        verifier.keeping(),
        run,
        drawn,
        name=name_of(corpus),
        remarks=remarks,
        unread=unread,
        population=relevant,
        source=None if population is None else str(population),
    )


def drawn_of(count: int, drawn: int) -> str:
    """The remark on a corpus of which some documents were drawn."""
    return f"the corpus has {count:,} documents; {drawn:,} of them were drawn at random"


def encode_corpus(
    verifier: Verifier,
    run: Run,
    documents: Sequence[Document],
    *,
    name: str,
    remarks: Sequence[str] = (),
    unread: int = 0,
    population: Population | None = None,
    source: str | None = None,
) -> EncodedCorpus:
    """Documents with their LEVs, in the `population` that is called `source`.

    `input` stands for the documents themselves, `none` for none; if the source is None, it is
    `input` where they are enough. So many have been found `unread` before.
    """
    remarks = list(remarks)
    texts, before = each_by_itself(documents, remarks), len(run.skipped or ())
    with run.watch("encoding", len(texts)) as on_documents:
        good, levs = run.levs(verifier, texts, on_documents)
    if not good:
        raise NotFoundError("no document can be read here; expected one or more", name)
    if unread := unread + len(run.skipped or ()) - before:
        remarks.append(f"{unread:,} of the inputs could not be read, and are left out")
    are_few = False
    if source is None:
        population, source = among_themselves(verifier, levs, remarks)
        are_few = population is None
    elif source == "input":
        population = verifier.population_of(levs)
    return EncodedCorpus(name, good, levs, population, source, remarks, are_few)


def each_by_itself(documents: Sequence[Document], remarks: list[str]) -> list[Document]:
    """Texts without the passages that several of them share; a remark names these."""
    groups, taken_out = without_shared([[text] for text in documents])
    remarks += [caution.message for caution in passages_taken_out(taken_out)]
    return [text for (text,) in groups]


def among_themselves(
    verifier: Verifier, levs: Levs, remarks: list[str]
) -> tuple[Population | None, str]:
    """The population that the texts form for each other, and its name; none if too few."""
    different = len(distinct_levs(levs))
    if different >= FEWEST_FOR_POPULATION:
        return verifier.population_of(levs), "input"
    if different > 1:
        remarks.append(
            f"{different} different texts are too few to be their own population: at least "
            f"{FEWEST_FOR_POPULATION} are needed"
        )
    return None, "none"
