"""The training of the network: fresh pairs each epoch, one optimiser step per batch.

The tokens of all documents are on the training device, and windows are cut there. All random
numbers of a step (crops, hidden topics, dropout) depend only on (seed, epoch, step). So an
interrupted run continues with the same result, and several processes that share a batch draw the
same numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adhominem.arrays import IntArray
from adhominem.errors import DivergedError, OptionError
from adhominem.paper import distributed
from adhominem.paper.config import DataOptions, TrainingOptions
from adhominem.paper.losses import PairLabels, SiameseModel
from adhominem.paper.network import Batch, Masks
from adhominem.paper.sampling import DrawnPairs, batches, draw_epoch, why_no_pairs
from adhominem.text.corpus import UNKNOWN_LABEL, PackedCorpus
from adhominem.text.vocabulary import (
    Vocabulary,
    WindowOptions,
    WindowTable,
    consecutive_windows,
    crop_starts,
    hide_topics,
    spread_windows,
)

_DOCUMENTS_AT_ONCE = 200  # encoded together, as at inference

# cuDNN's LSTM computes in float16 under autocast, where the small gradients of single tokens
# vanish; scaled up they do not. If the largest overflow instead, the step is repeated at the next
# scale. Powers of two, so that scaling back is exact.
_GRADIENT_SCALES = (2.0**10, 2.0**4, 2.0**-2, 2.0**-8)


class DeviceCorpus:
    """A packed corpus as vocabulary ids, on the training device."""

    def __init__(
        self,
        corpus: PackedCorpus,
        vocabulary: Vocabulary,
        options: WindowOptions,
        device: torch.device,
        *,
        with_topics: bool = True,
    ) -> None:
        self.labels, self.same_author = corpus.labels, corpus.same_author
        self.with_topics = with_topics  # as at inference, where no topics are hidden at random
        self.lengths = corpus.lengths  # (documents,)
        self.options = options
        self.device = device
        self._offsets = corpus.offsets
        words = vocabulary.token_ids(corpus.types)  # (types,)
        # (tokens,): the type of each token of all documents
        self._tokens = torch.from_numpy(corpus.tokens.astype(np.int32)).to(device)
        self._words = torch.from_numpy(words).to(device)
        characters = vocabulary.character_ids(corpus.types)  # (types, characters)
        self._characters = torch.from_numpy(characters).to(device)
        rows = [vocabulary.prefix_rows(topic) for topic in corpus.topics]
        self._prefix_rows = np.array(list(chain(*rows)), dtype=np.int64)  # of all topics
        self._prefix_offsets = np.cumsum([0, *map(len, rows)])  # (topics + 1,)

    def batch(
        self, documents: IntArray, windows: WindowTable, topics: npt.NDArray[np.int32]
    ) -> Batch:
        """A batch of documents with these windows and topics; only types wait for the device."""
        begins, tables = self._offsets[documents], (self._words, self._characters)
        width = self.options.width
        return Batch.cut(self._tokens, begins, windows, width, self._prefixes(topics), tables)

    def _prefixes(self, topics: npt.NDArray[np.int32]) -> tuple[IntArray, IntArray]:
        """The rows of the topics' prefixes, and the document of each."""
        known = np.flatnonzero(topics != UNKNOWN_LABEL)
        begins = self._prefix_offsets[topics[known]]  # (documents with a topic,)
        sizes = self._prefix_offsets[topics[known] + 1] - begins
        documents = np.repeat(known, sizes)
        inside = np.arange(len(documents)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._prefix_rows[np.repeat(begins, sizes) + inside], documents


@dataclass(frozen=True)
class Step:
    """One optimiser step."""

    epoch: int
    step: int
    steps: int  # in this epoch
    pairs: int
    losses: dict[str, float]
    learning_rate: float
    waited: float  # seconds without work for the device


@dataclass(frozen=True, eq=False)
class Plan:
    """The pairs of a step."""

    pairs: DrawnPairs
    epoch: int
    step: int


@dataclass(frozen=True)
class _Prepared:
    """The prepared data and random numbers of a step."""

    plan: Plan
    batch: Batch
    labels: PairLabels
    masks: Masks
    kept: Tensor | None  # (2 * pairs, size): the dropout mask before the two-covariance layer


@contextmanager
def _one_thread() -> Iterator[None]:
    """A context for small matrices on the CPU, for which waking threads would take longer."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Trainer:
    """Trains one model on one device."""

    def __init__(
        self,
        model: SiameseModel,
        corpus: DeviceCorpus,
        data: DataOptions,
        options: TrainingOptions,
        device: torch.device,
    ) -> None:
        self.model = model.to(device)
        self.options = options
        self._corpus = corpus
        self._data = data
        self._device = device
        self._gradient_scales = _GRADIENT_SCALES if device.type == "cuda" else (1.0,)
        self._aside: torch.cuda.Stream | None = None
        if device.type == "cuda":
            self._aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._ahead: _Prepared | None = None  # prepared while waiting
        self._windows = replace(data.windows, max_windows=options.max_windows)
        self.optimiser = torch.optim.Adam(
            [parameter for parameter in model.parameters() if parameter.requires_grad],
            lr=options.learning_rate,
            fused=device.type == "cuda",
        )

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[Step]:
        """Train on the pairs of one epoch, from a step on.

        A step is yielded once its losses and gradients are known to be finite, and applied when the
        iteration continues. Weights saved in between are known to be good.
        """
        drawn, size, seed = self._draw(epoch), self.options.batch_pairs, self.options.seed
        labels, options = self._corpus.labels, self._data.pairs
        order = batches(drawn, labels, size, seed=seed, epoch=epoch, options=options)
        self.model.train()
        plans = [Plan(drawn[chosen], epoch, step) for step, chosen in enumerate(order)]
        for step in range(first_step, len(order)):
            rate = self.options.rate(epoch + step / len(order))
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            losses, waited = self._find_gradients(*plans[step : step + 2])
            yield Step(epoch, step, len(order), len(order[step]), losses, rate, waited)
            self.optimiser.step()

    def start(self) -> None:
        """Initialise the two-covariance layer at the scale of the LEVs, before the first step."""
        prepared = self._prepare(Plan(self._draw(0)[: self.options.batch_pairs], 0, 0))
        self.model.train()
        with torch.no_grad():
            levs = self.model.encode(prepared.batch, prepared.masks)
            pairs = len(prepared.plan.pairs)
            self.model.start_two_covariance(distributed.gather_levs(levs, pairs))

    def _draw(self, epoch: int) -> DrawnPairs:
        labels, options = self._corpus.labels, self._data.pairs
        drawn = draw_epoch(labels, seed=self.options.seed, epoch=epoch, options=options)
        if not len(drawn):
            raise OptionError(
                f"the {len(labels):,} training documents make no pair; "
                f"{why_no_pairs(labels, options)}"
            )
        return drawn

    def _prepare(self, plan: Plan) -> _Prepared:
        """The data of a step, with all its random numbers."""
        pairs, seed = plan.pairs, [self.options.seed, plan.epoch, plan.step]
        rng = np.random.default_rng(seed)
        documents = pairs.documents  # (2 * pairs,)
        lengths = self._corpus.lengths[documents]
        starts = crop_starts(lengths, self._windows, rng)
        labels = self._corpus.labels
        topics = hide_topics(labels.topic[documents], self._data.hidden_topics, rng)
        generator = torch.Generator(self._device).manual_seed(int(rng.integers(2**62)))
        masks = 2 * len(pairs) if self.options.masks == "document" else len(pairs)
        rows = torch.arange(2 * len(pairs), device=self._device) % masks  # (2 * pairs,)
        kept = None
        if dropout := self.model.options.two_covariance_dropout:
            size = self.model.two_covariance.author_mean.numel()
            kept = Masks(rows, masks, generator).draw(size, dropout)
        # Every process draws numbers for the joint batch, and cuts windows of its pairs only.
        mine = distributed.local_pairs(len(pairs))  # (local pairs,)
        mine = np.concatenate([mine, len(pairs) + mine])  # (2 * local pairs,)
        windows = consecutive_windows(lengths[mine], starts[mine], self._windows)
        authors = torch.from_numpy(labels.author[documents].astype(np.int64))
        same_author = torch.from_numpy(pairs.same_author)
        return _Prepared(
            plan,
            self._corpus.batch(documents[mine], windows, topics[mine]),
            PairLabels(same_author.to(self._device), authors.to(self._device)),
            Masks(
                rows[torch.from_numpy(mine).to(self._device)],
                masks,
                generator,
                by_window=self.options.masks == "window",
            ),
            kept,
        )

    def _find_gradients(
        self, plan: Plan, following: Plan | None = None
    ) -> tuple[dict[str, float], float]:
        """Set clipped gradients, and return the losses and the time waited.

        The next step is prepared while the device works.
        """
        waited, ahead = 0.0, self._ahead
        where = f"epoch {plan.epoch + 1}, step {plan.step + 1}"
        for scale in self._gradient_scales:
            began = time.perf_counter()
            ready = ahead is not None and ahead.plan is plan
            # The same each time. It is kept until the device has done the step: its memory is of
            # the other stream, which would use it for the next step at once.
            prepared = ahead if ahead and ready else self._prepare(plan)
            waited += time.perf_counter() - began
            with _one_thread() if self._aside else nullcontext():
                tensors = self._gradients(prepared, scale, where)
            ahead = None  # its random numbers are used up
            if following is not None:
                self._ahead = self._prepare_aside(following)
                following = None
            *values, longest = torch.stack(list(tensors.values())).tolist()  # waits for the device
            losses = dict(zip(tensors, values, strict=False))
            if np.isfinite([*values, longest]).all():
                return losses, waited
            if not np.isfinite(values).all():
                break  # no scale of the gradients can help
        numbers = {**losses, "longest gradient": longest}
        raise diverged(
            f"{where}: " + ", ".join(f"{name} {value:g}" for name, value in numbers.items())
        )

    def _prepare_aside(self, plan: Plan) -> _Prepared:
        """The result of `_prepare`, made in parallel with the work of the device."""
        if self._aside is None:
            return self._prepare(plan)
        with torch.cuda.stream(self._aside):
            prepared = self._prepare(plan)
        self._aside.synchronize()
        return prepared

    def _gradients(self, prepared: _Prepared, scale: float, where: str) -> dict[str, Tensor]:
        """The losses of the joint batch, and the largest norm of a gradient before clipping.

        Only the factorisations of the two-covariance layer wait for the device.
        """
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            levs = self.model.encode(prepared.batch, prepared.masks)  # (2 * local pairs, lev_size)
        levs = distributed.gather_levs(levs, len(prepared.plan.pairs))  # (2 * pairs, lev_size)
        try:
            losses = self.model.losses(levs, prepared.labels, prepared.kept)
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]  # singular
            raise diverged(f"{where}: {error}") from None
        self.optimiser.zero_grad()
        loss = torch.stack(list(losses.values())).sum()
        (loss * scale).backward()  # type: ignore[no-untyped-call]
        distributed.reduce_gradients(self.model.network, self.model)
        return {**losses, "longest gradient": self._clip(scale)}

    def _clip(self, scale: float) -> Tensor:
        """Scale gradients back, clip each at `clip_norm`, and return the largest norm."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norms = torch.stack(torch._foreach_norm(gradients)) / scale  # (gradients,)
        scales = (self.options.clip_norm / (norms + 1e-12)).clamp(max=1.0) / scale
        torch._foreach_mul_(gradients, list(scales.unbind()))
        return norms.max()


@torch.no_grad()
def encode_documents(model: SiameseModel, data: DeviceCorpus, documents: IntArray) -> Tensor:
    """The LEVs (documents, lev_size) of some documents of a corpus, as at inference."""
    model.eval()
    order = np.argsort(data.lengths[documents], kind="stable")  # similar lengths: little padding
    levs = []
    with torch.autocast(data.device.type, torch.bfloat16, enabled=data.device.type == "cuda"):
        for at in range(0, len(order), _DOCUMENTS_AT_ONCE):
            batch = documents[order[at : at + _DOCUMENTS_AT_ONCE]]
            windows = spread_windows(data.lengths[batch], data.options)
            topics = data.labels.topic[batch]
            if not data.with_topics:
                topics = np.full_like(topics, UNKNOWN_LABEL)
            levs.append(model.encode(data.batch(batch, windows, topics)))
    back = torch.from_numpy(np.argsort(order)).to(data.device)
    return torch.cat(levs)[back]  # (documents, lev_size)


def diverged(what: str) -> DivergedError:
    """The error for training that overflowed; it says how to continue."""
    return DivergedError(
        f"training diverged ({what}). The last checkpoint is from before that: "
        "go on with --resume and a lower training.learning_rate"
    )
