"""Candidates ranked as authors of disputed texts: what `adhominem rank` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from adhominem.arrays import Levs
from adhominem.errors import InputError
from adhominem.jobs.inputs import Watch, check_page_name, unwatched
from adhominem.jobs.population import draw, in_order
from adhominem.jobs.workers import Encode as EncodeEach
from adhominem.jobs.workers import encode_documents, encoder
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.known import MOST_POPULATION, Encode
from adhominem.questions.rank.rank import rank_texts
from adhominem.questions.rank.ranking import Ranking
from adhominem.questions.rank.trust import MOST_TRIALS
from adhominem.questions.verify.files import note_model
from adhominem.score.decision import VerbalScale
from adhominem.text.exhibits import read_exhibits
from adhominem.text.files import Document, check_not_read, noting_inputs, readable_name
from adhominem.text.readers import Layout, find_sources, read_documents
from adhominem.text.writing import write_whole
from adhominem.verify.verifier import load


def rank(
    disputed: str | Path | Sequence[str | Path],
    candidates: str | Path,
    *,
    output: str | Path | None = None,
    model: str | Path = DEFAULT_MODEL,
    population: str | Path | None = None,
    prior_none: float = 0.5,
    one_by_one: bool = False,
    scale: str | Path | None = None,
    trials: int = MOST_TRIALS,
    seed: int = 0,
    jobs: int = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> Ranking:
    """Which of some candidates, if any, wrote a disputed text, and how strong is the evidence?

    `disputed` are files, folders of texts, or `-` for standard input; they are taken to be by one
    author, unless they are ranked `one_by_one`. `candidates` is a corpus with authors: a folder
    with one folder for each, for example. The prior probability of none of them is `prior_none`;
    the candidates share the rest evenly. Without a `population`, it is the texts of the other
    candidates. At most so many `trials` with known texts show how far to trust the answer. With an
    `output`, a page is written there, which also shows what speaks for the first candidates. What
    cannot be read of the candidates goes to `skipped`; without it, the first such thing is raised.
    """
    if output is not None:
        check_page_name(output)
    paths = [disputed] if isinstance(disputed, str | Path) else list(disputed)
    with noting_inputs():
        exhibits = read_exhibits(paths)
        verbal_scale = VerbalScale.read(scale) if scale else None
        with watch("reading"):
            known, unreadable = read_candidates(candidates, skipped)
            others = None if population is None else read_others(population, seed, skipped)
        verifier = load(model, device=device)
        note_model(model)
        if output is not None:
            check_not_read(output)
        with (
            encoder(model, verifier, jobs, device) as encode,
            watch("ranking", unit="share") as on_progress,
        ):
            ranking = rank_texts(
                verifier,
                exhibits,
                known,
                population=others,
                prior_none=prior_none,
                one_by_one=one_by_one,
                scale=verbal_scale,
                trials=trials,
                explained=output is not None,
                seed=seed,
                unreadable=unreadable,
                encode=encoding(encode, skipped),
                on_progress=on_progress,
            )
        if output is not None:
            from adhominem.questions.rank.page import rank_page

            with write_whole(Path(output)) as file:
                file.write(rank_page(ranking))
    return ranking


def encoding(encode: EncodeEach, skipped: list[InputError] | None) -> Encode:
    """How texts get their LEVs here; why one has none goes to `skipped`, or is raised."""

    def encode_all(documents: Sequence[Document]) -> tuple[list[Document], Levs]:
        return encode_documents(documents, encode, skipped)

    return encode_all


def read_candidates(
    path: str | Path, skipped: list[InputError] | None
) -> tuple[dict[str, list[Document]], list[str]]:
    """The known texts by author, and the folders of candidates in which none can be read."""
    candidates: dict[str, list[Document]] = {}
    empty: list[str] = []
    for source in find_sources(path):
        for document in source.documents(skipped=skipped):
            candidates.setdefault(document.author, []).append(document)
        if source.layout is Layout.AUTHOR_FOLDERS:
            with os.scandir(source.path) as entries:
                folders = [entry.name for entry in entries if entry.is_dir()]
            empty += [name for name in map(readable_name, folders) if not name.startswith(".")]
    return candidates, sorted(set(empty) - set(candidates))


def read_others(path: str | Path, seed: int, skipped: list[InputError] | None) -> list[Document]:
    """The texts of a population, or as many of them at random as are worth while."""
    documents = read_documents(path, author_required=False, labelled=False, skipped=skipped)
    return in_order(draw(documents, MOST_POPULATION, seed)[0])
