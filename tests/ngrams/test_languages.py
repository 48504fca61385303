"""A model of two languages: each text is read by the n-grams of its language."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import OF_LANGUAGE, language_rows

from adhominem import Document, load, make_ensemble
from adhominem.arrays import Levs, SparseRows
from adhominem.cli import main
from adhominem.errors import ModelError, OptionError
from adhominem.jobs import workers
from adhominem.model.folder import model_hash
from adhominem.model.writing import trained_on
from adhominem.training.ensemble import make_languages
from adhominem.verify.explanation import explain_texts
from adhominem.verify.verifier import Verifier

TEXTS = {
    language: [
        row["text"] for genre in words_of for row in language_rows(language, genre, 3, 1, "-new-")
    ]
    for language, (_, words_of) in OF_LANGUAGE.items()
}
MIXED = [text for pair in zip(*TEXTS.values(), strict=True) for text in pair]  # de, fr, de, ...


@pytest.fixture(scope="module")
def model(languages_folder: Path) -> Verifier:
    return load(languages_folder)


@pytest.fixture
def copied(languages_folder: Path, tmp_path: Path) -> Path:
    return Path(copytree(languages_folder, tmp_path / "both"))


# Encoding


def test_each_text_is_encoded_as_by_the_model_of_its_language_and_in_its_place(
    model: Verifier, language_folders: dict[str, Path]
) -> None:
    alone = {code: load(folder) for code, folder in language_folders.items()}
    expected = [
        np.asarray(alone[code].encode([text]))[0]
        for texts in zip(*TEXTS.values(), strict=True)
        for code, text in zip(TEXTS, texts, strict=True)
    ]
    levs = model.encode(MIXED)
    assert isinstance(levs, Levs)
    assert isinstance(levs.parts[0], SparseRows)
    # The weights are stored with 11 bits.
    np.testing.assert_allclose(np.asarray(levs), expected, atol=3e-4)
    for row, text in zip(levs, MIXED, strict=True):  # beside others or not
        np.testing.assert_array_equal(row, np.asarray(model.encode([text]))[0])


def test_no_text_has_no_lev(model: Verifier) -> None:
    assert model.encode([]).shape == (0, model.lev_size)


def test_a_language_is_only_read_when_one_of_its_texts_comes(copied: Path) -> None:
    for path in (copied / "fr").iterdir():
        path.unlink()
    model = load(copied)
    model.verify(*TEXTS["de"][:2])
    with pytest.raises(ModelError, match=r"both is damaged \(fr: there is no config.json in it"):
        model.verify(*TEXTS["fr"][:2])


def test_a_language_that_is_given_is_not_guessed(languages_folder: Path) -> None:
    german = load(languages_folder, language="de")
    assert german.language == "de"
    text = TEXTS["fr"][0]
    as_german = np.asarray(german.encode([text]))
    assert not np.array_equal(as_german, np.asarray(load(languages_folder).encode([text])))
    with pytest.raises(OptionError, match=r"'en', which the model both does not know.* de, fr"):
        load(languages_folder, language="en")


def test_it_says_which_languages_it_knows(model: Verifier, profile_folder: Path) -> None:
    assert model.languages == ("de", "fr")
    assert load(profile_folder).languages == ()


def test_a_text_in_an_unknown_language_is_read_as_one_in_the_most_similar(model: Verifier) -> None:
    dutch = "De kinderen waren met hun moeder naar het strand gegaan en bleven er tot de avond. "
    (member,) = model.members
    for language, text in (("de", dutch * 3), ("fr", "El niño no quiere que la madre venga. " * 5)):
        encoder = member.ngrams(Document(text=text))
        assert encoder is member.ngrams(Document(text=TEXTS[language][0]))
        assert np.abs(np.asarray(model.encode([text]))[0, :-1]).sum() > 0


def test_worker_processes_read_texts_in_the_language_that_is_given(
    languages_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_LONG_WORK", 0)
    german = load(languages_folder, language="de")
    documents = [Document(text=text) for text in MIXED]
    with workers.encoder(languages_folder, german, 2) as encode:
        levs = list(encode(documents))
    np.testing.assert_array_equal([np.asarray(lev)[0] for lev in levs], german.encode(documents))


# The folder


def test_it_has_the_genres_and_training_authors_of_all_languages(
    model: Verifier, languages_folder: Path, language_folders: dict[str, Path]
) -> None:
    assert model.genres == ("de-berichte", "de-briefe", "fr-lettres", "fr-rapports")
    names = {"briefe0", "lettres0", "nobody"}
    assert trained_on(languages_folder, names) == {"briefe0", "lettres0"}
    scores = json.loads((languages_folder / "config.json").read_text("utf-8"))["scores"]
    assert set(scores) == {"de-dev", "fr-dev"}
    assert "de, fr" in (languages_folder / "README.md").read_text("utf-8")
    sizes = [
        sum(path.stat().st_size for path in (folder / code).iterdir())
        for folder, code in ((languages_folder, "de"), (language_folders["de"].parent, "de"))
    ]
    assert sizes[0] < sizes[1] / 2


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "ngrams.json"])
def test_another_file_in_a_language_is_an_error_that_names_it(copied: Path, name: str) -> None:
    before = model_hash(copied)
    path = copied / "fr" / name
    path.write_bytes(path.read_bytes() + b" ")
    assert model_hash(copied) == before
    model = load(copied)
    model.encode(TEXTS["de"])
    with pytest.raises(ModelError, match=f"fr/{name} is not the file that config.json names"):
        model.encode(TEXTS["fr"])


def test_its_hash_is_that_of_what_its_languages_must_be(copied: Path) -> None:
    config = json.loads((copied / "config.json").read_text("utf-8"))
    before = model_hash(copied)
    config["languages"]["fr"]["ngrams.json"] = "0" * 64
    (copied / "config.json").write_text(json.dumps(config), "utf-8")
    assert model_hash(copied) != before


@pytest.mark.parametrize(
    "change",
    [
        {"languages": {}},
        {"languages": {"de": {}}},
        {"languages": ["de"]},
        {"languages": {"../de": {"config.json": "0" * 64}}},
        {"config": {"form": "projection"}},
    ],
)
def test_a_damaged_description_is_an_error(copied: Path, change: dict[str, object]) -> None:
    config = json.loads((copied / "config.json").read_text("utf-8"))
    (copied / "config.json").write_text(json.dumps(config | change), "utf-8")
    with pytest.raises(ModelError, match=r"is damaged \(config.json: "):
        load(copied)


def test_a_link_is_no_language(copied: Path) -> None:
    (copied / "fr").rename(copied.parent / "fr")
    (copied / "fr").symlink_to(copied.parent / "fr")
    with pytest.raises(ModelError, match="fr is a link"):
        load(copied).encode(TEXTS["fr"])


# Making it


def test_the_command_makes_it(language_folders: dict[str, Path], tmp_path: Path) -> None:
    folders = map(str, language_folders.values())
    given = ["ensemble", *folders, "-o", str(tmp_path / "any"), "--by-language", "--json"]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["members"] == ["de", "fr"]
    assert load(tmp_path / "any").languages == ("de", "fr")
    assert CliRunner().invoke(main, [*given, "--corpus", str(tmp_path)]).exit_code == 2


def test_only_profiles_in_folders_of_languages_can_be_put_together(
    language_folders: dict[str, Path],
    languages_folder: Path,
    profile_folder: Path,
    ngram_run: object,
    tmp_path: Path,
) -> None:
    german = language_folders["de"]
    with pytest.raises(OptionError, match="profile is not named after a language"):
        make_languages([profile_folder], tmp_path / "any")
    with pytest.raises(OptionError, match="language de is there twice"):
        make_languages([german, german], tmp_path / "any")
    with pytest.raises(OptionError, match="expected at least one"):
        make_languages([], tmp_path / "any")
    copytree(ngram_run.folder, tmp_path / "en")  # type: ignore[attr-defined]
    with pytest.raises(OptionError, match="en is not an n-gram profile"):
        make_languages([german, tmp_path / "en"], tmp_path / "any")
    copytree(german, tmp_path / "nl")
    with pytest.raises(OptionError, match="two languages have a genre named 'de-berichte'"):
        make_languages([german, tmp_path / "nl"], tmp_path / "any")
    with pytest.raises(OptionError, match="several languages cannot be a member"):
        make_ensemble([languages_folder], tmp_path / "any")
    assert not (tmp_path / "any").exists()


# What is behind the LEVs


def test_a_calibrated_one_tells_authors_apart_without_a_caution_of_calibration(
    model: Verifier,
) -> None:
    for code, (_, words_of) in OF_LANGUAGE.items():
        genre = next(iter(words_of))
        rows = language_rows(code, genre, 8, 2, "-told-")
        texts = [row["text"] for row in rows]
        same = [model.verify(*texts[at : at + 2]) for at in range(0, 16, 2)]
        different = [model.verify(texts[at], texts[(at + 3) % 16]) for at in range(0, 16, 2)]
        factors = [[one.log_bayes_factor for one in of] for of in (same, different)]
        assert np.mean(factors[0]) > np.mean(factors[1])
        assert all(one.lower_bound is not None for one in same)


def test_a_document_that_says_its_language_is_read_in_it(model: Verifier) -> None:
    text = TEXTS["fr"][0]
    said = Document(text=text, language="de")
    german, french = np.asarray(model.keeping().encode([said, text]))
    np.testing.assert_array_equal(french, np.asarray(model.encode([text]))[0])
    assert not np.array_equal(german, french)


def test_two_languages_can_be_explained(model: Verifier) -> None:
    explained = explain_texts(model, TEXTS["de"][:2], TEXTS["fr"][0])
    balance = explained.balance
    whole = balance.habits + balance.names + balance.other_ngrams + balance.rest
    assert whole == pytest.approx(balance.log_bayes_factor)


@pytest.mark.parametrize("code", TEXTS)
def test_an_explanation_is_by_the_n_grams_of_the_language_and_adds_up(
    model: Verifier, code: str
) -> None:
    explained = explain_texts(model, TEXTS[code][:2], TEXTS[code][2])
    balance = explained.balance
    whole = balance.habits + balance.names + balance.other_ngrams + balance.rest
    assert whole == pytest.approx(balance.log_bayes_factor)
    passages = sum(p.contribution for text in explained.texts for p in text.passages)
    assert passages == pytest.approx(balance.log_bayes_factor, abs=1e-5)
    words = {habit.ngram for habit in explained.ngrams if habit.channel == "tokens"}
    assert words & set(OF_LANGUAGE[code][0].split())
