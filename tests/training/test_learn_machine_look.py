"""A model is taught what texts by machines look like: by a call, by a command, into its folder."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import NgramRun, rich_rows, write_rows
from safetensors.numpy import save

from adhominem import learn_machine_look, load
from adhominem.cli import main
from adhominem.errors import InputError, ModelError, OptionError
from adhominem.model.folder import model_hash, read_machine_look
from adhominem.model.writing import write_machine_look
from adhominem.score.prose import MachineLook


@pytest.fixture
def model(ngram_run: NgramRun, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ngram_run.folder, tmp_path / "model"))


@pytest.fixture
def people(tmp_path: Path) -> list[Path]:
    return [
        write_rows(tmp_path / f"{name}.jsonl", rich_rows(name, 6, 4, "-people-"))
        for name in ("letters", "notes")
    ]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    sentence = "Moreover, it is important to note that, in conclusion, balance matters; "
    rng = random.Random(0)
    rows = [
        {"author": "m", "text": " ".join(rng.choices(sentence.split(), k=260 + 10 * at))}
        for at in range(12)
    ]
    return write_rows(tmp_path / "machine.jsonl", rows)


def test_a_model_that_was_taught_warns(model: Path, people: list[Path], machine: Path) -> None:
    before = model_hash(model)
    learnt = learn_machine_look(model, people, [machine], texts=20)
    assert list(learnt.texts) == ["letters", "notes", "machine"]
    assert learnt.texts["machine"] == 12
    assert 0 < learnt.texts["letters"] <= 20  # short ones are left out
    assert learnt.detected == {"machine": 1.0}
    assert max(learnt.false_alarms.values()) <= 0.02
    assert model_hash(model) != before
    verifier = load(model)
    by_machine = json.loads(machine.read_text("utf-8").splitlines()[0])["text"]
    known = rich_rows("letters", 1, 1, "-new-")[0]["text"]
    codes = [caution.code for caution in verifier.verify(by_machine, known).warnings]
    assert codes.count("machine_written") == 1
    codes = [caution.code for caution in verifier.verify(known, known + " Indeed.").warnings]
    assert "machine_written" not in codes


def test_the_command_does_the_same(model: Path, people: list[Path], machine: Path) -> None:
    names = [*map(str, people), "--machine", str(machine), "--texts", "10"]
    result = CliRunner().invoke(main, ["machine", str(model), *names, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["texts"]["machine"] == 10
    shown = CliRunner().invoke(main, ["machine", str(model), *names])
    assert "people" in shown.stdout
    assert "machines" in shown.stdout


def test_the_shipped_model_is_not_taught_anew(people: list[Path], machine: Path) -> None:
    with pytest.raises(OptionError, match="copy it first"):
        learn_machine_look("general-en", people, [machine])


def test_short_texts_alone_teach_nothing(model: Path, people: list[Path], tmp_path: Path) -> None:
    short = write_rows(tmp_path / "short.jsonl", [{"author": "m", "text": "a few words"}] * 3)
    with pytest.raises(InputError, match="short"):
        learn_machine_look(model, people, [short])
    assert read_machine_look(model) is None


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    look = MachineLook(np.array([0.5, -1.0]), 0.25)
    write_machine_look(tmp_path, look)
    again = read_machine_look(tmp_path)
    assert again is not None
    np.testing.assert_array_equal(again.weights, look.weights)
    assert again.constant == look.constant


@pytest.mark.parametrize(
    "contents",
    [
        b"nothing",
        save({"weights": np.zeros(3, np.float32)}),
        save({"weights": np.zeros((3, 1), np.float32), "constant": np.zeros(1, np.float32)}),
        save({"weights": np.full(3, np.nan, np.float32), "constant": np.zeros(1, np.float32)}),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / "machine.safetensors").write_bytes(contents)
    with pytest.raises(ModelError, match=r"machine\.safetensors: .*`adhominem machine`"):
        read_machine_look(tmp_path)


def test_weights_for_another_size_are_refused(model: Path) -> None:
    write_machine_look(model, MachineLook(np.zeros(3), 0.0))
    with pytest.raises(ModelError, match=r"machine\.safetensors"):
        load(model)
