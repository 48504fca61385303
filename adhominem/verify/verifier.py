"""The whole chain as one object: texts to LEVs to a log Bayes factor to what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

import adhominem
from adhominem.encoders.network.runtime import Encoded
from adhominem.errors import EmptyTextError, InputError, OptionError
from adhominem.models.calibration import read_scales
from adhominem.models.files import ModelFiles
from adhominem.models.folder import AnyModel, model_hash, read_models
from adhominem.models.genres import read_genres
from adhominem.models.member import Member
from adhominem.models.shipped import DEFAULT_MODEL, model_folder
from adhominem.scoring.calibration import Calibration
from adhominem.scoring.decision import Decision, decide
from adhominem.scoring.distance import squared_distance
from adhominem.scoring.population import Population, each_once, without_companions
from adhominem.scoring.probability import probability_same_author
from adhominem.scoring.scales import Scales
from adhominem.scoring.scorer import Scorer, check_numbers
from adhominem.scoring.verbal import VerbalScale
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.text.normalisation import Normaliser
from adhominem.text.pan import Pair
from adhominem.text.tokenizer import Tokenizer, Tokens
from adhominem.verify.cautions import cautions_of
from adhominem.verify.comparison import ComparedText, Comparison
from adhominem.verify.verification import Likeness, Material, PopulationUse, Side, Verification

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Levs = npt.NDArray[np.float32]
Text = str | Document | Exhibit
SideTexts = Text | Sequence[Text]  # one text, or several by one author
TokensBy = Mapping[Tokenizer, Tokens]
Result = TypeVar("Result")

_DOCUMENTS_AT_ONCE = 500  # tokenized and encoded together


class Verifier:
    """A model, or an ensemble of several, ready to compare texts.

    >>> verifier = load("model")
    >>> verifier.verify("It was a dark night ...", ["Call me ...", "Dear sir ..."]).verbal
    >>> levs = verifier.encode(["It was a dark night ...", "Call me ..."])   # (2, lev_size)
    >>> verifier.score(levs[:1], levs[1:])                                   # (1,), in nats
    """

    def __init__(
        self,
        models: Sequence[AnyModel],
        scales: Scales | None = None,
        *,
        name: str = "",
        sha256: str = "",
        genre_names: Mapping[str, str] | None = None,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        if not models:
            raise OptionError("a verifier without a model; expected at least one")
        self.name, self.sha256 = name, sha256
        self.genre_names = dict(genre_names or {})
        scales = scales or Scales()
        tokenizers: dict[Normaliser, Tokenizer] = {}  # members mostly share one
        self.members: list[Member] = []
        for model in models:
            normaliser = model.config.normaliser
            if normaliser not in tokenizers:
                tokenizers[normaliser] = Tokenizer(normaliser)
            self.members.append(Member(model, tokenizers[normaliser], threads, device))
        scales.check(name, len(models), 0 if self.members[0].styles is None else 1)
        self.scorer = Scorer(tuple(member.scorer for member in self.members), scales)

    @property
    def scales(self) -> Scales:
        """What the members' scores are worth."""
        return self.scorer.scales

    @scales.setter
    def scales(self, scales: Scales) -> None:
        self.scorer = replace(self.scorer, scales=scales)

    @property
    def calibration(self) -> Calibration | None:
        """That of scores without a population."""
        return self.scales.alone.calibration

    @property
    def member_names(self) -> list[str]:
        """The names of the members' folders; of a single model, its own."""
        return [member.name for member in self.members]

    @property
    def genres(self) -> tuple[str, ...]:
        """The genres that the model was trained on, if it knows of any."""
        styles = self.members[0].styles
        return () if styles is None else styles.genres

    @property
    def lev_size(self) -> int:
        """The size of a LEV; that of an ensemble is its members' LEVs in a row."""
        return sum(member.lev_size for member in self.members)

    def verify(
        self,
        first: SideTexts,
        second: SideTexts,
        *,
        population: Population | None = None,
        prior_same_author: float = 0.5,
        delta: float = 0.125,
        scale: VerbalScale | None = None,
    ) -> Verification:
        """Compare two sides, each a text or several by one author.

        `prior_same_author` is yours to state: the texts do not give it. Within 0.5 ± `delta` the
        probability is too close to call. Several texts of a side are weighed together by the
        two-covariance model, not joined and not averaged. A `population` is made of texts of the
        same genre as those compared: see `population`. Companions in it are not drawn on.
        """
        comparison = self.compare(first, second, population)
        return self.judge(comparison, prior_same_author, delta, scale)

    def compare(
        self,
        first: SideTexts,
        second: SideTexts,
        population: Population | None = None,
        *,
        attention: bool = False,
    ) -> Comparison:
        """Tokenize and encode each text once; with `attention`, see where networks look.

        A text that a side has several times, under whatever names, counts once.
        """
        own = self._different(exhibits_of(first, "first"))
        given = [*own, *self._different(exhibits_of(second, "second"))]
        documents = [same[0].document for same, _ in given]
        tokens = [found for _, found in given]
        attended: list[tuple[Encoded | None, ...]] = [(None,) * len(self.members)] * len(documents)
        if attention:
            levs, attended = self._attend(documents, tokens)
        else:
            levs = self.encode(documents, tokens=tokens)
        texts = tuple(
            ComparedText(same[0], found, lev, attention_of_text, tuple(same[1:]))
            for (same, found), lev, attention_of_text in zip(given, levs, attended, strict=True)
        )
        relevant = without_companions(population)
        count = len(own)
        return Comparison(self.members, self.scorer, relevant, texts[:count], texts[count:])

    def judge(
        self,
        comparison: Comparison,
        prior_same_author: float = 0.5,
        delta: float = 0.125,
        scale: VerbalScale | None = None,
    ) -> Verification:
        """What a comparison comes to, in numbers and in words: see `verify`."""
        population, levs = comparison.population, comparison.levs
        calibration = self.scales.of(population).calibration
        factor = float(comparison.scored.log_bayes_factor[0])
        log10 = factor / float(np.log(10))
        probability = float(probability_same_author(factor, prior_same_author))
        lead = comparison.lead
        exhibits = [[text.exhibit for text in side] for side in comparison.sides]
        tokens = [[text.tokens(lead).tokens for text in side] for side in comparison.sides]
        cautions = cautions_of(
            exhibits,
            tokens,
            vocabulary=lead.vocabulary,
            atypicality=[lead.atypicality(self._lead_part(side)) for side in levs],
            typicality=lead.typicality,
            calibrated=calibration is not None,
            at_bound=bool(comparison.scored.at_bound[0]),
            knows_topics=lead.knows_topics,
            guessed_genre=lead.styles is not None and population is None,
            population=population,
            population_atypicality=self._population_atypicality(levs, population),
            genre_names=self.genre_names,
            copies=[(text.exhibit, text.copies) for text in comparison.texts if text.copies],
        )
        obstacles = tuple(each.message for each in cautions if each.decides)
        decided = decide(probability, delta, obstacles)
        reason = decided.reason
        if prior_same_author != 0.5 and not obstacles:
            reason += f", with the prior {prior_same_author:g}"
        if calibration is None and decided.decision is not Decision.UNDECIDED:
            reason += ", by a model that is not calibrated"
        sentence = (scale or VerbalScale()).sentence(log10)
        return Verification(
            log_bayes_factor=factor,
            log10_bayes_factor=log10,
            verbal=f"No statement is made: {reason}." if obstacles else sentence,
            probability_same_author=probability,
            prior_same_author=prior_same_author,
            decision=decided.decision.value,
            reason=reason,
            population=None if population is None else self._population_use(population, levs),
            likeness=self._likeness(levs),
            warnings=tuple(cautions),
            model=self.name,
            model_sha256=self.sha256,
            version=adhominem.__version__,
            first=_side(comparison.first, lead),
            second=_side(comparison.second, lead),
        )

    def encode(
        self,
        documents: Sequence[str | Document],
        *,
        tokens: Sequence[TokensBy] | None = None,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Levs:
        """(documents, lev_size): the LEVs of texts, each a string or a Document with its topic.

        A text that is there several times is encoded once. `tokens` are those of each text, by
        tokenizer, if they are known already.
        """
        parts = [np.zeros((0, self.lev_size), dtype=np.float32)]
        distinct: list[int] = []
        numbers: dict[tuple[str, str], int] = {}  # of the distinct texts
        rows = []
        each = [_document(given) for given in documents]
        for at, document in enumerate(each):
            rows.append(numbers.setdefault((document.text, document.topic), len(distinct)))
            if rows[-1] == len(distinct):
                distinct.append(at)
        for begin in range(0, len(distinct), _DOCUMENTS_AT_ONCE):
            some = distinct[begin : begin + _DOCUMENTS_AT_ONCE]
            its_documents = [each[at] for at in some]
            known = None if tokens is None else [tokens[at] for at in some]
            parts.append(self._encode(its_documents, known))
            on_documents(len(some))
        found = np.concatenate(parts)
        if len(distinct) == len(documents):
            return found
        on_documents(len(documents) - len(distinct))
        return np.asarray(found[rows])

    def _encode(self, documents: Sequence[Document], known: Sequence[TokensBy] | None) -> Levs:
        """(documents, lev_size): of a few."""
        tokenizers = {member.tokenizer for member in self.members}
        if known is None:
            tokens = {each: [_tokens(text, each) for text in documents] for each in tokenizers}
        else:
            tokens = {each: [of_text[each].tokens for of_text in known] for each in tokenizers}
        levs = [member.encode(documents, tokens[member.tokenizer]) for member in self.members]
        return self._checked(np.concatenate(levs, axis=1))

    def _attend(
        self, documents: Sequence[Document], tokens: Sequence[TokensBy]
    ) -> tuple[Levs, list[tuple[Encoded | None, ...]]]:
        """(documents, lev_size), and where each member looked, of each document."""
        levs, attended = [], []
        for member in self.members:
            own = [of_text[member.tokenizer].tokens for of_text in tokens]
            seen = [member.attend(text, words) for text, words in zip(documents, own, strict=True)]
            attended.append(seen)
            read = [encoded.levs[0] for encoded in seen if encoded is not None]
            levs.append(np.array(read) if read else member.encode(documents, own))
        return self._checked(np.concatenate(levs, axis=1)), list(zip(*attended, strict=True))

    def _different(self, exhibits: Sequence[Exhibit]) -> list[tuple[list[Exhibit], TokensBy]]:
        """The different texts of a side: all exhibits of each, and its tokens."""
        found: dict[tuple[tuple[str, ...], ...], tuple[list[Exhibit], TokensBy]] = {}
        for exhibit in exhibits:
            tokens = self._tokenize(exhibit.document)
            seen = tuple(tuple(tokens[member.tokenizer].tokens) for member in self.members)
            found.setdefault(seen, ([], tokens))[0].append(exhibit)
        return list(found.values())

    def _tokenize(self, document: Document) -> TokensBy:
        """The tokens of a text, by each tokenizer, with their places."""
        return {
            tokenizer: _named(document, tokenizer.tokenize, lambda found: bool(found.tokens))
            for tokenizer in {member.tokenizer for member in self.members}
        }

    def _checked(self, levs: Levs) -> Levs:
        check_numbers(levs, f"the model {self.name} gives LEVs")
        return levs

    def encode_pairs(
        self, pairs: Sequence[Pair], *, on_documents: Callable[[int], None] = lambda count: None
    ) -> tuple[Levs, Levs]:
        """Twice (pairs, lev_size): the LEVs of the first and of the second documents."""
        documents = [document for pair in pairs for document in (pair.first, pair.second)]
        levs = self.encode(documents, on_documents=on_documents)
        return levs[0::2], levs[1::2]

    def population(
        self,
        documents: Sequence[str | Document],
        *,
        companions: bool = False,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Population:
        """The relevant population: texts of the genre that is to be compared, by anybody.

        Better many (50 or more), and none of the texts that are compared; but where these are many
        themselves, they can be their own population. `companions` are for that case alone: see
        `population_of`.
        """
        levs = self.encode(documents, on_documents=on_documents)
        texts = [_document(each).text for each in documents]
        return self.population_of(levs, texts, companions=companions)

    def population_of(
        self, levs: Levs, texts: Sequence[str] = (), *, companions: bool = False
    ) -> Population:
        """The relevant population of texts with these LEVs (documents, lev_size).

        With `companions`, texts that are compared draw on those of this population that look to be
        by the same author (`scoring.companions`). That is for texts that are compared with each
        other, of which authors have written several; a population of others has no companions.
        Nor have very few texts, more than can be looked through, or a model that was not
        calibrated for them.
        """
        levs = each_once(levs)
        population = Population.of(levs, texts)
        lead = self.members[0]
        if lead.styles is not None:
            genres = lead.styles.shares(self._lead_part(levs))
            population = replace(population, genres=genres)
        if companions and self.scales.companions is not None:
            return self.scorer.with_companions(population, levs)
        return population

    def score(
        self,
        first: Sequence[Levs] | Levs,
        second: Sequence[Levs] | Levs,
        population: Population | None = None,
    ) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, or of sets of LEVs, one author a set.

        Calibrated if the model is. What else is known of them, `scorer` says.
        """
        return self.scorer(first, second, population).log_bayes_factor

    def _population_use(self, population: Population, levs: Sequence[Levs]) -> PopulationUse:
        without = float(self.score([levs[0]], [levs[1]])[0])
        return PopulationUse(population.texts, without / float(np.log(10)))

    def _lead_part(self, levs: Levs) -> FloatArray:
        """The first member's part of LEVs (documents, lev_size)."""
        return self.scorer.columns(levs)[0].astype(np.float64)

    def _population_atypicality(self, levs: Sequence[Levs], population: Population | None) -> float:
        """How much farther the texts are from the population than from genres.

        A ratio; about 1 for a population of a known genre, below it for one of an unknown genre.
        """
        lead = self.members[0]
        if population is None or lead.styles is None:
            return 0.0
        parts = self._lead_part(np.concatenate(levs))
        mean, centre = parts.mean(axis=0), self.scorer.centres(population)[0]
        assert centre is not None
        guess = lead.styles.guess(parts) @ lead.styles.centres
        own = float(np.linalg.norm(mean - guess))
        return float(np.linalg.norm(mean - centre[0])) / max(own, 1e-300)

    def _likeness(self, levs: Sequence[Levs]) -> Likeness | None:
        lead = self.members[0]
        parts = self._lead_part(np.concatenate(levs))
        if lead.styles is None or lead.typicality is None:
            return None
        shares = lead.styles.guess(parts)
        order = np.argsort(-shares, kind="stable")
        return Likeness(
            {lead.styles.genres[at]: round(float(shares[at]), 3) for at in order},
            float(lead.atypicality(parts).max()),
            self.genre_names,
        )

    def distance(self, first: Levs, second: Levs) -> FloatArray:
        """(pairs,): the paper's squared distance of LEVs, of an ensemble the members' mean."""
        return squared_distance(first, second) / len(self.members)


def load(model: str | Path = DEFAULT_MODEL, *, threads: int = 1, device: str = "cpu") -> Verifier:
    """The verifier of a shipped model, by its name, or of a model folder.

    On a `device` other than the CPU it needs torch.
    """
    files = ModelFiles(model_folder(model))
    return Verifier(
        read_models(files),
        read_scales(files),
        name=files.folder.resolve().name,
        sha256=model_hash(files),
        genre_names=read_genres(files),
        threads=threads,
        device=device,
    )


def _document(each: str | Document) -> Document:
    return each if isinstance(each, Document) else Document(text=each)


def _tokens(document: Document, tokenizer: Tokenizer) -> list[str]:
    return _named(document, tokenizer.tokens, bool)


def _named(
    document: Document, tokenize: Callable[[str], Result], has_tokens: Callable[[Result], bool]
) -> Result:
    """The tokens of a document; what is wrong with it is said by its name."""
    try:
        found = tokenize(document.text)
    except InputError as error:
        raise error.at(document.id) from None
    if not has_tokens(found):
        raise EmptyTextError("the text has no word in it", document.id)
    return found


def _side(texts: Sequence[ComparedText], lead: Member) -> Side:
    counts = [len(text.tokens(lead).tokens) for text in texts]
    documents = tuple(
        Material(exhibit.document.id, count, exhibit.sha256)
        for text, count in zip(texts, counts, strict=True)
        for exhibit in (text.exhibit, *text.copies)
    )
    return Side(documents, sum(counts))


def exhibits_of(texts: SideTexts, name: str) -> list[Exhibit]:
    several = [texts] if isinstance(texts, str | Document | Exhibit) else list(texts)
    if not several:
        raise OptionError(f"there is no {name} text; expected at least one")
    if len(several) == 1:
        return [Exhibit.of(several[0], name)]
    return [Exhibit.of(each, f"{name}-{number}") for number, each in enumerate(several, start=1)]
