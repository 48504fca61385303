"""A model is calibrated on authors it has never seen, and says so from then on."""

from __future__ import annotations

import json
import random
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import SmallRun, made_up_rows, write_rows

from adhominem import Document, find_sources, load, read_pairs, write_pair_set
from adhominem.cli import main
from adhominem.errors import AdHominemWarning, ModelError, OptionError
from adhominem.models.authors import trained_on
from adhominem.runs.calibrate import calibrate_model, cross_calibrated
from adhominem.scoring.calibration import calibrate
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
    report = calibrate_model(model, {"pairs": list(read_pairs(pairs))})
    after = load(model, threads=1)
    assert before.calibration is None
    assert after.calibration == report.calibration
    levs = before.encode_pairs(list(read_pairs(pairs)))
    raw = before.score(*levs)
    np.testing.assert_array_equal(after.raw_score(*levs), raw)
    np.testing.assert_array_equal(after.score(*levs), report.calibration(raw))
    assert report.calibration.lower_bound <= after.score(*levs).min()
    assert after.score(*levs).max() <= report.calibration.upper_bound


def test_calibration_makes_the_evidence_cheaper_for_authors_it_has_not_seen(
    model: Path, pairs: Path
) -> None:
    report = calibrate_model(model, {"pairs": list(read_pairs(pairs))})
    assert report.after["cllr"] <= report.before["cllr"] + 0.02
    assert report.after["cllr"] < 1.02
    assert report.authors == 40
    assert report.sets == ("pairs",)


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
def test_a_pair_is_calibrated_by_pairs_that_share_no_author_with_it(kind: str) -> None:
    rng = np.random.default_rng(0)
    authors = rng.integers(0, 25, (300, 2)).astype(str)
    authors[:150, 1] = authors[:150, 0]
    same = authors[:, 0] == authors[:, 1]
    scores = rng.normal(size=300) + same
    found = cross_calibrated(scores, same, authors, kind)
    # whatever is said of one author's pairs, the maps for that author's pairs stay the same
    touched = (authors == authors[0, 0]).any(axis=1)
    other = np.where(touched, ~same, same)
    again = cross_calibrated(scores, other, authors, kind)
    np.testing.assert_array_equal(found[touched], again[touched])
    assert not np.array_equal(found, calibrate(scores, same, kind)(scores))
    assert np.corrcoef(found, scores)[0, 1] > 0.8


def test_authors_of_the_training_texts_are_refused(small_run: SmallRun, model: Path) -> None:
    assert trained_on(model, {"t0", "t8", "d0", ""}) == {"t0", "t8"}
    rng = random.Random(0)
    texts = [" ".join(rng.choices(["it", "was", "he"], k=30)) for _ in range(160)]
    some = [
        Pair(
            id=str(at),
            first=Document(text=texts[2 * at], author="t0"),
            second=Document(text=texts[2 * at + 1], author="t0" if at % 2 else f"new{at}"),
            same_author=bool(at % 2),
        )
        for at in range(80)
    ]
    with pytest.raises(OptionError, match=r"trained on 1 of the 41 authors.*t0"):
        calibrate_model(model, {"pairs": some})
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
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in listed)


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


def test_a_damaged_calibration_is_an_error(model: Path, pairs: Path) -> None:
    calibrate_model(model, {"pairs": list(read_pairs(pairs))})
    whole = (model / "calibration.json").read_text("utf-8")
    for text, problem in (
        (whole[:100], "damaged"),
        (whole.replace('"logistic"', '"magic"'), "damaged"),
        (whole.replace('"format": 1', '"format": 2'), "Upgrade"),
    ):
        (model / "calibration.json").write_text(text, "utf-8")
        with pytest.raises(ModelError, match=problem):
            load(model, threads=1)


def test_the_command_calibrates_and_says_what_it_did(model: Path, pairs: Path) -> None:
    done = CliRunner().invoke(main, ["calibrate", str(model), str(pairs), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["calibration"]["kind"] == "logistic"
    assert set(told["before"]) == set(told["after"])
    done = CliRunner().invoke(main, ["calibrate", str(model), str(pairs), "--kind", "isotonic"])
    assert done.exit_code == 0, done.output
    assert "No log10 Bayes factor below" in done.stdout
    calibration = load(model, threads=1).calibration
    assert calibration is not None
    assert calibration.kind == "isotonic"
