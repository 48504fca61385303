"""N-grams of characters by their bits are those that are cut out one by one."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from adhominem.ngrams.counter import GramIndex
from adhominem.ngrams.table import spell

words = st.one_of(
    st.text("abcé-'\x02\x03\x01", min_size=1, max_size=8),
    st.text(min_size=1, max_size=5),
    st.text("ab", min_size=38, max_size=60),
)


@given(st.lists(words, max_size=8), st.lists(words, max_size=8), st.integers(1, 30), st.data())
@example(["a" * 50], ["a" * 41, "b"], 4, None)
def test_the_index_gives_the_numbers_of_the_pieces_it_knows(
    learnt: list[str], types: list[str], longest: int, data: st.DataObject | None
) -> None:
    pieces = list(dict.fromkeys(gram for word in learnt for gram in spell(word, longest)))
    if data is not None and pieces:
        pieces = data.draw(st.lists(st.sampled_from(pieces), unique=True))
    numbers = {gram: at for at, gram in enumerate(pieces, start=1)}
    given_numbers, lengths = GramIndex(numbers, longest).ngram_numbers(types)
    rows = iter(given_numbers.tolist())
    for token, length in zip(types, lengths.tolist(), strict=True):
        slow = Counter(numbers[gram] for gram in spell(token, longest) if gram in numbers)
        assert Counter(next(rows) for _ in range(length)) == slow
    assert next(rows, None) is None


def test_many_ngrams_are_told_apart() -> None:
    grams = [f"{a}{b}{c}" for a in "abcdefghij" for b in "klmnopqrst" for c in "uvwxyz0123456789"]
    numbers = {gram: at for at, gram in enumerate(grams, start=1)}
    index = GramIndex(numbers, 4)
    found, lengths = index.ngram_numbers(grams)
    assert found.tolist() == list(range(1, len(grams) + 1))
    assert set(lengths.tolist()) == {1}
    none, lengths = index.ngram_numbers([gram[::-1] for gram in grams])
    assert len(none) == lengths.sum() == 0
