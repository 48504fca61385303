"""Learning of the n-gram encoder: what a batch holds, what is minimised, where it starts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from conftest import NgramRun
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from adhominem.errors import OptionError
from adhominem.evaluation.pan import auc
from adhominem.ngrams import training as ngrams
from adhominem.ngrams.config import NgramTrainingOptions
from adhominem.ngrams.counter import NgramCounter
from adhominem.ngrams.encoder import NgramEncoder, NgramVariants
from adhominem.ngrams.training import DeviceNgrams, NgramTrainer, samples_of, weigh
from adhominem.text.corpus import Labels, PackedCorpus

CPU = torch.device("cpu")
FEW_STEPS = NgramTrainingOptions(
    weight_steps=6,
    projection_steps=6,
    batch_authors=6,
    companion=8,
    shortest=30,
    longest=300,
    dev_every=2,
)


def trainer_of(run: NgramRun, options: NgramTrainingOptions, **more: Any) -> NgramTrainer:
    torch.set_num_threads(1)
    dev = more.pop("dev", run.data.dev)
    return NgramTrainer(run.data.corpus, dev, run.model.table, options, CPU, auc, **more)


def learn_projection(trainer: NgramTrainer, weights: torch.Tensor) -> torch.Tensor:
    return trainer.learn_projection(weights, trainer.start_projection(weights, 10))


def words_of(corpus: PackedCorpus, document: int) -> list[str]:
    return [corpus.types[kind] for kind in corpus.document(document)]


# Counting on the device


@settings(max_examples=25)
@given(data=st.data())
def test_parts_of_documents_are_counted_as_at_inference(
    data: st.DataObject, ngram_run: NgramRun
) -> None:
    corpus, table = ngram_run.data.corpus, ngram_run.model.table
    documents = data.draw(st.lists(st.integers(0, len(corpus) - 1), min_size=1, max_size=5))
    lengths = [data.draw(st.integers(1, int(corpus.lengths[at]))) for at in documents]
    starts = [
        data.draw(st.integers(0, int(corpus.lengths[at]) - length))
        for at, length in zip(documents, lengths, strict=True)
    ]
    on_device = DeviceNgrams(corpus, table, CPU)
    found = on_device.count(np.array(documents), np.array(starts), np.array(lengths))
    counter = NgramCounter(table)
    expected = [
        counter.count(words_of(corpus, at)[start : start + length])
        for at, start, length in zip(documents, starts, lengths, strict=True)
    ]
    np.testing.assert_array_equal(found.numpy(), expected)


def test_whole_documents_are_counted_from_their_beginning_up_to_a_length(
    ngram_run: NgramRun,
) -> None:
    corpus, table = ngram_run.data.corpus, ngram_run.model.table
    documents = np.array([3, 0, 3, 7])
    found = DeviceNgrams(corpus, table, CPU).whole(documents, 150)
    assert min(corpus.lengths) < 150 < max(corpus.lengths[documents])
    expected = [NgramCounter(table).count(words_of(corpus, at)[:150]) for at in documents]
    np.testing.assert_array_equal(found.numpy(), expected)


def test_ngrams_weigh_as_much_as_at_inference(ngram_run: NgramRun) -> None:
    model, corpus = ngram_run.model, ngram_run.data.corpus
    texts = [words_of(corpus, at) for at in range(20)] + [["the"], ["§"]]
    counter = NgramCounter(model.table)
    encoder = NgramEncoder(model.table, model.weights, model.config.lev_size, longest=10_000)
    counts = torch.from_numpy(np.array([counter.count(text) for text in texts]))
    learnt = torch.from_numpy(model.weights["weights"].astype(np.float32))
    found = weigh(counts, learnt, model.table.channels).numpy()
    for text, row in zip(texts, found, strict=True):
        expected, _ = NgramVariants(encoder, text, np.zeros(1, np.int64)).values()
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-7)


# Batches


def batches_of(trainer: NgramTrainer, count: int) -> list[Any]:
    return list(islice(trainer._batches("weights"), count))


def test_a_batch_has_two_texts_of_different_works_of_each_author_of_one_corpus(
    ngram_run: NgramRun,
) -> None:
    labels = ngram_run.data.corpus.labels
    unknown_twice = 0
    corpora: Counter[int] = Counter()
    for documents, _, _ in batches_of(trainer_of(ngram_run, FEW_STEPS), 100):
        first, second = np.split(documents, 2)
        authors = labels.author[first]
        assert (authors == labels.author[second]).all()
        assert len(set(authors.tolist())) == len(authors) == 6
        (corpus,) = set(labels.corpus[documents].tolist())
        corpora[corpus] += 1
        works = labels.work[np.array([first, second])]
        assert ((works[0] != works[1]) | (works[0] == -1)).all()
        assert (first != second).all()
        unknown_twice += int((works == -1).all(axis=0).sum())
    assert unknown_twice > 10  # texts of unknown works are taken to be of different ones
    assert min(corpora.values()) > 30
    assert len(corpora) == 2


def test_parts_lie_within_their_documents_and_are_as_long_as_options_say(
    ngram_run: NgramRun,
) -> None:
    lengths = ngram_run.data.corpus.lengths
    for cut, shares in ((0.0, (0, 0)), (0.4, (0.3, 0.5)), (1.0, (0.95, 1))):
        trainer = trainer_of(ngram_run, replace(FEW_STEPS, cut=cut))
        shortened = []
        begins = []
        for documents, starts, sizes in batches_of(trainer, 40):
            assert (starts >= 0).all()
            assert (starts + sizes <= lengths[documents]).all()
            longest = np.minimum(lengths[documents], 300)
            assert (np.minimum(longest, 30) <= sizes).all()
            assert (sizes <= longest).all()
            shortened += (sizes < longest).tolist()
            begins += starts.tolist()
        assert shares[0] <= np.mean(shortened) <= shares[1]
        assert len(set(begins)) > 20


def relabelled(corpus: PackedCorpus, **labels: npt.NDArray[np.int32]) -> PackedCorpus:
    return replace(corpus, labels=replace(corpus.labels, **labels))


def test_authors_of_one_work_are_not_learnt_from_and_some_must_be_left(
    ngram_run: NgramRun,
) -> None:
    corpus = ngram_run.data.corpus
    labels: Labels = corpus.labels
    lonely = labels.author[0]
    work = np.where(labels.author == lonely, 0, labels.work).astype(np.int32)
    data = replace(ngram_run.data, corpus=relabelled(corpus, work=work))
    trainer = trainer_of(replace(ngram_run, data=data), replace(FEW_STEPS, batch_authors=99))
    seen = {int(a) for batch in batches_of(trainer, 20) for a in labels.author[batch[0]]}
    assert seen == set(labels.author.tolist()) - {int(lonely)}
    data = replace(ngram_run.data, corpus=relabelled(corpus, work=np.zeros_like(labels.work)))
    trainer = trainer_of(replace(ngram_run, data=data), FEW_STEPS)
    with pytest.raises(OptionError, match="no corpus has two authors with two works"):
        batches_of(trainer, 1)


# Learning


def test_the_loss_is_that_of_finding_each_text_of_an_author_among_those_of_all(
    ngram_run: NgramRun,
) -> None:
    losses: list[float] = []
    options = replace(FEW_STEPS, companion=0, cut=1.0)
    trainer = trainer_of(
        ngram_run, options, dev={}, on_event=lambda event: losses.append(event["loss"])
    )
    documents, starts, sizes = batches_of(trainer, 1)[0]
    trainer.learn_weights()
    corpus, table = ngram_run.data.corpus, ngram_run.model.table
    start = trainer._start_weights()
    counts = [
        NgramCounter(table).count(words_of(corpus, document)[begin : begin + size])
        for document, begin, size in zip(documents, starts, sizes, strict=True)
    ]
    values = weigh(torch.from_numpy(np.array(counts)), start, table.channels).double().numpy()
    values -= values.mean(axis=0)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    scores = 15 * values[:6] @ values[6:].T
    slow = [
        np.log(np.exp(row).sum()) - row[at]
        for table_ in (scores, scores.T)
        for at, row in enumerate(table_)
    ]
    assert losses[0] == pytest.approx(np.mean(slow), rel=1e-4)
    assert len(losses) == 6


@pytest.mark.parametrize("stage", ["weights", "projection"])
def test_the_loss_falls_in_both_stages(stage: str, ngram_run: NgramRun) -> None:
    options = replace(
        FEW_STEPS,
        weight_steps=60,
        projection_steps=60,
        companion=0,
        batch_authors=14,
        cut=0.0,
        dropout=0.0,
        weight_rate=0.1,
        projection_rate=0.01,
    )
    losses: list[float] = []
    trainer = trainer_of(
        ngram_run, options, dev={}, on_event=lambda event: losses.append(event["loss"])
    )
    if stage == "weights":
        trainer.learn_weights()
    else:
        learn_projection(trainer, trainer._start_weights())
    assert np.mean(losses[-15:]) < 0.8 * np.mean(losses[:15])


def test_a_seed_repeats_both_stages_and_another_one_does_not(ngram_run: NgramRun) -> None:
    def both(seed: int) -> list[torch.Tensor]:
        trainer = trainer_of(ngram_run, replace(FEW_STEPS, seed=seed), dev={})
        weights = trainer.learn_weights()
        return [weights, learn_projection(trainer, weights)]

    torch.manual_seed(5)
    once = both(1)
    torch.manual_seed(6)  # what was drawn before does not matter
    again, other = both(1), both(2)
    for one, two, three in zip(once, again, other, strict=True):
        assert torch.equal(one, two)
        assert not torch.allclose(one, three)


def test_runs_start_alike_and_draw_other_batches(ngram_run: NgramRun) -> None:
    losses: dict[str, list[float]] = {}

    def hear(event: dict[str, Any]) -> None:
        losses.setdefault(event["stage"], []).append(event["loss"])

    options = replace(FEW_STEPS, runs=2, dropout=0.0)
    trainer = trainer_of(ngram_run, options, dev={}, on_event=hear)
    weights = [trainer.learn_weights(run) for run in (0, 1)]
    start = trainer.start_projection(weights[0], 10)
    kept = start.clone()
    projections = [trainer.learn_projection(weights[0], start, run) for run in (0, 1)]
    assert torch.equal(start, kept)  # of which all runs begin
    alone = trainer_of(ngram_run, replace(options, runs=1), dev={})
    assert torch.equal(alone.learn_weights(), weights[0])
    for one, other in (weights, projections):
        assert not torch.allclose(one, other)
    titles = [f"{stage}, run {run} of 2" for stage in ("weights", "projection") for run in (1, 2)]
    assert list(losses) == titles
    assert losses[titles[0]][0] != losses[titles[1]][0]
    first, second = (list(islice(trainer._batches("weights", run), 20)) for run in (0, 1))
    assert any(not np.array_equal(one[0], two[0]) for one, two in zip(first, second, strict=True))


def test_runs_do_not_share_what_dropout_hides(
    ngram_run: NgramRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(FEW_STEPS, runs=2, dropout=0.5)
    trainer = trainer_of(ngram_run, options, dev={})
    batch = batches_of(trainer, 1)[0]
    monkeypatch.setattr(trainer, "_batches", lambda stage, run: iter([batch] * 10))
    weights = trainer._start_weights()
    start = trainer.start_projection(weights, 10)
    first, second = (trainer.learn_projection(weights, start, run) for run in (0, 1))
    assert not torch.allclose(first, second)


# Where the learning of the n-gram encoder starts, and which of its states is kept.


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
    trainer, corpus = trainer_of(ngram_run, FEW_STEPS), ngram_run.data.corpus
    weights = slow_start(ngram_run)
    found = trainer.start_projection(torch.from_numpy(weights).float(), 10).double().numpy()
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
        trainer.start_projection(torch.ones(trainer.data.columns), 11)


def test_samples_are_some_documents_of_each_corpus_each_once(ngram_run: NgramRun) -> None:
    labels = ngram_run.data.corpus.labels
    for most, size in ((9, 9), (1000, 70)):
        samples = samples_of(labels, most, 0)
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
    events: list[dict[str, Any]] = []
    trainer = trainer_of(ngram_run, FEW_STEPS, on_event=events.append)
    if stage == "weights":
        found = trainer.learn_weights()
        kept = [weights for weights, _ in seen]
    else:
        found = learn_projection(trainer, torch.ones(trainer.data.columns))
        kept = [projection for _, projection in seen]
    evaluations = [event for event in events if event["event"] == "dev"]
    assert [(event["stage"], event["step"], event["dev"]) for event in evaluations] == [
        (stage, step, aucs) for step, aucs in zip((0, 2, 4, 6), dev, strict=True)
    ]
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
    events: list[dict[str, Any]] = []
    trainer = trainer_of(ngram_run, FEW_STEPS, on_event=events.append)
    trainer.learn_weights()
    dev = ngram_run.data.dev["dev"]
    counts = counts_of(dev, ngram_run, range(len(dev)))
    values = slow_weigh(counts, slow_start(ngram_run), ngram_run)
    values -= values.mean(axis=0)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    cosine = [first @ second for first, second in zip(values[0::2], values[1::2], strict=True)]
    expected = roc_auc_score(dev.same_author, cosine)
    assert 0.6 < expected < 0.95
    assert events[0]["dev"]["dev"] == pytest.approx(expected, abs=0.01)
