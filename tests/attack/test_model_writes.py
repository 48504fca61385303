"""What changes a model leaves the old one or the new one, at every moment and on a full disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import rich_rows, write_rows

from adhominem import learn_machine_look, learn_prose, load, make_ensemble
from adhominem.cli import main
from adhominem.errors import ModelError
from adhominem.model import calibration as calibration_module
from adhominem.model import card as card_module
from adhominem.model import writing
from adhominem.model.folder import model_folder, model_hash, read_folder
from adhominem.training import teach as genres_module
from adhominem.training.calibrate import calibrate_model
from adhominem.training.teach import learn_genres
from adhominem.training.twin import calibrate_by_twin
from attack.damage import killed_at, with_room_for

TEXTS = [row["text"] for row in rich_rows("letters", 2, 2, "-writes-")]
CHANGED = "changed_since_calibration"
JOBS = ("genres", "prose", "machine", "calibrate")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def told(folder: Path) -> tuple[object, ...]:
    verifier = load(folder)
    answer = verifier.verify(TEXTS[0], TEXTS[2])
    codes = tuple(caution.code for caution in answer.warnings)
    return verifier.sha256, answer.log10_bayes_factor, codes


def codes(folder: Path) -> tuple[str, ...]:
    return tuple(caution.code for caution in load(folder).verify(TEXTS[0], TEXTS[2]).warnings)


def killed_writing(call: int, folder: Path, files: Mapping[str, bytes]) -> bool:
    return killed_at(call, lambda: writing.replace_files(folder, files))


class Sources:
    """Texts to teach a model with."""

    def __init__(self, folder: Path) -> None:
        self.sermons = write_rows(folder / "sermons.jsonl", rich_rows("notes", 25, 1, "-sermon-"))
        self.others = write_rows(folder / "others" / "sermons.jsonl", rich_rows("letters", 22, 1))
        people = [("letters", 6), ("notes", 6)]
        self.people = [
            write_rows(folder / f"{kind}.jsonl", rich_rows(kind, number, 4, "-people-"))
            for kind, number in people
        ]
        words = "Moreover, it is important to note that in conclusion balance matters;"
        texts = (" ".join(Random(at).choices(words.split(), k=220 + 11 * at)) for at in range(12))
        rows = [{"author": "m", "text": text} for text in texts]
        self.machine = write_rows(folder / "machine.jsonl", rows)
        self.known = write_rows(folder / "known.jsonl", rich_rows("letters", 40, 4, "-known-"))

    def jobs(self) -> dict[str, Callable[[Path], object]]:
        return {
            "genres": lambda model: learn_genres(model, [self.sermons]),
            "prose": lambda model: learn_prose(model, self.people, texts=20),
            "machine": lambda model: learn_machine_look(
                model, self.people, [self.machine], texts=20
            ),
            "calibrate": lambda model: calibrate_model(model, [self.known], cases=10),
        }


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("sources")
    (folder / "others").mkdir()
    return Sources(folder)


@pytest.fixture(scope="module")
def written(
    mixed_folder: Path, sources: Sources, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, bytes]]:
    """What each job hands to the one writer; nothing else of it changes a folder."""
    found: dict[str, dict[str, bytes]] = {}
    for name, job in sources.jobs().items():
        folder = Path(copytree(mixed_folder, tmp_path_factory.mktemp("written") / name))
        before = contents(folder)

        def remember(_: Path, files: Mapping[str, bytes], name: str = name) -> None:
            assert name not in found
            found[name] = dict(files)

        with pytest.MonkeyPatch.context() as patch:
            for module in (writing, calibration_module, genres_module, card_module):
                patch.setattr(module, "replace_files", remember)
            job(folder)
        assert contents(folder) == before
    return found


def test_genres_are_written_for_all_members_and_with_the_calibration(
    written: dict[str, dict[str, bytes]],
) -> None:
    styles = {f"{name}/styles.safetensors" for name in ("ngrams", "model", "profile")}
    assert set(written["genres"]) == {*styles, "calibration.json"}
    assert {*written["prose"], *written["machine"]} == {"prose.json", "machine.safetensors"}
    names = {name.partition("-")[0] for name in written["calibrate"]}
    assert names == {"calibration.json", "validation", "README.md"}


@pytest.mark.parametrize("job", JOBS)
def test_a_kill_at_any_step_leaves_the_old_or_the_new_model(
    job: str, written: dict[str, dict[str, bytes]], mixed_folder: Path, tmp_path: Path
) -> None:
    new = Path(copytree(mixed_folder, tmp_path / "new"))
    writing.replace_files(new, written[job])
    whole, before, after = contents(new), told(mixed_folder), told(new)
    assert before != after
    seen = []
    for call in range(1, 1_000):
        folder = Path(copytree(mixed_folder, tmp_path / "killed"))
        if not killed_writing(call, folder, written[job]):
            break
        if read_folder(folder).sha256 not in (entry[0] for entry in seen):
            seen.append(told(folder))
        assert read_folder(folder).sha256 == seen[-1][0]  # it never goes back
        writing.replace_files(folder, written[job])
        assert contents(folder) == whole
        folder.rename(tmp_path / f"killed-{call}")
    assert call > 15
    assert seen == [before, after]


def test_a_run_that_was_killed_ends_with_the_same_bytes_when_it_is_started_again(
    written: dict[str, dict[str, bytes]], sources: Sources, mixed_folder: Path, tmp_path: Path
) -> None:
    for job in ("genres", "prose"):
        new = Path(copytree(mixed_folder, tmp_path / f"{job}-new"))
        sources.jobs()[job](new)
        for call in (10, 20, 30, 40):
            folder = Path(copytree(mixed_folder, tmp_path / f"{job}-{call}"))
            killed_writing(call, folder, written[job])
            sources.jobs()[job](folder)
            assert contents(folder) == contents(new)


def test_what_one_run_left_is_tidied_up_by_another(
    written: dict[str, dict[str, bytes]], mixed_folder: Path, tmp_path: Path
) -> None:
    """Whether it counts already or not."""
    layouts = set()
    for call in range(3, 60, 3):
        folder = Path(copytree(mixed_folder, tmp_path / f"{call}"))
        killed_writing(call, folder, written["genres"])
        genres = load(folder).genres
        writing.replace_files(folder, written["prose"])
        assert load(folder).genres == genres
        left = {name for name in contents(folder) if name.endswith((".new", ".lock", ".partial"))}
        assert not left
        layouts.add(len(genres))
    assert layouts == {2, 3}


@pytest.mark.parametrize("job", JOBS)
def test_a_full_disk_leaves_the_old_model(
    job: str, written: dict[str, dict[str, bytes]], mixed_folder: Path, tmp_path: Path
) -> None:
    largest = max(map(len, written[job].values()))
    before = told(mixed_folder)
    for size in (0, 1, largest // 2, largest - 1):
        folder = Path(copytree(mixed_folder, tmp_path / f"{size}"))
        assert with_room_for(size, partial(writing.replace_files, folder, written[job])) == 3
        assert told(folder) == before
        assert contents(folder) == contents(mixed_folder)


def test_the_command_leaves_the_old_model_on_a_full_disk(
    sources: Sources, mixed_folder: Path, tmp_path: Path
) -> None:
    folder = Path(copytree(mixed_folder, tmp_path / "model"))
    assert with_room_for(1_024, lambda: learn_genres(folder, [sources.sermons])) == 3
    assert contents(folder) == contents(mixed_folder)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_other_names_of_the_same_files_keep_their_contents(
    link: Callable[..., None],
    written: dict[str, dict[str, bytes]],
    mixed_folder: Path,
    tmp_path: Path,
) -> None:
    origin = Path(copytree(mixed_folder, tmp_path / "origin"))
    writing.replace_files(origin, {"prose.json": written["prose"]["prose.json"] + b" "})
    before = contents(origin)
    folder = Path(
        copytree(origin, tmp_path / "linked", copy_function=lambda one, other: link(one, other))
    )
    for job in JOBS:
        writing.replace_files(folder, written[job])
    assert contents(origin) == before
    assert contents(folder) != before
    load(folder)


def test_a_model_that_changes_while_it_is_read_is_read_as_one(
    written: dict[str, dict[str, bytes]],
    mixed_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from adhominem.model import files

    new = Path(copytree(mixed_folder, tmp_path / "new"))
    writing.replace_files(new, written["genres"])
    states = {model_hash(mixed_folder), model_hash(new)}
    real = files.read_files
    for number in range(25):  # of files that are read before the model changes
        folder = Path(copytree(mixed_folder, tmp_path / f"{number}"))
        left = [number]

        def read(
            place: Path, names: Mapping[str, int], folder: Path = folder, left: list[int] = left
        ) -> dict[str, Any]:
            found = {}
            for name, largest in names.items():
                if left[0] == 0:
                    with pytest.MonkeyPatch.context() as patch:
                        patch.setattr(files, "read_files", real)
                        writing.replace_files(folder, written["genres"])
                left[0] -= 1
                found |= real(place, {name: largest})
            return found

        monkeypatch.setattr(files, "read_files", read)
        found = read_folder(folder).sha256
        monkeypatch.setattr(files, "read_files", real)
        assert found in states
        assert left[0] < 0


# Members that do not belong together


def test_members_that_know_different_genres_are_refused(
    written: dict[str, dict[str, bytes]], mixed_folder: Path, tmp_path: Path
) -> None:
    """As a run of an earlier version left them, which wrote one after the other."""
    folder = Path(copytree(mixed_folder, tmp_path / "model"))
    (folder / "ngrams" / "styles.safetensors").write_bytes(
        written["genres"]["ngrams/styles.safetensors"]
    )
    with pytest.raises(ModelError, match="do not belong together") as error:
        load(folder)
    for name, count in (("ngrams", 3), ("profile", 2)):
        path = folder / name / "styles.safetensors"
        assert f"{path} ({count} genres)" in str(error.value)
    assert "Copy the whole model again" in str(error.value)


def test_members_of_another_generation_are_refused_though_their_genres_have_the_same_names(
    sources: Sources, mixed_folder: Path, tmp_path: Path
) -> None:
    one, other = (Path(copytree(mixed_folder, tmp_path / name)) for name in ("one", "other"))
    learn_genres(one, [sources.sermons])
    learn_genres(other, [sources.others])
    assert load(one).genres == load(other).genres
    styles = Path("profile", "styles.safetensors")
    (one / styles).write_bytes((other / styles).read_bytes())
    with pytest.raises(ModelError, match="do not belong together") as error:
        load(one)
    assert str(one / styles) in str(error.value)
    assert "generation.json" in str(error.value)
    made = make_ensemble([one], tmp_path / "again").model  # as the message says, for its members
    assert load(made).genres == load(other).genres


def test_an_ensemble_is_not_made_of_members_that_know_different_genres(
    sources: Sources, mixed_folder: Path, tmp_path: Path
) -> None:
    alone = Path(copytree(mixed_folder / "ngrams", tmp_path / "alone"))
    learn_genres(alone, [sources.sermons])
    with pytest.raises(ModelError, match="know the same genres"):
        make_ensemble([alone, mixed_folder / "profile"], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_an_ensemble_of_a_model_that_a_killed_run_left_has_members_of_one_generation(
    written: dict[str, dict[str, bytes]], mixed_folder: Path, tmp_path: Path
) -> None:
    new = Path(copytree(mixed_folder, tmp_path / "new"))
    writing.replace_files(new, written["genres"])
    found = set()
    for call in range(20, 60, 2):
        folder = Path(copytree(mixed_folder, tmp_path / f"{call}"))
        killed_writing(call, folder, written["genres"])
        made = make_ensemble([folder], tmp_path / f"{call}-made").model
        found.add(len(load(made).genres))
    assert found == {2, 3}


@pytest.mark.parametrize(
    "record",
    [
        {"../x.safetensors": "0" * 64},
        {"ngrams/../../x": "0" * 64},
        {"/etc/passwd": "0" * 64},
        {"prose.json": "../../x"},
        {"prose.json": 5},
        ["prose.json"],
    ],
)
def test_a_record_that_names_files_elsewhere_is_refused(
    record: object, written: dict[str, dict[str, bytes]], mixed_folder: Path, tmp_path: Path
) -> None:
    folder = Path(copytree(mixed_folder, tmp_path / "model"))
    (folder / "generation.json").write_text(json.dumps({"files": record}), "utf-8")
    for act in (load, lambda model: writing.replace_files(model, written["prose"])):
        with pytest.raises(ModelError, match=r"damaged \(generation.json"):
            act(folder)


def test_the_shipped_model_has_no_record_and_no_caution() -> None:
    shipped = model_folder("general-en")
    assert not (shipped / "generation.json").exists()
    assert not load("general-en").changed


# Changed since it was calibrated


@pytest.fixture(scope="module")
def taught(mixed_folder: Path, sources: Sources, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(copytree(mixed_folder, tmp_path_factory.mktemp("taught") / "model"))
    learn_genres(folder, [sources.sermons])
    return folder


def test_a_model_that_was_taught_says_so_until_it_is_calibrated_again(
    taught: Path, sources: Sources, mixed_folder: Path, tmp_path: Path
) -> None:
    assert CHANGED not in codes(mixed_folder)
    assert CHANGED in codes(taught)
    folder = Path(copytree(taught, tmp_path / "model"))
    for job in ("prose", "machine"):  # which move no number
        sources.jobs()[job](folder)
    assert CHANGED in codes(folder)
    sources.jobs()["calibrate"](folder)
    assert CHANGED not in codes(folder)
    for job in ("prose", "machine"):
        sources.jobs()[job](folder)
    assert CHANGED not in codes(folder)
    twin = Path(copytree(taught, tmp_path / "twin"))
    calibrate_by_twin(twin, folder)
    assert CHANGED not in codes(twin)


def test_of_a_calibration_that_does_not_say_what_it_was_fitted_to_it_is_said_from_now_on(
    sources: Sources, mixed_folder: Path, tmp_path: Path
) -> None:
    folder = Path(copytree(mixed_folder, tmp_path / "model"))
    path = folder / "calibration.json"
    data = json.loads(path.read_text("utf-8"))
    del data["fitted_to"]
    path.write_text(json.dumps(data), "utf-8")
    (folder / "generation.json").unlink()
    assert CHANGED not in codes(folder)
    learn_genres(folder, [sources.sermons])
    assert CHANGED in codes(folder)


def test_members_that_were_exchanged_by_hand_are_told_of(
    taught: Path, mixed_folder: Path, tmp_path: Path
) -> None:
    folder = Path(copytree(mixed_folder, tmp_path / "model"))
    for name in ("ngrams", "model", "profile"):
        styles = Path(name, "styles.safetensors")
        (folder / styles).write_bytes((taught / styles).read_bytes())
    assert CHANGED in codes(folder)


def test_every_command_that_compares_texts_tells_of_it(taught: Path, tmp_path: Path) -> None:
    rows = rich_rows("letters", 4, 4, "-every-")
    for row in rows:
        folder = tmp_path / "people" / row["author"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{row['id'].rpartition('/')[2]}.txt").write_text(row["text"], "utf-8")
    one, other, *_ = people = sorted((tmp_path / "people").iterdir())
    pairs = [{"id": "1", "fandoms": ["", ""], "pair": [rows[0]["text"], rows[5]["text"]]}]
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pairs[0]) + "\n", "utf-8")
    corpus = write_rows(tmp_path / "corpus.jsonl", rows)
    index = tmp_path / "index"
    disputed, long = one / "0.txt", tmp_path / "long.txt"
    long.write_text(" ".join(row["text"] for row in rows[-4:]), "utf-8")
    commands = {
        "verify": [disputed, other],
        "rank": [disputed, tmp_path / "people"],
        "roll": [long, "--against", one, "--against", other],
        "cluster": [corpus],
        "predict": [tmp_path / "pairs.jsonl", "-o", tmp_path / "answers.jsonl"],
        "report": [disputed, other, "-o", tmp_path / "report.html"],
        "map": [corpus, "-o", tmp_path / "map.html"],
        "validate": [corpus],
        "search": [disputed, "--index", index],
        "link": ["--index", index],
    }
    made = CliRunner().invoke(
        main, ["index", str(corpus), "-o", str(index), "--model", str(taught), "--trials", "5"]
    )
    assert made.exit_code == 0, made.output
    assert len(people) == 4
    for command, given in commands.items():
        arguments = [command, *map(str, given), "--model", str(taught), "--json"]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, (command, done.output)
        assert "after it had been calibrated" in done.stdout, (command, done.stdout[:2_000])


def test_the_server_tells_of_it(taught: Path) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from adhominem.web.server import create_app
    from adhominem.web.service import Service

    client = TestClient(create_app(Service.open(taught)), base_url="http://127.0.0.1")
    answer = client.post("/api/verify", json={"first": TEXTS[0], "second": TEXTS[2]})
    assert answer.status_code == 200, answer.text
    assert CHANGED in {caution["code"] for caution in answer.json()["warnings"]}
