"""The tokenizer: one regular expression, with character spans into the original text.

Nothing is rewritten or lower-cased: authors differ in contractions, runs of signs
and misspellings. The rules run in the `tokenizers` library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np

from adhominem.arrays import IntArray
from adhominem.errors import TokenizerError
from adhominem.text.lexicon import Lexicon
from adhominem.text.normalisation import CONTRACTIONS, Normaliser

# Abbreviations that include their full stop; none is also a word that ends sentences.
_ABBREVIATIONS = (
    "Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Revd Hon Gen Col Maj Capt Lt Sgt Gov Sen Rep "
    "St Jr Sr Esq Bros Inc Ltd Co Corp vs etc viz cf ibid seq approx Ph.D"
)
_LETTERS = r"[^\W_]"  # letters and digits, no underscore
# Scripts without spaces between words; a token of them is about as long as a word elsewhere.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_SPACED = rf"[\w\p{{M}}&&[^{_UNSPACED}]]"
_PICTURE = r"[\x{2600}-\x{27bf}\x{1f300}-\x{1faff}]"
_RULES = (
    r"(?:https?://|www\.)[^\s<>\x22]*[\w/]",
    rf"{_LETTERS}[\w.+-]{{0,63}}@{_LETTERS}[\w-]*(?:\.\w+)+",
    # Emoticons, only where no word touches them: :-) ;) =P :'( <3 ^_^ o_O
    r"(?<![\w:;=])[:;=][\x27^]?-?(?:[()\[\]{}|/\\*3]+|[DPpOo](?!\w))",
    r"(?<!\w)(?:</?3(?!\w)|[oOT^><]_+[oOT^><](?!\w))",
    rf"(?<!\w)(?:{_ABBREVIATIONS.replace('.', '[.]').replace(' ', '|')})\.(?!\.\.)",
    r"(?<!\w)(?:[A-Za-z]\.)+[A-Za-z](?!\w)(?:\.(?!\.\.))?",  # U.S. e.g. a.m. U.S.A
    r"(?<!\w)[A-HJ-Z]\.(?![^\sA-Z])",  # initials; I is a word
    r"\d+(?:[.,:]\d+)+",
    r"(?<!\w)['’](?i:tis|twas|twere|twill|em|til|cause|bout|nuff)(?!\w)",
    r"\p{Han}{1,2}",
    r"\p{Hiragana}[\p{Hiragana}ー]*",
    r"[\p{Katakana}ー]+",
    r"(?:[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*){1,4}",
    rf"{_LETTERS}\p{{M}}*(?:{_SPACED}|['’_](?={_LETTERS}))*(?<!_)",
    r"[!?]{2,}",
    # ... -- *** ~~~ and every other run of one sign; not the first part of a joined emoji
    rf"([^\w\s\x22'()\[\]{{}}]|_)\1+(?!(?<={_PICTURE})[\x{{200d}}\x{{1f3fb}}-\x{{1f3ff}}])",
    r"[\x{1f1e6}-\x{1f1ff}]{2}",
    rf"{_PICTURE}(?:[\x{{fe0f}}\x{{1f3fb}}-\x{{1f3ff}}\x{{e0020}}-\x{{e007f}}]|\x{{200d}}{_PICTURE})*",
    r"\S",
)
TOKEN_PATTERN = rf"(?:{'|'.join(_RULES)})\p{{M}}*"  # marks stay with what they stand on

_PARTED = r"(?<!\S)['’](?i:s|re|ve|ll|d|m)(?!\w)"  # contractions that the normaliser has parted

_MOST_TYPES = 1 << 17  # of a lexicon
_LONGEST_RUN = 128  # of one character, as the rules get it
_PANIC = ("pyo3_runtime", "PanicException")  # module and name; it cannot be imported


def token_pattern(normaliser: Normaliser) -> str:
    """The regular expression of the tokens of texts that are normalised like this."""
    return f"{_PARTED}|{TOKEN_PATTERN}" if CONTRACTIONS in normaliser.steps else TOKEN_PATTERN


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of one text as a model reads them, with their spans in the original."""

    numbers: IntArray  # (tokens,): numbers of their types in the lexicon
    lexicon: Lexicon
    text: str  # the original
    normaliser: Normaliser

    @cached_property
    def tokens(self) -> list[str]:
        types = self.lexicon.types
        return [types[number] for number in self.numbers.tolist()]

    def numbers_in(self, lexicon: Lexicon) -> IntArray:
        """(tokens,): the numbers of the tokens' types in any lexicon."""
        return self.numbers if lexicon is self.lexicon else lexicon.number(self.tokens)

    @cached_property
    def spans(self) -> IntArray:
        """The spans (tokens, 2) in the original text, computed when first used."""
        aligned = self.normaliser.align(self.text)
        chunks = [chunk.span() for chunk in re.finditer(r"\S+", aligned.text)]  # as by `split`
        begins, ends = np.array(chunks, dtype=np.int64).reshape(-1, 2).T  # (chunks,) each
        sizes = np.fromiter(map(len, self.tokens), np.int64, len(self.tokens))  # (tokens,)
        # Tokens cover every character of a chunk: both are counted without white space.
        tokens, before = np.cumsum(sizes) - sizes, np.cumsum(ends - begins) - (ends - begins)
        tokens += (begins - before)[np.searchsorted(before, tokens, side="right") - 1]
        return aligned.original_spans(np.stack([tokens, tokens + sizes], axis=1))


class Tokenizer:
    """A tokenizer that normalises, cuts at white space, and splits each chunk by rules.

    No rule looks beyond white space, so a chunk splits the same way wherever it
    stands, and texts repeat their chunks: remembering them is what makes it fast.
    """

    _MOST_CHARACTERS = 1 << 21  # of chunks, some 60 MB; then it starts afresh

    def __init__(self, normaliser: Normaliser | None = None) -> None:
        # Here, so that a model folder can be written without the library.
        from tokenizers import Regex
        from tokenizers.pre_tokenizers import Split

        self.normaliser = normaliser or Normaliser()
        self._split = Split(Regex(token_pattern(self.normaliser)), behavior="removed", invert=True)
        self._lexicon = Lexicon()

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text as strings."""
        return self.tokenize(text).tokens

    def lexicon(self) -> Lexicon:
        """The current lexicon; a new one if the old one has grown large."""
        if len(self._lexicon) > _MOST_TYPES or self._lexicon.characters > 2 * self._MOST_CHARACTERS:
            self._lexicon = Lexicon()
        return self._lexicon

    def numbers(self, text: str, lexicon: Lexicon) -> IntArray:
        """(tokens,): the numbers of the tokens' types in a lexicon of this tokenizer."""
        normalised = self.normaliser(text)
        numbers, unknown = lexicon.chunks.look_up(normalised)
        if unknown:
            lexicon.add_chunks(self._split_new(set(unknown)))
            numbers, _ = lexicon.chunks.look_up(normalised)
        return np.frombuffer(numbers, np.int64)

    def tokenize(self, text: str) -> Tokens:
        """The tokens of a text, with their spans in it."""
        lexicon = self.lexicon()
        return Tokens(self.numbers(text, lexicon), lexicon, text, self.normaliser)

    def _split_new(self, chunks: set[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """(chunk, tokens) of each chunk, by one call of the library, as calls are slow."""
        long = [chunk for chunk in chunks if len(chunk) > _LONGEST_RUN]
        for chunk in long:
            shortened, cuts = _shorten_runs(chunk)
            split = [token for token, _ in self._by_the_rules(shortened)]
            yield chunk, tuple(_lengthen_runs(split, chunk, cuts))
        usual = []
        for chunk in chunks.difference(long) if long else chunks:
            if not chunk.isascii():
                usual.append(chunk)
            elif chunk.isalnum():  # the rules give the same result, but more slowly
                yield chunk, (chunk,)
            elif chunk[-1] in ",;!?" and chunk[:-1].isalnum():
                yield chunk, (chunk[:-1], chunk[-1])
            else:
                usual.append(chunk)
        pieces = iter(self._by_the_rules(" ".join(usual)))
        for chunk in usual:
            tokens: list[str] = []
            length = 0
            while length < len(chunk):  # tokens cover every character of a chunk
                token, _ = next(pieces)
                tokens.append(token)
                length += len(token)
            yield chunk, tuple(tokens) if len(tokens) > 1 else (chunk,)

    def _by_the_rules(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """Tokens with their spans, by the library."""
        try:
            return self._split.pre_tokenize_str(text)
        except BaseException as error:  # a panic of the library is not an `Exception`
            if (type(error).__module__, type(error).__name__) != _PANIC:
                raise
        # Outside the handler: the panic's message may quote the text.
        raise TokenizerError(
            "the tokenizer gives up on this text: it has millions of characters in a row without "
            "white space; expected words. Remove that stretch, or put spaces into it"
        )


# A run of one character is shortened before the rules get it: they backtrack through it character
# by character, and give up after some millions. No rule counts beyond 64 (of an address, before its
# @), so deep inside a longer run all characters are in one token, or each is its own token,
# whatever the length. In scripts without spaces, tokens have two to four characters: there, nothing
# is shortened, as nothing backtracks.

_NOT_SHORTENED = re.compile(r"CJK|IDEOGRAPHIC|KANGXI|HANGZHOU|THAI|LAO|KHMER|MYANMAR")  # in names
Cut = tuple[int, int]  # place in a shortened chunk, and number of characters left out


def _shorten_runs(chunk: str) -> tuple[str, list[Cut]]:
    """A chunk with runs of one character cut to `_LONGEST_RUN`, and the cuts."""
    codes = np.frombuffer(chunk.encode("utf-32-le"), np.uint32)
    begins = np.flatnonzero(np.diff(codes, prepend=~codes[:1]))  # of runs
    excesses = np.diff(begins, append=len(chunk)) - _LONGEST_RUN
    long = excesses > 0
    pieces: list[str] = []
    cuts: list[Cut] = []
    last = length = 0
    for begin, excess in zip(begins[long].tolist(), excesses[long].tolist(), strict=True):
        if _NOT_SHORTENED.search(unicodedata.name(chunk[begin], "")):
            continue
        middle = begin + _LONGEST_RUN // 2
        pieces.append(chunk[last:middle])
        length += middle - last
        cuts.append((length, excess))
        last = middle + excess
    return "".join([*pieces, chunk[last:]]), cuts


def _lengthen_runs(tokens: Iterable[str], chunk: str, cuts: Iterable[Cut]) -> Iterator[str]:
    """The tokens of a chunk, from those of the shortened chunk."""
    left = iter(cuts)
    cut, excess = next(left, (-1, 0))
    place = begin = 0  # of a token, in the shortened and in the whole chunk
    for token in tokens:
        end = begin + len(token)
        while place <= cut < place + len(token):
            if place == cut:  # each character of the run is a token
                yield from repeat(token, excess)
                begin += excess
            end += excess
            cut, excess = next(left, (-1, 0))
        yield chunk[begin:end]
        place += len(token)
        begin = end
