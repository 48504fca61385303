"""Kills at random moments, and several runs at once: nothing is lost, twice, or half there."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import NgramRun

    from attack.conftest import Attack

_PAIRS = 1_200
_WORDS = ["the", "of", "and", "to", "in", "that", "it", "is", "was", "he", "for", "with", "on"]


def made_up_pairs(version: int = 0) -> list[dict[str, Any]]:
    """Pairs of some hundred texts; in a later version, some of them have been edited."""
    rng = random.Random(0)
    texts = [" ".join(rng.choices(_WORDS, k=rng.randint(20, 90))) for _ in range(400)]
    pairs = [{"id": f"pair-{at}", "pair": rng.sample(texts, 2)} for at in range(_PAIRS)]
    edits = random.Random(version)
    for at in edits.sample(range(_PAIRS), 20 * version):
        pairs[at]["pair"][edits.randrange(2)] += f" Edited {at}."
    return pairs


@dataclass
class Predict:
    """The command, in a folder of its own."""

    folder: Path
    model: Path
    options: tuple[str, ...] = ()

    @property
    def output(self) -> Path:
        return self.folder / "answers.jsonl"

    def give(self, pairs: list[dict[str, Any]]) -> None:
        lines = (json.dumps(pair) + "\n" for pair in pairs)
        (self.folder / "pairs.jsonl").write_text("".join(lines), "utf-8")

    def start(self, output: str = "answers.jsonl") -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "adhominem", "predict", "pairs.jsonl", "-o", output]
        return subprocess.Popen(
            [*command, "--model", str(self.model), *self.options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, output: str = "answers.jsonl") -> None:
        process = self.start(output)
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told

    def wait_until_it_works(self, process: subprocess.Popen[str]) -> None:
        lock = self.folder / ".answers.jsonl.lock"
        while process.poll() is None and not (lock.exists() and str(process.pid) in _read(lock)):
            time.sleep(0.002)

    def killed(self, after: float) -> bool:
        """Kill a run so many seconds after it began to work; whether it had not done all of it."""
        process = self.start()
        self.wait_until_it_works(process)
        time.sleep(after)
        process.kill()
        _, told = process.communicate(timeout=120)
        assert process.returncode in (0, -signal.SIGKILL), told
        if self.output.exists() and process.returncode != 0:  # between its last two steps
            process = self.start()
            _, told = process.communicate(timeout=120)
            assert "exists already" in told
        return not self.output.exists()

    def rows(self) -> list[str]:
        """The answers that are on disk, but for half a line."""
        partial = self.folder / "answers.jsonl.partial"
        return _read(partial).splitlines(keepends=True)[:-1] if partial.exists() else []

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""


def seconds_of_work(predict: Predict) -> float:
    """How long a run takes from its lock to its end; its answers go to whole.jsonl."""
    process = predict.start()
    predict.wait_until_it_works(process)
    begin = time.monotonic()
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    predict.output.rename(predict.folder / "whole.jsonl")
    return time.monotonic() - begin


WAYS: dict[str, tuple[tuple[str, ...], int, int]] = {  # options; kills in short and in long
    "alone": ((), 2, 26),
    "two jobs": (("--jobs", "2"), 1, 15),
    "population": (("--population", "input"), 1, 15),
}


@pytest.mark.parametrize("way", WAYS)
def test_predict_killed_at_random_moments_ends_with_the_bytes_of_one_that_was_not(
    way: str, ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    options, short, long = WAYS[way]
    predict = Predict(tmp_path, ngram_run.folder, options)
    predict.give(made_up_pairs())
    work = seconds_of_work(predict)
    whole = (tmp_path / "whole.jsonl").read_text("utf-8")
    rng = random.Random(way)
    kills = 0
    while kills < attack.rounds(short, long):
        answered = 0
        while kills < attack.rounds(short, long) and predict.killed(rng.uniform(0, work)):
            kills += 1
            rows = predict.rows()
            assert len(rows) >= answered
            answered = len(rows)
            assert whole.startswith("".join(rows))
        if not predict.output.exists():
            predict.run()
        assert predict.output.read_text("utf-8") == whole
        assert predict.files() == {"pairs.jsonl", "whole.jsonl", "answers.jsonl"}
        predict.output.unlink()
    attack.tried("kills", kills)


def test_predict_killed_while_somebody_edits_its_input_answers_what_is_there_in_the_end(
    ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    predict = Predict(tmp_path, ngram_run.folder)
    predict.give(made_up_pairs())
    work = seconds_of_work(predict)
    rng = random.Random(5)
    kills = version = 0
    while kills < attack.rounds(1, 12):
        if predict.killed(rng.uniform(0, work)):
            kills += 1
            version += rng.random() < 0.7 or version == 0
            predict.give(made_up_pairs(version))
        else:
            predict.output.unlink()
    predict.run()
    (tmp_path / "whole.jsonl").unlink()
    predict.run("whole.jsonl")
    assert predict.output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    attack.tried("kills", kills)


def test_of_several_runs_at_once_one_writes_and_the_others_say_who(
    ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    predict = Predict(tmp_path, ngram_run.folder)
    predict.give(made_up_pairs())
    ids = [pair["id"] for pair in made_up_pairs()]
    for _ in range(attack.rounds(1, 8)):
        processes = [predict.start() for _ in range(3)]
        told = [process.communicate(timeout=120)[1] for process in processes]
        assert sorted(process.returncode for process in processes) == [0, 1, 1], told
        writer = next(process for process in processes if process.returncode == 0)
        for process, words in zip(processes, told, strict=True):
            if process is not writer:
                words = " ".join(words.split())
                at_work = f"answers.jsonl is being written by process {writer.pid} on "
                assert at_work in words or "answers.jsonl exists already" in words
        rows = [json.loads(line) for line in _read(predict.output).splitlines()]
        assert [row["id"] for row in rows] == ids
        assert predict.files() == {"pairs.jsonl", "answers.jsonl"}
        predict.output.unlink()
    attack.tried("runs at once", 3 * attack.rounds(1, 8))


def test_who_holds_the_lock_and_is_killed_lets_go_of_it(
    ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    predict = Predict(tmp_path, ngram_run.folder)
    predict.give(made_up_pairs())
    for _ in range(attack.rounds(1, 5)):
        holder = predict.start()
        predict.wait_until_it_works(holder)
        holder.send_signal(signal.SIGSTOP)  # alive, and not to be hurried
        second = predict.start()
        _, told = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"is being written by process {holder.pid} on" in " ".join(told.split())
        holder.kill()
        holder.communicate(timeout=60)
        assert ".answers.jsonl.lock" in predict.files()
        predict.run()
        assert predict.files() == {"pairs.jsonl", "answers.jsonl"}
        predict.output.unlink()
    attack.tried("kills", attack.rounds(1, 5))


def test_training_killed_at_random_moments_ends_with_the_bytes_of_one_that_was_not(
    ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    from killed_runs import train_until

    context = get_context("forkserver")
    context.set_forkserver_preload(["torch", "adhominem.training.train_ngrams"])
    output = tmp_path / "model"
    places = (ngram_run.data.corpus_folder, ngram_run.data.dev_folder, output, ngram_run.config)

    def start() -> Any:
        process = context.Process(target=train_until, args=(None, *places))
        process.start()
        return process

    def check() -> None:
        names = {path.name for path in ngram_run.folder.iterdir()}
        assert {path.name for path in output.iterdir()} == names
        for name in names:
            assert (output / name).read_bytes() == (ngram_run.folder / name).read_bytes(), name
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
        for path in output.iterdir():
            path.unlink()
        output.rmdir()

    rng = random.Random(7)
    kills = 0
    while kills < attack.rounds(2, 35):
        process = start()
        process.join(rng.uniform(0, 2))  # about as long as a run takes
        process.kill()
        process.join(60)
        if process.exitcode == 0:
            check()
        else:
            assert process.exitcode == -signal.SIGKILL
            kills += 1
    if not output.exists() or (tmp_path / "model.training").exists():
        process = start()
        process.join(120)
        assert process.exitcode == 0
    check()
    attack.tried("kills", kills)
