"""Training as one call: what it leaves, when it stops, and how it goes on after a kill."""

from __future__ import annotations

import json
import os
import signal
import stat
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import SmallData, SmallRun
from killed_runs import MOMENTS, train_until

import adhominem
from adhominem import Config, load, prepare, train
from adhominem.errors import CheckpointError, DivergedError, MissingExtraError, OptionError
from adhominem.model.folder import read_models, read_scores
from adhominem.model.member import Model
from adhominem.training import train_network as member
from adhominem.training.train import open_inputs


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]


# What a run leaves


def test_a_run_leaves_a_model_folder_and_nothing_else(small_run: SmallRun) -> None:
    assert {path.name for path in small_run.folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "README.md",
        "training.jsonl",
        "entropy.png",
        "tensorboard",
        "training_authors.txt",
    }
    assert [path.name for path in small_run.folder.parent.iterdir()] == ["model"]
    assert small_run.model.config == small_run.config


def test_every_file_can_be_read_by_whom_the_umask_lets(small_run: SmallRun) -> None:
    umask = os.umask(0)
    os.umask(umask)
    files = [path for path in small_run.folder.iterdir() if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o666 & ~umask}


def test_each_training_topic_has_a_prefix_and_others_have_those_of_their_words(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    words = {name: rng.normal(size=6).round(4) for name in ("cats", "and", "dogs", "of", "bleach")}
    lines = (" ".join([name, *map(str, vector)]) for name, vector in words.items())
    (tmp_path / "words.vec").write_text("\n".join(lines), "utf-8")
    settings = ("training.epochs=1", f"encoder.word_vectors={tmp_path / 'words.vec'}")
    config = small_config.with_settings([*settings, "encoder.rescale_word_vectors=false"])
    (model,) = train(small_data.corpus, {}, tmp_path / "model", config=config, device="cpu")
    assert isinstance(model, Model)
    # The words of topics that are in the file; Bleach is a word of no topic.
    assert model.vocabulary.prefixes == ("cats and dogs", "ships", "and", "cats", "dogs")
    rows = model.weights["network.prefixes.weight"]
    np.testing.assert_array_equal(rows[2:], np.float32([words[n] for n in ("and", "cats", "dogs")]))
    mean = np.mean([words[name] for name in ("cats", "and", "dogs")], axis=0)
    assert 0 < np.abs(rows[0] - mean).max() < 0.2  # it has been learnt from there
    topics = [[], ["Bleach"], ["cats"], ["cats", "and", "dogs"], ["ships"], ["Sea", "dogs"]]
    levs = model.encoder().encode([["a", "b"]] * len(topics), topics)
    assert (levs[0] == levs[1]).all()  # nothing is known of it
    assert len(np.unique(levs[1:], axis=0)) == len(topics) - 1


def test_the_log_has_a_line_an_epoch_with_losses_scores_entropies_and_rate(
    small_run: SmallRun,
) -> None:
    log = log_of(small_run.folder)
    assert [event["epoch"] for event in log] == [0, 1, 2]
    assert log == [event for event in small_run.events if event["event"] == "epoch"]
    for event in log:
        steps = [
            step
            for step in small_run.events
            if step["event"] == "step" and step["epoch"] == event["epoch"]
        ]
        assert set(event["losses"]) == {"distance", "bayes_factor", "in_batch"}
        for name, mean in event["losses"].items():
            slow = [step["losses"][name] for step in steps if name in step["losses"]]
            assert mean == pytest.approx(sum(slow) / len(slow), rel=1e-12)
        assert event["learning_rate"] == steps[-1]["learning_rate"]
        assert event["dev_auc"] == event["dev"]["dev"]["bayes_factor_auc"]
        assert np.isfinite([event["between_author_entropy"], event["within_author_entropy"]]).all()


def test_the_model_is_that_of_the_best_epoch(small_run: SmallRun) -> None:
    log = log_of(small_run.folder)
    best = int(np.argmax([event["dev_auc"] for event in log]))
    assert small_run.model.scores == log[best]["dev"] == read_scores(small_run.folder)


def test_the_entropies_are_those_of_the_two_gaussians(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.with_setting("training.epochs=1")
    (model,) = train(small_data.corpus, {}, tmp_path / "model", config=config, device="cpu")
    (event,) = log_of(model.folder)
    scorer = model.two_covariance()
    for name, precision in (
        ("between_author_entropy", scorer.between_author_precision),
        ("within_author_entropy", scorer.within_author_precision),
    ):
        covariance = np.linalg.inv(precision)
        slow = 0.5 * np.linalg.slogdet(2 * np.pi * np.e * covariance)[1]
        assert event[name] == pytest.approx(slow, rel=1e-6)


def test_the_curves_for_tensorboard_are_those_of_the_log(small_run: SmallRun) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = accumulator.EventAccumulator(str(small_run.folder / "tensorboard")).Reload()
    log = log_of(small_run.folder)
    curves = {
        "loss/bayes_factor": [event["losses"]["bayes_factor"] for event in log],
        "dev_AUC/dev": [event["dev_auc"] for event in log],
        "entropy_in_nats/between_authors": [event["between_author_entropy"] for event in log],
        "entropy_in_nats/within_an_author": [event["within_author_entropy"] for event in log],
        "learning_rate": [event["learning_rate"] for event in log],
    }
    assert set(curves) <= set(board.Tags()["scalars"])
    for name, values in curves.items():
        drawn = board.Scalars(name)
        assert [point.step for point in drawn] == [1, 2, 3]
        np.testing.assert_allclose([point.value for point in drawn], values, rtol=1e-6)


def test_without_tensorboard_the_log_is_written_all_the_same(
    small_data: SmallData,
    small_config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    config = small_config.with_setting("training.epochs=1")
    train(small_data.corpus, {}, tmp_path / "model", config=config, device="cpu")
    assert len(log_of(tmp_path / "model")) == 1
    assert not (tmp_path / "model" / "tensorboard").exists()


# When it stops


def scores_from(
    monkeypatch: pytest.MonkeyPatch, values: list[float], measure: str = "bayes_factor_auc"
) -> None:
    """Let the dev AUC take these values, epoch after epoch."""
    following = iter(values)
    real = member.summarise
    monkeypatch.setattr(
        member, "summarise", lambda scores: {**real(scores), measure: next(following)}
    )


def test_training_stops_when_dev_has_not_improved_for_as_long_as_patience_says(
    small_data: SmallData,
    small_config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = small_config.with_setting("training.epochs=9").with_setting("training.patience=2")
    scores_from(monkeypatch, [0.5, 0.7, 0.7, 0.6, 0.9])
    (model,) = train(
        small_data.corpus, small_data.dev, tmp_path / "model", config=config, device="cpu"
    )
    assert [event["dev_auc"] for event in log_of(model.folder)] == [0.5, 0.7, 0.7, 0.6]
    assert model.scores["dev"]["bayes_factor_auc"] == 0.7
    assert "after epoch 2 of" in (model.folder / "README.md").read_text()


def test_a_model_trained_by_the_cosine_is_that_of_the_epoch_with_the_best_cosine(
    small_data: SmallData,
    small_config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = small_config.with_setting("loss.in_batch_form=cosine")
    config = config.with_setting("training.epochs=9").with_setting("training.patience=2")
    scores_from(monkeypatch, [0.5, 0.8, 0.7, 0.6, 0.9], "cosine_auc")
    (model,) = train(
        small_data.corpus, small_data.dev, tmp_path / "model", config=config, device="cpu"
    )
    log = log_of(model.folder)
    assert [event["dev_auc"] for event in log] == [0.5, 0.8, 0.7, 0.6]
    assert model.scores == log[1]["dev"]
    assert "after epoch 2 of" in (model.folder / "README.md").read_text()
    assert all(event["losses"]["in_batch"] > 0 for event in log)
    assert model.weights["cosine.log_scale"] != pytest.approx(np.log(15), abs=1e-6)  # it was learnt
    assert np.isfinite(load(model.folder).encode(["it was he"])).all()


def test_without_weight_the_cosine_judges_nothing(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.with_setting("loss.in_batch_form=cosine")
    config = config.with_setting("loss.in_batch_negatives=0").with_setting("training.epochs=1")
    (model,) = train(
        small_data.corpus, small_data.dev, tmp_path / "model", config=config, device="cpu"
    )
    (event,) = log_of(model.folder)
    assert event["dev_auc"] == event["dev"]["dev"]["bayes_factor_auc"]
    assert "cosine.log_scale" not in model.weights


def test_without_a_dev_set_the_last_epoch_counts(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.with_setting("training.epochs=2")
    (model,) = train(small_data.corpus, {}, tmp_path / "model", config=config, device="cpu")
    assert [event["dev_auc"] for event in log_of(model.folder)] == [None, None]
    assert model.scores == {}
    assert "after epoch 2 of" in (model.folder / "README.md").read_text()
    assert "no dev set" in (model.folder / "README.md").read_text()


@pytest.mark.parametrize("poison", ["loss", "gradient"])
def test_divergence_is_an_error_and_the_last_checkpoint_is_good(
    poison: str,
    small_data: SmallData,
    small_config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = small_config.with_setting("training.checkpoint_minutes=0")
    calls = 0
    real = member.SiameseModel.losses

    def losses(self: Any, levs: torch.Tensor, *more: Any) -> dict[str, torch.Tensor]:
        nonlocal calls
        calls += 1
        losses = real(self, levs, *more)
        if calls == 4 and poison == "loss":
            losses["distance"] = losses["distance"] * torch.nan
        if calls == 4 and poison == "gradient":  # 0 ** 0.5: a number, with an infinite slope
            losses["distance"] = losses["distance"] + (levs - levs.detach()).sum().abs().sqrt()
        return losses

    monkeypatch.setattr(member.SiameseModel, "losses", losses)
    output = tmp_path / "model"
    with pytest.raises(DivergedError, match=r"epoch 1, step 4: .*nan.*--resume and a lower"):
        train(small_data.corpus, {}, output, config=config, device="cpu")
    assert not output.exists()
    state = json.loads((tmp_path / "model.training" / "member-1" / "latest.json").read_text())
    assert (state["epoch"], state["step"]) == (0, 2)
    slower = config.with_setting("training.learning_rate=0.001")
    (model,) = train(small_data.corpus, {}, output, config=slower, device="cpu", resume=True)
    assert all(np.isfinite(value).all() for value in model.weights.values())
    assert model.config.training.learning_rate == 0.001
    assert len(log_of(output)) == 3


def test_a_matrix_without_an_inverse_is_divergence(
    small_data: SmallData,
    small_config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        member.SiameseModel,
        "losses",
        lambda *arguments: {"bayes_factor": torch.linalg.cholesky(-torch.eye(2)).sum()},
    )
    with pytest.raises(DivergedError, match=r"epoch 1, step 1: .*positive-definite"):
        train(small_data.corpus, {}, tmp_path / "model", config=small_config, device="cpu")


def test_a_rate_far_too_high_is_divergence_that_leaves_no_bad_checkpoint(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.with_setting("training.checkpoint_minutes=0")
    config = config.with_setting("training.learning_rate=100000")
    with pytest.raises(DivergedError):
        train(small_data.corpus, small_data.dev, tmp_path / "m", config=config, device="cpu")
    assert not list((tmp_path / "m.training").glob("member-1/checkpoint-*"))


# Kills


def test_a_run_killed_at_many_moments_ends_as_one_that_was_not(
    small_run: SmallRun, tmp_path: Path
) -> None:
    context = get_context("forkserver")
    context.set_forkserver_preload(
        ["torch", "torch.utils.tensorboard", "adhominem.training.train_network"]
    )
    output = tmp_path / "model"
    config = small_run.config.with_setting("training.checkpoint_minutes=0")
    places = (small_run.data.corpus_folder, small_run.data.dev_folder, output)
    for moment in [*MOMENTS, None]:
        process = context.Process(target=train_until, args=(moment, *places, config))
        process.start()
        process.join(60)
        assert process.exitcode == (0 if moment is None else -signal.SIGKILL), moment
    for name in ("model.safetensors", "training.jsonl", "tokenizer.json"):
        assert (output / name).read_bytes() == (small_run.folder / name).read_bytes(), name
    assert {path.name for path in tmp_path.iterdir()} == {"model"}


def test_the_curves_of_a_resumed_run_have_each_epoch_once(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def stop(event: dict[str, Any]) -> None:
        if event["epoch"] == 2:
            raise KeyboardInterrupt

    inputs = (small_data.corpus, small_data.dev, tmp_path / "model")
    with pytest.raises(KeyboardInterrupt):
        train(*inputs, config=small_config, device="cpu", on_event=stop)
    train(*inputs, config=small_config, device="cpu", resume=True)
    board = accumulator.EventAccumulator(str(tmp_path / "model" / "tensorboard")).Reload()
    assert [point.step for point in board.Scalars("learning_rate")] == [1, 2, 3]


def test_a_run_with_other_settings_or_data_is_not_resumed(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    def stop(event: dict[str, Any]) -> None:
        if event["event"] == "epoch":
            raise KeyboardInterrupt

    corpus, dev, output = small_data.corpus, small_data.dev, tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        train(corpus, dev, output, config=small_config, device="cpu", on_event=stop)
    with pytest.raises(OptionError, match="holds an unfinished run; continue it with --resume"):
        train(corpus, dev, output, config=small_config, device="cpu")
    other = small_config.with_setting("encoder.lev_size=6")
    labels = replace(corpus.labels, author=corpus.labels.author[::-1].copy())
    for changed in (
        {"corpus": corpus, "dev": dev, "config": other},
        {"corpus": replace(corpus, labels=labels), "dev": dev, "config": small_config},
        {"corpus": corpus, "dev": {}, "config": small_config},
    ):
        with pytest.raises(CheckpointError, match="other data or settings"):
            train(output=output, device="cpu", resume=True, **changed)  # type: ignore[arg-type]


def test_resuming_a_finished_run_gives_its_model(small_run: SmallRun) -> None:
    before = {path: path.stat().st_mtime_ns for path in small_run.folder.iterdir()}
    (model,) = train(
        small_run.data.corpus,
        small_run.data.dev,
        small_run.folder,
        config=small_run.config,
        device="cpu",
        resume=True,
    )
    assert model.scores == small_run.model.scores
    assert {path: path.stat().st_mtime_ns for path in small_run.folder.iterdir()} == before
    other = small_run.config.with_setting("training.seed=9")
    with pytest.raises(OptionError, match="exists already"):
        train(small_run.data.corpus, {}, small_run.folder, config=other, resume=True)


# Ensembles


def test_an_ensemble_has_members_of_different_seeds_and_resumes_behind_the_finished_ones(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.with_setting("training.epochs=1")
    inputs = (small_data.corpus, small_data.dev, tmp_path / "models")

    def stop(event: dict[str, Any]) -> None:
        if event["member"] == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(*inputs, config=config, members=2, device="cpu", on_event=stop)
    other = config.with_setting("encoder.lev_size=6")
    with pytest.raises(CheckpointError, match="other data or settings"):  # the finished one's, too
        train(*inputs, config=other, members=2, device="cpu", resume=True)
    trained: set[int] = set()
    models = train(
        *inputs,
        config=config,
        members=2,
        device="cpu",
        resume=True,
        on_event=lambda event: trained.add(event["member"]),
    )
    assert trained == {1}
    assert [model.config.training.seed for model in models] == [0, 1]
    first, second = (model.weights["network.lev.weight"] for model in models)
    assert not np.allclose(first, second)
    loaded = read_models(tmp_path / "models")
    assert [model.folder.name for model in loaded] == ["member-1", "member-2"]
    np.testing.assert_array_equal(loaded[1].weights["network.lev.weight"], second)
    assert 0 <= read_scores(tmp_path / "models")["dev"]["auc"] <= 1
    assert "member-2/README.md" in (tmp_path / "models" / "README.md").read_text()
    assert not (tmp_path / "models.training").exists()


# What cannot work is said before the first step


def test_inputs_that_cannot_work_are_refused(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    corpus, (pairs,) = small_data.corpus, small_data.dev.values()
    output = tmp_path / "model"
    assert pairs.same_author is not None
    alone = np.flatnonzero(np.bincount(corpus.labels.author)[corpus.labels.author] > 0)[:1]
    one_text = replace(
        corpus, labels=corpus.labels.select(alone), offsets=corpus.offsets[:2], ids=["one"]
    )
    with pytest.raises(OptionError, match="members is 0"):
        train(corpus, {}, output, members=0)
    with pytest.raises(OptionError, match="'dev' is not a pair set"):
        train(corpus, {"dev": corpus}, output, config=small_config)
    same = replace(pairs, same_author=np.ones_like(pairs.same_author))
    with pytest.raises(OptionError, match="only one class of pairs"):
        train(corpus, {"dev": same}, output, config=small_config)
    quotes_only = small_config.with_setting('data.normaliser.steps=["quotes"]')
    with pytest.raises(OptionError, match="other normalisation steps"):
        train(corpus, {}, output, config=quotes_only)
    with pytest.raises(OptionError, match="Prepare it again with the --preset that you train"):
        train(corpus, {}, output)  # the paper's network reads texts as they are
    with pytest.raises(OptionError, match="the device is 'tpu'; expected cpu, cuda or auto"):
        train(corpus, {}, output, config=small_config, device="tpu")
    with pytest.raises(OptionError, match="1 training documents make no pair"):
        train(one_text, {}, output, config=small_config, device="cpu")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OptionError, match="exists already"):
        train(corpus, {}, tmp_path / "file", config=small_config, device="cpu")
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


def test_training_texts_of_a_dev_set_are_refused_with_the_first_of_them(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    (pairs,) = small_data.dev.values()
    lines = (small_data.pairs / "pairs.jsonl").read_text().splitlines()[:4]
    rows = [json.loads(line) for line in lines]
    copies = [{"author": "new", "text": f" {row['pair'][0]}"} for row in rows]
    more = "".join(json.dumps(row) + "\n" for row in copies)
    (tmp_path / "texts.jsonl").write_text(small_data.texts.read_text() + more)
    leaking = prepare([tmp_path / "texts.jsonl"], tmp_path / "corpus")
    first = ", ".join(f"'{row['id']}/first'" for row in rows[:3])
    message = (
        rf"^4 of the {len(pairs)} texts of the dev set 'dev' are in the corpus, too.*"
        rf"the first are {first}\. Split .*adhominem split PAIRS -o split --by pairs"
    )
    with pytest.raises(OptionError, match=message):
        train(leaking, {"dev": pairs}, tmp_path / "model", config=small_config)
    assert {path.name for path in tmp_path.iterdir()} == {"texts.jsonl", "corpus"}


def test_a_library_that_is_missing_is_named_before_any_work(
    small_data: SmallData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adhominem.training import train as module

    monkeypatch.setattr(
        module, "find_spec", lambda name: None if name == "matplotlib" else object()
    )
    with pytest.raises(MissingExtraError, match=r"'matplotlib'.*\[train\]"):
        train(small_data.corpus, {}, tmp_path / "model")


def test_raw_texts_are_packed_as_prepare_packs_them(
    small_data: SmallData, small_config: Config
) -> None:
    normaliser = small_config.data.normaliser
    with open_inputs([small_data.texts], [small_data.pairs], normaliser, []) as (corpus, dev):
        np.testing.assert_array_equal(corpus.tokens, small_data.corpus.tokens)
        (name,) = dev
        assert name == "pairs"
        np.testing.assert_array_equal(dev[name].tokens, small_data.dev["dev"].tokens)
    with (
        pytest.raises(OptionError, match="one of them prepared"),
        open_inputs([small_data.texts, small_data.corpus_folder], [], normaliser, []),
    ):
        pass
    with (
        pytest.raises(OptionError, match="two dev sets are named 'pairs'"),
        open_inputs([small_data.texts], [small_data.pairs] * 2, normaliser, []),
    ):
        pass


def test_the_public_function_is_this_one() -> None:
    assert adhominem.train is train
    assert train.__module__ == "adhominem.training.train"
