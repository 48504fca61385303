"""What running prose is like, fitted to training texts cut to several lengths, in several layouts.

A text may be wrapped at any width, or have each paragraph on one line, which says nothing about
what it is. So each training text is left as it is or wrapped, at random.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from adhominem.score.prose import Prose, ProseSamples
from adhominem.text.prose_rates import RATES, ProseLexicon, prose_rates
from adhominem.text.tokenizer import Tokenizer

TEXTS = 400  # of a genre
_OF_LEXICON = 150  # of them, from which common words and letters are learnt
_COMMON_WORDS = 100
_USUAL_TRIGRAMS = 0.995  # share of all
_LENGTHS = (80, 150, 300, 700, 3_000)  # words of the parts that are taken of each text
_WIDTHS = range(55, 110)  # of wrapped lines
_RAGGED = 0.04  # of the width: how unequal lines are that were wrapped for letters of all sizes


def fit_prose(
    genres: Mapping[str, Sequence[str]],
    tokenizer: Tokenizer,
    on_texts: Callable[[int], None] = lambda count: None,
) -> tuple[Prose, ProseSamples]:
    """What prose is like, fitted to texts of several genres, nearly all of them prose.

    The samples are excerpts of the texts in several lengths, in random layouts.
    """
    of_lexicon = (map(tokenizer.tokens, texts[:_OF_LEXICON]) for texts in genres.values())
    lexicon = ProseLexicon.of(of_lexicon, _COMMON_WORDS, _USUAL_TRIGRAMS)
    chance = random.Random(0)
    numbers, counts, rates = [], [], []
    for number, texts in enumerate(genres.values()):
        for text in texts:
            for length in _LENGTHS:
                part = laid_out(excerpt(text, length, chance), chance)
                tokens = tokenizer.tokens(part)
                if tokens:
                    numbers.append(number)
                    counts.append(len(tokens))
                    rates.append(prose_rates(part, tokens, lexicon))
            on_texts(1)
    samples = ProseSamples(
        tuple(genres),
        np.array(numbers, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(rates).reshape(-1, len(RATES)),
    )
    return Prose.fit(samples, lexicon), samples


def excerpt(text: str, words: int, chance: random.Random) -> str:
    """A random passage of `words` words, in the text's own layout."""
    places = [match.span() for match in re.finditer(r"\S+", text)]
    if len(places) <= words:
        return text
    begin = chance.randrange(len(places) - words + 1)
    return text[places[begin][0] : places[begin + words - 1][1]]


def laid_out(text: str, chance: random.Random) -> str:
    """A text as it is, or wrapped at a fixed width or with ragged lines."""
    layout = chance.randrange(4)
    if layout < 2:
        return text
    return wrapped(text, chance.choice(_WIDTHS), _RAGGED if layout == 2 else 0.0, chance)


def wrapped(text: str, width: int, ragged: float, chance: random.Random) -> str:
    """A text with no line longer than the width, or than one that varies from line to line."""
    lines = []
    for paragraph in text.splitlines():
        line, room = "", chance.gauss(width, ragged * width)
        for word in paragraph.split():
            if line and len(line) + 1 + len(word) > room:
                lines.append(line)
                line, room = word, chance.gauss(width, ragged * width)
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return "\n".join(lines)
