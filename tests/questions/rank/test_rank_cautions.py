"""What rankings warn of: genres and languages of candidates, and what it does to the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import NgramRun, rich_rows
from made_up import verification

from adhominem import Verifier, load
from adhominem.arrays import Levs
from adhominem.jobs.run import Run
from adhominem.questions.candidates import (
    candidates_by_genre,
    cautions_of_others,
    cautions_of_ranking,
    foreign_texts,
    mostly_foreign,
    other_genres,
)
from adhominem.score.scorer import Scorer
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution

LETTERS, NOTES = (
    [Document(**row) for row in rich_rows(kind, 4, 6, "-genre-")] for kind in ("letters", "notes")
)


def codes(**options: Any) -> list[str]:
    usual: dict[str, Any] = {
        "source": "other candidates",
        "strange": [False, False],
        "genres": {},
    }
    made = verification(
        warnings=(
            Caution("short", "x"),
            Caution("small_population", "x"),
            Caution("other_genre_of_population", "x"),
            Caution("two_genres", "x", blocks_decision=True),
            Caution("foreign", "x", blocks_decision=True),
        )
    )
    return [caution.code for caution in cautions_of_ranking(made, **{**usual, **options})]


def test_what_two_sides_are_warned_of_holds_for_a_ranking_but_for_its_population() -> None:
    assert codes() == ["short"]
    assert codes(source="given") == ["short", "small_population"]
    assert codes(source="none") == ["short", "few_others"]


def test_a_given_population_of_another_genre_is_told_where_it_is_so_for_most() -> None:
    assert "other_genre_of_population" in codes(source="given", strange=[True, True, False])
    assert "other_genre_of_population" not in codes(source="given", strange=[True, False])
    assert "other_genre_of_population" not in codes(strange=[True, True])


def test_candidates_are_foreign_if_most_of_their_texts_are(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(self: Verifier, documents: Any) -> Any:
        return np.array([text in NOTES for text in documents])

    monkeypatch.setattr(Verifier, "no_statement_on", odd)
    candidates = {"a": LETTERS[:3], "b": NOTES[:3], "c": [*LETTERS[3:5], NOTES[3]]}
    assert mostly_foreign(verifier, candidates) == ["b"]
    (told,) = foreign_texts(verifier, candidates["c"])
    assert NOTES[3].id in told.message
    assert not told.blocks_decision
    assert list(foreign_texts(verifier, LETTERS)) == []


def test_candidates_of_two_genres_are_told_by_name() -> None:
    genres = {"a": "letters", "b": "letters", "c": "notes"}
    (told,) = list(
        cautions_of_ranking(
            verification(warnings=()),
            source="other candidates",
            strange=[],
            genres=genres,
        )
    )
    assert told.code == "mixed_candidates"
    assert "c (most like notes) and a, b (most like letters)" in told.message


@pytest.fixture(scope="module")
def verifier(ngram_run: NgramRun) -> Verifier:
    return load(ngram_run.folder)


def test_a_candidate_of_clearly_another_genre_is_named_with_both_genres(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shares(scorer: Scorer, levs: Any) -> dict[str, float]:
        told = {"letters": 0.6, "notes": 0.01}
        return told if np.asarray(levs)[:, 0].mean() > 0 else {"notes": 0.7, "letters": 0.02}

    monkeypatch.setattr(Scorer, "genre_shares", shares)

    def encode(texts: Any) -> Any:
        levs = np.array([[1.0 if text in LETTERS else -1.0] for text in texts], np.float32)
        return list(texts), Levs((levs,))

    candidates = {"a": LETTERS[:3], "b": NOTES[:3], "c": LETTERS[6:9]}
    run = Run()
    monkeypatch.setattr(Run, "levs", lambda run, verifier, texts: encode(texts))
    (told,) = other_genres(verifier, encode(LETTERS[12:13])[1], candidates, run)
    assert told.code == "other_genre_of_candidate"
    assert "of another genre than the disputed one (most like letters)" in told.message
    assert "those of b (most like notes)" in told.message
    same = {"a": LETTERS[:3], "c": LETTERS[6:9]}
    assert list(other_genres(verifier, encode(LETTERS[12:13])[1], same, run)) == []


def test_candidates_of_one_genre_have_no_groups(verifier: Verifier) -> None:
    candidates = {f"{at}": LETTERS[6 * at : 6 * at + 6] for at in range(4)}
    population = verifier.population(LETTERS)
    assert candidates_by_genre(verifier, population, candidates, Run()) == {}
    assert candidates_by_genre(verifier, None, candidates, Run()) == {}


def test_no_further_disputed_text_is_nothing_to_warn_of(verifier: Verifier) -> None:
    assert list(cautions_of_others([], verifier.encode([]), [])) == []
