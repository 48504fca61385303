"""Checkpoints: whole or not at all, small files, and a clear word on what is wrong with one."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
import torch
from torch import nn

from adhominem import preset
from adhominem.errors import CheckpointError
from adhominem.paper.losses import SiameseModel
from adhominem.training import checkpoint
from adhominem.training.checkpoint import (
    Progress,
    has_checkpoint,
    load_checkpoint,
    read_progress,
    save_checkpoint,
    weights_of,
)

RUN = "abc"


def fresh() -> tuple[nn.Module, torch.optim.Adam]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    model[0].bias.requires_grad_(False)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return model, torch.optim.Adam(trained, lr=0.1)


def step(model: nn.Module, optimiser: torch.optim.Adam, number: int) -> None:
    generator = torch.Generator().manual_seed(number)
    optimiser.zero_grad()
    model(torch.randn(5, 3, generator=generator)).square().sum().backward()
    optimiser.step()


def saved(folder: Path, steps: int = 3) -> tuple[nn.Module, torch.optim.Adam, Progress]:
    model, optimiser = fresh()
    for number in range(steps):
        step(model, optimiser, number)
    progress = Progress(epoch=2, step=steps, best_score=0.75, best_epoch=1, fingerprint=RUN)
    progress.losses = {"distance": (0.1 + 0.2, 3)}
    save_checkpoint(folder, model, optimiser, weights_of(model), progress)
    return model, optimiser, progress


def test_a_run_goes_on_from_a_checkpoint_bit_for_bit(tmp_path: Path) -> None:
    model, optimiser, progress = saved(tmp_path)
    again, its_optimiser = fresh()
    found, best = load_checkpoint(tmp_path, again, its_optimiser, RUN)
    assert found == progress
    assert set(best) == set(model.state_dict())
    for number in range(3, 6):
        step(model, optimiser, number)
        step(again, its_optimiser, number)
    for name, value in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name


def test_a_checkpoint_before_the_first_step_and_the_first_score_loads(tmp_path: Path) -> None:
    model, optimiser = fresh()
    save_checkpoint(tmp_path, model, optimiser, {}, Progress(fingerprint=RUN))
    progress, best = load_checkpoint(tmp_path, *fresh(), RUN)
    assert (progress.epoch, progress.step, best) == (0, 0, {})


def test_the_mean_losses_are_over_the_steps_that_had_them() -> None:
    progress = Progress()
    for losses in ({"a": 1.0, "b": 4.0}, {"a": 2.0}, {"a": 6.0, "b": 2.0}):
        progress.count(losses)
    assert progress.step == 3
    assert progress.mean_losses() == {"a": 3.0, "b": 3.0}
    progress.next_epoch()
    assert (progress.epoch, progress.step, progress.mean_losses()) == (1, 0, {})


def test_only_the_newest_checkpoint_is_kept(tmp_path: Path) -> None:
    model, optimiser, progress = saved(tmp_path)
    (tmp_path / "checkpoint-000009").mkdir()  # left by a kill
    save_checkpoint(tmp_path, model, optimiser, weights_of(model), progress)
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint-000002", "latest.json"}


@pytest.mark.parametrize("at", ["model", "exp_avg", "exp_avg_sq", "best", "latest"])
def test_a_stop_while_writing_leaves_the_checkpoint_before(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, optimiser, progress = saved(tmp_path)
    before = weights_of(model)
    step(model, optimiser, 7)
    real, real_whole = checkpoint._write, checkpoint.write_whole

    def write(weights: dict[str, torch.Tensor], path: Path) -> None:
        if path.stem == at:
            path.write_bytes(b"half")
            raise KeyboardInterrupt
        real(weights, path)

    def whole(path: Path) -> object:
        if path.stem == at:
            raise KeyboardInterrupt
        return real_whole(path)

    monkeypatch.setattr(checkpoint, "_write", write)
    monkeypatch.setattr(checkpoint, "write_whole", whole)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(tmp_path, model, optimiser, weights_of(model), progress)
    monkeypatch.undo()
    again, its_optimiser = fresh()
    found, _ = load_checkpoint(tmp_path, again, its_optimiser, RUN)
    assert all(torch.equal(again.state_dict()[name], before[name]) for name in before)
    save_checkpoint(tmp_path, again, its_optimiser, before, found)  # over the half-written one
    load_checkpoint(tmp_path, *fresh(), RUN)


def test_no_file_of_the_papers_model_reaches_16_mib(tmp_path: Path) -> None:
    config = preset("pan20")
    words = config.data.vocabulary
    model = SiameseModel(words.token_types, words.character_types, config.encoder, config.loss)
    optimiser = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    save_checkpoint(tmp_path, model, optimiser, weights_of(model), Progress(best_epoch=0))
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("checkpoint-*/*")}
    assert set(sizes) == {
        f"{name}.safetensors" for name in ("model", "exp_avg", "exp_avg_sq", "best")
    }
    assert min(sizes.values()) > 4 * 2**20
    assert max(sizes.values()) < 16 * 2**20


def test_files_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        saved(tmp_path)
    finally:
        os.umask(before)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o640}


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    assert read_progress(tmp_path, RUN).epoch == 2
    with pytest.raises(CheckpointError, match="a run with other data or settings; resume with"):
        read_progress(tmp_path, "abd")
    with pytest.raises(CheckpointError, match="a run with other data or settings"):
        load_checkpoint(tmp_path, *fresh(), "")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def rename_a_field(path: Path) -> None:
    state = json.loads(path.read_text())
    state["stage"] = state.pop("epoch")
    path.write_text(json.dumps(state))


@pytest.mark.parametrize("name", ["model", "exp_avg", "exp_avg_sq", "best"])
@pytest.mark.parametrize("damage", [cut, Path.unlink], ids=["cut", "missing"])
def test_a_damaged_file_is_named_as_such(name: str, damage: object, tmp_path: Path) -> None:
    saved(tmp_path)
    (path,) = tmp_path.glob(f"checkpoint-*/{name}.safetensors")
    damage(path)  # type: ignore[operator]
    with pytest.raises(CheckpointError, match=r"is damaged .*remove that folder and train again"):
        load_checkpoint(tmp_path, *fresh(), RUN)


@pytest.mark.parametrize(
    "damage",
    [cut, Path.unlink, rename_a_field, lambda path: path.write_text("[1]")],
    ids=["cut", "missing", "another field", "a list"],
)
def test_a_damaged_pointer_is_named_as_such(damage: object, tmp_path: Path) -> None:
    assert not has_checkpoint(tmp_path)
    saved(tmp_path)
    assert has_checkpoint(tmp_path)
    damage(tmp_path / "latest.json")  # type: ignore[operator]
    with pytest.raises(CheckpointError, match="is damaged"):
        load_checkpoint(tmp_path, *fresh(), RUN)


def test_the_weights_of_another_network_are_damage_not_a_crash(tmp_path: Path) -> None:
    saved(tmp_path)
    other = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    with pytest.raises(CheckpointError, match="size mismatch"):
        load_checkpoint(tmp_path, other, torch.optim.Adam(other.parameters()), RUN)
