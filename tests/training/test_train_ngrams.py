"""The training of an n-gram model as one call: what it leaves, and how it goes on after a stop."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from conftest import NGRAM_SETTINGS, NgramRun, rich_rows

from adhominem import NgramConfig, load, train
from adhominem.cli import main
from adhominem.errors import CheckpointError, OptionError
from adhominem.evaluation.pan import auc
from adhominem.model.member import NgramModel, read_genres
from adhominem.ngrams.encoder import NgramVariants
from adhominem.ngrams.table import NgramTable
from adhominem.ngrams.training import NgramTrainer, samples_of
from adhominem.training import train_ngrams as module

FILES = {
    "README.md",
    "config.json",
    "model.safetensors",
    "ngrams.json",
    "styles.safetensors",
    "training.jsonl",
    "training_authors.txt",
}
TEXTS = [row["text"] for row in rich_rows("letters", 3, 2, "-new-")]
Event = dict[str, Any]


def again(run: NgramRun, output: Path, **options: Any) -> NgramModel:
    arguments = {"config": run.config, "device": "cpu", "dev": run.data.dev, **options}
    corpus = arguments.pop("corpus", run.data.corpus)
    (model,) = train(corpus, arguments.pop("dev"), output, **arguments)
    assert isinstance(model, NgramModel)
    return model


def assert_same_folder(found: Path, expected: Path) -> None:
    assert {path.name for path in found.iterdir()} == {path.name for path in expected.iterdir()}
    for path in expected.iterdir():
        assert (found / path.name).read_bytes() == path.read_bytes(), path.name


def encoded(run: NgramRun) -> np.ndarray:
    """The LEVs of the training texts, as they are at inference."""
    corpus = run.data.corpus
    texts = [[corpus.types[kind] for kind in corpus.document(at)] for at in range(len(corpus))]
    return run.model.encoder().encode(texts, [[] for _ in texts])


# What a run leaves


def test_a_run_leaves_a_model_folder_and_nothing_else(ngram_run: NgramRun) -> None:
    assert {path.name for path in ngram_run.folder.iterdir()} == FILES
    assert [path.name for path in ngram_run.folder.parent.iterdir()] == ["ngrams"]
    assert ngram_run.model.config == ngram_run.config


def test_the_log_has_the_looks_and_the_scores_are_those_of_the_best(ngram_run: NgramRun) -> None:
    lines = (ngram_run.folder / "training.jsonl").read_text().splitlines()
    looks = [json.loads(line) for line in lines]
    assert looks == [event for event in ngram_run.events if event["event"] == "dev"]
    assert [(look["stage"], look["step"]) for look in looks] == [
        (stage, step) for stage in ("weights", "projection") for step in (0, 10, 20)
    ]
    best = max(look["dev_auc"] for look in looks[3:])
    assert ngram_run.model.scores == {"dev": {"auc": best}}
    steps = [event for event in ngram_run.events if event["event"] == "step"]
    assert [event["step"] for event in steps] == 2 * list(range(20))
    assert all(event["steps"] == 20 and np.isfinite(event["loss"]) for event in steps)


def test_the_ngrams_are_the_most_frequent_ones_of_the_corpus(ngram_run: NgramRun) -> None:
    corpus = ngram_run.data.corpus
    documents = [at for at, length in enumerate(corpus.lengths) for _ in range(length)]
    expected = NgramTable.build(
        corpus.types, np.array(corpus.tokens), np.array(documents), ngram_run.config.ngrams
    )
    assert ngram_run.model.table.sizes == expected.sizes == (700, 70, 150, 250)
    assert ngram_run.model.table.characters == expected.characters
    np.testing.assert_array_equal(ngram_run.model.table.bigrams, expected.bigrams)


def test_ngrams_can_be_chosen_from_as_many_texts_of_each_corpus(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    corpus, folder = ngram_run.data.corpus, tmp_path / "model"
    config = ngram_run.config.with_setting("training.table_sample=9")
    model = again(ngram_run, folder, config=config, dev={})
    chosen = np.concatenate(samples_of(corpus.labels, 9, config.training.seed))
    assert np.bincount(corpus.labels.corpus[chosen]).tolist() == [9, 9]
    texts = [corpus.document(at) for at in sorted(chosen.tolist())]
    documents = np.repeat(np.arange(18), [len(text) for text in texts])
    expected = NgramTable.build(corpus.types, np.concatenate(texts), documents, config.ngrams)
    assert model.table.characters == expected.characters != ngram_run.model.table.characters
    np.testing.assert_array_equal(model.table.bigrams, expected.bigrams)


def test_genres_are_those_of_the_levs_of_the_training_texts(
    ngram_run: NgramRun,
) -> None:
    levs, corpora = encoded(ngram_run), ngram_run.data.corpus.labels.corpus
    size = ngram_run.config.lev_size
    genres = read_genres(ngram_run.folder, size)
    assert genres is not None
    assert genres.names == ("letters", "notes")
    scale = np.abs(levs).max()
    for genre in (0, 1):
        mean = levs[corpora == genre].mean(axis=0)
        np.testing.assert_allclose(genres.centres[genre], mean, atol=1e-5 * scale)
    lengths = ngram_run.data.corpus.lengths
    assert ngram_run.model.shortest_training_text == pytest.approx(
        np.quantile(lengths, 0.01), abs=0.01
    )
    authors = (ngram_run.folder / "training_authors.txt").read_text().split()
    assert len(authors) == 28


def test_a_profile_gives_dimensions_of_their_own_to_what_varies_most_within_kinds(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    config = ngram_run.config.with_settings(["form=profile", "lev_size=40"])
    model = again(ngram_run, tmp_path / "profile", config=config)
    assert {path.name for path in model.folder.iterdir()} == FILES
    corpus, encoder = ngram_run.data.corpus, model.encoder()
    values = np.zeros((len(corpus), sum(model.table.sizes)))
    for at in range(len(corpus)):
        words = [corpus.types[kind] for kind in corpus.document(at)]
        kept = words[: config.training.longest]
        values[at], _ = NgramVariants(encoder, kept, np.zeros(1, np.int64)).values()
    for kind in (0, 1):
        own = corpus.labels.corpus == kind
        values[own] -= values[own].mean(axis=0)
    order = np.argsort(-np.square(values).sum(axis=0))
    assert model.weights["dimension"][order[:30]].tolist() == list(range(30))
    verifier = load(model.folder)
    result = verifier.verify(TEXTS[0], TEXTS[1])
    assert np.isfinite(result.log_bayes_factor)
    assert result.likeness is None


def test_without_dev_there_are_no_scores(ngram_run: NgramRun, tmp_path: Path) -> None:
    model = again(ngram_run, tmp_path / "model", dev={})
    assert model.scores == {}
    assert (model.folder / "training.jsonl").read_text() == ""
    assert "no dev set" in (model.folder / "README.md").read_text("utf-8")


def test_what_n_gram_models_cannot_do_is_refused(
    ngram_run: NgramRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OptionError, match="expected 1, since n-gram models differ little"):
        again(ngram_run, tmp_path / "model", members=2)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(OptionError, match="start it without torchrun"):
        again(ngram_run, tmp_path / "model")
    assert not list(tmp_path.iterdir())


# The command


def test_the_command_trains_the_same_model_which_loads_and_verifies(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    data, output = ngram_run.data, tmp_path / "model"
    settings = [part for setting in NGRAM_SETTINGS for part in ("--set", setting)]
    command = ["train", str(data.texts), "--dev", str(data.dev_folder), "-o", str(output)]
    command += ["--preset", "tiny-ngrams", "--device", "cpu", *settings]
    done = CliRunner().invoke(main, [*command, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["scores"] == ngram_run.model.scores
    assert_same_folder(output, ngram_run.folder)
    loaded = load(output)
    assert np.isfinite(loaded.verify(TEXTS[0], TEXTS[1]).log_bayes_factor)
    shares = loaded.scorer.genre_shares(loaded.encode([TEXTS[0]]))
    assert set(shares) == {"letters", "notes"}
    assert 0 < sum(shares.values()) <= 1.002  # the rest is of none that it knows
    done = CliRunner().invoke(main, [*command, "--resume"])  # it was finished
    assert done.exit_code == 0, done.output
    assert f"Written  {output}" in done.stdout
    assert f"{ngram_run.model.scores['dev']['auc']:.3f}" in done.stdout


# Runs


@pytest.fixture(scope="module")
def two_runs(
    ngram_run: NgramRun, tmp_path_factory: pytest.TempPathFactory
) -> tuple[NgramModel, list[Event], Path]:
    """A model of two runs, and what was told of them."""
    events: list[Event] = []
    folder = tmp_path_factory.mktemp("runs") / "model"
    settings = ["training.runs=2", "training.projection_rate=0.01"]
    config = ngram_run.config.with_settings(settings)
    return again(ngram_run, folder, config=config, on_event=events.append), events, folder


def test_a_model_of_several_runs_is_their_mean(
    ngram_run: NgramRun, two_runs: tuple[NgramModel, list[Event], Path]
) -> None:
    model, _, _ = two_runs
    data, config = ngram_run.data, model.config.training
    trainer = NgramTrainer(data.corpus, data.dev, model.table, config, torch.device("cpu"), auc)
    weights = torch.stack([trainer.learn_weights(run) for run in (0, 1)]).double()
    expected = weights.prod(dim=0).sqrt().float()  # the geometric mean
    np.testing.assert_allclose(model.weights["weights"], expected, rtol=1e-5)
    start = trainer.start_projection(expected, model.config.lev_size)
    runs = [trainer.learn_projection(expected, start, run).numpy() for run in (0, 1)]
    step = model.weights["projection_scale"][:, None]  # of eight bits
    found = model.weights["projection"] * step
    assert (np.abs(found - np.mean(runs, axis=0)) <= 0.51 * step + 1e-6).all()
    assert all((np.abs(found - run) > 2 * step).any() for run in runs)


@pytest.mark.parametrize("form", ["projection", "profile"])
def test_without_dev_several_runs_have_no_scores(
    form: str, ngram_run: NgramRun, tmp_path: Path
) -> None:
    size = {"projection": 12, "profile": 512}[form]
    settings = ["training.runs=2", f"form={form}", f"lev_size={size}"]
    config = ngram_run.config.with_settings(settings)
    model = again(ngram_run, tmp_path / "model", config=config, dev={})
    assert model.scores == {}
    assert (tmp_path / "model" / "training.jsonl").read_text() == ""
    assert np.isfinite(model.weights["weights"]).all()


def test_a_profile_of_several_runs_is_scored_as_their_mean(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    events: list[Event] = []
    settings = ["training.runs=2", "form=profile", "lev_size=512"]
    config = ngram_run.config.with_settings(settings)
    model = again(ngram_run, tmp_path / "model", config=config, on_event=events.append)
    looks = [event for event in events if event["event"] == "dev"]
    assert looks[-1]["stage"] == "mean of 2 runs"
    assert "step" not in looks[-1]
    assert model.scores == {"dev": {"auc": looks[-1]["dev_auc"]}}


def test_the_scores_of_several_runs_are_those_of_their_mean(
    two_runs: tuple[NgramModel, list[Event], Path],
) -> None:
    model, events, folder = two_runs
    looks = [event for event in events if event["event"] == "dev"]
    stages = [f"{stage}, run {run} of 2" for stage in ("weights", "projection") for run in (1, 2)]
    assert list(dict.fromkeys(look["stage"] for look in looks)) == [*stages, "mean of 2 runs"]
    assert model.scores == {"dev": {"auc": looks[-1]["dev_auc"]}}
    lines = (folder / "training.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == looks


def test_a_stop_between_runs_changes_nothing(
    ngram_run: NgramRun, two_runs: tuple[NgramModel, list[Event], Path], tmp_path: Path
) -> None:
    model, _, folder = two_runs
    output, work = tmp_path / "model", tmp_path / "model.training"
    learnt: list[set[str]] = []
    for moment in [
        ("step", "weights, run 2 of 2", 12),
        ("dev", "projection, run 2 of 2", 10),
        ("dev", "mean of 2 runs", 0),
    ]:
        stop = stop_at(*moment)
        with pytest.raises(KeyboardInterrupt):
            again(ngram_run, output, config=model.config, resume=True, on_event=stop)
        learnt.append({path.stem for path in work.glob("*.npy")})
    weights, projections = {"weights-0", "weights-1"}, {"projection-0", "projection-1"}
    assert learnt == [{"weights-0"}, weights | {"projection-0"}, weights | projections]
    again(ngram_run, output, config=model.config, resume=True)
    assert_same_folder(output, folder)


# Stops


def stop_at(kind: str, stage: str, step: int) -> Callable[[Event], None]:
    def hears(event: Event) -> None:
        if (event["event"], event["stage"], event.get("step", 0)) == (kind, stage, step):
            raise KeyboardInterrupt

    return hears


def test_a_run_stopped_in_and_between_its_stages_ends_as_one_that_was_not(
    ngram_run: NgramRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, work = tmp_path / "ngrams", tmp_path / "ngrams.training"
    learnt: list[set[str]] = []
    for moment in [
        ("step", "weights", 12),
        ("dev", "projection", 0),  # between the stages
        ("step", "projection", 15),
    ]:
        with pytest.raises(KeyboardInterrupt):
            again(ngram_run, output, resume=True, on_event=stop_at(*moment))
        learnt.append({path.stem for path in work.glob("*.npy")})
        with open(
            work / f"{moment[1]}-0.jsonl", "a"
        ) as file:  # as a machine that crashed would leave it
            file.write('{"event": "dev", "stage": "wei')
    assert learnt == [set(), {"weights-0"}, {"weights-0"}]
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_genres", stop_writing)
        with pytest.raises(KeyboardInterrupt):
            again(ngram_run, output, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == [work.name]
    events: list[Event] = []
    again(ngram_run, output, resume=True, on_event=events.append)
    assert events == []  # all had been learnt
    assert_same_folder(output, ngram_run.folder)
    assert [path.name for path in tmp_path.iterdir()] == ["ngrams"]


def test_a_stop_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adhominem.training.train.train_files", stop_writing)
    command = ["train", str(tmp_path), "-o", str(tmp_path / "model"), "--preset", "tiny-ngrams"]
    stopped = CliRunner().invoke(main, command)
    assert stopped.exit_code == 1
    assert f"{tmp_path / 'model'}.training, and the same command with --resume" in stopped.stderr


def stop_writing(*arguments: Any, **options: Any) -> None:
    raise KeyboardInterrupt


def test_a_run_with_other_settings_or_data_is_not_resumed(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        again(ngram_run, output, on_event=stop_at("dev", "projection", 0))
    work = tmp_path / "model.training"
    copytree(work, tmp_path / "before")
    other: NgramConfig = ngram_run.config.with_setting("training.seed=1")
    corpus = ngram_run.data.corpus
    labels = replace(corpus.labels, author=corpus.labels.author[::-1].copy())
    for changed in (
        {"config": other},
        {"corpus": replace(corpus, labels=labels)},
        {"corpus": ngram_run.data.dev["dev"], "dev": {}},
        {"dev": {}},
    ):
        with pytest.raises(CheckpointError, match="unfinished run with other data or settings"):
            again(ngram_run, output, resume=True, **changed)
    with pytest.raises(OptionError, match="holds an unfinished run; continue it with --resume"):
        again(ngram_run, output)
    assert_same_folder(work, tmp_path / "before")
    again(ngram_run, output, resume=True)
    assert_same_folder(output, ngram_run.folder)
