"""What sets texts apart, and the command."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adhominem import ContrastOptions, Document, answer, contrast_texts, load
from adhominem.errors import NotFoundError, OptionError
from adhominem.questions.contrast.contrast import Contrast, Habit

COMMON = """the of and to a in that it is was he for with on as but at by his not"""
COMMON_WORDS = tuple(COMMON.split())


def text_of(rng: random.Random, liked: str, about: str, name: str, mark: str) -> str:
    """A made-up text with a word that is liked, a topic, a name, and a mark."""
    sentences = []
    for _ in range(40):
        words = rng.choices([*COMMON_WORDS, *[liked] * 4], k=9)
        words += [about] if rng.random() < 0.5 else []
        words += [name] if rng.random() < 0.3 else []
        sentences.append(" ".join(words).capitalize().replace(name.lower(), name) + mark)
    return " ".join(sentences)


def texts_of(seed: str, count: int, *details: str) -> list[Document]:
    return [
        Document(text=text_of(random.Random(f"{seed} {at}"), *details), id=f"{seed}-{at}")
        for at in range(count)
    ]


@pytest.fixture(scope="module")
def contrast(mixed_folder: Path) -> Contrast:
    return contrast_texts(
        load(mixed_folder),
        texts_of("a", 5, "with", "lantern", "Anselm", ";"),
        texts_of("b", 5, "but", "kettle", "Bertram", "!"),
        usual=texts_of("c", 6, "not", "window", "Carla", "."),
        population="others",
        options=ContrastOptions(top=5, slice=200),
    )


def habits(contrast: Contrast, group: str) -> tuple[list[Habit], list[Habit]]:
    (chosen,) = (one for one in contrast.groups if one.group == group)
    return list(chosen.first), list(chosen.second)


def test_each_side_has_its_words_marks_and_topics(contrast: Contrast) -> None:
    words = habits(contrast, "words")
    assert words[0][0].ngram == "with"
    assert words[1][0].ngram == "but"
    marks = habits(contrast, "marks")
    assert (marks[0][0].ngram, marks[1][0].ngram) == (";", "!")
    content = habits(contrast, "content")
    assert (content[0][0].ngram, content[1][0].ngram) == ("lantern", "kettle")


def test_rates_are_those_of_the_texts(contrast: Contrast) -> None:
    mark = habits(contrast, "marks")[0][0]
    assert mark.first == 200  # of 5 texts with 40 sentences
    assert mark.second == 0
    assert mark.first_rate == pytest.approx(1_000 * 200 / contrast.first.tokens)
    low, high = mark.first_interval
    assert low < mark.first_rate < high
    assert mark.difference_interval[0] > 0
    assert mark.z > 5
    assert mark.zeta == 1
    assert mark.usual_rate == 0


def test_names_are_left_out_and_told(contrast: Contrast) -> None:
    told = [habit for one in contrast.groups for habit in (*one.first, *one.second)]
    assert not any("nselm" in habit.ngram or "ertram" in habit.ngram for habit in told)
    assert "Anselm" in contrast.first.names
    assert "Bertram" in contrast.second.names


def test_letters_of_a_single_word_are_not_told_again(contrast: Contrast) -> None:
    for side in habits(contrast, "letters"):
        for habit in side:
            assert len(habit.words) > 1


def test_sides_in_the_other_order_are_mirrored(mixed_folder: Path) -> None:
    verifier = load(mixed_folder)
    first = texts_of("a", 3, "with", "lantern", "Anselm", ";")
    second = texts_of("b", 4, "but", "kettle", "Bertram", "!")
    there = contrast_texts(verifier, first, second)
    back = contrast_texts(verifier, second, first)
    for one, other in zip(there.groups, back.groups, strict=True):
        assert [habit.ngram for habit in one.first] == [habit.ngram for habit in other.second]
        assert [habit.z for habit in one.first] == pytest.approx([-h.z for h in other.second])


def run(*arguments: object, status: int = 0) -> Result:
    from adhominem.cli import main

    result = CliRunner().invoke(main, ["contrast", *(str(argument) for argument in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def write(folder: Path, documents: list[Document]) -> Path:
    folder.mkdir()
    for document in documents:
        (folder / f"{document.id}.txt").write_text(document.text, "utf-8")
    return folder


def test_the_command_shows_tables_and_json(tmp_path: Path, mixed_folder: Path) -> None:
    ann = write(tmp_path / "ann", texts_of("a", 2, "with", "lantern", "Anselm", ";"))
    others = write(tmp_path / "others", texts_of("b", 5, "but", "kettle", "Bertram", "!"))
    result = run(ann, "--population", others, "--model", mixed_folder, "--top", 3)
    assert "ann, more: common words" in result.stdout
    assert "population others, more: punctuation" in result.stdout
    assert "Names left out, ann  Anselm" in result.stdout
    assert "over slices of texts" in result.stderr
    told = json.loads(run(ann, others, "--model", mixed_folder, "--json").stdout)
    assert told["schema"] == 1
    assert told["intervals_over"] == "slices"
    assert [group["group"] for group in told["groups"]][-1] == "content"
    assert told["groups"][0]["first"][0]["ngram"] == "with"
    run(ann, status=1)


def test_bad_input_is_told(tmp_path: Path, mixed_folder: Path, small_run: object) -> None:
    first = texts_of("a", 3, "with", "lantern", "Anselm", ";")
    ann = write(tmp_path / "ann", first)
    with pytest.raises(OptionError, match="no population"):
        answer("contrast", first=ann, model=mixed_folder)
    with pytest.raises(NotFoundError):
        answer("contrast", first=ann, second=tmp_path / "nobody", model=mixed_folder)
    with pytest.raises(OptionError, match="has no texts"):
        contrast_texts(load(mixed_folder), first, [])
    same = contrast_texts(load(mixed_folder), first, first)
    assert any("stands on both sides" in remark for remark in same.remarks)
    with pytest.raises(OptionError, match="counts no n-grams"):
        contrast_texts(load(small_run.folder), first, first)  # type: ignore[attr-defined]
