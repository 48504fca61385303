"""One setting, trained for some minutes: the rows of LOG.md.

    adhominem prepare CORPORA -o corpus
    python benchmarks/trial.py corpus DEV_PAIRS... --seconds 450 --set training.max_windows=28 ...

DEV_PAIRS are pair sets, packed (`prepare_pairs`) or not. After each epoch whose turn it is, and at
the end, it prints the AUC on every dev set: of the log Bayes factor, of the same with the set's
LEVs moved to the author mean ("centred", what a relevant population does), of the distance, and
of the Bayes factor of a two-covariance model fitted to the training LEVs by EM, as it is and
centred; at the end also without the topics. Beside them the entropies of the layer and of the
fit, between authors and within. `--save` keeps the weights.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from safetensors.torch import save_file

from adhominem.config import Config, preset
from adhominem.evaluation.pan import auc
from adhominem.scoring.two_covariance import TwoCovariance
from adhominem.text.corpus import PackedCorpus, is_packed
from adhominem.text.vocabulary import Vocabulary
from adhominem.training.checkpoint import weights_of
from adhominem.training.network_data import DeviceCorpus, DevSet, encode_documents
from adhominem.training.network_loop import Trainer
from adhominem.training.network_model import SiameseModel


def fit(model: SiameseModel, data: DeviceCorpus, most: int = 6_000) -> TwoCovariance:
    """The generative model of the training LEVs, by EM, for authors with several documents."""
    author = data.labels.author
    several = np.flatnonzero(np.bincount(author)[author] > 1)
    several = several[np.argsort(author[several], kind="stable")][:most]  # whole authors
    levs = model.project(encode_documents(model, data, several))
    return TwoCovariance(max_iterations=50).fit(levs.double().cpu().numpy(), author[several])


@torch.no_grad()
def aucs(
    pairs: DevSet, model: SiameseModel, fitted: TwoCovariance, with_topics: bool
) -> list[float]:
    """Of the layer, plain and centred, of the distance, and of the fit, plain and centred."""
    levs = pairs.encode(model, with_topics)  # (documents, lev_size)
    styles = model.project(levs)
    centred = styles - styles.mean(0)
    layer = model.two_covariance
    scores = [
        *(layer(each[0::2], each[1::2]) for each in (styles, centred + layer.author_mean)),
        -(levs[0::2] - levs[1::2]).square().sum(1),
    ]
    plain, moved = (each.double().cpu().numpy() for each in (styles, centred))
    rows = [score.cpu().numpy() for score in scores]
    rows += [
        fitted.log_bayes_factor(each[0::2], each[1::2])
        for each in (plain, moved + fitted.author_mean)
    ]
    return [round(auc(row, pairs.same_author), 4) for row in rows]


def layer_parameters(model: SiameseModel) -> list[np.ndarray]:
    layer = model.two_covariance
    with torch.no_grad():
        return [value.double().cpu().numpy() for value in (layer.author_mean, *layer.factors())]


def score(
    model: SiameseModel, dev: dict[str, DevSet], fitted: TwoCovariance, with_topics: bool = True
) -> dict[str, object]:
    rows = {name: aucs(pairs, model, fitted, with_topics) for name, pairs in dev.items()}
    mean = np.mean(list(rows.values()), axis=0).round(4).tolist()
    return {**rows, "mean": mean}


def open_pairs(path: Path, config: Config) -> PackedCorpus:
    if is_packed(path):
        return PackedCorpus.open(path)
    from adhominem.text.prepare import (
        prepare_pairs,
    )  # not needed, nor its libraries, for packed ones

    with TemporaryDirectory() as scratch:
        packed = prepare_pairs(path, Path(scratch) / "pairs", normaliser=config.data.normaliser)
        return replace(packed, tokens=np.array(packed.tokens))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("dev", type=Path, nargs="+")
    parser.add_argument("--preset", default="pan20")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--seconds", type=float, default=450)
    parser.add_argument("--every", type=int, default=4, help="epochs between two looks at dev")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    config = preset(arguments.preset).with_settings(arguments.settings)
    device = torch.device(arguments.device)
    corpus = PackedCorpus.open(arguments.corpus)
    counts = np.bincount(corpus.tokens, minlength=len(corpus.types))
    vocabulary = Vocabulary.build(corpus.types, counts, config.data.vocabulary)
    torch.manual_seed(config.training.seed)
    model = SiameseModel(
        len(vocabulary.token_types), len(vocabulary.characters), config.encoder, config.loss
    )
    data = DeviceCorpus(corpus, vocabulary, config.data.windows, device)
    trainer = Trainer(model, data, config.data, config.training, device)
    trainer.start()
    dev = {
        path.name: DevSet(
            open_pairs(path, config),
            vocabulary,
            config.data.windows,
            device,
            config.data.knows_topics,
        )
        for path in arguments.dev
    }
    began = time.monotonic()
    epoch, late = 0, False
    while epoch < config.training.epochs and not late:
        losses = []
        for step in trainer.epoch(epoch):
            losses.append(step.losses)
            late = time.monotonic() - began > arguments.seconds
            if late:
                break
        row: dict[str, object] = {
            "epoch": epoch + 1,
            "seconds": round(time.monotonic() - began, 1),
            "losses": {
                name: round(float(np.mean([loss.get(name, np.nan) for loss in losses])), 4)
                for name in losses[0]
            },
        }
        last = late or epoch + 1 == config.training.epochs
        if last or epoch % arguments.every == 0:
            fitted = fit(model, data)
            row["dev"] = score(model, dev, fitted)
            layer = TwoCovariance.from_factors(*layer_parameters(model))
            row["entropies"] = {
                name: [each.between_author_entropy, each.within_author_entropy]
                for name, each in (("layer", layer), ("fit", fitted))
            }
            if last:
                row["dev_without_topics"] = score(model, dev, fitted, with_topics=False)
        print(json.dumps(row), flush=True)
        epoch += 1
    if arguments.save:
        save_file(weights_of(model), arguments.save)


if __name__ == "__main__":
    main()
