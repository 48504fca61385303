"""Models, corpora, checkpoints and reports that somebody damaged, or made to do harm.

Each must end in an answer or in the error that says what is wrong with it: soon, and without
taking much memory.
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import NgramRun, SmallRun, rich_rows

from adhominem import PackedCorpus, load
from adhominem.errors import AdHominemError, CheckpointError, CorpusError, InputError, ModelError
from adhominem.model.folder import member_folders
from adhominem.questions.report.document import report_page
from adhominem.questions.report.formats import read_report
from adhominem.questions.report.report import make_report
from attack.conftest import Attack
from attack.damage import damaged, damaged_json, kept, mutated

TEXTS = [row["text"] for row in rich_rows("letters", 2, 2, "-attack-")]
ROOM = 3 * 2**29  # bytes beyond what the process has already
SECONDS = 30


@contextmanager
def bounded() -> Iterator[None]:
    """No more than some memory, and some seconds: what hangs is a failure."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)

    def late(*_: object) -> None:
        pytest.fail(f"it took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, hard))
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # numbers that overflow
            yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def numbers(told: Any) -> Iterator[float]:
    if isinstance(told, dict | list | tuple):
        for each in told.values() if isinstance(told, dict) else told:
            yield from numbers(each)
    elif isinstance(told, int | float):
        yield told


def answer(folder: Path) -> None:
    """An answer that is one; else the error of a damaged model."""
    told = load(folder).verify(TEXTS[0], TEXTS[2]).to_json()
    assert all(math.isfinite(number) for number in numbers(told))


def endure(
    act: Callable[[], object], error: type[AdHominemError], what: str, path: Path
) -> AdHominemError | None:
    """Do it, within bounds; what it said, if it was an error of this kind."""
    try:
        with bounded():
            act()
    except error as found:
        message = str(found)
        assert len(message) < 2_000
        places = (path.name, path.parent.name, str(path.parent.parent))
        assert any(place in message for place in places)
        return found
    except BaseException as other:
        other.add_note(f"{what}: {path}")
        raise
    return None


def damage_all(
    files: list[Path],
    act: Callable[[], object],
    error: type[AdHominemError],
    attack: Attack,
    rounds: int,
    what: str,
) -> None:
    """Damage one file after the other, in one way after the other."""
    errors = 0
    for number in range(rounds):
        path = files[number % len(files)]
        with kept(path) as data:
            done = damaged(path, data, Random(f"{what} {number}"))
            errors += endure(act, error, f"{done}, round {number}", path) is not None
    act()  # all is well again
    assert errors > rounds / 3
    attack.tried(what, rounds)


READ = ("config.json", "model.safetensors", "tokenizer.json", "ngrams.json", "styles.safetensors")


@pytest.fixture(scope="module")
def ensemble(mixed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(mixed_folder, tmp_path_factory.mktemp("attack") / "mixed"))


def test_a_damaged_network_answers_or_says_what_is_wrong(
    small_run: SmallRun, tmp_path: Path, attack: Attack
) -> None:
    folder = Path(shutil.copytree(small_run.folder, tmp_path / "model"))
    files = [folder / name for name in READ]
    files = [path for path in files if path.exists()]
    rounds = attack.rounds(60, 800)
    damage_all(files, lambda: answer(folder), ModelError, attack, rounds, "damaged models")


def test_a_damaged_ngram_model_answers_or_says_what_is_wrong(
    ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    folder = Path(shutil.copytree(ngram_run.folder, tmp_path / "ngrams"))
    files = [folder / name for name in READ]
    files = [path for path in files if path.exists()]
    rounds = attack.rounds(60, 800)
    damage_all(files, lambda: answer(folder), ModelError, attack, rounds, "damaged models")


def test_a_damaged_ensemble_answers_or_says_what_is_wrong(ensemble: Path, attack: Attack) -> None:
    own = [path for path in ensemble.iterdir() if path.is_file() and path.name != "README.md"]
    assert {path.name for path in own} >= {"config.json", "calibration.json"}
    (ensemble / "genres.json").write_text('{"letters": "letters of old"}', "utf-8")
    profile = [
        ensemble / "profile" / name for name in READ if (ensemble / "profile" / name).exists()
    ]
    files = [*own, ensemble / "genres.json", *own, *profile]
    rounds = attack.rounds(60, 800)
    damage_all(files, lambda: answer(ensemble), ModelError, attack, rounds, "damaged models")


def test_a_damaged_calibration_is_reported_with_or_refused(ensemble: Path, attack: Attack) -> None:
    """The report reads more of it: the sets, the measures, the pairs behind it."""
    files = [ensemble / "calibration.json", *ensemble.glob("validation*")]

    def report() -> None:
        made = make_report(load(ensemble), TEXTS[0], TEXTS[2], draws=3, model=ensemble)
        assert all(math.isfinite(number) for number in numbers(made.to_json()))

    rounds = attack.rounds(12, 300)
    damage_all(files, report, ModelError, attack, rounds, "damaged models")


@pytest.mark.parametrize(
    "names",
    [
        ["../ngrams"],
        ["/etc"],
        ["."],
        [""],
        ["ngrams/"],
        ["out"],
        ["out", "ngrams"],
        ["inside"],
        ["ngrams", "ngrams"],
        [],
        ["ngrams"] * 10_000,
        ["a" * 10_000],
        ["a\x00b"],
        [7],
        "ngrams",
        {"ngrams": 1},
        None,
    ],
    ids=lambda names: str(names)[:20],
)
def test_members_lie_in_the_folder_of_their_ensemble(
    names: Any, ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    shutil.copytree(ngram_run.folder, folder / "ngrams")
    shutil.copytree(ngram_run.folder, tmp_path / "ngrams")
    (folder / "out").symlink_to(tmp_path / "ngrams")
    (folder / "inside").symlink_to(folder)
    config = {"format": 2, "architecture": "ensemble", "adhominem": "0", "members": ["ngrams"]}
    config["lead"] = "ngrams"
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    answer(folder)
    (folder / "config.json").write_text(json.dumps({**config, "members": names}), "utf-8")
    with pytest.raises(ModelError), bounded():
        answer(folder)
    with pytest.raises(ModelError), bounded():
        member_folders(folder)
    attack.tried("damaged models")


SIZES = [
    ("data", "vocabulary", "characters_per_token"),
    ("data", "windows", "hop"),
    ("data", "windows", "overlap"),
    ("data", "windows", "max_windows"),
    ("encoder", "lev_size"),
    ("encoder", "window_lstm_size"),
    ("encoder", "character_filter_width"),
    ("loss", "projection_size"),
]
NGRAM_SIZES = [("lev_size",), ("ngrams", "longest"), ("ngrams", "unmasked"), ("ngrams", "shapes")]


@pytest.mark.parametrize("value", [10**5, 10**9, 10**18, 10**400, -1, 1e300])
@pytest.mark.parametrize("place", SIZES + NGRAM_SIZES, ids=".".join)
def test_no_size_in_the_settings_takes_more_memory_or_time_than_a_model_may(
    place: tuple[str, ...],
    value: float,
    small_run: SmallRun,
    ngram_run: NgramRun,
    tmp_path: Path,
    attack: Attack,
) -> None:
    source = small_run.folder if place in SIZES else ngram_run.folder
    folder = Path(shutil.copytree(source, tmp_path / "model"))
    data = json.loads((folder / "config.json").read_text("utf-8"))
    room = data["config"]
    for name in place[:-1]:
        room = room[name]
    room[place[-1]] = value
    (folder / "config.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(ModelError, match=place[-1] if value != 10**5 else None), bounded():
        answer(folder)
    attack.tried("damaged models")


def test_ngrams_beyond_what_the_settings_say_are_refused(
    ngram_run: NgramRun, tmp_path: Path, attack: Attack
) -> None:
    folder = Path(shutil.copytree(ngram_run.folder, tmp_path / "model"))
    path = folder / "ngrams.json"
    for name, value in (
        ("longest", 10**9),
        ("unmasked", 10**9),
        ("symbols", [f"s{at}" for at in range(200_000)]),
        ("tokens", ["the", "the"]),
        ("tokens", ["the", None]),
    ):
        with kept(path) as data:
            path.write_text(json.dumps({**json.loads(data), name: value}), "utf-8")
            with pytest.raises(ModelError, match=rf"ngrams\.json: .*{name}"), bounded():
                answer(folder)
        attack.tried("damaged models")


def test_a_damaged_corpus_is_read_or_says_what_is_wrong(
    small_run: SmallRun, tmp_path: Path, attack: Attack
) -> None:
    folder = Path(shutil.copytree(small_run.data.dev_folder, tmp_path / "corpus"))

    def read() -> None:
        corpus = PackedCorpus.open(folder)
        counts = corpus.count_types(range(len(corpus)))
        assert counts.sum() == len(corpus.tokens)
        assert len(corpus.topics) == len(corpus.labels.topic_names)
        assert all(corpus.labels.author_names[each] for each in corpus.labels.author)

    files = [folder / name for name in ("corpus.json", "tables.npz", "tokens.bin")]
    rounds = attack.rounds(90, 1_500)
    damage_all(files, read, CorpusError, attack, rounds, "damaged corpora")


def test_a_damaged_checkpoint_is_gone_on_with_or_says_what_is_wrong(
    small_run: SmallRun, tmp_path: Path, attack: Attack
) -> None:
    import torch

    from adhominem.paper.losses import SiameseModel
    from adhominem.training.checkpoint import Progress, load_checkpoint, save_checkpoint

    words = small_run.model.vocabulary
    sizes = len(words.token_types), len(words.characters)

    def model() -> tuple[SiameseModel, torch.optim.Adam]:
        made = SiameseModel(*sizes, small_run.config.encoder, small_run.config.loss)
        return made, torch.optim.Adam(made.parameters())

    made, optimiser = model()
    for parameter in made.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    best = {name: value.clone() for name, value in made.state_dict().items()}
    progress = Progress(epoch=1, best_epoch=0, fingerprint="x")
    progress.count({"loss": 0.5})
    save_checkpoint(tmp_path, made, optimiser, best, progress)

    def read() -> None:
        again, other = model()
        found, weights = load_checkpoint(tmp_path, again, other, "x")
        found.mean_losses()
        if weights:
            again.load_state_dict(weights)
        for parameter in again.parameters():
            parameter.grad = torch.ones_like(parameter)
        other.step()

    files = [tmp_path / "latest.json", *tmp_path.glob("checkpoint-*/*"), tmp_path / "latest.json"]
    rounds = attack.rounds(40, 800)
    damage_all(files, read, CheckpointError, attack, rounds, "damaged checkpoints")


def test_a_damaged_report_is_read_or_says_what_is_wrong(
    small_run: SmallRun, tmp_path: Path, attack: Attack
) -> None:
    page = report_page(make_report(load(small_run.folder), TEXTS[0], TEXTS[2], draws=3))
    head, opening, rest = page.partition('id="adhominem-report">')
    data, closing, tail = rest.partition("</script>")
    path = tmp_path / "report.html"
    rounds = attack.rounds(60, 2_000)
    errors = 0
    for number in range(rounds):
        rng = Random(f"reports {number}")
        if rng.random() < 0.8:
            changed = json.dumps(mutated(json.loads(data), rng)).encode("utf-8", "surrogatepass")
        else:
            changed = damaged_json(data.encode(), rng)
        path.write_bytes(f"{head}{opening}".encode() + changed + f"{closing}{tail}".encode())

        def read() -> None:
            report_page(read_report(path).report)

        errors += endure(read, InputError, f"round {number}", path) is not None
    assert errors > rounds / 3
    attack.tried("damaged reports", rounds)
