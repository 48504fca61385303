"""The paper's network: a document to its linguistic embedding vector (LEV).

    characters -> CNN -> max over time ─┐
    word vector ────────────────────────┴─ token -> BiLSTM -> attention -> window
    window -> BiLSTM -> attention -> document -> dense, tanh -> LEV

Axes in the comments: (documents, windows, tokens, characters). The windows of all
documents of a batch lie in one row, `windows`, without padding in between; only the
BiLSTM over the windows of a document pads, to the longest document of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from adhominem.arrays import IntArray
from adhominem.paper.config import EncoderOptions
from adhominem.text.vocabulary import PADDING, SPECIAL, WindowTable

if TYPE_CHECKING:
    from adhominem.paper.word_vectors import WordVectors

_SPREAD = 0.1  # standard deviation of the word vectors at the start


@dataclass(frozen=True)
class Batch:
    """Documents cut into windows. A token is an index into the batch's own token types."""

    type_words: Tensor  # (types,): the vocabulary id of each token type of the batch
    type_characters: Tensor  # (types, characters): character ids, padded
    tokens: Tensor  # (windows, tokens): indices into the types; anything behind the end
    token_counts: Tensor  # (windows,): tokens in each window
    window_documents: Tensor  # (windows,): the document of each window
    window_positions: Tensor  # (windows,): index of the window in its document
    prefixes: Tensor  # (prefixes,): rows of the contextual prefixes, of which the mean is taken
    prefix_documents: Tensor  # (prefixes,): the document of each
    shape: tuple[int, int]  # the number of documents, and of windows of the longest

    @classmethod
    def cut(
        cls,
        tokens: Tensor,
        begins: IntArray,
        windows: WindowTable,
        width: int,
        prefixes: tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]],
        tables: tuple[Tensor, Tensor] | None = None,
    ) -> Batch:
        """Documents that begin at `begins` among the `tokens`, cut into windows on their device.

        `prefixes` are rows of prefixes and the document of each. The tokens are indices into
        `tables`, the words and characters of all types, or else into vectors of the caller's.
        """
        device = tokens.device
        counts = on_device(windows.counts, device)  # (windows,)
        first = on_device(begins[windows.documents] + windows.starts, device)
        # (windows, tokens): padded with the last token, as `WindowTable.token_places` has them.
        place = torch.arange(width, device=device).minimum(counts[:, None] - 1)
        rows = tokens[first[:, None] + place]
        words = characters = torch.zeros(0, dtype=torch.int64, device=device)
        if tables is not None:
            types, rows = torch.unique(rows, return_inverse=True)  # waits for the device
            words, characters = (table[types].long() for table in tables)
        return cls(
            type_words=words,
            type_characters=characters,
            tokens=rows,
            token_counts=counts,
            window_documents=on_device(windows.documents, device),
            window_positions=on_device(windows.positions, device),
            prefixes=on_device(prefixes[0], device),
            prefix_documents=on_device(prefixes[1], device),
            shape=(len(begins), int(windows.positions.max()) + 1),
        )

    @property
    def place(self) -> tuple[Tensor, Tensor]:
        """The document of each window, and its index there."""
        return self.window_documents, self.window_positions


def on_device(values: npt.NDArray[np.integer], device: torch.device) -> Tensor:
    """Integers as int64 on a device, sent without waiting."""
    tensor = torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor


@dataclass(frozen=True)
class EncodedBatch:
    """The LEVs of a batch, and the network's attention."""

    levs: Tensor  # (documents, lev_size)
    token_attention: Tensor  # (windows, 1 + tokens): the contextual prefix first
    window_attention: Tensor  # (documents, windows)


class Masks:
    """Variational dropout: one mask for all steps of a document, or of both documents of a pair.

    `rows` is the index of each document's mask among `count`. The masks come from the caller's
    generator, so that a step can be repeated, and shared between processes.

    With `by_window`, dropout is that of the authors' later code: each window has masks of its own,
    the recurrent states have masks, too, attention drops from what it scores but not from what it
    averages, and characters are dropped before the filters.
    """

    def __init__(
        self, rows: Tensor, count: int, generator: torch.Generator, *, by_window: bool = False
    ) -> None:
        self._rows = rows  # (documents,)
        self._count = count
        self._generator = generator
        self.by_window = by_window

    def draw(self, size: int, dropout: float, owner: Tensor | None = None) -> Tensor:
        """A mask (documents, size) of zeros, and 1 / (1 - dropout) for numbers that are kept.

        With the document of each window as `owner`, a mask (windows, size).
        """
        if owner is None:
            return self._drawn(self._count, size, dropout)[self._rows]
        if self.by_window:
            return self._drawn(len(owner), size, dropout)
        return self._drawn(self._count, size, dropout)[self._rows[owner]]

    def draw_recurrent(
        self, size: int, dropout: float, owner: Tensor | None = None
    ) -> Tensor | None:
        """A mask (documents, size) or (windows, size) of recurrent states, if they have one."""
        return self.draw(size, dropout, owner) if self.by_window and dropout else None

    def draw_types(self, types: int, size: int, dropout: float) -> Tensor | None:
        """A mask (types, size) of the characters of each token type, if they have one."""
        return self._drawn(types, size, dropout) if self.by_window and dropout else None

    def _drawn(self, count: int, size: int, dropout: float) -> Tensor:
        if not dropout:
            return torch.ones(count, size, device=self._rows.device)
        shape = (count, size)
        kept = torch.rand(shape, generator=self._generator, device=self._rows.device) >= dropout
        return kept / (1 - dropout)


class CharacterCNN(nn.Module):
    """A CNN from the characters of a token type to a vector, ignoring padding."""

    def __init__(self, characters: int, options: EncoderOptions) -> None:
        super().__init__()
        self.width = options.character_filter_width
        self.embedding = nn.Embedding(
            len(SPECIAL) + characters, options.character_size, padding_idx=PADDING
        )
        # Padded by width - 1 on both sides: a filter sees where a word begins and ends.
        self.convolution = nn.Conv1d(
            options.character_size, options.character_filters, self.width, padding=self.width - 1
        )

    def forward(self, characters: Tensor, kept: Tensor | None = None) -> Tensor:
        """The vectors (types, filters) of character ids (types, characters).

        `kept` (types, size) masks all characters of a type alike.
        """
        # A product of matrices, not the layer's convolution: cuDNN would search for the best
        # algorithm for each new number of types, which takes longer than the convolution.
        beside = self.width - 1
        embedded = self.embedding(characters)  # (types, characters, size)
        if kept is not None:
            embedded = embedded * kept[:, None]
        embedded = nn.functional.pad(embedded, (0, 0, beside, beside))
        places = characters.shape[1] + beside
        # (types, places, width * size): the input of a filter at each place.
        fields = torch.cat([embedded[:, at : at + places] for at in range(self.width)], dim=2)
        weight = self.convolution.weight.transpose(1, 2).flatten(1)  # (filters, width * size)
        convolved = nn.functional.linear(fields, weight, self.convolution.bias)
        convolved = torch.tanh(convolved)  # (types, places, filters)
        count = (characters != PADDING).sum(1, keepdim=True)  # (types, 1)
        place = torch.arange(places, device=convolved.device)
        beyond = place >= count + beside  # (types, places): only padding
        return convolved.masked_fill(beyond[:, :, None], -2.0).amax(1)  # tanh is above -1


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


_LARGEST_IN_ONE_KERNEL = 64  # hidden size: larger weights do not fit into a multiprocessor
_ALIGNED = 8  # numbers in half precision: products of matrices with other sizes are slower


def _aligned(values: Tensor) -> Tensor:
    """The values (..., size) in half precision, padded with zeros."""
    return nn.functional.pad(values.half(), (0, -values.shape[-1] % _ALIGNED))


class MaskedBiLSTM(nn.Module):
    """A bidirectional LSTM for sequences padded at the end, without packing them.

    An added input marks padding: its weight closes the input gate, so the state stays exactly zero
    until the first real step, in both directions. The gradient of this weight is exactly zero, so
    training does not change it.
    """

    _CLOSED = -1e4

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size + 1, size, bidirectional=True, batch_first=True)
        with torch.no_grad():
            for name, weight in self.lstm.named_parameters():
                if name.startswith("weight_hh"):
                    nn.init.orthogonal_(weight)
                elif name.startswith("weight_ih"):
                    bound = math.sqrt(6 / (input_size + size))
                    nn.init.uniform_(weight, -bound, bound)
                    weight[:, -1] = 0
                    weight[:size, -1] = self._CLOSED  # torch's gates: input, forget, cell, output
                else:
                    weight.zero_()
                    if name.startswith("bias_ih"):
                        weight[size : 2 * size] = 2.5  # forget
                        weight[3 * size :] = 1.0  # output

    def forward(self, inputs: Tensor, inside: Tensor, kept: Tensor | None = None) -> Tensor:
        """Hidden states (..., 2 * size) of inputs (sequences, steps, input_size) with a mask.

        `kept` (sequences, 2 * size) masks the states that go on to the next step.
        """
        if self.in_one_kernel(inputs):
            return self._in_one_kernel(inputs, inside, kept)
        if kept is not None:
            return self._step_by_step(inputs, inside, kept)
        padding = (~inside).to(inputs.dtype)[..., None]
        cleared = inputs.masked_fill(~inside[..., None], 0.0)
        return self.lstm(torch.cat([cleared, padding], dim=2))[0]  # type: ignore[no-any-return]

    def in_one_kernel(self, inputs: Tensor) -> bool:
        """Whether `device_recurrence` runs this in half precision, as in training on a GPU."""
        small = self.lstm.hidden_size <= _LARGEST_IN_ONE_KERNEL
        return small and inputs.is_cuda and torch.is_autocast_enabled("cuda") and _has_triton()

    def _step_by_step(self, inputs: Tensor, inside: Tensor, kept: Tensor) -> Tensor:
        """The result of `forward` with masked states, which torch's LSTM cannot have; slow."""
        size, steps = self.lstm.hidden_size, inputs.shape[1]
        directions = []
        for mask, end in zip(kept.chunk(2, dim=1), ("", "_reverse"), strict=True):
            weight, recurrent, bias, more_bias = (
                getattr(self.lstm, f"{part}_l0{end}")
                for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            gates = nn.functional.linear(inputs, weight[:, :-1], bias + more_bias)
            state = cell = inputs.new_zeros(len(inputs), size)
            states = [state] * steps
            for at in reversed(range(steps)) if end else range(steps):
                real = inside[:, at, None]  # (sequences, 1)
                summed = gates[:, at] + nn.functional.linear(state * mask, recurrent)
                i, f, g, o = summed.chunk(4, dim=1)  # (sequences, size) each
                cell = real * (f.sigmoid() * cell + i.sigmoid() * g.tanh())
                state = states[at] = real * (o.sigmoid() * cell.tanh())
            directions.append(torch.stack(states, dim=1))
        return torch.cat(directions, dim=2)

    def _in_one_kernel(self, inputs: Tensor, inside: Tensor, kept: Tensor | None) -> Tensor:
        """The result of `forward` in half precision, faster and without the input for padding."""
        from adhominem.paper.device_recurrence import recur

        weight, recurrent, bias, more_bias = (  # both directions
            torch.cat([value for name, value in self.lstm.named_parameters() if part in name])
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        size = self.lstm.hidden_size
        if inputs.shape[2] % _ALIGNED:
            inputs = _aligned(inputs)
        with torch.autocast("cuda", enabled=False):
            gates = nn.functional.linear(
                inputs.half(), _aligned(weight[:, :-1]), (bias + more_bias).half()
            )
            hidden = recur(
                gates.view(*gates.shape[:2], 2, 4 * size),
                recurrent.view(2, 4 * size, size).half(),
                inside.sum(1),
                None if kept is None else kept.view(-1, 2, size),
            )
        return hidden.flatten(2)


class Attention(nn.Module):
    """Additive attention: v' tanh(W h + b), a softmax over unmasked steps, the weighted mean."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(input_size, size)
        self.score = nn.Linear(size, 1, bias=False)

    def forward(
        self, steps: Tensor, inside: Tensor, kept: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The means (sequences, size) of steps (sequences, steps, size), and the weights.

        `kept` (sequences, 1, size) masks what is scored.
        """
        scored = steps if kept is None else steps * kept
        scores = (
            self.score(torch.tanh(self.hidden(scored))).squeeze(2).float()
        )  # (sequences, steps)
        weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=1)
        return (weights.to(steps.dtype)[:, None, :] @ steps).squeeze(1), weights


class Network(nn.Module):
    """The whole encoder, for training."""

    def __init__(
        self, token_types: int, characters: int, options: EncoderOptions, prefixes: int = 0
    ) -> None:
        super().__init__()
        self.options = options
        words, filters = options.word_vector_size, options.character_filters
        self.word_vectors = nn.Embedding(len(SPECIAL) + token_types, words, padding_idx=PADDING)
        self.no_topic = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.word_vectors.weight, std=_SPREAD)
        nn.init.normal_(self.no_topic, std=_SPREAD)
        with torch.no_grad():
            self.word_vectors.weight[PADDING] = 0
        self.characters = CharacterCNN(characters, options)
        self.window_lstm = MaskedBiLSTM(words + filters, options.window_lstm_size)
        self.token_attention = Attention(2 * options.window_lstm_size, options.attention_size)
        self.document_lstm = MaskedBiLSTM(2 * options.window_lstm_size, options.document_lstm_size)
        self.window_attention = Attention(2 * options.document_lstm_size, options.attention_size)
        self.lev = nn.Linear(2 * options.document_lstm_size, options.lev_size)
        self.prefixes = nn.Embedding(prefixes, words) if prefixes else None
        if self.prefixes is not None:
            nn.init.normal_(self.prefixes.weight, std=_SPREAD)

    @torch.no_grad()
    def start_with(self, vectors: WordVectors | None, prefixes: Sequence[str]) -> None:
        """Initialise with pretrained vectors: those of words, of prefixes, and of no topic.

        Vectors of a file are brought to the scale of the random ones, or else these to theirs. A
        prefix starts from the mean of its tokens in the file, no topic from that of all prefixes.
        """
        if vectors is not None:
            rows = torch.from_numpy(vectors.vectors[vectors.known])
            scale = _SPREAD / rows.std()
            if not self.options.rescale_word_vectors:
                for parameter in (self.word_vectors.weight, self.no_topic):
                    parameter /= scale
                if self.prefixes is not None:
                    self.prefixes.weight /= scale
                scale = torch.tensor(1.0)
            self.word_vectors.weight[torch.from_numpy(vectors.known)] = rows * scale
            for row, name in enumerate(prefixes):
                if in_file := [vectors.more[t] for t in name.split(" ") if t in vectors.more]:
                    mean = torch.from_numpy(np.mean(in_file, axis=0))
                    self.prefixes.weight[row] = mean * scale  # type: ignore[union-attr]
        if self.prefixes is not None:
            self.no_topic.copy_(self.prefixes.weight.mean(0))

    def forward(self, batch: Batch, masks: Masks | None = None) -> EncodedBatch:
        """The LEVs of a batch; with masks, as in training."""
        types = self.type_vectors(batch.type_words, batch.type_characters, masks)
        prefixes = self.prefix_vectors(batch)
        windows, token_attention = self.window_vectors(types, prefixes, batch, masks)
        levs, window_attention = self.document_vectors(windows, batch.place, batch.shape, masks)
        return EncodedBatch(levs, token_attention, window_attention)

    def type_vectors(self, words: Tensor, characters: Tensor, masks: Masks | None = None) -> Tensor:
        """The vectors (types, word_vector_size + filters) of distinct token types."""
        size, dropout = self.options.character_size, self.options.cnn_dropout
        kept = None if masks is None else masks.draw_types(len(words), size, dropout)
        return torch.cat([self.word_vectors(words), self.characters(characters, kept)], dim=1)

    def prefix_vectors(self, batch: Batch) -> Tensor:
        """The mean of each document's prefixes, (documents, word_vector_size + filters)."""
        means = self.no_topic.expand(batch.shape[0], -1)
        if self.prefixes is not None:
            vectors = self.prefixes(batch.prefixes)  # (prefixes, size)
            numbers = torch.arange(batch.shape[0], device=vectors.device)
            owned = numbers[:, None] == batch.prefix_documents  # (documents, prefixes)
            counts = owned.sum(1, keepdim=True)  # (documents, 1)
            sums = owned.to(vectors.dtype) @ vectors
            means = torch.where(counts > 0, sums / counts.clamp(min=1), means)
        return nn.functional.pad(means, (0, self.options.character_filters))

    def window_vectors(
        self, types: Tensor, prefixes: Tensor, batch: Batch, masks: Masks | None
    ) -> tuple[Tensor, Tensor]:
        """Window vectors (windows, 2 * window_lstm_size); attention (windows, 1 + tokens)."""
        owner = batch.window_documents
        table = torch.cat([types, prefixes.to(types.dtype)])  # (types + documents, size)
        if self.window_lstm.in_one_kernel(table):
            table = _aligned(table)  # in the LSTM's precision: half as much to move
        rows = torch.cat([types.shape[0] + owner[:, None], batch.tokens], dim=1)
        steps = nn.functional.embedding(rows, table)  # (windows, 1 + tokens, size)
        place = torch.arange(steps.shape[1], device=steps.device)
        inside = place <= batch.token_counts[:, None]  # (windows, 1 + tokens): the prefix is first
        options = self.options
        if masks is not None and (options.lstm_dropout or options.cnn_dropout):
            spelling_dropout = options.lstm_dropout if masks.by_window else options.cnn_dropout
            words = masks.draw(options.word_vector_size, options.lstm_dropout, owner)
            filters = masks.draw(options.character_filters, spelling_dropout, owner)
            mask = torch.cat([words, filters], dim=1)  # (windows, size)
            mask = nn.functional.pad(mask, (0, steps.shape[2] - mask.shape[1]))
            steps = steps * mask.to(steps.dtype)[:, None]
        return self._pooled(self.window_lstm, self.token_attention, steps, inside, masks, owner)

    def document_vectors(
        self,
        windows: Tensor,
        place: tuple[Tensor, Tensor],
        shape: tuple[int, int],
        masks: Masks | None,
    ) -> tuple[Tensor, Tensor]:
        """The LEVs (documents, lev_size), and the attention (documents, windows).

        `place` and `shape` are those of the batch.
        """
        grid = windows.new_zeros(*shape, windows.shape[1])
        grid = grid.index_put(place, windows)  # (documents, windows, size)
        inside = torch.zeros(grid.shape[:2], dtype=torch.bool, device=grid.device)
        inside = inside.index_put(place, torch.ones_like(place[0], dtype=torch.bool))
        if masks is not None:
            mask = masks.draw(grid.shape[2], self.options.lstm_dropout)
            grid = grid * mask.to(grid.dtype)[:, None]
        document, attention = self._pooled(
            self.document_lstm, self.window_attention, grid, inside, masks
        )  # (documents, 2 * lstm)
        if masks is not None:
            document = document * masks.draw(document.shape[1], self.options.lev_dropout)
        return torch.tanh(self.lev(document)).float(), attention  # (documents, lev_size)

    def _pooled(
        self,
        lstm: MaskedBiLSTM,
        attention: Attention,
        steps: Tensor,
        inside: Tensor,
        masks: Masks | None,
        owner: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The vectors (sequences, 2 * lstm) of one tier for its inputs, and their attention."""
        if masks is None:
            return attention(lstm(steps, inside), inside)  # type: ignore[no-any-return]
        size, options = attention.hidden.in_features, self.options
        kept = masks.draw_recurrent(size, options.lstm_dropout, owner)
        hidden = lstm(steps, inside, kept)  # (sequences, steps, 2 * lstm)
        if options.attention_dropout:
            mask = masks.draw(size, options.attention_dropout, owner)[:, None].to(hidden.dtype)
            if masks.by_window:
                return attention(hidden, inside, mask)  # type: ignore[no-any-return]
            hidden = hidden * mask
        return attention(hidden, inside)  # type: ignore[no-any-return]
