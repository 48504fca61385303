"""Texts searched for in an index: what `adhominem search` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adhominem.index.searcher import Searcher
from adhominem.jobs.inputs import Watch, check_page_name, unwatched
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.search.search import HITS, SearchResult, search_texts
from adhominem.questions.verify.files import note_model
from adhominem.score.decision import VerbalScale
from adhominem.text.exhibits import read_exhibits
from adhominem.text.files import check_not_read, noting_inputs
from adhominem.text.writing import write_whole
from adhominem.verify.verifier import load


def search_files(
    texts: str | Path | Sequence[str | Path],
    index: str | Path,
    *,
    output: str | Path | None = None,
    model: str | Path = DEFAULT_MODEL,
    k: int = HITS,
    prior_same_author: float | None = None,
    scale: str | Path | None = None,
    device: str = "cpu",
    watch: Watch = unwatched,
) -> SearchResult:
    """Search an index for texts by the authors of these texts, and say what the hits are worth.

    `texts` are files, folders of texts, or `-` for standard input; each is searched for by itself.
    The k texts with the largest Bayes factors are told. `prior_same_author` is how probable it is,
    before anything is read, that one certain text of the index is by the same author; by default 1
    in as many as there are texts. With an `output`, a page is written there.
    """
    if output is not None:
        check_page_name(output)
    paths = [texts] if isinstance(texts, str | Path) else list(texts)
    with noting_inputs():
        exhibits = read_exhibits(paths)
        verbal_scale = VerbalScale.read(scale) if scale else None
        verifier = load(model, device=device)
        note_model(model)
        if output is not None:
            check_not_read(output)
        with watch("searching", len(exhibits)) as on_texts:
            result = search_texts(
                Searcher(index, verifier),
                exhibits,
                k=k,
                prior_same_author=prior_same_author,
                scale=verbal_scale,
            )
            on_texts(len(exhibits))
        if output is not None:
            from adhominem.questions.search.page import search_page

            with write_whole(Path(output)) as file:
                file.write(search_page(result))
    return result
