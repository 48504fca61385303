"""A model is calibrated on authors it has never seen, and says so from then on."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import SmallRun, made_up_rows, rich_rows, write_rows

from adhominem import Document, Population, find_sources, load, read_pairs, write_pair_set
from adhominem.cli import main
from adhominem.errors import AdHominemWarning, ModelError, OptionError
from adhominem.evaluation.answers import answers_from
from adhominem.evaluation.measures import measure
from adhominem.model.calibration import Validation, read_validation
from adhominem.model.folder import model_folder, read_parameters
from adhominem.model.writing import trained_on
from adhominem.records import from_json, to_json
from adhominem.score.calibration import Calibration
from adhominem.score.decision import probability_same_author
from adhominem.text.pan import Pair
from adhominem.training.calibrate import calibrate_model
from adhominem.training.simulate import conditions

Rows = list[dict[str, str]]


def documents(rows: Rows) -> list[Document]:
    return [Document(text=row["text"], author=row["author"]) for row in rows]


TEXTS = documents(made_up_rows(40, 8, "c"))  # by authors who are in neither train nor dev


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of the same authors."""
    folder = tmp_path_factory.mktemp("calibration")
    rows = write_rows(folder / "rows.jsonl", made_up_rows(40, 8, "c"))
    write_pair_set(find_sources(rows), folder / "pairs")
    return folder / "pairs"


@pytest.fixture
def model(small_run: SmallRun, tmp_path: Path) -> Path:
    return Path(copytree(small_run.folder, tmp_path / "model"))


def test_scores_are_weighed_and_bounded_once_the_model_is_calibrated(model: Path) -> None:
    before = load(model, threads=1)
    reports = calibrate_model(model, {"texts": TEXTS})
    after = load(model, threads=1)
    assert before.calibration is None
    assert after.calibration == reports.calibration
    assert reports.calibration.bounds
    levs = before.encode(TEXTS[:60])
    sides, population = (levs[:20], levs[20:40]), Population.of(levs[40:])
    for relevant in (None, population):
        said, scores = after.scorer(*sides, relevant), after.scorer.scores(*sides, relevant)
        lower, upper = reports.calibration.limits(scores.conditions)
        expected = np.clip(reports.calibration.weights(scores), lower, upper)
        np.testing.assert_allclose(
            said.log_bayes_factor[~said.population_misfit], expected[~said.population_misfit]
        )
        assert (said.lower_bound >= lower.min()).all()
        assert (said.upper_bound <= upper.max()).all()
        uncalibrated = before.score(*sides, relevant)
        assert np.corrcoef(uncalibrated, said.unbounded)[0, 1] > 0.5
        assert not np.allclose(uncalibrated, said.unbounded, rtol=0.1)
    assert not np.allclose(after.score(*sides), after.score(*sides, population))


def test_a_model_is_calibrated_again_as_if_it_had_never_been(
    small_run: SmallRun, mixed_folder: Path, tmp_path: Path, quick_calibration: None
) -> None:
    sets = {"notes": documents(rich_rows("notes", 30, 4, "-again-"))}
    for name, folder in (("network", small_run.folder), ("mixed", mixed_folder)):
        model = Path(copytree(folder, tmp_path / name))
        (model / "calibration.json").unlink(missing_ok=True)
        first = calibrate_model(model, sets, cases=6)
        assert calibrate_model(model, sets, cases=6) == first


def test_calibration_makes_the_evidence_cheaper_for_authors_it_has_not_seen(model: Path) -> None:
    reports = calibrate_model(model, {"texts": TEXTS})
    for report in (reports.alone, reports.population):
        assert report is not None
        assert report.after["cllr"] <= report.before["cllr"] + 0.02
        assert report.after["cllr"] < 1.02
        assert report.authors == 40
        assert report.sets == ("texts",)


# Texts and pairs


def test_pairs_and_the_texts_of_them_make_the_same_calibration(model: Path, pairs: Path) -> None:
    known = list(read_pairs(pairs))
    reports = calibrate_model(model, {"set": known})
    texts = [text for pair in known for text in (pair.first, pair.second)]
    assert calibrate_model(model, {"set": texts}) == reports
    assert reports.alone.authors == 40


def test_sets_are_named_by_their_paths_and_may_be_texts_or_pairs(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", made_up_rows(12, 4, "more"))
    reports = calibrate_model(model, [pairs, rows])
    assert reports.alone.sets == ("pairs", "rows")
    validation = read_validation(model)
    assert validation is not None
    assert validation.genres == ("pairs", "rows")
    assert set(validation.genre.tolist()) == {0, 1}
    (tmp_path / "again").mkdir()
    again = write_rows(tmp_path / "again" / "rows.jsonl", made_up_rows(3, 3, "x"))
    with pytest.raises(OptionError, match="two sets are named 'rows'"):
        calibrate_model(model, [rows, again])


def test_unnamed_authors_are_warned_of_and_calibrate_all_the_same(model: Path, pairs: Path) -> None:
    unnamed = [
        replace(pair, first=replace(pair.first, author=""), second=replace(pair.second, author=""))
        for pair in read_pairs(pairs)
    ]
    with pytest.warns(AdHominemWarning, match=r"names no authors for 160 of the 160 pairs of set"):
        report = calibrate_model(model, {"set": unnamed}).alone
    assert report.same_author >= 30


# The cases that a result is held against


def measures(checked: Validation) -> dict[str, float]:
    factors = checked.log_bayes_factor.astype(np.float64)
    return measure(answers_from("", probability_same_author(factors), factors, checked.same_author))


def test_the_cases_of_the_calibration_are_kept_as_the_reports_measure_them(model: Path) -> None:
    reports = calibrate_model(model, {"texts": TEXTS})
    checked = read_validation(model)
    assert checked is not None
    assert checked.genres == ("texts",)
    assert checked.known.all()  # the model knows of no kinds
    for report, chosen in (
        (reports.alone, checked.population == 0),
        (reports.population, checked.population > 0),
    ):
        assert report is not None
        part = checked[chosen]
        assert len(part) == report.cases
        assert part.same_author.sum() == report.same_author
        for name, value in measures(part).items():
            assert value == pytest.approx(report.after[name], abs=1e-5), name
    under = Counter(
        (max(condition.known, condition.questioned), condition.population)
        for condition in conditions()
        if not condition.cut
    )
    kept = set(zip(checked.texts.tolist(), checked.population.tolist(), strict=True))
    assert set(under) == kept
    longest = max(len(text.text.split()) for text in TEXTS)
    assert 0 < checked.words.min() <= checked.words.max() <= longest


def test_short_texts_and_cases_of_unknown_kinds_are_kept_with_what_they_are(
    mixed_folder: Path, tmp_path: Path, quick_calibration: None
) -> None:
    model = Path(copytree(mixed_folder, tmp_path / "model"))
    sets = {
        "letters": documents(rich_rows("letters", 24, 4, "-more-")),
        "others": documents(rich_rows("notes", 24, 4, "-more-")),
    }
    calibrate_model(model, sets, lengths=(70,))
    checked = read_validation(model)
    assert checked is not None
    assert checked.genres == ("letters", "others")
    letters, others = (checked[checked.genre == number] for number in (0, 1))
    assert others.known.all()  # the model has no such kind: it cannot be as if it were unknown
    alone, populated = letters[letters.population == 0], letters[letters.population > 0]
    assert alone.known.sum() == (~alone.known).sum()  # all cases, both ways
    assert abs(int(populated.known.sum()) - int((~populated.known).sum())) <= len(conditions())
    for part in (alone, populated, others):
        assert (part.words == 70).sum() > 20
        assert part.words.max() > 150
    biggest = Counter(
        zip(
            checked.genre.tolist(), checked.texts.tolist(), checked.population.tolist(), strict=True
        )
    )
    assert max(biggest.values()) <= 2 * 4 * 24  # 12 of each class, cut in three ways or joined


# What is refused


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
    with pytest.warns(AdHominemWarning, match="does not name the authors"):
        calibrate_model(model, {"pairs": list(read_pairs(pairs))})


def test_the_names_of_the_training_authors_are_not_in_the_model(model: Path) -> None:
    listed = (model / "training_authors.txt").read_text("utf-8").split()
    assert len(listed) == 9
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in listed)


def test_too_few_texts_are_refused(model: Path) -> None:
    for few in (TEXTS[:8], TEXTS[::8], []):  # of one author, one of each, none
        with pytest.raises(
            OptionError, match=r"[01] of them with two or more; calibrating needs 10"
        ):
            calibrate_model(model, {"texts": few})
    assert not (model / "calibration.json").exists()


def test_a_set_of_hardly_any_texts_does_no_harm(model: Path) -> None:
    reports = calibrate_model(model, {"three": documents(made_up_rows(3, 1, "x")), "texts": TEXTS})
    assert reports.alone == replace(
        calibrate_model(model, {"texts": TEXTS}).alone, sets=("three", "texts")
    )


def test_the_card_tells_of_the_calibration_once(model: Path, pairs: Path) -> None:
    assert "not calibrated" in (model / "README.md").read_text("utf-8")
    for _ in range(2):
        calibrate_model(model, {"letters": list(read_pairs(pairs))})
        card = (model / "README.md").read_text("utf-8")
        assert "not calibrated" not in card
        assert card.count("## Calibration") == card.count("## Limits") == 1
        assert card.count("The sets are letters.") == 1


def test_the_card_tells_how_good_the_numbers_are_under_each_condition(
    model: Path, quick_calibration: None
) -> None:
    calibrate_model(model, {"letters": TEXTS}, cases=120)
    checked = read_validation(model)
    assert checked is not None
    card = (model / "README.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("| ")]
    titles = ["texts", "population", "cases", "AUC", "Cllr"]
    start = [row[:5] for row in rows].index(titles)
    told = {(row[0], row[1]): row for row in rows[start + 1 :] if len(row) == len(rows[start])}
    for texts in (1, 3, 5):
        for population, chosen in (
            ("none", checked.population == 0),
            ("5 to 10", (checked.population >= 5) & (checked.population <= 10)),
            ("20 to 50", (checked.population >= 20) & (checked.population <= 50)),
        ):
            part = checked[chosen & (checked.texts == texts)]
            row = told[str(texts), population]
            measured = measures(part)
            assert row[2:5] == [
                f"{len(part):,}",
                f"{measured['auc']:.3f}",
                f"{measured['cllr']:.3f}",
            ]
            decades = part.log_bayes_factor.astype(np.float64) / np.log(10)
            wrong = np.where(part.same_author, -decades, decades)
            assert row[-2:] == [f"{(wrong > 1).mean():.3f}", f"{(np.abs(decades) > 2).mean():.3f}"]
    assert len(told) == 9


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
        (whole.replace('"weights"', '"heights"'), "damaged"),
        (re.sub(r'"format": \d+', '"format": 99', whole), "Use the version that wrote it"),
    ):
        (model / "calibration.json").write_text(text, "utf-8")
        with pytest.raises(ModelError, match=problem):
            load(model, threads=1)


def test_a_calibration_of_another_format_is_refused(model: Path, pairs: Path) -> None:
    calibration = calibrate_model(model, {"pairs": list(read_pairs(pairs))}).calibration
    before = {"format": 1, "adhominem": "0.1.0", "calibration": to_json(calibration)}
    (model / "calibration.json").write_text(json.dumps(before), "utf-8")
    with pytest.raises(ModelError, match=r"has the format 1; .*, or calibrate the model again"):
        load(model, threads=1)


def test_the_command_calibrates_and_says_what_it_did(model: Path, pairs: Path) -> None:
    done = CliRunner().invoke(main, ["calibrate", str(model), str(pairs), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert from_json(Calibration, told["calibration"], "calibration") == read_parameters(model)
    for mode in ("alone", "population"):
        assert set(told[mode]["before"]) == set(told[mode]["after"])
        assert told[mode]["same_author"] > 0
    done = CliRunner().invoke(main, ["calibrate", str(model), str(pairs)])
    assert done.exit_code == 0, done.output
    for mode in ("Without a population", "With one"):
        assert f"{mode}: no log10 Bayes factor below" in done.stdout
    done = CliRunner().invoke(main, ["calibrate", str(model), str(pairs), "--method", "isotonic"])
    assert done.exit_code == 2
    assert "No such option" in done.output


def test_a_model_that_comes_with_the_package_is_not_calibrated_in_place() -> None:
    before = (model_folder("general-en") / "calibration.json").read_bytes()
    for model in ("general-en", model_folder("general-en") / "network"):
        with pytest.raises(OptionError, match=r"comes with the package.*copy it first"):
            calibrate_model(model, {})
    assert (model_folder("general-en") / "calibration.json").read_bytes() == before
