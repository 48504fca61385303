"""A verifier whose texts are their own population: what they tell of each other is heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import SmallRun, made_up_rows, rich_rows

from adhominem import Document, Population, Verifier, load
from adhominem.arrays import Levs
from adhominem.errors import ModelError, OptionError
from adhominem.scoring import scorer as module
from adhominem.scoring.companions import Companions, member_weights
from adhominem.scoring.decision import ensemble_log_bayes_factor
from adhominem.scoring.members import LayerScorer
from adhominem.scoring.scale import Calibration, Fusion, Scale, Scales, Scores
from adhominem.scoring.two_covariance import TwoCovariance

pytestmark = pytest.mark.usefixtures("any_company")

TEXTS = [row["text"] for row in rich_rows("letters", 10, 4, "-companions-")]


@pytest.fixture(scope="module")
def verifier(mixed_folder: Path) -> Verifier:
    """An n-gram model, a network and a profile, calibrated for companions, too."""
    return load(mixed_folder)


@pytest.fixture(scope="module")
def levs(verifier: Verifier) -> Levs:
    return verifier.encode(TEXTS)


@pytest.fixture(scope="module")
def population(verifier: Verifier, levs: Levs) -> Population:
    found = verifier.population_of(levs, TEXTS, companions=True)
    assert found.companions is not None
    return found


@pytest.fixture(scope="module")
def pairs() -> npt.NDArray[np.int64]:
    """(2, pairs)."""
    return np.random.default_rng(0).integers(0, len(TEXTS), (2, 25))


# Whether there are any


def test_companions_are_there_if_they_are_asked_for(verifier: Verifier, levs: Levs) -> None:
    plain = verifier.population(TEXTS)
    assert plain.companions is None
    found = verifier.population([Document(text=text) for text in TEXTS], companions=True)
    assert found.companions is not None
    assert found.companions.texts == found.texts == len(TEXTS)
    assert len(found.companions.separation) == len(verifier.members)
    np.testing.assert_array_equal(found.lev_mean, plain.lev_mean)
    assert [each.exact for each in found.prints] == [each.exact for each in plain.prints]


def test_few_texts_have_no_companions_and_copies_do_not_make_them_many(
    verifier: Verifier, levs: Levs
) -> None:
    for some in (levs[:19], np.concatenate([levs[:19], levs[:19]])):
        assert verifier.population_of(some, companions=True).companions is None
    enough = verifier.population_of(np.concatenate([levs[:20], levs[:7]]), companions=True)
    assert enough.companions is not None
    assert enough.companions.texts == enough.texts == 20


def test_more_texts_than_can_be_looked_through_have_no_companions(
    verifier: Verifier, levs: Levs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 39)
    found = verifier.population_of(levs, companions=True)
    assert (found.texts, found.companions) == (40, None)
    assert verifier.population_of(levs[1:], companions=True).companions is not None


def test_a_model_that_was_not_calibrated_for_companions_looks_for_none(
    mixed_folder: Path, levs: Levs
) -> None:
    other = load(mixed_folder)
    other.scales = replace(other.scales, companions=None)
    assert other.population_of(levs, companions=True).companions is None
    assert other.scorer.with_companions(other.population_of(levs), levs).companions is not None


# Scores


def by_hand(
    verifier: Verifier,
    population: Population,
    everything: Levs,
    first: Sequence[Levs],
    second: Sequence[Levs],
) -> npt.NDArray[np.float64]:
    """(members, pairs): by the styles of each member, and by how clear it is."""
    sides = [side for pair in zip(first, second, strict=True) for side in pair]
    there, asked = [], []
    scorer = verifier.scorer
    for member, own, mine, part in zip(
        scorer.members,
        scorer.split(everything.astype(np.float64)),
        scorer.split(np.concatenate(sides).astype(np.float64)),
        scorer.parts(population),
        strict=True,
    ):
        assert part is not None
        there.append(member.departures(own, part))
        asked.append(member.departures(mine, part))
    numbers = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
    companions = Companions(there)
    heard = member_weights(companions.separation, verifier.scales.usual_separation)
    return 4 * np.arcsinh(companions.compare(asked, numbers) / 4) * heard[:, None]


def factors_of(scores: Scores) -> npt.NDArray[np.float64]:
    """(members, pairs): what each member says by itself."""
    return np.array([member.log_bayes_factor for member in scores.members])


def test_scores_are_those_of_the_members_styles_by_hand(
    verifier: Verifier, levs: Levs, population: Population, pairs: npt.NDArray[np.int64]
) -> None:
    first, second = levs[pairs]
    found = verifier.scorer.scores(first, second, population)
    expected = by_hand(
        verifier, population, levs, [lev[None] for lev in first], [lev[None] for lev in second]
    )
    np.testing.assert_allclose(factors_of(found), expected, rtol=0, atol=1e-3)
    assert factors_of(found).shape == (3, 25)
    without = verifier.scorer.scores(first, second, replace(population, companions=None))
    assert np.abs(factors_of(found) - factors_of(without)).max(axis=1).min() > 0.1


def test_all_but_the_standing_is_measured_as_with_any_population(
    verifier: Verifier, levs: Levs, population: Population, pairs: npt.NDArray[np.int64]
) -> None:
    first, second = levs[pairs]
    enriched = verifier.scorer.scores(first, second, population)
    plain = verifier.scorer.scores(first, second, replace(population, companions=None))
    for with_companions, without in zip(enriched.members, plain.members, strict=True):
        for name in ("agreement", "remoteness", "kinship", "misfit", "spread"):
            np.testing.assert_array_equal(getattr(with_companions, name), getattr(without, name))
    assert any(member.remoteness.any() for member in enriched.members)


def test_sets_of_several_texts_are_compared_as_sides(
    verifier: Verifier, levs: Levs, population: Population
) -> None:
    first, second = [levs[:3], levs[8:9], levs[20:22]], [levs[3:4], levs[9:12], levs[30:34]]
    found = verifier.scorer.scores(first, second, population)
    expected = by_hand(verifier, population, levs, first, second)
    np.testing.assert_allclose(factors_of(found), expected, rtol=0, atol=1e-3)
    scale = verifier.scales.companions
    assert scale is not None
    assert scale.calibration is not None
    for at, factor in enumerate(scale.calibration.unbounded(scale.fusion(found))):
        alone = verifier.scorer([first[at]], [second[at]], population).unbounded[0]
        assert alone == pytest.approx(factor, abs=1e-3)


def test_a_score_with_companions_does_not_depend_on_the_order_of_the_pair(
    verifier: Verifier, levs: Levs, population: Population, pairs: npt.NDArray[np.int64]
) -> None:
    first, second = levs[pairs]
    found = verifier.scorer(first, second, population).raw
    assert np.ptp(found) > 0.1
    turned = verifier.scorer(second, first, population).raw
    np.testing.assert_allclose(turned, found, atol=1e-3)


@pytest.mark.parametrize("at_once", [1, 7])
def test_a_score_with_companions_does_not_depend_on_what_else_is_scored(
    at_once: int,
    verifier: Verifier,
    levs: Levs,
    population: Population,
    pairs: npt.NDArray[np.int64],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = levs[pairs]
    whole = verifier.score(first, second, population)
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", at_once)
    np.testing.assert_allclose(verifier.score(first, second, population), whole, atol=1e-3)


def test_no_pairs_have_no_scores_with_companions(
    verifier: Verifier, population: Population
) -> None:
    none = np.zeros((0, verifier.lev_size), np.float32)
    assert verifier.score(none, none, population).shape == (0,)
    assert factors_of(verifier.scorer.scores([], [], population)).shape == (3, 0)


def test_a_side_without_texts_is_refused_with_companions_as_without(
    verifier: Verifier, levs: Levs, population: Population
) -> None:
    none = np.zeros((0, verifier.lev_size), np.float32)
    for relevant in (replace(population, companions=None), population):
        for first, second in ((none, levs[:1]), (levs[:1], none)):
            with pytest.raises(OptionError, match="a side without documents"):
                verifier.score([first], [second], relevant)


def test_texts_that_are_not_of_the_population_draw_on_no_companions(
    verifier: Verifier, levs: Levs, population: Population
) -> None:
    others = verifier.encode([row["text"] for row in rich_rows("letters", 2, 2, "-new-")])
    first = [levs[:1], others[:1], levs[5:6], others[2:4], levs[8:10]]
    second = [levs[1:2], others[1:2], others[:1], levs[:1], levs[20:21]]
    found = verifier.scorer(first, second, population)
    without = verifier.scorer(first, second, replace(population, companions=None))
    companions = [True, False, False, False, True]  # a side may be partly of the population, too
    for name in ("raw", "log_bayes_factor", "lower_bound", "upper_bound", "strange"):
        same = np.isclose(getattr(found, name), getattr(without, name), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(same[1:4], True, err_msg=name)
    assert (np.abs(found.raw - without.raw)[companions] > 1e-3).all()
    alone = [
        verifier.score([one], [two], population)[0] for one, two in zip(first, second, strict=True)
    ]
    np.testing.assert_allclose(found.log_bayes_factor, alone, atol=1e-3)


def test_verify_draws_on_no_companions(
    verifier: Verifier, levs: Levs, population: Population
) -> None:
    said = verifier.verify(TEXTS[0], TEXTS[1:3], population=population)
    expected = verifier.score([levs[:1]], [levs[1:3]], replace(population, companions=None))[0]
    assert said.log_bayes_factor == pytest.approx(expected, abs=1e-3)
    assert said.population is not None
    assert said.population.texts == 40


def test_levs_that_are_no_numbers_are_refused(
    verifier: Verifier, levs: Levs, population: Population
) -> None:
    broken = np.asarray(levs[:2])
    broken[0, 0] = np.nan
    with pytest.raises(OptionError, match="a LEV is not finite"):
        verifier.score(broken[:1], broken[1:], population)
    with pytest.raises(OptionError, match="a LEV is not finite"):
        verifier.scorer.with_companions(population, np.concatenate([levs, broken]))


def test_a_population_knows_whether_it_falls_into_two_groups(
    verifier: Verifier, levs: Levs, population: Population
) -> None:
    assert population.groups == ()
    styles = verifier.lead.styles
    assert styles is not None
    apart = np.asarray(levs)
    columns = verifier.scorer.split(apart)[verifier.scorer.lead]  # a view
    columns[:12] += 100 * (styles.centres[1] - styles.centres[0])
    groups = verifier.population_of(apart).groups
    assert [group.share for group in groups] == [0.7, 0.3]
    assert groups[1].genre == styles.genres[1]


def test_no_pairs_have_no_scores(verifier: Verifier, population: Population) -> None:
    for relevant in (None, replace(population, companions=None), population):
        for none in ([], np.zeros((0, verifier.lev_size), np.float32)):
            found = verifier.scorer.scores(none, none, relevant)
            assert factors_of(found).shape == (len(verifier.members), 0)
            assert len(found) == 0


def test_sets_may_come_as_one_array(verifier: Verifier, levs: Levs, population: Population) -> None:
    first, second = (np.asarray(side).reshape(3, 2, -1) for side in (levs[:6], levs[6:12]))
    for relevant in (None, population):
        found = verifier.scorer.scores(first, second, relevant)
        expected = verifier.scorer.scores(list(first), list(second), relevant)
        np.testing.assert_allclose(factors_of(found), factors_of(expected), rtol=1e-9)


def test_the_usual_clearness_is_of_each_member() -> None:
    scales = Scales(usual_separation=(1.0, 2.0))
    with pytest.raises(ModelError, match="usual_separation is for 2 members; there are 1"):
        scales.check("small", 1)


# Scales


def test_the_scale_is_that_of_companions(
    verifier: Verifier, levs: Levs, population: Population, pairs: npt.NDArray[np.int64]
) -> None:
    first, second = levs[pairs]
    scales = verifier.scales
    assert scales.companions is not None
    assert scales.companions is not scales.population
    assert scales.of(population) is scales.companions
    assert scales.of(replace(population, companions=None)) is scales.population
    scores = verifier.scorer.scores(first, second, population)
    found = verifier.scorer(first, second, population)
    np.testing.assert_allclose(found.raw, scales.companions.fusion(scores), atol=1e-3)
    calibration = scales.companions.calibration
    assert calibration is not None
    np.testing.assert_allclose(found.unbounded, calibration.unbounded(found.raw), atol=1e-3)


def test_without_a_scale_of_their_own_scores_with_companions_are_not_calibrated(
    population: Population,
) -> None:
    calibration = Calibration(
        method="logistic",
        scores=(0.0, 1.0),
        log_bayes_factors=(0.5, 1.0),
        lower_bound=-2.0,
        upper_bound=2.0,
        pairs=100,
    )
    fusion = Fusion(weights=tuple(np.arange(35.0).tolist()))
    alone, other = Scale(fusion, calibration), Scale(calibration=calibration)
    found = Scales(alone, other).of(population)
    assert (found.fusion, found.calibration) == (Fusion(), None)  # these weights are for others
    assert Scales(alone, other).of(replace(population, companions=None)) is other


# A single network, which knows no kinds of text


def test_a_network_by_itself_can_draw_on_companions(small_run: SmallRun) -> None:
    network = load(small_run.folder, threads=1)
    assert network.members[0].styles is None
    levs = network.encode([row["text"] for row in made_up_rows(8, 4, "n")])
    assert network.population_of(levs, companions=True).companions is None  # not calibrated
    population = network.scorer.with_companions(network.population_of(levs), levs)
    found = network.scorer.scores(levs[:10], levs[10:20], population)
    raw = network.scorer(levs[:10], levs[10:20], population).raw
    levs = np.asarray(levs)[:, :-1]  # without the number of tokens
    styles = (levs - levs.mean(axis=0, dtype=np.float64)).astype(np.float64)
    asked = np.stack([styles[:10], styles[10:20]], axis=1).reshape(20, -1)
    expected = 4 * np.arcsinh(Companions([styles]).compare([asked], np.arange(20)) / 4)
    np.testing.assert_allclose(factors_of(found), expected, rtol=0, atol=2e-3)
    np.testing.assert_allclose(raw, ensemble_log_bayes_factor(list(factors_of(found))), atol=1e-3)


def test_a_network_with_a_projection_can_draw_on_companions(small_run: SmallRun) -> None:
    network = load(small_run.folder, threads=1)
    layer = TwoCovariance.from_precisions(np.ones(7), np.eye(7), np.eye(7))
    member = LayerScorer(layer, lambda levs: np.concatenate([levs, levs[:, :2]], 1), 5)
    network.scorer = replace(network.scorer, members=(member,))
    levs = network.encode([row["text"] for row in made_up_rows(8, 4, "n")])
    population = network.population_of(levs)
    assert factors_of(network.scorer.scores(levs[:3], levs[3:6], population)).shape == (1, 3)
    population = network.scorer.with_companions(population, levs)
    assert factors_of(network.scorer.scores(levs[:3], levs[3:6], population)).shape == (1, 3)
