"""The commands: what they print where, what they leave, and how they end."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from conftest import SMALL_SETTINGS, SmallData, SmallRun

from adhominem import PackedCorpus, __version__, find_sources, read_pairs
from adhominem.cli import main

COMMANDS = sorted(main.commands)
JOBS = {"prepare": ["--jobs", "1"]}


def made_up(words: int, seed: object) -> str:
    rng = random.Random(f"{seed}")
    return " ".join("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 8))) for _ in range(words))


def rows(authors: int = 30, documents: int = 4, corpus: str = "a") -> list[dict[str, str]]:
    return [
        {
            "author": f"{corpus}{author}",
            "topic": f"topic {(author + number) % 3}",
            "work": f"work {number}",
            "id": f"{corpus}{author}/{number}",
            "text": made_up(20, (corpus, author, number)),
        }
        for author in range(authors)
        for number in range(documents)
    ]


def write(path: Path, lines: list[object]) -> Path:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A good corpus."""
    return write(tmp_path / "texts.jsonl", rows())


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A corpus with bad rows in lines 1 and 4."""
    good = rows()
    return write(tmp_path / "damaged.jsonl", ["{broken", *good[:2], {"author": "x"}, *good[2:]])


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def run_process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "adhominem", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        timeout=60,
    )


def test_the_commands_are_prepare_split_and_pairs() -> None:
    assert {"prepare", "split", "pairs"} <= set(COMMANDS)


@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_every_command_prints_a_table_and_ends_with_0(
    command: str, texts: Path, tmp_path: Path
) -> None:
    result = run(command, texts, "-o", tmp_path / "out", *JOBS.get(command, []))
    assert result.stderr == ""
    assert str(tmp_path / "out")[-20:] in result.stdout.replace("\n", "")
    expected = {"prepare": "120", "split": "train pairs", "pairs": "different authors"}
    assert expected[command] in result.stdout
    assert "{" not in result.stdout


@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_json_is_all_that_stdout_holds(command: str, texts: Path, tmp_path: Path) -> None:
    result = run(command, texts, "-o", tmp_path / "out", "--json", *JOBS.get(command, []))
    assert isinstance(json.loads(result.stdout), dict)
    assert result.stderr == ""


def strict_json(text: str) -> Any:
    """JSON as other languages read it: Python's reader takes NaN, too."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_prepare_writes_a_corpus_that_opens_and_says_what_is_in_it(
    texts: Path, tmp_path: Path
) -> None:
    other = write(tmp_path / "other.jsonl", rows(5, corpus="b"))
    out = tmp_path / "corpus"
    told = strict_json(run("prepare", texts, other, "-o", out, "--json", "--jobs", 1).stdout)
    corpus = PackedCorpus.open(out)
    assert told["documents"] == len(corpus) == 140
    assert told["authors"] == len(corpus.labels.author_names) == 35
    assert [part["name"] for part in told["corpora"]] == ["texts", "other"]
    assert told["skipped"] == []
    assert told["tokens"] == int(corpus.lengths.sum())


def test_prepare_leaves_out_the_steps_it_is_told_to(tmp_path: Path) -> None:
    quoted = [{"author": "a", "text": "“Yes” — no"}]
    texts = write(tmp_path / "texts.jsonl", quoted)
    for name, more in (("all", []), ("some", ["--without", "quotes", "--without", "dashes"])):
        run("prepare", texts, "-o", tmp_path / name, "--jobs", 1, *more)
    every, partly = (PackedCorpus.open(tmp_path / name) for name in ("all", "some"))
    assert set(every.description["normalisation"]) - set(partly.description["normalisation"]) == {
        "quotes",
        "dashes",
    }
    assert "“" in partly.types
    assert "“" not in every.types


def test_prepare_without_an_unknown_step_is_an_error(texts: Path, tmp_path: Path) -> None:
    result = run(
        "prepare", texts, "-o", tmp_path / "out", "--without", "spelling", "--jobs", 1, status=1
    )
    assert result.stderr.startswith("error: steps is ('spelling',); expected some of 'line_ends'")
    assert not (tmp_path / "out").exists()


def test_split_passes_its_options_on(texts: Path, tmp_path: Path) -> None:
    arguments = ("--shares", 0.5, 0.3, 0.2, "--topic-disjoint", "--seed", 5, "--json")
    report = strict_json(run("split", texts, "-o", tmp_path / "out", *arguments).stdout)
    assert report["options"]["shares"] == [0.5, 0.3, 0.2]
    assert report["options"]["topic_disjoint"] is True
    assert report["options"]["seed"] == 5
    assert report == json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))


def test_split_by_pairs_takes_what_pairs_has_written(texts: Path, tmp_path: Path) -> None:
    run("pairs", texts, "-o", tmp_path / "pairs")
    arguments = ("--by", "pairs", "--shares", 0.8, 0.1, 0.1)
    result = run("split", tmp_path / "pairs", "-o", tmp_path / "out", *arguments)
    assert "pairs of one epoch" not in result.stdout
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").glob("*/*")}
    in_pans_format = {
        f"{part}/{name}.jsonl" for part in ("dev", "test") for name in ("pairs", "truth")
    }
    assert found == in_pans_format | {"train/pairs.jsonl.zst"}


def test_split_tells_what_it_left_out(texts: Path, tmp_path: Path) -> None:
    arguments = ("--shares", 0.5, 0.3, 0.2, "--topic-disjoint")
    result = run("split", texts, "-o", tmp_path / "out", *arguments)
    assert "documents were left out to keep topics apart" in result.stdout


def test_pairs_passes_its_options_on(texts: Path, tmp_path: Path) -> None:
    arguments = (
        *("--balanced", "--same-author-across", "topic", "--different-authors-within", "topic"),
        *("--count", 12, "--seed", 3, "--json"),
    )
    told = strict_json(run("pairs", texts, "-o", tmp_path / "out", *arguments).stdout)
    assert (told["pairs"], told["same_author"], told["different_authors"]) == (12, 6, 6)
    pairs = [*read_pairs(tmp_path / "out")]
    assert len(pairs) == 12
    for pair in pairs:
        assert (pair.first.topic == pair.second.topic) is not pair.same_author
    assert told["leaks"]["same topic"] == {"auc": 0.0, "leaks": True}
    again = run("pairs", texts, "-o", tmp_path / "again", *arguments)
    assert strict_json(again.stdout) == told


def test_pairs_shows_leaks_in_its_table(texts: Path, tmp_path: Path) -> None:
    arguments = ("--same-author-across", "topic", "--different-authors-within", "topic")
    result = run("pairs", texts, "-o", tmp_path / "out", *arguments)
    assert [line.split()[-1] for line in result.stdout.splitlines() if "same topic" in line] == [
        "LEAKS"
    ]


def test_json_has_null_where_there_is_no_number(tmp_path: Path) -> None:
    texts = write(tmp_path / "texts.jsonl", rows(1))
    told = strict_json(run("pairs", texts, "-o", tmp_path / "out", "--json").stdout)
    assert told["different_authors"] == 0
    assert told["leaks"]["same topic"] == {"auc": None, "leaks": False}


def test_the_commands_work_one_after_another(texts: Path, tmp_path: Path) -> None:
    run("split", texts, "-o", tmp_path / "split", "--shares", 0.6, 0.2, 0.2)
    run("pairs", tmp_path / "split" / "dev", "-o", tmp_path / "dev", "--balanced")
    run("prepare", tmp_path / "split" / "train", "-o", tmp_path / "corpus", "--jobs", 1)
    (dev,) = find_sources(tmp_path / "split" / "dev")
    dev_authors = {document.author for document in dev.documents()}
    assert dev_authors.isdisjoint(PackedCorpus.open(tmp_path / "corpus").labels.author_names)
    drawn = {author for pair in read_pairs(tmp_path / "dev") for author in (pair.first.author,)}
    assert drawn <= dev_authors


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_skipped_rows_end_with_3_and_a_list_that_names_file_and_line(
    command: str, as_json: bool, damaged: Path, tmp_path: Path
) -> None:
    more = [*JOBS.get(command, []), *(["--json"] if as_json else [])]
    result = run(command, damaged, "-o", tmp_path / "out", *more, status=3)
    assert (tmp_path / "out").is_dir()
    lines = result.stderr.splitlines()
    assert lines[0] == "skipped 2 of the inputs:"
    assert lines[1].startswith(f"  {damaged}:1: not a line of JSON")
    assert lines[2].startswith(f"  {damaged}:4: the field 'text' is missing")
    assert len(lines) == 3
    if as_json:
        assert strict_json(result.stdout)["skipped"] == [line.strip() for line in lines[1:]]
    else:
        assert str(damaged) not in result.stdout


def test_a_long_list_of_skipped_rows_is_cut_and_json_has_all(tmp_path: Path) -> None:
    texts = write(tmp_path / "texts.jsonl", ["{"] * 30 + rows(3))
    result = run("pairs", texts, "-o", tmp_path / "out", "--json", status=3)
    lines = result.stderr.splitlines()
    assert len(lines) == 22
    assert lines[-1] == "  and 10 more; --json lists them all"
    assert len(strict_json(result.stdout)["skipped"]) == 30


ERRORS = {
    "no such file": ("nowhere.jsonl", "there is no such file or folder"),
    "nothing in it": ("empty", "nothing to read in this folder"),
}


@pytest.mark.parametrize("problem", ERRORS)
@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_an_error_is_one_line_and_ends_with_1(command: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    name, message = ERRORS[problem]
    result = run(command, tmp_path / name, "-o", tmp_path / "out", *JOBS.get(command, []), status=1)
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {tmp_path / name}: {message}")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_an_output_that_exists_is_refused_and_left_alone(
    command: str, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("the only copy", "utf-8")
    result = run(command, texts, "-o", out, *JOBS.get(command, []), status=1)
    assert result.stderr == f"error: {out} exists already; remove it, or choose another folder\n"
    assert [(file.name, file.read_text("utf-8")) for file in out.iterdir()] == [
        ("mine.txt", "the only copy")
    ]


@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_an_output_that_cannot_be_made_is_an_error_of_one_line(
    command: str, texts: Path, tmp_path: Path
) -> None:
    result = run(command, texts, "-o", texts / "out", *JOBS.get(command, []), status=1)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert str(texts) in result.stderr


@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_the_folder_one_stands_in_is_refused_as_output(
    command: str, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = run(command, texts, "-o", ".", *JOBS.get(command, []), status=1)
    assert result.stderr == "error: the output is the folder you are in; choose a new one\n"


def test_a_link_to_an_empty_folder_is_filled(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    run("pairs", texts, "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "pairs.jsonl").is_file()


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", "--shares", "0.5", "0.6", "0.2"],
        ["split", "--shares", "nan", "0.5", "0.5"],
        ["pairs", "--balanced", "--count", "1"],
    ],
    ids=" ".join,
)
def test_options_that_cannot_work_end_with_1(
    arguments: list[str], texts: Path, tmp_path: Path
) -> None:
    result = run(*arguments, texts, "-o", tmp_path / "out", status=1)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["unknown"], "No such command"),
        (["split"], "Missing argument"),
        (["split", "texts.jsonl"], "Missing option '-o'"),
        (["split", "texts.jsonl", "-o", "out", "--seed", "-1"], "--seed"),
        (["split", "texts.jsonl", "-o", "out", "--shares", "1"], "--shares"),
        (["pairs", "texts.jsonl", "-o", "out", "--count", "0"], "--count"),
        (["pairs", "texts.jsonl", "-o", "out", "--same-author-across", "x"], "'work', 'topic'"),
        (["prepare", "texts.jsonl", "-o", "out", "--jobs", "0"], "--jobs"),
        (["train", "texts.jsonl"], "Missing option '-o'"),
        (["train", "texts.jsonl", "-o", "out", "--members", "0"], "--members"),
        (["train", "texts.jsonl", "-o", "out", "--seed", "-1"], "--seed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_wrong_call_ends_with_2(arguments: list[str], message: str) -> None:
    assert message in run(*arguments, status=2).stderr


# train

SMALL = [*("--device", "cpu", *(part for setting in SMALL_SETTINGS for part in ("--set", setting)))]


def test_train_does_what_the_function_does(
    small_data: SmallData, small_run: SmallRun, tmp_path: Path
) -> None:
    inputs = (small_data.corpus_folder, "--dev", small_data.dev_folder)
    result = run("train", *inputs, "-o", tmp_path / "model", *SMALL)
    for name in ("model.safetensors", "tokenizer.json", "training.jsonl", "README.md"):
        assert (tmp_path / "model" / name).read_bytes() == (small_run.folder / name).read_bytes()
    line = [line for line in result.stdout.splitlines() if line.split()[:1] == ["dev"]][-1]
    assert line.split()[1] == f"{small_run.model.scores['dev']['auc']:.3f}"
    shown = [line.partition(":")[0] for line in result.stderr.splitlines()]
    assert shown == ["epoch 1", "epoch 2", "epoch 3"]
    for line, event in zip(
        result.stderr.splitlines(),
        [event for event in small_run.events if event["event"] == "epoch"],
        strict=True,
    ):
        assert f"bayes_factor {event['losses']['bayes_factor']:.3f}" in line
        assert line.endswith(f"dev AUC dev {event['dev_auc']:.3f}")


def test_train_takes_raw_texts_a_preset_settings_a_seed_and_members(
    small_data: SmallData, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("{broken\n" + small_data.texts.read_text("utf-8"), "utf-8")
    out = tmp_path / "models"
    more = ("--preset", "tiny", "--set", "training.epochs=1", "--seed", 7, "--members", 2)
    result = run(
        *("train", damaged, "--dev", small_data.pairs, "-o", out, *more, "--device", "cpu"),
        "--json",
        status=3,
    )
    told = strict_json(result.stdout)
    assert told["model"] == str(out)
    assert [set(scores) for scores in told["members"]] == [{"pairs"}] * 2
    assert 0 <= told["scores"]["pairs"]["auc"] <= 1
    assert told["skipped"] == [f"{damaged}:1: {told['skipped'][0].split(': ', 1)[1]}"]
    lines = result.stderr.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["member 1, epoch 1", "member 2, epoch 1"]
    assert lines[2] == "skipped 1 of the inputs:"
    configs = [
        json.loads((out / f"member-{number}" / "config.json").read_text())["config"]
        for number in (1, 2)
    ]
    assert [config["training"]["seed"] for config in configs] == [7, 8]
    assert configs[0]["training"]["epochs"] == 1
    assert configs[0]["encoder"]["lev_size"] == 16


def test_train_without_dev_and_with_resume(small_data: SmallData, tmp_path: Path) -> None:
    arguments = ("train", small_data.corpus_folder, "-o", tmp_path / "model", *SMALL)
    first = run(*arguments)
    assert "(no dev set)" in first.stderr
    again = run(*arguments, status=1)
    assert "exists already; remove it, or choose another folder" in again.stderr
    resumed = run(*arguments, "--resume", "--json")
    assert strict_json(resumed.stdout)["scores"] == {}
    assert resumed.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--preset", "huge"],
            "there is no preset 'huge'; expected one of: pan20, pan21, general, tiny, ngrams, "
            "ngram-profile, ngram-languages, tiny-ngrams",
        ),
        (["--set", "encoder.size=3"], "there is no setting 'encoder.size'; expected one of: "),
        (
            ["--set", "lev_size"],
            "'lev_size' is not a setting; expected one like encoder.lev_size=80",
        ),
        (["--set", "training.patience=0"], "config.training.patience is 0; expected 1 to"),
        (
            ["--set", "training.checkpoint_minutes=-1"],
            "config.training.checkpoint_minutes is -1.0; expected 0 or",
        ),
        (
            ["--preset", "tiny", "--device", "tpu"],
            "the device is 'tpu'; expected cpu, cuda or auto",
        ),
        (["--dev", "nowhere"], "nowhere: there is no such file or folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_train_refuses_what_cannot_work_in_one_line(
    arguments: list[str], message: str, small_data: SmallData, tmp_path: Path
) -> None:
    result = run("train", small_data.corpus_folder, "-o", tmp_path / "out", *arguments, status=1)
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_process_of_torchrun_that_is_not_the_first_says_nothing_but_errors(
    small_data: SmallData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adhominem.paper import distributed

    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr(distributed, "process_group", lambda device: nullcontext())
    arguments = ("train", small_data.corpus_folder, "-o", tmp_path / "model", *SMALL)
    result = run(*arguments)
    assert (result.stdout, result.stderr) == ("", "")
    assert run(*arguments, status=1).stderr.startswith("error: ")


def example_in(command: click.Command) -> list[str]:
    """The lines of a help text that show how to call the command."""
    text = command.get_help(click.Context(command, info_name=command.name))
    return [line.split() for line in text.splitlines() if line.strip().startswith("adhominem ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_shows_an_example_that_parses(command: str) -> None:
    result = run(command, "--help")
    examples = example_in(main.commands[command])
    assert examples
    for _, name, *arguments in examples:
        assert name == command
        assert " ".join(arguments) in " ".join(result.stdout.split())
        main.commands[command].make_context(command, list(arguments))  # raises a UsageError


def test_the_help_names_every_command_with_a_line_on_each() -> None:
    lines = run("--help").stdout.splitlines()
    for command in COMMANDS:
        (line,) = [line for line in lines if line.split()[:1] == [command]]
        assert len(line.split()) > 3


def test_the_module_runs_as_the_command_and_tells_its_version() -> None:
    done = run_process("--version")
    assert (done.stdout, done.stderr) == (f"adhominem {__version__}\n", "")
    assert done.returncode == 0


def test_a_process_keeps_warnings_out_of_its_json(tmp_path: Path) -> None:
    for number in range(25):
        path = tmp_path / "letters" / f"author{number % 5}_{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"a caf\xe9 in town, number {number}".encode("cp1252"))
    (tmp_path / "letters" / "author1_x.txt").write_bytes(b"\0\1\2")
    done = run_process("pairs", tmp_path / "letters", "-o", tmp_path / "out", "--json")
    assert done.returncode == 3
    assert strict_json(done.stdout)["pairs"] == 12
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 21
    assert "is not UTF-8; read as CP1252" in warned[0]
    assert warned[-1] == "warning: and 5 more of these"
    assert "author1_x.txt: this is binary data" in done.stderr
    assert "Traceback" not in done.stderr
    assert ".py" not in done.stderr


def test_a_process_that_fails_shows_no_traceback(tmp_path: Path) -> None:
    done = run_process("split", tmp_path / "nowhere", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"error: {tmp_path / 'nowhere'}: there is no such file or folder; look at the name and "
        "the place"
    ]


HEAVY = {"torch", "matplotlib", "scipy", "tokenizers", "numpy", "sklearn", "rich", "zstandard"}


@pytest.mark.parametrize(
    "code",
    [
        "import adhominem",
        "import adhominem; adhominem.__version__; dir(adhominem)",
        "from adhominem.cli import main; main(['--help'], standalone_mode=False)",
        "from adhominem.cli import main; main(['--version'], standalone_mode=False)",
    ],
)
def test_neither_the_import_nor_the_help_loads_anything_heavy(code: str) -> None:
    report = "import sys; print('\\n' + ' '.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {report}"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "adhominem" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("command", ["prepare", "split", "pairs"])
def test_a_command_that_needs_no_tokenizer_or_network_loads_none(
    command: str, texts: Path, tmp_path: Path
) -> None:
    call = f"main([{command!r}, {str(texts)!r}, '-o', {str(tmp_path / 'out')!r}, '--json'])"
    code = (
        "import sys\nfrom adhominem.cli import main\n"
        f"try:\n    {call}\nexcept SystemExit as end:\n    print(end.code, *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, *loaded = done.stdout.splitlines()[-1].split()
    assert status == "0"
    unneeded = {"torch", "matplotlib", "scipy", "safetensors", "tensorboard"}
    assert not (unneeded if command == "prepare" else unneeded | {"tokenizers"}) & set(loaded)
