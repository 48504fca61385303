"""The two-covariance model: from linguistic embedding vectors (LEVs) to a Bayes factor.

An author's style x is drawn from N(author_mean, between-author covariance); the LEV
of a document is x plus noise with the within-author covariance. The Bayes factor
compares "one style made all these LEVs" with "two styles made them".

Both precisions are diagonalised jointly: in the coordinates
`projection @ (lev - author_mean)` the within-author precision is the identity and the
between-author precision is diagonal, `precision_ratio`. There the paper's formulas are sums
over dimensions: exact, linear in the size of a LEV, and finite however
ill-conditioned the matrices are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError

# One LEV per pair, as (pairs, lev_size); or one set (documents, lev_size) of LEVs per pair.
Side = npt.ArrayLike | Sequence[npt.ArrayLike]

_SMALLEST = 1e-300  # stands in for a precision that underflows: its logarithm stays finite
_FLAT = 1e-10  # of the largest total variance: the smallest variance of a direction
_FLOOR = 1e-6  # of the total variance: EM's smallest variance between or within authors


class TwoCovariance:
    """The paper's probabilistic layer. Fit it to LEVs with known authors, or give the parameters.

    >>> model = TwoCovariance().fit(levs, authors)            # levs: (documents, lev_size)
    >>> model.log_bayes_factor(first, second)                 # (pairs,), in nats
    >>> model.log_bayes_factor([five_known], [one_disputed])  # sets: (1,)
    """

    author_mean: FloatArray  # (lev_size,)
    excess: float = 0.0  # added to each log Bayes factor: not 0 with the paper's printed constant

    def __init__(self, *, max_iterations: int = 200, tolerance: float = 1e-7) -> None:
        if max_iterations < 1 or not tolerance >= 0:
            raise OptionError(
                f"max_iterations {max_iterations}, tolerance {tolerance}: expected >= 1 and >= 0"
            )
        self.max_iterations = max_iterations
        self.tolerance = tolerance

    @classmethod
    def from_precisions(
        cls,
        author_mean: npt.ArrayLike,
        between_author_precision: npt.ArrayLike,
        within_author_precision: npt.ArrayLike,
    ) -> TwoCovariance:
        """A model with given parameters: the paper's mu, B and W."""
        factors = []
        for matrix in (between_author_precision, within_author_precision):
            try:
                factors.append(np.linalg.cholesky(np.asarray(matrix, dtype=np.float64)))
            except np.linalg.LinAlgError:
                which = "within" if factors else "between"
                raise OptionError(
                    f"{which}_author_precision is not positive definite, or not square; expected "
                    "both"
                ) from None
        return cls.from_factors(author_mean, *factors)

    @classmethod
    def from_factors(
        cls,
        author_mean: npt.ArrayLike,
        between_author_factor: npt.ArrayLike,
        within_author_factor: npt.ArrayLike,
    ) -> Self:
        """A model from the lower Cholesky factors of B and W, as in training."""
        mean, between, within = (
            np.asarray(value, dtype=np.float64)
            for value in (author_mean, between_author_factor, within_author_factor)
        )
        if mean.ndim != 1 or not between.shape == within.shape == (len(mean), len(mean)):
            raise OptionError(
                f"mean {mean.shape}, factors {between.shape} and {within.shape}: "
                "expected (n,), (n, n) and (n, n)"
            )
        if not all(np.isfinite(value).all() for value in (mean, between, within)):
            raise OptionError("the parameters are not finite; expected numbers")
        model = cls()
        try:
            model._set(mean, between, within)
        except np.linalg.LinAlgError:
            raise OptionError(
                "within_author_factor is singular; expected one of full rank"
            ) from None
        return model

    def _set(self, mean: FloatArray, between: FloatArray, within: FloatArray) -> None:
        """Diagonalise: with W = CC' and B = FF', C^-1 F has the roots as singular values."""
        rotation, roots, _ = np.linalg.svd(np.linalg.solve(within, between))
        self.author_mean = mean
        self.precision_ratio = np.maximum(roots**2, _SMALLEST)  # (lev_size,)
        self.projection = rotation.T @ within.T  # (lev_size, lev_size)

    @property
    def lev_size(self) -> int:
        """The number of dimensions of a LEV."""
        return len(self.author_mean)

    @property
    def between_author_precision(self) -> FloatArray:
        """The between-author precision (lev_size, lev_size): the paper's B."""
        return np.asarray((self.projection.T * self.precision_ratio) @ self.projection)

    @property
    def within_author_precision(self) -> FloatArray:
        """The within-author precision (lev_size, lev_size): the paper's W."""
        return np.asarray(self.projection.T @ self.projection)

    def log_bayes_factor(self, first: Side, second: Side) -> FloatArray:
        """The log Bayes factors (pairs,), in nats, for one author against two.

        Each side has one LEV per pair, or one set of LEVs by one author per pair.
        """
        first_count, first_sum = self._statistics(first)
        second_count, second_sum = self._statistics(second)
        if len(first_count) != len(second_count):
            raise OptionError(
                f"{len(first_count)} first sides, {len(second_count)} second sides; "
                "expected as many"
            )
        combined = self._evidence(first_count + second_count, first_sum + second_sum)
        return (
            combined
            - self._evidence(first_count, first_sum)
            - self._evidence(second_count, second_sum)
            + self.excess
        )

    def printed_excess(self) -> float:
        """The paper's printed constant of the score minus the right one.

        Printed is 2 log|G| - log|B| - log|L| + mu' B mu with G = (B + W)^-1 and L = (B + 2W)^-1;
        right is half of -2 log|G| - log|B| + log|L| + mu' B mu.
        """
        log_within = 2 * float(np.linalg.slogdet(self.projection)[1])
        ratio = self.precision_ratio
        log_ratio, log_one, log_two = (
            float(np.log(ratio + n).sum()) + log_within for n in range(3)
        )  # of B, B + W and B + 2W
        aligned = float((ratio * (self.projection @ self.author_mean) ** 2).sum())  # mu' B mu
        return -3 * log_one + 1.5 * log_two - 0.5 * log_ratio + 0.5 * aligned

    def _evidence(self, count: FloatArray, total: FloatArray) -> FloatArray:
        """log p(LEVs) for each set (sets,), without a term that cancels in the Bayes factor."""
        n = count[:, None]
        shrunk = total**2 / (self.precision_ratio + n) - np.log1p(
            n / self.precision_ratio
        )  # (sets, lev_size)
        return np.asarray(0.5 * shrunk.sum(axis=1))

    def _statistics(self, side: Side) -> tuple[FloatArray, FloatArray]:
        """The sizes (sets,) of sets, and their sums (sets, lev_size) in diagonal coordinates."""
        sets = side if isinstance(side, np.ndarray) else [np.asarray(levs) for levs in side]  # type: ignore[union-attr]
        try:
            if len(sets) and np.ndim(sets[0]) == 2:
                counts = np.array([len(levs) for levs in sets], dtype=np.float64)
                sums = np.array([np.sum(levs, axis=0, dtype=np.float64) for levs in sets])
            else:
                sums = np.asarray(sets, dtype=np.float64)
                counts = np.ones(len(sums))
        except ValueError:
            shapes = ", ".join(sorted({str(np.shape(levs)) for levs in sets}))
            raise OptionError(
                f"LEVs of different shapes in one call: {shapes}; expected one size"
            ) from None
        if sums.ndim != 2 or sums.shape[1] != self.lev_size:
            raise OptionError(f"LEVs of shape {sums.shape}; expected (pairs, {self.lev_size})")
        if not counts.all():
            raise OptionError("a side without documents; expected at least one")
        if not np.isfinite(sums).all():
            raise OptionError("a LEV is not finite; expected numbers: encode its text again")
        return counts, (sums - counts[:, None] * self.author_mean) @ self.projection.T

    def fit(
        self, levs: npt.ArrayLike, authors: Sequence[Hashable] | npt.ArrayLike
    ) -> TwoCovariance:
        """Fit by maximum likelihood with EM, for any number of documents per author.

        `log_likelihoods` then holds the log likelihood before each step. With too few documents for
        the dimensions, it would grow without bound as a variance goes to zero; so no variance falls
        below a millionth of the total variance.
        """
        data = np.asarray(levs, dtype=np.float64)  # (documents, lev_size)
        names: dict[Hashable, int] = {}
        index = np.array([names.setdefault(author, len(names)) for author in authors], np.int64)  # type: ignore[union-attr, arg-type]
        counts = np.bincount(index).astype(np.float64)  # (authors,)
        if data.ndim != 2 or len(data) != len(index):
            raise OptionError(
                f"LEVs of shape {data.shape} for {len(index)} authors' names; expected a row for "
                "each"
            )
        if not np.isfinite(data).all():
            raise OptionError("a LEV is not finite; expected numbers: encode its text again")
        if len(counts) < 2 or counts.max() < 2:
            raise OptionError(
                f"{len(counts)} authors, at most {counts.max(initial=0):.0f} documents each; "
                "expected two authors or more, and one of them with two documents"
            )
        # EM runs in whitened coordinates z = (lev - centre) @ whitening
        centre = data.mean(axis=0)
        data = data - centre
        variances, directions = np.linalg.eigh(data.T @ data / len(data))
        if not variances.max(initial=0) > 0:
            raise OptionError("all LEVs are the same; expected texts that differ")
        deviations = np.sqrt(np.maximum(variances, _FLAT * variances.max()))
        data = data @ (directions / deviations)
        sums = np.zeros((len(counts), data.shape[1]))
        np.add.at(sums, index, data)
        scatter = data.T @ data
        self._start(counts, sums, scatter, len(data))
        self.log_likelihoods: list[float] = []
        before = -np.inf
        for _ in range(self.max_iterations):
            now = self._step(counts, sums, scatter, len(data))
            now -= len(data) * float(np.log(deviations).sum())
            self.log_likelihoods.append(now)
            if now - before < self.tolerance * abs(now):
                break
            before = now
        self.author_mean = centre + directions @ (deviations * self.author_mean)
        self.projection = self.projection / deviations @ directions.T
        return self

    def _start(
        self, counts: FloatArray, sums: FloatArray, scatter: FloatArray, documents: int
    ) -> None:
        """Initial moments, with a little of the total variance so that EM can leave zeros."""
        means = sums / counts[:, None]  # (authors, lev_size)
        within = (scatter - sums.T @ means) / documents
        between = means.T @ means / len(counts)
        little = 1e-3 * np.eye(len(scatter))
        self._set_covariances(np.zeros(len(scatter)), between + little, within + little)

    def _set_covariances(self, mean: FloatArray, between: FloatArray, within: FloatArray) -> None:
        """Set the covariances; raising variances to the floor is the best EM step above it."""
        factors = []
        for covariance in (between, within):
            variances, directions = np.linalg.eigh(covariance)
            factors.append(directions / np.sqrt(np.maximum(variances, _FLOOR)))
        self._set(mean, *factors)

    def _step(
        self, counts: FloatArray, sums: FloatArray, scatter: FloatArray, documents: int
    ) -> float:
        """One step of EM on the sufficient statistics; returns the log likelihood before it.

        In diagonal coordinates the posterior of each author has the precision
        `precision_ratio + n` and the mean `total / (precision_ratio + n)`.
        """
        p, mean = self.projection, self.author_mean
        total = (sums - counts[:, None] * mean) @ p.T  # (authors, lev_size)
        shift = np.outer(sums.sum(axis=0), mean)
        centred = scatter - shift - shift.T + documents * np.outer(mean, mean)
        squares = p @ centred @ p.T  # (lev_size, lev_size): sum of z z'
        log_scale = np.linalg.slogdet(p)[1] - 0.5 * len(mean) * np.log(2 * np.pi)
        likelihood = (
            self._evidence(counts, total).sum() - 0.5 * np.trace(squares) + documents * log_scale
        )
        variance = 1 / (self.precision_ratio + counts[:, None])  # (authors, lev_size)
        style = total * variance  # (authors, lev_size): the posterior means
        new_mean = style.mean(axis=0)
        deviation = style - new_mean
        between = np.diag(variance.mean(axis=0)) + deviation.T @ deviation / len(counts)
        cross = total.T @ style
        within = squares - cross - cross.T + (style * counts[:, None]).T @ style
        within = (within + np.diag((variance * counts[:, None]).sum(axis=0))) / documents
        back = np.linalg.inv(p)
        self._set_covariances(
            mean + back @ new_mean, back @ between @ back.T, back @ within @ back.T
        )
        return float(likelihood)


def squared_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """The squared Euclidean distances (pairs,) of LEVs (pairs, lev_size): the paper's d.

    Its root is a pseudo-metric; the square itself does not obey the triangle inequality.
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.asarray((difference**2).sum(axis=-1))
