"""What rankings warn of: genres and languages of candidates, and what it does to the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import NgramRun, rich_rows
from made_up import verification

from adhominem import Verifier, load
from adhominem.arrays import Levs
from adhominem.attribute.cautions import (
    candidates_by_genre,
    cautions_of_others,
    cautions_of_ranking,
    other_genres,
)
from adhominem.attribute.known import LevStore
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution

LETTERS, NOTES = (
    [Document(**row) for row in rich_rows(kind, 4, 6, "-genre-")] for kind in ("letters", "notes")
)


def codes(**options: Any) -> list[str]:
    usual: dict[str, Any] = {
        "first": "a",
        "source": "other candidates",
        "strange": [False, False],
        "foreign": {"a": 0.0, "b": 0.0},
        "genres": {},
    }
    made = verification(
        warnings=(
            Caution("short", "x"),
            Caution("small_population", "x"),
            Caution("other_genre_of_population", "x"),
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


def test_candidates_in_another_language_are_told() -> None:
    assert "foreign_candidate" in codes(foreign={"a": 0.0, "b": 0.5})
    assert "foreign_candidate" not in codes(foreign={"a": 1.0, "b": 0.4})  # the first has its own


def test_candidates_of_two_genres_are_told_by_name() -> None:
    genres = {"a": "letters", "b": "letters", "c": "notes"}
    (told,) = list(
        cautions_of_ranking(
            verification(warnings=()),
            first="a",
            source="other candidates",
            strange=[],
            foreign={},
            genres=genres,
        )
    )
    assert told.code == "mixed_candidates"
    assert "c (most like notes) and a, b (most like letters)" in told.message


@pytest.fixture(scope="module")
def verifier(ngram_run: NgramRun) -> Verifier:
    return load(ngram_run.folder)


def store_of(verifier: Verifier) -> LevStore:
    return LevStore(lambda texts: (list(texts), verifier.encode(texts)))


def test_a_candidate_of_clearly_another_genre_is_named_with_both_genres(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def guess(styles: Any, levs: Any) -> Any:
        letters = levs[:, 0].mean() > 0
        return np.array([0.99, 0.01] if letters else [0.005, 0.995])

    styles = verifier.lead.styles
    assert styles is not None
    monkeypatch.setattr(type(styles), "guess", guess)
    monkeypatch.setattr(
        type(verifier.scorer), "lead_columns", lambda scorer, levs: levs.astype(float)
    )

    def encode(texts: Any) -> Any:
        levs = np.array([[1.0 if text in LETTERS else -1.0] for text in texts], np.float32)
        return list(texts), Levs((levs,))

    candidates = {"a": LETTERS[:3], "b": NOTES[:3], "c": LETTERS[6:9]}
    store = LevStore(encode)
    (told,) = other_genres(verifier, encode(LETTERS[12:13])[1], candidates, store)
    assert told.code == "other_genre_of_candidate"
    assert f"those of b (most like {styles.genres[1]})" in told.message
    same = {"a": LETTERS[:3], "c": LETTERS[6:9]}
    assert list(other_genres(verifier, encode(LETTERS[12:13])[1], same, store)) == []


def test_candidates_of_one_genre_have_no_groups(verifier: Verifier) -> None:
    candidates = {f"{at}": LETTERS[6 * at : 6 * at + 6] for at in range(4)}
    population = verifier.population(LETTERS)
    assert candidates_by_genre(verifier, population, candidates, store_of(verifier)) == {}
    assert candidates_by_genre(verifier, None, candidates, store_of(verifier)) == {}


def test_no_further_disputed_text_is_nothing_to_warn_of(verifier: Verifier) -> None:
    assert list(cautions_of_others(verifier, [], np.zeros((0, verifier.lev_size), "f4"))) == []
