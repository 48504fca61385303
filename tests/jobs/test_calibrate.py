"""A model is calibrated on authors it has never seen, and says so from then on."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from shutil import copytree

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner
from conftest import SmallRun, made_up_rows, rich_rows, write_rows

from adhominem import Document, Population, find_sources, load, read_pairs, write_pair_set
from adhominem.cli import main
from adhominem.errors import AdHominemWarning, ModelError, OptionError
from adhominem.evaluation.answers import answers_from
from adhominem.evaluation.measures import measure
from adhominem.jobs import calibrate as module
from adhominem.jobs.calibrate import _Data, _Part, calibrate_model
from adhominem.models.calibration import Validation, read_validation
from adhominem.models.folder import model_folder
from adhominem.models.writing import trained_on
from adhominem.scoring.decision import probability_same_author
from adhominem.scoring.scale import Scores
from adhominem.text.pan import Pair


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of authors who are in neither train nor dev."""
    folder = tmp_path_factory.mktemp("calibration")
    rows = write_rows(folder / "rows.jsonl", made_up_rows(40, 8, "c"))
    write_pair_set(find_sources(rows), folder / "pairs")
    return folder / "pairs"


@pytest.fixture
def model(small_run: SmallRun, tmp_path: Path) -> Path:
    return Path(copytree(small_run.folder, tmp_path / "model"))


def test_scores_are_mapped_and_bounded_once_the_model_is_calibrated(
    model: Path, pairs: Path
) -> None:
    before = load(model, threads=1)
    reports = calibrate_model(model, {"pairs": list(read_pairs(pairs))})
    after = load(model, threads=1)
    assert before.calibration is None
    assert after.calibration == reports.alone.calibration
    levs = before.encode_pairs(list(read_pairs(pairs)))
    own_texts = Population.of(np.concatenate(levs))
    for population, report in ((None, reports.alone), (own_texts, reports.population)):
        assert before.scales.of(population).calibration is None
        assert after.scales.of(population).calibration == report.calibration
        raw = before.score(*levs, population)
        np.testing.assert_array_equal(after.scorer(*levs, population).raw, raw)
        factors = after.score(*levs, population)
        np.testing.assert_array_equal(factors, report.calibration(raw))
        assert report.calibration.lower_bound <= factors.min()
        assert factors.max() <= report.calibration.upper_bound
    assert not np.allclose(after.score(*levs), after.score(*levs, own_texts))


def test_scores_with_companions_have_a_scale_of_their_own(model: Path, pairs: Path) -> None:
    known = list(read_pairs(pairs))
    before = load(model, threads=1)
    reports = calibrate_model(model, {"pairs": known})
    after = load(model, threads=1)
    report = reports.companions
    assert report is not None
    first, second = before.encode_pairs(known)
    levs = np.concatenate([first, second])
    own_texts = after.population_of(levs, companions=True)
    assert own_texts.companions is not None
    assert after.scales.usual_separation == pytest.approx(own_texts.companions.separation)
    assert after.scales.of(own_texts).calibration == report.calibration
    raw = before.scorer(first, second, before.scorer.with_companions(Population.of(levs), levs)).raw
    np.testing.assert_allclose(after.scorer(first, second, own_texts).raw, raw, atol=1e-6)
    factors = after.score(first, second, own_texts)
    np.testing.assert_allclose(factors, report.calibration(raw), atol=1e-6)
    assert report.calibration.pairs == len(known)
    assert report.same_author == sum(bool(pair.same_author) for pair in known)
    assert (report.authors, report.sets) == (40, ("pairs",))
    assert report.after["cllr"] < 1.02


def test_a_model_is_calibrated_again_as_if_it_had_never_been(
    mixed_folder: Path, tmp_path: Path
) -> None:
    model = Path(copytree(mixed_folder, tmp_path / "model"))
    rows = write_rows(tmp_path / "rows.jsonl", rich_rows("notes", 30, 4, "-again-"))
    write_pair_set(find_sources(rows), tmp_path / "notes")
    sets = {"notes": list(read_pairs(tmp_path / "notes"))}
    reports = [calibrate_model(model, sets) for _ in range(2)]
    assert reports[0] == reports[1]
    (model / "calibration.json").unlink()
    assert calibrate_model(model, sets) == reports[0]


def test_what_clearness_is_usual_is_the_mean_over_the_sets(
    mixed_folder: Path, tmp_path: Path
) -> None:
    model = Path(copytree(mixed_folder, tmp_path / "model"))
    sets = {}
    for kind, authors in (("letters", 16), ("notes", 30)):
        rows = write_rows(tmp_path / f"{kind}.jsonl", rich_rows(kind, authors, 4, "-usual-"))
        write_pair_set(find_sources(rows), tmp_path / kind)
        sets[kind] = list(read_pairs(tmp_path / kind))
    calibrate_model(model, sets)
    verifier = load(model)
    logs, weights = [], []
    for pairs in sets.values():
        population = verifier.population_of(
            np.concatenate(verifier.encode_pairs(pairs)), companions=True
        )
        assert population.companions is not None
        logs.append(np.log(population.companions.separation))
        weights.append(np.sqrt(len(pairs)))  # so much each set counts in all scales
    expected = np.exp((weights[0] * logs[0] + weights[1] * logs[1]) / sum(weights))
    assert verifier.scales.usual_separation == pytest.approx(expected.tolist(), rel=1e-4)
    assert np.ptp(logs, axis=0).max() > 0.1


def few_texts(authors: int, documents: int, pairs: int) -> list[Pair]:
    """Many pairs of a few texts, half of them by one author."""
    rows = made_up_rows(authors, documents, "few")
    texts = [Document(text=row["text"], author=row["author"]) for row in rows]
    every = list(combinations(texts, 2))
    scored = []
    for same in (True, False):
        chosen = [pair for pair in every if (pair[0].author == pair[1].author) == same]
        scored += [
            Pair(id=f"{same}-{at}", first=one, second=other, same_author=same)
            for at, (one, other) in enumerate(random.Random(0).choices(chosen, k=pairs // 2))
        ]
    return scored


def test_sets_of_few_texts_have_no_scale_for_companions(model: Path) -> None:
    few = few_texts(authors=6, documents=3, pairs=120)
    reports = calibrate_model(model, {"few": few})
    assert reports.companions is None
    assert set(reports.modes) == {"without a population", "with one"}
    verifier = load(model, threads=1)
    assert verifier.scales.companions is None
    assert verifier.scales.usual_separation == ()
    levs = verifier.encode([row["text"] for row in made_up_rows(8, 4, "many")])
    assert verifier.population_of(levs, companions=True).companions is None


def test_companions_are_calibrated_by_the_sets_that_have_texts_enough(
    model: Path, pairs: Path
) -> None:
    many = list(read_pairs(pairs))
    few = few_texts(authors=6, documents=3, pairs=120)
    report = calibrate_model(model, {"few": few, "many": many}).companions
    assert report is not None
    assert report.calibration.pairs == len(many)
    assert report == replace(
        calibrate_model(model, {"many": many}).companions or report, sets=("few", "many")
    )


def test_too_few_pairs_with_companions_leave_the_other_scales_as_they_are(model: Path) -> None:
    few = few_texts(authors=6, documents=3, pairs=120)
    rows = made_up_rows(12, 2, "many")
    texts = [Document(text=row["text"], author=row["author"]) for row in rows]
    pairs = [
        Pair(id=str(at), first=texts[2 * at], second=texts[2 * at + 1], same_author=True)
        for at in range(12)
    ]
    assert calibrate_model(model, {"few": few, "same": pairs}).companions is None


def test_no_more_texts_are_used_for_companions_than_can_be_looked_through(
    model: Path, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = list(read_pairs(pairs))
    monkeypatch.setattr(module, "MOST", 161)
    report = calibrate_model(model, {"pairs": known}).companions
    assert report is not None
    assert report.calibration.pairs == 80
    ordered = sorted(known, key=lambda pair: not pair.same_author)  # the chosen ones are random
    again = calibrate_model(model, {"pairs": ordered}).companions
    assert again is not None
    assert 0 < again.same_author < 80


def test_calibration_makes_the_evidence_cheaper_for_authors_it_has_not_seen(
    model: Path, pairs: Path
) -> None:
    reports = calibrate_model(model, {"pairs": list(read_pairs(pairs))})
    for report in (reports.alone, reports.population):
        assert report.after["cllr"] <= report.before["cllr"] + 0.02
        assert report.after["cllr"] < 1.02
        assert report.authors == 40
        assert report.sets == ("pairs",)


def condition_of(same_author: npt.NDArray[np.bool_]) -> Validation:
    """Pairs of one set, under the condition that all are under."""
    pairs = len(same_author)
    return Validation(
        genres=("pairs",),
        log_bayes_factor=np.zeros(pairs, np.float32),
        same_author=same_author,
        genre=np.zeros(pairs, np.int32),
        words=np.full(pairs, 100, np.int32),
        population=np.zeros(pairs, bool),
        known=np.ones(pairs, bool),
    )


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
@pytest.mark.parametrize(("members", "fusion"), [(1, "logistic"), (2, "logistic"), (2, "mean")])
def test_a_pair_is_calibrated_by_pairs_that_share_no_author_with_it(
    kind: str, members: int, fusion: str
) -> None:
    rng = np.random.default_rng(0)
    authors = rng.integers(0, 25, (300, 2)).astype(str)
    authors[:150, 1] = authors[:150, 0]
    same = authors[:, 0] == authors[:, 1]
    scores = Scores(rng.normal(size=(members, 300)) + same, np.zeros((0, 300)))

    def data(labels: npt.NDArray[np.bool_]) -> _Data:
        return _Data([_Part(scores, authors, True, condition_of(labels))], kind, fusion)

    factors = data(same).crossed
    # whatever is said of one author's pairs, the maps for that author's pairs stay the same
    touched = (authors == authors[0, 0]).any(axis=1)
    again = data(np.where(touched, ~same, same)).crossed
    np.testing.assert_allclose(factors[touched], again[touched], rtol=1e-9)
    assert not np.allclose(factors[~touched], again[~touched], rtol=1e-3)
    fused, calibration = data(same).fitted
    assert not np.allclose(factors, calibration(fused(scores)), rtol=1e-3)
    assert np.corrcoef(factors, scores.members.sum(axis=0))[0, 1] > 0.8


# The pairs that a result is held against


def test_pairs_stop_at_the_bounds_of_the_model_not_at_those_of_a_fold() -> None:
    rng = np.random.default_rng(1)
    authors = rng.integers(0, 60, (600, 2)).astype(str)
    authors[:300, 1] = authors[:300, 0]
    same = authors[:, 0] == authors[:, 1]
    scores = Scores((rng.normal(size=(1, 600)) + 3 * same), np.zeros((0, 600)))
    data = _Data([_Part(scores, authors, True, condition_of(same))], "logistic", "")
    _, calibration = data.fitted
    lower, upper = calibration.lower_bound, calibration.upper_bound
    factors = data.validation().log_bayes_factor
    assert (factors.min(), factors.max()) == (np.float32(lower), np.float32(upper))
    inside = (data.crossed > lower) & (data.crossed < upper)
    np.testing.assert_array_equal(factors[inside], data.crossed[inside].astype(np.float32))
    assert (factors[data.crossed >= upper] == np.float32(upper)).all()
    assert (factors[data.crossed <= lower] == np.float32(lower)).all()
    assert len(np.unique(factors[inside])) == inside.sum()  # none is piled up at another bound


def measures(checked: Validation) -> dict[str, float]:
    factors = checked.log_bayes_factor.astype(np.float64)
    return measure(answers_from("", probability_same_author(factors), factors, checked.same_author))


def test_the_pairs_of_the_calibration_are_kept_as_the_reports_measure_them(
    model: Path, pairs: Path
) -> None:
    known = list(read_pairs(pairs))
    reports = calibrate_model(model, {"pairs": known})
    checked = read_validation(model)
    assert checked is not None
    assert checked.genres == ("pairs",)
    assert checked.known.all()  # the model knows of no kinds
    assert checked.population.sum() == len(known) == len(checked) / 2  # none is long enough to cut
    truth = [pair.same_author for pair in known]
    words = [min(len(text.text.split()) for text in (pair.first, pair.second)) for pair in known]
    for population, report in ((False, reports.alone), (True, reports.population)):
        part = checked[checked.population == population]
        assert part.same_author.tolist() == truth
        assert part.words.tolist() == words
        expected = report.after
        for name, value in measures(part).items():
            assert value == pytest.approx(expected[name], abs=1e-5), name
    assert not np.allclose(*(checked.log_bayes_factor[checked.population == p] for p in (0, 1)))


def test_shortened_pairs_and_pairs_of_unknown_kinds_are_kept_with_what_they_are(
    mixed_folder: Path, tmp_path: Path
) -> None:
    model = Path(copytree(mixed_folder, tmp_path / "model"))
    for kind in ("letters", "notes"):
        rows = write_rows(tmp_path / f"{kind}.jsonl", rich_rows(kind, 24, 4, "-more-"))
        write_pair_set(find_sources(rows), tmp_path / kind)
    sets = {
        "letters": list(read_pairs(tmp_path / "letters")),
        "others": list(read_pairs(tmp_path / "notes")),
    }
    reports = calibrate_model(model, sets, lengths=(150,))
    checked = read_validation(model)
    assert checked is not None
    assert checked.genres == ("letters", "others")
    long = {
        name: [
            pair
            for pair in of_set
            if all(len(text.text.split()) > 150 for text in (pair.first, pair.second))
        ]
        for name, of_set in sets.items()
    }
    for number, (name, of_set) in enumerate(sets.items()):
        assert 10 <= len(long[name]) < len(of_set)
        members = checked[checked.genre == number]
        shares = {  # of "others" the model has no kind: it cannot be as if it were unknown
            "population": members.population,
            "known": ~members.population & members.known,
            "unknown": ~members.population & ~members.known,
        }
        times = {"population": 1, "known": 1, "unknown": 2 if name == "letters" else 0}
        for condition, chosen in shares.items():
            part = members[chosen]
            assert len(part) == times[condition] * (len(of_set) + len(long[name]))
            assert (part.words == 150).sum() >= times[condition] * len(long[name])
    whole = [pair for of_set in sets.values() for pair in of_set]
    assert reports.alone.calibration.pairs == len(whole)
    # of the whole pairs that know their kind, the measures are those of the report
    mask = np.zeros(len(checked), bool)
    begin = 0
    for name, of_set in sets.items():
        for size, is_whole in ((len(of_set), True), (len(long[name]), False)):
            mask[begin : begin + size] = is_whole
            begin += size * (3 if name == "letters" else 1)
    for name, value in measures(checked[mask]).items():
        assert value == pytest.approx(reports.alone.after[name], abs=1e-5), name


def test_authors_of_the_training_texts_are_refused(small_run: SmallRun, model: Path) -> None:
    assert trained_on(model, {"t0", "t8", "d0", ""}) == {"t0", "t8"}
    rng = random.Random(0)
    texts = [" ".join(rng.choices(["it", "was", "he"], k=30)) for _ in range(160)]
    known = [
        Pair(
            id=str(at),
            first=Document(text=texts[2 * at], author="t0"),
            second=Document(text=texts[2 * at + 1], author="t0" if at % 2 else f"new{at}"),
            same_author=bool(at % 2),
        )
        for at in range(80)
    ]
    with pytest.raises(OptionError, match=r"trained on 1 of the 41 authors.*t0"):
        calibrate_model(model, {"pairs": known})
    assert not (model / "calibration.json").exists()


def test_a_model_that_does_not_say_whom_it_was_trained_on_is_warned_of(
    model: Path, pairs: Path
) -> None:
    (model / "training_authors.txt").unlink()
    with pytest.warns(AdHominemWarning, match="does not say whom"):
        calibrate_model(model, {"pairs": list(read_pairs(pairs))})


def test_the_names_of_the_training_authors_are_not_in_the_model(model: Path) -> None:
    listed = (model / "training_authors.txt").read_text("utf-8").split()
    assert len(listed) == 9
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in listed)


def test_too_few_pairs_are_refused(model: Path, pairs: Path) -> None:
    with pytest.raises(OptionError, match="expected 30 of each or more"):
        calibrate_model(model, {"pairs": list(read_pairs(pairs))[:40]})


def test_the_card_tells_of_the_calibration_once(model: Path, pairs: Path) -> None:
    assert "not calibrated" in (model / "README.md").read_text("utf-8")
    for _ in range(2):
        calibrate_model(model, {"letters": list(read_pairs(pairs))})
        card = (model / "README.md").read_text("utf-8")
        assert "not calibrated" not in card
        assert card.count("## Calibration") == card.count("## Limits") == 1
        assert "(letters)" in card


def test_a_card_that_cannot_be_read_is_named_before_anything_is_written(
    model: Path, pairs: Path
) -> None:
    (model / "README.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match=r"README\.md: .*; mend or remove it"):
        calibrate_model(model, {"pairs": list(read_pairs(pairs))})
    assert not (model / "calibration.json").exists()


def test_a_damaged_calibration_is_an_error(model: Path, pairs: Path) -> None:
    calibrate_model(model, {"pairs": list(read_pairs(pairs))})
    whole = (model / "calibration.json").read_text("utf-8")
    for text, problem in (
        (whole[:100], "damaged"),
        (whole.replace('"logistic"', '"magic"'), "damaged"),
        (re.sub(r'"format": \d+', '"format": 99', whole), "Use the version that wrote it"),
    ):
        (model / "calibration.json").write_text(text, "utf-8")
        with pytest.raises(ModelError, match=problem):
            load(model, threads=1)


def test_a_calibration_of_another_format_is_refused(model: Path, pairs: Path) -> None:
    calibration = calibrate_model(model, {"pairs": list(read_pairs(pairs))}).alone.calibration
    before = {"format": 1, "adhominem": "0.1.0", "calibration": calibration.to_json()}
    (model / "calibration.json").write_text(json.dumps(before), "utf-8")
    with pytest.raises(ModelError, match=r"has the format 1; .*, or calibrate the model again"):
        load(model, threads=1)


def test_the_command_calibrates_and_says_what_it_did(model: Path, pairs: Path) -> None:
    done = CliRunner().invoke(main, ["calibrate", str(model), str(pairs), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    for mode in ("alone", "population", "companions"):
        assert told[mode]["calibration"]["method"] == "logistic"
        assert set(told[mode]["before"]) == set(told[mode]["after"])
    done = CliRunner().invoke(main, ["calibrate", str(model), str(pairs), "--method", "isotonic"])
    assert done.exit_code == 0, done.output
    for mode in ("Without a population", "With one", "With companions"):
        assert f"{mode}: no log10 Bayes factor below" in done.stdout
    scales = load(model, threads=1).scales
    for scale in (scales.alone, scales.population, scales.companions):
        assert scale is not None
        assert scale.calibration is not None
        assert scale.calibration.method == "isotonic"


def test_a_model_that_comes_with_the_package_is_not_calibrated_in_place() -> None:
    before = (model_folder("general-en") / "calibration.json").read_bytes()
    for model in ("general-en", model_folder("general-en") / "network"):
        with pytest.raises(OptionError, match=r"comes with the package.*copy it first"):
            calibrate_model(model, {})
    assert (model_folder("general-en") / "calibration.json").read_bytes() == before
