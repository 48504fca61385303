"""The map of a corpus as one HTML file: read, encode, compare, draw."""

from __future__ import annotations

from pathlib import Path

from adhominem.errors import InputError, OptionError
from adhominem.jobs.encoded_corpus import MOST_DOCUMENTS, read_encoded
from adhominem.jobs.run import Watch, unwatched
from adhominem.jobs.workers import encoder
from adhominem.questions.cluster.cluster import PRIOR
from adhominem.questions.map.corpus_map import CorpusMap, map_documents
from adhominem.questions.map.page import write_map_page
from adhominem.questions.map.tree import LINKAGES
from adhominem.text.files import noting_inputs, path_of
from adhominem.verify.verifier import load

_SUFFIXES = (".html", ".htm")


def map_corpus(
    model: str | Path,
    corpus: str | Path,
    output: str | Path,
    *,
    population: str | Path | None = None,
    linkage: str = "average",
    clusters: bool = False,
    prior_same_author: float = PRIOR,
    limit: int = MOST_DOCUMENTS,
    seed: int = 0,
    jobs: int | None = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> CorpusMap:
    """Write the map of all documents of a corpus, or of `limit` of them drawn at random.

    `population` is the path of a relevant population; `input` means the corpus itself, `none` means
    none. By default it is `input` if the corpus has enough texts. With `clusters`, the groups that
    `cluster_corpus` finds with this prior are drawn, too. Documents that cannot be read are
    appended to `skipped`; without it, the first of them raises.
    """
    corpus, output = path_of(corpus), path_of(output)
    if output.suffix.lower() not in _SUFFIXES:
        raise OptionError(f"the output is {output.name!r}; expected a name like map.html")
    if limit < 1 or linkage not in LINKAGES:  # before the work, not after it
        raise OptionError(
            f"limit {limit}, linkage {linkage!r}; expected a positive number, and one of "
            f"{', '.join(LINKAGES)}"
        )
    verifier = load(model, device=device)
    with noting_inputs(), encoder(model, verifier, jobs, device) as encode:
        read = read_encoded(
            corpus,
            verifier,
            encode,
            population=population,
            limit=limit,
            seed=seed,
            output=output,
            skipped=skipped,
            watch=watch,
        )
        result = map_documents(
            verifier,
            read.documents,
            read.levs,
            corpus=read.name,
            population=read.population,
            population_name=read.population_name,
            linkage=linkage,
            prior_same_author=prior_same_author if clusters else None,
            seed=seed,
            remarks=read.remarks,
            watch=watch,
        )
        write_map_page(result, output)
    return result
