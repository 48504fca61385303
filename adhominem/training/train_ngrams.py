"""The training of an n-gram model, from packed texts to its folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path

import numpy as np
import torch

from adhominem.arrays import Array32, FloatArray
from adhominem.errors import CheckpointError
from adhominem.evaluation.pan import auc
from adhominem.model.card import ngram_card
from adhominem.model.files import Arrays
from adhominem.model.member import NgramModel
from adhominem.model.writing import (
    write_genres,
    write_ngram_model,
    write_training_authors,
)
from adhominem.ngrams.by_language import learn_by_language, of_languages
from adhominem.ngrams.config import NgramConfig
from adhominem.ngrams.encoder import eight_bits, shared_dimensions
from adhominem.ngrams.table import NgramTable
from adhominem.ngrams.training import Forms, NgramTrainer, samples_of
from adhominem.text.corpus import PackedCorpus
from adhominem.text.language import language_of_source
from adhominem.text.writing import replaced_file, write_folder, write_whole
from adhominem.training.checkpoint import Event, Task
from adhominem.training.ensemble import (
    genres_of,
    make_languages,
    training_levs,
)


def train_ngrams(task: Task[NgramConfig], output: Path) -> None:
    """Learn and write the model. A run that was stopped resumes with its current stage."""
    if task.config.by_language:
        _train_languages(task, output)
        return
    run = _NgramRun(task)
    weights = run.learn()
    with write_folder(output) as folder:
        run.write(folder, weights)


def _train_languages(task: Task[NgramConfig], output: Path) -> None:
    """Learn and write a model of several languages. It takes minutes: a stop begins it again."""

    def on_step(step: int, steps: int, loss: float) -> None:
        task.on_event(
            {"event": "step", "stage": "weights", "step": step - 1, "steps": steps, "loss": loss}
        )

    sources = task.corpus.labels.corpus_names
    corpora = of_languages(task.corpus, [language_of_source(source) for source in sources])
    config = replace(task.config, by_language=False)  # that of each language
    shutil.rmtree(task.folder, ignore_errors=True)
    learnt = learn_by_language(corpora, config, task.device, on_step)
    for language, ngrams in learnt.items():
        folder = task.folder / language
        folder.mkdir(parents=True)
        _write_model(folder, config, corpora[language], ngrams.table, ngrams.weights, [])
    make_languages([task.folder / language for language in learnt], output)


class _NgramRun:
    """A run in a folder with the result (.npy) and the evaluations (.jsonl) of each stage."""

    def __init__(self, task: Task[NgramConfig]) -> None:
        self.task, self.config = task, task.config
        self._logs: list[Path] = []  # of the stages so far
        task.folder.mkdir(parents=True, exist_ok=True)
        path, fingerprint = task.folder / "fingerprint.txt", task.fingerprint()
        if path.exists() and path.read_text("utf-8") != fingerprint:
            raise CheckpointError(
                f"{task.folder} holds an unfinished run with other data or settings; go on with "
                "the same ones, or remove it"
            )
        with write_whole(path) as file:
            file.write(fingerprint)
        self.table = self._table()
        self.trainer = NgramTrainer(
            task.corpus, task.dev, self.table, self.config.training, task.device, auc, self._hear
        )

    def _table(self) -> NgramTable:
        """The n-grams that are counted: the most frequent ones in all texts or in a sample."""
        corpus, training = self.task.corpus, self.config.training
        documents = np.repeat(np.arange(len(corpus)), corpus.lengths)  # (tokens,)
        tokens = np.asarray(corpus.tokens)
        if training.table_sample:
            samples = samples_of(corpus.labels, training.table_sample, training.seed)
            chosen = np.isin(documents, np.concatenate(samples))
            documents, tokens = documents[chosen], tokens[chosen]
        return NgramTable.build(corpus.types, tokens, documents, self.config.ngrams)

    def _hear(self, event: Event) -> None:
        if event["event"] == "dev":
            with open(self._logs[-1], "a", encoding="utf-8") as file:
                file.write(json.dumps(event) + "\n")
        self.task.on_event(event)

    def learn(self) -> Arrays:
        """Learn the arrays of the model, stage by stage."""
        trainer, size = self.trainer, self.config.lev_size
        # An n-gram's weight is a factor: the mean of several is that of their logarithms.
        weights = np.exp(self._stage("weights", lambda run: trainer.learn_weights(run).log()))
        weights_on_device = torch.from_numpy(weights).to(self.task.device)
        if self.config.form == "profile":
            self._evaluate_mean(weights_on_device, lambda values, training: [values])
            importance = self._importance(weights_on_device)
            dimension, sign = shared_dimensions(importance, size, self.config.training.seed)
            return {"weights": weights, "dimension": dimension, "sign": sign}
        start = cache(lambda: trainer.start_projection(weights_on_device, size))  # of all runs
        projection = self._stage(
            "projection", lambda run: trainer.learn_projection(weights_on_device, start(), run)
        )
        learnt = torch.from_numpy(projection).to(self.task.device)
        self._evaluate_mean(weights_on_device, lambda values, training: [values @ learnt])
        whole, scale = eight_bits(projection)
        return {"weights": weights, "projection": whole, "projection_scale": scale}

    def _stage(self, name: str, learn: Callable[[int], torch.Tensor]) -> Array32:
        """The mean of a stage's runs. Each is kept on disk: after a stop it is not repeated."""
        runs = self.config.training.runs

        def learnt(run: int) -> Array32:
            path = self.task.folder / f"{name}-{run}.npy"
            self._logs.append(path.with_suffix(".jsonl"))
            if not path.exists():
                self._logs[-1].unlink(missing_ok=True)  # of a run that was stopped
                array = learn(run).float().cpu().numpy()
                with replaced_file(path) as partial, open(partial, "wb") as file:
                    np.save(file, array)
            return np.asarray(np.load(path))

        total: Array32 = reduce(np.add, map(learnt, range(runs)))
        return total / np.float32(runs)

    def _evaluate_mean(self, weights: torch.Tensor, levs: Forms) -> None:
        """Evaluate the mean of several runs on dev; a single run has been evaluated before."""
        runs = self.config.training.runs
        if runs > 1 and self.task.dev:
            self._logs.append(self.task.folder / "mean.jsonl")
            self._logs[-1].unlink(missing_ok=True)
            self.trainer.evaluate(weights, levs, stage=f"mean of {runs} runs")

    def _importance(self, weights: torch.Tensor) -> FloatArray:
        """(columns,): the variance of each weighted n-gram within corpora."""
        total = torch.zeros_like(weights)
        for values in self.trainer.centred(weights):
            total += values.square().sum(0)
        return total.double().cpu().numpy()

    def write(self, folder: Path, weights: Arrays) -> None:
        """Write the model into an existing folder."""
        # Without dev there are no evaluations.
        log = "".join(path.read_text("utf-8") for path in self._logs if path.exists())
        _write_model(folder, self.config, self.task.corpus, self.table, weights, log.splitlines())


def _write_model(
    folder: Path,
    config: NgramConfig,
    corpus: PackedCorpus,
    table: NgramTable,
    weights: Arrays,
    log: Sequence[str],
) -> None:
    """Write a model of these n-grams, with the genres of the corpus; `log` has its evaluations."""
    evaluations = [json.loads(line) for line in log]
    last = [row for row in evaluations if row["stage"] == evaluations[-1]["stage"]]
    best: Event = max(last, key=lambda row: float(row["dev_auc"]), default={"dev": {}})
    scores = {name: {"auc": value} for name, value in best["dev"].items()}
    write_ngram_model(
        folder,
        config=config,
        table=table,
        weights=weights,
        scores=scores,
        card=ngram_card(config, table, corpus.description, scores),
        lengths=corpus.lengths,
    )
    model = NgramModel(config=config, table=table, weights=weights, scores=scores, folder=folder)
    levs, documents = training_levs(model, corpus)
    write_genres(folder, genres_of(corpus, levs, documents))
    write_training_authors(
        folder, [corpus.labels.author_names[at] for at in np.unique(corpus.labels.author)]
    )
    (folder / "training.jsonl").write_text("".join(f"{line}\n" for line in log), "utf-8")
