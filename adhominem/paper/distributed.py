"""Several processes that share each batch: `torchrun -m adhominem train ...`.

Each process encodes its own pairs of the joint batch. All LEVs are then shared, so that every
process computes the loss of the whole batch: its own LEVs carry the gradient, the others do not.
Summed over the processes, the network's gradients are those of one process with the joint
batch; the layers behind the LEVs see everything and have the same gradient everywhere.

Only the first process writes files. Everything that the course of the run depends on (an existing
file, a dev score) is decided by the first one; otherwise the others could wait forever.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from adhominem.arrays import IntArray

Value = TypeVar("Value")


@contextmanager
def process_group(device: torch.device) -> Iterator[None]:
    """A context in which this process is joined with the others, if `torchrun` started it."""
    if "RANK" not in os.environ or dist.is_initialized():
        yield
        return
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def rank() -> int:
    """The number of this process among those that share a batch."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    """The number of processes that share a batch."""
    return dist.get_world_size() if dist.is_initialized() else 1


def wait() -> None:
    """Wait until all processes have reached this point."""
    if world_size() > 1:
        dist.barrier()


def from_first(value: Value) -> Value:
    """The first process's value, in every process."""
    if world_size() == 1:
        return value
    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def local_pairs(pairs: int) -> IntArray:
    """The pairs of the joint batch that this process encodes: at least one, to have a gradient.

    With fewer pairs than processes, the last processes encode one that `gather_levs` leaves out.
    """
    return np.arange(rank(), max(pairs, rank() + 1), world_size()) % pairs


def gather_levs(levs: Tensor, pairs: int) -> Tensor:
    """All processes' LEVs (2 * pairs, lev_size) in the joint order, from local ones."""
    if world_size() == 1:
        return levs
    most = -(-pairs // world_size())
    mine = levs.view(2, -1, levs.shape[1])  # (2, local pairs, lev_size)
    padded = nn.functional.pad(mine, (0, 0, 0, most - mine.shape[1]))  # (2, most, lev_size)
    sent = padded.detach().contiguous()
    received = [torch.empty_like(sent) for _ in range(world_size())]
    dist.all_gather(received, sent)
    received[rank()] = padded  # with its gradient
    # Pair i of the joint batch is pair i // world of process i % world.
    joint = torch.stack(received, dim=2).flatten(1, 2)[:, :pairs]  # (2, pairs, lev_size)
    return joint.flatten(0, 1)


def reduce_gradients(network: nn.Module, whole: nn.Module) -> None:
    """Sum the gradients of the network; average the others, which are already equal."""
    if world_size() == 1:
        return
    inside = {id(parameter) for parameter in network.parameters()}
    for parameter in whole.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            if id(parameter) not in inside:
                parameter.grad /= world_size()
