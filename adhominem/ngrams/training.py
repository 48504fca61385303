"""Learning of the n-gram encoder: a weight for each n-gram, and a projection to few dimensions.

Both are learnt by the network's in-batch softmax: which of all second texts of a batch is by the
author of the first? A batch contains one corpus, and its texts are centred on their mean, as by a
relevant population; so differences between genres are not rewarded. The two texts of an author are
from different works, and cut at random.

1. weights: the cosine of whole tables of n-grams. Starts with TF-IDF over the deviation.
2. projection: the cosine of LEVs. Starts with the singular vectors of weighted tables.

Either may be learnt in several runs, whose batches differ, and averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import OptionError
from adhominem.ngrams.config import NgramTrainingOptions
from adhominem.ngrams.counter import NgramCounter
from adhominem.ngrams.table import NgramTable
from adhominem.paper.network import on_device
from adhominem.text.corpus import UNKNOWN_LABEL, Labels, PackedCorpus

Event = dict[str, Any]
# Texts as one or more vectors, made from weighted n-grams; the sum of their cosines is learnt. The
# second argument is whether this is in training.
Forms = Callable[[Tensor, bool], list[Tensor]]

_DOCUMENTS_AT_ONCE = 400
_STARTING_SCALE = 15.0  # of cosines in the softmax
_MORE_VECTORS = 32  # beyond the wanted singular vectors, to make these exact


class DeviceNgrams:
    """A packed corpus on the device that trains, whose n-grams are counted there."""

    def __init__(self, corpus: PackedCorpus, table: NgramTable, device: torch.device) -> None:
        self.table, self.device = table, device
        self.columns = sum(table.sizes)
        self.offsets, self.lengths = corpus.offsets, corpus.lengths
        self._tokens = torch.from_numpy(corpus.tokens.astype(np.int32)).to(device)
        counter = NgramCounter(table)  # places are columns plus one; 0 is not counted
        grams, lengths, whole = counter.type_places(corpus.types)
        self._ends = on_device(np.append(0, np.cumsum(lengths)), device)  # (types + 1,)
        self._grams = on_device(grams, device)
        self._token, *symbols = (on_device(column, device) for column in whole.T)  # (types,) each
        self._bigrams = [
            (symbols_by_type, size, on_device(places, device))
            for symbols_by_type, (size, places) in zip(symbols, counter.bigrams, strict=True)
        ]

    def count(self, documents: IntArray, starts: IntArray, lengths: IntArray) -> Tensor:
        """The counts (documents, columns) of each n-gram in a part of each document."""
        tokens = on_device(lengths, self.device)
        document = torch.repeat_interleave(tokens)  # (tokens,)
        begin = on_device(self.offsets[documents] + starts, self.device)  # (documents,)
        begin -= tokens.cumsum(0) - tokens
        place = torch.arange(len(document), device=self.device)
        types = self._tokens[begin[document] + place].long()  # (tokens,)
        counts = torch.zeros(len(documents) * self.columns, device=self.device)

        def add(rows: Tensor, places: Tensor) -> None:
            cells = (rows * self.columns + places - 1)[places > 0]
            counts.index_add_(0, cells, torch.ones(len(cells), device=self.device))

        sizes = self._ends[types + 1] - self._ends[types]
        token = torch.repeat_interleave(sizes)  # (n-grams,): the token of each
        inside = torch.arange(len(token), device=self.device) - (sizes.cumsum(0) - sizes)[token]
        add(document[token], self._grams[self._ends[types][token] + inside])
        add(document, self._token[types])
        together = document[1:] == document[:-1]
        for symbols_by_type, size, places in self._bigrams:
            symbol = symbols_by_type[types]  # (tokens,)
            pairs = (symbol[:-1] * size + symbol[1:])[together]
            add(document[:-1][together], places[pairs])
        table: Tensor = counts.view(len(documents), self.columns)
        return table

    def whole(self, documents: IntArray, longest: int) -> Tensor:
        """The counts (documents, columns) of each n-gram in the first `longest` tokens."""
        lengths = np.minimum(self.lengths[documents], longest)
        return self.count(documents, np.zeros_like(documents), lengths)


def weigh(counts: Tensor, weights: Tensor, channels: Sequence[slice]) -> Tensor:
    """Sublinear, weighted counts (documents, columns), with channels of equal length."""
    values = torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0.0) * weights
    parts = [functional.normalize(values[:, channel], dim=1) for channel in channels]
    joined: Tensor = torch.cat(parts, dim=1) / len(parts) ** 0.5
    return joined


class NgramTrainer:
    """Learns the weights of an n-gram encoder, then its projection."""

    def __init__(
        self,
        corpus: PackedCorpus,
        dev: Mapping[str, PackedCorpus],
        table: NgramTable,
        options: NgramTrainingOptions,
        device: torch.device,
        auc: Callable[[FloatArray, BoolArray], float],
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        """Prepare training; `auc` computes the AUC from the cosines of dev pairs."""
        self.options, self.device = options, device
        self.channels = table.channels
        self.data = DeviceNgrams(corpus, table, device)
        self.dev = {  # documents 2i and 2i + 1 are a pair
            name: (DeviceNgrams(pairs, table, device), pairs.same_author)
            for name, pairs in dev.items()
            if pairs.same_author is not None
        }
        # The texts of each corpus that starting values come from.
        self._samples = samples_of(corpus.labels, options.sample, options.seed)
        self._labels = corpus.labels
        self._work = different_works(corpus.labels)
        self._start = cache(self._start_weights)  # for all runs
        self._auc, self._on_event = auc, on_event

    def learn_weights(self, run: int = 0) -> Tensor:
        """The weights (columns,) of n-grams, learnt in one run.

        A random projection is learnt beside the whole tables and discarded: it accounts for what
        few dimensions can express, and leaves the many rare n-grams to the weights.
        """
        torch.manual_seed(self.options.seed)
        start = self._start()
        options = self.options
        change = torch.nn.Parameter(torch.zeros_like(start))
        parameters = {
            "change": (change, options.weight_rate),
            "scale": (self._scale(), options.projection_rate),
        }
        if size := options.companion:
            random = torch.randn(len(start), size, device=self.device) / size**0.5
            companion = torch.nn.Parameter(random)
            parameters["companion"] = companion, options.companion_rate
            parameters["companion_scale"] = self._scale(), options.companion_rate

        def weights() -> Tensor:
            return start * change.exp()

        def levs(values: Tensor, training: bool) -> list[Tensor]:
            return [values, values @ companion] if training and size else [values]

        self._learn("weights", run, parameters, weights, levs, options.weight_steps)
        return weights().detach()

    def learn_projection(self, weights: Tensor, start: Tensor, run: int = 0) -> Tensor:
        """The projection (columns, lev_size) of weighted n-grams, learnt in one run."""
        torch.manual_seed(self.options.seed + run)  # also after a restart before this run
        projection = torch.nn.Parameter(start.clone())
        dropout = self.options.dropout

        def levs(values: Tensor, training: bool) -> list[Tensor]:
            return [functional.dropout(values, dropout, training) @ projection]

        rate, steps = self.options.projection_rate, self.options.projection_steps
        parameters = {"projection": (projection, rate), "scale": (self._scale(), rate)}
        self._learn("projection", run, parameters, lambda: weights, levs, steps)
        return projection.detach()

    def evaluate(self, weights: Tensor, levs: Forms, **place: str | int) -> float:
        """The mean AUC of dev sets, also reported as an event at this `place` in training."""
        aucs = self._aucs(weights, levs)
        mean = float(np.mean(list(aucs.values())))
        self._on_event({"event": "dev", **place, "dev_auc": mean, "dev": aucs})
        return mean

    def _learn(
        self,
        stage: str,
        run: int,
        parameters: dict[str, tuple[torch.nn.Parameter, float]],
        weights: Callable[[], Tensor],
        levs: Forms,
        steps: int,
    ) -> None:
        """Train parameters at rates by Adam; they end as they were at the best dev evaluation."""
        learnt = [parameter for parameter, _ in parameters.values()]
        optimiser = torch.optim.Adam(
            [{"params": [parameter], "start": rate} for parameter, rate in parameters.values()]
        )
        scales = [parameters[name][0] for name in parameters if name.endswith("scale")]
        title = f"{stage}, run {run + 1} of {runs}" if (runs := self.options.runs) > 1 else stage
        batches = self._batches(stage, run)
        batch = next(batches)
        best: list[Tensor] = []
        best_auc = -1.0
        for step in range(steps + 1):
            if self.dev and (step % self.options.dev_every == 0 or step == steps):
                mean = self.evaluate(weights(), levs, stage=title, step=step)
                if mean > best_auc:
                    best = [parameter.detach().clone() for parameter in learnt]
                    best_auc = mean
            if step == steps:
                break
            for group in optimiser.param_groups:  # a short warm-up, then a half cosine
                fall = 0.5 * (1 + np.cos(np.pi * step / steps)) + 0.01
                group["lr"] = group["start"] * fall * min(1.0, (step + 1) / 50)
            counts = self.data.count(*batch)  # (2 authors, columns): firsts, then seconds
            forms = levs(weigh(counts, weights(), self.channels), True)
            scores = torch.zeros((), device=self.device)
            for form, scale in zip(forms, scales, strict=True):
                first, second = functional.normalize(form - form.mean(0), dim=1).chunk(2)
                scores = scores + first @ second.T * scale.exp()  # (authors, authors)
            right = torch.arange(len(scores), device=self.device)
            forward, back = (functional.cross_entropy(s, right) for s in (scores, scores.T))
            loss = forward + back
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            batch = next(batches)  # drawn while the device is busy
            progress = {"step": step, "steps": steps, "loss": float(loss.detach()) / 2}
            self._on_event({"event": "step", "stage": title, **progress})
        with torch.no_grad():
            for parameter, value in zip(learnt, best, strict=False):
                parameter.copy_(value)

    def _batches(self, stage: str, run: int = 0) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Batches of documents and a part of each: one corpus's first texts, then second texts.

        A corpus is drawn with a weight of the square root of its number of authors, so that small
        ones count, too.
        """
        options, labels, lengths = self.options, self._labels, self.data.lengths
        rng = np.random.default_rng([options.seed, len(stage), run])
        authors = authors_of_several_works(labels.author, self._work, labels.corpus)
        share = np.array([len(corpus_authors) for corpus_authors in authors]) ** 0.5
        while True:
            of_corpus = authors[rng.choice(len(authors), p=share / share.sum())]
            most = min(options.batch_authors, len(of_corpus))
            chosen = rng.choice(len(of_corpus), most, replace=False)
            firsts = np.array([rng.choice(of_corpus[at]) for at in chosen])  # (authors,)
            seconds = [
                rng.choice(of_corpus[at][self._work[of_corpus[at]] != self._work[first]])
                for at, first in zip(chosen, firsts, strict=True)
            ]
            documents = np.concatenate([firsts, seconds])  # (2 * authors,)
            longest = np.minimum(lengths[documents], options.longest)
            shortest = np.minimum(longest, options.shortest)
            cut = rng.random(len(documents)) < options.cut
            size = np.exp(rng.uniform(np.log(shortest), np.log(longest))).astype(np.int64)
            size = np.where(cut, np.clip(size, shortest, longest), longest)
            starts = rng.integers(0, lengths[documents] - size + 1)
            yield documents, starts, size

    @torch.no_grad()
    def _start_weights(self) -> Tensor:
        """TF-IDF divided by the deviation within a corpus, so that no n-gram dominates."""
        texts_with = torch.zeros(self.data.columns, device=self.device)  # (columns,)
        total = sum(map(len, self._samples))
        for sample in self._samples:
            for counts in self._counted(self.data, sample):
                texts_with += (counts > 0).sum(0)
        idf = ((1 + total) / (1 + texts_with)).log() + 1
        variance = torch.zeros_like(idf)
        for sample in self._samples:
            sums, squares = torch.zeros_like(idf), torch.zeros_like(idf)
            for values in self._weighed(self.data, sample, idf):
                sums += values.sum(0)
                squares += values.square().sum(0)
            variance += squares - sums.square() / len(sample)
        weights = idf
        for channel in self.channels:
            part = variance[channel] / total
            weights[channel] /= (part + part.median()).clamp(min=1e-30).sqrt()
        return weights

    @torch.no_grad()
    def start_projection(self, weights: Tensor, size: int) -> Tensor:
        """The singular vectors (columns, lev_size) of the training texts' weighted tables."""
        torch.manual_seed(self.options.seed)
        values = torch.cat(list(self.centred(weights)))  # (texts, columns)
        wanted = min(size + _MORE_VECTORS, *values.shape)
        vectors = _singular_vectors(values, wanted)
        if vectors.shape[1] < size:
            raise OptionError(
                f"{len(values):,} texts for {size} dimensions; expected more texts, or a smaller "
                "lev_size"
            )
        return vectors[:, :size].contiguous()

    @torch.no_grad()
    def centred(self, weights: Tensor) -> Iterator[Tensor]:
        """The weighted n-grams (documents, columns) of texts of each corpus, less their mean."""
        for sample in self._samples:
            values = torch.cat(list(self._weighed(self.data, sample, weights)))
            yield values - values.mean(0)

    def _weighed(
        self, data: DeviceNgrams, documents: IntArray, weights: Tensor
    ) -> Iterator[Tensor]:
        for counts in self._counted(data, documents):
            yield weigh(counts, weights, self.channels)

    def _counted(self, data: DeviceNgrams, documents: IntArray) -> Iterator[Tensor]:
        for at in range(0, len(documents), _DOCUMENTS_AT_ONCE):
            batch = documents[at : at + _DOCUMENTS_AT_ONCE]
            yield data.whole(batch, self.options.longest)

    @torch.no_grad()
    def _aucs(self, weights: Tensor, levs: Forms) -> dict[str, float]:
        """The AUC of the cosine on each dev set, with LEVs centred on their mean."""
        aucs = {}
        for name, (data, same_author) in self.dev.items():
            parts = self._weighed(data, np.arange(len(data.lengths)), weights)
            encoded = torch.cat([levs(values, False)[0] for values in parts])
            encoded = functional.normalize(encoded - encoded.mean(0), dim=1)
            cosine = (encoded[0::2] * encoded[1::2]).sum(1)
            aucs[name] = self._auc(cosine.double().cpu().numpy(), same_author)
        return aucs

    def _scale(self) -> torch.nn.Parameter:
        return torch.nn.Parameter(torch.tensor(np.log(_STARTING_SCALE), device=self.device).float())


def _singular_vectors(values: Tensor, count: int) -> Tensor:
    """Approximate first right singular vectors (columns, count) of a matrix (texts, columns).

    Computed by random projections [Halko, Martinsson and Tropp 2011] like `torch.svd_lowrank`, with
    three more rounds. Products with the matrix run on the device, the small factorisations on the
    CPU: on a GPU that several trainings share, cuSOLVER may wait forever.
    """

    def orthonormal(columns: Tensor) -> Tensor:
        basis: Tensor = torch.linalg.qr(columns.cpu())[0]
        return basis.to(columns.device)

    start = torch.randn(values.shape[1], count, device=values.device)
    left = orthonormal(values @ start)  # (texts, count)
    for _ in range(3):
        left = orthonormal(values @ orthonormal(values.T @ left))
    right: Tensor = torch.linalg.svd((left.T @ values).cpu(), full_matrices=False)[2]
    return right.T.to(values.device)


def samples_of(labels: Labels, most: int, seed: int) -> list[IntArray]:
    """Up to `most` random documents of each corpus."""
    rng = np.random.default_rng(seed)
    return [
        rng.permutation(np.flatnonzero(labels.corpus == corpus))[:most]
        for corpus in np.unique(labels.corpus)
    ]


def different_works(labels: Labels) -> IntArray:
    """The work (documents,) of each text; an unknown one is its own."""
    work = labels.work.astype(np.int64)
    return np.where(work == UNKNOWN_LABEL, -1 - np.arange(len(work)), work)


def authors_of_several_works(
    author: npt.NDArray[np.int32], work: IntArray, corpus: npt.NDArray[np.int32]
) -> list[list[IntArray]]:
    """For each corpus, the documents of each author with two or more works in it."""
    corpora = []
    for number in sorted(set(corpus.tolist())):
        documents = np.flatnonzero(corpus == number)
        documents = documents[np.argsort(author[documents], kind="stable")]
        ends = np.flatnonzero(np.diff(author[documents])) + 1
        authors = [part for part in np.split(documents, ends) if len(set(work[part].tolist())) > 1]
        if len(authors) > 1:
            corpora.append(authors)
    if not corpora:
        raise OptionError("no corpus has two authors with two works each; expected some")
    return corpora
