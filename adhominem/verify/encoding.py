"""Encoding by all members of a model: each text is tokenized and its n-grams counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from adhominem.arrays import IntArray, Levs, Rows, is_finite, joined
from adhominem.errors import NO_WORD, EmptyTextError, InputError
from adhominem.model.member import Member
from adhominem.ngrams.encoder import NgramEncoder, NgramsTogether
from adhominem.pairs.passages import without_repetitions
from adhominem.paper.runtime import NetworkOutput
from adhominem.score.scorer import out_of_range
from adhominem.text.files import Document
from adhominem.text.tokenizer import Lexicon, Numbered, PackedTexts, Tokenizer, Tokens

TokensBy = Mapping[Tokenizer, Tokens]

_DOCUMENTS_AT_ONCE = 512  # tokenized and encoded together
_CHARACTERS_AT_ONCE = 1 << 22  # of all of these
MOST_LEVS = 1_500  # that are kept: a LEV may have many thousand numbers
_MOST_CHARACTERS = 1 << 25  # of texts whose tokens are kept


def batches(characters: Sequence[int]) -> Iterator[slice]:
    """Slices of texts to be encoded together, limited in number and in characters in all."""
    begin = length = 0
    for at, size in enumerate(characters):
        if at - begin == _DOCUMENTS_AT_ONCE or (at > begin and length + size > _CHARACTERS_AT_ONCE):
            yield slice(begin, at)
            begin, length = at, 0
        length += size
    if begin < len(characters):
        yield slice(begin, len(characters))


class Kept:
    """Tokens and LEVs of the texts of one run, so that none is tokenized or encoded twice.

    With thousands of texts the first of them are kept, and the rest is encoded again where it is
    needed twice.
    """

    def __init__(self, most_levs: int = MOST_LEVS, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most_levs, self._characters = most_levs, most_characters  # that there is room for
        self._levs: dict[tuple[str, str], Levs] = {}
        self._tokens: dict[tuple[Tokenizer, str], Tokens] = {}

    def lev(self, document: Document) -> Levs | None:
        """(1, lev_size): the LEV of a text, if it is kept."""
        return self._levs.get((document.text, document.topic))

    def keep(self, documents: Sequence[Document], levs: Levs) -> None:
        """Keep LEVs (documents, lev_size), as long as there is room for more."""
        for at, document in enumerate(documents[: self._most_levs - len(self._levs)]):
            lev = levs if len(levs) == 1 else levs[at : at + 1].copy()
            self._levs.setdefault((document.text, document.topic), lev)

    def tokenize(self, tokenizer: Tokenizer, text: str) -> Tokens:
        """The tokens of a text."""
        if (known := self._tokens.get((tokenizer, text))) is not None:
            return known
        tokens = tokenizer.tokenize(text)
        if self._characters > 0:
            self._tokens[tokenizer, text] = tokens
            self._characters -= len(text)
        return tokens


NOTHING_KEPT = Kept(0, 0)


@dataclass(frozen=True)
class Begun:
    """Partly encoded texts: n-grams are counted, the networks have yet to run."""

    levs: Levs  # (documents, lev_size), with zeros for networks
    texts: Mapping[int, PackedTexts]  # by index of the tokenizer, for networks
    topics: Sequence[Sequence[Sequence[str]]]  # by network and document: the topic's tokens


class Encoding:
    """The encoding of texts by all members of a model together."""

    def __init__(self, members: Sequence[Member], lead: Member, name: str) -> None:
        self.tokenizers = list(dict.fromkeys(member.tokenizer for member in members))
        self._members, self._lead, self._name = members, lead, name

    def encode_all(
        self,
        documents: Sequence[Document],
        tokens: Sequence[TokensBy] | None,
        kept: Kept,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Levs:
        """(documents, lev_size): the LEVs of documents, a few at a time; see `Verifier.encode`."""
        numbers: dict[tuple[str, str], int] = {}  # of the different texts
        rows = [numbers.setdefault((text.text, text.topic), len(numbers)) for text in documents]
        firsts = np.unique(rows, return_index=True)[1].tolist()
        there = {at: kept.lev(documents[at]) for at in firsts}
        new = [at for at in firsts if there[at] is None]
        parts = [self.encode([], None, kept)] if not firsts else []
        for part in batches([len(documents[at].text) for at in new]):
            chosen = [documents[at] for at in new[part]]
            known = None if tokens is None else [tokens[at] for at in new[part]]
            parts.append(self.encode(chosen, known, kept))
            kept.keep(chosen, parts[-1])
            on_documents(len(chosen))
        if len(new) < len(firsts):  # each in its place, new or not
            fresh = iter([lev[at : at + 1] for lev in parts for at in range(len(lev))])
            parts = [next(fresh) if lev is None else lev for lev in there.values()]
        on_documents(len(documents) - len(new))
        levs = joined(parts)
        return levs if len(firsts) == len(documents) else levs.chosen(rows)

    def encode(
        self, documents: Sequence[Document], known: Sequence[TokensBy] | None, kept: Kept
    ) -> Levs:
        """(documents, lev_size): the LEVs of a few documents.

        `known` are the tokens of each by tokenizer, unless they are to be made here, or are `kept`.
        """
        numbered = self._numbered(documents, known, kept)
        parts = self._count(numbered)
        for member in self._members:
            if member not in parts:  # a network
                parts[member] = member.encode_numbered(documents, numbered[member.tokenizer])
        return self._joined(parts, numbered)

    def begin(self, documents: Sequence[Document]) -> Begun:
        """Do what needs no GPU, of a few documents."""
        numbered = self._numbered(documents, None, NOTHING_KEPT)
        parts = self._count(numbered)
        for network in self._networks:
            parts[network] = np.zeros((len(documents), network.lev_size), np.float32)
        read = {self.tokenizers.index(network.tokenizer) for network in self._networks}
        return Begun(
            self._joined(parts, numbered),
            {place: numbered[self.tokenizers[place]].packed() for place in read},
            [list(map(network.topic, documents)) for network in self._networks],
        )

    def finish(self, begun: Sequence[Begun]) -> Levs:
        """The LEVs (documents, lev_size) of documents begun here or in other processes."""
        rows: list[Rows] = list(joined([part.levs for part in begun]).parts)
        for at, network in enumerate(self._networks):
            place = self.tokenizers.index(network.tokenizer)
            lexicon = network.tokenizer.lexicon()
            parts = [part.texts[place].numbered(lexicon) for part in begun]
            texts = Numbered(lexicon, list(chain.from_iterable(part.documents for part in parts)))
            topics = list(chain.from_iterable(part.topics[at] for part in begun))
            encoded = network.encoder.encode_numbered(texts, topics)
            rows[self._members.index(network)] = encoded
        return self._checked(rows)

    def attend(
        self, documents: Sequence[Document], known: Sequence[TokensBy]
    ) -> tuple[Levs, list[tuple[NetworkOutput | None, ...]]]:
        """(documents, lev_size), and the attention of each member, of each document."""
        numbered = self._numbered(documents, known, NOTHING_KEPT)
        parts = self._count(numbered)
        attended: dict[Member, list[NetworkOutput | None]] = {
            member: [None] * len(documents) for member in parts
        }
        for member in self._members:
            if member not in parts:  # a network
                networks = [
                    member.attend(document, tokens_by[member.tokenizer].tokens)
                    for document, tokens_by in zip(documents, known, strict=True)
                ]
                parts[member] = np.array([encoded.levs[0] for encoded in networks if encoded])
                attended[member] = networks
        levs = self._joined(parts, numbered)
        return levs, list(zip(*(attended[member] for member in self._members), strict=True))

    def _count(self, numbered: Mapping[Tokenizer, Numbered]) -> dict[Member, Rows]:
        """The LEVs (documents, lev_size) of each member that counts n-grams."""
        parts: dict[Member, Rows] = {}
        for tokenizer, ngrams, members in self._counted_together:
            parts |= zip(members, ngrams.encode(numbered[tokenizer]), strict=True)
        return parts

    def _numbered(
        self, documents: Sequence[Document], known: Sequence[TokensBy] | None, kept: Kept
    ) -> dict[Tokenizer, Numbered]:
        numbered = {}
        for tokenizer in self.tokenizers:
            lexicon = tokenizer.lexicon()
            if known is None:
                numbers = [_numbers(document, tokenizer, lexicon, kept) for document in documents]
            else:
                numbers = [tokens_by[tokenizer].numbers_in(lexicon) for tokens_by in known]
            numbered[tokenizer] = Numbered(lexicon, numbers)
        return numbered

    def _joined(self, parts: Mapping[Member, Rows], numbered: Mapping[Tokenizer, Numbered]) -> Levs:
        """The members' parts, followed by the logarithm of the number of tokens."""
        log_tokens = np.log(numbered[self._lead.tokenizer].lengths).astype(np.float32)
        return self._checked([*(parts[member] for member in self._members), log_tokens[:, None]])

    def _checked(self, rows: Sequence[Rows]) -> Levs:
        if not all(map(is_finite, rows)):  # even finite weights may overflow
            raise out_of_range(f"the model {self._name} gives LEVs")
        return Levs(tuple(rows))

    @cached_property
    def _networks(self) -> list[Member]:
        """The members that do not count n-grams."""
        return [member for member in self._members if not isinstance(member.encoder, NgramEncoder)]

    @cached_property
    def _counted_together(self) -> list[tuple[Tokenizer, NgramsTogether, list[Member]]]:
        """Members that count n-grams, grouped by tokenizer: each group counts a text once."""
        groups: dict[tuple[Tokenizer, int, int], list[tuple[Member, NgramEncoder]]] = {}
        for member in self._members:
            if isinstance(encoder := member.encoder, NgramEncoder):
                key = member.tokenizer, encoder.longest, encoder.table.longest
                groups.setdefault(key, []).append((member, encoder))
        return [
            (key[0], NgramsTogether([encoder for _, encoder in group]), [of for of, _ in group])
            for key, group in groups.items()
        ]


def _numbers(document: Document, tokenizer: Tokenizer, lexicon: Lexicon, kept: Kept) -> IntArray:
    """The tokens of a document, each passage once; an error names the document."""
    try:
        tokens = kept.tokenize(tokenizer, without_repetitions(document).text)
    except InputError as error:
        raise error.at(document.id) from None
    numbers = tokens.numbers_in(lexicon)
    if not len(numbers):
        raise EmptyTextError(NO_WORD, document.id)
    return numbers
