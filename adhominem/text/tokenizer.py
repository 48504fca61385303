"""The tokenizer: one regular expression, with character spans into the original text.

Nothing is rewritten or lower-cased: contractions, runs of signs and misspellings
are what authors differ in. The rules run in the `tokenizers` library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain

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
    r"(?<!\w)(?:[A-Za-z]\.)+[A-Za-z](?!\w)(?:\.(?!\.\.))?",  # U.S. e.g. a.m. U.S.A
    r"(?<!\w)[A-HJ-Z]\.(?![^\sA-Z])",  # initials; I is a word
    r"\d+(?:[.,:]\d+)+(?!\w)",
    r"(?<!\w)['’](?i:tis|twas|twere|twill|em|til|cause|bout|nuff)(?!\w)",
    rf"{_LETTERS}\p{{M}}*(?:\w|\p{{M}}|['’_](?={_LETTERS}))*(?<!_)",
    r"[!?]{2,}",
    # ... -- *** ~~~ and every other run of one sign; not the first part of a joined emoji
    rf"([^\w\s\x22'()\[\]{{}}]|_)\1+(?!(?<={_PICTURE})[\x{{200d}}\x{{1f3fb}}-\x{{1f3ff}}])",
    r"[\x{1f1e6}-\x{1f1ff}]{2}",
    rf"{_PICTURE}(?:[\x{{fe0f}}\x{{1f3fb}}-\x{{1f3ff}}\x{{e0020}}-\x{{e007f}}]|\x{{200d}}{_PICTURE})*",
    r"\S",
)
TOKEN_PATTERN = rf"(?:{'|'.join(_RULES)})\p{{M}}*"  # marks stay with what they stand on


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
        return list(chain.from_iterable(self._split_chunks(self.normaliser(text).split())))

    def tokenize(self, text: str) -> Tokens:
        """The tokens, and their spans in the text as it was given."""
        aligned = self.normaliser.align(text)
        chunks = list(re.finditer(r"\S+", aligned.text))  # the same as by `split`
        tokens: list[str] = []
        starts: list[int] = []
        split = self._split_chunks([chunk.group() for chunk in chunks])
        for chunk, parts in zip(chunks, split, strict=True):
            tokens += parts
            starts += accumulate(map(len, parts[:-1]), initial=chunk.start())
        begins = np.array(starts, dtype=np.int64)  # (tokens,)
        lengths = np.array([len(token) for token in tokens], dtype=np.int64)  # (tokens,)
        spans = np.stack([begins, begins + lengths], axis=1)
        return Tokens(tokens, aligned.original_spans(spans))

    def _split_chunks(self, chunks: list[str]) -> Iterator[tuple[str, ...]]:
        """The tokens of each chunk, from memory if it was seen before."""
        known = self._known
        new = set(chunks).difference(known)
        if len(known) + len(new) > self._MOST_CHUNKS:
            known = self._known = {}  # a new one: another thread may still read the old
            new = set(chunks)
        if new:
            known.update(self._split_new(new))
        return map(known.__getitem__, chunks)

    def _split_new(self, chunks: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
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
