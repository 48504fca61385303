"""The map of a corpus from files, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import NgramRun, made_up_rows, write_rows

from adhominem import Document, Population, answer, load
from adhominem.cli import main
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.questions.corpus import FEWEST_FOR_POPULATION
from adhominem.verify.cautions import UNCALIBRATED


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "texts.jsonl", made_up_rows(4, 3, "m"))


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, ["map", *(str(argument) for argument in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def test_the_command_writes_a_page_and_a_table(
    texts: Path, tmp_path: Path, ngram_run: NgramRun
) -> None:
    out = tmp_path / "new" / "map.html"
    result = run(texts, "-o", out, "--model", ngram_run.folder)
    assert "12" in result.stdout
    assert f"warning: {UNCALIBRATED}" in result.stderr
    page = out.read_text("utf-8")
    assert "Map of texts" in page
    assert [path.name for path in out.parent.iterdir()] == ["map.html"]
    run(texts, "-o", out, "--model", ngram_run.folder)  # over the old one
    assert out.read_text("utf-8") == page


def test_json_holds_what_the_page_shows(texts: Path, tmp_path: Path, ngram_run: NgramRun) -> None:
    out = tmp_path / "map.html"
    result = run(texts, "-o", out, "--model", ngram_run.folder, "--json", "--linkage", "complete")
    told = json.loads(result.stdout)
    assert told["output"] == str(out)
    assert len(told["documents"]) == 12
    assert [len(row) for row in told["log10_bayes_factors"]] == list(range(12))
    assert told["linkage"] == "complete"
    assert told["population"] == "none"
    assert told["population_texts"] == 0
    assert told["skipped"] == []
    first = told["documents"][0]
    assert first["author"] == "m0"
    best = first["nearest"][0]
    assert best["log10_bayes_factor"] == told["log10_bayes_factors"][best["document"]][0]
    last = told["joins"][-1]
    assert last["documents"] == 12
    assert min(min(row) for row in told["log10_bayes_factors"][1:]) == pytest.approx(
        last["log10_bayes_factor"], abs=2e-4
    )


def test_bad_rows_are_left_out_listed_and_end_with_3(
    texts: Path, tmp_path: Path, ngram_run: NgramRun
) -> None:
    with texts.open("a", encoding="utf-8") as file:
        file.write('{broken\n{"text": "\u200b \u200b", "id": "no word"}\n{"id": "no text"}\n')
    out = tmp_path / "map.html"
    result = run(texts, "-o", out, "--model", ngram_run.folder, "--json", status=3)
    assert len(json.loads(result.stdout)["documents"]) == 12
    assert len(json.loads(result.stdout)["skipped"]) == 3
    assert "texts.jsonl:13" in result.stderr
    assert "3 of the inputs could not be read" in out.read_text("utf-8")
    with pytest.raises(InputError):
        answer("map", model=ngram_run.folder, texts=texts, output=out)


def test_an_empty_corpus_is_an_error_and_writes_nothing(
    tmp_path: Path, ngram_run: NgramRun
) -> None:
    (tmp_path / "empty").mkdir()
    out = tmp_path / "map.html"
    result = run(tmp_path / "empty", "-o", out, "--model", ngram_run.folder, status=1)
    assert "nothing to read" in result.stderr
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{broken\n", "utf-8")
    result = run(bad, "-o", out, "--model", ngram_run.folder, status=1)
    assert "no document can be read here" in result.stderr
    assert "skipped 1 of the inputs" in result.stderr
    with pytest.raises(NotFoundError):
        answer("map", model=ngram_run.folder, texts=tmp_path / "nowhere", output=out)
    assert not out.exists()


def test_of_too_many_documents_some_are_drawn(
    texts: Path, tmp_path: Path, ngram_run: NgramRun
) -> None:
    def names(seed: int) -> list[str]:
        drawn = answer(
            "map",
            model=ngram_run.folder,
            texts=texts,
            output=tmp_path / "map.html",
            limit=7,
            seed=seed,
            skipped=[],
        )
        assert drawn.remarks[0] == "the corpus has 12 documents; 7 of them were drawn at random"
        return [document.name for document in drawn.documents]

    assert names(1) == names(1)
    assert names(1) != names(2)
    assert len(names(1)) == 7
    assert names(3) == sorted(names(3))  # in the order of the corpus
    result = run(texts, "-o", tmp_path / "m.html", "--limit", 7, "--model", ngram_run.folder)
    assert "warning: the corpus has 12 documents; 7 of them were drawn" in result.stderr


def test_a_population_is_the_corpus_none_or_what_is_given(
    texts: Path, tmp_path: Path, ngram_run: NgramRun
) -> None:
    out = tmp_path / "map.html"
    others = write_rows(tmp_path / "others.jsonl", made_up_rows(5, 2, "other"))
    drawn_files = {
        name: answer("map", model=ngram_run.folder, texts=texts, output=out, population=name)
        for name in ("input", "none", str(others), None)
    }
    assert {name: drawn.population_texts for name, drawn in drawn_files.items()} == {
        "input": 12,
        "none": 0,
        str(others): 10,
        None: 0,  # so few are none of their own, unless asked for
    }
    tables = [np.nan_to_num(drawn.log10_bayes_factors) for drawn in drawn_files.values()]
    np.testing.assert_array_equal(tables[1], tables[3])
    assert not np.allclose(tables[0], tables[1])
    assert not np.allclose(tables[0], tables[2])
    levs = load(ngram_run.folder).encode([Document(**row) for row in made_up_rows(4, 3, "m")])
    np.testing.assert_allclose(
        tables[0][0, 1],
        load(ngram_run.folder).score(levs[:1], levs[1:2], Population.of(levs)) / np.log(10),
        atol=1e-9,
    )


def test_the_help_says_how_many_texts_are_their_own_population() -> None:
    for command in ("map", "cluster"):
        told = " ".join(CliRunner().invoke(main, [command, "--help"]).stdout.split())
        assert f"if it has {FEWEST_FOR_POPULATION} texts or more; otherwise none" in told


def test_many_texts_are_their_own_population(tmp_path: Path, ngram_run: NgramRun) -> None:
    rows, out = made_up_rows(5, 3, "m"), tmp_path / "map.html"
    many = answer(
        "map", model=ngram_run.folder, texts=write_rows(tmp_path / "many.jsonl", rows), output=out
    )
    assert (many.population, many.population_texts) == ("input", 15)
    copied = [*rows[:14], {**rows[0], "id": "a copy"}]
    fewer = answer(
        "map",
        model=ngram_run.folder,
        texts=write_rows(tmp_path / "fewer.jsonl", copied),
        output=out,
    )
    assert fewer.population == "none"
    assert any("14 different texts are too few" in remark for remark in fewer.remarks)


def test_few_texts_are_no_population_of_their_own(tmp_path: Path, ngram_run: NgramRun) -> None:
    few = write_rows(tmp_path / "few.jsonl", made_up_rows(2, 1, "f"))
    out = tmp_path / "map.html"
    drawn = answer("map", model=ngram_run.folder, texts=few, output=out)
    assert drawn.population == "none"
    assert any("2 different texts are too few" in remark for remark in drawn.remarks)
    result = run(few, "-o", out, "--population", "input", "--model", ngram_run.folder, status=1)
    assert "expected 5 or more" in result.stderr


def test_authors_need_not_be_known(tmp_path: Path, ngram_run: NgramRun) -> None:
    (tmp_path / "texts").mkdir()
    for row in made_up_rows(3, 2, "u"):
        (tmp_path / "texts" / f"{row['id'].replace('/', '-')}.txt").write_text(row["text"], "utf-8")
    out = tmp_path / "map.html"
    result = run(tmp_path / "texts", "-o", out, "--model", ngram_run.folder, "--json")
    assert {document["author"] for document in json.loads(result.stdout)["documents"]} == {""}
    assert "6 documents without authors" in out.read_text("utf-8")
    assert "pairs under one name" not in out.read_text("utf-8")


def test_wrong_options_are_refused_before_the_work(texts: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "no-model"
    with pytest.raises(OptionError, match=r"map\.pdf is not an \.html file"):
        answer("map", model=nowhere, texts=texts, output=tmp_path / "map.pdf")
    for options, expected in (({"limit": 0}, "1 or more"), ({"linkage": "ward"}, "'average' or")):
        with pytest.raises(OptionError, match=expected):
            answer("map", model=nowhere, texts=texts, output=tmp_path / "map.html", **options)
    run(texts, "-o", tmp_path / "map.html", "--linkage", "ward", status=2)


def test_the_groups_of_a_map_are_those_of_cluster(
    texts: Path, tmp_path: Path, ngram_run: NgramRun
) -> None:
    out = tmp_path / "map.html"
    options = ("--model", ngram_run.folder, "--prior", 0.4, "--json")
    told = json.loads(run(texts, "-o", out, "--clusters", *options).stdout)
    clustering = answer("cluster", texts=texts, model=ngram_run.folder, prior_same_author=0.4)
    assert told["clusters"] == json.loads(json.dumps(clustering.to_json()))["clusters"]
    assert told["prior_same_author"] == 0.4
    assert "<strong>The groups</strong>" in out.read_text("utf-8")
    plain = json.loads(run(texts, "-o", out, *options).stdout)
    assert (plain["clusters"], plain["prior_same_author"]) == ([], None)
