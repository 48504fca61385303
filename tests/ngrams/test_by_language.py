"""Weights of n-grams learnt for several languages at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import NgramRun

from adhominem.errors import OptionError
from adhominem.ngrams.by_language import (
    Learner,
    _Frequencies,
    learn_by_language,
    marks_of,
    of_languages,
)
from adhominem.ngrams.config import NgramConfig, NgramTrainingOptions
from adhominem.ngrams.encoder import NgramEncoder
from adhominem.ngrams.table import NgramOptions, NgramTable
from adhominem.text.corpus import PackedCorpus
from adhominem.training.train import train
from adhominem.verify.verifier import load

CPU = torch.device("cpu")
CONFIG = NgramConfig(
    form="profile",
    lev_size=512,
    ngrams=NgramOptions(
        characters=400, tokens=100, bigrams=100, shaped_bigrams=100, unmasked=40, shapes=60
    ),
    training=NgramTrainingOptions(weight_steps=12, weight_rate=0.05, batch_authors=8),
)


def languages_of(run: NgramRun) -> dict[str, PackedCorpus]:
    """The corpora of a run as if each were a language of its own."""
    torch.set_num_threads(1)
    corpus = run.data.corpus
    return of_languages(corpus, [f"l{at}" for at in range(len(corpus.labels.corpus_names))])


def test_the_parts_of_a_corpus_have_its_texts(ngram_run: NgramRun) -> None:
    corpus = ngram_run.data.corpus
    parts = languages_of(ngram_run)
    texts = [
        [part.types[kind] for kind in part.document(at)]
        for part in parts.values()
        for at in range(len(part))
    ]
    whole = [[corpus.types[kind] for kind in corpus.document(at)] for at in range(len(corpus))]
    assert sorted(texts) == sorted(whole)
    assert all(len(part.types) == len(set(part.tokens.tolist())) for part in parts.values())


def test_frequencies_are_those_of_a_slow_count() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (9, 4, 6)).astype(np.uint8)
    frequencies = _Frequencies.of(torch.from_numpy(counts))
    for column in range(6):
        texts = [int(text[:, column].sum()) for text in counts]
        present = [count for count in texts if count]
        levels = [1 + np.log(count) if count else 0.0 for count in texts]
        assert frequencies.idf[column] == pytest.approx(
            -np.log((len(present) + 0.5) / 10), abs=1e-5
        )
        burst = np.log(max(1.0, sum(present) / max(1, len(present))))
        assert frequencies.burst[column] == pytest.approx(burst, abs=1e-5)
        assert frequencies.deviation[column] == pytest.approx(np.std(levels), abs=1e-3)
        assert frequencies.mean[column] == pytest.approx(np.mean(texts), abs=1e-5)


def test_each_kind_of_ngram_is_marked_as_what_it_is() -> None:
    tokens = ["The", "cat", "9", "The", "cat", "9", "sat"]
    types = list(dict.fromkeys(tokens))
    numbers = np.array([types.index(token) for token in tokens], np.uint32)
    options = NgramOptions(
        characters=200, tokens=3, bigrams=9, shaped_bigrams=9, unmasked=1, shapes=9
    )
    table = NgramTable.build(types, numbers, np.zeros(len(tokens), np.int64), options)
    marks = marks_of(table)
    rows = {
        ngram.parts: row
        for ngram, row in zip(table.ngrams(np.arange(len(marks))), marks.tolist(), strict=True)
        if ngram.channel == 0
    }
    # length 1 to 5; inside, begins, ends, whole; three other channels; letters, capital, digit
    assert rows[("\x02Th",)] == [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0]
    assert rows[("at\x03",)] == [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert rows[("\x029\x03",)] == [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    starts = np.cumsum([0, *table.sizes])
    for channel in (1, 2, 3):
        of_channel = marks[starts[channel] : starts[channel + 1]]
        assert len(of_channel)
        assert (of_channel[:, 9:12].argmax(axis=1) == channel - 1).all()
    assert marks[starts[2] :, 15:].any(axis=1).all()  # of two neighbours, one at least is masked


def test_the_loss_falls_and_the_seed_repeats_a_run(ngram_run: NgramRun) -> None:
    corpora = languages_of(ngram_run)
    config = replace(CONFIG, training=replace(CONFIG.training, weight_steps=120, cut=0.0))
    runs = []
    for _ in range(2):
        losses: list[float] = []
        factors = Learner(corpora, config, CPU).learn(
            lambda step, steps, loss, losses=losses: losses.append(loss)  # type: ignore[misc]
        )
        runs.append((losses, factors))
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(runs[0][1][name], runs[1][1][name]) for name in corpora)
    assert runs[0][0][-1] < runs[0][0][0]


def test_what_is_learnt_is_read_by_the_encoder_of_profiles(ngram_run: NgramRun) -> None:
    corpora = languages_of(ngram_run)
    for name, ngrams in learn_by_language(corpora, CONFIG, CPU).items():
        encoder = NgramEncoder(ngrams.table, ngrams.weights, CONFIG.lev_size, 4_000)
        corpus = corpora[name]
        texts = [[corpus.types[kind] for kind in corpus.document(at)] for at in range(3)]
        levs = encoder.encode(texts, [[]] * 3)
        assert levs.shape == (3, CONFIG.lev_size)
        assert np.linalg.norm(levs, axis=1).min() > 0.5


def test_too_few_authors_of_two_works_are_an_error(ngram_run: NgramRun) -> None:
    corpus = ngram_run.data.corpus
    work = np.zeros_like(corpus.labels.work)  # all texts are from one work
    one_work = replace(corpus, labels=replace(corpus.labels, work=work))
    with pytest.raises(OptionError, match="two works each"):
        learn_by_language({"de": one_work}, CONFIG, CPU)


def test_training_makes_one_model_of_the_languages_that_sources_are_named_after(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    corpus = ngram_run.data.corpus
    sources = [f"{'de' if at % 2 else 'fr'}-{at}" for at in range(len(corpus.labels.corpus_names))]
    named = replace(corpus, labels=replace(corpus.labels, corpus_names=sources))
    train(named, {}, tmp_path / "model", config=replace(CONFIG, by_language=True))
    verifier = load(tmp_path / "model")
    assert verifier.languages == ("de", "fr")
    assert set(sources) == set(verifier.lead.genres.names if verifier.lead.genres else ())
