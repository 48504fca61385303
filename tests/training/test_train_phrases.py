"""The training of a phrase model: weights, one genre, the folder, and what is wrong with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import SmallData
from safetensors.numpy import load_file, save_file

from adhominem import load, train
from adhominem.arrays import FloatArray, SparseRows
from adhominem.config import PHRASE_PRESETS, PhraseConfig
from adhominem.encoders.phrases.hashing import hash_of
from adhominem.errors import ModelError, OptionError
from adhominem.evaluation.pan import auc
from adhominem.models.folder import read_models
from adhominem.models.member import PhraseModel
from adhominem.scoring.styles import ANY_GENRE, Styles
from adhominem.training.train_phrases import _beyond_chance

CONFIG = PHRASE_PRESETS["tiny-phrases"]


def read_one(folder: Path) -> PhraseModel:
    (model,) = read_models(folder)
    assert isinstance(model, PhraseModel)
    return model


def slow_weights(data: SmallData, config: PhraseConfig) -> FloatArray:
    """Of single words, by Python's sets."""
    corpus, size, shares = data.corpus, config.lev_size, []
    for genre in range(len(corpus.labels.corpus_names)):
        texts = [
            {corpus.types[token].lower() for token in corpus.document(at)[: config.training.tokens]}
            for at in np.flatnonzero(corpus.labels.corpus == genre)
        ]
        having = np.zeros(size)
        for text in texts:
            for place in {(hash_of(word) >> 32) * size >> 32 for word in text}:
                having[place] += 1
        having /= len(texts)
        middle = np.median(having)
        shares.append([max(0.0, (share - middle) / (1 - middle)) for share in having])
    return np.maximum(0, np.log(1 / (np.mean(shares, axis=0) + 1 / config.training.rarest)))


def test_weights_are_those_of_shares_of_texts(rich_data: SmallData, tmp_path: Path) -> None:
    config = CONFIG.with_settings(["longest=1", "training.tokens=60", "lev_size=64"])
    (model,) = train(rich_data.corpus, {}, tmp_path / "model", config=config, device="cpu")
    slow = slow_weights(rich_data, config)
    np.testing.assert_allclose(model.weights["weights"], slow, atol=5e-3)
    assert 0 <= slow.min() < 1 < slow.max() < np.log(config.training.rarest) + 1e-9


def test_what_any_place_has_by_chance_is_taken_off() -> None:
    rng, chance, share = np.random.default_rng(0), 0.2, 0.5
    texts = rng.random((20_000, 9)) < chance
    texts[:, 0] |= rng.random(20_000) < share
    corrected = _beyond_chance(texts.mean(axis=0))
    assert corrected[0] == pytest.approx(share, abs=0.02)
    assert corrected[1:].max() < 0.02


def test_rare_phrases_weigh_more(phrase_folder: Path) -> None:
    encoder = read_one(phrase_folder).encoder()
    _, values = encoder.values(np.array([hash_of("the"), hash_of("zyx")], np.uint64))
    assert abs(values[1]) > abs(values[0])


def test_the_folder_gives_the_model_back(phrase_folder: Path, rich_data: SmallData) -> None:
    model = read_one(phrase_folder)
    assert model.config == CONFIG
    assert model.weights["weights"].dtype == np.float16
    assert model.styles is not None
    assert model.styles.genres == (ANY_GENRE,)
    assert not model.styles.tells_genres
    assert model.typicality is None
    assert "phrase" in (phrase_folder / "README.md").read_text("utf-8")
    verifier = load(phrase_folder)
    levs = verifier.encode(["Whilst it rained, he read.", "whilst IT rained, he READ."])
    np.testing.assert_array_equal(levs[0], levs[1])
    assert verifier.genres == (ANY_GENRE,)


def test_dev_scores_are_aucs_of_cosines_from_the_mean(
    phrase_folder: Path, rich_data: SmallData
) -> None:
    model, dev = read_one(phrase_folder), rich_data.dev["dev"]
    texts = [[dev.types[token] for token in dev.document(at)] for at in range(len(dev))]
    levs = np.asarray(model.encoder().encode(texts, []), np.float64)
    levs -= levs.mean(axis=0)
    levs /= np.linalg.norm(levs, axis=1, keepdims=True)
    assert dev.same_author is not None
    expected = auc((levs[0::2] * levs[1::2]).sum(axis=1), dev.same_author)
    assert model.scores == {"dev": {"auc": pytest.approx(expected, abs=1e-6)}}
    (line,) = (phrase_folder / "training.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["dev"]["dev"] == pytest.approx(expected, abs=1e-6)


def test_one_genre_is_the_mean_of_all_and_what_is_left_is_seen_from_each() -> None:
    rng = np.random.default_rng(3)
    authors, corpora = np.repeat(np.arange(12), 3), np.repeat([0, 0, 2], 12)
    levs = np.where(rng.random((36, 90)) < 0.3, rng.normal(size=(36, 90)), 0)
    levs += np.eye(90)[corpora] * 3 + rng.normal(size=(12, 90))[authors] * 0.2
    styles = Styles.fit_any(SparseRows.of(levs), authors, corpora)
    centres = np.array([levs[corpora == corpus].mean(axis=0) for corpus in (0, 2)])
    np.testing.assert_allclose(styles.centres, centres.mean(axis=0)[None])
    rest = levs - centres[np.searchsorted([0, 2], corpora)]
    lengths = np.linalg.norm(rest, axis=1)
    assert styles.usual == pytest.approx(np.median(lengths))
    unit = rest / np.maximum(lengths, styles.usual)[:, None]
    pairs = [(a, b) for a in range(36) for b in range(a) if corpora[a] == corpora[b]]
    same = [unit[a] @ unit[b] for a, b in pairs if authors[a] == authors[b]]
    different = [unit[a] @ unit[b] for a, b in pairs if authors[a] != authors[b]]
    model = styles.two_covariance
    assert model.between_share == pytest.approx(np.mean(same), rel=1e-4)  # type: ignore[attr-defined]
    assert model.independent == pytest.approx(1 / np.var(different), rel=1e-3)  # type: ignore[attr-defined]


def test_one_author_is_not_enough() -> None:
    levs = SparseRows.of(np.eye(4))
    with pytest.raises(OptionError, match="two authors"):
        Styles.fit_any(levs, np.zeros(4, np.int64), np.zeros(4, np.int64))


def test_a_run_is_the_same_again_and_needs_one_process(
    phrase_folder: Path,
    rich_data: SmallData,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again = tmp_path / "again"
    train(rich_data.corpus, rich_data.dev, again, config=CONFIG, device="cpu")
    for name in ("model.safetensors", "styles.safetensors", "config.json"):
        assert (again / name).read_bytes() == (phrase_folder / name).read_bytes()
    assert not again.with_name("again.training").exists()
    with pytest.raises(OptionError, match="phrase models differ little"):
        train(rich_data.corpus, {}, tmp_path / "two", config=CONFIG, members=2, device="cpu")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(OptionError, match="one process"):
        train(rich_data.corpus, {}, tmp_path / "two", config=CONFIG, device="cpu")


# Damage


@pytest.mark.parametrize("name", ["model.safetensors", "styles.safetensors", "config.json"])
def test_a_missing_file_is_named(name: str, phrase_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(phrase_folder, tmp_path / "copy")
    (copy / name).unlink()
    with pytest.raises(ModelError, match=name):
        load(copy)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (np.ones(7, np.float16), "weights is"),
        (np.ones(CONFIG.lev_size, np.float32), "type"),
        (-np.ones(CONFIG.lev_size, np.float16), "below 0"),
        (np.full(CONFIG.lev_size, np.nan, np.float16), "finite"),
        (None, "no weights"),
    ],
)
def test_damaged_weights_are_told(
    weights: FloatArray | None, told: str, phrase_folder: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(phrase_folder, tmp_path / "copy")
    arrays = load_file(copy / "model.safetensors")
    del arrays["weights"]
    other = {"other": np.ones(1, np.float32)}
    save_file(other if weights is None else {"weights": weights}, copy / "model.safetensors")
    with pytest.raises(ModelError, match=told):
        load(copy)


def test_settings_that_do_not_fit_are_told(phrase_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(phrase_folder, tmp_path / "copy")
    text = (copy / "config.json").read_text("utf-8")
    (copy / "config.json").write_text(text.replace('"longest": 3', '"longest": 0'), "utf-8")
    with pytest.raises(ModelError, match="longest"):
        load(copy)
