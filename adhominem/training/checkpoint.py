"""Checkpoints and the journal: a training run on disk, whole or not at all.

    FOLDER/checkpoint-000012/   model, optimiser (two files) and best weights, as safetensors
    FOLDER/latest.json          where the run stood, and the number of the one that counts
    FOLDER/log.jsonl            the course of the run, a line per epoch
    FOLDER/tensorboard/         these as curves

The pointer is replaced in one move after all files of a checkpoint are written, so a kill at any
moment leaves the checkpoint before it. No file holds more than one copy of the weights.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from adhominem.errors import CheckpointError
from adhominem.model.files import DAMAGE
from adhominem.ngrams.config import NgramConfig
from adhominem.paper.config import Config
from adhominem.records import Within, from_json, parsed_json
from adhominem.text.corpus import PackedCorpus
from adhominem.text.files import open_regular
from adhominem.text.writing import write_through, write_whole

Event = dict[str, Any]
Weights = dict[str, Tensor]
AnyConfig = TypeVar("AnyConfig", Config, NgramConfig)
Count = Annotated[int, Within(0, 2**62)]
Value = Annotated[float, Within(-1e300, 1e300)]
_MOMENTS = ("exp_avg", "exp_avg_sq")
_LARGEST_STATE, _LARGEST_WEIGHTS = 2**26, 2**40  # bytes
# What may change when a run is resumed; any other change would make it another run.
_FREE_SETTINGS = {
    *("epochs", "patience", "learning_rate", "final_learning_rate", "decay_epochs"),
    *("clip_norm", "checkpoint_minutes"),
}


@dataclass(frozen=True)
class Task(Generic[AnyConfig]):
    """A training run: its data, its settings, and the folder that it works in until it ends."""

    corpus: PackedCorpus
    dev: Mapping[str, PackedCorpus]
    config: AnyConfig
    folder: Path
    device: torch.device
    on_event: Callable[[Event], None]
    member: int = 0
    calibration: PackedCorpus | None = None  # texts for the second stage

    def fingerprint(self) -> str:
        """The SHA-256 of settings and data, to recognise a run by.

        Of the data it covers the tokens and all labels that training uses.
        """
        settings = self.config.to_json()
        for name in _FREE_SETTINGS & settings["training"].keys():
            del settings["training"][name]
        names: list[str] = sorted(self.dev)
        digest = sha256(json.dumps([settings, names], sort_keys=True).encode())
        data = [self.corpus, *(self.dev[name] for name in names)]
        if self.calibration is not None:
            data.append(self.calibration)
        for packed in data:
            digest.update(str(packed.description.get("tokens_sha256", len(packed.tokens))).encode())
            labels = packed.labels
            for array in (packed.offsets, labels.author, labels.topic, labels.work, labels.corpus):
                digest.update(np.ascontiguousarray(array).tobytes())
            if packed.same_author is not None:
                digest.update(packed.same_author.tobytes())
        return digest.hexdigest()


@dataclass
class Progress:
    """How far a training run has come."""

    epoch: Count = 0
    step: Count = 0  # steps done of this epoch
    # The sum of each loss over these steps, and how many had it.
    losses: dict[str, tuple[Value, Annotated[int, Within(1, 2**62)]]] = field(default_factory=dict)
    best_score: Value = -1.0
    best_epoch: Annotated[int, Within(-1, 2**62)] = -1
    log_lines: Count = 0
    number: Count = 0  # of the checkpoint
    adam_step: Count = 0
    fingerprint: str = ""  # identifies the settings and data

    def count(self, losses: dict[str, float]) -> None:
        """Count one more step, with its losses."""
        self.step += 1
        for name, value in losses.items():
            total, count = self.losses.get(name, (0.0, 0))
            self.losses[name] = total + value, count + 1

    def mean_losses(self) -> dict[str, float]:
        """Each loss over the steps of this epoch that had it."""
        return {name: total / count for name, (total, count) in self.losses.items()}

    def next_epoch(self) -> None:
        """Go on to the next epoch, at its first step."""
        self.epoch, self.step, self.losses = self.epoch + 1, 0, {}


def save_checkpoint(
    folder: Path, model: nn.Module, optimiser: torch.optim.Adam, best: Weights, progress: Progress
) -> None:
    """Write the state of a run; earlier checkpoints are removed once this one is complete."""
    progress.number += 1
    progress.adam_step = max((int(state["step"]) for state in optimiser.state.values()), default=0)
    target = _checkpoint_folder(folder, progress)
    shutil.rmtree(target, ignore_errors=True)  # of a run that was killed while it wrote it
    target.mkdir(parents=True)
    files = {"model": weights_of(model), "best": best}
    for moment in _MOMENTS:
        files[moment] = {
            name: optimiser.state[parameter][moment].detach().cpu().contiguous()
            for name, parameter in model.named_parameters()
            if parameter in optimiser.state
        }
    for name, weights in files.items():
        _write(weights, target / f"{name}.safetensors")
    with write_whole(folder / "latest.json") as text:
        json.dump(asdict(progress), text)
        text.flush()
        os.fsync(text.fileno())
    for old in folder.glob("checkpoint-*"):
        if old != target:
            shutil.rmtree(old, ignore_errors=True)


def has_checkpoint(folder: Path) -> bool:
    """Whether a folder holds a checkpoint to resume from."""
    return (folder / "latest.json").exists()


def read_progress(folder: Path, fingerprint: str) -> Progress:
    """The progress of the run in this folder; a CheckpointError if data or settings differ."""
    try:
        with open_regular(folder / "latest.json", _LARGEST_STATE)[0] as file:
            progress = from_json(Progress, parsed_json(file.read(_LARGEST_STATE)))
    except (*DAMAGE, RuntimeError) as error:
        raise _damaged(folder, error) from None
    if progress.fingerprint != fingerprint:
        raise CheckpointError(
            f"{folder} is a run with other data or settings; "
            "resume with the same ones, or train into another folder"
        )
    return progress


def load_checkpoint(
    folder: Path, model: nn.Module, optimiser: torch.optim.Adam, fingerprint: str
) -> tuple[Progress, Weights]:
    """Restore model and optimiser from a checkpoint; its progress and best weights are returned."""
    progress = read_progress(folder, fingerprint)
    source = _checkpoint_folder(folder, progress)
    try:
        model.load_state_dict(_read(source / "model.safetensors"))
        moments = {name: _read(source / f"{name}.safetensors") for name in _MOMENTS}
        best = _read(source / "best.safetensors") if progress.best_epoch >= 0 else {}
        shapes = {name: value.shape for name, value in model.state_dict().items()}
        if best and best.keys() != shapes.keys():
            raise ValueError("best.safetensors is of another model")
        for name, value in (item for part in (best, *moments.values()) for item in part.items()):
            if value.shape != shapes[name]:
                raise ValueError(f"{name} is {tuple(value.shape)}; expected {shapes[name]}")
        for name, parameter in model.named_parameters():
            if name in moments["exp_avg"]:  # a frozen one has none
                step = torch.tensor(float(progress.adam_step))
                optimiser.state[parameter] = {
                    # The fused optimiser counts on the device.
                    "step": step.to(parameter.device) if parameter.is_cuda else step,
                    **{moment: moments[moment][name].to(parameter.device) for moment in _MOMENTS},
                }
    except (*DAMAGE, RuntimeError) as error:
        raise _damaged(folder, error) from None
    return progress, best


def weights_of(model: nn.Module) -> Weights:
    """Copies of a model's weights on the CPU."""
    return {
        name: value.detach().to("cpu", copy=True).contiguous()
        for name, value in model.state_dict().items()
    }


def _checkpoint_folder(folder: Path, progress: Progress) -> Path:
    return folder / f"checkpoint-{progress.number:06}"


def _damaged(folder: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint in {folder} is damaged ({type(error).__name__}: {str(error)[:300]}); "
        "remove that folder and train again"
    )


def _write(weights: Weights, path: Path) -> None:
    # Not by `save_file`, whose files only their owner can read, whatever the umask.
    write_through(path, save(weights))


def _read(path: Path) -> Weights:
    open_regular(path, _LARGEST_WEIGHTS)[0].close()  # a pipe would be waited on for ever
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path.name}: {error}") from None


class Journal:
    """The history of a run, one event per epoch, as log.jsonl and for TensorBoard.

    It continues after the lines that the checkpoint counts; later lines are dropped, since these
    epochs are repeated.
    """

    def __init__(self, folder: Path, lines: int) -> None:
        self._path = folder / "log.jsonl"
        written = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        if len(written) < lines:
            raise CheckpointError(
                f"{self._path} has {len(written)} lines, expected {lines} or more; "
                f"remove {folder} and train again"
            )
        self.events: list[Event] = [json.loads(line) for line in written[:lines]]
        with write_whole(self._path) as text:
            text.writelines(f"{json.dumps(event)}\n" for event in self.events)
        self._board: Any = None  # without TensorBoard
        with suppress(ImportError):
            from torch.utils.tensorboard import SummaryWriter

            shutil.rmtree(folder / "tensorboard", ignore_errors=True)  # no epoch twice
            self._board = SummaryWriter(str(folder / "tensorboard"))
        for event in self.events:
            self._draw(event)

    def add(self, event: Event) -> None:
        """Log one more epoch."""
        self.events.append(event)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(f"{json.dumps(event)}\n")
        self._draw(event)

    def close(self) -> None:
        """Close the files of the journal."""
        if self._board is not None:
            self._board.close()

    def _draw(self, event: Event) -> None:
        if self._board is None:
            return
        curves = {
            **{f"loss/{name}": value for name, value in event["losses"].items()},
            **{f"dev_AUC/{name}": row[event["measure"]] for name, row in event["dev"].items()},
            "entropy_in_nats/between_authors": event["between_author_entropy"],
            "entropy_in_nats/within_an_author": event["within_author_entropy"],
            "learning_rate": event["learning_rate"],
        }
        for name, value in curves.items():
            self._board.add_scalar(name.replace(" ", "_"), value, event["epoch"] + 1)
        self._board.flush()
