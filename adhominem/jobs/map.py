"""The map of a corpus as one HTML file: read, encode, compare, draw."""

from __future__ import annotations

from pathlib import Path

from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.jobs.inputs import Watch, unwatched
from adhominem.jobs.population import draw, in_order, read_population
from adhominem.jobs.workers import encode_documents, encoder
from adhominem.map.corpus_map import CorpusMap, map_documents
from adhominem.map.page import write_map_page
from adhominem.map.tree import LINKAGES
from adhominem.scoring.population import Population
from adhominem.text.files import bare_stem, check_not_read, noting_inputs
from adhominem.text.readers import read_documents
from adhominem.verify.verifier import load

MOST_DOCUMENTS = 1_000
_SUFFIXES = (".html", ".htm")


def map_corpus(
    model: str | Path,
    corpus: str | Path,
    output: str | Path,
    *,
    population: str | Path | None = None,
    linkage: str = "average",
    limit: int = MOST_DOCUMENTS,
    seed: int = 0,
    jobs: int | None = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> CorpusMap:
    """Write the map of all documents of a corpus, or of `limit` of them drawn at random.

    `population` is where a relevant population lies; `input` stands for the corpus itself, `none`
    for none. If it is not given, it is `input` where the corpus has texts enough. What cannot be
    read goes to `skipped`; without it, the first such thing is raised.
    """
    corpus, output = Path(corpus), Path(output)
    if output.suffix.lower() not in _SUFFIXES:
        raise OptionError(f"the output is {output.name!r}; expected a name like map.html")
    if limit < 1 or linkage not in LINKAGES:  # before the work, not after it
        raise OptionError(
            f"limit {limit}, linkage {linkage!r}; expected a positive number, and one of "
            f"{', '.join(LINKAGES)}"
        )
    verifier = load(model)
    remarks: list[str] = []
    before = len(skipped or ())
    with noting_inputs(), encoder(model, verifier, jobs) as encode:
        with watch("reading") as on_documents:
            texts = read_documents(corpus, author_required=False, skipped=skipped)
            drawn, count = draw(texts, limit, seed, on_documents)
        check_not_read(output)
        if count > len(drawn):
            remarks.append(
                f"the corpus has {count:,} documents; {len(drawn):,} of them were drawn at random"
            )
        with watch("encoding", len(drawn)) as on_documents:
            documents, levs = encode_documents(in_order(drawn), encode, skipped, on_documents)
        if not documents:
            raise NotFoundError("no document can be read here; expected one or more", corpus)
        if unread := len(skipped or ()) - before:
            remarks.append(f"{unread:,} of the inputs could not be read, and are left out")
        relevant: Population | None = None
        name = str(population or "input")
        if name == "input":
            try:
                relevant = Population.of(levs)
            except OptionError:
                if population is not None:
                    raise
                name = "none"
                remarks.append("the corpus has too few texts to be its own population")
        elif name != "none":
            with watch("population") as on_documents:
                relevant = read_population(
                    name, encode, seed=seed, skipped=skipped, on_documents=on_documents
                )
        result = map_documents(
            verifier,
            documents,
            levs,
            corpus=bare_stem(corpus) if corpus.is_file() else corpus.resolve().name,
            population=relevant,
            population_name=name,
            linkage=linkage,
            seed=seed,
            remarks=remarks,
            watch=watch,
        )
        write_map_page(result, output)
    return result
