"""prose.json: written and read again, hashed, and named where it is damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adhominem import load
from adhominem.errors import ModelError
from adhominem.model.folder import model_folder, model_hash, read_prose
from adhominem.model.writing import write_prose

SHIPPED = model_folder("general-en")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    prose = load().prose
    assert prose is not None
    write_prose(tmp_path, prose)
    assert read_prose(tmp_path) == prose
    assert (tmp_path / "prose.json").read_bytes() == (SHIPPED / "prose.json").read_bytes()


def test_a_model_that_was_not_taught_has_none(tmp_path: Path) -> None:
    assert read_prose(tmp_path) is None
    copy = Path(shutil.copytree(SHIPPED, tmp_path / "model"))
    (copy / "prose.json").unlink()
    assert load(copy).prose is None
    assert model_hash(copy) != model_hash(SHIPPED)


@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", -1), ("genres", ["a"]), ("usual", []), ("schema", 2), ("lexicon", {}), ("more", 1)],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, value: object) -> None:
    data = json.loads((SHIPPED / "prose.json").read_text("utf-8"))
    (tmp_path / "prose.json").write_text(json.dumps({**data, name: value}), "utf-8")
    with pytest.raises(ModelError, match=r"is damaged \(prose\.json: .*`adhominem prose`"):
        read_prose(tmp_path)


@pytest.mark.parametrize("text", ["[]", "no JSON", "null"])
def test_a_file_that_is_something_else_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "prose.json").write_text(text, "utf-8")
    with pytest.raises(ModelError, match=r"is damaged \(prose\.json: "):
        read_prose(tmp_path)
