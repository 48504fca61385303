"""Settings for all tests, and a small training run that many of them look at."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from adhominem.model.member import Model, NgramModel
    from adhominem.ngrams.config import NgramConfig
    from adhominem.paper.config import Config
    from adhominem.text.corpus import PackedCorpus

# A busy machine is no reason to fail: what takes long shows in `pytest --durations`.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

WORDS = ["the", "a", "of", "and", "to", "in", "is", "it", "that", "was", "he", "for", "on", "as"]


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
def small_data(tmp_path_factory: pytest.TempPathFactory) -> SmallData:
    from adhominem import PackedCorpus, find_sources, prepare, prepare_pairs, write_pair_set

    folder = tmp_path_factory.mktemp("small")
    texts = write_rows(folder / "texts.jsonl", made_up_rows(9, 5, "t"))
    others = write_rows(folder / "others.jsonl", made_up_rows(8, 4, "d"))
    write_pair_set(find_sources(others), folder / "pairs")
    prepare(find_sources(texts), folder / "corpus")
    prepare_pairs(folder / "pairs", folder / "dev")
    return SmallData(
        texts,
        folder / "pairs",
        folder / "corpus",
        folder / "dev",
        PackedCorpus.open(folder / "corpus"),
        {"dev": PackedCorpus.open(folder / "dev")},
    )


SMALL_SETTINGS = (  # dropout stays on: a run must repeat its masks, too
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

    config = preset("pan20")
    for setting in SMALL_SETTINGS:
        config = config.with_setting(setting)
    return config


@dataclass(frozen=True)
class SmallRun:
    """A finished run."""

    folder: Path
    model: Model
    events: list[dict[str, Any]]
    data: SmallData
    config: Config


@pytest.fixture(scope="session")
def small_run(
    small_data: SmallData, small_config: Config, tmp_path_factory: pytest.TempPathFactory
) -> SmallRun:
    """Trained once, with all that belongs to it."""
    import torch

    from adhominem import train

    torch.set_num_threads(1)  # the order of sums, and so the last bits, must not depend on it
    folder = tmp_path_factory.mktemp("run") / "model"
    events: list[dict[str, Any]] = []
    (model,) = train(
        small_data.corpus,
        small_data.dev,
        folder,
        config=small_config,
        device="cpu",
        on_event=events.append,
    )
    return SmallRun(folder, model, events, small_data, small_config)


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
def rich_data(tmp_path_factory: pytest.TempPathFactory) -> SmallData:
    """Texts of two kinds; pairs of other authors of one of them."""
    from adhominem import PackedCorpus, find_sources, prepare, prepare_pairs, write_pair_set

    folder = tmp_path_factory.mktemp("rich")
    (folder / "texts").mkdir()
    for kind in KINDS:
        write_rows(folder / "texts" / f"{kind}.jsonl", rich_rows(kind, 14, 5))
    others = write_rows(folder / "others.jsonl", rich_rows("letters", 24, 4, "-dev-"))
    write_pair_set(find_sources(others), folder / "pairs")
    prepare(find_sources(folder / "texts"), folder / "corpus")
    prepare_pairs(folder / "pairs", folder / "dev")
    return SmallData(
        folder / "texts",
        folder / "pairs",
        folder / "corpus",
        folder / "dev",
        PackedCorpus.open(folder / "corpus"),
        {"dev": PackedCorpus.open(folder / "dev")},
    )


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
def ngram_run(
    rich_data: SmallData, ngram_config: NgramConfig, tmp_path_factory: pytest.TempPathFactory
) -> NgramRun:
    """An n-gram model, trained once."""
    import torch

    from adhominem import train
    from adhominem.model.member import NgramModel

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("ngrams") / "ngrams"
    events: list[dict[str, Any]] = []
    (model,) = train(
        rich_data.corpus,
        rich_data.dev,
        folder,
        config=ngram_config,
        device="cpu",
        on_event=events.append,
    )
    assert isinstance(model, NgramModel)
    return NgramRun(folder, model, events, rich_data, ngram_config)


# Models that can be explained: a profile, and all kinds of member together.


@pytest.fixture(scope="session")
def profile_folder(
    rich_data: SmallData, ngram_config: NgramConfig, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An n-gram profile; it knows more n-grams than `ngram_run`, most have their own dimension."""
    from adhominem import train

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
    folder = tmp_path_factory.mktemp("profile") / "profile"
    train(rich_data.corpus, rich_data.dev, folder, config=config, device="cpu")
    return folder


@pytest.fixture(scope="session")
def mixed_folder(
    small_run: SmallRun,
    ngram_run: NgramRun,
    profile_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """An n-gram model, a network and a profile as one, calibrated on other authors."""
    from adhominem import find_sources, make_ensemble, read_pairs, write_pair_set
    from adhominem.training.calibrate import calibrate_model

    folder = tmp_path_factory.mktemp("mixed")
    members = (ngram_run.folder, small_run.folder, profile_folder)
    made = make_ensemble(members, folder / "mixed", corpus=ngram_run.data.corpus).model
    rows = write_rows(folder / "rows.jsonl", rich_rows("letters", 40, 4, "-calibration-"))
    write_pair_set(find_sources(rows), folder / "letters")
    calibrate_model(made, {"letters": list(read_pairs(folder / "letters"))})
    return made


@pytest.fixture(scope="session")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 letters by 30 people."""
    folder = tmp_path_factory.mktemp("letters")
    return write_rows(folder / "letters.jsonl", rich_rows("letters", 30, 4, "-index-"))


@pytest.fixture(scope="session")
def made_index(letters: Path, mixed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the letters; tests that change one make a copy."""
    from adhominem import index_files

    folder = tmp_path_factory.mktemp("made") / "index"
    index_files([letters], folder, model=mixed_folder, trials=5, jobs=1)
    return folder


# A browser, for pages

_CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where Chromium is; without it, a test is skipped."""
    place = next((place for place in _CHROMIUM if Path(place).exists()), "")
    if not place:
        pytest.skip("there is no Chromium")
    return place


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """Chromium, started."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()
