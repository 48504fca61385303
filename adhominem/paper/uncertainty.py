"""What the paper's successor adds, for training: `successor.py` has the same at inference.

    UAL    uncertainty adaptation: a confusion matrix of each pair corrects the probability
    O2D2   a detector of pairs that will be answered wrongly, or hardly decided: these stay open

UAL is trained with the network, by gradients that stop at its input; O2D2 afterwards, on other
texts. In all tensors of two, "same author" comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from adhominem.errors import OptionError
from adhominem.paper.sampling import batches, draw_epoch, why_no_pairs

if TYPE_CHECKING:
    from adhominem.paper.config import Config
    from adhominem.paper.losses import SiameseModel
    from adhominem.text.corpus import Labels


class UncertaintyAdaptation(nn.Module):
    """UAL: how probable each answer is if each proposition is true, by how a pair differs."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(input_size, size)
        self.answers = nn.Linear(size, 4)

    def confusion(self, first: Tensor, second: Tensor) -> Tensor:
        """The log probabilities (pairs, truth, answer) for vectors (pairs, input_size)."""
        hidden = torch.tanh(self.hidden((first - second).square()))  # (pairs, size)
        return torch.log_softmax(self.answers(hidden).view(-1, 2, 2), dim=2)

    def forward(self, first: Tensor, second: Tensor, log_bayes_factor: Tensor) -> Tensor:
        """The log probability (pairs, 2) of each answer, given log Bayes factors (pairs,)."""
        truth = nn.functional.logsigmoid(torch.stack([log_bayes_factor, -log_bayes_factor], dim=1))
        return torch.logsumexp(truth[:, :, None] + self.confusion(first, second), dim=1)


def adaptation_loss(answers: Tensor, same_author: Tensor, entropy_weight: float) -> Tensor:
    """The cross entropy (pairs,) of log probabilities (pairs, 2), less their weighted entropy."""
    entropy = -(answers.exp() * answers).sum(1)  # (pairs,)
    return -torch.where(same_author, answers[:, 0], answers[:, 1]) - entropy_weight * entropy


class Detector(nn.Module):
    """O2D2: whether a pair is undecidable. It says so of none before it is trained."""

    threshold: Tensor  # (1,): of the probability, found on dev

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.first = nn.Linear(2 * input_size + 4, size)
        self.second = nn.Linear(size, size)
        self.output = nn.Linear(size, 1)
        self.register_buffer("threshold", torch.ones(1))

    def forward(self, first: Tensor, second: Tensor, confusion: Tensor) -> Tensor:
        """The log odds (pairs,) for vectors (pairs, input_size) and log confusion matrices."""
        parts = [(first - second).square(), (first + second).square(), confusion.exp().flatten(1)]
        hidden = torch.tanh(self.first(torch.cat(parts, dim=1)))  # (pairs, size)
        return self.output(torch.tanh(self.second(hidden))).squeeze(1)  # type: ignore[no-any-return]


def undecidable(answers: Tensor, same_author: Tensor, margin: float) -> Tensor:
    """Which answers, log probabilities (pairs, 2), are wrong or within a margin around 0.5."""
    probability = answers[:, 0].exp()
    return ((probability > 0.5) != same_author) | ((probability - 0.5).abs() <= margin)


def train_detector(model: SiameseModel, levs: Tensor, labels: Labels, config: Config) -> None:
    """The second stage: O2D2 on new pairs of the calibration texts in each epoch, all else frozen.

    `levs` (documents, lev_size) are the LEVs of these texts.
    """
    options, pair_options = config.training, config.data.pairs
    assert model.adaptation is not None
    assert model.detector is not None
    optimiser = torch.optim.Adam(model.detector.parameters(), lr=options.learning_rate)
    with torch.no_grad():
        vectors = model.project(levs)  # (documents, size)
    for epoch in range(options.detector_epochs):
        drawn = draw_epoch(labels, seed=options.seed, epoch=epoch, options=pair_options)
        if not len(drawn):
            why = why_no_pairs(labels, pair_options)
            raise OptionError(f"the {len(labels):,} calibration texts make no pair; {why}")
        first, second = vectors[drawn.first], vectors[drawn.second]
        same_author = torch.from_numpy(drawn.same_author).to(levs.device)
        with torch.no_grad():
            confusion = model.adaptation.confusion(first, second)
            answers = model.adaptation(first, second, model.two_covariance(first, second))
            wanted = undecidable(answers, same_author, options.detector_margin).to(first.dtype)
        seed, size = options.seed, options.batch_pairs
        for rows in batches(drawn, labels, size, seed=seed, epoch=epoch, options=pair_options):
            log_odds = model.detector(first[rows], second[rows], confusion[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(log_odds, wanted[rows])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
