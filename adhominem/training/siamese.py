"""What is trained: the network, the two-covariance layer, and the losses on both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adhominem.config import LossOptions
from adhominem.encoders.network.network import Batch, Masks, Network
from adhominem.encoders.network.options import EncoderOptions
from adhominem.training.losses import (
    CosineSoftmax,
    KernelSimilarity,
    bayes_factor_loss,
    contrastive_loss,
    in_batch_loss,
    kernel_loss,
    squared_distance,
)
from adhominem.training.two_covariance import TwoCovarianceLayer


@dataclass(frozen=True)
class PairLabels:
    """What the losses know of a batch of pairs."""

    same_author: Tensor  # (pairs,), bool
    author: Tensor  # (2 * pairs,): who wrote the first documents, then the second ones


class SiameseModel(nn.Module):
    """Both documents of a pair through one network; their distance, and their Bayes factor."""

    def __init__(
        self, token_types: int, characters: int, encoder: EncoderOptions, loss: LossOptions
    ) -> None:
        super().__init__()
        self.options = loss
        self.network = Network(token_types, characters, encoder)
        size = loss.projection_size or encoder.lev_size
        self.projection = nn.Linear(encoder.lev_size, size) if loss.projection_size else None
        self.two_covariance = TwoCovarianceLayer(size)
        self.kernel = KernelSimilarity() if loss.distance == "kernel" else None
        self.cosine = CosineSoftmax() if loss.by_cosine else None

    def encode(self, batch: Batch, masks: Masks | None = None) -> Tensor:
        """(documents, lev_size)."""
        return self.network(batch, masks).levs  # type: ignore[no-any-return]

    def project(self, levs: Tensor, masks: Masks | None = None) -> Tensor:
        """What the two-covariance layer sees of the LEVs."""
        if self.projection is None:
            return levs
        projected = torch.relu(self.projection(levs))
        if masks is not None:
            projected = projected * masks.draw(projected.shape[1], self.options.projection_dropout)
        return projected

    def losses(
        self, levs: Tensor, labels: PairLabels, masks: Masks | None = None
    ) -> dict[str, Tensor]:
        """Each loss as a mean over its pairs. LEVs: (2 * pairs, lev_size), the first ones first."""
        options = self.options
        pairs = len(levs) // 2
        found: dict[str, Tensor] = {}
        distance = squared_distance(levs[:pairs], levs[pairs:])  # (pairs,)
        if self.kernel is not None:
            thresholds = (options.kernel_same_threshold, options.kernel_different_threshold)
            similarity = self.kernel(distance)
            found["distance"] = kernel_loss(similarity, labels.same_author, *thresholds).mean()
        elif options.distance:
            thresholds = (options.same_threshold, options.different_threshold)
            found["distance"] = contrastive_loss(distance, labels.same_author, *thresholds).mean()
        styles = self.project(levs.detach() if options.stop_gradient_at_lev else levs, masks)
        first, second = styles[:pairs], styles[pairs:]
        scores = self.two_covariance(first, second)
        found["bayes_factor"] = bayes_factor_loss(scores, labels.same_author).mean()
        same = labels.same_author.nonzero().squeeze(1)
        if options.in_batch_negatives and len(same):
            if self.cosine is not None:
                loss = self.cosine(levs, labels.author, labels.same_author)
            else:
                matrix = self.two_covariance.matrix(first[same], second[same])
                loss = in_batch_loss(matrix, labels.author[:pairs][same], options.in_batch_form)
            found["in_batch"] = options.in_batch_negatives * loss
        return found

    def start_two_covariance(self, levs: Tensor) -> None:
        """Begin with a tenth of the LEVs' variance between authors, the rest within, evenly.

        From the unit matrices it would take epochs to reach the scale of the LEVs. A fit to the
        untrained network's LEVs would be too sure of itself: they say nothing of authors yet. They
        may also lie so close together that the first steps leave their range; so the variance is
        at least that of LEVs whose distances lie at the paper's tau, where the loss brings them.
        """
        with torch.no_grad():
            styles = self.project(levs)
            self.two_covariance.author_mean.copy_(styles.mean(0))
            aim = self.options.decision_threshold / (2 * styles.shape[1])
            variance = max(aim, float(styles.var(0).mean()))
            for factor, share in (
                (self.two_covariance.between_author_factor, 0.1),
                (self.two_covariance.within_author_factor, 0.9),
            ):
                factor.zero_().fill_diagonal_(-0.5 * math.log(share * variance))
