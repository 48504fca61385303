"""Settings for all tests, and a small training run that many of them look at."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from filelock import FileLock
from hypothesis import settings

from adhominem.text.normalisation import Normaliser

if TYPE_CHECKING:
    from adhominem.model.member import Model, NgramModel
    from adhominem.ngrams.config import NgramConfig
    from adhominem.paper.config import Config
    from adhominem.text.corpus import PackedCorpus

# A busy machine is no reason to fail: what takes long shows in `pytest --durations`.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

WORDS = ["the", "a", "of", "and", "to", "in", "is", "it", "that", "was", "he", "for", "on", "as"]


# What takes long to make is made once a run, by the first of the worker processes that needs it.
# Tests only read it: those that change such a folder make a copy.
MadeOnce = Callable[[str, Callable[[Path], Any]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """A folder of this name, which all worker processes share."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent

    def folder_of(name: str, make: Callable[[Path], Any]) -> Path:
        folder, done = root / f"shared-{name}", root / f"shared-{name}.done"
        with FileLock(f"{folder}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return folder_of


def any_words(count: int) -> str:
    """Some words, each a token, without a passage that is repeated."""
    return " ".join(random.Random(count).choices(WORDS, k=count))


def made_up_rows(authors: int, documents: int, name: str) -> list[dict[str, str]]:
    """Texts by authors who each have words, and a punctuation mark, that they like."""
    found = []
    for author in range(authors):
        habits = random.Random(f"{name} {author}")
        liked = habits.choices(WORDS, k=4) + [habits.choice([",", ";", "!", "..."])] * 2
        for number in range(documents):
            rng = random.Random(f"{name} {author} {number}")
            words = rng.choices(WORDS + 8 * liked, k=rng.randint(25, 90))
            found.append(
                {
                    "author": f"{name}{author}",
                    "topic": rng.choice(["", "cats and dogs", "ships"]),
                    "work": f"work {number}",
                    "id": f"{name}{author}/{number}",
                    "text": " ".join(words),
                }
            )
    return found


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@dataclass(frozen=True)
class SmallData:
    """Texts of a few authors, and pairs of others."""

    texts: Path  # as raw texts
    pairs: Path
    corpus_folder: Path  # as packed
    dev_folder: Path
    corpus: PackedCorpus
    dev: dict[str, PackedCorpus]


@pytest.fixture(scope="session")
def small_data(made_once: MadeOnce) -> SmallData:
    def make(folder: Path) -> None:
        texts = write_rows(folder / "texts.jsonl", made_up_rows(9, 5, "t"))
        pack(folder, texts, made_up_rows(8, 4, "d"))

    folder = made_once("small-data", make)
    return data_in(folder, folder / "texts.jsonl")


def pack(folder: Path, texts: Path, others: list[dict[str, str]]) -> None:
    """Prepare texts for a training, and pairs of others as its dev set."""
    from adhominem import find_sources, prepare, prepare_pairs, write_pair_set

    rows = write_rows(folder / "others.jsonl", others)
    write_pair_set(find_sources(rows), folder / "pairs")
    prepare(find_sources(texts), folder / "corpus")
    prepare_pairs(folder / "pairs", folder / "dev")


def data_in(folder: Path, texts: Path) -> SmallData:
    """What `pack` has put into a folder."""
    from adhominem import PackedCorpus

    corpus, dev = folder / "corpus", folder / "dev"
    opened = PackedCorpus.open(corpus), {"dev": PackedCorpus.open(dev)}
    return SmallData(texts, folder / "pairs", corpus, dev, *opened)


def trained(made_once: MadeOnce, name: str, data: SmallData, config: Any) -> Any:
    """A model's folder, with nothing beside it, the model in it, and the events of its training."""
    import torch

    from adhominem import train
    from adhominem.model.folder import read_models

    torch.set_num_threads(1)  # the order of sums, and so the last bits, must not depend on it

    def make(folder: Path) -> None:
        events: list[dict[str, Any]] = []
        train(
            data.corpus,
            data.dev,
            folder / "run" / name,
            config=config,
            device="cpu",
            on_event=events.append,
        )
        write_rows(folder / "events.jsonl", events)

    folder = made_once(name, make)
    (model,) = read_models(folder / "run" / name)
    events = [
        json.loads(line) for line in (folder / "events.jsonl").read_text("utf-8").splitlines()
    ]
    return folder / "run" / name, model, events


SMALL_SETTINGS = (  # dropout stays on: a run must repeat its masks, too
    f"data.normaliser.steps={json.dumps(Normaliser().steps)}",
    "data.hidden_topics=0.2",
    "data.windows.spread=true",
    "encoder.rescale_word_vectors=true",
    "training.patience=10",
    "data.vocabulary.token_types=20",
    "data.windows.hop=8",
    "data.windows.overlap=2",
    "data.windows.max_windows=6",
    "encoder.character_size=3",
    "encoder.character_filters=4",
    "encoder.word_vector_size=6",
    "encoder.window_lstm_size=4",
    "encoder.document_lstm_size=4",
    "encoder.attention_size=5",
    "encoder.lev_size=5",
    "training.epochs=3",
    "training.batch_pairs=5",
    "training.max_windows=6",
    "training.learning_rate=0.01",
    "training.masks=document",
    "loss.in_batch_negatives=1",
)


@pytest.fixture(scope="session")
def small_config() -> Config:
    from adhominem import preset

    return preset("pan20").with_settings(SMALL_SETTINGS)


@dataclass(frozen=True)
class SmallRun:
    """A finished run."""

    folder: Path
    model: Model
    events: list[dict[str, Any]]
    data: SmallData
    config: Config


@pytest.fixture(scope="session")
def small_run(small_data: SmallData, small_config: Config, made_once: MadeOnce) -> SmallRun:
    """Trained once, with all that belongs to it."""
    run = trained(made_once, "model", small_data, small_config)
    return SmallRun(*run, small_data, small_config)


# The n-gram models' part: texts of two kinds, of authors who are hard to tell apart.

FUNCTION_WORDS = """the of and to a in that it is was I he for with on as but at by his not this
    which from or her had have be so are if all my no when there one me what up"""
KINDS = {
    "letters": "dear Smith kindly received answer Thursday twenty-four humbly mother's obliged",
    "notes": "GPU router 1984 settings firmware broken-down reboot user's 3.5 quickly",
}


def rich_rows(kind: str, authors: int, documents: int, name: str = "") -> list[dict[str, str]]:
    """Texts of a kind, each with words of its own; an author's habits are slight."""
    found = []
    for author in range(authors):
        habits = random.Random(f"{kind} {name} {author}")
        liking = [habits.lognormvariate(0, 0.35) for _ in FUNCTION_WORDS.split()]
        comma, bang = habits.uniform(0.1, 0.2), habits.uniform(0.1, 0.4)
        for number in range(documents):
            rng = random.Random(f"{kind} {name} {author} {number}")
            stem = rng.choice("bdfgkmnprt") + rng.choice("aeiou")
            about = KINDS[kind].split() + [f"{stem}{end}" for end in ("ling", "ly", "s", "er")]
            words: list[str] = []
            for _ in range(rng.randint(12, 40)):
                sentence = rng.choices(FUNCTION_WORDS.split(), liking, k=rng.randint(4, 9))
                sentence += rng.choices(about, k=2)
                rng.shuffle(sentence)
                sentence[0] = sentence[0].capitalize()
                words += [word + "," * (rng.random() < comma) for word in sentence]
                words.append("!" if rng.random() < bang else ".")
            found.append(
                {
                    "author": f"{kind}{name}{author}",
                    # of the first and the second text no work is known, two others are of one
                    "work": f"work {max(number, 3)}" if number > 1 else "",
                    "id": f"{kind}{name}{author}/{number}",
                    "text": " ".join(words),
                }
            )
    return found


NGRAM_SETTINGS = (  # so few columns that the rarer n-grams are left out
    "ngrams.characters=700",
    "ngrams.tokens=70",
    "ngrams.bigrams=150",
    "ngrams.shaped_bigrams=250",
    "ngrams.unmasked=25",
    "ngrams.shapes=50",
    "lev_size=12",
    "training.companion=16",
    "training.batch_authors=8",
    "training.shortest=30",
    "training.longest=300",
    "training.weight_rate=0.03",
)


@pytest.fixture(scope="session")
def rich_data(made_once: MadeOnce) -> SmallData:
    """Texts of two kinds; pairs of other authors of one of them."""

    def make(folder: Path) -> None:
        (folder / "texts").mkdir()
        for kind in KINDS:
            write_rows(folder / "texts" / f"{kind}.jsonl", rich_rows(kind, 14, 5))
        pack(folder, folder / "texts", rich_rows("letters", 24, 4, "-dev-"))

    folder = made_once("rich-data", make)
    return data_in(folder, folder / "texts")


@pytest.fixture(scope="session")
def ngram_config() -> NgramConfig:
    from adhominem.ngrams.config import NGRAM_PRESETS

    return NGRAM_PRESETS["tiny-ngrams"].with_settings(NGRAM_SETTINGS)


@dataclass(frozen=True)
class NgramRun:
    """A finished run."""

    folder: Path
    model: NgramModel
    events: list[dict[str, Any]]
    data: SmallData
    config: NgramConfig


@pytest.fixture(scope="session")
def ngram_run(rich_data: SmallData, ngram_config: NgramConfig, made_once: MadeOnce) -> NgramRun:
    """An n-gram model, trained once."""
    run = trained(made_once, "ngrams", rich_data, ngram_config)
    return NgramRun(*run, rich_data, ngram_config)


# Models that can be explained: a profile, and all kinds of member together.


@pytest.fixture(scope="session")
def profile_folder(rich_data: SmallData, ngram_config: NgramConfig, made_once: MadeOnce) -> Path:
    """An n-gram profile; it knows more n-grams than `ngram_run`, most have their own dimension."""
    config = ngram_config.with_settings(
        [
            "form=profile",
            "lev_size=1500",
            "ngrams.characters=900",
            "ngrams.tokens=120",
            "ngrams.bigrams=400",
            "ngrams.shaped_bigrams=600",
            "training.weight_steps=5",
        ]
    )
    folder, _, _ = trained(made_once, "profile", rich_data, config)
    return Path(folder)


# A model of two languages

OF_LANGUAGE = {  # common words, then words of two genres
    "de": (
        """der die das und ist nicht ich sie wir mit auf für von dem den ein eine auch aber noch
        wenn dann über unter durch ohne gegen wieder schon sehr hatte wurde werden können""",
        {
            "briefe": "Liebe Mutter herzlich geschrieben Freundin Grüße gestern Abend Sonntag",
            "berichte": "Sitzung Beschluss Haushalt Verwaltung Gemeinde jährlich Prüfung Antrag",
        },
    ),
    "fr": (
        """le la les et est ne pas je elle nous avec sur pour de du des un une aussi mais encore
        quand puis dans sous sans contre déjà très était avait être peut qui que""",
        {
            "lettres": "Chère maman cordialement écrit amie baisers hier soirée dimanche",
            "rapports": "séance décision budget administration commune annuel contrôle demande",
        },
    ),
}


def language_rows(
    language: str, genre: str, authors: int, documents: int, name: str = ""
) -> list[dict[str, str]]:
    """Texts of a genre in a language; an author likes some words and marks."""
    common, words_of = OF_LANGUAGE[language]
    found = []
    for author in range(authors):
        habits = random.Random(f"{genre} {name} {author}")
        liking = [habits.lognormvariate(0, 0.6) for _ in common.split()]
        comma, bang = habits.uniform(0.05, 0.3), habits.uniform(0.05, 0.5)
        for number in range(documents):
            rng = random.Random(f"{genre} {name} {author} {number}")
            words: list[str] = []
            for _ in range(rng.randint(12, 30)):
                sentence = rng.choices(common.split(), liking, k=rng.randint(4, 9))
                sentence += rng.choices(words_of[genre].split(), k=2)
                rng.shuffle(sentence)
                sentence[0] = sentence[0].capitalize()
                words += [word + "," * (rng.random() < comma) for word in sentence]
                words.append("!" if rng.random() < bang else ".")
            found.append(
                {
                    "author": f"{genre}{name}{author}",
                    "work": f"work {number}",
                    "id": f"{genre}{name}{author}/{number}",
                    "text": " ".join(words),
                }
            )
    return found


@pytest.fixture(scope="session")
def language_folders(ngram_config: NgramConfig, made_once: MadeOnce) -> dict[str, Path]:
    """An n-gram profile of each of two languages."""
    settings = ["form=profile", "lev_size=1500", "ngrams.characters=900", "ngrams.tokens=60"]
    config = ngram_config.with_settings([*settings, "training.weight_steps=5"])
    folders = {}
    for language, (_, words_of) in OF_LANGUAGE.items():

        def make(folder: Path, language: str = language, genres: Any = words_of) -> None:
            (folder / "texts").mkdir()
            for genre in genres:
                rows = language_rows(language, genre, 10, 4)
                write_rows(folder / "texts" / f"{language}-{genre}.jsonl", rows)
            pack(folder, folder / "texts", language_rows(language, genre, 8, 3, "-dev-"))

        folder = made_once(f"{language}-data", make)
        data = data_in(folder, folder / "texts")
        folders[language] = Path(trained(made_once, language, data, config)[0])
    return folders


@pytest.fixture(scope="session")
def languages_folder(language_folders: dict[str, Path], made_once: MadeOnce) -> Path:
    """A model of both languages, calibrated on other authors."""
    from adhominem.training import calibrate
    from adhominem.training.ensemble import make_languages

    def make(folder: Path) -> None:
        made = make_languages(list(language_folders.values()), folder / "both").model
        sets = []
        for language, (_, words_of) in OF_LANGUAGE.items():
            for genre in words_of:
                rows = language_rows(language, genre, 14, 4, "-calibration-")
                sets.append(write_rows(folder / f"{language}-{genre}.jsonl", rows))
        with patch.object(calibrate, "_FOLDS", 3):
            calibrate.calibrate_model(made, sets)

    return made_once("languages", make) / "both"


@pytest.fixture(scope="session")
def mixed_folder(
    small_run: SmallRun, ngram_run: NgramRun, profile_folder: Path, made_once: MadeOnce
) -> Path:
    """An n-gram model, a network and a profile as one, calibrated on other authors."""
    from adhominem import find_sources, make_ensemble, read_pairs, write_pair_set
    from adhominem.training import calibrate

    def make(folder: Path) -> None:
        members = (ngram_run.folder, small_run.folder, profile_folder)
        made = make_ensemble(members, folder / "mixed", corpus=ngram_run.data.corpus).model
        rows = write_rows(folder / "rows.jsonl", rich_rows("letters", 40, 4, "-calibration-"))
        write_pair_set(find_sources(rows), folder / "letters")
        with patch.object(calibrate, "_FOLDS", 3):  # with 5, it takes half a minute
            calibrate.calibrate_model(made, {"letters": list(read_pairs(folder / "letters"))})

    return made_once("mixed", make) / "mixed"


@pytest.fixture
def quick_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer folds and rounds, where it does not matter how good the parameters are."""
    from adhominem.score import fitting
    from adhominem.training import calibrate

    monkeypatch.setattr(calibrate, "_FOLDS", 3)  # the fewest
    monkeypatch.setattr(fitting, "_ROUNDS", 2)
    monkeypatch.setattr(fitting, "_ROUNDS_MORE", 1)


@pytest.fixture(scope="session")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 letters by 30 people."""
    folder = tmp_path_factory.mktemp("letters")
    return write_rows(folder / "letters.jsonl", rich_rows("letters", 30, 4, "-index-"))


@pytest.fixture(scope="session")
def made_index(letters: Path, mixed_folder: Path, made_once: MadeOnce) -> Path:
    """An index of the letters; tests that change one make a copy."""
    from adhominem import index_files

    def make(folder: Path) -> None:
        index_files([letters], folder / "index", model=mixed_folder, trials=5, jobs=1)

    return made_once("index", make) / "index"


# A browser, for pages

CHROMIUM = Path("/usr/bin/chromium")


def pytest_configure(config: pytest.Config) -> None:
    """Fail at once where `.ci/run` promised a browser: else tests of pages would be skipped."""
    if os.environ.get("ADHOMINEM_BROWSER") == "required":
        for name, there in (
            (str(CHROMIUM), CHROMIUM.exists()),
            ("playwright", find_spec("playwright") is not None),
        ):
            if not there:
                raise pytest.UsageError(f"ADHOMINEM_BROWSER is `required`, but there is no {name}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where Chromium is; without it, a test is skipped."""
    if not CHROMIUM.exists():
        pytest.skip("there is no Chromium")
    return str(CHROMIUM)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """Chromium, started."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1"],
        )
        yield started
        started.close()
