"""The two-covariance model as a layer of the network: the torch twin of `scoring.TwoCovariance`.

It holds the lower Cholesky factors of the two precisions with exponentiated diagonals,
so that both stay positive definite whatever a step does to them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class TwoCovarianceLayer(nn.Module):
    """log Bayes factors of pairs of LEVs, differentiable in all its parameters.

    The small matrices are worked on in float64: with float32, the two log determinants of a
    hundred dimensions cancel to nothing.
    """

    def __init__(self, lev_size: int) -> None:
        super().__init__()
        self.author_mean = nn.Parameter(torch.zeros(lev_size))
        self.between_author_factor = nn.Parameter(torch.zeros(lev_size, lev_size))
        self.within_author_factor = nn.Parameter(torch.zeros(lev_size, lev_size))

    def factors(self) -> tuple[Tensor, Tensor]:
        """The Cholesky factors of B and W, each (lev_size, lev_size), in float64."""
        return _factor(self.between_author_factor), _factor(self.within_author_factor)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(pairs, lev_size) twice to (pairs,): the log Bayes factor of each pair."""
        form = self._quadratic_form()
        y1, y2 = self._centred(first), self._centred(second)  # (pairs, lev_size)
        own = form.own(y1) + form.own(y2)  # (pairs,)
        return (own + 2 * (y1 @ form.cross * y2).sum(1) + form.constant).to(first.dtype)

    def matrix(self, first: Tensor, second: Tensor) -> Tensor:
        """(n, lev_size) and (m, lev_size) to (n, m): the log Bayes factor of each with each."""
        form = self._quadratic_form()
        y1, y2 = self._centred(first), self._centred(second)
        own = form.own(y1)[:, None] + form.own(y2)[None, :]  # (n, m)
        return (own + 2 * y1 @ form.cross @ y2.T + form.constant).to(first.dtype)

    def _centred(self, levs: Tensor) -> Tensor:
        """A shift of all LEVs and the mean changes nothing; without a mean, rho vanishes."""
        return levs.double() - self.author_mean.double()

    def _quadratic_form(self) -> _QuadraticForm:
        """The paper's Lambda, Gamma and kappa for a mean of zero (kappa as corrected).

        Only differences of covariances enter, each taken in the coordinates where W is the
        identity: W(B + nW)^-1 W = C (F + n)^-1 C' with W = CC' and F = C^-1 B C^-T.
        """
        between, within = self.factors()
        root = torch.linalg.solve_triangular(within, between, upper=False)
        ratio = root @ root.T  # F: (lev_size, lev_size), positive definite
        identity = torch.eye(len(ratio), dtype=ratio.dtype, device=ratio.device)
        one, two = (torch.linalg.cholesky(ratio + n * identity) for n in (1, 2))
        tilde_gamma, tilde_lambda = torch.cholesky_inverse(one), torch.cholesky_inverse(two)
        log_ratio, log_one, log_two = (
            2 * factor.diagonal().abs().log().sum() for factor in (root, one, two)
        )
        return _QuadraticForm(
            0.5 * within @ tilde_lambda @ within.T,
            0.5 * within @ (tilde_lambda - tilde_gamma) @ within.T,
            0.5 * (2 * log_one - log_ratio - log_two),
        )


class _QuadraticForm:
    def __init__(self, cross: Tensor, square: Tensor, constant: Tensor) -> None:
        self.cross = cross  # Lambda
        self.square = square  # Gamma
        self.constant = constant  # kappa

    def own(self, levs: Tensor) -> Tensor:
        """(n,): what each LEV adds by itself."""
        return (levs @ self.square * levs).sum(1)


def _factor(raw: Tensor) -> Tensor:
    raw = raw.double()
    return torch.tril(raw, -1) + torch.diag(raw.diagonal().exp())
