"""What to beware of when two sides are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log

from adhominem.arrays import BoolArray, FloatArray
from adhominem.model.calibration import MisleadingRates
from adhominem.pairs.passages import TakenOut, find_duplicates, fingerprint
from adhominem.score.population import Population
from adhominem.score.prose import Departure
from adhominem.score.typicality import Typicality
from adhominem.text.exhibits import Exhibit
from adhominem.verify.foreign import in_what_respect

_FEWEST_TOKENS = 100  # of a side's longest text: below, nothing is decided
_SHORT_TOKENS = 500  # of a text: below, a model that does not know better says so
_COMMON_WORDS = 100  # the most frequent words of the training texts
_FEWEST_COMMON = 0.2  # their share of a text's words; in English prose it is about a half
_FEWEST_WORDS = 20  # that the share is taken of
_OTHER_LENGTH = 2.0  # times as long, or as short: a population of another length
_SHARED = 0.2  # of the shorter text that stands in the other, too
_COPIED = 0.5  # the same, from which on it is a copy
_FEW_TEXTS = 20  # of a population
_OFTENER = 0.05  # difference of two rates, from which on one of them is the greater
_MOST_COPIES = 0.02  # of the compared texts, as a share of the population
_MOST_REPEATED = 0.1  # share of the population
_MOST_NAMED = 5  # texts in one message
_OF_GENRE, _OF_OTHER = 0.5, 0.05  # shares of a genre: more shows that it is this one, less that not


@dataclass(frozen=True)
class Caution:
    """A reason to doubt the number; `decides` where it stands in the way of a decision."""

    code: str
    message: str
    decides: bool = False


def caution(code: str, what: str, meaning: str, advice: str, decides: bool = False) -> Caution:
    """A caution in three parts: what happened, what that means for the number, what to do.

    docs/messages.md lists all of them in these parts.
    """
    return Caution(code, f"{what}. {_capital(meaning)}. {_capital(advice)}", decides)


def listed(names: Sequence[str], between: str = ", ") -> str:
    """The first few names, and how many more there are."""
    more = len(names) - _MOST_NAMED
    return between.join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


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
    sides: Sequence[Sequence[Exhibit]],
    tokens: Sequence[Sequence[Sequence[str]]],
    *,
    common_words: Sequence[str],
    known_types: frozenset[str],
    atypicality: Sequence[FloatArray],
    typicality: Typicality | None,
    calibrated: bool,
    at_bound: bool,
    changed: bool = False,
    knows_topics: bool = True,
    guessed_genre: bool = False,
    misleading: Sequence[MisleadingRates] = (),
    longest: float | None = None,
    population: Population | None = None,
    strange_population: bool = False,
    genre_shares: Sequence[Mapping[str, float]] = (),
    of_two_genres: bool = False,
    genre_names: Mapping[str, str] | None = None,
    copies: Sequence[tuple[Exhibit, Sequence[Exhibit]]] = (),
    departures: Sequence[Sequence[Departure]] | None = None,
    machine_written: Sequence[BoolArray] = (),
    taken_out: TakenOut = (),
) -> Iterator[Caution]:
    """All that speaks against trusting a comparison of these sides.

    `changed` says whether the model has, since it was `calibrated`. A `strange_population` is of
    another genre than the texts. `misleading` says how often the model misleads without a
    population, in the genre that it guessed and in others, and `longest` up to how many tokens a
    text it was calibrated for. `genre_shares` are those of each side (`Scorer.genre_shares`), and
    `of_two_genres` says whether these are two (`LogBayesFactors.two_genres`).
    `copies` are those of texts on the same side, which are not in `sides`. With the `departures` of
    the texts from prose, these alone say what is foreign. `machine_written` says of each text
    whether it looks so, and `taken_out` what of the texts was not compared.
    """
    yield from _copied(copies)
    yield from passages_taken_out(taken_out)
    yield from _shared(sides)
    if population is not None:
        yield from _of_population(sides, population, strange_population)
        yield from _mixed(population, genre_names or {})
        yield from _of_other_length(population, tokens)
    if of_two_genres:
        yield _of_two_genres(genre_shares, genre_names or {})
    for at, (exhibits, texts, distances) in enumerate(zip(sides, tokens, atypicality, strict=True)):
        yield from _short(exhibits, texts, typicality)
        of_prose = [None] * len(exhibits) if departures is None else departures[at]
        for exhibit, words, distance, departure in zip(
            exhibits, texts, distances, of_prose, strict=True
        ):
            foreign = foreign_text(exhibit.document.id, words, departure, common_words)
            if foreign is not None:
                yield foreign
            elif departure is None and (
                unlike := _unlike(words, known_types, distance, typicality)
            ):
                yield caution(
                    "unlike_training",
                    f"{exhibit.document.id} is unlike the training texts ({unlike})",
                    "the number may not hold for it",
                    "try the model on such texts by known authors, with `adhominem validate`",
                )
    for exhibits, look in zip(sides, machine_written, strict=False):
        yield from _by_machines(exhibits, look)
    yield from _of_calibration(calibrated, changed)
    yield from _long(tokens, longest)
    if guessed_genre:
        yield _no_population(misleading, genre_names or {})
    if not knows_topics and any(exhibit.document.topic for side in sides for exhibit in side):
        yield caution(
            "topic_unused",
            "topics were given, but the model was trained without any",
            "they make no difference to the number",
            "leave them out, or use a model that knows topics",
        )
    if at_bound:
        yield caution(
            "at_bound",
            "the score lies beyond what the calibration supports",
            "the Bayes factor is a bound: nobody has measured what a score beyond it is worth",
            "report the bound, and do not claim more",
        )


def cautions_of_many(
    calibrated: bool,
    population: Population | None,
    genre_names: Mapping[str, str],
    misleading: Sequence[MisleadingRates] | None = None,
    changed: bool = False,
) -> Iterator[Caution]:
    """What to beware of when many pairs are compared, whatever is in them.

    `misleading` is how often the model misleads without a population, if that is to be said.
    """
    yield from _of_calibration(calibrated, changed)
    if population is None:
        if misleading is not None:
            yield _no_population(misleading, genre_names)
        return
    yield from _small(population)
    yield from _mixed(population, genre_names)


def _of_calibration(calibrated: bool, changed: bool) -> Iterator[Caution]:
    if not calibrated:
        yield _NOT_CALIBRATED
    elif changed:
        yield CHANGED


def _no_population(
    misleading: Sequence[MisleadingRates], genre_names: Mapping[str, str]
) -> Caution:
    """What the number then means, and which way it errs, as far as that was measured."""
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
    guess, *others = misleading
    told = (
        f"in its validation without a population, {_of_which_genre(guess, genre_names)}, "
        f"{guess.same:.0%} of the same-author cases gave evidence for different authors, and "
        f"{guess.different:.0%} of the different-author cases gave evidence for one author: the "
        f"number errs {_which_way(guess)}"
    )
    for rates in others:
        told += (
            f"; {_of_which_genre(rates, genre_names)} ({rates.same:.0%} and "
            f"{rates.different:.0%}), it errs {_which_way(rates)}"
        )
    return told


def _of_which_genre(rates: MisleadingRates, genre_names: Mapping[str, str]) -> str:
    if rates.genre:
        name = genre_names.get(rates.genre, rates.genre)
        return f"in the genre that it takes these texts for, “{name}”"
    return "over all genres" if rates.known else "in genres that it does not know"


def _which_way(rates: MisleadingRates) -> str:
    more = rates.same - rates.different
    if abs(more) < _OFTENER:
        return "about as often either way"
    return f"more often towards {'different authors' if more > 0 else 'one author'}"


def _long(tokens: Sequence[Sequence[Sequence[str]]], longest: float | None) -> Iterator[Caution]:
    """Texts beyond all that the calibration has seen."""
    means = [exp(fsum(log(len(text)) for text in side) / len(side)) for side in tokens]
    if longest is not None and max(means) > longest + 1:  # a token: a LEV has their logarithm
        yield caution(
            "longer_than_calibrated",
            f"texts of about {max(means):,.0f} words and marks: nearly all texts that the model "
            f"was calibrated with have at most {longest:,.0f}",
            "these are weighed as if they were no longer than that, and how reliable the number is "
            "for them was hardly measured",
            "try the model on texts of this length by known authors, with `adhominem validate`",
        )


def _mixed(population: Population, genre_names: Mapping[str, str]) -> Iterator[Caution]:
    """The mean of texts of several genres is that of none."""
    if not population.groups:
        return
    names = [genre_names.get(group.genre, group.genre) for group in population.groups]
    like = [f", most like {name}" if len(set(names)) > 1 else "" for name in names]
    first, second = (
        f"{group.share:.0%} of them{genre}"
        for group, genre in zip(population.groups, like, strict=True)
    )
    yield caution(
        "mixed_population",
        f"the texts of the population fall into two groups that are as far apart as texts of two "
        f"genres ({first}; {second})",
        "texts of another genre than those compared make the number less reliable",
        "leave them out",
    )


def _of_other_length(
    population: Population, tokens: Sequence[Sequence[Sequence[str]]]
) -> Iterator[Caution]:
    """LEVs depend on length: texts of one length stand together among those of another."""
    usual = exp(float(population.cohort[:, -1].mean()))
    sides = [exp(fsum(log(len(text)) for text in side) / len(side)) for side in tokens]
    if max(sides) < usual / _OTHER_LENGTH or min(sides) > usual * _OTHER_LENGTH:
        is_longer = "longer" if usual > max(sides) else "shorter"
        yield caution(
            "length_of_population",
            f"the texts of the population are much {is_longer} (about {usual:,.0f} words and marks "
            "each) than those compared",
            "the number allows for that, but it is more reliable with texts of about the same "
            "length",
            "give such texts, or cut the longer ones",
        )


def _small(population: Population) -> Iterator[Caution]:
    if population.texts < _FEW_TEXTS:
        yield caution(
            "small_population",
            f"the population has {population.texts} texts",
            "the number is more cautious than it could be, and depends much on which texts these "
            "are",
            "give more of them: 50 or more are better",
        )


def _of_population(
    sides: Sequence[Sequence[Exhibit]], population: Population, strange: bool
) -> Iterator[Caution]:
    """What is wrong with a population: a wrong one makes a number wrong, not weak."""
    if strange:
        yield caution(
            "other_genre_of_population",
            "the texts do not lie among those of the population, which seems to be of another "
            "genre",
            "it was not used, and the number is the one without a population",
            "give texts of the same genre as those compared, or none",
            decides=True,
        )
    yield from _small(population)
    exhibits = [exhibit for side in sides for exhibit in side]
    prints = [*population.prints, *(fingerprint(exhibit.document.text) for exhibit in exhibits)]
    inside = len(population.prints)
    compared: set[int] = set()
    copies: set[int] = set()  # texts of the population
    repeated: set[int] = set()
    for pair in find_duplicates(prints, _COPIED):
        low, high = sorted((pair.first, pair.second))
        if low < inside <= high:
            compared.add(high - inside)
            copies.add(low)
        elif high < inside:
            repeated.add(high)
    if compared:
        names = ", ".join(exhibits[at].document.id for at in sorted(compared)[:_MOST_NAMED])
        yield caution(
            "compared_in_population",
            f"compared texts stand in the population, too ({names})",
            "exact copies were left out of it, but copies in part make their author's style look "
            "usual",
            "leave them out",
            decides=len(copies) > _MOST_COPIES * population.texts,
        )
    if len(repeated) > _MOST_REPEATED * inside:
        yield caution(
            "repeats_in_population",
            f"{len(repeated)} of the {inside} texts of the population stand there twice, whole or "
            "in good part",
            "they count as two, and what they share looks more usual than it is",
            "remove the copies",
        )


def _short(
    side: Sequence[Exhibit], tokens: Sequence[Sequence[str]], typicality: Typicality | None
) -> Iterator[Caution]:
    """Each text counts as a whole one, however short: so it is not the sum that matters."""
    known = typicality is not None and typicality.shortest >= _FEWEST_TOKENS
    usual = _SHORT_TOKENS if typicality is None else max(_FEWEST_TOKENS, float(typicality.shortest))
    short = [
        f"{exhibit.document.id} ({len(words)})"
        for exhibit, words in zip(side, tokens, strict=True)
        if len(words) < usual
    ]
    if not short:
        return
    named = ", ".join(short[:_MOST_NAMED]) + (", and more" if len(short) > _MOST_NAMED else "")
    if max(map(len, tokens)) < _FEWEST_TOKENS:
        yield caution(
            "too_short",
            f"too few words and marks to say anything: {named}; expected {_FEWEST_TOKENS} or more",
            "a number for so little text means nothing",
            "give longer texts; short messages by one author can be put into one file",
            decides=True,
        )
    elif known:
        yield caution(
            "short",
            f"fewer words and marks than in nearly all training texts: {named}",
            "how reliable the number is for texts so short was hardly measured",
            "use longer texts if you have them",
        )
    else:  # how long these were is not known, or they were shorter still
        yield caution(
            "short",
            f"fewer than {usual:g} words and marks: {named}",
            "texts so short say little about their author",
            "use longer texts if you have them",
        )


def foreign_text(
    name: str, words: Sequence[str], departure: Departure | None, common_words: Sequence[str]
) -> Caution | None:
    """Why no statement is made on a text that is not what the model was made for.

    By its departure from prose, or by its words where the model does not know what prose is like.
    """
    if departure is None:
        if not is_other_language(words, common_words):
            return None
        return caution(
            "other_language",
            f"{name} hardly has a common word of the training texts: it seems to be in another "
            "language, or no running text",
            "the model knows nothing about such texts",
            "compare running text in a language that the model was trained on",
            decides=True,
        )
    if departure.atypicality <= 1:
        return None
    return caution(
        "foreign",
        f"{name} is not running prose of a kind that the model knows: {in_what_respect(departure)}",
        "the number means nothing for such a text",
        "if only a part of it is not prose, remove that part and compare the rest",
        decides=True,
    )


def two_genres(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[str, str] | None:
    """The genres of two sides, by the shares of each (`Scorer.genre_shares`), if clearly two."""
    if not first or not second:
        return None
    one, other = (max(shares, key=shares.__getitem__) for shares in (first, second))
    is_clear = min(first[one], second[other]) > _OF_GENRE
    return (one, other) if is_clear and max(first[other], second[one]) < _OF_OTHER else None


def _of_two_genres(
    genre_shares: Sequence[Mapping[str, float]], genre_names: Mapping[str, str]
) -> Caution:
    """What sets two genres apart cannot be told from what sets two authors apart."""
    likest = [max(shares, key=shares.__getitem__) for shares in genre_shares if shares]
    one, *others = [genre_names.get(genre, genre) for genre in likest] or [""]
    told = f": the first is most like {one}, the second most like {others[0]}"
    return caution(
        "two_genres",
        f"the two sides seem to be of two genres{told if others and others != [one] else ''}",
        "what sets the genres apart cannot be told from what sets authors apart, so the log Bayes "
        "factor is 0",
        "compare texts of one genre",
        decides=True,
    )


def _by_machines(exhibits: Sequence[Exhibit], look: BoolArray) -> Iterator[Caution]:
    """A machine writes as many people do: what is compared is then nobody's style."""
    named = [exhibit.document.id for exhibit, is_so in zip(exhibits, look, strict=True) if is_so]
    if named:
        names = ", ".join(named[:_MOST_NAMED]) + (", and more" if len(named) > _MOST_NAMED else "")
        yield caution(
            "machine_written",
            f"may have been written by a machine: {names}. Up to 2 in 100 texts by people look "
            "like this, too",
            "the number cannot tell a machine from an author: its text on somebody's topic may "
            "count as theirs, and two texts by machines may count as one person's",
            "find out how the texts were written before you rely on it",
        )


def _unlike(
    tokens: Sequence[str],
    known: frozenset[str],
    atypicality: float,
    typicality: Typicality | None,
) -> str:
    """In what respect a text is unlike the training texts; empty if in none."""
    if atypicality > 1:
        return f"{atypicality:.1f} times as far from their mean as nearly all of them"
    if typicality is not None:
        unknown = sum(token not in known for token in tokens) / len(tokens)
        if unknown > typicality.unknown_limit:
            return f"{unknown:.0%} of it are rare words, more than in nearly all of them"
    return ""


def is_other_language(tokens: Sequence[str], common: Sequence[str]) -> bool:
    """Whether a text hardly has any of the most common words, if these are known."""
    words = [token.lower() for token in tokens if token[:1].isalpha()]
    if len(words) < _FEWEST_WORDS or len(common) < _COMMON_WORDS:
        return False
    frequent = set(common[:_COMMON_WORDS])
    return sum(word in frequent for word in words) / len(words) < _FEWEST_COMMON


def _copied(copies: Sequence[tuple[Exhibit, Sequence[Exhibit]]]) -> Iterator[Caution]:
    """Texts that stand on one side several times, word for word."""
    both = [f"{text.document.id} and {copy.document.id}" for text, same in copies for copy in same]
    if both:
        named = "; ".join(both[:_MOST_NAMED]) + ("; and more" if len(both) > _MOST_NAMED else "")
        yield caution(
            "repeated_text",
            f"the same text more than once on one side: {named}",
            "it counts once, so the number is not affected",
            "if these should be different texts, look at the files",
        )


def no_statement(ids: Sequence[str]) -> Iterator[Caution]:
    """Pairs that were not answered, since a text is not what the model was made for."""
    if ids:
        yield caution(
            "foreign",
            "pairs with a text that is not running prose of a kind that the model knows, or of "
            f"texts that seem to be of two genres ({len(ids):,}): {listed(ids)}",
            "they are not answered: the log Bayes factor is 0, and the value is 0.5",
            "look at them with `adhominem verify`, which says what is unusual about a pair",
            decides=True,
        )


def passages_taken_out(taken_out: TakenOut) -> Iterator[Caution]:
    """Passages that were not compared, or count once."""
    if taken_out:
        named = [f"{name} ({words:,} words)" for name, words in taken_out]
        yield caution(
            "shared_text",
            "passages that stand in several texts or several times in one, such as quotations and "
            f"disclaimers: {listed(named)}",
            "they say nothing about who wrote the rest, so the number does not count what texts "
            "share, and counts once what a text repeats",
            "make sure that the rest is by the person in question",
        )


def _shared(sides: Sequence[Sequence[Exhibit]]) -> Iterator[Caution]:
    """Texts that stand there twice, whole or in part."""
    exhibits = [exhibit for side in sides for exhibit in side]
    names = [exhibit.document.id for exhibit in exhibits]
    prints = [fingerprint(exhibit.document.text) for exhibit in exhibits]
    repeated: dict[bool, list[str]] = {}
    for pair in find_duplicates(prints, _SHARED):
        both = f"{names[pair.first]} and {names[pair.second]}"
        in_first = pair.first < len(sides[0])
        if in_first == (pair.second < len(sides[0])):
            repeated.setdefault(in_first, []).append(both)
        elif prints[pair.first].exact == prints[pair.second].exact:
            yield caution(
                "identical",
                f"{both} are the same text",
                "a text compared with itself says nothing about who wrote it",
                "compare two different texts",
                decides=True,
            )
        else:
            yield caution(
                "shared_text",
                f"about {pair.share:.0%} of the shorter of {both} stands in the other",
                "what was copied says nothing of who wrote the rest, but makes the two look alike",
                "remove what they share from both, and compare the rest",
                decides=pair.share >= 0.5,
            )
    for pairs in repeated.values():
        named = "; ".join(pairs[:_MOST_NAMED]) + ("; and more" if len(pairs) > _MOST_NAMED else "")
        yield caution(
            "repeated",
            f"texts of one side share a good part of their words: {named}",
            "they count as two all the same, which makes the number surer than it should be",
            "leave one of them out, or remove what they share",
        )
