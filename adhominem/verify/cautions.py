"""Cautions: reasons to doubt the result of a comparison, with what each means and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, fsum, log
from typing import TYPE_CHECKING

from adhominem.model.calibration import MisleadingRates
from adhominem.pairs.passages import TakenOut, find_duplicates, fingerprints
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.population import Population
from adhominem.score.prose import Departure
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.text.language import (
    language_of_source,
    languages_in,
    languages_within,
    main_language,
    name_of_language,
)
from adhominem.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from adhominem.verify.verifier import Verifier

_FEWEST_TOKENS = 100  # of a side's longest text; below this, nothing is decided
_SHORT_TOKENS = 500  # of a text; below this, a model without its own limit warns
_COMMON_WORDS = 100  # the most frequent words of the training texts
_FEWEST_COMMON = 0.2  # their smallest share of a text's words; about a half in English prose
_FEWEST_WORDS = 20  # in a text, for the share to be judged
_SHARED = 0.2  # share of the shorter text that is also in the other
_COPIED = 0.5  # the same, beyond which it is a copy
_MOST_NAMED = 5  # texts in one message
_OTHER_LENGTH = 2.0  # ratio of lengths beyond which a population has another length
_FEW_TEXTS = 20  # in a population
_CLEAR_DIFFERENCE = 0.05  # between two rates, for one to count as larger
_MOST_COPIES = 0.02  # copies of the compared texts, as a share of the population
_MOST_REPEATED = 0.1  # repetitions, as a share of the population
_OF_GENRE, _OF_OTHER = 0.5, 0.05  # shares of a genre: above, it is that genre; below, not
# How each rate is described.
_RESPECTS = {
    "common_words": "{value} of its words are among the most common words of the training texts",
    "odd_spelling": "{value} of its letters stand in combinations that hardly occur in training",
    "other_letters": "{value} of its letters are none of a to z",
    "figures": "{value} of its words and marks are figures",
    "symbols": "{value} of its words and marks are symbols such as = or |",
    "punctuation": "{value} of its words and marks are punctuation",
    "sentence_ends": "{value} of its words and marks end a sentence",
    "odd_words": (
        "{value} of its words are single letters or have digits, underscores or capitals inside"
    ),
    "capitals": "{value} of its words within sentences begin with a capital",
    "capital_common_words": (
        "{value} of its common words within sentences begin with a capital, as in headings, in "
        "verse, or where all is in capitals"
    ),
    "broken_lines": (
        "{value} of its words stand in short lines that break off within a sentence, as in lists, "
        "tables, code and verse"
    ),
    "line_capitals": (
        "{value} of its words stand in lines that break off within a sentence before a capital, as "
        "in verse and lists"
    ),
    "repetition": "{value} of its words repeat one of the words just before",
    "word_length": "its words have {value} letters on average",
}


@dataclass(frozen=True)
class Caution:
    """A reason to doubt the result; with `blocks_decision`, no decision is made."""

    code: str
    message: str
    blocks_decision: bool = field(default=False, metadata={"alias": "decides"})


@dataclass(frozen=True, kw_only=True)
class ExaminedText:
    """A text of a side, with what an examination of this text alone showed."""

    exhibit: Exhibit
    tokens: Sequence[str]  # of the leading member
    copies: Sequence[Exhibit] = ()  # texts of the same side with the same tokens
    departure: Departure | None = None  # from prose, for models with one
    machine_written: bool = False  # whether it looks machine-written

    @property
    def name(self) -> str:
        """The name of the text."""
        return self.exhibit.document.id


Sides = Sequence[Sequence[ExaminedText]]


def caution(
    code: str, what: str, meaning: str, advice: str, blocks_decision: bool = False
) -> Caution:
    """A caution made of three parts: what happened, what it means for the result, what to do.

    docs/messages.md lists all cautions in these parts.
    """
    sentences = (what, meaning[:1].upper() + meaning[1:], advice[:1].upper() + advice[1:])
    return Caution(code, ". ".join(sentences), blocks_decision)


def listed(names: Sequence[str], between: str = ", ") -> str:
    """The first few names and the number of the others, as text."""
    more = len(names) - _MOST_NAMED
    return between.join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


_NOT_CALIBRATED = caution(
    "uncalibrated",
    "the model is not calibrated",
    "its Bayes factors rank cases, but their size is not to be trusted",
    "calibrate it with `adhominem calibrate`, or use a shipped model",
)
UNCALIBRATED = _NOT_CALIBRATED.message
CHANGED = caution(
    "changed_since_calibration",
    "the model was changed, for instance taught further genres, after it had been calibrated",
    "its Bayes factors and their bounds are those of another model, and may be far off",
    "calibrate it again with `adhominem calibrate`",
)


def cautions_of(
    model: Verifier,
    sides: Sides,
    *,
    population: Population | None = None,
    scored: LogBayesFactors | None = None,
    genres: Sequence[Mapping[str, float]] = (),
    misleading: Sequence[MisleadingRates] = (),
    taken_out: TakenOut = (),
    undecidable: bool = False,
) -> Iterator[Caution]:
    """All cautions about a comparison of these sides by a model.

    `scored` is the result of the comparison. If the sides seem to be of two genres, `genres` are
    the shares of each side (`Scorer.genre_shares`). `misleading` are the model's rates of
    misleading evidence without a population, and `taken_out` the passages that were not compared.
    `undecidable` is what `Scorer.undecidable` says.
    """
    lead, names = model.lead, model.genre_names
    copies = [(text.name, copy) for side in sides for text in side for copy in text.copies]
    if copies:
        both = listed([f"{name} and {copy.document.id}" for name, copy in copies], "; ")
        yield caution(
            "repeated_text",
            f"the same text more than once on one side: {both}",
            "it counts once, so the number is not affected",
            "if these should be different texts, look at the files",
        )
    yield from passages_taken_out(taken_out)
    yield from _shared_texts(sides)
    if population is not None:
        if scored is not None and scored.population_misfit[0]:
            yield caution(
                "other_genre_of_population",
                "the texts do not lie among those of the population, which seems to be of another "
                "genre",
                "it was not used, and the number is the one without a population",
                "give texts of the same genre as those compared, or none",
                blocks_decision=True,
            )
        yield from _population_itself(population, names)
        yield from _population_beside_texts(population, sides)
        yield from _language_of_population(population, sides, model.known_languages)
    if scored is not None and scored.two_genres[0]:
        likest = [max(shares, key=shares.__getitem__) for shares in genres if shares]
        one, other = [names.get(genre, genre) for genre in likest] or ["", ""]
        which = f": the first is most like {one}, the second most like {other}"
        yield caution(
            "two_genres",
            f"the two sides seem to be of two genres{which if one != other else ''}",
            "differences between genres cannot be distinguished from differences between authors, "
            "so the log Bayes factor is 0",
            "compare texts of one genre",
            blocks_decision=True,
        )
    if undecidable:
        yield caution(
            "undecidable",
            "the model's detector (O2D2) finds that it cannot decide on these texts",
            "it has learnt on which texts the model is often wrong; the number leaves that out",
            "compare longer texts, or more of them",
            blocks_decision=True,
        )
    yield from _single_texts(model, sides)
    yield from _calibration_cautions(model.calibration is not None, model.changed)
    if model.calibration is not None:
        length, longest = max(map(_usual_length, sides)), model.calibration.tokens[1]
        if length > longest + 1:  # one token of tolerance: a LEV holds the logarithm
            yield caution(
                "longer_than_calibrated",
                f"texts of about {length:,.0f} words and marks: nearly all texts that the model "
                f"was calibrated with have at most {longest:,.0f}",
                "these are weighed as if they were no longer than that, and how reliable the "
                "number is for them was hardly measured",
                "try the model on texts of this length by known authors, with `adhominem validate`",
            )
    if lead.genres is not None and population is None:
        yield from _one_genre_of_language(model, sides)
        yield _no_population(misleading, names)
    if not lead.knows_topics and any(
        text.exhibit.document.topic for side in sides for text in side
    ):
        yield caution(
            "topic_unused",
            "topics were given, but the model was trained without any",
            "they make no difference to the number",
            "leave them out, or use a model that knows topics",
        )
    if scored is not None and scored.at_bound[0]:
        yield caution(
            "at_bound",
            "the score lies beyond what the calibration supports",
            "the Bayes factor is a bound: nobody has measured what a score beyond it is worth",
            "report the bound, and do not claim more",
        )


def cautions_of_many(
    model: Verifier,
    population: Population | None,
    misleading: Sequence[MisleadingRates] | None = None,
) -> Iterator[Caution]:
    """The cautions that apply to any comparison of many pairs.

    `misleading` are the model's rates of misleading evidence without a population, if they matter.
    """
    yield from _calibration_cautions(model.calibration is not None, model.changed)
    if population is not None:
        yield from _population_itself(population, model.genre_names)
    elif misleading is not None:
        yield _no_population(misleading, model.genre_names)


# Texts that are there twice, and what they share


def passages_taken_out(taken_out: TakenOut) -> Iterator[Caution]:
    """The caution about passages that were not compared, or counted only once."""
    if taken_out:
        passages = [f"{name} ({words:,} words)" for name, words in taken_out]
        yield caution(
            "shared_text",
            "passages that stand in several texts or several times in one, such as quotations and "
            f"disclaimers: {listed(passages)}",
            "they say nothing about who wrote the rest, so the number does not count what texts "
            "share, and counts once what a text repeats",
            "make sure that the rest is by the person in question",
        )


def _shared_texts(sides: Sides) -> Iterator[Caution]:
    """The cautions about texts that occur on both sides or in each other, whole or in part."""
    texts = [text for side in sides for text in side]
    prints = fingerprints([text.exhibit.document.text for text in texts])
    repeated: dict[bool, list[str]] = {}  # by whether they are on the first side
    for pair in find_duplicates(prints, _SHARED):
        both = f"{texts[pair.first].name} and {texts[pair.second].name}"
        in_first = pair.first < len(sides[0])
        if in_first == (pair.second < len(sides[0])):
            repeated.setdefault(in_first, []).append(both)
        elif prints[pair.first].exact == prints[pair.second].exact:
            yield caution(
                "identical",
                f"{both} are the same text",
                "a text compared with itself says nothing about who wrote it",
                "compare two different texts",
                blocks_decision=True,
            )
        else:
            yield caution(
                "shared_text",
                f"about {pair.share:.0%} of the shorter of {both} stands in the other",
                "what was copied says nothing of who wrote the rest, but makes the two look alike",
                "remove what they share from both, and compare the rest",
                blocks_decision=pair.share >= _COPIED,
            )
    for pairs in repeated.values():
        if len(pairs) > _MOST_NAMED:  # of many copies, not all pairs are found
            pairs[_MOST_NAMED:] = ["and more"]
        yield caution(
            "repeated",
            f"texts of one side share a good part of their words: {'; '.join(pairs)}",
            "they still count as two, which makes the number surer than it should be",
            "leave one of them out, or remove what they share",
        )


# The population: an unsuitable one makes the result wrong, not just weak


def _population_itself(population: Population, genre_names: Mapping[str, str]) -> Iterator[Caution]:
    if population.texts < _FEW_TEXTS:
        yield caution(
            "small_population",
            f"the population has {population.texts} texts",
            "the number is more cautious than it could be, and depends much on which texts these "
            "are",
            "give more of them: 50 or more are better",
        )
    if population.groups:
        names = [genre_names.get(group.genre, group.genre) for group in population.groups]
        like = [f", most like {name}" if len(set(names)) > 1 else "" for name in names]
        shares = [f"{group.share:.0%} of them" for group in population.groups]
        both = "; ".join(share + genre for share, genre in zip(shares, like, strict=True))
        yield caution(
            "mixed_population",
            f"the texts of the population fall into two groups that are as far apart as texts of "
            f"two genres ({both})",
            "texts of another genre than those compared make the number less reliable",
            "leave them out",
        )


def _population_beside_texts(population: Population, sides: Sides) -> Iterator[Caution]:
    texts = [text for side in sides for text in side]
    prints = [*population.prints, *fingerprints([text.exhibit.document.text for text in texts])]
    inside = len(population.prints)
    compared: set[int] = set()
    copies: set[int] = set()  # indices of population texts
    repeated: set[int] = set()
    for pair in find_duplicates(prints, _COPIED):
        low, high = sorted((pair.first, pair.second))
        if low < inside <= high:
            compared.add(high - inside)
            copies.add(low)
        elif high < inside:
            repeated.add(high)
    if compared:
        names = listed([texts[at].name for at in sorted(compared)])
        yield caution(
            "compared_in_population",
            f"compared texts stand in the population, too ({names})",
            "exact copies were left out of it, but copies in part make their author's style look "
            "usual",
            "leave them out",
            blocks_decision=len(copies) > _MOST_COPIES * population.texts,
        )
    if len(repeated) > _MOST_REPEATED * inside:
        yield caution(
            "repeats_in_population",
            f"{len(repeated)} of the {inside} texts of the population stand there twice, whole or "
            "in good part",
            "they count as two, and what they share looks more usual than it is",
            "remove the copies",
        )
    usual = exp(float(population.cohort[:, -1].mean()))
    means = list(map(_usual_length, sides))
    if max(means) < usual / _OTHER_LENGTH or min(means) > usual * _OTHER_LENGTH:
        is_longer = "longer" if usual > max(means) else "shorter"
        yield caution(
            "length_of_population",
            f"the texts of the population are much {is_longer} (about {usual:,.0f} words and marks "
            "each) than those compared",
            "the number allows for that, but it is more reliable with texts of about the same "
            "length",
            "give such texts, or cut the longer ones",
        )


def _usual_length(side: Sequence[ExaminedText]) -> float:
    """The geometric mean of the texts' numbers of tokens."""
    return exp(fsum(log(len(text.tokens)) for text in side) / len(side))


# Genres


def two_genres(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[str, str] | None:
    """The genres of two sides, by the shares of each (`Scorer.genre_shares`), if clearly two."""
    if not first or not second:
        return None
    one, other = (max(shares, key=shares.__getitem__) for shares in (first, second))
    is_clear = min(first[one], second[other]) > _OF_GENRE
    return (one, other) if is_clear and max(first[other], second[one]) < _OF_OTHER else None


def no_statement(ids: Sequence[str]) -> Iterator[Caution]:
    """The caution about pairs left unanswered because a text is not what the model was made for."""
    if ids:
        yield caution(
            "foreign",
            "pairs with a text that is not running prose of a kind that the model knows, or not in "
            f"the language of the others, or of texts that seem to be of two genres "
            f"({len(ids):,}): {listed(ids)}",
            "they are not answered: the log Bayes factor is 0, and the value is 0.5",
            "look at them with `adhominem verify`, which says what is unusual about a pair",
            blocks_decision=True,
        )


# Languages


def wrong_language(
    name: str, found: str, known: Sequence[str], expected: str = ""
) -> Caution | None:
    """The reason why no statement is made on a text because of the language that was found.

    It is none that the model knows, or not the one that is `expected`.
    """
    if found and found not in known:
        return caution(
            "unknown_language",
            f"{name} is in {name_of_language(found)}, and the model knows "
            f"{', '.join(sorted(map(name_of_language, known)))}",
            "the number means nothing for such a text",
            "compare texts in a language that the model knows; if this one is, say which it is by "
            "`--language`",
            blocks_decision=True,
        )
    if found and expected in known and found != expected:
        return caution(
            "two_languages",
            f"{name} is in {name_of_language(found)}, other texts are in "
            f"{name_of_language(expected)}",
            "a style cannot be compared across languages, and the number means nothing",
            "compare texts in one language; if they are, say which it is by `--language`",
            blocks_decision=True,
        )
    return None


def _mixed_languages(document: Document) -> Iterator[Caution]:
    languages = [] if document.language else languages_within(document.text)
    if len(languages) > 1:
        yield caution(
            "mixed_languages",
            f"{document.id} is in several languages, part by part: "
            f"{' and '.join(map(name_of_language, languages))}",
            "it is read as if it were all in one, and what is in the others misleads",
            "leave out what is quoted or translated",
        )


def _one_genre_of_language(model: Verifier, sides: Sides) -> Iterator[Caution]:
    """The caution about a language of which a model of several knows a single genre."""
    genres = model.lead.genres
    if not model.languages or genres is None:
        return
    documents = [text.exhibit.document for side in sides for text in side]
    language = model.main_language or main_language(documents)
    known = [name for name in genres.names if language_of_source(name) == language]
    if len(known) == 1:
        yield caution(
            "one_genre_known",
            f"no population was given, and the only {name_of_language(language)} texts that the "
            f"model knows are {model.genre_names.get(known[0], known[0])}",
            "what all texts of another genre have in common would count as evidence for one author",
            "give ten texts or more of the same genre by other people as the population",
            blocks_decision=True,
        )


def _language_of_population(
    population: Population, sides: Sides, known: Sequence[str]
) -> Iterator[Caution]:
    of_texts = main_language(text.exhibit.document for side in sides for text in side)
    if known and of_texts and population.language not in ("", of_texts):
        yield caution(
            "language_of_population",
            f"the population is in {name_of_language(population.language)}, the texts that are "
            f"compared are in {name_of_language(of_texts)}",
            "it shows what is usual in another language, and the number means nothing",
            "give texts in the language of those compared, or none",
            blocks_decision=True,
        )


# Single texts: too short, foreign, machine-written


def _single_texts(model: Verifier, sides: Sides) -> Iterator[Caution]:
    lead, known = model.lead, model.known_languages
    texts = [text.exhibit.document for side in sides for text in side]
    expected = model.main_language or main_language(texts)
    languages = iter(languages_in(texts) if known else [""] * len(texts))
    for side in sides:
        yield from _short(side, lead.shortest_training_text)
        for text in side:
            document = text.exhibit.document
            obstacle = wrong_language(text.name, next(languages), known, expected)
            if obstacle is None and known:
                yield from _mixed_languages(document)
            if obstacle is None:
                obstacle = foreign_text(text.name, text.tokens, text.departure, lead.vocabulary)
            if obstacle is not None:
                yield obstacle
    for side in sides:
        if names := [text.name for text in side if text.machine_written]:
            yield caution(
                "machine_written",
                f"may have been written by a machine: {listed(names)}. Up to 2 in 100 texts by "
                "people look like this, too",
                "the number cannot tell a machine from an author: its text on somebody's topic may "
                "count as theirs, and two texts by machines may count as one person's",
                "find out how the texts were written before you rely on it",
            )


def _short(side: Sequence[ExaminedText], shortest: float | None) -> Iterator[Caution]:
    """The caution about short texts; each counts on its own, so their sum does not help."""
    known = shortest is not None and shortest >= _FEWEST_TOKENS
    usual = _SHORT_TOKENS if shortest is None else max(_FEWEST_TOKENS, shortest)
    short = [f"{text.name} ({len(text.tokens)})" for text in side if len(text.tokens) < usual]
    if not short:
        return
    if max(len(text.tokens) for text in side) < _FEWEST_TOKENS:
        yield caution(
            "too_short",
            f"too few words and marks to say anything: {listed(short)}; expected {_FEWEST_TOKENS} "
            "or more",
            "a number for so little text means nothing",
            "give longer texts; short messages by one author can be put into one file",
            blocks_decision=True,
        )
    elif known:
        yield caution(
            "short",
            f"fewer words and marks than in nearly all training texts: {listed(short)}",
            "how reliable the number is for texts so short was hardly measured",
            "use longer texts if you have them",
        )
    else:  # the lengths of the training texts are unknown, or shorter still
        yield caution(
            "short",
            f"fewer than {usual:g} words and marks: {listed(short)}",
            "texts so short say little about their author",
            "use longer texts if you have them",
        )


def foreign_text(
    name: str, words: Sequence[str], departure: Departure | None, vocabulary: Vocabulary
) -> Caution | None:
    """The reason why no statement is made on a text that is not what the model was made for.

    It is judged by its departure from prose or, if the model has no description of prose, by its
    words.
    """
    if departure is None:
        if not is_other_language(words, vocabulary):
            return None
        return caution(
            "other_language",
            f"{name} hardly has a common word of the training texts: it seems to be in another "
            "language, or no running text",
            "the model knows nothing about such texts",
            "compare running text in a language that the model was trained on",
            blocks_decision=True,
        )
    if departure.atypicality <= 1:
        return None
    return caution(
        "foreign",
        f"{name} is not running prose of a kind that the model knows: {in_what_respect(departure)}",
        "the number means nothing for such a text",
        "if only a part of it is not prose, remove that part and compare the rest",
        blocks_decision=True,
    )


def in_what_respect(departure: Departure) -> str:
    """The rate in which a text departs most from the nearest genre of prose, in words."""
    value, usual = (
        _rate_shown(number, departure.rate) for number in (departure.value, departure.usual)
    )
    return f"{_RESPECTS[departure.rate].format(value=value)} (usual: {usual})"


def _rate_shown(number: float, rate: str) -> str:
    if rate == "word_length":
        return f"{number:.1f}"
    return f"{number:.0%}" if number >= 0.1 or number < 0.0005 else f"{number:.1%}"


def is_other_language(tokens: Sequence[str], vocabulary: Vocabulary) -> bool:
    """Whether a text contains hardly any of the most common words, if these are known."""
    common = vocabulary.words
    words = [token.lower() for token in tokens if token[:1].isalpha()]
    if len(words) < _FEWEST_WORDS or len(common) < _COMMON_WORDS:
        return False
    frequent = set(common[:_COMMON_WORDS])
    return sum(word in frequent for word in words) / len(words) < _FEWEST_COMMON


# The model


def _calibration_cautions(calibrated: bool, changed: bool) -> Iterator[Caution]:
    if not calibrated:
        yield _NOT_CALIBRATED
    elif changed:
        yield CHANGED


def _no_population(
    misleading: Sequence[MisleadingRates], genre_names: Mapping[str, str]
) -> Caution:
    """The caution about a missing population, with the direction of the error, if measured."""
    return caution(
        "no_population",
        "no population was given: the model guessed what such texts have in common",
        _how_often_misleading(misleading, genre_names)
        if misleading
        else "the number is less reliable than with a population",
        "give texts of the same genre and time by other people as the population",
    )


def _how_often_misleading(
    misleading: Sequence[MisleadingRates], genre_names: Mapping[str, str]
) -> str:
    def cases(rates: MisleadingRates) -> str:
        if rates.genre:
            name = genre_names.get(rates.genre, rates.genre)
            return f"in the genre that it takes these texts for, “{name}”"
        return "over all genres" if rates.known else "in genres that it does not know"

    def errs(rates: MisleadingRates) -> str:
        more = rates.same - rates.different
        if abs(more) < _CLEAR_DIFFERENCE:
            return "errs about as often either way"
        return f"errs more often towards {'different authors' if more > 0 else 'one author'}"

    guess, *others = misleading
    sentence = (
        f"in its validation without a population, {cases(guess)}, {guess.same:.0%} of the "
        f"same-author cases gave evidence for different authors, and {guess.different:.0%} of the "
        f"different-author cases gave evidence for one author: the number {errs(guess)}"
    )
    for rates in others:
        sentence += (
            f"; {cases(rates)} ({rates.same:.0%} and {rates.different:.0%}), it {errs(rates)}"
        )
    return sentence
