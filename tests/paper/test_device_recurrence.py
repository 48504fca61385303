"""The LSTM in one kernel is torch's LSTM. It runs on a GPU alone."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

from adhominem.paper.network import MaskedBiLSTM

SHAPES = [(37, 9, 5), (300, 30, 50), (3, 100, 64)]


def sequences_of(sequences: int, steps: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random inputs on the GPU, their lengths, and where they are inside."""
    lengths = torch.randint(1, steps + 1, (sequences,))
    lengths[0] = steps
    inputs = torch.randn(sequences, steps, 12, device="cuda", requires_grad=True)
    return inputs, lengths, torch.arange(steps) < lengths[:, None]


@pytest.mark.parametrize(("sequences", "steps", "size"), SHAPES)
def test_states_and_gradients_are_those_of_packed_sequences(
    sequences: int, steps: int, size: int
) -> None:
    torch.manual_seed(0)
    layer = MaskedBiLSTM(12, size).cuda()
    inputs, lengths, inside = sequences_of(sequences, steps)
    slopes = torch.randn(sequences, steps, 2 * size, device="cuda") * inside[..., None].cuda()

    def gradients(hidden: torch.Tensor) -> list[torch.Tensor]:
        parameters = [inputs, *layer.parameters()]
        return list(torch.autograd.grad((hidden * slopes).sum(), parameters))

    with torch.autocast("cuda", torch.bfloat16):
        assert layer.in_one_kernel(inputs)
        hidden = layer(inputs, inside.cuda())
    widened = torch.nn.functional.pad(inputs, (0, 1))
    packed = pack_padded_sequence(widened, lengths, batch_first=True, enforce_sorted=False)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        expected = pad_packed_sequence(layer.lstm(packed)[0], batch_first=True, total_length=steps)[
            0
        ]
        wanted = gradients(expected)
    assert (hidden - expected).norm() < 2e-3 * expected.norm()
    for given, right in zip(gradients(hidden), wanted, strict=True):
        assert (given - right).norm() < 5e-3 * right.norm() + 1e-6


@pytest.mark.parametrize(("sequences", "steps", "size"), SHAPES)
def test_masked_states_and_gradients_are_those_of_single_steps(
    sequences: int, steps: int, size: int
) -> None:
    torch.manual_seed(0)
    layer = MaskedBiLSTM(12, size).cuda()
    inputs, _, inside = sequences_of(sequences, steps)
    inside = inside.cuda()
    kept = (torch.rand(sequences, 2 * size, device="cuda") >= 0.3) / 0.7
    slopes = torch.randn(sequences, steps, 2 * size, device="cuda")

    def gradients(hidden: torch.Tensor) -> list[torch.Tensor]:
        weights = [value for name, value in layer.named_parameters() if "weight_ih" not in name]
        return list(torch.autograd.grad((hidden * slopes).sum(), [inputs, *weights]))

    with torch.autocast("cuda", torch.bfloat16):
        hidden = layer(inputs, inside, kept)
    expected = layer(inputs, inside, kept)
    assert (hidden - expected).norm() < 2e-3 * expected.norm()
    for given, right in zip(gradients(hidden), gradients(expected), strict=True):
        assert (given - right).norm() < 5e-3 * right.norm() + 1e-6
