"""Teach a model what running prose is like, so that it makes no statement on anything else."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from adhominem.errors import EmptyTextError, InputError, OptionError
from adhominem.jobs.inputs import Corpora, Watch, reading, unwatched
from adhominem.model.folder import is_shipped, model_folder
from adhominem.model.writing import write_prose
from adhominem.score.prose import Prose
from adhominem.text.readers import check_names
from adhominem.text.writing import locked
from adhominem.training.fit_prose import TEXTS, learn_lexicon, prose_samples
from adhominem.verify.verifier import load

Text = TypeVar("Text")


@dataclass(frozen=True)
class LearntProse:
    """What was learnt, and how many of the parts of each genre's texts would be called foreign."""

    model: Path
    texts: dict[str, int]  # by genre
    limit: float
    foreign: dict[str, float]  # shares, by genre


def learn_prose(
    model: str | Path,
    corpora: Corpora,
    *,
    texts: int = TEXTS,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> LearntProse:
    """Learn what prose is like from corpora, each a genre, and save it in the model's folder.

    Up to so many `texts` of each are taken, by chance. They should be prose, of all genres that the
    model is used for: what is unlike all of them will be called foreign. A few texts that are
    none do no harm: the farthest of each genre are left out.
    """
    folder = model_folder(model)
    if is_shipped(folder):
        raise OptionError(
            f"{folder.name} comes with the package; copy it first (cp -r {folder} my-model) and "
            "teach the copy"
        )
    tokenizer = load(folder).lead.tokenizer
    with locked(folder):
        with reading(corpora, "reading", watch) as (sources, on_bytes):
            check_names(sources)
            genres = {}
            for source in sources:
                documents = source.documents(
                    author_required=False, labelled=False, skipped=skipped, on_bytes=on_bytes
                )
                drawn = draw((document.text for document in documents), texts)
                if not drawn:
                    raise EmptyTextError(
                        "there is no text to learn from; expected one or more", source.path
                    )
                genres[source.name] = drawn
        lexicon = learn_lexicon(genres, tokenizer)
        with watch("learning", sum(map(len, genres.values()))) as on_texts:
            samples = prose_samples(genres, tokenizer, lexicon, on_texts)
        prose = Prose.fit(samples, lexicon)
        write_prose(folder, prose)
    foreign = prose.distances(samples.rates, samples.tokens) > prose.limit
    shares = {
        name: float(np.mean(foreign[samples.genre == at])) for at, name in enumerate(samples.genres)
    }
    counts = {name: len(drawn) for name, drawn in genres.items()}
    return LearntProse(folder, counts, prose.limit, shares)


def draw(texts: Iterable[Text], most: int) -> list[Text]:
    """So many texts of a stream that is read once, each as likely as the others."""
    chance = random.Random(0)
    drawn: list[Text] = []
    for number, text in enumerate(texts):
        if number < most:
            drawn.append(text)
        elif (place := chance.randrange(number + 1)) < most:
            drawn[place] = text
    return drawn
