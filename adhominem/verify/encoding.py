"""How a model's members encode texts: each is tokenized once, and its n-grams counted once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from adhominem.arrays import IntArray, Levs
from adhominem.encoders.network.runtime import Encoded
from adhominem.encoders.ngrams.encoder import NgramEncoder
from adhominem.encoders.ngrams.together import NgramsTogether
from adhominem.errors import EmptyTextError, InputError
from adhominem.models.member import Member
from adhominem.scoring.scorer import out_of_range
from adhominem.text.files import Document
from adhominem.text.lexicon import Lexicon, Numbered, PackedTexts
from adhominem.text.tokenizer import Tokenizer, Tokens

TokensBy = Mapping[Tokenizer, Tokens]

_DOCUMENTS_AT_ONCE = 512  # tokenized and encoded together
_CHARACTERS_AT_ONCE = 1 << 22  # of all of these


def batches(characters: Sequence[int]) -> Iterator[slice]:
    """Texts of so many characters to be encoded together: not too many, nor too long in all."""
    begin = length = 0
    for at, size in enumerate(characters):
        if at - begin == _DOCUMENTS_AT_ONCE or (at > begin and length + size > _CHARACTERS_AT_ONCE):
            yield slice(begin, at)
            begin, length = at, 0
        length += size
    if begin < len(characters):
        yield slice(begin, len(characters))


@dataclass(frozen=True)
class Begun:
    """Texts whose tokens and n-grams are known: what is left is the networks' work."""

    levs: Levs  # (documents, lev_size), with zeros for networks
    texts: Mapping[int, PackedTexts]  # by the place of their tokenizer, where a network reads them
    topics: Sequence[Sequence[Sequence[str]]]  # of each network, of each document: its tokens


class Encoding:
    """The members of a model at work together."""

    def __init__(self, members: Sequence[Member], lead: Member, name: str) -> None:
        self.tokenizers = list(dict.fromkeys(member.tokenizer for member in members))
        self._members, self._lead, self._name = members, lead, name

    def encode(
        self, documents: Sequence[Document], known: Sequence[TokensBy] | None, levs: Levs
    ) -> None:
        """Add the LEVs of a few documents to zeros, (documents, lev_size).

        `known` are the tokens of each by tokenizer, unless they are to be made here.
        """
        numbered = self._numbered(documents, known)
        columns = self._columns(levs)
        for tokenizer, ngrams, members in self._counted_together:
            ngrams.encode(numbered[tokenizer], [columns.pop(member) for member in members])
        for member, part in columns.items():  # networks
            part[:] = member.encode_numbered(documents, numbered[member.tokenizer])
        self._finish(levs, numbered)

    def begin(self, documents: Sequence[Document]) -> Begun:
        """Do what needs no GPU, of a few documents."""
        numbered = self._numbered(documents, None)
        levs = np.zeros((len(documents), self._size), np.float32)
        columns = self._columns(levs)
        for tokenizer, ngrams, members in self._counted_together:
            ngrams.encode(numbered[tokenizer], [columns[member] for member in members])
        self._finish(levs, numbered)
        read = {self.tokenizers.index(network.tokenizer) for network in self._networks}
        return Begun(
            levs,
            {place: numbered[self.tokenizers[place]].packed() for place in read},
            [list(map(network.topic, documents)) for network in self._networks],
        )

    def finish(self, begun: Sequence[Begun]) -> Levs:
        """(documents, lev_size): the LEVs of documents begun here or by others, all at once."""
        levs = np.concatenate([part.levs for part in begun])
        columns = self._columns(levs)
        for at, network in enumerate(self._networks):
            place = self.tokenizers.index(network.tokenizer)
            lexicon = network.tokenizer.lexicon()
            parts = [part.texts[place].numbered(lexicon) for part in begun]
            texts = Numbered(lexicon, list(chain.from_iterable(part.documents for part in parts)))
            topics = list(chain.from_iterable(part.topics[at] for part in begun))
            columns[network][:] = network.encoder.encode_numbered(texts, topics)
        self._check(levs)
        return levs

    def attend(
        self, documents: Sequence[Document], known: Sequence[TokensBy]
    ) -> tuple[Levs, list[tuple[Encoded | None, ...]]]:
        """(documents, lev_size), and the attention of each member, of each document."""
        levs = np.zeros((len(documents), self._size), dtype=np.float32)
        numbered = self._numbered(documents, known)
        columns = self._columns(levs)
        attended: dict[Member, list[Encoded | None]] = {}
        for tokenizer, ngrams, members in self._counted_together:
            ngrams.encode(numbered[tokenizer], [columns[member] for member in members])
            attended |= {member: [None] * len(documents) for member in members}
        for member, part in columns.items():
            if member not in attended:  # a network
                attended[member] = []
                for row, document, tokens_by in zip(part, documents, known, strict=True):
                    encoded = member.attend(document, tokens_by[member.tokenizer].tokens)
                    assert encoded is not None
                    row[:] = encoded.levs[0]
                    attended[member].append(encoded)
        self._finish(levs, numbered)
        return levs, list(zip(*(attended[member] for member in self._members), strict=True))

    def _numbered(
        self, documents: Sequence[Document], known: Sequence[TokensBy] | None
    ) -> dict[Tokenizer, Numbered]:
        numbered = {}
        for tokenizer in self.tokenizers:
            lexicon = tokenizer.lexicon()
            if known is None:
                numbers = [_numbers(document, tokenizer, lexicon) for document in documents]
            else:
                numbers = [lexicon.number(tokens_by[tokenizer].tokens) for tokens_by in known]
            numbered[tokenizer] = Numbered(lexicon, numbers)
        return numbered

    def _columns(self, levs: Levs) -> dict[Member, Levs]:
        """The part of LEVs (documents, lev_size) that is each member's."""
        ends = np.cumsum([member.lev_size for member in self._members])
        return dict(zip(self._members, np.split(levs, ends, axis=1), strict=False))

    def _finish(self, levs: Levs, numbered: Mapping[Tokenizer, Numbered]) -> None:
        """Fill in the last column, the logarithm of how many tokens there are."""
        levs[:, -1] = np.log(numbered[self._lead.tokenizer].lengths)
        self._check(levs)

    def _check(self, levs: Levs) -> None:
        if not np.isfinite(levs).all():  # weights that are numbers all may do that
            raise out_of_range(f"the model {self._name} gives LEVs")

    @property
    def _size(self) -> int:
        return sum(member.lev_size for member in self._members) + 1

    @cached_property
    def _networks(self) -> list[Member]:
        """Members that do not count n-grams."""
        return [member for member in self._members if not isinstance(member.encoder, NgramEncoder)]

    @cached_property
    def _counted_together(self) -> list[tuple[Tokenizer, NgramsTogether, list[Member]]]:
        """Members that count n-grams, by what they read: their texts are counted once."""
        groups: dict[tuple[Tokenizer, int, int], list[tuple[Member, NgramEncoder]]] = {}
        for member in self._members:
            if isinstance(encoder := member.encoder, NgramEncoder):
                key = member.tokenizer, encoder.longest, encoder.table.longest
                groups.setdefault(key, []).append((member, encoder))
        return [
            (key[0], NgramsTogether([encoder for _, encoder in group]), [of for of, _ in group])
            for key, group in groups.items()
        ]


def _numbers(document: Document, tokenizer: Tokenizer, lexicon: Lexicon) -> IntArray:
    """The tokens of a document; what is wrong with it is said by its name."""
    try:
        numbers = tokenizer.numbers(document.text, lexicon)
    except InputError as error:
        raise error.at(document.id) from None
    if not len(numbers):
        raise EmptyTextError("the text has no word in it", document.id)
    return numbers
