"""The Siamese network with its losses, and the two-covariance layer behind it, for training.

The losses are on the distance of two LEVs and on their Bayes factor; `uncertainty.py` has what the
paper's successor adds. The two-covariance layer is the torch twin of `two_covariance.py`. It holds
lower Cholesky factors of the two precisions with exponentiated diagonals, so that both stay
positive definite whatever a step does to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adhominem.paper.config import EncoderOptions, LossOptions
from adhominem.paper.network import Batch, Masks, Network
from adhominem.paper.uncertainty import Detector, UncertaintyAdaptation, adaptation_loss

_STARTING_SCALE = 15.0  # of cosines in the softmax


@dataclass(frozen=True)
class PairLabels:
    """The labels of a batch of pairs."""

    same_author: Tensor  # (pairs,), bool
    author: Tensor  # (2 * pairs,): of the first documents, then the second ones


class SiameseModel(nn.Module):
    """One network for both documents of a pair, with its two-covariance layer and its losses."""

    def __init__(
        self,
        token_types: int,
        characters: int,
        encoder: EncoderOptions,
        loss: LossOptions,
        prefixes: int = 0,
    ) -> None:
        super().__init__()
        self.options = loss
        self.network = Network(token_types, characters, encoder, prefixes)
        size, hidden = loss.projection_size or encoder.lev_size, loss.adaptation_size
        self.two_covariance = TwoCovarianceLayer(size, printed=loss.constant == "printed")
        self.cosine = CosineSoftmax() if loss.by_cosine else None
        self.kernel = KernelSimilarity() if loss.distance == "kernel" else None
        self.projection = nn.Linear(encoder.lev_size, size) if loss.projection_size else None
        self.adaptation = UncertaintyAdaptation(size, hidden) if hidden else None
        self.detector = Detector(size, hidden) if hidden else None

    def encode(self, batch: Batch, masks: Masks | None = None) -> Tensor:
        """The LEVs (documents, lev_size) of a batch; with masks, as in training."""
        return self.network(batch, masks).levs  # type: ignore[no-any-return]

    def project(self, levs: Tensor) -> Tensor:
        """The input (documents, size) of the two-covariance layer, for LEVs."""
        return levs if self.projection is None else torch.tanh(self.projection(levs))

    def log_bayes_factor(self, first: Tensor, second: Tensor) -> Tensor:
        """The log Bayes factor (pairs,) of LEVs (pairs, lev_size); adapted, if the model adapts."""
        first, second = self.project(first), self.project(second)
        scores = self.two_covariance(first, second)
        if self.adaptation is None:
            return scores  # type: ignore[no-any-return]
        answers = self.adaptation(first, second, scores)  # (pairs, 2)
        return answers[:, 0] - answers[:, 1]  # type: ignore[no-any-return]

    def losses(
        self, levs: Tensor, labels: PairLabels, kept: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Each loss as a mean over its pairs, for LEVs (2 * pairs, lev_size), first ones first.

        `kept` (2 * pairs, size) is the dropout mask of what enters the two-covariance layer.
        """
        options = self.options
        pairs = len(levs) // 2
        losses: dict[str, Tensor] = {}
        if options.distance:
            distance = squared_distance(levs[:pairs], levs[pairs:])  # (pairs,)
            near, far = options.same_threshold, options.different_threshold
            if self.kernel is not None:  # of a similarity, the larger is the nearer
                distance = -self.kernel(distance)
                near, far = -options.kernel_same_threshold, -options.kernel_different_threshold
            losses["distance"] = contrastive_loss(distance, labels.same_author, near, far).mean()
        styles = self.project(levs.detach() if options.stop_gradient_at_lev else levs)
        if kept is not None:
            styles = styles * kept
        first, second = styles[:pairs], styles[pairs:]  # (pairs, size)
        scores = self.two_covariance(first, second)  # (pairs,)
        losses["bayes_factor"] = bayes_factor_loss(scores, labels.same_author).mean()
        if self.adaptation is not None:  # which trains itself alone
            answers = self.adaptation(first.detach(), second.detach(), scores.detach())
            weight = options.entropy_weight
            losses["adaptation"] = adaptation_loss(answers, labels.same_author, weight).mean()
        same = labels.same_author.nonzero().squeeze(1)  # (same-author pairs,)
        if options.in_batch_negatives and len(same):
            if self.cosine is not None:
                loss = self.cosine(levs, labels.author, labels.same_author)
            else:
                matrix = self.two_covariance.matrix(first[same], second[same])
                loss = in_batch_loss(matrix, labels.author[:pairs][same])
            losses["in_batch"] = options.in_batch_negatives * loss
        return losses

    def start_two_covariance(self, levs: Tensor) -> None:
        """Initialise with a tenth of the LEVs' variance between authors, the rest within, evenly.

        From unit matrices, the other `start`, it takes epochs to reach the scale of the LEVs. A fit
        to the untrained network's LEVs would be overconfident: they are not yet informative about
        authors. They may also lie so close together that the first steps leave their range; so the
        variance is at least that of LEVs with distances at the paper's tau, where the loss brings
        them.
        """
        if self.options.start == "unit":
            return
        with torch.no_grad():
            levs = self.project(levs)
            self.two_covariance.author_mean.copy_(levs.mean(0))
            aim = self.options.decision_threshold / (2 * levs.shape[1])
            variance = max(aim, float(levs.var(0).mean()))
            for factor, share in (
                (self.two_covariance.between_author_factor, 0.1),
                (self.two_covariance.within_author_factor, 0.9),
            ):
                factor.zero_().fill_diagonal_(-0.5 * math.log(share * variance))


def squared_distance(first: Tensor, second: Tensor) -> Tensor:
    """The squared distances (pairs,) of LEVs (pairs, lev_size): the paper's d, Eq. 2."""
    return (first - second).square().sum(1)


def contrastive_loss(
    distance: Tensor, same_author: Tensor, same_threshold: float, different_threshold: float
) -> Tensor:
    """The paper's loss (pairs,) with two thresholds on the squared distance, Eq. 3."""
    too_far = (distance - same_threshold).clamp(min=0).square()  # (pairs,)
    too_near = (different_threshold - distance).clamp(min=0).square()  # (pairs,)
    return torch.where(same_author, too_far, too_near)


class KernelSimilarity(nn.Module):
    """The successor's similarity exp(-gamma d^alpha) of squared distances d; both are learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.log_gamma = nn.Parameter(torch.tensor([0.09]).log())
        self.log_alpha = nn.Parameter(torch.tensor([1.5]).log())

    def forward(self, distance: Tensor) -> Tensor:
        """The probability (pairs,) of one author, from squared distances (pairs,)."""
        power = distance.clamp(min=1e-12) ** self.log_alpha.exp()
        return torch.exp(-self.log_gamma.exp() * power)


def bayes_factor_loss(log_bayes_factor: Tensor, same_author: Tensor) -> Tensor:
    """The cross entropy (pairs,) of Eq. 15 under even priors, Eq. 16."""
    return nn.functional.binary_cross_entropy_with_logits(
        log_bayes_factor, same_author.to(log_bayes_factor.dtype), reduction="none"
    )


def in_batch_loss(log_bayes_factors: Tensor, authors: Tensor) -> Tensor:
    """The loss (a scalar) of finding the second document by the author of each first document.

    `log_bayes_factors` is (pairs, pairs), `authors` (pairs,) are those of the first documents.
    """
    right = torch.eye(len(authors), dtype=torch.bool, device=authors.device)
    others = authors[:, None] != authors[None, :]  # (pairs, pairs)
    scores = log_bayes_factors.masked_fill(~(right | others), -torch.inf)
    return -torch.log_softmax(scores, dim=1).diagonal().mean()


class CosineSoftmax(nn.Module):
    """The loss of finding a document's partner by the same author, by the cosine of LEVs.

    The LEVs are centred on the mean of the batch, as by a relevant population: if a batch holds one
    corpus, differences between genres are not rewarded. A scale is learnt.
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(_STARTING_SCALE).log())

    def forward(self, levs: Tensor, authors: Tensor, same_author: Tensor) -> Tensor:
        """The loss (a scalar) of LEVs (2 * pairs, lev_size), the first documents first.

        `authors` is (2 * pairs,), `same_author` (pairs,). Each document of a same-author pair is a
        question; all documents of other authors are wrong answers.
        """
        pairs = len(same_author)
        units = nn.functional.normalize(levs - levs.mean(0), dim=1)  # (2 * pairs, lev_size)
        scores = units @ units.T * self.log_scale.exp()  # (2 * pairs, 2 * pairs)
        place = torch.arange(2 * pairs, device=levs.device)
        partner = (place + pairs) % (2 * pairs)  # (2 * pairs,)
        others = authors[:, None] != authors[None, :]  # (2 * pairs, 2 * pairs)
        right = place[None, :] == partner[:, None]
        scores = scores.masked_fill(~(right | others), -torch.inf)
        questions = torch.cat([same_author, same_author]).nonzero().squeeze(1)
        return nn.functional.cross_entropy(scores[questions], partner[questions])


class TwoCovarianceLayer(nn.Module):
    """The two-covariance model as a layer, differentiable in all its parameters.

    The small matrices are computed in float64, since in float32 the two log determinants of a
    hundred dimensions cancel out, and on the CPU, since a GPU would launch a hundred kernels for
    them and wait after each factorisation to see whether it succeeded.
    """

    def __init__(self, lev_size: int, *, printed: bool = False) -> None:
        """With `printed`, the score's constant is that of the paper, with its sign errors."""
        super().__init__()
        self.printed = printed
        self.author_mean = nn.Parameter(torch.zeros(lev_size))
        self.between_author_factor = nn.Parameter(torch.zeros(lev_size, lev_size))
        self.within_author_factor = nn.Parameter(torch.zeros(lev_size, lev_size))

    def factors(self) -> tuple[Tensor, Tensor]:
        """The Cholesky factors of B and W, each (lev_size, lev_size), in float64."""
        return _factor(self.between_author_factor), _factor(self.within_author_factor)

    @torch.no_grad()
    def entropies(self) -> tuple[float, float]:
        """The entropies of the between- and within-author Gaussian, in nats: Eq. 18."""
        constant = 0.5 * self.author_mean.numel() * math.log(2 * math.pi * math.e)
        between, within = (
            constant - float(factor.diagonal().log().sum()) for factor in self.factors()
        )
        return between, within

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """The log Bayes factor (pairs,) of each pair of LEVs (pairs, lev_size)."""
        alone1, alone2, crossed, y2, constant = self._terms(first, second)
        return (alone1 + alone2 + 2 * (crossed * y2).sum(1) + constant).to(first)

    def matrix(self, first: Tensor, second: Tensor) -> Tensor:
        """The log Bayes factors (n, m) of LEVs (n, lev_size) with LEVs (m, lev_size)."""
        alone1, alone2, crossed, y2, constant = self._terms(first, second)
        return (alone1[:, None] + alone2 + 2 * crossed @ y2.T + constant).to(first)

    def _terms(self, first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
        """y1' Gamma y1, y2' Gamma y2, y1' Lambda, y2 and kappa (as corrected), for centred LEVs.

        Shifting all LEVs and the mean changes nothing; without a mean, rho vanishes. Only
        differences of covariances enter, each taken in the coordinates where W is the identity:
        W(B + nW)^-1 W = C (F + n)^-1 C' with W = CC' and F = C^-1 B C^-T.
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
        cross = 0.5 * within @ tilde_lambda @ within.T  # Lambda
        square = 0.5 * within @ (tilde_lambda - tilde_gamma) @ within.T  # Gamma
        mean = _exact(self.author_mean)
        y1, y2 = (_exact(levs) - mean for levs in (first, second))
        alone1, alone2 = ((y @ square * y).sum(1) for y in (y1, y2))  # (n,) and (m,)
        constant = 0.5 * (2 * log_one - log_ratio - log_two)
        if self.printed:  # what `printed_excess` computes
            log_within = 2 * within.diagonal().log().sum()
            log_one, log_two, log_ratio = (
                value + log_within for value in (log_one, log_two, log_ratio)
            )
            aligned = (between.T @ mean).square().sum()  # mu' B mu
            constant = constant - 3 * log_one + 1.5 * log_two - 0.5 * log_ratio + 0.5 * aligned
        return alone1, alone2, y1 @ cross, y2, constant


def _exact(values: Tensor) -> Tensor:
    return values.to("cpu").double()


def _factor(raw: Tensor) -> Tensor:
    raw = _exact(raw)
    return torch.tril(raw, -1) + torch.diag(raw.diagonal().exp())
