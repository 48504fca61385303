"""Several processes that share each batch train as one process with the joint batch does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import processes_of_one_run
import pytest
import torch
from conftest import SMALL_SETTINGS, SmallData, SmallRun
from processes_of_one_run import loss_curve, train_in_step, write_loss_curves

from adhominem import Config, draw_epoch
from adhominem.model.folder import read_models
from adhominem.paper import distributed


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def run_together(target: Any, *arguments: Any, world: int = 2) -> list[int | None]:
    """Exit codes; when one process dies, the others are ended, as `torchrun` does."""
    context = get_context("forkserver")
    context.set_forkserver_preload(
        ["torch", "torch.utils.tensorboard", "adhominem.training.train_network"]
    )
    port = free_port()
    processes = [
        context.Process(target=target, args=(rank, world, port, *arguments))
        for rank in range(world)
    ]
    for process in processes:
        process.start()
    processes[0].join(60)
    for process in processes:
        if processes[0].exitcode != 0:
            process.kill()
        process.join(60)
    return [process.exitcode for process in processes]


VARIANTS = {
    "masks a document, in-batch negatives": (),
    "masks a document, the cosine of all documents": (
        "loss.in_batch_form=cosine",
        "data.pairs.even_corpora=true",
    ),
    "masks a pair": ("loss.in_batch_negatives=0", "training.masks=pair"),
}


def test_two_processes_have_the_loss_curve_of_one_with_the_joint_batch(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    pairs = len(draw_epoch(small_data.corpus.labels, seed=0, epoch=0))
    size = next(size for size in range(3, pairs) if pairs % size == 1)  # a batch of one pair, too
    configs = []
    for variant in VARIANTS.values():
        config = small_config.with_setting(f"training.batch_pairs={size}")
        for setting in variant:
            config = config.with_setting(setting)
        configs.append(config)
    codes = run_together(write_loss_curves, small_data.corpus_folder, configs, tmp_path)
    assert codes == [0, 0]
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    for name, config, one, two in zip(VARIANTS, configs, first, second, strict=True):
        alone = loss_curve(small_data.corpus, config)
        assert one == two, name  # bit for bit
        assert 1 in one["pairs"]
        assert one["pairs"] == alone["pairs"]
        assert len(one["losses"]) > 3
        for shared, expected in zip(one["losses"], alone["losses"], strict=True):
            assert shared == pytest.approx(expected, rel=2e-4), name


def test_one_process_alone_is_no_group() -> None:
    assert (distributed.rank(), distributed.world_size()) == (0, 1)
    assert distributed.from_first("anything") == "anything"
    distributed.wait()
    levs = torch.rand(6, 2)
    assert distributed.gather_levs(levs, 3) is levs
    np.testing.assert_array_equal(distributed.local_pairs(3), [0, 1, 2])


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize("pairs", [1, 2, 5, 7])
def test_every_pair_has_an_owner_and_every_process_a_pair(
    pairs: int, world: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "world_size", lambda: world)
    owned = []
    for rank in range(world):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        owned.append(distributed.local_pairs(pairs))
    most = -(-pairs // world)
    assert all(1 <= len(own) <= most for own in owned)
    counted = [owned[pair % world][pair // world] for pair in range(pairs)]
    assert counted == list(range(pairs))


@pytest.fixture(scope="module")
def torchrun(
    small_data: SmallData, tmp_path_factory: pytest.TempPathFactory
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """`torchrun --nproc-per-node 2 -m adhominem train`, from raw texts."""
    output = tmp_path_factory.mktemp("torchrun") / "model"
    settings = [part for setting in SMALL_SETTINGS for part in ("--set", setting)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--master-port", str(free_port()), processes_of_one_run.__file__),
            *("train", str(small_data.texts), "--dev", str(small_data.dev_folder)),
            *("-o", str(output), "--device", "cpu", "--json", *settings),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return done, output


def test_torchrun_trains_the_model_of_one_process(
    torchrun: tuple[subprocess.CompletedProcess[str], Path], small_run: SmallRun
) -> None:
    done, output = torchrun
    assert done.returncode == 0, done.stderr
    (model,) = read_models(output)
    logs = [
        [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]
        for folder in (output, small_run.folder)
    ]
    assert len(logs[0]) == len(logs[1]) == 3
    for shared, alone in zip(*logs, strict=True):
        assert shared["losses"] == pytest.approx(alone["losses"], rel=1e-2)
        assert shared["within_author_entropy"] == pytest.approx(
            alone["within_author_entropy"], rel=1e-2
        )
    assert model.config == small_run.config


def test_under_torchrun_only_the_first_process_prints_and_writes(
    torchrun: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    done, output = torchrun
    assert json.loads(done.stdout)["model"] == str(output)
    lines = [line for line in done.stderr.splitlines() if "dev AUC" in line]
    assert [line.split(":")[0] for line in lines] == ["epoch 1", "epoch 2", "epoch 3"]
    assert "Traceback" not in done.stderr
    assert [path.name for path in output.parent.iterdir()] == ["model"]


def test_processes_agree_on_the_end_and_on_where_to_resume(
    torchrun: tuple[subprocess.CompletedProcess[str], Path],
    small_data: SmallData,
    small_config: Config,
    tmp_path: Path,
) -> None:
    config = small_config.with_setting("training.checkpoint_minutes=0")
    config = config.with_setting("training.patience=1")
    folders = (small_data.corpus_folder, small_data.dev_folder)
    killed = run_together(train_in_step, *folders, tmp_path / "killed", config, 7)
    assert killed[0] == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    assert run_together(train_in_step, *folders, tmp_path / "killed", config, 0) == [0, 0]
    assert run_together(train_in_step, *folders, tmp_path / "whole", config, 0) == [0, 0]
    for name in ("model.safetensors", "training.jsonl"):
        whole = (tmp_path / "whole" / name).read_bytes()
        assert (tmp_path / "killed" / name).read_bytes() == whole
    assert {path.name for path in tmp_path.iterdir()} == {"killed", "whole"}


def test_an_output_that_exists_ends_all_processes_and_is_left_alone(
    small_data: SmallData, small_config: Config, tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("the only copy")
    folders = (small_data.corpus_folder, small_data.dev_folder)
    codes = run_together(train_in_step, *folders, tmp_path / "model", small_config, 0)
    assert 0 not in codes
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "mine.txt"]
