"""The network on a padded batch is the network on each document, token and window by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from adhominem.errors import OptionError
from adhominem.paper.config import EncoderOptions, preset
from adhominem.paper.losses import SiameseModel
from adhominem.paper.network import (
    Attention,
    Batch,
    CharacterCNN,
    EncodedBatch,
    MaskedBiLSTM,
    Masks,
    Network,
)
from adhominem.paper.word_vectors import WordVectors
from adhominem.text.vocabulary import PADDING, SPECIAL

SMALL = EncoderOptions(
    character_size=4,
    character_filters=6,
    character_filter_width=3,
    word_vector_size=5,
    window_lstm_size=4,
    document_lstm_size=3,
    attention_size=5,
    lev_size=4,
)
TOKEN_TYPES, CHARACTERS, CHARACTERS_PER_TOKEN = 20, 12, 8
WORD_IDS, PREFIXES = len(SPECIAL) + TOKEN_TYPES, 10
rng = np.random.default_rng(0)
# The token types of a corpus: a vocabulary id and 1 to 8 characters each; some ids occur twice.
TYPES = [
    (int(rng.integers(1, WORD_IDS)), rng.integers(1, len(SPECIAL) + CHARACTERS, 1 + n % 8).tolist())
    for n in range(30)
]


@dataclass(frozen=True)
class Text:
    """A document: types window by window, and the rows of its prefixes."""

    windows: list[list[int]]
    topic: list[int]


texts = st.builds(
    Text,
    st.lists(
        st.lists(st.integers(0, len(TYPES) - 1), min_size=1, max_size=7), min_size=1, max_size=4
    ),
    st.lists(st.integers(0, PREFIXES - 1), max_size=3),
)
several_texts = st.lists(texts, min_size=1, max_size=4)


@pytest.fixture(autouse=True)
def same_start() -> None:
    torch.manual_seed(1)


def small_network() -> Network:
    torch.manual_seed(2)
    network = Network(TOKEN_TYPES, CHARACTERS, SMALL, PREFIXES)
    with torch.no_grad():  # biases that are zero would hide mistakes
        for parameter in network.parameters():
            if parameter.dim() == 1:
                parameter += 0.3 * torch.randn_like(parameter)
    return network


NETWORK = small_network()


def batch_of(
    some: Sequence[Text], *, more_width: int = 0, more_types: int = 0, behind: int = 0
) -> Batch:
    """A batch, written out slowly. `behind` chooses what stands behind the end of a window."""
    windows = [window for text in some for window in text.windows]
    types = sorted({kind for window in windows for kind in window})
    types += [kind for kind in range(len(TYPES)) if kind not in types][:more_types]
    place = {kind: index for index, kind in enumerate(types)}
    width = max(map(len, windows)) + more_width
    junk = np.random.default_rng(behind)
    tokens = [
        [place[kind] for kind in window]
        + junk.integers(0, len(types), width - len(window)).tolist()
        for window in windows
    ]
    characters = [
        TYPES[kind][1] + [PADDING] * (CHARACTERS_PER_TOKEN - len(TYPES[kind][1])) for kind in types
    ]
    return Batch(
        type_words=torch.tensor([TYPES[kind][0] for kind in types]),
        type_characters=torch.tensor(characters),
        tokens=torch.tensor(tokens),
        token_counts=torch.tensor([len(window) for window in windows]),
        window_documents=torch.tensor([n for n, text in enumerate(some) for _ in text.windows]),
        window_positions=torch.tensor([n for text in some for n in range(len(text.windows))]),
        prefixes=torch.tensor([row for text in some for row in text.topic], dtype=torch.long),
        prefix_documents=torch.tensor(
            [n for n, text in enumerate(some) for _ in text.topic], dtype=torch.long
        ),
        shape=(len(some), max(len(text.windows) for text in some)),
    )


def close(one: Tensor, other: Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=tolerance)


# The slow network: nothing is padded, nothing is shared


def slow_characters(cnn: CharacterCNN, characters: Sequence[int]) -> Tensor:
    edge = [torch.zeros(cnn.embedding.embedding_dim)] * (cnn.width - 1)
    row = [*edge, *(cnn.embedding.weight[character] for character in characters), *edge]
    weight, bias = cnn.convolution.weight, cnn.convolution.bias
    assert bias is not None
    found = []
    for start in range(len(row) - cnn.width + 1):
        seen = torch.stack(row[start : start + cnn.width], dim=1)  # (size, width)
        found.append(torch.tanh((weight * seen).sum(dim=(1, 2)) + bias))
    return torch.stack(found).amax(0)


def plain_lstm(masked: MaskedBiLSTM) -> nn.LSTM:
    """torch's own LSTM with the same weights, without the column for padding."""
    plain = nn.LSTM(
        masked.lstm.input_size - 1, masked.lstm.hidden_size, bidirectional=True, batch_first=True
    )
    state = {
        name: weight[:, :-1] if name.startswith("weight_ih") else weight
        for name, weight in masked.lstm.state_dict().items()
    }
    plain.load_state_dict(state)
    return plain


def slow_attention(attention: Attention, steps: Tensor) -> tuple[Tensor, Tensor]:
    scores = [
        float(attention.score.weight[0] @ torch.tanh(attention.hidden.weight @ h + b))
        for h, b in ((step, attention.hidden.bias) for step in steps)
    ]
    total = sum(np.exp(score) for score in scores)
    weights = [np.exp(score) / total for score in scores]
    mean = sum((weight * step for weight, step in zip(weights, steps, strict=True)), torch.zeros(1))
    return mean, torch.tensor(weights, dtype=torch.float32)


@dataclass(frozen=True)
class SlowlyEncoded:
    lev: Tensor
    token_attention: list[Tensor]  # of each window: the prefix, then its tokens
    window_attention: Tensor


@torch.no_grad()
def slow_encode(network: Network, text: Text) -> SlowlyEncoded:
    prefix = network.no_topic
    if text.topic:
        assert network.prefixes is not None
        prefix = torch.stack([network.prefixes.weight[row] for row in text.topic]).mean(0)
    prefix = torch.cat([prefix, torch.zeros(network.options.character_filters)])
    window_lstm, document_lstm = plain_lstm(network.window_lstm), plain_lstm(network.document_lstm)
    vectors, token_attention = [], []
    for window in text.windows:
        steps = [prefix]
        for kind in window:
            word, characters = TYPES[kind]
            spelling = slow_characters(network.characters, characters)
            steps.append(torch.cat([network.word_vectors.weight[word], spelling]))
        hidden = window_lstm(torch.stack(steps)[None])[0][0]
        vector, weights = slow_attention(network.token_attention, hidden)
        vectors.append(vector)
        token_attention.append(weights)
    hidden = document_lstm(torch.stack(vectors)[None])[0][0]
    document, window_attention = slow_attention(network.window_attention, hidden)
    lev = torch.tanh(network.lev.weight @ document + network.lev.bias)
    return SlowlyEncoded(lev, token_attention, window_attention)


def per_document(encoded: EncodedBatch, some: Sequence[Text]) -> Iterator[SlowlyEncoded]:
    """What a batch says of each document, without the padding."""
    at = 0
    for index, text in enumerate(some):
        rows = [
            encoded.token_attention[at + n][: 1 + len(window)]
            for n, window in enumerate(text.windows)
        ]
        at += len(text.windows)
        yield SlowlyEncoded(
            encoded.levs[index], rows, encoded.window_attention[index, : len(text.windows)]
        )


def assert_same_encoding(one: SlowlyEncoded, other: SlowlyEncoded, tolerance: float) -> None:
    close(one.lev, other.lev, tolerance)
    close(one.window_attention, other.window_attention, tolerance)
    for some, others in zip(one.token_attention, other.token_attention, strict=True):
        close(some, others, tolerance)


# The whole network


@settings(max_examples=25)
@given(several_texts)
@torch.no_grad()
def test_a_batch_is_encoded_as_by_the_slow_network(some: list[Text]) -> None:
    for found, text in zip(per_document(NETWORK(batch_of(some)), some), some, strict=True):
        assert_same_encoding(found, slow_encode(NETWORK, text), 1e-6)


@settings(max_examples=25)
@given(several_texts, st.integers(0, 5), st.integers(0, 5), st.integers(1, 100))
@torch.no_grad()
def test_a_document_does_not_depend_on_its_batch_on_padding_nor_on_what_stands_behind_the_end(
    some: list[Text], more_width: int, more_types: int, behind: int
) -> None:
    batch = batch_of(some, more_width=more_width, more_types=more_types, behind=behind)
    batch = replace(batch, shape=(len(some), batch.shape[1] + more_width))
    for found, text in zip(per_document(NETWORK(batch), some), some, strict=True):
        (alone,) = per_document(NETWORK(batch_of([text])), [text])
        assert_same_encoding(found, alone, 1e-6)


@settings(max_examples=25)
@given(several_texts.flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
@torch.no_grad()
def test_the_order_of_the_documents_only_permutes_the_levs(
    both: tuple[list[Text], list[Text]],
) -> None:
    some, shuffled = both
    order = [some.index(text) for text in shuffled]
    close(NETWORK(batch_of(shuffled)).levs, NETWORK(batch_of(some)).levs[order])


@torch.no_grad()
def test_the_order_of_tokens_and_of_windows_does_matter() -> None:
    text = Text([[1, 2, 3], [4, 5]], [3])
    turned = [Text([[3, 2, 1], [4, 5]], [3]), Text([[4, 5], [1, 2, 3]], [3])]
    lev = NETWORK(batch_of([text])).levs
    for other in turned:
        assert (NETWORK(batch_of([other])).levs - lev).abs().max() > 1e-4


@settings(max_examples=25)
@given(several_texts, st.integers(0, 3))
@torch.no_grad()
def test_attention_sums_to_one_and_is_zero_on_padding(some: list[Text], more: int) -> None:
    batch = batch_of(some, more_width=more)
    encoded = NETWORK(batch)
    close(encoded.token_attention.sum(1), torch.ones(len(batch.tokens)))
    close(encoded.window_attention.sum(1), torch.ones(len(some)))
    for row, count in zip(encoded.token_attention, batch.token_counts, strict=True):
        assert (row[1 + count :] == 0).all()
        assert (row[: 1 + count] > 0).all()
    for row, text in zip(encoded.window_attention, some, strict=True):
        assert (row[len(text.windows) :] == 0).all()
        assert (row[: len(text.windows)] > 0).all()


def test_the_characters_of_each_token_type_are_looked_at_once() -> None:
    text = Text([[3, 3, 3, 7], [7, 3, 9]], [])
    seen: list[tuple[int, ...]] = []
    hook = NETWORK.characters.register_forward_pre_hook(
        lambda _, inputs: seen.append(tuple(inputs[0].shape))
    )
    try:
        NETWORK(batch_of([text, text, Text([[9]], [])]))
    finally:
        hook.remove()
    assert seen == [(3, CHARACTERS_PER_TOKEN)]


def test_the_papers_network_has_the_published_number_of_parameters() -> None:
    config = preset("pan20")
    vocabulary = config.data.vocabulary
    model = SiameseModel(
        vocabulary.token_types, vocabulary.character_types, config.encoder, config.loss
    )
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    assert sum(sizes.values()) == pytest.approx(1.75e6, rel=0.01)
    assert sizes["network.word_vectors.weight"] == pytest.approx(1.5e6, rel=0.001)


def test_levs_are_float32_within_minus_one_and_one() -> None:
    levs = NETWORK(batch_of([Text([[1, 2]], []), Text([[3]], [4])])).levs
    assert levs.dtype == torch.float32
    assert levs.shape == (2, SMALL.lev_size)
    assert (levs.abs() < 1).all()


# Characters


@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=5), st.integers(8, 12))
@torch.no_grad()
def test_padding_never_wins_the_maximum(types: list[tuple[int, list[int]]], width: int) -> None:
    rows = [characters + [PADDING] * (width - len(characters)) for _, characters in types]
    found = NETWORK.characters(torch.tensor(rows))
    slow = torch.stack([slow_characters(NETWORK.characters, row) for _, row in types])
    close(found, slow)


@torch.no_grad()
def test_padding_does_not_win_even_where_it_would_score_highest() -> None:
    cnn = CharacterCNN(CHARACTERS, SMALL)
    bias = cnn.convolution.bias
    assert bias is not None
    bias.fill_(2.0)  # what a filter says to padding alone
    cnn.convolution.weight.fill_(-1.0)
    cnn.embedding.weight[1:] = 1.0  # any character at all lowers it
    (found,) = cnn(torch.tensor([[5, 6, PADDING, PADDING, PADDING, PADDING]]))
    one_character = np.tanh(2.0 - SMALL.character_size)
    close(found, torch.full_like(found, one_character))
    assert one_character < np.tanh(2.0)


# The LSTM


def ragged(seed: int, lengths: Sequence[int], size: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(len(lengths), max(lengths), size, generator=generator)
    inside = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return inputs, inside


def packed(lstm: nn.LSTM, inputs: Tensor, lengths: Sequence[int]) -> Tensor:
    sequence = nn.utils.rnn.pack_padded_sequence(
        inputs, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    return nn.utils.rnn.pad_packed_sequence(lstm(sequence)[0], batch_first=True)[0]


@settings(max_examples=25)
@given(st.integers(0, 1000), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_the_masked_lstm_is_torchs_packed_one_in_outputs_and_gradients(
    seed: int, lengths: list[int]
) -> None:
    torch.manual_seed(seed)
    inputs, inside = ragged(seed, lengths, 6)
    masked = MaskedBiLSTM(6, 4)
    plain = plain_lstm(masked)
    expected = packed(plain, inputs, lengths)
    with_junk = inputs.masked_fill(~inside[..., None], torch.nan)  # it must not be looked at
    found = masked(with_junk, inside)
    close(found[inside], expected[inside])
    direction = torch.randn_like(expected) * inside[..., None]
    (found.masked_fill(~inside[..., None], 0) * direction).sum().backward()
    (expected * direction).sum().backward()
    for name, parameter in plain.named_parameters():
        gradient = masked.lstm.get_parameter(name).grad
        assert gradient is not None
        assert parameter.grad is not None
        if name.startswith("weight_ih"):
            assert (gradient[:, -1] == 0).all()  # exactly
            gradient = gradient[:, :-1]
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-5, atol=1e-5)


def test_the_backward_state_is_exactly_zero_until_the_last_real_step() -> None:
    inputs, inside = ragged(0, [2, 9], 6)
    masked = MaskedBiLSTM(6, 4)
    assert (masked(inputs, inside)[0, 2:, 4:] == 0).all()


def test_training_leaves_the_padding_weights_alone() -> None:
    network = small_network()
    lstms = (network.window_lstm.lstm, network.document_lstm.lstm)
    weights = [
        parameter
        for lstm in lstms
        for name, parameter in lstm.named_parameters()
        if name.startswith("weight_ih")
    ]
    before = [weight.detach().clone() for weight in weights]
    optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
    some = [Text([[1, 2, 3], [4]], []), Text([[5], [6, 7], [8]], [3]), Text([[9, 9, 9, 9]], [2, 4])]
    for _ in range(3):
        optimiser.zero_grad()
        (
            network(batch_of(some, more_width=2)).levs * torch.randn(3, SMALL.lev_size)
        ).sum().backward()
        optimiser.step()
    assert len(weights) == 4
    for weight, was in zip(weights, before, strict=True):
        assert torch.equal(weight[:, -1], was[:, -1])
        assert not torch.equal(weight[:, :-1], was[:, :-1])


def test_the_lstms_begin_with_the_published_biases() -> None:
    network = Network(TOKEN_TYPES, CHARACTERS, SMALL, PREFIXES)
    for lstm in (network.window_lstm.lstm, network.document_lstm.lstm):
        for end in ("l0", "l0_reverse"):
            bias = lstm.get_parameter(f"bias_ih_{end}") + lstm.get_parameter(f"bias_hh_{end}")
            gates = bias.view(4, lstm.hidden_size)  # torch's order: input, forget, cell, output
            assert gates.unique(dim=1).flatten().tolist() == [0.0, 2.5, 0.0, 1.0]


# Attention


@given(st.integers(0, 1000), st.lists(st.integers(1, 6), min_size=1, max_size=4))
@torch.no_grad()
def test_attention_is_the_weighted_mean_of_the_steps_inside(seed: int, lengths: list[int]) -> None:
    torch.manual_seed(seed)
    attention = Attention(5, 3)
    steps, inside = ragged(seed, lengths, 5)
    vectors, weights = attention(steps, inside)
    for row, length in enumerate(lengths):
        slow_vector, slow_weights = slow_attention(attention, steps[row, :length])
        close(vectors[row], slow_vector)
        close(weights[row, :length], slow_weights)


# The contextual prefix


def prefix_vectors(network: Network, some: Sequence[Text]) -> Tensor:
    return network.prefix_vectors(batch_of(some))


def test_the_prefix_is_the_mean_of_the_topics_and_no_topic_has_its_own() -> None:
    network = small_network()
    assert network.prefixes is not None
    vectors = network.prefixes.weight
    some = [Text([[0]], [4, 7, 4]), Text([[0]], []), Text([[0]], [9])]
    found = prefix_vectors(network, some)
    expected = torch.stack([(2 * vectors[4] + vectors[7]) / 3, network.no_topic, vectors[9]])
    close(found[:, : SMALL.word_vector_size], expected, 1e-7)
    assert (found[:, SMALL.word_vector_size :] == 0).all()  # a topic has no spelling


def test_the_vector_of_no_topic_is_learnt_from_documents_without_one_only() -> None:
    network = small_network()
    with_topic, without = Text([[1, 2]], [4]), Text([[1, 2]], [])
    network(batch_of([with_topic])).levs.sum().backward()
    assert network.no_topic.grad is None or (network.no_topic.grad == 0).all()
    network.zero_grad()
    network(batch_of([with_topic, without])).levs.sum().backward()
    assert network.no_topic.grad is not None
    assert (network.no_topic.grad != 0).all()
    assert network.prefixes is not None
    assert network.prefixes.weight.grad is not None
    learnt = (network.prefixes.weight.grad != 0).all(dim=1)
    assert learnt.tolist() == [row == 4 for row in range(PREFIXES)]


def test_the_vectors_of_padding_are_zero() -> None:
    assert (NETWORK.word_vectors.weight[PADDING] == 0).all()
    assert (NETWORK.characters.embedding.weight[PADDING] == 0).all()


# Dropout

HALF = replace(
    SMALL,
    window_lstm_size=16,
    document_lstm_size=16,
    character_filters=16,
    word_vector_size=16,
    **{entry.name: 0.5 for entry in fields(SMALL) if entry.name.endswith("dropout")},
)
PAIRS = [
    Text([[1, 2, 3], [4, 5], [6]], [3]),
    Text([[7, 8], [9, 10, 11, 12]], [5]),
    Text([[13, 14], [15, 16]], [6]),
    Text([[17, 18, 19], [20], [21, 22]], [7]),
]  # the first and the third, the second and the fourth
ROWS = torch.tensor([0, 1, 0, 1])


def masks(seed: int, rows: Tensor = ROWS) -> Masks:
    return Masks(rows, int(rows.max()) + 1, torch.Generator().manual_seed(seed))


def without_dropout(options: EncoderOptions) -> EncoderOptions:
    names = (entry.name for entry in fields(options) if entry.name.endswith("dropout"))
    return replace(options, **dict.fromkeys(names, 0.0))


def dropped(network: Network, name: str, seed: int) -> tuple[Tensor, Tensor]:
    """What reaches a part of the network at each step inside: (steps, size), and whose it is."""
    seen: list[tuple[Tensor, ...]] = []
    part = network.get_submodule(name)
    hook = part.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    batch = batch_of(PAIRS)
    try:
        network(batch, masks(seed))
    finally:
        hook.remove()
    ((values, *rest),) = seen
    if not rest:
        return values, torch.arange(len(PAIRS))  # one vector a document
    inside = rest[0]
    owners = (
        batch.window_documents if len(inside) == len(batch.tokens) else torch.arange(len(PAIRS))
    )
    owner = owners[:, None].expand(inside.shape)
    if name == "window_lstm":  # the prefix has no spelling: look at the tokens
        inside = inside & (torch.arange(inside.shape[1]) > 0)
    return values[inside], owner[inside]


@pytest.mark.parametrize(
    ("dropout", "part", "begin", "end"),
    [
        ("lstm_dropout", "window_lstm", 0, HALF.word_vector_size),
        ("cnn_dropout", "window_lstm", HALF.word_vector_size, None),
        ("attention_dropout", "token_attention", 0, None),
        ("lstm_dropout", "document_lstm", 0, None),
        ("attention_dropout", "window_attention", 0, None),
        ("lev_dropout", "lev", 0, None),
    ],
)
@torch.no_grad()
def test_one_mask_serves_all_steps_and_both_documents_of_a_pair(
    dropout: str, part: str, begin: int, end: int | None
) -> None:
    options = replace(without_dropout(HALF), **{dropout: 0.5})
    values, owner = dropped(Network(TOKEN_TYPES, CHARACTERS, options, PREFIXES), part, seed=3)
    patterns = []
    for pair in (0, 1):
        gone = values[ROWS[owner] == pair] == 0  # (steps of both documents, size)
        assert (gone == gone[0]).all()
        patterns.append(gone[0, begin:end])
        assert not gone[0, :begin].any()
        assert end is None or not gone[0, end:].any()
    assert 0.2 < torch.stack(patterns).float().mean() < 0.8
    assert not torch.equal(*patterns)


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.5, 0.9])
def test_masks_are_zero_or_scaled_so_that_the_mean_stays(dropout: float) -> None:
    drawn = masks(4, torch.arange(200)).draw(500, dropout)
    kept = drawn != 0
    close(drawn[kept], torch.full_like(drawn[kept], 1 / (1 - dropout)))
    assert 1 - kept.double().mean() == pytest.approx(dropout, abs=0.006)  # 4 deviations
    assert drawn.double().mean() == pytest.approx(1, abs=0.04)


def test_a_mask_is_drawn_for_each_row_and_shared_as_the_rows_say() -> None:
    drawn = masks(5).draw(64, 0.5)
    assert torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[1], drawn[3])
    assert not torch.equal(drawn[0], drawn[1])


def test_processes_that_share_a_batch_draw_the_same_masks() -> None:
    drawn = masks(5).draw(64, 0.5)
    for part in ([0], [3], [1, 2], [0, 1, 2]):
        one = Masks(ROWS[part], 2, torch.Generator().manual_seed(5))
        assert torch.equal(one.draw(64, 0.5), drawn[part])


@torch.no_grad()
def test_two_documents_of_a_pair_with_the_same_text_get_the_same_lev_in_training() -> None:
    network = Network(TOKEN_TYPES, CHARACTERS, HALF, PREFIXES)
    text = PAIRS[0]
    levs = network(batch_of([text, text, text]), masks(6, torch.tensor([0, 0, 1]))).levs
    close(levs[0], levs[1])
    assert (levs[0] - levs[2]).abs().max() > 1e-4


@torch.no_grad()
def test_dropout_follows_from_the_generators_seed_alone() -> None:
    network = Network(TOKEN_TYPES, CHARACTERS, HALF, PREFIXES)
    batch = batch_of(PAIRS)
    first = network(batch, masks(7)).levs
    torch.rand(100)  # torch's own generator is not asked
    assert torch.equal(network(batch, masks(7)).levs, first)
    assert not torch.equal(network(batch, masks(8)).levs, first)
    assert not torch.equal(network(batch).levs, first)


@torch.no_grad()
def test_without_dropout_masks_change_nothing() -> None:
    network = Network(TOKEN_TYPES, CHARACTERS, without_dropout(SMALL), PREFIXES)
    batch = batch_of(PAIRS)
    assert torch.equal(network(batch, masks(9)).levs, network(batch).levs)


# Dropout by windows, as in the authors' later code


def masks_by_window(seed: int, rows: Tensor = ROWS) -> Masks:
    generator = torch.Generator().manual_seed(seed)
    return Masks(rows, int(rows.max()) + 1, generator, by_window=True)


@given(st.integers(0, 1000), st.lists(st.integers(1, 6), min_size=1, max_size=4))
@torch.no_grad()
def test_a_masked_lstm_masks_the_state_before_each_step(seed: int, lengths: list[int]) -> None:
    torch.manual_seed(seed)
    layer = MaskedBiLSTM(5, 3)
    inputs, inside = ragged(seed, lengths, 5)
    kept = (torch.rand(len(lengths), 6) >= 0.5) * 2.0
    found = layer(inputs, inside, kept)
    for row, length in enumerate(lengths):
        for direction, end in enumerate(("", "_reverse")):
            cell = torch.nn.LSTMCell(6, 3)
            for name, weight in cell.named_parameters():
                weight.copy_(layer.lstm.get_parameter(f"{name}_l0{end}"))
            columns = slice(3 * direction, 3 * direction + 3)
            state = torch.zeros(3), torch.zeros(3)
            order = range(length) if not direction else reversed(range(length))
            for at in order:
                step = torch.nn.functional.pad(inputs[row, at], (0, 1))
                state = cell(step, (state[0] * kept[row, columns], state[1]))
                close(found[row, at, columns], state[0])
    whole = layer(inputs, inside, torch.ones(len(lengths), 6))
    close(whole[inside], layer(inputs, inside)[inside])


@torch.no_grad()
def test_by_window_every_window_is_dropped_from_by_a_mask_of_its_own() -> None:
    options = replace(without_dropout(HALF), lstm_dropout=0.5)
    network, batch = Network(TOKEN_TYPES, CHARACTERS, options, PREFIXES), batch_of(PAIRS)
    seen: list[tuple[Tensor, ...]] = []
    network.window_lstm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    network(batch, masks_by_window(3))
    ((steps, inside, kept),) = seen
    tokens = inside & (torch.arange(inside.shape[1]) > 0)
    gone = [row[real] == 0 for row, real in zip(steps, tokens, strict=True)]
    assert all((window == window[0]).all() for window in gone)  # of all its tokens
    assert len({tuple(window[0].tolist()) for window in gone}) == len(gone)
    assert kept.shape == (len(batch.tokens), 2 * HALF.window_lstm_size)  # of the states
    assert len(kept.unique(dim=0)) == len(kept)
    assert set(kept.unique().tolist()) == {0.0, 2.0}


@torch.no_grad()
def test_by_window_attention_drops_from_what_it_scores_but_averages_all() -> None:
    options = replace(without_dropout(HALF), attention_dropout=0.5)
    network, batch = Network(TOKEN_TYPES, CHARACTERS, options, PREFIXES), batch_of(PAIRS)
    seen: list[tuple[tuple[Tensor, ...], tuple[Tensor, Tensor]]] = []
    network.token_attention.register_forward_hook(lambda _, *ends: seen.append(ends))  # type: ignore[arg-type]
    network(batch, masks_by_window(3))
    (((steps, inside, kept), (means, weights)),) = seen
    close(means, torch.einsum("ws,wsd->wd", weights, steps))
    slow, _ = network.token_attention(steps * kept, inside)
    assert not torch.allclose(means, slow)


@torch.no_grad()
def test_by_window_characters_are_dropped_before_the_filters() -> None:
    options = replace(without_dropout(HALF), cnn_dropout=0.5)
    network, batch = Network(TOKEN_TYPES, CHARACTERS, options, PREFIXES), batch_of(PAIRS)
    network.characters.embedding.weight[:] = 0  # then nothing can be dropped from them
    assert torch.equal(network(batch, masks_by_window(3)).levs, network(batch).levs)
    network.characters.embedding.weight[:] = 1
    assert not torch.equal(network(batch, masks_by_window(3)).levs, network(batch).levs)


@torch.no_grad()
def test_without_dropout_masks_by_window_change_nothing() -> None:
    network = Network(TOKEN_TYPES, CHARACTERS, without_dropout(SMALL), PREFIXES)
    batch = batch_of(PAIRS)
    assert torch.equal(network(batch, masks_by_window(9)).levs, network(batch).levs)


# Options


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lev_size": 0}, "lev_size is 0"),
        ({"character_filters": 0}, "character_filters is 0"),
        ({"character_filter_width": 0}, "character_filter_width is 0"),
        ({"lev_dropout": 1.0}, "lev_dropout is 1.0"),
        ({"cnn_dropout": -0.1}, "cnn_dropout is -0.1"),
        ({"lstm_dropout": float("nan")}, "lstm_dropout is nan"),
    ],
)
def test_sizes_and_dropout_that_cannot_work_are_refused(
    settings: dict[str, float], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        EncoderOptions(**settings)  # type: ignore[arg-type]


def test_word_vectors_are_taken_over_at_the_scale_of_the_random_ones() -> None:
    network = Network(4, 5, EncoderOptions(word_vector_size=3))
    before = network.word_vectors.weight.detach().clone()
    found = np.array([False, True, True, False, True, False])
    vectors = np.arange(18, dtype=np.float32).reshape(6, 3)
    network.start_with(WordVectors(vectors, found), ())
    after = network.word_vectors.weight.detach()
    assert torch.equal(after[~found], before[~found])
    assert after[found].std().item() == pytest.approx(0.1, rel=1e-5)
    ratio = after[found].numpy() / np.where(vectors[found] == 0, 1, vectors[found])
    assert np.allclose(ratio[vectors[found] != 0], ratio.max())


@pytest.mark.parametrize("rescale", [True, False])
def test_prefixes_start_from_the_mean_of_their_tokens_in_the_file(rescale: bool) -> None:
    options = EncoderOptions(word_vector_size=3, rescale_word_vectors=rescale)
    names = ("Harry Potter", "Harry", "Digimon Harry", "Bleach")
    network = Network(4, 5, options, len(names))
    assert network.prefixes is not None
    generator = np.random.default_rng(0)
    vectors = WordVectors(
        generator.normal(size=(6, 3)).astype(np.float32),
        np.array([False, True, True, False, True, True]),
        {name: generator.normal(size=3).astype(np.float32) for name in ("Harry", "Potter")},
    )
    random = network.prefixes.weight[3].detach().clone()
    network.start_with(vectors, names)
    spread = float(torch.from_numpy(vectors.vectors[vectors.known]).std())
    scale = 0.1 / spread if rescale else 1.0
    harry, potter = (torch.from_numpy(vectors.more[name]) for name in ("Harry", "Potter"))
    expected = torch.stack([(harry + potter) / 2, harry, harry]) * scale
    close(network.prefixes.weight[:3], expected)
    close(network.prefixes.weight[3], random * (scale * spread / 0.1), 1e-5)  # not in the file
    close(network.no_topic, network.prefixes.weight.mean(0))
    known = network.word_vectors.weight[torch.from_numpy(vectors.known)]
    close(known, torch.from_numpy(vectors.vectors[vectors.known]) * scale)
    assert (network.word_vectors.weight[PADDING] == 0).all()
