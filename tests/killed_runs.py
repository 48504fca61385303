"""Runs that end by SIGKILL at a given moment; in a module of its own, for processes to import."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from adhominem import Config, PackedCorpus, train
from adhominem.training import checkpoint
from adhominem.training import train as whole
from adhominem.training import train_network as member

# What is being done when the kill comes, and at which call (or event) of it.
MOMENTS = [
    ("step", 1),  # before there is a checkpoint
    ("weights", 3),  # half of a file of the first checkpoint is written
    ("pointer", 1),  # all files are written, but the checkpoint does not count yet
    ("step", 4),  # in the middle of an epoch
    ("remove", 1),  # the checkpoint counts, and the one before it is there still
    ("log", 1),  # an epoch is logged, and not in a checkpoint yet
    ("weights", 2),  # half of a file of a later checkpoint is written
    ("epoch", 2),  # an epoch has ended
    ("model", 1),  # all is trained, and half of the model folder is written
    ("end", 1),  # the model is in its place, and the work is not removed yet
]


def die(*arguments: Any, **named: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_call(number: int, real: Callable[..., Any], last: Callable[..., Any]) -> Callable[..., Any]:
    """`real`, but `last` in the place of this call."""
    calls = 0

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return (last if calls == number else real)(*arguments, **named)

    return counted


def half_a_file(weights: dict[str, torch.Tensor], path: Path) -> None:
    path.write_bytes(b"\0" * 100)
    die()


def after(real: Callable[..., Any]) -> Callable[..., Any]:
    def both(*arguments: Any, **named: Any) -> None:
        real(*arguments, **named)
        die()

    return both


def train_until(
    moment: tuple[str, int] | None, corpus: Path, dev: Path, output: Path, config: Config
) -> None:
    torch.set_num_threads(1)
    what, number = moment or ("", 0)
    hears = at_call(number, lambda: None, die)
    if what == "weights":
        checkpoint._write = at_call(number, checkpoint._write, half_a_file)
    elif what == "pointer":
        checkpoint.write_whole = at_call(number, checkpoint.write_whole, die)
    elif what == "remove":
        real = checkpoint.shutil.rmtree
        checkpoint.shutil.rmtree = lambda path, **options: (
            die() if path.exists() and output.name in str(path) else real(path, **options)
        )
    elif what == "log":
        member.Journal.add = at_call(number, member.Journal.add, after(member.Journal.add))
    elif what == "model":
        member.write_training_authors = die
    elif what == "end":
        real = whole._gather
        whole._gather = after(real)
    pairs = {"dev": PackedCorpus.open(dev)}
    train(
        PackedCorpus.open(corpus),
        pairs,
        output,
        config=config,
        device="cpu",
        resume=True,
        on_event=lambda event: hears() if event["event"] == what else None,
    )
