"""The model folder: what is in it, who can read it, and what is said of a damaged one."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import SmallRun
from tokenizers import Tokenizer as FileTokenizer

from adhominem import Tokenizer, TwoCovariance
from adhominem.errors import ModelError
from adhominem.model.card import ensemble_card
from adhominem.model.folder import read_models, read_scores
from adhominem.model.writing import write_ensemble
from adhominem.paper.losses import SiameseModel


@pytest.fixture
def folder(small_run: SmallRun, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(small_run.folder, tmp_path / "model")
    return tmp_path / "model"


def trained(run: SmallRun) -> SiameseModel:
    words = run.model.vocabulary
    model = SiameseModel(
        len(words.token_types),
        len(words.characters),
        run.config.encoder,
        run.config.loss,
        len(words.prefixes),
    )
    weights = {name: torch.from_numpy(value.copy()) for name, value in run.model.weights.items()}
    model.load_state_dict(weights)
    return model.eval()


def test_the_two_covariance_model_of_the_folder_is_the_layer_that_was_trained(
    small_run: SmallRun,
) -> None:
    rng = np.random.default_rng(0)
    size = small_run.config.encoder.lev_size
    first, second = rng.normal(size=(2, 40, size)).astype(np.float32)
    layer = trained(small_run).two_covariance
    with torch.no_grad():
        expected = layer(torch.from_numpy(first), torch.from_numpy(second)).numpy()
    model = small_run.model.two_covariance()
    assert isinstance(model, TwoCovariance)
    np.testing.assert_allclose(model.log_bayes_factor(first, second), expected, atol=1e-5)
    assert np.ptp(expected) > 0.1


def test_the_tokenizer_file_gives_the_ids_of_the_vocabulary(small_run: SmallRun) -> None:
    file = FileTokenizer.from_file(str(small_run.folder / "tokenizer.json"))
    ours = Tokenizer(small_run.config.data.normaliser)
    vocabulary = small_run.model.vocabulary
    texts = [
        "The a of, and!!! to... in; is “it” that—was <UNK> Mr. Smith’s <PAD>  \n the",
        "zebra " + " ".join(vocabulary.token_types),
        *[row["text"] for row in map(json.loads, small_run.data.texts.read_text().splitlines())],
    ]
    for text in texts:
        normal = small_run.config.data.normaliser(text)
        tokens = ours.tokens(text)
        encoded = file.encode(normal)
        assert encoded.ids == vocabulary.token_ids(tokens).tolist()
        assert encoded.ids.count(0) == 0
    assert 1 in file.encode(texts[0]).ids
    assert len(set(file.encode(texts[1]).ids)) == len(vocabulary.token_types) + 1


def test_the_vocabulary_is_that_of_the_training_texts(small_run: SmallRun) -> None:
    corpus = small_run.data.corpus
    counts = corpus.count_types(range(len(corpus)))
    from adhominem import Vocabulary

    built = Vocabulary.build(corpus.types, counts, small_run.config.data.vocabulary)
    assert small_run.model.vocabulary == replace(built, prefixes=("cats and dogs", "ships"))


def test_of_an_earlier_version_a_network_with_topics_is_refused_and_one_without_is_read(
    folder: Path,
) -> None:
    description = json.loads((folder / "config.json").read_text("utf-8"))
    del description["prefixes"]
    (folder / "config.json").write_text(json.dumps(description), "utf-8")
    with pytest.raises(ModelError, match=r"with topics by an earlier version.*train it again"):
        read_models(folder)
    description["config"]["data"]["hidden_topics"] = 1.0
    (folder / "config.json").write_text(json.dumps(description), "utf-8")
    assert read_models(folder)[0].vocabulary.prefixes == ()  # type: ignore[union-attr]


def test_the_weights_are_plain_safetensors_and_nothing_is_a_pickle(small_run: SmallRun) -> None:
    for path in small_run.folder.rglob("*"):
        if path.is_file():
            head = path.read_bytes()[:4]
            assert head[:2] not in (b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05"), path
    assert all(value.dtype == np.float32 for value in small_run.model.weights.values())


def test_the_card_has_the_data_the_scores_and_the_limits(small_run: SmallRun) -> None:
    card = (small_run.folder / "README.md").read_text("utf-8")
    described = small_run.data.corpus.description
    assert f"| texts | 9 | 45 | {described['tokens']:,} |" in card
    assert f"{len(small_run.model.vocabulary.token_types)} token types" in card
    (line,) = [line for line in card.splitlines() if line.startswith("| dev |")]
    numbers = [float(cell) for cell in line.split("|")[2:-1]]
    scores = small_run.model.scores["dev"]
    assert numbers[0] == pytest.approx(scores["auc"], abs=5e-4)
    assert len(numbers) == 7
    assert "not calibrated" in card
    assert max(map(len, card.splitlines())) <= 110


# Ensembles


def make_ensemble(folder: Path, member: Path, names: list[str]) -> Path:
    folder.mkdir()
    for name in names:
        shutil.copytree(member, folder / name)
    scores = {"dev": {"auc": 0.5}}
    write_ensemble(folder, names, scores, ensemble_card(names, scores))
    return folder


def test_an_ensemble_is_read_like_a_model(small_run: SmallRun, tmp_path: Path) -> None:
    both = make_ensemble(tmp_path / "both", small_run.folder, ["b", "a"])
    assert [model.folder.name for model in read_models(str(both))] == ["b", "a"]
    assert read_scores(both) == {"dev": {"auc": 0.5}}
    assert [model.folder for model in read_models(small_run.folder)] == [small_run.folder]


def test_an_ensemble_of_ensembles_or_without_a_member_is_damaged(
    small_run: SmallRun, tmp_path: Path
) -> None:
    inner = make_ensemble(tmp_path / "inner", small_run.folder, ["a"])
    outer = make_ensemble(tmp_path / "outer", inner, ["a"])
    with pytest.raises(ModelError, match=r"is damaged .*the member a is not a single model"):
        read_models(outer)
    itself = make_ensemble(tmp_path / "itself", small_run.folder, [])
    for members in (["."], ["missing"]):
        description = json.loads((itself / "config.json").read_text())
        (itself / "config.json").write_text(json.dumps({**description, "members": members}))
        with pytest.raises(ModelError):
            read_models(itself)


# Damage


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(path.read_text("utf-8"))
    edit(data)
    path.write_text(json.dumps(data), "utf-8")


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "there is no model folder"),
    "no config": (lambda f: (f / "config.json").unlink(), "holds no model"),
    "half a config": (lambda f: halve(f / "config.json"), "is damaged .*config.json"),
    "a config of bytes": (
        lambda f: (f / "config.json").write_bytes(b"\xff\xfe\xfa"),
        "is damaged .*config.json",
    ),
    "a config that is a list": (
        lambda f: (f / "config.json").write_text("[]"),
        "is damaged .*config.json",
    ),
    "a newer format": (
        lambda f: change(f / "config.json", lambda d: d.update(format=3)),
        "a model of format 3; this version reads format 2. Use the version that wrote it",
    ),
    "an unknown architecture": (
        lambda f: change(f / "config.json", lambda d: d.update(architecture="oracle")),
        "is damaged .*'oracle'",
    ),
    "an unknown setting": (
        lambda f: change(f / "config.json", lambda d: d["config"]["loss"].update(magic=1)),
        "is damaged .*magic",
    ),
    "another size": (
        lambda f: change(f / "config.json", lambda d: d["config"]["encoder"].update(lev_size=9)),
        r"is damaged .*lev.weight is \(5, 8\).*expect \(9, 8\)",
    ),
    "fewer characters": (
        lambda f: change(f / "config.json", lambda d: d["characters"].pop()),
        "is damaged .*characters.embedding",
    ),
    "no scores": (
        lambda f: change(f / "config.json", lambda d: d.pop("scores")),
        "is damaged .*scores",
    ),
    "no weights": (
        lambda f: (f / "model.safetensors").unlink(),
        "is damaged .there is no model.safetensors",
    ),
    "half the weights": (
        lambda f: halve(f / "model.safetensors"),
        "is damaged .model.safetensors: ",
    ),
    "empty weights": (
        lambda f: (f / "model.safetensors").write_bytes(b""),
        "is damaged .model.safetensors: ",
    ),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "there is no tokenizer.json"),
    "half a tokenizer": (lambda f: halve(f / "tokenizer.json"), "is damaged"),
    "another tokenizer": (
        lambda f: change(f / "tokenizer.json", lambda d: d["model"]["vocab"].popitem()),
        "is damaged .*word_vectors",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_an_error_that_says_what_is_wrong(damage: str, folder: Path) -> None:
    act, message = DAMAGES[damage]
    assert read_models(folder)
    act(folder)
    with pytest.raises(ModelError, match=message) as error:
        read_models(folder)
    assert re.search(r"model", str(error.value))
    assert str(folder) in str(error.value)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_file_that_may_not_be_read_is_named(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: str, *given: int) -> int:
        if Path(path).name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *given)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ModelError, match=rf"is damaged \({name}: .*Permission denied"):
        read_models(folder)


def test_scores_that_are_missing_are_damage(folder: Path) -> None:
    change(folder / "config.json", lambda data: data.pop("scores"))
    with pytest.raises(ModelError, match="no scores"):
        read_scores(folder)
