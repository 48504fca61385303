"""Where the learning of the n-gram encoder starts, and which of its states is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from conftest import NgramRun
from sklearn.metrics import roc_auc_score
from test_ngram_learning import FEW_STEPS, trainer_of

from adhominem.encoders.ngrams.counter import NgramCounter
from adhominem.errors import OptionError
from adhominem.text.corpus import PackedCorpus
from adhominem.training import ngram_loop as ngrams

Array = npt.NDArray[np.float64]


def counts_of(corpus: PackedCorpus, run: NgramRun, documents: Any) -> Array:
    """(documents, columns), of the first tokens that are read."""
    counter = NgramCounter(run.model.table)
    longest = FEW_STEPS.longest
    texts = [[corpus.types[kind] for kind in corpus.document(at)[:longest]] for at in documents]
    return np.array([counter.count(text) for text in texts], np.float64)


def slow_weigh(counts: Array, weights: Array, run: NgramRun) -> Array:
    values = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * weights
    for channel in run.model.table.channels:
        values[:, channel] /= 2 * np.linalg.norm(values[:, channel], axis=1, keepdims=True)
    return values


# Starts


def slow_start(run: NgramRun) -> Array:
    """TF-IDF, over the deviation within corpora and that of a channel's middle n-gram."""
    corpus = run.data.corpus
    counts = counts_of(corpus, run, range(len(corpus)))
    seen = (counts > 0).sum(axis=0)
    idf = np.log((1 + len(corpus)) / (1 + seen)) + 1
    values = slow_weigh(counts, idf, run)
    variance = np.zeros(len(idf))
    for kind in (0, 1):
        own = values[corpus.labels.corpus == kind]
        variance += np.square(own - own.mean(axis=0)).sum(axis=0) / len(corpus)
    for channel in run.model.table.channels:
        part = variance[channel]
        middle = np.sort(part)[(len(part) - 1) // 2]
        idf[channel] /= np.sqrt(part + middle)
    return idf


def test_the_weights_start_with_tf_idf_over_the_deviation_within_corpora(
    ngram_run: NgramRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngrams, "_DOCUMENTS_AT_ONCE", 9)
    found = trainer_of(ngram_run, FEW_STEPS)._start_weights()
    np.testing.assert_allclose(found, slow_start(ngram_run), rtol=1e-3)


def test_the_projection_starts_with_the_singular_vectors_of_texts_less_their_kind(
    ngram_run: NgramRun,
) -> None:
    torch.manual_seed(0)
    trainer, corpus = trainer_of(ngram_run, FEW_STEPS), ngram_run.data.corpus
    weights = slow_start(ngram_run)
    found = trainer._start_projection(torch.from_numpy(weights).float(), 10).double().numpy()
    values = slow_weigh(counts_of(corpus, ngram_run, range(len(corpus))), weights, ngram_run)
    for kind in (0, 1):
        own = corpus.labels.corpus == kind
        values[own] -= values[own].mean(axis=0)
    lengths = np.linalg.svd(values, compute_uv=False)[:10]
    np.testing.assert_allclose(found.T @ found, np.eye(10), atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(values @ found, axis=0), lengths, rtol=1e-2)


def test_more_dimensions_than_texts_are_refused(ngram_run: NgramRun) -> None:
    trainer = trainer_of(ngram_run, replace(FEW_STEPS, sample=5))
    with pytest.raises(OptionError, match="10 texts for 11 dimensions"):
        trainer.learn_projection(torch.ones(trainer.data.columns), 11)


def test_samples_are_some_documents_of_each_corpus_each_once(ngram_run: NgramRun) -> None:
    labels = ngram_run.data.corpus.labels
    trainer = trainer_of(ngram_run, FEW_STEPS)
    for most, size in ((9, 9), (1000, 70)):
        samples = trainer.samples(most)
        assert [set(labels.corpus[each].tolist()) for each in samples] == [{0}, {1}]
        assert [len(set(each.tolist())) for each in samples] == [size, size]


# Looks


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> tuple[list[dict[str, float]], list[Any]]:
    """What dev says at each look, to be filled in; the weights and projections it looked at."""
    says: list[dict[str, float]] = []
    seen: list[Any] = []

    def aucs(self: ngrams.NgramTrainer, weights: torch.Tensor, levs: Any) -> dict[str, float]:
        whole = torch.eye(len(weights))
        seen.append((weights.detach().clone(), levs(whole, False)[0].detach().clone()))
        return says[len(seen) - 1]

    monkeypatch.setattr(ngrams.NgramTrainer, "_aucs", aucs)
    return says, seen


@pytest.mark.parametrize("stage", ["weights", "projection"])
@pytest.mark.parametrize(
    ("dev", "best"),
    [
        ([{"a": 0.1}, {"a": 0.9}, {"a": 0.5}, {"a": 0.8}], 1),
        ([{"a": 0.9}, {"a": 0.1}, {"a": 0.9}, {"a": 0.2}], 0),  # the first of equals
        ([{"a": 0.1}, {"a": 0.2}, {"a": 0.3}, {"a": 0.4}], 3),
        ([{"a": 0, "b": 0.7}, {"a": 1, "b": 0}, {"a": 0.5, "b": 0.6}, {"a": 0, "b": 0.9}], 2),
    ],
)
def test_the_state_that_dev_likes_best_is_kept(
    stage: str, dev: list[dict[str, float]], best: int, ngram_run: NgramRun, states: Any
) -> None:
    says, seen = states
    says += dev
    looks: list[Any] = []
    trainer = trainer_of(ngram_run, FEW_STEPS, on_dev=lambda *told: looks.append(told))
    if stage == "weights":
        found = trainer.learn_weights()
        kept = [weights for weights, _ in seen]
    else:
        found = trainer.learn_projection(torch.ones(trainer.data.columns), 10)
        kept = [projection for _, projection in seen]
    assert looks == [(stage, step, told) for step, told in zip((0, 2, 4, 6), dev, strict=True)]
    assert [torch.equal(found, each) for each in kept] == [at == best for at in range(4)]


def test_without_dev_the_last_state_is_kept(ngram_run: NgramRun, states: Any) -> None:
    says, seen = states
    says += [{"a": number} for number in (1, 2, 3, 4)]
    last = trainer_of(ngram_run, FEW_STEPS).learn_weights()
    alone = trainer_of(ngram_run, FEW_STEPS, dev={}).learn_weights()
    assert len(seen) == 4
    assert torch.equal(last, alone)


def test_dev_is_asked_for_the_auc_of_the_cosine_around_the_sets_own_mean(
    ngram_run: NgramRun,
) -> None:
    found: list[dict[str, float]] = []
    trainer = trainer_of(ngram_run, FEW_STEPS, on_dev=lambda *told: found.append(told[2]))
    trainer.learn_weights()
    dev = ngram_run.data.dev["dev"]
    counts = counts_of(dev, ngram_run, range(len(dev)))
    values = slow_weigh(counts, slow_start(ngram_run), ngram_run)
    values -= values.mean(axis=0)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    cosine = [first @ second for first, second in zip(values[0::2], values[1::2], strict=True)]
    expected = roc_auc_score(dev.same_author, cosine)
    assert 0.6 < expected < 0.95
    assert found[0]["dev"] == pytest.approx(expected, abs=0.01)
