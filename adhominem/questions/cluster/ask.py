"""How many people wrote some texts, and who wrote what: the question, and how it is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Annotated, Any, ClassVar

import adhominem
from adhominem.arrays import BoolArray
from adhominem.errors import InputError, OptionError
from adhominem.evaluation.pan import measure_clusters
from adhominem.jobs.encoded_corpus import MOST_DOCUMENTS, EncodedCorpus, drawn_of, encode_corpus
from adhominem.jobs.run import Run
from adhominem.pairs.passages import originals
from adhominem.questions.cluster.cluster import (
    PRIOR,
    ClusteredText,
    Clustering,
    cluster_originals,
)
from adhominem.questions.map.corpus_map import (
    MappedDocument,
    remarks_of,
    remarks_on_foreign,
    remarks_on_population,
    stated,
)
from adhominem.questions.question import EXAMPLE_TEXTS, Input, Question, Texts, answer_files
from adhominem.records import Offered, Within
from adhominem.score.population import Population
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

_PER_COMPARISON = 30  # characters of work, about: of two texts among many
_COMMAND = Offered(to=("command",))


@dataclass(frozen=True, kw_only=True)
class HowManyWriters(Question):
    """How many people wrote these texts, and who wrote what?

    Authors need not be known; where they are, the clusters are measured by them. Texts are put
    together as long as that is more probable than not, by their Bayes factors and the prior that
    you state: there is no number of clusters and no threshold to choose.
    """

    name: ClassVar[str] = "cluster"
    title: ClassVar[str] = "How many wrote these?"
    result: ClassVar[str] = "clustering"
    doing: ClassVar[str] = "Comparing the texts"
    runs_on: ClassVar[tuple[str, ...]] = ("jobs",)
    usage: ClassVar[str] = """
    CORPUS is a folder of texts, a folder with one folder an author, or a .jsonl file.

    \b
        adhominem cluster reviews/
        adhominem cluster reviews/ -o clusters.html
        adhominem cluster reviews/ --prior 0.05 --population other-reviews/
    """
    example: ClassVar[Mapping[str, Any]] = {
        "texts": [text for texts in EXAMPLE_TEXTS.values() for text in texts]
    }

    texts: Annotated[
        Texts,
        Input(metavar="CORPUS", called="text", most="limit", is_corpus=True),
    ]
    population: Annotated[
        Texts | None,
        Input(
            "Texts of the same genre by anybody, 5 or more. Left out: the texts themselves, if "
            "they are enough. An empty list: none.",
            option="--population",
            option_help="Texts of the same genre by anybody.  [default: input, the corpus itself, "
            "if it has 15 texts or more; otherwise none]",
            metavar="PATH|input|none",
        ),
    ] = None
    prior_same_author: Annotated[
        float,
        Within(above=0, below=1),
        Offered(option="--prior", field="prior"),
        "How probable it is that two texts are by one person, before they are read.",
    ] = PRIOR
    limit: Annotated[
        int, Within(2), _COMMAND, "Most documents; a larger corpus is sampled at random."
    ] = MOST_DOCUMENTS
    seed: Annotated[int, Within(0), _COMMAND, "Repeats a run."] = 0

    def work(self) -> int:
        """Each text is compared with each other one."""
        count = len(self.texts.documents)
        return _PER_COMPARISON * count * (count - 1) // 2

    def answer(self, verifier: Verifier, run: Run) -> Clustering:
        """The clusters of the texts."""
        texts, given = self.texts, self.population
        if len(texts.documents) < 2:
            raise InputError("there is one text; expected several to tell apart", texts.name)
        drawn = len(texts.documents)
        read = encode_corpus(
            verifier,
            run,
            texts.documents,
            name=texts.name or "texts",
            remarks=[drawn_of(texts.count, drawn)] if texts.count > drawn else [],
            unread=texts.unread,
            population=None if given is None else given.relevant(verifier, run),
            source=None if given is None else given.name or ("given" if given else "none"),
        )
        return _clustering(verifier, run, read, self.prior_same_author)


def cluster_corpus(corpus: str | Path, **options: Any) -> Clustering:
    """Say how many people wrote the texts of a corpus, and who wrote what.

    Options are the settings of `HowManyWriters`, a `population` as in `map_corpus`, and what
    `answer_files` takes. By default the population is the texts themselves, if they are many
    enough (`FEWEST_FOR_POPULATION`), and otherwise none. Where authors are known, the clusters are
    measured by them.
    """
    clustering: Clustering = answer_files(HowManyWriters, texts=corpus, **options)
    return clustering


def cluster_texts(
    verifier: Verifier,
    documents: Sequence[Document],
    *,
    name: str = "texts",
    prior_same_author: float = PRIOR,
    population: Population | None = None,
    alone: bool = False,
    run: Run | None = None,
) -> Clustering:
    """The clusters of texts in memory; without a `population`, it is these texts, if they are many.

    `alone` leaves that out: each pair is compared as if there were no other texts.
    """
    none = Texts(name="none") if alone else None
    question = HowManyWriters(
        texts=Texts(tuple(documents), name),
        population=none if population is None else Texts(population=population),
        prior_same_author=prior_same_author,
    )
    return question.answer(verifier.keeping(), run or Run())


def _clustering(
    verifier: Verifier, run: Run, read: EncodedCorpus, prior_same_author: float
) -> Clustering:
    texts = len(read.documents)
    first = originals([document.text for document in read.documents])
    if len(set(first)) < 2:
        raise OptionError("all texts are copies of one; expected several texts to tell apart")
    with run.watch("comparing", texts * (texts - 1) // 2) as on_pairs:
        scored = verifier.scorer.all_pairs(read.levs, read.population, on_pairs=on_pairs)
    foreign = verifier.no_statement_on(read.documents)  # (texts,)
    factors = stated(scored.log_bayes_factor, foreign)
    partition, clusters, told = cluster_originals(factors, prior_same_author, first)
    home = {text: cluster.number for cluster in clusters for text in cluster.texts}
    strange = verifier.foreign(read.documents, read.levs) & ~foreign
    mapped = [
        MappedDocument(
            document.id or f"document {at}",
            document.author.strip(),
            len(document.text.split()),
            bool(unlike),
        )
        for at, (document, unlike) in enumerate(zip(read.documents, strange, strict=True), start=1)
    ]
    known = [at for at, document in enumerate(mapped) if document.author]
    remarks = [
        *read.remarks,
        *remarks_on_foreign(
            [document.name for document in compress(mapped, foreign)],
            "the prior alone says whether they are by one person",
        ),
        *(_otherwise(verifier, read, foreign, prior_same_author, first) if read.are_few else ()),
        *remarks_of(mapped, read.documents, read.population is not None),
        *remarks_on_population(verifier, read.population, scored),
    ]
    return Clustering(
        corpus=read.name,
        authors=len(clusters),
        fewest_authors=partition.fewest,
        most_authors=partition.most,
        prior_same_author=prior_same_author,
        clusters=clusters,
        texts=tuple(
            ClusteredText(
                name=document.name,
                author=document.author,
                words=document.words,
                cluster=home[at],
                log10_bayes_factor=beside,
                nearest=nearest,
                nearest_log10_bayes_factor=factor,
            )
            for at, (document, (beside, nearest, factor)) in enumerate(
                zip(mapped, told, strict=True)
            )
        ),
        measures=measure_clusters([home[at] for at in known], [mapped[at].author for at in known])
        if known
        else None,
        population=read.population_name,
        population_texts=0 if read.population is None else read.population.texts,
        remarks=tuple(remarks),
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
    )


def _otherwise(
    verifier: Verifier,
    read: EncodedCorpus,
    foreign: BoolArray,
    prior_same_author: float,
    first: Sequence[int],
) -> Iterator[str]:
    """What a few texts would come out as if they were their own population.

    Without one, texts of a genre that the model does not know look alike, and seem to be by one
    person; with so few of their own, hardly any do. So where both agree, it is worth more.
    """
    with suppress(OptionError):  # very few texts cannot be a population
        scored = verifier.scorer.all_pairs(read.levs, verifier.population_of(read.levs))
        factors = stated(scored.log_bayes_factor, foreign)
        _, clusters, _ = cluster_originals(factors, prior_same_author, first)
        people = "author" if len(clusters) == 1 else "authors"
        yield f"if these texts were their own population, there would be {len(clusters)} {people}"
