"""The training of a phrase model: in how many texts phrases are, and what follows from it.

All is counted in one pass, in some minutes. A run that was stopped begins again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import adhominem
from adhominem.arrays import AnyFloats, FloatArray, IntArray, SparseRows, joined
from adhominem.config import PhraseConfig
from adhominem.encoders.phrases.encoder import PhraseEncoder
from adhominem.encoders.phrases.hashing import places_of
from adhominem.evaluation.pan import auc
from adhominem.models.card import phrase_card
from adhominem.models.layout import COURSE
from adhominem.models.member import PhraseModel
from adhominem.models.writing import write_phrase_model, write_styles, write_training_authors
from adhominem.scoring.departures import Departures
from adhominem.scoring.rows import column_means
from adhominem.text.corpus import PackedCorpus
from adhominem.text.lexicon import Numbered
from adhominem.text.writing import write_folder
from adhominem.training.checkpoint import Event, Task
from adhominem.training.fit_styles import styles_of, training_levs
from adhominem.training.ngram_loop import samples_of

_AT_ONCE = 256  # documents
_STAGE = "weights"


def train_phrases(task: Task[PhraseConfig], output: Path) -> None:
    """Count phrases, and write the model."""
    corpus, config = task.corpus, task.config
    weights = phrase_weights(task).astype(np.float16)
    event: Event = {"event": "dev", "stage": _STAGE, "step": 1, "dev": _aucs(task, weights)}
    scores = {name: {"auc": value} for name, value in event["dev"].items()}
    if scores:
        event["dev_auc"] = float(np.mean(list(event["dev"].values())))
        task.on_event(event)
    arrays = {"weights": weights}
    with write_folder(output) as folder:
        write_phrase_model(
            folder,
            config=config,
            weights=arrays,
            scores=scores,
            card=phrase_card(config, corpus.description, scores),
            version=adhominem.__version__,
        )
        model = PhraseModel(config=config, weights=arrays, scores=scores, folder=folder)
        write_styles(folder, styles_of(corpus, *training_levs(model, corpus)))
        write_training_authors(folder, corpus.labels.author_names)
        course = json.dumps(event) + "\n" if scores else ""
        (folder / COURSE.name).write_text(course, "utf-8")


def phrase_weights(task: Task[PhraseConfig]) -> FloatArray:
    """(lev_size,): the weight of each place, by the share of texts that have a phrase there.

    It is the mean of the corpora's shares, so that no large one decides. What any place has by
    chance, since so many phrases share it, is taken off.
    """
    options, size = task.config.training, task.config.lev_size
    samples = samples_of(task.corpus.labels, options.sample, options.seed)
    shares = []
    for at, documents in enumerate(samples):
        having = np.zeros(size)
        for places in _places(task, documents):
            having[places] += 1
        shares.append(_beyond_chance(having / len(documents)))
        step = {"step": at, "steps": len(samples), "loss": 0.0}
        task.on_event({"event": "step", "stage": _STAGE, **step})
    share: FloatArray = np.array(shares).mean(axis=0)
    return np.maximum(0, -np.log(share + 1 / options.rarest))


def _beyond_chance(shares: FloatArray) -> FloatArray:
    """(places,): the shares of texts, as they would be if no phrases shared a place by chance.

    Most places are of phrases that are all rare, so theirs are the shares that come by chance: a
    text has the phrase of a place with share p, or another by chance c, so 1 - (1 - p)(1 - c).
    """
    by_chance = float(np.median(shares))
    return np.maximum(0, (shares - by_chance) / max(1 - by_chance, 1e-9))


def _places(task: Task[PhraseConfig], documents: IntArray) -> Iterator[IntArray]:
    """Of each document, the places of its phrases, each once."""
    config = task.config
    encoder = PhraseEncoder(np.ones(config.lev_size), config.longest)
    for at in range(0, len(documents), _AT_ONCE):
        texts = _texts(task.corpus, documents[at : at + _AT_ONCE], config.training.tokens)
        for hashes in encoder.distinct(texts):
            yield np.unique(places_of(hashes, config.lev_size))


def _texts(corpus: PackedCorpus, documents: IntArray, most: int | None = None) -> Numbered:
    tokens = [corpus.document(int(document))[:most] for document in documents]
    return Numbered.of([[corpus.types[number] for number in text] for text in tokens])


def _aucs(task: Task[PhraseConfig], weights: AnyFloats) -> dict[str, float]:
    """The AUC of the cosine on each dev set, whose texts are seen from their mean."""
    encoder, aucs = PhraseEncoder(weights, task.config.longest), {}
    for name, pairs in task.dev.items():
        assert pairs.same_author is not None
        documents = np.arange(len(pairs))
        parts: list[SparseRows] = [
            encoder.encode_numbered(_texts(pairs, documents[at : at + _AT_ONCE]), [])
            for at in range(0, len(documents), _AT_ONCE)
        ]
        levs = joined(parts)
        seen = Departures.of(levs, column_means(levs))
        cosines = seen.cosines_among(documents[0::2], documents[1::2])
        aucs[name] = auc(cosines, pairs.same_author)
    return aucs
