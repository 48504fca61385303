"""Accounts of an index that may be one person: what `adhominem link` does."""

from __future__ import annotations

from pathlib import Path

from adhominem.errors import OptionError
from adhominem.index.searcher import Searcher
from adhominem.jobs.inputs import Watch, unwatched
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.search.link import RATE, Links, link_accounts
from adhominem.questions.verify.files import note_model
from adhominem.score.decision import VerbalScale
from adhominem.text.files import check_not_read, noting_inputs
from adhominem.text.writing import write_whole
from adhominem.verify.verifier import load

FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".html": "html", ".htm": "html"}


def link_index(
    index: str | Path,
    *,
    output: str | Path | None = None,
    model: str | Path = DEFAULT_MODEL,
    rate: float = RATE,
    limit: int | None = None,
    seed: int = 0,
    scale: str | Path | None = None,
    watch: Watch = unwatched,
) -> Links:
    """Pairs and groups of accounts of an index that may be one person, for people to decide.

    An account is an author, or a text without one. Links are told up to an expected share `rate` of
    false ones. Of more than `limit` texts, so many are searched for. An `output` that ends in .csv
    or .jsonl gets a row for each link, with room for a decision; one that ends in .html a page.
    """
    format = ""
    if output is not None:
        format = FORMATS.get(Path(output).suffix.lower(), "")
        if not format:
            raise OptionError(f"{output} has no known ending; expected {', '.join(FORMATS)}")
    with noting_inputs():
        verbal_scale = VerbalScale.read(scale) if scale else None
        verifier = load(model)
        note_model(model)
        if output is not None:
            check_not_read(output)
        searcher = Searcher(index, verifier)
        count = len(searcher.store) if limit is None else min(limit, len(searcher.store))
        with watch("linking", count) as on_texts:
            links = link_accounts(
                searcher, rate=rate, limit=limit, seed=seed, scale=verbal_scale, on_texts=on_texts
            )
        if output is not None:
            with write_whole(Path(output)) as file:
                file.write(_written(links, format))
    return links


def _written(links: Links, format: str) -> str:
    if format != "html":
        return links.table(format)
    from adhominem.questions.search.page import link_page

    return link_page(links)
