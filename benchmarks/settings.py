"""What settings of the paper's network are worth: trainings side by side, epoch by epoch.

    python benchmarks/settings.py CORPUS DEV NAME:SETTING,SETTING... [...]
        [--preset pan20] [--seeds 2] [--minutes 8] [--device cuda]

CORPUS is what `prepare` wrote, DEV what `prepare_pairs` did. Each variant is trained with each seed
in a process of its own, all of them on one device; "NAME:" alone is the preset. After the given
time the epochs that are not complete are left out. Printed: the dev AUC of the Bayes factor and of
the distance after each epoch, and the entropies of the two-covariance layer. Topics are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch

from adhominem.evaluation.pan import summarise
from adhominem.paper.config import Config, preset
from adhominem.paper.losses import SiameseModel
from adhominem.paper.training import DeviceCorpus, Trainer
from adhominem.text.corpus import PackedCorpus
from adhominem.text.normalisation import Normaliser
from adhominem.text.vocabulary import Vocabulary
from adhominem.training.train_network import pick_device, score_pairs

_COLUMNS = ("variant", "seed", "epoch", "AUC", "overall", "distance's AUC", "between", "within")


def config_of(variant: str, arguments: argparse.Namespace, corpus: PackedCorpus) -> Config:
    """The preset with a variant's settings, and with the normalisation that the corpus has."""
    settings = [setting for setting in variant.split(",") if setting]
    config = preset(arguments.preset).with_settings([*settings, f"training.seed={arguments.seed}"])
    steps = corpus.description.get("normalisation", Normaliser().steps)
    return config.with_setting(f"data.normaliser.steps={json.dumps(list(steps))}")


def epochs(variant: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train one variant with one seed until the time is up, and yield a row for each epoch."""
    torch.set_num_threads(1)
    device = pick_device(arguments.device)
    corpus, pairs = PackedCorpus.open(arguments.corpus), PackedCorpus.open(arguments.dev)
    config = config_of(variant, arguments, corpus)
    counts = corpus.count_types(range(len(corpus)))
    vocabulary = Vocabulary.build(corpus.types, counts, config.data.vocabulary)
    torch.manual_seed(config.training.seed)
    sizes = len(vocabulary.token_types), len(vocabulary.characters)
    model = SiameseModel(*sizes, config.encoder, config.loss)
    data, dev = (
        DeviceCorpus(texts, vocabulary, config.data.windows, device) for texts in (corpus, pairs)
    )
    trainer = Trainer(model, data, config.data, config.training, device)
    trainer.start()
    for epoch in range(config.training.epochs):
        for _ in trainer.epoch(epoch):
            if time.time() > arguments.until:
                return
        scores = summarise(score_pairs(model, dev))
        between, within = model.two_covariance.entropies()
        yield {
            "epoch": epoch + 1,
            "AUC": scores["bayes_factor_auc"],
            "overall": scores["overall_2020"],
            "distance's AUC": scores["distance_auc"],
            "between": between,
            "within": within,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("dev")
    parser.add_argument("variants", nargs="+", metavar="NAME:SETTING,SETTING...")
    parser.add_argument("--preset", default="pan20")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)  # of a process
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        for row in epochs(arguments.variants[0].partition(":")[2], arguments):
            print(json.dumps(row), flush=True)
        return
    until = time.time() + 60 * arguments.minutes
    runs = []
    for seed in range(arguments.seeds):
        for variant in arguments.variants:
            command = [sys.executable, __file__, arguments.corpus, arguments.dev, variant]
            options = {"preset": arguments.preset, "device": arguments.device}
            for name, value in {**options, "seed": seed, "until": until}.items():
                command += [f"--{name}", str(value)]
            runs.append((variant, seed, subprocess.Popen(command, stdout=subprocess.PIPE)))
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
    for variant, seed, process in runs:
        for line in process.communicate()[0].splitlines():
            row = {"variant": variant.partition(":")[0], "seed": seed, **json.loads(line)}
            cells = [row[name] for name in _COLUMNS]
            print(
                "| "
                + " | ".join(
                    f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells
                )
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    if "--seed" in sys.argv:  # a process of the trainings: what it prints is not yet the table
        main()
    else:
        try:
            from measure import run
        except ImportError:  # without psutil
            main()
        else:
            run(main)
