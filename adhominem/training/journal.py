"""The course of a run: a line an epoch in log.jsonl, and the same as curves for TensorBoard."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from adhominem.errors import CheckpointError
from adhominem.text.writing import write_whole

Event = dict[str, Any]


class Journal:
    """Goes on behind the lines that a checkpoint knows of; what came after them is done again."""

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
        self._board = _board(folder / "tensorboard")
        for event in self.events:
            self._draw(event)

    def add(self, event: Event) -> None:
        """One more epoch."""
        self.events.append(event)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(f"{json.dumps(event)}\n")
        self._draw(event)

    def close(self) -> None:
        """No more epochs."""
        if self._board is not None:
            self._board.close()

    def _draw(self, event: Event) -> None:
        if self._board is None:
            return
        curves = {
            **{f"loss/{name}": value for name, value in event["losses"].items()},
            **{f"dev AUC/{name}": row[event["measure"]] for name, row in event["dev"].items()},
            "entropy in nats/between authors": event["between_author_entropy"],
            "entropy in nats/within an author": event["within_author_entropy"],
            "learning rate": event["learning_rate"],
        }
        for name, value in curves.items():
            self._board.add_scalar(name.replace(" ", "_"), value, event["epoch"] + 1)
        self._board.flush()


def _board(folder: Path) -> Any:
    """A writer of TensorBoard's files, or None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    shutil.rmtree(folder, ignore_errors=True)  # drawn anew from the log: no epoch twice
    return SummaryWriter(str(folder))
