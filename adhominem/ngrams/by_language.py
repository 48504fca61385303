"""Learning n-gram weights for many languages at once, each with n-grams of its own.

A language has few authors, so its weights are not learnt by themselves. The weight of an n-gram is

    w = idf · exp(f(features) + change)

where f is one small network for all languages, of what can be said of an n-gram in any of them (its
kind and length, how rare it is, how much it varies), and `change` is the n-gram's own, learnt
against a penalty. What is learnt is the in-batch softmax of `training.py`, one corpus at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from adhominem.arrays import Array32, IntArray
from adhominem.errors import OptionError
from adhominem.ngrams.config import NgramConfig, NgramTrainingOptions
from adhominem.ngrams.encoder import shared_dimensions
from adhominem.ngrams.table import CHANNELS, END, MASK, START, Ngram, NgramTable
from adhominem.ngrams.training import (
    DeviceNgrams,
    authors_of_several_works,
    different_works,
    samples_of,
    weigh,
)
from adhominem.text.corpus import PackedCorpus

Weights = dict[str, npt.NDArray[np.generic]]

_QUARTERS = 4  # a text is cut to one or more neighbouring quarters
_HIDDEN = 48  # units in each layer of f
_LARGEST = 6.0  # of the logarithm of a factor
_AT_ONCE = 400  # documents
_FEWEST_AUTHORS = 5  # of a corpus, to learn from it
_CHARACTERS = 5  # n-grams of more are as long as that
# What f sees of an n-gram itself; what it sees of its frequency is in `_Frequencies`.
_MARKS = (
    *(f"characters_{size}" for size in range(1, _CHARACTERS + 1)),
    *("inside", "begins_token", "ends_token", "whole_token"),
    *CHANNELS[1:],
    *("letters", "capital", "digit", "first_masked", "second_masked"),
)


@dataclass(frozen=True)
class LanguageNgrams:
    """The n-grams of a language, and the arrays of an encoder for them."""

    table: NgramTable
    weights: Weights


def learn_by_language(
    corpora: Mapping[str, PackedCorpus],
    config: NgramConfig,
    device: torch.device,
    on_step: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> dict[str, LanguageNgrams]:
    """Profiles of the n-grams of several languages, from the corpora of each language.

    The factors are the geometric means of several runs, whose batches differ.
    """
    learner = Learner(corpora, config, device)
    runs = [learner.learn(on_step, run) for run in range(config.training.runs)]
    return {
        name: learner.profile(name, torch.stack([run[name] for run in runs]).mean(0))
        for name in corpora
    }


class Learner:
    """The texts of all languages as counts of n-grams, and the weights learnt from them."""

    def __init__(
        self, corpora: Mapping[str, PackedCorpus], config: NgramConfig, device: torch.device
    ) -> None:
        self.config, self.device, self.options = config, device, config.training
        self._languages = {
            name: _Language(corpus, _table(corpus, config), self.options, device)
            for name, corpus in corpora.items()
        }
        seen = torch.cat([language.features for language in self._languages.values()])
        middle, deviation = seen.mean(0), seen.std(0).clamp(min=1e-3)
        for language in self._languages.values():
            language.features = (language.features - middle) / deviation
        self._batches_from = [
            (language, authors)
            for language in self._languages.values()
            for authors in language.authors
        ]
        if not self._batches_from:
            raise OptionError(
                f"no corpus has {_FEWEST_AUTHORS} authors with two works each; expected some"
            )

    def learn(
        self, on_step: Callable[[int, int, float], None], run: int = 0
    ) -> dict[str, Tensor]:
        """The logarithms (columns,) of the factors of each language's idf, learnt in one run."""
        options, device = self.options, self.device
        torch.manual_seed(options.seed + run)
        size = len(_MARKS) + _Frequencies.FEATURES
        last = torch.nn.Linear(_HIDDEN, 1)
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)
        f = torch.nn.Sequential(
            *(torch.nn.Linear(size, _HIDDEN), torch.nn.Tanh()),
            *(torch.nn.Linear(_HIDDEN, _HIDDEN), torch.nn.Tanh()),
            last,
        ).to(device)
        changes = {
            language: torch.nn.Parameter(torch.zeros(len(language.idf), device=device))
            for language in self._languages.values()
        }
        scale = torch.nn.Parameter(torch.tensor(2.7, device=device))  # logarithm
        groups: list[dict[str, Any]] = [
            {"params": [*f.parameters(), scale], "start": options.shared_rate},
            {"params": list(changes.values()), "start": options.weight_rate},
        ]
        optimiser = torch.optim.Adam(groups)
        rng = np.random.default_rng([options.seed, run])
        share = np.sqrt([len(authors) for _, authors in self._batches_from])
        steps = options.weight_steps
        for step in range(steps):
            language, authors = self._batches_from[rng.choice(len(share), p=share / share.sum())]
            change = changes[language]
            factors = (f(language.features)[:, 0] + change).clamp(-_LARGEST, _LARGEST)
            counts = language.pairs(authors, options, rng)  # (2 authors, columns)
            values = weigh(counts, language.idf * factors.exp(), language.table.channels)
            values = functional.normalize(values - values.mean(0), dim=1)
            first, second = values.chunk(2)
            scores = first @ second.T * scale.exp()  # (authors, authors)
            right = torch.arange(len(scores), device=device)
            loss = functional.cross_entropy(scores, right)
            loss = loss + functional.cross_entropy(scores.T, right)
            penalised = loss + options.weight_penalty * change.square().sum()
            for group in optimiser.param_groups:  # a short warm-up, then a half cosine
                fall = 0.5 * (1 + np.cos(np.pi * step / steps)) + 0.01
                group["lr"] = group["start"] * fall * min(1.0, (step + 1) / 50)
            optimiser.zero_grad()
            penalised.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            if step % 50 == 0 or step + 1 == steps:  # reading the loss waits for the device
                on_step(step + 1, steps, float(loss.detach()) / 2)
        with torch.no_grad():
            return {
                name: (f(language.features)[:, 0] + changes[language]).clamp(-_LARGEST, _LARGEST)
                for name, language in self._languages.items()
            }

    @torch.no_grad()
    def profile(self, name: str, factors: Tensor) -> LanguageNgrams:
        """A language's n-grams as an encoder's arrays: `form` profile."""
        language = self._languages[name]
        weights = language.idf * factors.exp()
        variance = torch.zeros_like(weights)
        for sample in language.samples:
            values = torch.cat(list(language.weighed(sample, weights)))
            variance += (values - values.mean(0)).square().sum(0)
        importance = variance.double().cpu().numpy()
        dimension, sign = shared_dimensions(importance, self.config.lev_size, self.options.seed)
        arrays: Weights = {
            "weights": weights.cpu().numpy(),
            "dimension": dimension,
            "sign": sign,
        }
        return LanguageNgrams(language.table, arrays)


def _table(corpus: PackedCorpus, config: NgramConfig) -> NgramTable:
    """The most frequent n-grams of a language, with as many texts of each corpus."""
    options = config.training
    most = options.table_sample or len(corpus)
    chosen = np.concatenate(samples_of(corpus.labels, most, options.seed))
    documents = np.repeat(np.arange(len(corpus)), corpus.lengths)  # (tokens,)
    inside = np.isin(documents, chosen)
    return NgramTable.build(
        corpus.types, np.asarray(corpus.tokens)[inside], documents[inside], config.ngrams
    )


class _Language:
    """The texts of a language as counts, and what f sees of its n-grams."""

    def __init__(
        self,
        corpus: PackedCorpus,
        table: NgramTable,
        options: NgramTrainingOptions,
        device: torch.device,
    ) -> None:
        self.table, self.device = table, device
        labels = corpus.labels
        self.counts = _counted(corpus, table, options, device)  # (documents, quarters, columns)
        self.samples = samples_of(labels, options.sample, options.seed)
        frequencies = _Frequencies.of(self.counts)
        self.idf = frequencies.idf
        marks = torch.from_numpy(marks_of(table)).to(device)
        self.features = torch.cat([marks, frequencies.features()], dim=1)
        self.works = different_works(labels)
        self.authors = [
            authors
            for authors in authors_of_several_works(labels.author, self.works, labels.corpus)
            if len(authors) >= _FEWEST_AUTHORS
        ]

    def pairs(
        self, authors: Sequence[IntArray], options: NgramTrainingOptions, rng: np.random.Generator
    ) -> Tensor:
        """The counts (2 authors, columns) of two texts by each of some authors: firsts, seconds."""
        most = min(options.batch_authors, len(authors))
        chosen = [authors[at] for at in rng.choice(len(authors), most, replace=False)]
        firsts = np.array([rng.choice(texts) for texts in chosen])
        seconds = np.array(
            [
                rng.choice(texts[self.works[texts] != self.works[first]])
                for texts, first in zip(chosen, firsts, strict=True)
            ]
        )
        documents = np.concatenate([firsts, seconds])
        # (documents, quarters): those that are read.
        quarter = np.arange(_QUARTERS)
        size = rng.integers(1, _QUARTERS + 1, (len(documents), 1))
        start = (rng.random((len(documents), 1)) * (_QUARTERS - size + 1)).astype(np.int64)
        read = (quarter >= start) & (quarter < start + size)
        read |= rng.random((len(documents), 1)) >= options.cut
        at = torch.from_numpy(documents).to(self.device)
        mask = torch.from_numpy(read).to(self.device)
        counts: Tensor = (self.counts[at] * mask[:, :, None]).sum(1, dtype=torch.float32)
        return counts

    def weighed(self, documents: IntArray, weights: Tensor) -> Iterator[Tensor]:
        """The weighted n-grams (documents, columns) of whole texts."""
        for at in range(0, len(documents), _AT_ONCE):
            batch = torch.from_numpy(documents[at : at + _AT_ONCE]).to(self.device)
            counts = self.counts[batch].sum(1, dtype=torch.float32)
            yield weigh(counts, weights, self.table.channels)


def _counted(
    corpus: PackedCorpus, table: NgramTable, options: NgramTrainingOptions, device: torch.device
) -> Tensor:
    """The counts (documents, quarters, columns) of each n-gram in the quarters of each text."""
    ngrams = DeviceNgrams(corpus, table, device)
    lengths = np.minimum(corpus.lengths, options.longest)
    shape = len(corpus), _QUARTERS, ngrams.columns
    counts = torch.zeros(shape, dtype=torch.uint8, device=device)
    for at in range(0, len(corpus), _AT_ONCE):
        documents = np.arange(at, min(at + _AT_ONCE, len(corpus)))
        for quarter in range(_QUARTERS):
            begin, end = (lengths[documents] * (quarter + more) // _QUARTERS for more in (0, 1))
            part = ngrams.count(documents, begin, end - begin).clamp(max=255)
            counts[at : at + len(documents), quarter] = part.to(torch.uint8)
    return counts


@dataclass(frozen=True)
class _Frequencies:
    """How often the n-grams of a language occur in its texts: (columns,) each."""

    FEATURES = 5

    idf: Tensor  # minus the logarithm of the share of texts that an n-gram is in
    burst: Tensor  # logarithm of its mean count, in these texts
    deviation: Tensor  # of 1 + log(count)
    mean: Tensor  # count

    @classmethod
    def of(cls, counts: Tensor) -> _Frequencies:
        texts = len(counts)
        present, total, level, square = torch.zeros(4, counts.shape[2], device=counts.device)
        for part in torch.split(counts, _AT_ONCE):
            count = part.sum(1, dtype=torch.float32)  # (documents, columns)
            levels = torch.where(count > 0, 1 + count.clamp(min=1).log(), 0.0)
            present += (count > 0).sum(0)
            total += count.sum(0)
            level += levels.sum(0)
            square += levels.square().sum(0)
        variance = square / texts - (level / texts).square()
        return cls(
            idf=-((present + 0.5) / (texts + 1)).log(),
            burst=(total / present.clamp(min=1)).clamp(min=1).log(),
            deviation=variance.clamp(min=1e-6).sqrt(),
            mean=total / texts,
        )

    def features(self) -> Tensor:
        """What f sees of the frequencies (columns, features)."""
        rows = (self.idf, self.idf.square() / 5, self.burst, self.deviation.log())
        return torch.stack([*rows, (self.mean + 1e-3).log()], dim=1)


def marks_of(table: NgramTable) -> Array32:
    """What f sees of each n-gram itself (columns, marks), in the order of `_MARKS`."""
    return np.array([_marks(ngram) for ngram in table.ngrams(np.arange(sum(table.sizes)))], "f4")


def _marks(ngram: Ngram) -> list[float]:
    text = "".join(ngram.parts).strip(START + END).replace(MASK, "")
    of_characters = ngram.channel == 0
    size = min(max(len(text), 1), _CHARACTERS)
    ends = ngram.parts[0].startswith(START) + 2 * ngram.parts[0].endswith(END)
    letters = text.replace("~", "")
    masked = [ngram.channel >= 2 and part[:1] in (MASK, "~") for part in ngram.parts]
    return [
        *(of_characters and size == one for one in range(1, _CHARACTERS + 1)),
        *(of_characters and ends == one for one in range(4)),
        *(ngram.channel == one for one in range(1, len(CHANNELS))),
        sum(map(str.isalpha, letters)) / max(1, len(letters)),
        any(map(str.isupper, letters)),
        any(map(str.isdigit, letters)),
        *[*masked, False][:2],
    ]


def of_languages(corpus: PackedCorpus, languages: Sequence[str]) -> dict[str, PackedCorpus]:
    """A corpus by language; `languages` are those of its sources, in the order of their names."""
    of_document = np.array(languages)[corpus.labels.corpus]
    return {
        language: _part_of(corpus, np.flatnonzero(of_document == language))
        for language in sorted(set(languages))
    }


def _part_of(corpus: PackedCorpus, documents: IntArray) -> PackedCorpus:
    """Some documents of a corpus, with the token types that occur in them."""
    tokens = np.concatenate([corpus.document(int(at)) for at in documents])
    used, numbers = np.unique(tokens, return_inverse=True)
    return replace(
        corpus,
        tokens=numbers.astype(np.uint32),
        offsets=np.append(0, np.cumsum(corpus.lengths[documents])),
        labels=corpus.labels.select(documents),
        ids=[corpus.ids[at] for at in documents],
        types=[corpus.types[at] for at in used],
    )
