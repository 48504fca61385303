"""The paper's successor: each formula pair by pair, what each loss trains, and both stages."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import SMALL_SETTINGS, MadeOnce, SmallData
from test_losses import ENCODER
from torch import Tensor

from adhominem import load, make_ensemble, predict, preset, train
from adhominem.errors import CheckpointError, OptionError
from adhominem.evaluation.pan import auc as auc_of
from adhominem.evaluation.pan import best_threshold, brier, c_at_1, f05u, f1
from adhominem.model.folder import read_models
from adhominem.paper.config import Config, LossOptions
from adhominem.paper.losses import KernelSimilarity, PairLabels, SiameseModel
from adhominem.paper.sampling import DrawnPairs, PairOptions, draw_epoch
from adhominem.paper.successor import STAGES
from adhominem.paper.uncertainty import (
    Detector,
    UncertaintyAdaptation,
    adaptation_loss,
    undecidable,
)
from adhominem.text.corpus import UNKNOWN_LABEL, Labels
from adhominem.training.train import train_files

LOSS = LossOptions(
    distance="kernel", stop_gradient_at_lev=True, projection_size=3, adaptation_size=4
)
SAME = torch.tensor([True, False, True, False, False])


@pytest.fixture
def vectors() -> tuple[Tensor, Tensor]:
    first, second = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(1))
    return first, second


@pytest.fixture
def siamese() -> SiameseModel:
    torch.manual_seed(2)
    return SiameseModel(6, 4, ENCODER, LOSS)


def dense(layer: torch.nn.Linear, values: list[float]) -> list[float]:
    return [
        sum(w.item() * value for w, value in zip(row, values, strict=True)) + bias.item()
        for row, bias in zip(layer.weight, layer.bias, strict=True)
    ]


def slow_confusion(
    layer: UncertaintyAdaptation, first: list[float], second: list[float]
) -> list[list[float]]:
    """p(answer j | truth i): a softmax over j of w_ij' y + b_ij; y = tanh(W (y1 - y2)^2 + b)."""
    squares = [(a - b) ** 2 for a, b in zip(first, second, strict=True)]
    scores = dense(layer.answers, [math.tanh(value) for value in dense(layer.hidden, squares)])
    rows = []
    for truth in (0, 1):
        powers = [math.exp(scores[2 * truth + answer]) for answer in (0, 1)]
        rows.append([power / sum(powers) for power in powers])
    return rows


# Formulas


def test_the_kernel_is_a_probability_that_falls_with_the_distance() -> None:
    distances = torch.tensor([0.0, 0.5, 1.0, 4.0, 30.0])
    slow = [math.exp(-0.09 * d**1.5) for d in distances.tolist()]
    assert KernelSimilarity()(distances).tolist() == pytest.approx(slow, rel=1e-5, abs=1e-9)


def test_the_kernel_loss_has_both_thresholds_on_the_probability(siamese: SiameseModel) -> None:
    levs = torch.randn(10, 5, generator=torch.Generator().manual_seed(3))
    slow = []
    for one, other, same_author in zip(levs[:5], levs[5:], SAME.tolist(), strict=True):
        p = math.exp(-0.09 * float((one - other).square().sum()) ** 1.5)
        slow.append(max(0.91 - p, 0) ** 2 if same_author else max(p - 0.09, 0) ** 2)
    losses = siamese.losses(levs, PairLabels(SAME, torch.arange(10)))
    assert losses["distance"].item() == pytest.approx(sum(slow) / 5, rel=1e-5)


def test_the_adapted_probability_is_the_sum_over_both_truths(
    vectors: tuple[Tensor, Tensor],
) -> None:
    layer = UncertaintyAdaptation(3, 4)
    scores = torch.tensor([-3.0, -0.5, 0.0, 2.0, 40.0])
    answers = layer(*vectors, scores).exp()
    for at, score in enumerate(scores.tolist()):
        confusion = slow_confusion(layer, *(side[at].tolist() for side in vectors))
        p = 1 / (1 + math.exp(-score))
        slow = [confusion[0][j] * p + confusion[1][j] * (1 - p) for j in (0, 1)]
        assert answers[at].tolist() == pytest.approx(slow, rel=1e-5)


def test_its_loss_is_the_cross_entropy_less_the_weighted_entropy() -> None:
    p = torch.tensor([0.9, 0.2, 0.5, 0.5, 0.99])
    slow = []
    for same_prob, same_author in zip(p.tolist(), SAME.tolist(), strict=True):
        both = (same_prob, 1 - same_prob)
        entropy = -sum(q * math.log(q) for q in both)
        slow.append(-math.log(both[0 if same_author else 1]) - 0.1 * entropy)
    answers = torch.stack([p, 1 - p], dim=1).log()
    assert adaptation_loss(answers, SAME, 0.1).tolist() == pytest.approx(slow, rel=1e-5)


def test_the_detector_reads_squared_difference_squared_sum_and_confusion_matrix(
    vectors: tuple[Tensor, Tensor],
) -> None:
    detector, layer = Detector(3, 4), UncertaintyAdaptation(3, 4)
    log_odds = detector(*vectors, layer.confusion(*vectors))
    for at, (one, other) in enumerate(zip(*vectors, strict=True)):
        a, b = one.tolist(), other.tolist()
        read = [(x - y) ** 2 for x, y in zip(a, b, strict=True)]
        read += [(x + y) ** 2 for x, y in zip(a, b, strict=True)]
        read += [p for row in slow_confusion(layer, a, b) for p in row]
        for part in (detector.first, detector.second):
            read = [math.tanh(value) for value in dense(part, read)]
        assert log_odds[at].item() == pytest.approx(dense(detector.output, read)[0], abs=1e-5)


def test_undecidable_is_what_is_answered_wrongly_or_near_half() -> None:
    p = torch.tensor([0.9, 0.9, 0.4, 0.46, 0.1])
    answers = torch.stack([p, 1 - p], dim=1).log()
    assert undecidable(answers, SAME, 0.05).tolist() == [False, True, True, True, False]


def test_the_threshold_is_the_best_for_2021_and_leaves_the_fewest_open() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random(200) < 0.5
    wrong = rng.random(200) < 0.2
    probability = np.where(truth ^ wrong, 0.9, 0.1)
    doubt = np.clip(0.5 * wrong + 0.5 * rng.random(200), 0, 1)

    def overall(threshold: float) -> float:
        answers = np.where(doubt > threshold, 0.5, probability)
        return float(np.mean([m(answers, truth) for m in (auc_of, c_at_1, f1, f05u, brier)]))

    threshold = best_threshold(probability, doubt, truth)
    assert overall(threshold) == max(overall(t / 200) for t in range(201)) > overall(1)
    assert best_threshold(np.where(truth, 0.9, 0.1), doubt, truth) == 1


# What trains what


def test_each_loss_trains_its_part_alone(siamese: SiameseModel) -> None:
    levs = torch.randn(10, 5, generator=torch.Generator().manual_seed(5), requires_grad=True)
    parts = {"kernel": "distance", "projection": "bayes_factor", "two_covariance": "bayes_factor"}
    parts["adaptation"] = "adaptation"
    for loss in ("distance", "bayes_factor", "adaptation"):
        siamese.zero_grad()
        levs.grad = None
        siamese.losses(levs, PairLabels(SAME, torch.arange(10)))[loss].backward()
        trained = {
            name.split(".")[0]
            for name, parameter in siamese.named_parameters()
            if parameter.grad is not None and parameter.grad.abs().sum() > 0
        }
        assert trained == {part for part, of in parts.items() if of == loss}
        assert (levs.grad is not None) == (loss == "distance")


def test_the_detector_needs_the_kernel() -> None:
    with pytest.raises(OptionError, match="adaptation_size is 4 with the distance 'contrastive'"):
        LossOptions(adaptation_size=4)


# Four classes of pairs


def labels_of(author: Any, topic: Any) -> Labels:
    author, topic = (np.asarray(one, np.int32) for one in (author, topic))
    none = np.zeros(len(author), np.int32)
    names = [[str(at) for at in range(1 + one.max())] for one in (author, topic)]
    return Labels(*names, [""], ["all"], author, topic, none, none)


def classes(pairs: DrawnPairs, labels: Labels) -> list[int]:
    same_topic = labels.topic[pairs.first] == labels.topic[pairs.second]
    same_topic &= labels.topic[pairs.first] != UNKNOWN_LABEL
    both = [(a, t) for a in (True, False) for t in (True, False)]
    return [int(((pairs.same_author == a) & (same_topic == t)).sum()) for a, t in both]


SHARES = (0.11, 0.19, 0.42, 0.28)


def test_the_four_classes_have_their_shares_and_no_document_is_used_twice() -> None:
    rng = np.random.default_rng(6)
    labels = labels_of(np.repeat(np.arange(250), 8), rng.integers(0, 12, 2000))
    pairs = draw_epoch(labels, seed=1, epoch=0, options=PairOptions(class_shares=SHARES))
    *scarce, rest = classes(pairs, labels)
    assert scarce == [110, 190, 420]
    assert 270 < rest <= 280  # the last documents left may be by one author
    assert len(set(pairs.documents.tolist())) == 2 * len(pairs)
    assert (pairs.same_author == (labels.author[pairs.first] == labels.author[pairs.second])).all()
    other = draw_epoch(labels, seed=1, epoch=1, options=PairOptions(class_shares=SHARES))
    assert not np.array_equal(pairs.first, other.first)


def test_a_class_that_cannot_be_had_has_fewer_pairs_and_unknown_topics_are_all_different() -> None:
    labels = labels_of(np.repeat(np.arange(100), 2), np.full(200, UNKNOWN_LABEL))
    pairs = draw_epoch(labels, seed=1, epoch=0, options=PairOptions(class_shares=SHARES))
    assert classes(pairs, labels) == [0, 19, 0, 28]


# Both stages

SETTINGS = [
    *(one for one in SMALL_SETTINGS if "in_batch" not in one),
    "data.hidden_topics=1",
    "loss.projection_size=4",
    "loss.adaptation_size=6",
    "training.detector_epochs=20",
    "training.detector_margin=0.1",
]


@pytest.fixture(scope="session")
def config() -> Config:
    return preset("pan21").with_settings(SETTINGS)


@pytest.fixture(scope="session")
def model_folder(small_data: SmallData, config: Config, made_once: MadeOnce) -> Path:
    """Trained in both stages; for want of other texts, the second on those of the first."""

    def make(folder: Path) -> None:
        torch.set_num_threads(1)
        train_files(
            [small_data.corpus_folder],
            folder / "model",
            dev=[small_data.dev_folder],
            calibration=[small_data.texts],
            config=config,
            device="cpu",
        )

    return made_once("successor", make) / "model"


def with_threshold(folder: Path, place: Path, value: float) -> Path:
    """A copy of a model whose detector has another threshold."""
    import shutil

    from safetensors.numpy import load_file, save_file

    shutil.copytree(folder, place)
    weights = load_file(place / "model.safetensors")
    weights["detector.threshold"] = np.array([value], np.float32)
    save_file(weights, place / "model.safetensors")
    return place


def test_the_log_has_the_three_losses(model_folder: Path) -> None:
    lines = (model_folder / "training.jsonl").read_text().splitlines()
    assert set(json.loads(lines[0])["losses"]) == {"distance", "bayes_factor", "adaptation"}


def test_numpy_answers_as_torch_does(model_folder: Path, config: Config) -> None:
    (model,) = read_models(model_folder)
    siamese = SiameseModel(
        len(model.vocabulary.token_types),
        len(model.vocabulary.characters),
        config.encoder,
        config.loss,
    ).eval()
    siamese.load_state_dict(
        {name: torch.from_numpy(value) for name, value in model.weights.items()}
    )
    levs = np.tanh(np.random.default_rng(7).normal(size=(2, 9, 5)))
    first, second = torch.from_numpy(levs).float()
    verifier = load(model_folder)
    column = np.zeros((9, 1))
    sides = [np.concatenate([side, column], axis=1) for side in levs]
    with torch.no_grad():
        one, other = siamese.project(first), siamese.project(second)
        bfs = siamese.two_covariance(one, other)
        answers = siamese.adaptation(one, other, bfs)
        doubt = siamese.detector(one, other, siamese.adaptation.confusion(one, other)).sigmoid()
        torch_stages = {
            "DML": siamese.kernel((first - second).square().sum(1)),
            "BFS": bfs.sigmoid(),
            "UAL": answers[:, 0].exp(),
        }
        factors = siamese.log_bayes_factor(first, second)
    stages = verifier.scorer.stages(*sides)
    assert tuple(stages) == STAGES
    for name, expected in torch_stages.items():
        np.testing.assert_allclose(stages[name], expected, rtol=1e-4, atol=1e-6)
    left_open = (doubt > siamese.detector.threshold).numpy()
    np.testing.assert_array_equal(stages["O2D2"], np.where(left_open, 0.5, stages["UAL"]))
    np.testing.assert_allclose(verifier.score(*sides), factors, rtol=1e-3, atol=1e-5)


def test_the_second_stage_changes_the_detector_alone(
    small_data: SmallData, config: Config, model_folder: Path, tmp_path: Path
) -> None:
    (plain,) = train(small_data.corpus, small_data.dev, tmp_path / "m", config=config, device="cpu")
    (model,) = read_models(model_folder)
    changed = {n for n, w in model.weights.items() if not np.array_equal(w, plain.weights[n])}
    assert {name.split(".")[0] for name in changed} == {"detector"}
    assert plain.weights["detector.threshold"] == 1  # none is found undecidable


def test_a_run_with_other_calibration_texts_is_another_run(
    small_data: SmallData, config: Config, tmp_path: Path
) -> None:
    def stop(event: dict[str, Any]) -> None:
        if event["event"] == "epoch":
            raise KeyboardInterrupt

    def run(**more: Any) -> None:
        train(small_data.corpus, {}, tmp_path / "m", config=config, device="cpu", **more)

    with pytest.raises(KeyboardInterrupt):
        run(calibration=small_data.corpus, on_event=stop)
    with pytest.raises(CheckpointError, match="other data or settings"):
        run(resume=True)
    run(calibration=small_data.corpus, resume=True)
    assert read_models(tmp_path / "m")[0].weights["detector.threshold"] == 0.5  # without dev sets


def test_calibration_texts_are_for_models_with_a_second_stage(
    small_data: SmallData, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match="no second stage; expected the preset pan21"):
        train(small_data.corpus, {}, tmp_path / "m", calibration=small_data.corpus)


def answers_of(model: Path, small_data: SmallData, output: Path) -> list[dict[str, Any]]:
    predict(model, small_data.pairs, output)
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_predict_answers_by_ual_and_leaves_open_what_the_detector_finds(
    model_folder: Path, small_data: SmallData, tmp_path: Path
) -> None:
    never = with_threshold(model_folder, tmp_path / "never", 1)
    always = with_threshold(model_folder, tmp_path / "always", 0)
    answers = answers_of(never, small_data, tmp_path / "never.jsonl")
    for row in answers:
        assert row["value"] == pytest.approx(1 / (1 + math.exp(-row["log_bayes_factor"])))
    assert {row["value"] for row in answers} != {0.5}
    left_open = answers_of(always, small_data, tmp_path / "always.jsonl")
    assert {row["value"] for row in left_open} == {0.5}
    assert [row["log_bayes_factor"] for row in left_open] == [
        row["log_bayes_factor"] for row in answers
    ]


def test_verify_does_not_decide_what_the_detector_finds(model_folder: Path, tmp_path: Path) -> None:
    texts = "the cat was in it " * 9, "he was on the a of to " * 9
    for threshold, found in ((0, True), (1, False)):
        model = with_threshold(model_folder, tmp_path / str(threshold), threshold)
        verification = load(model).verify(*texts, delta=0)
        assert ("undecidable" in [one.code for one in verification.warnings]) == found


@pytest.mark.parametrize(("thresholds", "left_open"), [((0, 1), True), ((0, 1, 1), False)])
def test_an_ensemble_leaves_open_what_half_of_its_members_do(
    model_folder: Path, tmp_path: Path, thresholds: tuple[float, ...], left_open: bool
) -> None:
    members = [
        with_threshold(model_folder, tmp_path / f"m{at}", value)
        for at, value in enumerate(thresholds)
    ]
    verifier = load(make_ensemble(members, tmp_path / "both").model)
    levs = np.random.default_rng(8).normal(size=(2, 4, verifier.lev_size))
    stages = verifier.scorer.stages(*levs)
    assert (stages["O2D2"] == 0.5).all() == left_open
    probability = 1 / (1 + np.exp(-verifier.score(*levs)))
    np.testing.assert_allclose(stages["UAL"], probability)  # the mean of the members'


def test_several_texts_of_a_side_are_compared_as_one(model_folder: Path) -> None:
    verifier = load(model_folder)
    levs = np.random.default_rng(9).normal(size=(3, verifier.lev_size))
    both = verifier.scorer.stages([levs[:2]], [levs[2:]])
    alone = verifier.scorer.stages(levs[:1], levs[2:])
    assert all(np.isfinite(value).all() for value in both.values())
    assert both["UAL"] != alone["UAL"]
    twice = verifier.scorer.stages([levs[[0, 0]]], [levs[2:]])
    assert twice["DML"] == pytest.approx(alone["DML"])
