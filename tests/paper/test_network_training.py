"""The loop: fresh pairs, a falling rate, gradients clipped one by one, steps that repeat."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import SmallData

from adhominem import Config, Vocabulary, draw_epoch, train
from adhominem.errors import DivergedError, OptionError
from adhominem.paper.config import TrainingOptions
from adhominem.paper.losses import PairLabels, SiameseModel
from adhominem.paper.sampling import PairOptions, batches
from adhominem.paper.training import DeviceCorpus, Trainer

CPU = torch.device("cpu")


def trainer(data: SmallData, config: Config) -> Trainer:
    corpus = data.corpus
    counts = corpus.count_types(range(len(corpus)))
    vocabulary = Vocabulary.build(corpus.types, counts, config.data.vocabulary)
    torch.manual_seed(config.training.seed)
    model = SiameseModel(
        len(vocabulary.token_types), len(vocabulary.characters), config.encoder, config.loss
    )
    packed = DeviceCorpus(corpus, vocabulary, config.data.windows, CPU)
    return Trainer(model, packed, config.data, config.training, CPU)


def weights(run: Trainer) -> dict[str, torch.Tensor]:
    return copy.deepcopy(run.model.state_dict())


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def test_the_rate_falls_linearly_from_the_papers_first_to_its_last_at_epoch_30() -> None:
    options = TrainingOptions()
    rates = [options.rate(epoch) for epoch in (0, 15, 30, 34)]
    assert rates == pytest.approx([0.0006, 0.0004, 0.0002, 0.0002], rel=1e-12)


def test_every_step_has_the_rate_of_its_moment(small_data: SmallData, small_config: Config) -> None:
    config = small_config.with_setting("training.decay_epochs=2")
    run = trainer(small_data, config)
    for epoch in range(3):
        for step in run.epoch(epoch):
            expected = config.training.rate(epoch + step.step / step.steps)
            assert step.learning_rate == expected
            assert {group["lr"] for group in run.optimiser.param_groups} == {expected}
    assert config.training.rate(2.5) == pytest.approx(config.training.final_learning_rate)


def test_each_epoch_trains_on_the_pairs_drawn_for_it(
    small_data: SmallData, small_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trainer(small_data, small_config)
    seen: list[tuple[int, int, bool]] = []
    real = run._prepare
    monkeypatch.setattr(
        run,
        "_prepare",
        lambda plan: (
            seen.extend(
                zip(plan.pairs.first, plan.pairs.second, plan.pairs.same_author, strict=True)
            )
            or real(plan)
        ),
    )
    epochs = []
    for epoch in range(2):
        seen.clear()
        steps = list(run.epoch(epoch))
        drawn = draw_epoch(
            small_data.corpus.labels, seed=0, epoch=epoch, options=small_config.data.pairs
        )
        assert sorted(seen) == sorted(
            zip(drawn.first, drawn.second, drawn.same_author, strict=True)
        )
        assert sum(step.pairs for step in steps) == len(drawn)
        epochs.append(sorted(seen))
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("even", [False, True])
def test_the_losses_know_who_wrote_each_document_of_a_batch(
    even: bool, small_data: SmallData, small_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = replace(small_config.data.pairs, even_corpora=even)
    config = replace(small_config, data=replace(small_config.data, pairs=pairs))
    run = trainer(small_data, config)
    authors = small_data.corpus.labels.author
    known: list[tuple[list[int], list[bool]]] = []
    real = run.model.losses

    def losses(levs: torch.Tensor, labels: PairLabels, *more: Any) -> dict[str, torch.Tensor]:
        known.append((labels.author.tolist(), labels.same_author.tolist()))
        return real(levs, labels, *more)

    monkeypatch.setattr(run.model, "losses", losses)
    drawn = draw_epoch(small_data.corpus.labels, seed=0, epoch=0, options=pairs)
    order = batches(
        drawn, small_data.corpus.labels, config.training.batch_pairs, seed=0, epoch=0, options=pairs
    )
    list(run.epoch(0))
    assert len(known) == len(order)
    for chosen, (wrote, same_author) in zip(order, known, strict=True):
        part = drawn[chosen]
        assert wrote == [*authors[part.first].tolist(), *authors[part.second].tolist()]
        assert same_author == part.same_author.tolist()


def test_a_gradient_longer_than_the_limit_is_cut_to_it_and_no_other_one_changes(
    small_data: SmallData, small_config: Config
) -> None:
    run = trainer(small_data, small_config)
    generator = torch.Generator().manual_seed(1)
    parameters = list(run.model.parameters())
    for number, parameter in enumerate(parameters):
        gradient = torch.randn(parameter.shape, generator=generator)
        parameter.grad = gradient * ([0.5, 5.0, 80.0][number % 3] / gradient.norm())
    slow = []
    for parameter in parameters:
        alone = torch.nn.Parameter(torch.zeros_like(parameter))
        assert parameter.grad is not None
        alone.grad = parameter.grad.clone()
        torch.nn.utils.clip_grad_norm_([alone], 5.0)
        slow.append(alone.grad)
    longest = run._clip(1.0)
    assert float(longest) == pytest.approx(80.0, rel=1e-5)
    for parameter, expected in zip(parameters, slow, strict=True):
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-5, atol=1e-8)


def test_a_scaled_loss_leaves_the_gradients_as_they_were(
    small_data: SmallData, small_config: Config
) -> None:
    gradients = []
    for scale in (1.0, 2.0**10):
        run = trainer(small_data, small_config)
        run._gradient_scales = (scale,)
        next(run.epoch(0))
        gradients.append([p.grad for p in run.model.parameters()])
    for plain, scaled in zip(*gradients, strict=True):
        torch.testing.assert_close(scaled, plain, rtol=1e-5, atol=1e-9)


def test_a_step_is_taken_when_the_next_one_is_asked_for(
    small_data: SmallData, small_config: Config
) -> None:
    run = trainer(small_data, small_config)
    before = weights(run)
    steps = run.epoch(0)
    next(steps)
    assert same(before, weights(run))
    next(steps)
    assert not same(before, weights(run))


def test_a_step_depends_on_seed_epoch_and_number_alone(
    small_data: SmallData, small_config: Config
) -> None:
    whole, parts = trainer(small_data, small_config), trainer(small_data, small_config)
    expected = [step.losses for step in whole.epoch(1)]
    first = []
    for step in parts.epoch(1):
        if step.step == 2:
            break
        first.append(step.losses)
    torch.rand(100)  # somebody else's random numbers
    assert first + [step.losses for step in parts.epoch(1, 2)] == expected
    assert same(weights(whole), weights(parts))
    other = replace(small_config, training=replace(small_config.training, seed=1))
    assert [step.losses for step in trainer(small_data, other).epoch(1)] != expected


def test_training_again_and_again_on_the_same_pairs_lowers_their_losses(
    small_data: SmallData, small_config: Config
) -> None:
    encoder = replace(
        small_config.encoder,
        **dict.fromkeys(("cnn_dropout", "lstm_dropout", "attention_dropout", "lev_dropout"), 0.0),
    )
    run = trainer(small_data, replace(small_config, encoder=encoder))
    run.start()
    means = []
    for _ in range(10):
        steps = list(run.epoch(0))
        means.append(np.mean([sum(step.losses.values()) for step in steps]))
    assert means[-1] < 0.8 * means[0]


def test_the_start_brings_the_two_covariance_layer_to_the_scale_of_the_levs(
    small_data: SmallData, small_config: Config
) -> None:
    run = trainer(small_data, small_config)
    run.start()
    between, within = (factor @ factor.T for factor in run.model.two_covariance.factors())
    total = torch.linalg.inv(between) + torch.linalg.inv(within)
    ratio = torch.linalg.inv(between).diagonal() / total.diagonal()
    torch.testing.assert_close(ratio, torch.full_like(ratio, 0.1), rtol=1e-5, atol=0)


def test_documents_that_make_no_pair_are_an_error(
    small_data: SmallData, small_config: Config
) -> None:
    data = replace(small_config.data, pairs=PairOptions(same_author_across="topic", balanced=True))
    labels = replace(small_data.corpus.labels, topic=np.full(len(small_data.corpus), -1, np.int32))
    topicless = replace(small_data, corpus=replace(small_data.corpus, labels=labels))
    run = trainer(topicless, replace(small_config, data=data))
    with pytest.raises(OptionError, match="45 training documents make no pair"):
        run.start()
    with pytest.raises(OptionError, match="45 training documents make no pair"):
        next(run.epoch(0))


def test_a_step_whose_gradients_overflow_is_done_again_at_a_lower_scale(
    small_data: SmallData, small_config: Config
) -> None:
    plain, narrow = (trainer(small_data, small_config) for _ in range(2))
    next(plain.epoch(0))
    narrow._gradient_scales = (1e38, 2.0**4)  # the first is too much for float32
    next(narrow.epoch(0))
    for one, other in zip(plain.model.parameters(), narrow.model.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-5, atol=1e-9)


def test_gradients_that_overflow_at_every_scale_end_the_run(
    small_data: SmallData, small_config: Config
) -> None:
    run = trainer(small_data, small_config)
    run._gradient_scales = (1e38, 5e37)
    with pytest.raises(DivergedError, match="longest gradient"):
        next(run.epoch(0))


def test_in_batch_negatives_with_masks_of_pairs_are_refused_before_any_work(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.with_settings(["loss.in_batch_negatives=1", "training.masks=pair"])
    with pytest.raises(
        OptionError, match=r"recognised by their dropout masks; expected training.masks"
    ):
        train(small_data.corpus, {}, tmp_path / "model", config=config, device="cpu")
    assert not list(tmp_path.iterdir())


def test_each_batch_is_prepared_once_and_the_next_before_the_step_is_told(
    small_data: SmallData, small_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trainer(small_data, small_config)
    prepared: list[int] = []
    real = run._prepare
    monkeypatch.setattr(run, "_prepare", lambda plan: prepared.append(plan.step) or real(plan))
    for step in run.epoch(0):
        assert prepared == list(range(min(step.step + 2, step.steps)))
    prepared.clear()
    next(run.epoch(1, first_step=1))
    assert prepared == [1, 2]
