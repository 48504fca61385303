"""Settings for all tests, and a small training run that many of them look at."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from adhominem.config import Config
    from adhominem.models.folder import Model
    from adhominem.text.corpus import PackedCorpus

# A busy machine is no reason to fail: what takes long shows in `pytest --durations`.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

WORDS = ["the", "a", "of", "and", "to", "in", "is", "it", "that", "was", "he", "for", "on", "as"]


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


@pytest.fixture
def quick_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """For runs whose graph no test looks at."""
    from adhominem.runs import member

    monkeypatch.setattr(
        member, "export_onnx", lambda network, example, path: path.write_bytes(b"no graph")
    )
