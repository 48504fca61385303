"""N-grams, a profile, a network and phrases as one model: from an ensemble to explanations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import NgramRun, SmallRun, rich_rows, write_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem import Document, Verifier, find_sources, load, make_ensemble, write_pair_set
from adhominem.arrays import SparseRows
from adhominem.cli import main
from adhominem.encoders.phrases.encoder import PhraseEncoder
from adhominem.errors import OptionError
from adhominem.explain.explanation import explain_texts
from adhominem.explain.ngram_contributions import explain_ngrams
from adhominem.explain.phrases import weigh_phrases
from adhominem.explain.resampling import bootstrap_interval, population_sensitivity
from adhominem.jobs.genres import learn_genres
from adhominem.jobs.lev_files import arrays_of, read_levs
from adhominem.scoring.likeness import CosineLikeness
from adhominem.scoring.population import Population
from adhominem.scoring.styles import ANY_GENRE

KNOWN = [row["text"] for row in rich_rows("letters", 4, 2, "-four-")]
OTHERS = [row["text"] for row in rich_rows("letters", 12, 1, "-population-")]
SAYING = "as the crow flies , so to speak , "
NAMES = ["ngrams", "profile", "model", "phrases"]


def run(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def four(
    small_run: SmallRun,
    ngram_run: NgramRun,
    profile_folder: Path,
    phrase_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Calibrated on other authors."""
    place = tmp_path_factory.mktemp("four")
    members = [ngram_run.folder, profile_folder, small_run.folder, phrase_folder]
    folder = make_ensemble(members, place / "four", corpus=ngram_run.data.corpus).model
    rows = write_rows(place / "rows.jsonl", rich_rows("letters", 24, 4, "-calibration-"))
    write_pair_set(find_sources(rows), place / "letters")
    run("calibrate", folder, place / "letters", "--cases", 8)
    return folder


@pytest.fixture(scope="module")
def verifier(four: Path) -> Verifier:
    return load(four)


@pytest.fixture(scope="module")
def population(verifier: Verifier) -> Population:
    return verifier.population(OTHERS)


def test_the_first_member_tells_its_genres_and_that_of_phrases_has_one(verifier: Verifier) -> None:
    assert verifier.member_names == NAMES
    assert verifier.genres == ("letters", "notes")
    styles = verifier.members[-1].styles
    assert styles is not None
    assert styles.genres == (ANY_GENRE,)
    assert verifier.calibration is not None
    assert len(verifier.scales.alone.fusion.weights) == 11 + 4 * 11
    unknown = verifier.scorer.without("letters").members
    assert [len(member.styles.genres) for member in unknown if hasattr(member, "styles")] == [
        *(1, 1, 1, 1)
    ]


def test_phrases_stay_sparse_and_are_what_the_member_gives_alone(
    verifier: Verifier, phrase_folder: Path
) -> None:
    levs = verifier.encode(KNOWN)
    alone = load(phrase_folder).encode(KNOWN)
    assert isinstance(levs.parts[3], SparseRows)
    np.testing.assert_array_equal(levs.parts[3], alone.parts[0])


def test_levs_are_the_same_from_a_file(verifier: Verifier, tmp_path: Path) -> None:
    levs = verifier.encode(KNOWN)
    np.savez(tmp_path / "levs.npz", **arrays_of(levs, verifier.lev_size))
    again = read_levs(tmp_path / "levs.npz")
    np.testing.assert_array_equal(again, levs)
    np.testing.assert_allclose(
        verifier.score(again[:4], again[4:]), verifier.score(levs[:4], levs[4:]), rtol=1e-6
    )


@settings(max_examples=10)
@given(st.permutations(range(len(KNOWN))), st.booleans())
def test_neither_order_of_a_pair_nor_company_matters(
    verifier: Verifier, population: Population, order: list[int], with_population: bool
) -> None:
    levs, chosen = verifier.encode(KNOWN), population if with_population else None
    first, second = levs[order[:4]], levs[order[4:]]
    factors = verifier.score(first, second, chosen)
    np.testing.assert_allclose(verifier.score(second, first, chosen), factors, atol=1e-5)
    alone = [verifier.score(first[at : at + 1], second[at : at + 1], chosen)[0] for at in range(4)]
    np.testing.assert_allclose(alone, factors, atol=1e-5)


def test_all_pairs_and_pairs_by_number_are_those_one_by_one(
    verifier: Verifier, population: Population
) -> None:
    levs, scorer = verifier.encode(KNOWN), verifier.scorer
    first, second = np.triu_indices(len(KNOWN), 1)
    for chosen in (None, population):
        expected = scorer(levs[first], levs[second], chosen).unbounded
        np.testing.assert_allclose(scorer.all_pairs(levs, chosen).unbounded, expected, rtol=1e-6)


def test_with_one_genre_nothing_depends_on_genres(
    verifier: Verifier, population: Population
) -> None:
    levs = verifier.encode(KNOWN)
    for chosen in (None, population):
        measures = verifier.scorer.scores(levs[:4], levs[4:], chosen).members[-1]
        np.testing.assert_array_equal(measures.certainty, 1)
        np.testing.assert_array_equal(measures.kinship, 0)
        assert np.isfinite(measures.standing).all()


# Further genres


def test_further_genres_are_learnt_by_the_others(four: Path, tmp_path: Path) -> None:
    copy = copytree(four, tmp_path / "copy")
    write_rows(tmp_path / "memos.jsonl", rich_rows("notes", 10, 2, "-memos-"))
    learnt = learn_genres(copy, [tmp_path / "memos.jsonl"])
    assert learnt.genres == ("letters", "notes", "memos")
    styles = load(copy).members[-1].styles
    assert styles is not None
    assert styles.genres == (ANY_GENRE,)


def test_phrases_alone_learn_no_genres(phrase_folder: Path, tmp_path: Path) -> None:
    copy = copytree(phrase_folder, tmp_path / "copy")
    with pytest.raises(OptionError, match="knows no genres"):
        learn_genres(copy, [tmp_path])


# Explanations


@pytest.mark.parametrize("with_population", [False, True])
def test_terms_of_phrases_and_of_what_both_avoid_are_the_likeness(
    with_population: bool, verifier: Verifier, population: Population
) -> None:
    chosen = population if with_population else None
    comparison = verifier.compare([KNOWN[0], KNOWN[2]], KNOWN[1], chosen)
    phrases = weigh_phrases(comparison)
    assert phrases is not None
    likeness, worth = comparison.likenesses[-1]
    assert isinstance(likeness, CosineLikeness)
    u, v = (
        weights @ (levs - likeness.centre)
        for weights, levs in zip(likeness.weights, likeness.levs, strict=True)
    )
    terms = worth * (u * v - likeness.expected / 2 * (u**2 + v**2))  # (lev_size,)
    encoder = verifier.members[-1].encoder
    assert isinstance(encoder, PhraseEncoder)
    texts = [text.tokens(comparison.lead).tokens for text in comparison.texts]
    hashes = np.concatenate([encoder.occurrences(tokens)[0] for tokens in texts])
    there = np.unique(encoder.values(hashes)[0])  # what shares a place may leave nothing there
    assert phrases.contributions.sum() == pytest.approx(terms[there].sum(), rel=1e-6)
    if not with_population:  # whose mean is known with noise, of which the likeness is rid
        assert terms.sum() == pytest.approx(worth * likeness.excess, rel=1e-6)


def test_each_phrase_is_told_in_the_words_of_the_text(verifier: Verifier) -> None:
    comparison = verifier.compare("Whilst He slept, whilst he ate.", KNOWN[1])
    phrases = weigh_phrases(comparison)
    assert phrases is not None
    encoder = verifier.members[-1].encoder
    assert isinstance(encoder, PhraseEncoder)
    told = {" ".join(ngram.parts) for ngram in phrases.ngrams}
    assert {"Whilst", "Whilst He", "Whilst He slept"} & told
    text = phrases.texts[0]
    for column, place in zip(text.columns.tolist(), text.places.tolist(), strict=True):
        words = text.tokens[place : place + len(phrases.ngrams[column].parts)]
        assert [word.lower() for word in words] == [
            word.lower() for word in phrases.ngrams[column].parts
        ]


def test_the_balance_adds_up_with_phrases(verifier: Verifier) -> None:
    comparison = verifier.compare(KNOWN[0], KNOWN[2])
    ngrams, phrases = explain_ngrams(comparison), weigh_phrases(comparison)
    without = replace(
        comparison, members=comparison.members[:3], scorer=verifier.scorer
    )  # whose likenesses stay those of all four
    without.__dict__["likenesses"] = comparison.likenesses[:3]
    alone = explain_ngrams(without)
    assert ngrams is not None
    assert alone is not None
    assert phrases is not None
    assert ngrams.all == pytest.approx(alone.all + phrases.contributions.sum())


def test_a_saying_of_both_is_shown(verifier: Verifier) -> None:
    first, second = (text.replace(". ", f". {SAYING}") for text in (KNOWN[0], KNOWN[4]))
    result = explain_texts(verifier, first, second)
    said = [ngram for ngram in result.ngrams if ngram.channel == "phrases"]
    assert said
    strongest = max(said, key=lambda ngram: ngram.contribution)
    assert strongest.contribution > 0
    assert strongest.ngram in SAYING
    assert strongest.first == first.count(strongest.ngram.replace(" ,", ",")) or strongest.first > 1
    texts = [text.text for text in result.texts]
    for place in strongest.places:
        shown = texts[place.text][place.start : place.end]
        assert shown.replace(",", "").split() == strongest.ngram.replace(",", "").split()
    balance = result.balance
    parts = balance.habits + balance.names + balance.other_ngrams + balance.rest
    assert parts == pytest.approx(balance.likeness)
    total = sum(passage.contribution for text in result.texts for passage in text.passages)
    assert total == pytest.approx(balance.likeness)


def test_phrases_alone_are_explained_too(phrase_folder: Path) -> None:
    result = explain_texts(load(phrase_folder), KNOWN[0], KNOWN[2])
    assert {ngram.channel for ngram in result.ngrams} == {"phrases"}
    json.dumps(result.to_json())


def test_leaving_passages_out_loses_what_varied_levs_lose(verifier: Verifier) -> None:
    comparison = verifier.compare(KNOWN[0], KNOWN[2], attention=True)
    text = comparison.first[0]
    passages = len(comparison.passages(text))
    times = 1 - np.eye(passages, dtype=np.int64)
    levs = comparison.vary(text, times)
    columns = verifier.scorer.columns(levs)
    for (likeness, _), rows, lost in zip(
        comparison.likenesses, columns, comparison.losses(0, 0, times), strict=True
    ):
        np.testing.assert_allclose(lost, likeness.losses(0, 0, np.asarray(rows)), atol=1e-6)


def test_intervals_and_halves_of_the_population_are_told(
    verifier: Verifier, population: Population
) -> None:
    comparison = verifier.compare([KNOWN[0], KNOWN[1]], KNOWN[2], population)
    interval = bootstrap_interval(comparison, draws=20)
    assert interval is not None
    assert interval.low < comparison.log_bayes_factor < interval.high
    if comparison.used is not None:
        assert population_sensitivity(comparison) is not None


# Commands


def test_commands_take_such_a_model(four: Path, tmp_path: Path) -> None:
    rows = rich_rows("letters", 6, 2, "-cases-")
    texts = write_rows(tmp_path / "texts.jsonl", rows)
    write_pair_set(find_sources(texts), tmp_path / "pairs")
    run("predict", tmp_path / "pairs", "-o", tmp_path / "answers", "--model", four)
    assert any((tmp_path / "answers").iterdir())
    mapped = run("map", texts, "-o", tmp_path / "map.html", "--model", four, "--json")
    assert json.loads(mapped)["schema"] == 1
    assert load(four).encode([Document(text=rows[0]["text"])]).shape == (1, load(four).lev_size)
