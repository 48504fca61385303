"""The two-covariance model as the textbook has it: Gaussians over all LEVs stacked, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

seeds = st.integers(0, 2**32 - 1)
lev_sizes = st.integers(1, 5)


@dataclass(frozen=True)
class Parameters:
    """The paper's mu, B and W."""

    mean: np.ndarray
    between: np.ndarray
    within: np.ndarray

    @property
    def lev_size(self) -> int:
        return len(self.mean)

    def mapped(self, linear: np.ndarray, shift: np.ndarray) -> Parameters:
        """The model of `linear @ lev + shift`."""
        back = np.linalg.inv(linear)
        return Parameters(
            linear @ self.mean + shift, back.T @ self.between @ back, back.T @ self.within @ back
        )

    def draw_authors(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, lev_size): styles."""
        covariance = np.linalg.inv(self.between)
        return rng.multivariate_normal(self.mean, covariance, count, method="cholesky")

    def draw_documents(self, styles: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One LEV for each style."""
        zero, covariance = np.zeros(self.lev_size), np.linalg.inv(self.within)
        return styles + rng.multivariate_normal(zero, covariance, len(styles), method="cholesky")


def random_precision(size: int, rng: np.random.Generator) -> np.ndarray:
    root = rng.normal(size=(size, size))
    return rng.uniform(0.2, 5) * (root @ root.T / size + 0.5 * np.eye(size))


def random_parameters(size: int, rng: np.random.Generator) -> Parameters:
    return Parameters(
        3 * rng.normal(size=size), random_precision(size, rng), random_precision(size, rng)
    )


def random_map(
    size: int, decades: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """An invertible linear map and a shift, both scaled by 10 ** decades."""
    rotation = np.linalg.qr(rng.normal(size=(size, size)))[0]
    bent = rotation * rng.uniform(0.3, 3, size) @ np.linalg.qr(rng.normal(size=(size, size)))[0]
    return 10**decades * bent, 10**decades * rng.normal(size=size)


def ill_conditioned_factor(size: int, decades: float, rng: np.random.Generator) -> np.ndarray:
    """The Cholesky factor of a precision whose condition number is 10 ** decades."""
    rotation = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = np.logspace(-decades / 2, decades / 2, size)
    return np.linalg.cholesky((rotation * values) @ rotation.T)


def slow_log_density(levs: np.ndarray, model: Parameters) -> float:
    """log p(LEVs by one author): one Gaussian over all of them stacked."""
    count = len(levs)
    same_style = np.kron(np.ones((count, count)), np.linalg.inv(model.between))
    noise = np.kron(np.eye(count), np.linalg.inv(model.within))
    stacked = multivariate_normal(np.tile(model.mean, count), same_style + noise)
    return float(stacked.logpdf(np.ravel(levs)))


def slow_log_bayes_factor(first: np.ndarray, second: np.ndarray, model: Parameters) -> float:
    """Sets (documents, lev_size): made by one style, against made by two."""
    return (
        slow_log_density(np.concatenate([first, second]), model)
        - slow_log_density(first, model)
        - slow_log_density(second, model)
    )
