"""Answers of a baseline and of a model, made and measured by one call each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import SmallRun, made_up_rows, write_rows

from adhominem import (
    Normaliser,
    SplitOptions,
    baseline_files,
    evaluate,
    evaluate_files,
    load_answers,
    load_truth,
    pair_files,
    predict,
    prepare,
    split,
)
from adhominem.errors import InputError, OptionError


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate-files")
    return write_rows(folder / "rows.jsonl", made_up_rows(20, 6, "e"))


@pytest.fixture(scope="module")
def pairs(texts: Path) -> Path:
    drawn = pair_files([texts], texts.parent / "pairs", balanced=True)
    assert drawn.pairs == drawn.same_author + drawn.different_authors > 20
    assert drawn.to_json()["leaks"].keys() == {leak.name for leak in drawn.leaks}
    return texts.parent / "pairs"


def test_a_baselines_answers_and_a_models_own_are_measured_side_by_side(
    pairs: Path, small_run: SmallRun, tmp_path: Path
) -> None:
    answers = baseline_files("naive", pairs, tmp_path / "naive.jsonl", train=[pairs])
    measured = evaluate_files(
        pairs, [answers.output], pairs=pairs, model=small_run.folder, resamples=0
    )
    assert [system.name for system in measured.systems] == ["naive", small_run.folder.name]
    predicted = predict(small_run.folder, pairs, tmp_path / "out")
    assert predicted.output == tmp_path / "out" / "answers.jsonl"
    assert predicted.answers == answers.answers == measured.systems[0].pairs
    alone = evaluate(load_answers(predicted.output, load_truth(pairs)), resamples=0)
    assert measured.systems[1].measures == pytest.approx(alone.measures, nan_ok=True)
    assert {"same topic", "cross topic"} <= set(measured.systems[0].groups)
    assert [caution.code for caution in measured.warnings] == [
        caution.code for caution in predicted.warnings
    ]


def test_what_cannot_work_is_refused_before_the_work(pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="expected pairs with it"):
        evaluate_files(pairs, model="general-en")
    with pytest.raises(OptionError, match="exists already"):
        evaluate_files(pairs, [pairs / "truth.jsonl"], output=pairs)
    truth = (pairs / "truth.jsonl").read_bytes()
    with pytest.raises(OptionError, match="was read as input"):
        baseline_files("naive", pairs, pairs / "truth.jsonl", train=[pairs])
    assert (pairs / "truth.jsonl").read_bytes() == truth
    with pytest.raises(OptionError, match="expected some of 'line_ends'"):
        Normaliser.without(["spelling"])


def test_corpora_are_given_by_their_paths(texts: Path, tmp_path: Path) -> None:
    shown: list[tuple[str, int]] = []

    @contextmanager
    def watch(
        what: str, total: int | None = None, unit: str = "pieces"
    ) -> Iterator[Callable[[float], None]]:
        counts: list[float] = []
        yield counts.append
        assert unit == "bytes"
        assert sum(counts) == total
        shown.append((what, int(sum(counts))))

    broken = tmp_path / "broken.jsonl"
    broken.write_text("{\n" + texts.read_text("utf-8"), "utf-8")
    skipped: list[InputError] = []
    options = SplitOptions(seed=1)
    report = split([broken], tmp_path / "split", options, skipped=skipped, watch=watch)
    assert report.options.seed == 1
    assert len(skipped) == 1
    normaliser = Normaliser.without(["dashes"])
    corpus = prepare([str(texts)], tmp_path / "corpus", normaliser=normaliser, watch=watch)
    assert len(corpus) == 120
    assert "dashes" not in corpus.description["normalisation"]
    size = texts.stat().st_size
    assert shown == [("splitting", 2 * (size + 2)), ("preparing", size)]
