"""The texts of a corpus by author, as far as the evidence goes: `adhominem cluster`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import compress
from pathlib import Path

import adhominem
from adhominem.arrays import BoolArray
from adhominem.errors import InputError, OptionError
from adhominem.evaluation.pan import measure_clusters
from adhominem.jobs.encoded_corpus import (
    MOST_DOCUMENTS,
    EncodedCorpus,
    among_themselves,
    each_by_itself,
    read_encoded,
)
from adhominem.jobs.inputs import Watch, check_page_name, unwatched
from adhominem.jobs.workers import encoder
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.pairs.passages import originals
from adhominem.questions.cluster.cluster import (
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
from adhominem.questions.verify.files import note_model
from adhominem.score.population import Population
from adhominem.text.files import Document, noting_inputs, path_of
from adhominem.text.writing import write_whole
from adhominem.verify.verifier import Verifier, load

PRIOR = 0.25  # that two clusters are by one person: what was tried is in docs/decisions.md


def cluster_corpus(
    corpus: str | Path,
    *,
    output: str | Path | None = None,
    model: str | Path = DEFAULT_MODEL,
    prior_same_author: float = PRIOR,
    population: str | Path | None = None,
    limit: int = MOST_DOCUMENTS,
    seed: int = 0,
    jobs: int | None = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> Clustering:
    """Say how many people wrote the texts of a corpus, and who wrote what.

    `prior_same_author` is how probable it is, before the texts are read, that two of them are by
    one person. `population` is as in `map_corpus`: by default the texts themselves, if they are
    many enough (`FEWEST_FOR_POPULATION`), and otherwise none. Where authors are known, the clusters
    are measured by them. With an `output`, a page is written there. Of more than `limit` documents,
    so many are drawn at random. What cannot be read goes to `skipped`; without it, the first such
    thing is raised.
    """
    if not 0 < prior_same_author < 1 or limit < 2:  # before the work, not after it
        raise OptionError(
            f"prior {prior_same_author}, limit {limit}; expected a prior of more than 0 and less "
            "than 1, and at least two texts"
        )
    if output is not None:
        check_page_name(output)
    verifier = load(model)
    with noting_inputs(), encoder(model, verifier, jobs) as encode:
        note_model(model)
        read = read_encoded(
            path_of(corpus),
            verifier,
            encode,
            population=population,
            limit=limit,
            seed=seed,
            output=None if output is None else Path(output),
            skipped=skipped,
            watch=watch,
        )
        if len(read.documents) < 2:
            raise InputError("there is one text; expected several to tell apart", corpus)
        clustering = cluster_encoded(verifier, read, prior_same_author, watch)
        if output is not None:
            from adhominem.questions.cluster.page import cluster_page

            with write_whole(Path(output)) as file:
                file.write(cluster_page(clustering))
    return clustering


def cluster_texts(
    verifier: Verifier,
    documents: Sequence[Document],
    *,
    name: str = "texts",
    prior_same_author: float = PRIOR,
    population: Population | None = None,
    alone: bool = False,
    watch: Watch = unwatched,
) -> Clustering:
    """The clusters of texts in memory; without a `population`, it is these texts, if they are many.

    `alone` leaves that out: each pair is compared as if there were no other texts.
    """
    if len(documents) < 2:
        raise OptionError("there is one text; expected several to tell apart")
    remarks: list[str] = []
    documents = each_by_itself(documents, remarks)
    levs = verifier.encode(documents)
    source = "none" if population is None else "given"
    if population is None and not alone:
        population, source = among_themselves(verifier, levs, remarks)
    read = EncodedCorpus(
        name=name,
        documents=documents,
        levs=levs,
        population=population,
        population_name=source,
        remarks=remarks,
        are_few=population is None and not alone,
    )
    return cluster_encoded(verifier, read, prior_same_author, watch)


def cluster_encoded(
    verifier: Verifier,
    read: EncodedCorpus,
    prior_same_author: float = PRIOR,
    watch: Watch = unwatched,
) -> Clustering:
    """The clusters of texts that are encoded already."""
    texts = len(read.documents)
    first = originals([document.text for document in read.documents])
    if len(set(first)) < 2:
        raise OptionError("all texts are copies of one; expected several texts to tell apart")
    with watch("comparing", texts * (texts - 1) // 2) as on_pairs:
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
    with suppress(OptionError):  # very few are no population at all
        scored = verifier.scorer.all_pairs(read.levs, verifier.population_of(read.levs))
        factors = stated(scored.log_bayes_factor, foreign)
        _, clusters, _ = cluster_originals(factors, prior_same_author, first)
        people = "author" if len(clusters) == 1 else "authors"
        yield f"if these texts were their own population, there would be {len(clusters)} {people}"
