"""The layout of a model's folder: all that answers, warnings and reports depend on is hashed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from conftest import rich_rows

from adhominem import load
from adhominem.errors import ModelError
from adhominem.model.files import ModelFiles
from adhominem.model.folder import (
    hashed_files,
    member_folders,
    model_folder,
    model_hash,
    read_folder,
)
from adhominem.model.layout import LAYOUT, ModelFile
from adhominem.questions.report.report import make_report

TEXTS = [row["text"] for row in rich_rows("letters", 2, 2, "-layout-")]
DOCS = Path(__file__).parents[2] / "docs" / "formats.md"


@pytest.fixture(scope="module")
def folder(mixed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ensemble, calibrated, with all files that there may be, in members, too."""
    copy = Path(shutil.copytree(mixed_folder, tmp_path_factory.mktemp("layout") / "mixed"))
    for each in (copy, *member_folders(copy)):
        (each / "genres.json").write_text('{"letters": "letters of old"}', "utf-8")
    for name in ("calibration.json", *(path.name for path in copy.glob("validation-*"))):
        shutil.copy(copy / name, copy / "profile" / name)
    return copy


def entry(path: Path) -> ModelFile:
    (found,) = [each for each in LAYOUT if fnmatch(path.name, each.name)]
    return found


def hash_or_none(folder: Path) -> str | None:
    try:
        return model_hash(folder)
    except ModelError:
        return None


def changed(path: Path) -> None:
    """Another byte, that JSON does not mind."""
    if path.suffix == ".json":
        path.write_bytes(path.read_bytes() + b" ")
    else:
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


@pytest.mark.parametrize("which", ["", "ngrams", "model", "profile"])
def test_the_hash_changes_with_a_byte_of_a_file_exactly_if_the_layout_says_so(
    which: str, folder: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(folder / which, tmp_path / "copy"))
    before = model_hash(copy)
    hashed = 0
    for path in sorted(path for path in copy.rglob("*") if path.is_file()):
        if path.parent.name == "tensorboard":
            continue
        file, whole = entry(path), path.read_bytes()
        counts = file.hashed and not (file.top_level and path.parent != copy)
        changed(path)
        assert (hash_or_none(copy) != before) == counts, path
        hashed += counts
        path.write_bytes(whole)
    assert model_hash(copy) == before
    assert hashed >= 5


def test_every_file_of_a_model_is_in_the_layout_and_every_required_one_is_there(
    folder: Path, languages_folder: Path
) -> None:
    general = model_folder("general-en")
    whole = folder, general, languages_folder
    members = [member for model in whole for member in member_folders(model)]
    for owner in (*whole, *members, languages_folder / "de"):
        architecture = json.loads((owner / "config.json").read_text("utf-8"))["architecture"]
        inside = [path for path in owner.iterdir() if path.is_file()]
        assert all(architecture in entry(path).of for path in inside)
        missing = {each.name for each in LAYOUT if each.required and architecture in each.of}
        assert missing <= {path.name for path in inside}


_OPENED: list[str] | None = None


def _listen(event: str, given: tuple[object, ...]) -> None:
    if event == "open" and _OPENED is not None:
        _OPENED.append(str(given[0]))


sys.addaudithook(_listen)  # there is no way to take it off again


@pytest.mark.parametrize("which", ["", "ngrams", "model"])
def test_all_that_is_read_for_an_answer_or_a_report_is_hashed(which: str, folder: Path) -> None:
    global _OPENED
    model = folder / which
    _OPENED = []
    try:
        verifier = load(model)
        make_report(verifier, TEXTS[0], TEXTS[2], draws=5)
    finally:
        opened, _OPENED = _OPENED, None
    hashed = {str(files.folder / name) for files, _, name in hashed_files(ModelFiles(model))}
    inside = {path for path in opened if path.startswith(str(model)) and Path(path).exists()}
    assert inside - hashed <= {str(folder / "generation.json")}  # which says what is the model's
    assert hashed <= inside
    weights = [path for path in opened if path.endswith(".safetensors")]
    assert len(weights) == len(set(weights))  # the large ones are read once


def test_bytes_that_move_from_one_file_to_the_next_change_the_hash(
    folder: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(folder / "ngrams", tmp_path / "copy"))
    before = model_hash(copy)
    one, other = copy / "model.safetensors", copy / "styles.safetensors"
    data = one.read_bytes()
    one.write_bytes(data[:-1])
    other.write_bytes(data[-1:] + other.read_bytes())
    assert model_hash(copy) != before


def test_the_order_of_the_members_and_the_scores_of_an_ensemble_count(
    folder: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    before = model_hash(copy)
    path = copy / "config.json"
    data = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**data, "members": data["members"][::-1]}), "utf-8")
    assert model_hash(copy) != before


def test_the_hash_can_be_had_without_this_program(folder: Path, languages_folder: Path) -> None:
    for model in (folder, folder / "model", languages_folder):
        names = [
            str((files.folder / name).relative_to(model))
            for files, _, name in hashed_files(ModelFiles(model))
        ]
        listed = subprocess.run(["sha256sum", *names], cwd=model, capture_output=True, check=True)
        done = subprocess.run(["sha256sum"], input=listed.stdout, capture_output=True, check=True)
        assert done.stdout.decode().split()[0] == model_hash(model) == load(model).sha256


def test_a_file_that_changes_while_a_model_is_read_changes_nothing_of_it(
    folder: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    files = ModelFiles(copy)
    before = model_hash(files)
    for name in ("calibration.json", "ngrams/model.safetensors"):
        changed(copy / name)
    assert model_hash(files) == read_folder(files).sha256 == before
    assert model_hash(copy) != before


def test_the_documentation_names_every_file() -> None:
    text = DOCS.read_text("utf-8")
    for file in LAYOUT:
        assert f"`{file.name}`" in text, file.name
