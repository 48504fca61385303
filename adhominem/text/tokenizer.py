"""The tokenizer: one regular expression, with character spans into the original text.

Nothing is rewritten or lower-cased: contractions, runs of signs and misspellings
are what authors differ in. The rules run in the `tokenizers` library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from adhominem.text.normalisation import Normaliser

# Short forms whose full stop belongs to them; none that is also a word at the end of sentences.
_ABBREVIATIONS = (
    "Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Revd Hon Gen Col Maj Capt Lt Sgt Gov Sen Rep "
    "St Jr Sr Esq Bros Inc Ltd Co Corp vs etc viz cf ibid seq approx Ph.D"
)
_LETTERS = r"[^\W_]"  # letters and digits, no underscore
_PICTURE = r"[\x{2600}-\x{27bf}\x{1f300}-\x{1faff}]"
_RULES = (
    r"(?:https?://|www\.)[^\s<>\x22]*[\w/]",
    rf"{_LETTERS}[\w.+-]*@{_LETTERS}[\w-]*(?:\.\w+)+",
    # Emoticons, only where no word touches them: :-) ;) =P :'( <3 ^_^ o_O
    r"(?<![\w:;=])[:;=][\x27^]?-?(?:[()\[\]{}|/\\*3]+|[DPpOo](?!\w))",
    r"(?<!\w)(?:</?3(?!\w)|[oOT^><]_+[oOT^><](?!\w))",
    rf"(?<!\w)(?:{_ABBREVIATIONS.replace('.', '[.]').replace(' ', '|')})\.(?!\.\.)",
    r"(?<!\w)(?:[A-Za-z]\.){2,}[A-Za-z]?(?!\w)",  # U.S. e.g. a.m. U.S.A
    r"(?<!\w)[A-HJ-Z]\.(?![^\sA-Z])",  # initials; I is a word
    r"\d+(?:[.,:]\d+)+(?!\w)",
    r"(?<!\w)['’](?:tis|twas|twere|twill|em|til|cause|bout|nuff)(?!\w)",
    rf"{_LETTERS}\p{{M}}*(?:\w|\p{{M}}|['’_](?={_LETTERS}))*(?<!_)",
    r"[!?]{2,}",
    r"([^\w\s\x22'()\[\]{}]|_)\1+",  # ... -- *** ~~~ and every other run of one sign
    r"[\x{1f1e6}-\x{1f1ff}]{2}",
    rf"{_PICTURE}(?:[\x{{fe0f}}\x{{1f3fb}}-\x{{1f3ff}}]|\x{{200d}}{_PICTURE})*",
    r"\S\p{M}*",
)
TOKEN_PATTERN = "|".join(_RULES)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text: what the model sees, and where it stands in the original."""

    tokens: list[str]
    spans: npt.NDArray[np.int64]  # (tokens, 2): start and end in the original text


class Tokenizer:
    """Normalise, cut at white space, split each chunk by the rules.

    No rule looks beyond white space, so a chunk splits the same way wherever it
    stands, and texts repeat their chunks: remembering them is what makes it fast.
    """

    _MOST_CHUNKS = 1 << 18  # about 60 MB; then it forgets them all and starts again

    def __init__(self, normaliser: Normaliser | None = None) -> None:
        self.normaliser = normaliser or Normaliser()
        self._split = Split(Regex(TOKEN_PATTERN), behavior="removed", invert=True)
        self._known: dict[str, tuple[str, ...]] = {}

    def tokens(self, text: str) -> list[str]:
        """The tokens alone: the fast way, for corpora."""
        chunks = self.normaliser(text).split()
        new = set(chunks).difference(self._known)
        if new:
            if len(self._known) + len(new) > self._MOST_CHUNKS:
                self._known.clear()
                new = set(chunks)
            self._known.update(self._split_chunks(new))
        return list(chain.from_iterable(map(self._known.__getitem__, chunks)))

    def _split_chunks(self, chunks: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """(chunk, tokens) of each, by one call of the library: a call costs more than a chunk."""
        chunks = list(chunks)
        pieces = iter(self._split.pre_tokenize_str(" ".join(chunks)))
        for chunk in chunks:
            tokens: list[str] = []
            length = 0
            while length < len(chunk):  # the rules leave no character of a chunk out
                token, _ = next(pieces)
                tokens.append(token)
                length += len(token)
            yield chunk, tuple(tokens) if len(tokens) > 1 else (chunk,)

    def tokenize(self, text: str) -> Tokens:
        """The tokens, and their spans in the text as it was given."""
        aligned = self.normaliser.align(text)
        pieces = self._split.pre_tokenize_str(aligned.text)
        spans = np.array([span for _, span in pieces], dtype=np.int64).reshape(-1, 2)
        return Tokens([token for token, _ in pieces], aligned.original_spans(spans))
