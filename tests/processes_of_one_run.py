"""What each of several processes does in the tests; a module of its own, for them to import."""

from __future__ import annotations

import json
import os
import signal
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from adhominem import Config, PackedCorpus, Vocabulary, train
from adhominem.paper import distributed
from adhominem.paper.losses import SiameseModel
from adhominem.paper.training import DeviceCorpus, Trainer
from adhominem.training import train_network as member

CPU = torch.device("cpu")


def join(rank: int, world: int, port: int) -> None:
    """Be one of `torchrun`'s processes."""
    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def loss_curve(corpus: PackedCorpus, config: Config) -> dict[str, Any]:
    """The losses of all steps of an epoch, and a digest of the weights after it."""
    counts = corpus.count_types(range(len(corpus)))
    vocabulary = Vocabulary.build(corpus.types, counts, config.data.vocabulary)
    torch.manual_seed(config.training.seed)
    model = SiameseModel(
        len(vocabulary.token_types), len(vocabulary.characters), config.encoder, config.loss
    )
    data = DeviceCorpus(corpus, vocabulary, config.data.windows, CPU)
    trainer = Trainer(model, data, config.data, config.training, CPU)
    trainer.start()
    steps = list(trainer.epoch(0))
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    return {
        "losses": [step.losses for step in steps],
        "pairs": [step.pairs for step in steps],
        "weights": sha256(weights).hexdigest(),
    }


def write_loss_curves(
    rank: int, world: int, port: int, corpus: Path, configs: list[Config], results: Path
) -> None:
    join(rank, world, port)
    with distributed.process_group(CPU):
        assert (distributed.rank(), distributed.world_size()) == (rank, world)
        curves = [loss_curve(PackedCorpus.open(corpus), config) for config in configs]
        (results / f"{rank}.json").write_text(json.dumps(curves))
    assert distributed.world_size() == 1


def train_in_step(
    rank: int,
    world: int,
    port: int,
    corpus: Path,
    dev: Path,
    output: Path,
    config: Config,
    kill_at: int,
) -> None:
    """Train together; all but the first believe that dev gets worse and worse."""
    join(rank, world, port)
    steps = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal steps
        assert rank == 0
        steps += event["event"] == "step"
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    if rank:
        real = member.summarise
        member.summarise = lambda scores: {**real(scores), "auc": 0.0}
    train(
        PackedCorpus.open(corpus),
        {"dev": PackedCorpus.open(dev)},
        output,
        config=config,
        device="cpu",
        resume=True,
        on_event=count,
    )


if __name__ == "__main__":  # as `torchrun -m adhominem`
    from adhominem.cli import main

    torch.set_num_threads(1)
    main(sys.argv[1:])
