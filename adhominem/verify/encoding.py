"""Encoding by all members of a model: each text is tokenized and its n-grams counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np

from adhominem.arrays import Levs, Rows, is_finite, joined
from adhominem.errors import NO_WORD, EmptyTextError, InputError, OptionError
from adhominem.model.member import Member
from adhominem.ngrams.encoder import NgramEncoder, NgramsTogether
from adhominem.ngrams.languages import NgramsByLanguage
from adhominem.pairs.passages import without_repetitions
from adhominem.paper.runtime import NetworkOutput
from adhominem.score.scorer import out_of_range
from adhominem.text.files import Document
from adhominem.text.lexicon import Numbered
from adhominem.text.tokenizer import Tokenizer, Tokens

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
        self._levs: dict[tuple[str, str, str], Levs] = {}
        self._tokens: dict[tuple[Tokenizer, str], Tokens] = {}

    def levs_of(self, documents: Sequence[Document]) -> list[Levs | None]:
        """The LEV (1, lev_size) of each text, if it is kept."""
        return [self._levs.get(_key(document)) for document in documents]

    def keep(self, documents: Sequence[Document], levs: Levs) -> None:
        """Keep LEVs (documents, lev_size), as long as there is room for more."""
        for at, document in enumerate(documents[: self._most_levs - len(self._levs)]):
            lev = levs if len(levs) == 1 else levs[at : at + 1].copy()
            self._levs.setdefault(_key(document), lev)

    def tokenize(self, tokenizer: Tokenizer, text: str) -> Tokens:
        """The tokens of a text."""
        if (known := self._tokens.get((tokenizer, text))) is not None:
            return known
        tokens = tokenizer.tokenize(text)
        if self._characters > 0:
            self._tokens[tokenizer, text] = tokens
            self._characters -= len(text)
        return tokens

    def tokenize_all(self, tokenizers: Sequence[Tokenizer], document: Document) -> TokensBy:
        """The tokens of a document by each tokenizer; an error names the document."""
        tokens_by = {}
        for tokenizer in tokenizers:
            try:
                tokens_by[tokenizer] = self.tokenize(tokenizer, document.text)
            except InputError as error:
                raise error.at(document.id) from None
            if not len(tokens_by[tokenizer].numbers):
                raise EmptyTextError(NO_WORD, document.id)
        return tokens_by


def _key(document: Document) -> tuple[str, str, str]:
    """All that a document's LEV depends on."""
    return document.text, document.topic, document.language


NOTHING_KEPT = Kept(0, 0)


@dataclass(frozen=True)
class Begun:
    """Partly encoded texts: n-grams are counted, the networks have yet to run."""

    levs: Levs  # (documents, lev_size), with zeros for networks
    texts: Mapping[int, Numbered]  # by index of the tokenizer, for networks
    topics: Sequence[Sequence[Sequence[str]]]  # by network and document: the topic's tokens


class EnsembleEncoder:
    """All members of a model, which encode texts together."""

    def __init__(self, members: Sequence[Member], lead: int, name: str) -> None:
        self.members, self.lead, self.name = list(members), members[lead], name
        self.tokenizers = list(dict.fromkeys(member.tokenizer for member in members))
        self.kept = NOTHING_KEPT  # see `keeping`
        # Members that count n-grams, grouped by tokenizer: each group counts a text once. Made when
        # first used, and shared by copies of the model.
        self._together: dict[tuple[Tokenizer, int, int], tuple[NgramsTogether, list[Member]]] = {}

    def keeping(self, kept: Kept | None = None) -> Self:
        """The same model, which tokenizes and encodes no text twice, for the time of one run.

        `kept` are texts that are known already. One that keeps texts goes on with its own.
        """
        if kept is None and self.kept is not NOTHING_KEPT:
            return self
        keeper = copy(self)
        keeper.kept = kept or Kept()
        return keeper

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the model has n-grams of; empty if it reads all texts alike."""
        encoder = self.lead.encoder
        return encoder.languages if isinstance(encoder, NgramsByLanguage) else ()

    @property
    def language(self) -> str:
        """The language that all texts are in; empty if it is found for each text."""
        encoder = self.lead.encoder
        return encoder.language if isinstance(encoder, NgramsByLanguage) else ""

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text as the lead has them."""
        return self.kept.tokenize(self.lead.tokenizer, text).tokens

    def encode(
        self,
        documents: Sequence[str | Document],
        *,
        tokens: Sequence[TokensBy] | None = None,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Levs:
        """The LEVs (documents, lev_size) of texts, each a string or a Document with its topic.

        NumPy treats them as an array; `np.asarray` makes them a dense one. Repeated texts are
        encoded once. `tokens` are those of each text by tokenizer, if it is tokenized already.
        """
        texts = as_documents(documents)
        numbers: dict[tuple[str, str, str], int] = {}  # of the different texts
        rows = [numbers.setdefault(_key(text), len(numbers)) for text in texts]
        firsts = np.unique(rows, return_index=True)[1].tolist()
        there = dict(zip(firsts, self.kept.levs_of([texts[at] for at in firsts]), strict=True))
        new = [at for at in firsts if there[at] is None]
        parts = [] if firsts else [self._encode([])]
        for part in batches([len(texts[at].text) for at in new]):
            chosen = [texts[at] for at in new[part]]
            parts.append(self._encode(chosen, tokens and [tokens[at] for at in new[part]]))
            self.kept.keep(chosen, parts[-1])
            on_documents(len(chosen))
        if len(new) < len(firsts):  # each in its place, new or not
            fresh = chain.from_iterable([levs.one_by_one() for levs in parts])
            parts = [next(fresh) if lev is None else lev for lev in there.values()]
        on_documents(len(texts) - len(new))
        levs = joined(parts)
        return levs if len(firsts) == len(texts) else levs.chosen(rows)

    def attend(
        self, documents: Sequence[Document], tokens: Sequence[TokensBy]
    ) -> tuple[Levs, list[dict[Member, NetworkOutput]]]:
        """(documents, lev_size), and each document's attention by all networks."""
        attention: list[dict[Member, NetworkOutput]] = [{} for _ in documents]
        for network in self._networks:
            for document, tokens_by, attended in zip(documents, tokens, attention, strict=True):
                output = network.attend(document, tokens_by[network.tokenizer].tokens)
                assert output is not None  # as of any network
                attended[network] = output
        return self._encode(documents, tokens, attention), attention

    def _encode(
        self,
        documents: Sequence[Document],
        known: Sequence[TokensBy] | None = None,
        attention: Sequence[Mapping[Member, NetworkOutput]] = (),
    ) -> Levs:
        """(documents, lev_size): the LEVs of a few documents, whose attention may be `known`."""
        numbered = self._numbered(documents, known)
        parts = self._count(documents, numbered)
        for network in self._networks:
            parts[network] = (
                np.array([attended[network].levs[0] for attended in attention])
                if attention
                else network.encode_numbered(documents, numbered[network.tokenizer])
            )
        return self._joined(parts, numbered)

    def begin(self, documents: Sequence[Document]) -> Begun:
        """A few documents, partly encoded, for a process with a GPU to finish."""
        numbered = self._numbered(documents)
        parts = self._count(documents, numbered)
        for network in self._networks:
            parts[network] = np.zeros((len(documents), network.lev_size), np.float32)
        read = {self.tokenizers.index(network.tokenizer) for network in self._networks}
        return Begun(
            self._joined(parts, numbered),
            {place: numbered[self.tokenizers[place]] for place in read},
            [list(map(network.topic, documents)) for network in self._networks],
        )

    def finish(self, begun: Sequence[Begun]) -> Levs:
        """The LEVs (documents, lev_size) of documents that other processes have begun to encode."""
        rows: list[Rows] = list(joined([part.levs for part in begun]).parts)
        for at, network in enumerate(self._networks):
            place = self.tokenizers.index(network.tokenizer)
            lexicon = network.tokenizer.lexicon()
            parts = [part.texts[place].numbered_by(lexicon) for part in begun]
            texts = Numbered(lexicon, list(chain.from_iterable(part.documents for part in parts)))
            topics = list(chain.from_iterable(part.topics[at] for part in begun))
            assert not isinstance(network.encoder, NgramsByLanguage)
            encoded = network.encoder.encode_numbered(texts, topics)
            rows[self.members.index(network)] = encoded
        return self._checked(rows)

    def _numbered(
        self, documents: Sequence[Document], known: Sequence[TokensBy] | None = None
    ) -> dict[Tokenizer, Numbered]:
        """The tokens of documents, each passage once, as numbers."""
        if known is None:
            once = list(map(without_repetitions, documents))
            known = [self.kept.tokenize_all(self.tokenizers, document) for document in once]
        numbered = {}
        for tokenizer in self.tokenizers:
            lexicon = tokenizer.lexicon()
            numbers = [tokens_by[tokenizer].numbers_in(lexicon) for tokens_by in known]
            numbered[tokenizer] = Numbered(lexicon, numbers)
        return numbered

    def _count(
        self, documents: Sequence[Document], numbered: Mapping[Tokenizer, Numbered]
    ) -> dict[Member, Rows]:
        """The LEVs (documents, lev_size) of each member that counts n-grams."""
        if not self._together:
            groups: dict[tuple[Tokenizer, int, int], dict[Member, NgramEncoder]] = {}
            for member in self.members:
                if isinstance(encoder := member.encoder, NgramEncoder):
                    key = member.tokenizer, encoder.longest, encoder.table.longest
                    groups.setdefault(key, {})[member] = encoder
            self._together |= {  # at once: other threads may encode
                key: (NgramsTogether(list(group.values())), list(group))
                for key, group in groups.items()
            }
        parts: dict[Member, Rows] = {
            member: member.encoder.rows(documents, numbered[member.tokenizer])
            for member in self.members
            if isinstance(member.encoder, NgramsByLanguage)
        }
        for (tokenizer, *_), (ngrams, members) in self._together.items():
            parts |= zip(members, ngrams.encode(numbered[tokenizer]), strict=True)
        return parts

    def _joined(self, parts: Mapping[Member, Rows], numbered: Mapping[Tokenizer, Numbered]) -> Levs:
        """The members' parts, followed by the logarithm of the number of tokens."""
        log_tokens = np.log(numbered[self.lead.tokenizer].lengths).astype(np.float32)
        return self._checked([*(parts[member] for member in self.members), log_tokens[:, None]])

    def _checked(self, rows: Sequence[Rows]) -> Levs:
        if not all(map(is_finite, rows)):  # even finite weights may overflow
            raise out_of_range(f"the model {self.name} gives LEVs")
        return Levs(tuple(rows))

    def networks_with_attention(self) -> list[Member]:
        """The members that are networks; an OptionError if there is none."""
        if networks := self._networks:
            return networks
        raise OptionError(
            f"the model {self.name} has no network, and only networks have attention; "
            "expected one trained with a network's preset"
        )

    @property
    def _networks(self) -> list[Member]:
        return [member for member in self.members if not member.counts_ngrams]


def as_documents(texts: Sequence[str | Document]) -> list[Document]:
    """Texts as Documents."""
    return [Document(text=text) if isinstance(text, str) else text for text in texts]
