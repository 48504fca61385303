"""The losses: on the distance of two LEVs, and on their Bayes factor."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_STARTING_SCALE = 15.0  # of a cosine, in the softmax


def squared_distance(first: Tensor, second: Tensor) -> Tensor:
    """(pairs, lev_size) twice to (pairs,): the paper's d."""
    return (first - second).square().sum(1)


def contrastive_loss(
    distance: Tensor, same_author: Tensor, same_threshold: float, different_threshold: float
) -> Tensor:
    """The paper's loss with two thresholds on the squared distance; all are (pairs,)."""
    too_far = (distance - same_threshold).clamp(min=0).square()
    too_near = (different_threshold - distance).clamp(min=0).square()
    return torch.where(same_author, too_far, too_near)


class KernelSimilarity(nn.Module):
    """exp(-alpha (d^2)^beta): the squared distance as a similarity between 0 and 1."""

    def __init__(self) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.tensor(0.09).log())
        self.log_beta = nn.Parameter(torch.tensor(1.5).log())

    def forward(self, distance: Tensor) -> Tensor:
        """(pairs,) to (pairs,)."""
        power = distance.clamp(min=1e-12) ** self.log_beta.exp()
        return torch.exp(-self.log_alpha.exp() * power)


def kernel_loss(
    similarity: Tensor, same_author: Tensor, same_threshold: float, different_threshold: float
) -> Tensor:
    """The contrastive loss on the similarity: above one threshold, or below the other."""
    too_low = (same_threshold - similarity).clamp(min=0).square()
    too_high = (similarity - different_threshold).clamp(min=0).square()
    return torch.where(same_author, too_low, too_high)


def bayes_factor_loss(log_bayes_factor: Tensor, same_author: Tensor) -> Tensor:
    """(pairs,): the cross entropy of the probability under even priors."""
    return nn.functional.binary_cross_entropy_with_logits(
        log_bayes_factor, same_author.to(log_bayes_factor.dtype), reduction="none"
    )


def in_batch_loss(log_bayes_factors: Tensor, authors: Tensor, form: str) -> Tensor:
    """Each first document of the same-author pairs against each second one; a scalar.

    `log_bayes_factors` is (pairs, pairs), `authors` (pairs,) names who wrote the first documents.
    "cross_entropy": is this pair by one author? Both answers count half, so that the Bayes factor
    stays what it is under even priors. "softmax": which second document is by this author?
    """
    right = torch.eye(len(authors), dtype=torch.bool, device=authors.device)
    others = authors[:, None] != authors[None, :]
    if form == "softmax":
        scores = log_bayes_factors.masked_fill(~(right | others), -torch.inf)
        return -torch.log_softmax(scores, dim=1).diagonal().mean()
    misses = nn.functional.softplus(-log_bayes_factors.diagonal()).mean()
    alarms = (nn.functional.softplus(log_bayes_factors) * others).sum() / others.sum().clamp(min=1)
    return 0.5 * (misses + alarms)


class CosineSoftmax(nn.Module):
    """Which other document of the batch is by the author of this one, by the cosine of LEVs?

    The LEVs are moved to the mean of the batch, as a relevant population would do: where a batch
    holds one corpus, what tells genres apart earns nothing. A scale is learnt.
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(_STARTING_SCALE).log())

    def forward(self, levs: Tensor, authors: Tensor, same_author: Tensor) -> Tensor:
        """A scalar, of LEVs (2 * pairs, lev_size), the first documents first.

        `authors` (2 * pairs,) wrote them, `same_author` is (pairs,). Each document of a same-author
        pair is asked for; all documents of other authors are wrong answers.
        """
        pairs = len(same_author)
        units = nn.functional.normalize(levs - levs.mean(0), dim=1)
        scores = units @ units.T * self.log_scale.exp()  # (2 * pairs, 2 * pairs)
        place = torch.arange(2 * pairs, device=levs.device)
        partner = (place + pairs) % (2 * pairs)
        others = authors[:, None] != authors[None, :]
        right = place[None, :] == partner[:, None]
        scores = scores.masked_fill(~(right | others), -torch.inf)
        asked = torch.cat([same_author, same_author]).nonzero().squeeze(1)
        return nn.functional.cross_entropy(scores[asked], partner[asked])
