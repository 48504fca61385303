"""The layer scores as the joint Gaussians do, as its NumPy twin does, and can be trained."""

from __future__ import annotations

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

from adhominem.scoring.two_covariance import TwoCovariance
from adhominem.training.network_model import TwoCovarianceLayer


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
