"""The losses pair by pair in slow loops, and what each of them trains."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_two_covariance import (
    Parameters,
    ill_conditioned_factor,
    lev_sizes,
    random_map,
    random_parameters,
    seeds,
    slow_log_bayes_factor,
)
from torch import Tensor

from adhominem.paper.config import EncoderOptions, LossOptions
from adhominem.paper.losses import (
    CosineSoftmax,
    PairLabels,
    SiameseModel,
    TwoCovarianceLayer,
    bayes_factor_loss,
    contrastive_loss,
    in_batch_loss,
    squared_distance,
)
from adhominem.paper.two_covariance import TwoCovariance

ENCODER = EncoderOptions(
    character_size=2,
    character_filters=3,
    word_vector_size=3,
    window_lstm_size=2,
    document_lstm_size=2,
    attention_size=2,
    lev_size=5,
)
labelled = st.lists(st.tuples(st.floats(0, 8), st.booleans()), min_size=1, max_size=8)
Labelled = list[tuple[float, bool]]


def columns(items: Labelled) -> tuple[Tensor, Tensor]:
    values, same_author = zip(*items, strict=True)
    return torch.tensor(values, dtype=torch.float64), torch.tensor(same_author)


def same(one: Tensor, other: list[float] | float, tolerance: float = 1e-9) -> None:
    expected = torch.tensor(other, dtype=one.dtype)
    torch.testing.assert_close(one, expected, rtol=tolerance, atol=tolerance)


# Each loss


@given(seeds, st.integers(1, 5))
def test_the_distance_is_the_sum_of_squares(seed: int, pairs: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.randn(2, pairs, 3, generator=generator, dtype=torch.float64)
    slow = [
        sum(float(a - b) ** 2 for a, b in zip(one, other, strict=True))
        for one, other in zip(first, second, strict=True)
    ]
    same(squared_distance(first, second), slow)


@given(labelled, st.floats(0, 3), st.floats(0.1, 3))
def test_the_contrastive_loss_pulls_one_author_within_and_pushes_two_beyond_a_threshold(
    items: Labelled, near: float, gap: float
) -> None:
    far = near + gap
    slow = [
        max(0.0, distance - near) ** 2 if same_author else max(0.0, far - distance) ** 2
        for distance, same_author in items
    ]
    same(contrastive_loss(*columns(items), near, far), slow)


@given(st.lists(st.tuples(st.floats(-20, 20), st.booleans()), min_size=1, max_size=8))
def test_the_bayes_factor_loss_is_the_cross_entropy_with_its_minus_sign(items: Labelled) -> None:
    slow = []
    for score, same_author in items:
        p = 1 / (1 + math.exp(-score))
        q = 1 / (1 + math.exp(score))  # 1 - p, without loss of digits
        label = 1.0 if same_author else 0.0
        slow.append(-(label * math.log(p) + (1 - label) * math.log(q)))
    same(bayes_factor_loss(*columns(items)), slow)


@pytest.mark.parametrize("score", [1e4, -1e4])
def test_the_bayes_factor_loss_of_an_extreme_score_is_finite(score: float) -> None:
    scores = torch.tensor([score, score], requires_grad=True)
    loss = bayes_factor_loss(scores, torch.tensor([True, False]))
    loss.sum().backward()
    assert sorted(loss.tolist()) == [0, 1e4]
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


def slow_softmax(scores: list[list[float]], authors: list[int]) -> float:
    """Which second document is by the author of the first? None of the others by that author."""
    losses = []
    for row, author in enumerate(authors):
        right = math.exp(scores[row][row])
        others = sum(
            math.exp(scores[row][column])
            for column in range(len(authors))
            if authors[column] != author
        )
        losses.append(-math.log(right / (right + others)))
    return sum(losses) / len(losses)


@given(seed=seeds, authors=st.lists(st.integers(0, 3), min_size=1, max_size=7))
def test_the_in_batch_loss_is_that_of_a_loop_whoever_has_several_pairs(
    seed: int, authors: list[int]
) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(len(authors), len(authors), generator=generator, dtype=torch.float64)
    loss = in_batch_loss(scores, torch.tensor(authors))
    same(loss, slow_softmax(scores.tolist(), authors))


def test_two_pairs_by_one_author_are_no_negatives_of_each_other() -> None:
    scores = torch.zeros(3, 3, requires_grad=True)
    in_batch_loss(scores, torch.tensor([7, 7, 8])).backward()
    assert scores.grad is not None
    assert (scores.grad != 0).tolist() == [[True, False, True], [False, True, True], [True] * 3]


def slow_cosine(
    levs: list[list[float]], authors: list[int], same_author: list[bool], scale: float
) -> float:
    """Which other document is by the author of this one? FormFields of both of each pair by one."""
    pairs = len(same_author)
    size = len(levs[0])
    mean = [sum(lev[at] for lev in levs) / len(levs) for at in range(size)]
    moved = [[lev[at] - mean[at] for at in range(size)] for lev in levs]

    def cosine(one: int, other: int) -> float:
        product = sum(a * b for a, b in zip(moved[one], moved[other], strict=True))
        lengths = [math.sqrt(sum(a * a for a in moved[at])) for at in (one, other)]
        return product / max(lengths[0], 1e-12) / max(lengths[1], 1e-12)

    losses = []
    for asked in range(2 * pairs):
        if not same_author[asked % pairs]:
            continue
        partner = asked + pairs if asked < pairs else asked - pairs
        right = math.exp(scale * cosine(asked, partner))
        wrong = sum(
            math.exp(scale * cosine(asked, other))
            for other in range(2 * pairs)
            if authors[other] != authors[asked]
        )
        losses.append(-math.log(right / (right + wrong)))
    return sum(losses) / len(losses)


def drawn_levs(seed: int, documents: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(documents, 3, generator=generator, dtype=torch.float64)


def drawn_pairs(authors: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Who wrote the first documents, then the second ones; which pairs are by one author."""
    first, second = zip(*authors, strict=True)
    return torch.tensor([*first, *second]), torch.tensor([a == b for a, b in authors])


some_authors = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6
).filter(lambda pairs: any(a == b for a, b in pairs))


@given(seed=seeds, authors=some_authors, scale=st.floats(0.5, 20))
def test_the_cosine_form_is_that_of_a_loop_over_all_documents(
    seed: int, authors: list[tuple[int, int]], scale: float
) -> None:
    levs = drawn_levs(seed, 2 * len(authors))
    names, same_author = drawn_pairs(authors)
    loss = CosineSoftmax().double()
    with torch.no_grad():
        loss.log_scale.fill_(math.log(scale))
    expected = slow_cosine(levs.tolist(), names.tolist(), same_author.tolist(), scale)
    same(loss(levs, names, same_author), expected, 1e-6)


def test_the_cosine_form_begins_with_a_scale_of_fifteen() -> None:
    levs = drawn_levs(0, 8)
    names, same_author = drawn_pairs([(0, 0), (1, 1), (2, 3), (4, 4)])
    expected = slow_cosine(levs.tolist(), names.tolist(), same_author.tolist(), 15)
    same(CosineSoftmax().double()(levs, names, same_author), expected, 1e-5)


@given(seed=seeds, authors=some_authors)
def test_moving_or_stretching_all_levs_changes_nothing_for_the_cosine_form(
    seed: int, authors: list[tuple[int, int]]
) -> None:
    levs = drawn_levs(seed, 2 * len(authors))
    loss, labels = CosineSoftmax().double(), drawn_pairs(authors)
    shift = 5 * drawn_levs(seed + 1, 1)
    expected = loss(levs, *labels).item()
    same(loss(3 * levs + shift, *labels), expected, 1e-6)


@given(seed=seeds, authors=some_authors)
def test_which_document_of_a_pair_comes_first_is_all_one_to_the_cosine_form(
    seed: int, authors: list[tuple[int, int]]
) -> None:
    pairs = len(authors)
    levs = drawn_levs(seed, 2 * pairs)
    names, same_author = drawn_pairs(authors)
    turned = torch.cat([torch.arange(pairs, 2 * pairs), torch.arange(pairs)])
    loss = CosineSoftmax().double()
    expected = loss(levs, names, same_author).item()
    same(loss(levs[turned], names[turned], same_author), expected)


def test_documents_by_one_author_are_no_wrong_answers_of_each_other() -> None:
    """Whatever the cosine of two of them: only the partner and other authors are looked at."""
    names, same_author = drawn_pairs([(7, 7), (7, 7), (8, 8), (7, 9)])
    loss = CosineSoftmax().double()
    levs = drawn_levs(1, 8)
    seen: list[Tensor] = []

    def remember(scores: Tensor, answers: Tensor) -> Tensor:
        seen.append(scores)
        return torch.nn.functional.nll_loss(scores.log_softmax(1), answers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "cross_entropy", remember)
        loss(levs, names, same_author)
    (scores,) = seen  # rows: 0, 1, 2 of the first documents and 4, 5, 6 of the second ones
    looked_at = torch.isfinite(scores).tolist()
    for row, asked in enumerate((0, 1, 2, 4, 5, 6)):
        for other in range(8):
            partner = other == (asked + 4) % 8
            assert looked_at[row][other] == (partner or names[other] != names[asked])


def test_the_cosine_form_trains_levs_and_scale_and_nothing_where_nothing_can_be_wrong() -> None:
    levs = drawn_levs(2, 6).requires_grad_()
    loss = CosineSoftmax().double()
    loss(levs, *drawn_pairs([(1, 1), (2, 2), (3, 4)])).backward()
    assert levs.grad is not None
    assert loss.log_scale.grad is not None
    assert (levs.grad != 0).any(dim=1).all()  # those of the third pair, as wrong answers
    assert loss.log_scale.grad != 0
    levs.grad = loss.log_scale.grad = None
    alone = loss(levs, *drawn_pairs([(1, 1), (1, 1), (1, 1)]))
    alone.backward()
    assert alone.item() == 0
    assert not levs.grad.any()


def test_documents_that_are_all_the_same_give_the_cosine_form_finite_numbers() -> None:
    levs = torch.ones(6, 3, requires_grad=True)
    loss = CosineSoftmax()
    found = loss(levs, *drawn_pairs([(1, 1), (2, 2), (3, 4)]))
    found.backward()
    assert found.item() == pytest.approx(math.log(5))
    assert levs.grad is not None
    assert torch.isfinite(levs.grad).all()


# The losses together


def model_with(**settings: object) -> SiameseModel:
    torch.manual_seed(3)
    model = SiameseModel(6, 6, ENCODER, LossOptions(**settings))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.two_covariance.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def some_levs(pairs: int = 6) -> Tensor:
    return torch.tanh(
        torch.randn(2 * pairs, ENCODER.lev_size, generator=torch.Generator().manual_seed(4))
    ).requires_grad_()


LABELS = PairLabels(
    torch.tensor([True, False, True, True, False, True]),
    torch.tensor([1, 2, 3, 1, 4, 5, 1, 6, 3, 1, 3, 5]),
)


def gradient(loss: Tensor, levs: Tensor) -> Tensor | None:
    (found,) = torch.autograd.grad(loss, levs, retain_graph=True, allow_unused=True)
    return found


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_the_losses_are_means_over_their_pairs(weight: float) -> None:
    model = model_with(in_batch_negatives=weight)
    levs = some_levs()
    found = model.losses(levs, LABELS)
    assert set(found) == {"distance", "bayes_factor", "in_batch"}
    first, second = levs[:6], levs[6:]
    distance, cross_entropy = [], []

    def score(one: int, other: int) -> float:
        return model.two_covariance(levs[one : one + 1], levs[6 + other : 7 + other]).item()

    labels, authors = LABELS.same_author.tolist(), LABELS.author.tolist()
    for pair, same_author in enumerate(labels):
        d = ((first[pair] - second[pair]) ** 2).sum().item()
        distance.append(max(0, d - 1) ** 2 if same_author else max(0, 3 - d) ** 2)
        p = 1 / (1 + math.exp(-score(pair, pair)))
        cross_entropy.append(-math.log(p if same_author else 1 - p))
    by_one = [pair for pair in range(6) if labels[pair]]
    in_batch = slow_softmax(
        [[score(one, other) for other in by_one] for one in by_one],
        [authors[pair] for pair in by_one],
    )
    same(found["distance"], sum(distance) / 6, 1e-5)
    same(found["bayes_factor"], sum(cross_entropy) / 6, 1e-5)
    same(found["in_batch"], weight * in_batch, 1e-5)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, {"distance", "bayes_factor"}),
        ({"distance": ""}, {"bayes_factor"}),
        ({"in_batch_negatives": 0.5}, {"distance", "bayes_factor", "in_batch"}),
        (
            {"in_batch_negatives": 0.5, "in_batch_form": "cosine"},
            {"distance", "bayes_factor", "in_batch"},
        ),
        ({"in_batch_form": "cosine"}, {"distance", "bayes_factor"}),
    ],
)
def test_only_the_losses_asked_for_are_there(settings: dict[str, object], names: set[str]) -> None:
    model = model_with(**settings)
    assert set(model.losses(some_levs(), LABELS)) == names
    by_cosine = settings.get("in_batch_form") == "cosine" and "in_batch_negatives" in settings
    assert (model.cosine is not None) == by_cosine == model.options.by_cosine


def test_the_cosine_form_takes_the_place_of_the_bayes_factors_of_the_batch() -> None:
    model = model_with(in_batch_negatives=0.25, in_batch_form="cosine")
    levs = some_levs()
    found = model.losses(levs, LABELS)
    authors, labels = LABELS.author.tolist(), LABELS.same_author.tolist()
    expected = slow_cosine(levs.tolist(), authors, labels, 15)
    same(found["in_batch"], 0.25 * expected, 1e-4)
    assert model.cosine is not None
    assert [name for name, _ in model.named_parameters() if name.startswith("cosine")] == [
        "cosine.log_scale"
    ]


def test_the_cosine_form_trains_the_levs_even_where_the_bayes_factor_does_not() -> None:
    levs = some_levs()
    model = model_with(in_batch_negatives=1.0, in_batch_form="cosine", stop_gradient_at_lev=True)
    found = model.losses(levs, LABELS)
    assert gradient(found["bayes_factor"], levs) is None
    of_levs = gradient(found["in_batch"], levs)
    assert of_levs is not None
    assert (of_levs != 0).any(dim=1).all()
    found["in_batch"].backward()
    assert model.cosine is not None
    for parameter in model.two_covariance.parameters():
        assert parameter.grad is None
    assert model.cosine.log_scale.grad is not None


def test_the_gradient_is_stopped_at_the_lev_for_the_bayes_factor_alone() -> None:
    levs = some_levs()
    free, stopped = (
        model_with(stop_gradient_at_lev=stop, in_batch_negatives=1.0).losses(levs, LABELS)
        for stop in (False, True)
    )
    for name in free:
        assert torch.equal(free[name], stopped[name])  # stopping changes no value
    for name in ("bayes_factor", "in_batch"):
        assert gradient(stopped[name], levs) is None
        found = gradient(free[name], levs)
        assert found is not None
        assert (found != 0).any()
    stopped_distance, free_distance = (
        gradient(losses["distance"], levs) for losses in (stopped, free)
    )
    assert stopped_distance is not None
    assert free_distance is not None
    assert torch.equal(stopped_distance, free_distance)


@pytest.mark.parametrize("name", ["bayes_factor", "in_batch"])
def test_a_stopped_gradient_still_trains_the_layer(name: str) -> None:
    model = model_with(stop_gradient_at_lev=True, in_batch_negatives=1.0)
    model.losses(some_levs(), LABELS)[name].backward()
    for parameter in model.two_covariance.parameters():
        assert parameter.grad is not None
        assert (parameter.grad != 0).any()


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_the_layer_starts_from_the_levs_with_a_tenth_of_their_variance_between_authors(
    spread: float,
) -> None:
    model = model_with()
    levs = spread * some_levs()
    model.start_two_covariance(levs)
    size = levs.shape[1]
    # not below that of LEVs whose squared distance is the paper's tau, 2
    variance = max(levs.var(0).mean().item(), 1 / size)
    torch.testing.assert_close(model.two_covariance.author_mean.detach(), levs.mean(0))
    for factor, share in zip(model.two_covariance.factors(), (0.1, 0.9), strict=True):
        covariance = torch.linalg.inv((factor @ factor.T).detach())
        expected = share * variance * torch.eye(size, dtype=torch.float64)
        torch.testing.assert_close(covariance, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("form", ["softmax", "cosine"])
def test_a_batch_without_a_same_author_pair_has_no_in_batch_loss(form: str) -> None:
    model = model_with(in_batch_negatives=1.0, in_batch_form=form)
    levs = some_levs()
    different = replace(LABELS, same_author=torch.zeros(6, dtype=torch.bool))
    losses = model.losses(levs, different)
    assert set(losses) == {"distance", "bayes_factor"}
    torch.stack(list(losses.values())).sum().backward()
    assert levs.grad is not None
    assert torch.isfinite(levs.grad).all()


# The layer scores as the joint Gaussians do, as its NumPy twin does, and can be trained.


def layer_of(
    mean: np.ndarray, between_factor: np.ndarray, within_factor: np.ndarray
) -> TwoCovarianceLayer:
    """A layer in float64 with these Cholesky factors."""
    layer = TwoCovarianceLayer(len(mean)).double()
    with torch.no_grad():
        layer.author_mean.copy_(torch.from_numpy(mean))
        for raw, factor in (
            (layer.between_author_factor, between_factor),
            (layer.within_author_factor, within_factor),
        ):
            logarithm = np.tril(factor, -1) + np.diag(np.log(np.diag(factor)))
            raw.copy_(torch.from_numpy(logarithm))
    return layer


def layer_with(parameters: Parameters) -> TwoCovarianceLayer:
    factors = (np.linalg.cholesky(m) for m in (parameters.between, parameters.within))
    return layer_of(parameters.mean, *factors)


def twin(layer: TwoCovarianceLayer) -> TwoCovariance:
    between, within = (factor.detach().numpy() for factor in layer.factors())
    return TwoCovariance.from_factors(layer.author_mean.detach().numpy(), between, within)


def levs_near(parameters: Parameters, rng: np.random.Generator, count: int) -> np.ndarray:
    return parameters.mean + 2 * rng.normal(size=(count, parameters.lev_size))


@given(seeds, lev_sizes, st.integers(1, 5))
@torch.no_grad()
def test_a_pair_scores_the_difference_of_joint_log_densities(
    seed: int, size: int, pairs: int
) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    first, second = (levs_near(parameters, rng, pairs) for _ in range(2))
    slow = [
        slow_log_bayes_factor(one[None], other[None], parameters)
        for one, other in zip(first, second, strict=True)
    ]
    layer = layer_with(parameters)
    found = layer(torch.from_numpy(first), torch.from_numpy(second))
    assert found.shape == (pairs,)
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, twin(layer).log_bayes_factor(first, second), atol=1e-9)


@given(seeds, lev_sizes)
@torch.no_grad()
def test_the_matrix_scores_each_with_each(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    first, second = (torch.from_numpy(levs_near(parameters, rng, n)) for n in (3, 2))
    layer = layer_with(parameters)
    slow = torch.stack([layer(one.expand(2, -1), second) for one in first])
    torch.testing.assert_close(layer.matrix(first, second), slow, rtol=1e-10, atol=1e-10)


@given(seeds, lev_sizes)
@torch.no_grad()
def test_the_sides_can_be_exchanged(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    first, second = (torch.from_numpy(levs_near(parameters, rng, 3)) for _ in range(2))
    layer = layer_with(parameters)
    torch.testing.assert_close(layer(first, second), layer(second, first), rtol=0, atol=1e-10)
    matrix = layer.matrix(first, second)
    torch.testing.assert_close(layer.matrix(second, first), matrix.T, rtol=0, atol=1e-10)


@given(seeds, lev_sizes, st.floats(-6, 6))
@torch.no_grad()
def test_levs_and_layer_mapped_together_keep_their_scores(
    seed: int, size: int, decades: float
) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    linear, shift = random_map(size, decades, rng)
    first, second = (levs_near(parameters, rng, 3) for _ in range(2))
    there = [torch.from_numpy(levs @ linear.T + shift) for levs in (first, second)]
    found = layer_with(parameters.mapped(linear, shift))(*there)
    before = layer_with(parameters)(torch.from_numpy(first), torch.from_numpy(second))
    torch.testing.assert_close(found, before, rtol=1e-7, atol=1e-7)


@settings(max_examples=15)
@given(seeds, st.integers(1, 3))
def test_the_gradients_are_those_of_finite_differences(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    layer = layer_with(parameters)
    inputs = [torch.from_numpy(levs_near(parameters, rng, 2)).requires_grad_() for _ in range(2)]
    weights = list(layer.parameters())

    def scores(*values: Tensor) -> Tensor:
        names = [name for name, _ in layer.named_parameters()]
        settings = dict(zip(names, values[2:], strict=True))
        return torch.func.functional_call(layer, settings, values[:2])

    assert torch.autograd.gradcheck(scores, (*inputs, *weights))


@pytest.mark.parametrize("decades", [8, 12])
def test_an_ill_conditioned_layer_of_float32_stays_finite_and_so_do_its_gradients(
    decades: int,
) -> None:
    rng = np.random.default_rng(decades)
    factors = [ill_conditioned_factor(128, decades, rng) for _ in range(2)]
    layer = layer_of(np.zeros(128), *factors).float()
    first, second = (
        torch.from_numpy(rng.normal(size=(6, 128)).astype(np.float32)).requires_grad_()
        for _ in range(2)
    )
    scores = layer(first, second)
    assert scores.dtype == torch.float32
    assert torch.isfinite(scores).all()
    (torch.sigmoid(scores).sum() + 1e-3 * layer.matrix(first, second).sum()).backward()
    for tensor in (first, second, *layer.parameters()):
        assert tensor.grad is not None
        assert torch.isfinite(tensor.grad).all()
        assert (tensor.grad != 0).any()
    expected = twin(layer).log_bayes_factor(first.detach().numpy(), second.detach().numpy())
    np.testing.assert_allclose(scores.detach().numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("size", [1, 60, 300])
def test_a_new_layer_has_unit_precisions_and_finite_scores(size: int) -> None:
    layer = TwoCovarianceLayer(size)
    for factor in layer.factors():
        assert torch.equal(factor, torch.eye(size, dtype=torch.float64))
    scores = layer(torch.zeros(2, size), torch.zeros(2, size))
    # each dimension: the variance of a pair is [[2, 1], [1, 2]] against 2 and 2
    np.testing.assert_allclose(scores.detach(), 0.5 * size * np.log(4 / 3), rtol=1e-6)


@given(seeds, lev_sizes)
def test_whatever_a_step_does_the_factors_stay_lower_with_a_positive_diagonal(
    seed: int, size: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    layer = TwoCovarianceLayer(size)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(3 * torch.randn(parameter.shape, generator=generator))
    for raw, factor in zip(
        (layer.between_author_factor, layer.within_author_factor), layer.factors(), strict=True
    ):
        assert torch.equal(torch.tril(factor), factor)
        torch.testing.assert_close(factor.diagonal(), raw.double().diagonal().exp())
        torch.testing.assert_close(torch.tril(factor, -1), torch.tril(raw.double(), -1))


def test_training_the_layer_finds_the_authors() -> None:
    rng = np.random.default_rng(5)
    true = Parameters(np.ones(3), np.diag([1.0, 2.0, 0.5]), np.diag([4.0, 2.0, 8.0]))
    styles = true.draw_authors(600, rng)
    first, same = true.draw_documents(styles, rng), true.draw_documents(styles, rng)
    different = true.draw_documents(true.draw_authors(600, rng), rng)
    one = torch.from_numpy(np.concatenate([first, first]))
    other = torch.from_numpy(np.concatenate([same, different]))
    labels = torch.arange(1200) < 600

    def loss(layer: TwoCovarianceLayer) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(
            layer(one, other), labels.double()
        )

    layer = TwoCovarianceLayer(3).double()
    before = loss(layer).item()
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(150):
        optimiser.zero_grad()
        loss(layer).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    assert loss(layer).item() < before - 0.1
    assert loss(layer).item() < loss(layer_with(true)).item() + 0.005


# The paper's printed constant, with its sign errors


@given(seeds, st.integers(1, 6), st.integers(1, 3))
@torch.no_grad()
def test_the_printed_constant_is_the_papers_formula_in_torch_and_in_numpy(
    seed: int, size: int, pairs: int
) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    between, within, mean = parameters.between, parameters.within, parameters.mean
    y1, y2 = (levs_near(parameters, rng, pairs) for _ in range(2))
    one, two = (np.linalg.inv(between + n * within) for n in (1, 2))  # the paper's, with tildes
    log_one, log_two, log_between = (np.linalg.slogdet(m)[1] for m in (one, two, between))
    tilde = 2 * log_one - log_between - log_two + mean @ between @ mean
    kappa = tilde + 0.5 * (between @ mean) @ (two - 2 * one) @ (between @ mean)
    lambda_, gamma = 0.5 * within @ two @ within, 0.5 * within @ (two - one) @ within
    rho = within @ (two - one) @ between @ mean
    slow = [
        2 * a @ lambda_ @ b + a @ gamma @ a + b @ gamma @ b + (a + b) @ rho + kappa
        for a, b in zip(y1, y2, strict=True)
    ]
    layer = layer_with(parameters)
    layer.printed = True
    found = layer(torch.from_numpy(y1), torch.from_numpy(y2)).numpy()
    np.testing.assert_allclose(found, slow, rtol=1e-8, atol=1e-8)
    runs = twin(layer)
    runs.excess = runs.printed_excess()
    np.testing.assert_allclose(runs.log_bayes_factor(y1, y2), slow, rtol=1e-8, atol=1e-8)


def test_the_layer_starts_at_unit_matrices_or_at_the_scale_of_the_levs() -> None:
    for start in ("unit", "levs"):
        model = SiameseModel(6, 6, ENCODER, LossOptions(start=start))
        model.start_two_covariance(some_levs().detach())
        at_unit = not model.two_covariance.between_author_factor.any()
        assert at_unit == (start == "unit")


@torch.no_grad()
def test_dropout_before_the_two_covariance_layer_is_of_its_input_alone() -> None:
    model, levs = model_with(), some_levs().detach()
    kept = torch.arange(levs.numel()).view(levs.shape) % 2 * 2.0
    masked, plain = model.losses(levs, LABELS, kept), model.losses(levs, LABELS)
    assert masked["distance"] == plain["distance"]
    dropped = model.losses(levs * kept, LABELS)
    assert masked["bayes_factor"] == dropped["bayes_factor"] != plain["bayes_factor"]
