"""A network and an n-gram model as one: how they are put together, heard and calibrated."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from attack.damage import OBSTACLES
from click.testing import CliRunner
from conftest import NgramRun, SmallRun, rich_rows, write_rows
from hypothesis import given
from hypothesis import strategies as st

from adhominem import find_sources, load, make_ensemble, write_pair_set
from adhominem.arrays import joined
from adhominem.cli import main
from adhominem.errors import InputError, ModelError, OptionError
from adhominem.model import folder as shipped
from adhominem.model.calibration import read_validation
from adhominem.model.folder import member_folders, model_folder
from adhominem.model.member import read_genres
from adhominem.model.writing import trained_on
from adhominem.score.members import GenreMember, evidence_of
from adhominem.score.products import MemberTexts
from adhominem.text.corpus import Labels, PackedCorpus
from adhominem.training.ensemble import whole_authors
from adhominem.verify.verifier import Verifier

TEXTS = [row["text"] for row in rich_rows("notes", 6, 2, "-new-")]
OTHERS = [row["text"] for row in rich_rows("notes", 10, 1, "-others-")]


def run(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def both(
    small_run: SmallRun, ngram_run: NgramRun, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("ensemble") / "both"
    members = (small_run.folder, ngram_run.folder)
    told = run(
        "ensemble", *members, "-o", folder, "--corpus", ngram_run.data.corpus_folder, "--json"
    )
    members = ["model", "ngrams"]
    assert json.loads(told) == {"schema": 1, "model": str(folder), "members": members}
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a kind of text that the model knows, by authors it does not know."""
    folder = tmp_path_factory.mktemp("calibration")
    rows = write_rows(folder / "rows.jsonl", rich_rows("letters", 40, 4, "-calibration-"))
    write_pair_set(find_sources(rows), folder / "letters")
    return folder / "letters"


@pytest.fixture(scope="module")
def calibrated(both: Path, pairs: Path) -> Path:
    folder = Path(copytree(both, both.with_name("calibrated")))
    told = json.loads(run("calibrate", folder, pairs, "--json"))
    assert told["alone"]["authors"] == 40
    return folder


# What is in it


def test_the_folder_has_what_is_needed_of_each_member(
    both: Path, small_run: SmallRun, ngram_run: NgramRun
) -> None:
    assert {path.name for path in both.iterdir()} == {
        "config.json",
        "README.md",
        "model",
        "ngrams",
    }
    assert {path.name for path in (both / "ngrams").iterdir()} == {
        path.name for path in ngram_run.folder.iterdir()
    }
    curves = {"tensorboard", "entropy.png"}
    assert {path.name for path in (both / "model").iterdir()} == {
        path.name for path in small_run.folder.iterdir()
    } - curves | {"styles.safetensors"}
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        source = (small_run.folder / name).read_bytes()
        assert (both / "model" / name).read_bytes() == source


def test_each_member_gets_the_genres_as_it_sees_them(both: Path, ngram_run: NgramRun) -> None:
    corpus = ngram_run.data.corpus
    texts = [[corpus.types[kind] for kind in corpus.document(at)] for at in range(len(corpus))]
    for member, model in zip(member_folders(both), load(both).members, strict=True):
        genres = read_genres(member, model.lev_size)
        assert genres is not None
        levs = model.encoder.encode(texts, [[] for _ in texts])
        means = [levs[corpus.labels.corpus == kind].mean(axis=0) for kind in (0, 1)]
        np.testing.assert_allclose(genres.centres, means, atol=1e-4 * np.abs(means).max())
        assert genres.names == ("letters", "notes")


def test_without_a_corpus_members_stay_as_they_are(
    small_run: SmallRun, ngram_run: NgramRun, tmp_path: Path
) -> None:
    folder = make_ensemble([ngram_run.folder, small_run.folder], tmp_path / "both").model
    assert not (folder / "model" / "styles.safetensors").exists()
    for source in (ngram_run.folder, small_run.folder):
        alone, member = load(source), load(folder / source.name)
        assert alone.sha256 == member.sha256
    assert load(folder).member_names == ["ngrams", "model"]


def test_members_of_the_same_name_are_numbered_and_ensembles_taken_apart(
    both: Path, ngram_run: NgramRun, tmp_path: Path
) -> None:
    folder = make_ensemble([both, ngram_run.folder], tmp_path / "three").model
    assert load(folder).member_names == ["member-1", "member-2", "member-3"]
    levs = load(folder).encode(TEXTS)
    two = load(both).encode(TEXTS)
    one = load(ngram_run.folder).encode(TEXTS)  # all have the logarithm of the tokens last
    np.testing.assert_array_equal(levs, np.concatenate([two[:, :-1], one], axis=1))


def test_a_member_may_be_a_shipped_model_by_its_name(
    small_run: SmallRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(small_run.folder, tmp_path / "shipped" / "general-small")
    monkeypatch.setattr(shipped, "_SHIPPED", tmp_path / "shipped")
    monkeypatch.chdir(tmp_path)  # where no folder is called so
    told = run("ensemble", "general-small", small_run.folder, "-o", tmp_path / "two", "--json")
    assert json.loads(told)["members"] == ["general-small", "model"]
    with pytest.raises(ModelError, match="expected a folder, or one of: general-small"):
        make_ensemble(["general-none"], tmp_path / "none")


def test_what_is_no_ensemble_is_refused_and_leaves_nothing(
    both: Path, ngram_run: NgramRun, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match="without members"):
        make_ensemble([], tmp_path / "none")
    damaged = Path(copytree(ngram_run.folder, tmp_path / "damaged"))
    (damaged / "ngrams.json").unlink()
    with pytest.raises(ModelError, match=r"there is no ngrams.json"):
        make_ensemble([both, damaged], tmp_path / "none")
    with pytest.raises(OptionError, match="exists already"):
        make_ensemble([ngram_run.folder], both)
    assert {path.name for path in tmp_path.iterdir()} == {"damaged"}


@pytest.mark.parametrize("name", ["README.md", "training.jsonl", "training_authors.txt"])
@pytest.mark.parametrize("obstacle", ["a pipe", "a large file with nothing in it"])
def test_what_a_member_cannot_have_is_not_copied(
    name: str, obstacle: str, small_run: SmallRun, tmp_path: Path
) -> None:
    """Neither is waited for, nor fills the disk: a member may be anybody's."""
    member = Path(copytree(small_run.folder, tmp_path / "member"))
    (member / name).unlink(missing_ok=True)
    OBSTACLES[obstacle](member / name)
    with pytest.raises(ModelError, match=name):
        make_ensemble([member], tmp_path / "none")
    assert {path.name for path in tmp_path.iterdir()} == {"member"}


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=30),
    st.integers(1, 40),
    st.integers(0, 3),
)
def test_some_documents_of_a_kind_are_those_of_whole_authors(
    documents: list[tuple[int, int]], most: int, seed: int
) -> None:
    author, corpus = (np.array(column, np.int32) for column in zip(*documents, strict=True))
    nothing = np.full(len(author), -1, np.int32)
    labels = Labels(list("abcdef"), [], [], ["x", "y"], author, nothing, nothing, corpus)
    packed = PackedCorpus(
        *(np.zeros(1, np.uint32), np.arange(len(author) + 1), labels, [], []),
        *(np.zeros(0, np.uint32), np.zeros(1, np.int64), {}),
    )
    chosen = whole_authors(packed, 1, most, seed).tolist()
    everything = [at for at, kind in enumerate(corpus) if kind == 1]
    assert len(set(chosen)) == len(chosen) == min(most, len(everything))
    assert set(chosen) <= set(everything)
    left = set(author[list(set(everything) - set(chosen))].tolist())
    taken = author[chosen].tolist()
    assert len(left & set(taken)) <= 1  # the last one may be cut
    assert taken == sorted(taken, key=taken.index)
    assert chosen == whole_authors(packed, 1, most, seed).tolist()


# How it is heard


def test_before_it_is_calibrated_the_mean_of_probabilities_decides(both: Path) -> None:
    verifier: Verifier = load(both)
    levs = verifier.encode(TEXTS)
    factors = verifier.score(levs[0::2], levs[1::2])
    for at in range(6):
        scores = verifier.scorer.scores(levs[2 * at : 2 * at + 1], levs[2 * at + 1 : 2 * at + 2])
        probability = np.mean(1 / (1 + np.exp(-np.array(scores.members))))
        assert factors[at] == pytest.approx(np.log(probability / (1 - probability)), abs=1e-3)
    assert np.ptp(factors) > 0.1


def test_once_calibrated_the_members_are_added_up_and_kept_within_bounds(calibrated: Path) -> None:
    verifier = load(calibrated)
    calibration = verifier.calibration
    assert calibration is not None
    assert all(levels is not None for levels in calibration.members)
    levs = verifier.encode(TEXTS)
    factors = verifier.scorer(levs[0::2], levs[1::2])
    for at in range(6):
        taken = []
        columns = [verifier.scorer.columns(levs[text : text + 1]) for text in (2 * at, 2 * at + 1)]
        log_tokens = np.asarray(levs)[2 * at : 2 * at + 2, -1].astype(np.float64)
        numbers = np.array([[0]]), np.array([[1]])
        for member, first, second in zip(verifier.scorer.members, *columns, strict=True):
            assert isinstance(member, GenreMember)
            assert member.levels in calibration.members
            texts = MemberTexts(joined([first, second]), log_tokens)
            taken.append(member.pairs(texts, *numbers, None))
        odds = calibration.weights.unknown_log_odds
        evidence = evidence_of(verifier.scorer.members, taken, odds)
        said = sum(float(one.log_bayes_factor[0]) for one in evidence)
        free = said + calibration.weights.constant
        assert factors.unbounded[at] == pytest.approx(free, abs=1e-3)
        lower, upper = calibration.limits(factors.conditions)[:, at]
        assert factors.log_bayes_factor[at] == pytest.approx(min(max(free, lower), upper), abs=1e-3)
    assert np.ptp(factors.log_bayes_factor) > 0.01


def test_once_calibrated_a_population_makes_a_difference(calibrated: Path) -> None:
    verifier = load(calibrated)
    levs = verifier.encode(TEXTS)
    population = verifier.population_of(verifier.encode(OTHERS))
    with_one = verifier.scorer(levs[0::2], levs[1::2], population, despite_misfit=True)
    without = verifier.scorer(levs[0::2], levs[1::2])
    assert np.abs(with_one.unbounded - without.unbounded).max() > 0.01


def test_the_calibration_says_what_it_was_fitted_to(calibrated: Path) -> None:
    data = json.loads((calibrated / "calibration.json").read_text("utf-8"))
    validation = read_validation(calibrated)
    assert validation is not None
    for mode, chosen in (
        ("alone", validation.population == 0),
        ("population", validation.population > 0),
    ):
        cases = validation[chosen]
        assert data[mode]["sets"] == ["letters"]
        assert data[mode]["same_author"] == cases.same_author.sum()
        assert data[mode]["cases"] == len(cases)
        assert set(data[mode]["before"]) == set(data[mode]["after"])


def test_two_sets_of_one_name_are_refused_and_none_is_dropped(
    both: Path, pairs: Path, tmp_path: Path
) -> None:
    other = copytree(pairs, tmp_path / pairs.name)
    done = CliRunner().invoke(main, ["calibrate", str(both), str(pairs), f"{other}/."])
    assert done.exit_code != 0
    assert "two sets are named 'letters'" in done.output
    assert not (both / "calibration.json").exists()


def add_author(listed: Path, name: str) -> None:
    line = sha256(name.encode()).hexdigest()[:16]
    listed.write_text(f"{listed.read_text('utf-8')}{line}\n", "utf-8")


def test_an_ensemble_of_members_of_another_one_knows_whom_they_were_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    general = Path(copytree(model_folder("general-en"), tmp_path / "general"))
    add_author(general / "training_authors.txt", "of the others")
    add_author(general / "ngrams" / "training_authors.txt", "of n-grams")
    expected = {"ngrams": {"of n-grams"}}
    everybody = {"of the others", "of n-grams", "of none"}
    whole = make_ensemble([general], tmp_path / "whole").model
    two = make_ensemble([general / "ngrams", general / "network"], tmp_path / "two").model
    alike = make_ensemble([general / "profile", general / "network"], tmp_path / "alike").model
    for folder in (general, whole, two, alike):
        for member in member_folders(folder):
            found = expected.get(member.name, {"of the others"})
            assert trained_on(member, everybody) == found, member
    for folder in (general, whole, two):
        assert trained_on(folder, everybody) == {"of the others", "of n-grams"}
        assert len(list(folder.rglob("training_authors.txt"))) == 2
    assert not (two / "training_authors.txt").exists()  # of which there is no most common one
    assert not list(alike.glob("*/training_authors.txt"))  # the one list is the ensemble's
    monkeypatch.chdir(general / "ngrams")
    assert trained_on(Path(), everybody) == {"of n-grams"}


def test_a_member_that_does_not_say_whom_it_was_trained_on_is_given_no_list(
    tmp_path: Path,
) -> None:
    general = Path(copytree(model_folder("general-en"), tmp_path / "general"))
    add_author(general / "ngrams" / "training_authors.txt", "of n-grams")
    silent = Path(copytree(general / "network", tmp_path / "network"))  # its list is not beside it
    both = make_ensemble([general / "ngrams", silent], tmp_path / "both").model
    assert trained_on(both / "network", {"of n-grams"}) is None
    assert trained_on(both, {"of n-grams"}) == {"of n-grams"}


def test_authors_of_a_folder_above_that_is_no_ensemble_are_not_a_models(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    inside = Path(copytree(ngram_run.folder, tmp_path / "outer" / "inside"))
    (inside / "training_authors.txt").unlink()
    copytree(ngram_run.folder, tmp_path / "outer", dirs_exist_ok=True)
    assert trained_on(inside, {"a"}) is None


def test_what_a_card_begins_with_is_read_as_any_text_is(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    (tmp_path / "about.md").write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match=r"about\.md"):
        make_ensemble([ngram_run.folder], tmp_path / "both", about=tmp_path / "about.md")
