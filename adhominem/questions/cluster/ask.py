"""How many people wrote some texts, and who wrote what: the question, and how it is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from adhominem.errors import InputError, OptionError
from adhominem.evaluation.pan import ClusterMeasures, measure_clusters
from adhominem.jobs.run import Run
from adhominem.questions.cluster.cluster import (
    PRIOR,
    Cluster,
    cluster_originals,
)
from adhominem.questions.corpus import (
    MOST_DOCUMENTS,
    POPULATION_OF_CORPUS,
    ComparedCorpus,
    compare_corpus,
)
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Answer,
    Input,
    Question,
    Texts,
    made_by,
)
from adhominem.records import Offered, Within
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

_PER_COMPARISON = 30  # characters of work, about: of two texts among many
_COMMAND = Offered(to=("command",))


@dataclass(frozen=True, kw_only=True)
class ClusteredText:
    """A text, and why it is where it is."""

    name: str
    author: str  # empty where unknown
    words: int
    cluster: int
    log10_bayes_factor: float | None  # mean, with the other texts of its cluster; None: no others
    nearest: int | None  # the cluster, other than its own, with the greatest mean
    nearest_log10_bayes_factor: float | None


@dataclass(frozen=True, kw_only=True)
class Clustering(Answer):
    """How many people wrote the texts of a corpus, and who wrote what."""

    corpus: str
    authors: int  # clusters
    fewest_authors: int  # if all mergers were made whose odds are at least 1 to 10
    most_authors: int  # if clusters were taken apart until the odds are at least 10 to 1
    prior_same_author: float
    clusters: tuple[Cluster, ...]
    texts: tuple[ClusteredText, ...]
    measures: ClusterMeasures | None  # of the texts whose authors are known
    population: str  # `input`: the texts themselves; `none`; or where it was read
    population_texts: int
    remarks: tuple[str, ...]
    model: str
    model_sha256: str
    version: str


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
            option_help=POPULATION_OF_CORPUS,
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
        texts = self.texts
        if len(texts.documents) < 2:
            raise InputError("there is one text; expected several to tell apart", texts.name)
        compared = compare_corpus(verifier, run, texts, self.population)
        return _clustering(verifier, compared, self.prior_same_author)


def cluster_texts(
    verifier: Verifier,
    documents: Sequence[Document],
    *,
    prior_same_author: float = PRIOR,
    alone: bool = False,
) -> Clustering:
    """The clusters of texts in memory, with these texts as the population if they are many.

    `alone` leaves that out: each pair is compared as if there were no other texts.
    """
    question = HowManyWriters(
        texts=Texts(tuple(documents), "texts"),
        population=Texts(name="none") if alone else None,
        prior_same_author=prior_same_author,
    )
    return question.answer(question.keeper(verifier), Run())


def _clustering(
    verifier: Verifier, compared: ComparedCorpus, prior_same_author: float
) -> Clustering:
    first = compared.originals
    if len(set(first)) < 2:
        raise OptionError("all texts are copies of one; expected several texts to tell apart")
    factors = compared.table(compared.scored.log_bayes_factor)
    partition, clusters, neighbours = cluster_originals(factors, prior_same_author, first)
    home = {text: cluster.number for cluster in clusters for text in cluster.texts}
    known = [at for at, document in enumerate(compared.listed) if document.author]
    return Clustering(
        corpus=compared.name,
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
                **vars(beside),
            )
            for at, (document, beside) in enumerate(zip(compared.listed, neighbours, strict=True))
        ),
        measures=measure_clusters(
            [home[at] for at in known], [compared.listed[at].author for at in known]
        )
        if known
        else None,
        population=compared.population_name,
        population_texts=0 if compared.population is None else compared.population.texts,
        remarks=compared.remarks(
            verifier,
            "the prior alone says whether they are by one person",
            *(_otherwise(verifier, compared, prior_same_author) if compared.are_few else ()),
        ),
        **made_by(verifier),
    )


def _otherwise(
    verifier: Verifier, compared: ComparedCorpus, prior_same_author: float
) -> Iterator[str]:
    """What a few texts would come out as if they were their own population.

    Without one, texts of a genre that the model does not know look alike, and seem to be by one
    person; with so few of their own, hardly any do. So where both agree, it is worth more.
    """
    with suppress(OptionError):  # very few texts cannot be a population
        population = verifier.population_of(compared.levs)
        scored = verifier.scorer.all_pairs(compared.levs, population)
        factors = compared.table(scored.log_bayes_factor)
        _, clusters, _ = cluster_originals(factors, prior_same_author, compared.originals)
        people = "author" if len(clusters) == 1 else "authors"
        yield f"if these texts were their own population, there would be {len(clusters)} {people}"
