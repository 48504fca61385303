"""How fast the network trains: pairs/s with the `pan20` sizes, beside a plain version.

    python benchmarks/training.py [--device cuda] [--steps 20] [--against CHECKOUT]

Documents of 1,200 words (about 1,410 tokens) and of 4,800 tokens, made up of token types
with the frequencies of a natural text (Zipf). The rival computes the character CNN
at every position and packs its sequences, with the same layers and precision.
Floor: the operations of the matrix products (forward and twice that backward) at the rate of a
large product measured here, and the bytes of the token vectors, read and written thrice.

With --against, another checkout of this project trains on the same documents, in a process of its
own. On a GPU, the gradients of a step are compared with those in float32: how far off, relative to
their length, those of our kernels are and those of cuDNN's LSTM.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from measure import run
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from adhominem.paper.config import EncoderOptions, LossOptions, TrainingOptions, preset
from adhominem.paper.losses import SiameseModel
from adhominem.paper.network import Batch, Masks, Network
from adhominem.paper.training import DeviceCorpus, Trainer
from adhominem.text.corpus import Labels, PackedCorpus
from adhominem.text.vocabulary import Vocabulary

EPOCH_PAIRS = 47_340  # PAN 2020's small set


def made_up_corpus(documents: int, tokens: int, types: int = 60_000) -> PackedCorpus:
    """Documents of equal length, two an author; token types by Zipf's law."""
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, types + 1)
    words = rng.choice(types, documents * tokens, p=weights / weights.sum()).astype(np.uint32)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = ["".join(rng.choice(letters, rng.integers(1, 12))) for _ in range(types)]
    author = np.repeat(np.arange(documents // 2), 2).astype(np.int32)
    zeros = np.zeros(documents, np.int32)
    labels = Labels(
        [str(index) for index in range(documents // 2)],
        ["topic"],
        [str(index) for index in range(documents)],
        ["made up"],
        author,
        zeros,
        np.arange(documents, dtype=np.int32),
        zeros,
    )
    return PackedCorpus(
        words,
        np.arange(documents + 1) * tokens,
        labels,
        [str(index) for index in range(documents)],
        names,
        np.arange(3, dtype=np.uint32),
        np.array([0, 3]),
        {},
    )


class PackedBiLSTM(nn.Module):
    """A plain LSTM that uses PyTorch's packed sequences for padding."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        self.lstm = lstm

    def in_one_kernel(self, inputs: Tensor) -> bool:
        return False

    def forward(self, inputs: Tensor, inside: Tensor, kept: Tensor | None = None) -> Tensor:
        lengths = inside.sum(1).cpu()
        widened = nn.functional.pad(inputs, (0, 1))
        packed = pack_padded_sequence(widened, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=inputs.shape[1]
        )[0]


def make_plain(network: Network) -> None:
    """Turn a network into the rival, in place."""
    efficient = network.type_vectors

    def forward(batch: Batch, masks: Masks | None = None):  # type: ignore[no-untyped-def]
        flat = batch.tokens.flatten()
        vectors = efficient(batch.type_words[flat], batch.type_characters[flat])
        prefixes = network.prefix_vectors(batch)
        everywhere = torch.arange(len(flat), device=flat.device).view(batch.tokens.shape)
        batch = replace(batch, tokens=everywhere)
        windows, _ = network.window_vectors(vectors, prefixes, batch, masks)
        levs, _ = network.document_vectors(windows, batch.place, batch.shape, masks)
        return argparse.Namespace(levs=levs)

    network.forward = forward  # type: ignore[method-assign]
    network.window_lstm = PackedBiLSTM(network.window_lstm.lstm)  # type: ignore[assignment]
    network.document_lstm = PackedBiLSTM(network.document_lstm.lstm)  # type: ignore[assignment]


def operations(pairs: int, tokens: int, options: EncoderOptions) -> tuple[float, float]:
    """Operations of the products in one step, and bytes of the token vectors in bf16."""
    windows = 2 * pairs * -(-(tokens - 4) // 25)
    size, lstm = options.word_vector_size + options.character_filters + 1, options.window_lstm_size
    inner = 2 * lstm
    token = 2 * (size * 4 * inner + lstm * 4 * inner + inner * options.attention_size)
    window = 2 * (inner * 4 * inner + lstm * 4 * inner + inner * options.attention_size)
    return 3 * windows * (30 * token + window), 3 * 2 * 2 * windows * 30 * size


def product_rate(device: torch.device) -> float:
    """Operations per second of a large bf16 product."""
    size = 8192 if device.type == "cuda" else 1024
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    left, right = (torch.randn(size, size, device=device, dtype=kind) for _ in range(2))
    for _ in range(3):
        left @ right
    synchronize(device)
    began = time.perf_counter()
    for _ in range(10):
        left @ right
    synchronize(device)
    return 10 * 2 * size**3 / (time.perf_counter() - began)


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def measure(corpus: DeviceCorpus, vocabulary: Vocabulary, plain: bool, arguments, device):  # type: ignore[no-untyped-def]
    """(pairs per second, share of the time spent waiting for data)."""
    torch.manual_seed(0)
    data = preset("pan20").data
    model = SiameseModel(
        len(vocabulary.token_types), len(vocabulary.characters), EncoderOptions(), LossOptions()
    ).to(device)
    if plain:
        make_plain(model.network)
    trainer = Trainer(model, corpus, data, TrainingOptions(), device)
    steps = trainer.epoch(0)
    for _ in range(3):
        next(steps)
    synchronize(device)
    began = time.perf_counter()
    pairs, waited = 0, 0.0
    for _ in range(arguments.steps):
        step = next(steps)
        pairs += step.pairs
        waited += step.waited
    synchronize(device)
    seconds = time.perf_counter() - began
    return pairs / seconds, waited / seconds


def gradient_errors(corpus: DeviceCorpus, vocabulary: Vocabulary, device: torch.device) -> str:
    """The median and the largest error of the gradients of one step, over parameters."""
    from adhominem.paper.training import Plan  # which another checkout may not have

    torch.manual_seed(0)
    sizes = len(vocabulary.token_types), len(vocabulary.characters)
    model = SiameseModel(*sizes, EncoderOptions(), LossOptions()).to(device).train()
    trainer = Trainer(model, corpus, preset("pan20").data, TrainingOptions(), device)
    pairs = trainer._draw(0)[:40]

    def gradients(half: bool) -> list[Tensor]:
        prepared = trainer._prepare(Plan(pairs, 0, 0))
        model.zero_grad()
        scale = 2.0**10 if half else 1.0
        exact = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
        with nullcontext() if half else exact:
            with torch.autocast("cuda", torch.bfloat16, enabled=half):
                levs = model.encode(prepared.batch, prepared.masks)
            losses = model.losses(levs, prepared.labels)
            (torch.stack(list(losses.values())).sum() * scale).backward()  # type: ignore[no-untyped-call]
        return [p.grad / scale for p in model.network.parameters() if p.grad is not None]

    exact, ours = gradients(False), gradients(True)
    with patch("adhominem.paper.network._has_triton", lambda: False):
        cudnn = gradients(True)
    summary = []
    for name, approximate in (("ours", ours), ("cuDNN's", cudnn)):
        errors = [
            float((one - two).norm() / two.norm())
            for one, two in zip(approximate, exact, strict=True)
            if two.norm() > 0
        ]
        summary.append(f"{name} {np.median(errors):.1e} (largest {max(errors):.1e})")
    return ", ".join(summary)


def other_rate(checkout: Path, arguments: argparse.Namespace, tokens: int) -> float:
    """The pairs a second of another checkout, in a process of its own."""
    script = Path(__file__).resolve()
    command = [sys.executable, str(script), "--device", arguments.device, "--only", str(tokens)]
    command += ["--steps", str(arguments.steps)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def made_ready(tokens: int, steps: int, device: torch.device) -> tuple[DeviceCorpus, Vocabulary]:
    """Documents for this many steps, on the device."""
    packed = made_up_corpus(80 * (steps + 4), tokens)
    vocabulary = Vocabulary.build(packed.types, packed.count_types(range(len(packed))))
    windows = preset("pan20").data.windows
    return DeviceCorpus(packed, vocabulary, windows, device), vocabulary


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if arguments.only:
        documents = made_ready(arguments.only, arguments.steps, device)
        print(measure(*documents, False, arguments, device)[0])
        return
    rate = product_rate(device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{name}: {rate / 1e12:.0f} T operations/s in a large bf16 product")
    for what, tokens in (("1,200 words", 1_410), ("4,800 tokens", 4_800)):
        corpus, vocabulary = made_ready(tokens, arguments.steps, device)
        ours, waiting = measure(corpus, vocabulary, False, arguments, device)
        work, size = operations(40, tokens, EncoderOptions())
        print(
            f"{what}: {ours:.0f} pairs/s ({waiting:.1%} of the time waiting for data), "
            f"an epoch of {EPOCH_PAIRS:,} pairs in {EPOCH_PAIRS / ours:.0f} s"
        )
        print(
            f"  floor: {work / 1e12:.2f} T operations and {size / 1e9:.1f} GB a step of 40 pairs, "
            f"{40 / (work / rate):.0f} pairs/s by the operations"
        )
        plain, _ = measure(corpus, vocabulary, True, arguments, device)
        print(
            f"  plain version: {plain:.0f} pairs/s; ours is {ours / plain:.1f} times as fast",
            flush=True,
        )
        if arguments.against:
            other = other_rate(arguments.against.resolve(), arguments, tokens)
            print(f"  the other: {other:.0f} pairs/s; ours is {ours / other:.1f} times as fast")
        if device.type == "cuda":
            print(f"  gradients off by: {gradient_errors(corpus, vocabulary, device)}", flush=True)


if __name__ == "__main__":
    run(main)
