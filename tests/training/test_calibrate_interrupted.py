"""Parameters and the pairs behind them are replaced as one, whatever happens meanwhile."""

from __future__ import annotations

from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from attack.damage import killed_at, stopped_at, with_room_for
from conftest import SmallRun, made_up_rows, write_rows

from adhominem import find_sources, load, read_pairs, write_pair_set
from adhominem.errors import ModelError
from adhominem.model.calibration import read_validation
from adhominem.model.folder import read_parameters
from adhominem.questions.report.report import make_report
from adhominem.training import calibrate as module
from adhominem.training.calibrate import calibrate_model

TEXTS = [row["text"] for row in made_up_rows(2, 2, "i")]


class Folders:
    """A calibrated model, and how to calibrate it again, on other pairs, in no time."""

    def __init__(self, small_run: SmallRun, folder: Path) -> None:
        self.old = Path(copytree(small_run.folder, folder / "old"))
        sets = []
        for name, authors in (("one", 36), ("other", 44)):
            rows = write_rows(folder / f"{name}.jsonl", made_up_rows(authors, 6, name))
            write_pair_set(find_sources(rows), folder / name)
            sets.append({name: list(read_pairs(folder / name))})
        calibrate_model(self.old, sets[0])
        self.new = Path(copytree(self.old, folder / "new"))
        self._written: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        real = module.write_calibration
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "write_calibration", self._remember)
            calibrate_model(self.new, sets[1])
        self._write = real
        self.calibrate(self.new)

    def _remember(self, folder: Path, *given: Any, **named: Any) -> None:
        self._written = given, named

    def calibrate(self, folder: Path) -> None:
        """What `calibrate_model` writes."""
        given, named = self._written
        self._write(folder, *given, **named)


@pytest.fixture(scope="module")
def folders(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders(small_run, tmp_path_factory.mktemp("interrupted"))


def told(folder: Path) -> tuple[object, object]:
    """The parameters, and all that a report says that hangs on them or on the pairs."""
    made = make_report(load(folder), TEXTS[0], TEXTS[2], draws=5, date="2026-01-01")
    page = made.to_json()
    return read_parameters(folder), (
        page["validation"],
        page["calibration"],
        page["log10_bayes_factor"],
    )


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != "tensorboard"}


def test_both_come_together(folders: Folders) -> None:
    before, after = told(folders.old), told(folders.new)
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert len(files(folders.old)) == len(files(folders.new))


def full_disk() -> None:
    raise OSError(ENOSPC, "No space left on device")


def interrupted(folders: Folders, folder: Path, call: int, how: str) -> bool:
    """Calibrate, and stop at the call of this number; whether there was one."""
    if how == "full disk":
        with suppress(OSError):
            return stopped_at(call, lambda: folders.calibrate(folder), full_disk)
        return True
    return killed_at(call, lambda: folders.calibrate(folder))


@pytest.mark.parametrize("how", ["full disk", "killed"])
def test_at_every_step_the_folder_holds_the_old_or_the_new_one_whole(
    how: str, folders: Folders, tmp_path: Path
) -> None:
    before, after = told(folders.old), told(folders.new)
    seen = []
    for call in range(1, 1_000):
        folder = Path(copytree(folders.old, tmp_path / f"{call}"))
        if not interrupted(folders, folder, call, how):
            break
        seen.append(told(folder))
        assert seen[-1] in (before, after)
        folders.calibrate(folder)  # the next one tidies up
        assert told(folder) == after
        assert files(folder) == files(folders.new)
    assert len(seen) >= 6
    assert before in seen
    assert after in seen
    if how == "killed":  # there is one moment at which it changes
        assert seen == sorted(seen, key=lambda state: state == after)


@pytest.mark.parametrize("size", [0, 1, 1_000, 5_000])
def test_a_disk_that_fills_while_a_file_is_written_leaves_the_old_one(
    size: int, folders: Folders, tmp_path: Path
) -> None:
    folder = Path(copytree(folders.old, tmp_path / "model"))
    assert with_room_for(size, lambda: folders.calibrate(folder)) == 3
    assert told(folder) == told(folders.old)
    assert files(folder) == files(folders.old)


def test_pairs_of_another_calibration_are_refused(folders: Folders, tmp_path: Path) -> None:
    folder = Path(copytree(folders.old, tmp_path / "model"))
    (kept,) = folder.glob("validation-*.safetensors")
    (other,) = folders.new.glob("validation-*.safetensors")
    kept.write_bytes(other.read_bytes())
    for act in (load, read_validation):
        with pytest.raises(ModelError, match=r"not the pairs that .*; calibrate the model again"):
            act(folder)
    kept.unlink()
    with pytest.raises(ModelError, match=r"there is no validation-.*; calibrate the model again"):
        load(folder)
    assert read_parameters(folder) == read_parameters(folders.old)  # so it can be calibrated
    folders.calibrate(folder)
    assert told(folder) == told(folders.new)
