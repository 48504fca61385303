"""The training of one member, from its first step or its last checkpoint to its model folder."""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adhominem.arrays import Array32, FloatArray, IntArray
from adhominem.errors import OptionError
from adhominem.evaluation.figures import draw_entropy_curves
from adhominem.evaluation.pan import PairScores, best_delta, best_threshold, summarise
from adhominem.model.card import model_card
from adhominem.model.writing import (
    write_genres,
    write_model,
    write_training_authors,
)
from adhominem.paper import distributed
from adhominem.paper.config import Config
from adhominem.paper.losses import SiameseModel, squared_distance
from adhominem.paper.training import DeviceCorpus, Trainer, diverged, encode_documents
from adhominem.paper.uncertainty import train_detector
from adhominem.paper.word_vectors import WordVectors, read_word_vectors
from adhominem.score.decision import probability_same_author
from adhominem.text.corpus import PackedCorpus
from adhominem.text.vocabulary import Vocabulary
from adhominem.text.writing import write_folder
from adhominem.training import checkpoint
from adhominem.training.checkpoint import Event, Journal, Progress, Task, Weights, weights_of
from adhominem.training.ensemble import (
    genre_documents,
    genres_of,
)


def train_member(task: Task[Config]) -> Path:
    """Train to the end, from wherever the run stands; the model's folder is returned."""
    if task.config.loss.in_batch_negatives and task.config.training.masks != "document":
        raise OptionError(
            "with in_batch_negatives, documents of one pair could be recognised by their dropout "
            "masks; expected training.masks=document"
        )
    done = task.folder / "model"
    if distributed.from_first(done.exists()):
        checkpoint.read_progress(task.folder, task.fingerprint())
        return done
    run = _NetworkRun(task)
    try:
        run.train()
        if run.journal is not None:
            run.write(done, run.journal.events)
    finally:
        if run.journal is not None:
            run.journal.close()
    distributed.wait()
    return done


@torch.no_grad()
def score_pairs(model: SiameseModel, data: DeviceCorpus) -> PairScores:
    """The Bayes factor, the distance and the cosine of each pair in a dev set."""
    assert data.same_author is not None
    levs = encode_documents(model, data, np.arange(len(data.lengths)))  # (documents, lev_size)
    factors = model.log_bayes_factor(levs[0::2], levs[1::2])  # (pairs,)
    distance = squared_distance(levs[0::2], levs[1::2])  # (pairs,)
    units = torch.nn.functional.normalize(levs - levs.mean(0), dim=1)  # (documents, lev_size)
    cosine = (units[0::2] * units[1::2]).sum(1)  # (pairs,)
    if not bool(torch.isfinite(factors).all() and torch.isfinite(distance).all()):
        raise diverged("a dev score is not finite")

    def numbers(scores: Tensor) -> FloatArray:
        return scores.double().cpu().numpy()

    return PairScores(numbers(factors), numbers(distance), data.same_author, numbers(cosine))


def pick_device(name: str) -> torch.device:
    """The device of this name; `auto` is the GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise OptionError(f"the device is '{name}'; expected cpu, cuda or auto")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise OptionError(f"the device is '{name}', but torch finds no GPU; expected cpu or auto")
    return torch.device(name)


class _NetworkRun:
    def __init__(self, task: Task[Config]) -> None:
        self.task = task
        config, corpus = task.config, task.corpus
        counts = corpus.count_types(range(len(corpus)))
        self.vocabulary = Vocabulary.build(corpus.types, counts, config.data.vocabulary)
        vectors = self._add_prefixes()
        torch.manual_seed(config.training.seed)
        sizes = len(self.vocabulary.token_types), len(self.vocabulary.characters)
        prefixes = self.vocabulary.prefixes
        self.model = SiameseModel(*sizes, config.encoder, config.loss, len(prefixes))
        self.model.network.start_with(vectors, prefixes)
        self.data = self._data(corpus)
        self.dev = {name: self._data(pairs) for name, pairs in task.dev.items()}
        self.trainer = Trainer(self.model, self.data, config.data, config.training, task.device)
        self.progress = Progress(fingerprint=task.fingerprint())
        self.best: Weights = {}
        self.journal: Journal | None = None  # of the first process alone
        self._saved_at = time.monotonic()

    def _add_prefixes(self) -> WordVectors | None:
        """Add the contextual prefixes to the vocabulary, and return the word vectors of the file.

        Each training topic has a prefix of its own. So has every word of training and dev topics
        that is in the file, to make prefixes of other topics from.
        """
        options, corpora = self.task.config.encoder, [self.task.corpus, *self.task.dev.values()]
        topics = [texts.topics if self.task.config.data.knows_topics else [] for texts in corpora]
        words = sorted({word for of_texts in topics for topic in of_texts for word in topic})
        vectors = None
        if path := options.word_vectors:
            vectors = read_word_vectors(path, self.vocabulary, options.word_vector_size, words)
        prefixes = {" ".join(topic): None for topic in topics[0] if topic}
        prefixes |= dict.fromkeys(vectors.more if vectors else ())
        self.vocabulary = replace(self.vocabulary, prefixes=tuple(prefixes))
        return vectors

    def _data(self, corpus: PackedCorpus) -> DeviceCorpus:
        data, device = self.task.config.data, self.task.device
        topics = data.knows_topics
        return DeviceCorpus(corpus, self.vocabulary, data.windows, device, with_topics=topics)

    def train(self) -> None:
        """Train from the last checkpoint, or from the first step, to the end."""
        folder, training = self.task.folder, self.task.config.training
        if distributed.from_first(checkpoint.has_checkpoint(folder)):
            self.progress, self.best = checkpoint.load_checkpoint(
                folder, self.model, self.trainer.optimiser, self.progress.fingerprint
            )
            distributed.wait()  # until all have read what the first one will replace
        else:
            self.trainer.start()
        if distributed.rank() == 0:
            folder.mkdir(parents=True, exist_ok=True)
            self.journal = Journal(folder, self.progress.log_lines)
        while self.progress.epoch < training.epochs:
            without_better = self.progress.epoch - 1 - self.progress.best_epoch
            if self.dev and without_better >= training.patience:
                break
            self._epoch()

    def _epoch(self) -> None:
        rate = 0.0
        for step in self.trainer.epoch(self.progress.epoch, self.progress.step):
            minutes = (time.monotonic() - self._saved_at) / 60
            if step.step and minutes >= self.task.config.training.checkpoint_minutes:
                self._save()  # the steps before this one
            self.progress.count(step.losses)
            rate = step.learning_rate
            self._report({"event": "step", "member": self.task.member, **vars(step)})
        event = self._epoch_event(rate)
        if self.journal is not None:
            self.journal.add(event)
        self.progress.log_lines += 1
        self.progress.next_epoch()
        self._save()
        self._report(event)

    def _epoch_event(self, rate: float) -> Event:
        """The losses and dev scores of an epoch; its weights are kept if they are the best."""
        progress = self.progress
        scores = {name: summarise(score_pairs(self.model, data)) for name, data in self.dev.items()}
        scores = distributed.from_first(scores)
        # Evaluated by what was learnt.
        measure = "cosine_auc" if self.task.config.loss.by_cosine else "bayes_factor_auc"
        mean = float(np.mean([row[measure] for row in scores.values()])) if scores else None
        if mean is None or mean > progress.best_score:
            progress.best_score, progress.best_epoch = mean or 0.0, progress.epoch
            self.best = weights_of(self.model)
        between, within = self.model.two_covariance.entropies()
        if not (math.isfinite(between) and math.isfinite(within)):
            raise diverged(f"the entropies are {between} and {within}")
        return {
            "event": "epoch",
            "member": self.task.member,
            "epoch": progress.epoch,
            "losses": progress.mean_losses(),
            "learning_rate": rate,
            "between_author_entropy": between,
            "within_author_entropy": within,
            "measure": measure,
            "dev_auc": mean,
            "dev": scores,
        }

    def _save(self) -> None:
        if distributed.rank() == 0:
            checkpoint.save_checkpoint(
                self.task.folder, self.model, self.trainer.optimiser, self.best, self.progress
            )
        self._saved_at = time.monotonic()

    def _report(self, event: Event) -> None:
        if distributed.rank() == 0:
            self.task.on_event(event)

    def write(self, done: Path, log: list[Event]) -> None:
        """Write the best weights as a model folder, with the log and the entropy curves."""
        task, best_epoch = self.task, self.progress.best_epoch
        config, corpus, scores = task.config, task.corpus, log[best_epoch]["dev"]
        self.model.load_state_dict(self.best)
        if task.calibration is not None:
            self._second_stage(task.calibration)
        dev = {name: score_pairs(self.model, pairs) for name, pairs in self.dev.items()}
        factors = {name: scored.log_bayes_factor for name, scored in dev.items()}
        np.savez(task.folder / "dev.npz", **factors)  # type: ignore[arg-type]
        # Scored by genres, the model's probabilities will be others than those on dev; and the
        # second stage has non-answers of its own.
        found = bool(dev) and not config.loss.by_cosine and task.calibration is None
        of_dev = [
            (probability_same_author(scored.log_bayes_factor), scored.same_author)
            for scored in dev.values()
        ]
        with write_folder(done) as folder:
            write_model(
                folder,
                config=config,
                vocabulary=self.vocabulary,
                weights={name: value.numpy() for name, value in weights_of(self.model).items()},
                scores=scores,
                card=model_card(config, self.vocabulary, corpus.description, scores, best_epoch),
                lengths=corpus.lengths,
                delta=best_delta(of_dev) if found else None,
            )
            write_training_authors(folder, corpus.labels.author_names)
            if config.loss.by_cosine:
                documents = genre_documents(corpus, config.lev_size)
                write_genres(folder, genres_of(corpus, self._levs(documents), documents))
            shutil.copy(task.folder / "log.jsonl", folder / "training.jsonl")
            if (task.folder / "tensorboard").exists():
                shutil.copytree(task.folder / "tensorboard", folder / "tensorboard")
            draw_entropy_curves(
                [event["between_author_entropy"] for event in log],
                [event["within_author_entropy"] for event in log],
                folder / "entropy.png",
            )

    def _second_stage(self, calibration: PackedCorpus) -> None:
        """Train O2D2, and find the threshold that its non-answers on all dev sets are best by."""
        model = self.model
        assert model.adaptation is not None
        assert model.detector is not None
        data = self._data(calibration)
        levs = encode_documents(model, data, np.arange(len(calibration)))  # (documents, lev_size)
        train_detector(model, levs, data.labels, self.task.config)
        parts = []
        with torch.no_grad():
            for pairs in self.dev.values():
                levs = encode_documents(model, pairs, np.arange(len(pairs.lengths)))
                first, second = model.project(levs[0::2]), model.project(levs[1::2])
                answers = model.adaptation(first, second, model.two_covariance(first, second))
                log_odds = model.detector(first, second, model.adaptation.confusion(first, second))
                parts.append(torch.stack([answers[:, 0].exp(), log_odds.sigmoid()]).cpu().numpy())
            threshold = 0.5
            if parts:
                probability, undecidable = np.concatenate(parts, axis=1)
                truth = np.concatenate([pairs.same_author for pairs in self.dev.values()])
                threshold = best_threshold(probability, undecidable, truth)
            model.detector.threshold.fill_(threshold)

    def _levs(self, documents: IntArray) -> Array32:
        """The LEVs (documents, lev_size) of training texts, computed as at inference."""
        return encode_documents(self.model, self.data, documents).cpu().numpy()
