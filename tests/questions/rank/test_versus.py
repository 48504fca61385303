"""What speaks for one candidate over another: differences of two explanations."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SmallRun, rich_rows

from adhominem import Verifier, explain_texts, load
from adhominem.questions.rank.versus import explain_versus
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.ngram_contributions import weigh_ngrams

ROWS = rich_rows("letters", 4, 3, "-versus-")
CANDIDATES = {
    f"letters-versus-{number}": [
        Document(**row) for row in ROWS if row["author"] == f"letters-versus-{number}"
    ]
    for number in range(1, 4)
}
DISPUTED = [Exhibit.of(row["text"], row["id"]) for row in ROWS[:2]]


@pytest.fixture(scope="module")
def verifier(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


def test_the_first_candidate_is_set_against_each_of_the_others(verifier: Verifier) -> None:
    pairs = explain_versus(verifier, DISPUTED, CANDIDATES, None)
    first, *others = CANDIDATES
    assert [(pair.first, pair.second) for pair in pairs] == [(first, other) for other in others]


def test_a_passage_speaks_by_the_difference_of_its_contributions(verifier: Verifier) -> None:
    (pair, _) = explain_versus(verifier, DISPUTED, CANDIDATES, None)
    both = [
        explain_texts(verifier, list(DISPUTED), CANDIDATES[name])
        for name in (pair.first, pair.second)
    ]
    expected = [
        (number, one.start, one.end, one.contribution - other.contribution)
        for number in range(len(DISPUTED))
        for one, other in zip(
            both[0].texts[number].passages, both[1].texts[number].passages, strict=True
        )
    ]
    for passage, (number, start, end, contribution) in zip(pair.passages, expected, strict=True):
        assert (passage.text, passage.start, passage.end) == (number, start, end)
        assert passage.contribution == pytest.approx(contribution, abs=1e-9)
    for number, exhibit in enumerate(DISPUTED):
        words = "".join(passage.words for passage in pair.passages if passage.text == number)
        assert words == exhibit.document.text


def test_an_ngram_speaks_by_the_difference_of_its_contributions(verifier: Verifier) -> None:
    (pair, _) = explain_versus(verifier, DISPUTED, CANDIDATES, None)
    both = []
    for name in (pair.first, pair.second):
        weighed = weigh_ngrams(verifier.compare(list(DISPUTED), CANDIDATES[name], attention=True))
        assert weighed is not None
        both.append(
            dict(zip(weighed.columns.tolist(), weighed.contributions.tolist(), strict=True))
        )
        shown = {weighed.profile.table.ngram(column): column for column in both[-1]}
    single = [row for row in pair.ngrams if not row.with_it and row.channel == "tokens"]
    assert single
    for row in single:
        (column,) = [
            column
            for ngram, column in shown.items()
            if ngram.channel == 1 and ngram.parts == (row.ngram,)
        ]
        assert row.contribution == pytest.approx(both[0][column] - both[1][column])
        count = sum(
            len(verifier.lead.tokenizer.tokens(exhibit.document.text)) for exhibit in DISPUTED
        )
        times = sum(
            verifier.lead.tokenizer.tokens(exhibit.document.text).count(row.ngram)
            for exhibit in DISPUTED
        )
        assert row.disputed_rate == pytest.approx(1_000 * times / count)
    strengths = [abs(row.contribution) for row in pair.ngrams]
    assert strengths == sorted(strengths, reverse=True)


def test_without_a_profile_there_are_passages_alone(small_run: SmallRun) -> None:
    (pair, _) = explain_versus(load(small_run.folder), DISPUTED, CANDIDATES, None)
    assert pair.ngrams == ()
    assert pair.passages
