"""What members say of pairs, in whatever form LEVs come: by the model, or by a network's layer."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_three_level import made_up_genres, pairs_of, said_by, texts_of
from slow_two_covariance import seeds

from adhominem.arrays import Rows, SparseRows
from adhominem.errors import OptionError
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.score import products as module
from adhominem.score.members import GenreMember, LayerMember, MemberScorer
from adhominem.score.products import MemberTexts, PopulationPart
from adhominem.score.three_level import Evidence

FloatArray = npt.NDArray[np.float64]
SIZE = 8
GENRES = made_up_genres(SIZE)
GENRE_MEMBER = GenreMember(GENRES)
LAYER = TwoCovariance.from_precisions(np.arange(4.0), np.eye(4), 3 * np.eye(4))
LAYER_MEMBER = LayerMember(LAYER, lambda levs: 2 * levs[:, :4], SIZE, weight=0.7)
MEMBERS: dict[str, MemberScorer] = {"genres": GENRE_MEMBER, "layer": LAYER_MEMBER}


def levs_of(seed: int, texts: int) -> FloatArray:
    """Texts by as many authors, the genres in turns."""
    rng = np.random.default_rng(seed)
    return np.concatenate([texts_of(rng, GENRES, 1, at % 3) for at in range(texts)])


def part_of(levs: Rows, seed: int = 0) -> PopulationPart:
    return PopulationPart.of(levs, np.random.default_rng(seed).uniform(4, 8, len(levs)))


def assert_same(found: Evidence, expected: Evidence, tolerance: float = 1e-9) -> None:
    for field in fields(Evidence):
        made, slow = (getattr(one, field.name) for one in (found, expected))
        assert (made is None) == (slow is None), field.name
        if slow is not None:
            np.testing.assert_allclose(
                made, slow, rtol=tolerance, atol=tolerance, err_msg=field.name
            )


# In whatever form LEVs come


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("given_population", [False, True])
def test_many_pairs_get_what_each_gets_by_itself(name: str, given_population: bool) -> None:
    member, rng = MEMBERS[name], np.random.default_rng(1)
    levs, part = levs_of(1, 20), part_of(levs_of(2, 9)) if given_population else None
    first = [levs[at : at + 1 + at % 3] for at in range(6)]
    second = [levs[10 + at :][: 1 + at % 2] for at in range(6)]
    counts = [len(one) + len(other) for one, other in zip(first, second, strict=True)]
    lengths = rng.uniform(4, 8, (6, max(counts)))
    whole = said_by(member, *pairs_of(first, second, lengths), part)
    for at, count in enumerate(counts):
        alone = said_by(
            member, *pairs_of([first[at]], [second[at]], lengths[at : at + 1, :count]), part
        )
        assert whole.log_bayes_factor[at] == pytest.approx(alone.log_bayes_factor[0], rel=1e-9)
        if whole.against is not None:
            assert alone.against is not None
            for side in (0, 1):
                np.testing.assert_allclose(whole.against[side][at], alone.against[side][0])
        if whole.fit is not None:
            assert alone.fit is not None
            assert whole.fit[at] == pytest.approx(alone.fit[0])


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("given_population", [False, True])
def test_a_table_is_pairs_of_sides_of_one_text_each(name: str, given_population: bool) -> None:
    member, levs = MEMBERS[name], levs_of(3, 12)
    part = part_of(levs_of(4, 9)) if given_population else None
    lengths = np.random.default_rng(3).uniform(4, 8, (6, 2))
    expected = said_by(member, *pairs_of(list(levs[:6, None]), list(levs[6:, None]), lengths), part)
    assert_same(said_by(member, *pairs_of(levs[:6], levs[6:], lengths), part), expected)
    assert_same(said_by(member, *pairs_of(list(levs[:6]), list(levs[6:]), lengths), part), expected)


@given(st.booleans(), seeds)
@settings(max_examples=20)
def test_sparse_rows_get_what_plain_ones_get(given_population: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    levs = (levs_of(seed, 24) * (rng.random((24, SIZE)) < 0.5)).astype(np.float32)
    sparse = SparseRows.of(levs)
    lengths = rng.uniform(4, 8, (5, 3))
    part = part_of(levs[15:]) if given_population else None
    packed = part_of(sparse[np.arange(15, 24)]) if given_population else None
    first, second = [levs[at : at + 2] for at in range(5)], [levs[[at]] for at in range(7, 12)]
    expected = said_by(GENRE_MEMBER, *pairs_of(first, second, lengths), part)
    made = said_by(
        replace(GENRE_MEMBER, is_sparse=True),
        *pairs_of(
            [SparseRows.of(side) for side in first],
            [SparseRows.of(side) for side in second],
            lengths,
        ),
        packed,
    )
    assert_same(made, expected, 1e-6)
    table = said_by(GENRE_MEMBER, *pairs_of(sparse[:5], sparse[5:10], lengths[:, :2]), packed)
    plain = said_by(GENRE_MEMBER, *pairs_of(levs[:5], levs[5:10], lengths[:, :2]), part)
    assert_same(table, plain, 1e-6)


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("given_population", [False, True])
def test_pairs_by_number_get_what_the_same_levs_get(name: str, given_population: bool) -> None:
    member, levs = MEMBERS[name], levs_of(5, 17)
    log_tokens = np.random.default_rng(5).uniform(4, 8, 17)
    first, second = np.array([[0, 1], [2, 5], [9, 3]]), np.array([[3], [4], [10]])
    chosen = np.arange(8, 17) if given_population else None
    texts = member.with_products(MemberTexts(levs, log_tokens), None)
    part = among = None
    if chosen is not None:
        part = PopulationPart.of(levs[chosen], log_tokens[chosen])
        among = PopulationPart.among(texts, chosen)
    made = said_by(member, texts, first, second, among)
    lengths = log_tokens[np.concatenate([first, second], axis=1)]
    expected = said_by(member, *pairs_of(list(levs[first]), list(levs[second]), lengths), part)
    assert_same(made, expected)


def test_a_population_of_pairs_by_number_may_seem_to_be_by_fewer_people() -> None:
    levs, log_tokens = levs_of(6, 15), np.full(15, 6.0)
    first, second, chosen = np.array([[0]]), np.array([[1]]), np.arange(5, 15)
    texts = GENRE_MEMBER.with_products(MemberTexts(levs, log_tokens), None)
    few = PopulationPart.among(texts, chosen, 2.5)
    made = said_by(GENRE_MEMBER, texts, first, second, few)
    part = replace(PopulationPart.of(levs[5:], log_tokens[5:]), authors=2.5)
    expected = said_by(GENRE_MEMBER, *pairs_of(levs[:1], levs[1:2], np.full((1, 2), 6.0)), part)
    assert_same(made, expected)
    usual = said_by(GENRE_MEMBER, texts, first, second, PopulationPart.among(texts, chosen))
    assert abs(usual.log_bayes_factor[0] - made.log_bayes_factor[0]) > 1e-6


@pytest.mark.parametrize("chosen", [None, np.arange(3, 9)])
def test_no_pairs_get_no_evidence(chosen: npt.NDArray[np.int64] | None) -> None:
    texts = GENRE_MEMBER.with_products(MemberTexts(levs_of(7, 9), np.full(9, 6.0)), None)
    nobody = np.zeros((0, 1), np.int64)
    part = None if chosen is None else PopulationPart.among(texts, chosen)
    made = said_by(GENRE_MEMBER, texts, nobody, nobody, part)
    assert made.log_bayes_factor.shape == (0,)


def test_what_is_no_number_is_refused() -> None:
    levs = levs_of(8, 4)
    levs[1, 2] = np.nan
    for name, member in MEMBERS.items():
        with pytest.raises(OptionError, match="a LEV is not finite"):
            said_by(member, *pairs_of(levs[:2], levs[2:], np.full((2, 2), 6.0)), None)
        if name == "genres":
            with pytest.raises(OptionError, match="a LEV is not finite"):
                member.with_products(MemberTexts(levs, np.full(4, 6.0)), None)


# Genres


def test_without_a_genre_it_says_what_one_says_that_never_knew_it() -> None:
    levs, lengths = levs_of(9, 12), np.full((6, 2), 6.0)
    fewer = GENRE_MEMBER.without("genre 1")
    assert fewer.genres.names == ("genre 0", "genre 2")
    expected = GenreMember(GENRES.without("genre 1"))
    assert_same(
        said_by(fewer, *pairs_of(levs[:6], levs[6:], lengths), None),
        said_by(expected, *pairs_of(levs[:6], levs[6:], lengths), None),
    )
    assert LAYER_MEMBER.without("genre 1") is LAYER_MEMBER


def test_a_table_for_other_genres_takes_over_the_products_of_texts() -> None:
    texts, fewer = MemberTexts(levs_of(10, 6), np.full(6, 6.0)), GENRE_MEMBER.without("genre 0")
    table = GENRE_MEMBER.with_products(texts, None)
    taken, made = fewer.with_products(texts, table), fewer.with_products(texts, None)
    assert taken.between is table.between
    assert taken.to_genres is not None
    np.testing.assert_allclose(taken.to_genres, made.to_genres)


def test_a_population_is_multiplied_out_once_for_the_genres_asked_for_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levs, part, lengths = levs_of(12, 4), part_of(levs_of(13, 9)), np.full((2, 2), 6.0)
    expected = said_by(GENRE_MEMBER, *pairs_of(levs[:2], levs[2:], lengths), part)
    with monkeypatch.context() as patch:
        patch.delattr(module, "Cohort")  # none is made again
        assert_same(said_by(GENRE_MEMBER, *pairs_of(levs[:2], levs[2:], lengths), part), expected)
    fewer, fresh = GENRE_MEMBER.without("genre 2"), part_of(levs_of(13, 9))
    assert_same(
        said_by(fewer, *pairs_of(levs[:2], levs[2:], lengths), part),
        said_by(fewer, *pairs_of(levs[:2], levs[2:], lengths), fresh),
    )


# A network's own layer


def test_a_layer_says_what_it_was_trained_to_say_times_its_weight() -> None:
    levs, lengths = levs_of(14, 12), np.zeros((6, 2))
    made = said_by(LAYER_MEMBER, *pairs_of(levs[:6], levs[6:], lengths), None)
    seen = 2 * levs[:, :4]
    expected = 0.7 * LAYER.log_bayes_factor(seen[:6], seen[6:])
    np.testing.assert_allclose(made.log_bayes_factor, expected, rtol=1e-9)
    assert made.against is None
    assert np.ptp(expected) > 1


def test_a_layer_moves_the_mean_of_a_population_to_its_own() -> None:
    levs, texts, lengths = levs_of(15, 6), 2 + levs_of(16, 9), np.zeros((3, 2))
    made = said_by(LAYER_MEMBER, *pairs_of(levs[:3], levs[3:], lengths), part_of(texts))
    mean = texts.mean(axis=0)
    moved, others = (2 * (each - mean)[:, :4] + LAYER.author_mean for each in (levs, texts))
    expected = 0.7 * LAYER.log_bayes_factor(moved[:3], moved[3:])
    np.testing.assert_allclose(made.log_bayes_factor, expected, rtol=1e-9)
    assert made.against is not None
    assert made.kept is None
    assert made.fit is None
    for side, rows in ((0, moved[:3]), (1, moved[3:])):
        for pair, row in enumerate(rows):
            slow = [0.7 * LAYER.log_bayes_factor([row], [text])[0] for text in others]
            np.testing.assert_allclose(made.against[side][pair], slow, rtol=1e-9)
