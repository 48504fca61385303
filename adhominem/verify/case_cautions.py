"""What to beware of when two sides are compared: all cautions about a comparison, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, fsum, log
from typing import TYPE_CHECKING

from adhominem.model.calibration import MisleadingRates
from adhominem.pairs.passages import TakenOut, find_duplicates, fingerprint
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.population import Population
from adhominem.verify.cautions import (
    Caution,
    ExaminedText,
    caution,
    cautions_of_texts,
    listed,
    named,
    passages_taken_out,
    repeated_texts,
    shared_texts,
)

if TYPE_CHECKING:
    from adhominem.verify.verifier import Verifier

_OTHER_LENGTH = 2.0  # times as long, or as short: a population of another length
_COPIED = 0.5  # of the shorter text stands in the other, too: it is a copy
_FEW_TEXTS = 20  # of a population
_OFTENER = 0.05  # difference of two rates, from which on one of them is the greater
_MOST_COPIES = 0.02  # of the compared texts, as a share of the population
_MOST_REPEATED = 0.1  # share of the population
_OF_GENRE, _OF_OTHER = 0.5, 0.05  # shares of a genre: more shows that it is this one, less that not

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
OTHER_GENRE = caution(
    "other_genre_of_population",
    "the texts do not lie among those of the population, which seems to be of another genre",
    "it was not used, and the number is the one without a population",
    "give texts of the same genre as those compared, or none",
    blocks_decision=True,
)


def cautions_of(
    model: Verifier,
    sides: Sequence[Sequence[ExaminedText]],
    *,
    population: Population | None = None,
    scored: LogBayesFactors | None = None,
    genres: Sequence[Mapping[str, float]] = (),
    misleading: Sequence[MisleadingRates] = (),
    taken_out: TakenOut = (),
) -> Iterator[Caution]:
    """All that speaks against trusting a comparison of these sides by a model.

    `scored` is what the comparison came to. If the sides seem to be of two genres, `genres` are the
    shares of each side (`Scorer.genre_shares`). `misleading` is how often the model misleads
    without a population, and `taken_out` what of the texts was not compared.
    """
    lead, names = model.lead, model.genre_names
    yield from repeated_texts(sides)
    yield from passages_taken_out(taken_out)
    yield from shared_texts(sides)
    if population is not None:
        if scored is not None and scored.population_misfit[0]:
            yield OTHER_GENRE
        yield from _small(population)
        yield from _of_population(sides, population)
        yield from _mixed(population, names)
        yield from _of_other_length(population, sides)
    if scored is not None and scored.two_genres[0]:
        yield _of_two_genres(genres, names)
    yield from cautions_of_texts(
        sides,
        common_words=lead.vocabulary.words,
        known_types=lead.vocabulary.known,
        typicality=lead.typicality,
    )
    yield from _of_calibration(model.calibration is not None, model.changed)
    if model.calibration is not None:
        yield from _long(sides, model.calibration.tokens[1])
    if lead.genres is not None and population is None:
        yield _no_population(misleading, names)
    topics = (text.exhibit.document.topic for side in sides for text in side)
    if not lead.knows_topics and any(topics):
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
    said = (
        f"in its validation without a population, {_of_which_genre(guess, genre_names)}, "
        f"{guess.same:.0%} of the same-author cases gave evidence for different authors, and "
        f"{guess.different:.0%} of the different-author cases gave evidence for one author: the "
        f"number errs {_which_way(guess)}"
    )
    for rates in others:
        said += (
            f"; {_of_which_genre(rates, genre_names)} ({rates.same:.0%} and "
            f"{rates.different:.0%}), it errs {_which_way(rates)}"
        )
    return said


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


def _usual_length(side: Sequence[ExaminedText]) -> float:
    """The geometric mean of the tokens of its texts."""
    return exp(fsum(log(len(text.tokens)) for text in side) / len(side))


def _long(sides: Sequence[Sequence[ExaminedText]], longest: float) -> Iterator[Caution]:
    """The caution about texts longer than nearly all those of the calibration."""
    means = list(map(_usual_length, sides))
    if max(means) > longest + 1:  # a token: a LEV has their logarithm
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
    population: Population, sides: Sequence[Sequence[ExaminedText]]
) -> Iterator[Caution]:
    """LEVs depend on length: texts of one length stand together among those of another."""
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
    sides: Sequence[Sequence[ExaminedText]], population: Population
) -> Iterator[Caution]:
    """What is wrong with a population: a wrong one makes a number wrong, not weak."""
    texts = [text for side in sides for text in side]
    prints = [*population.prints, *(fingerprint(text.exhibit.document.text) for text in texts)]
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
        names = named([texts[at].name for at in sorted(compared)])
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
    """What sets two genres apart cannot be distinguished from what sets two authors apart."""
    likest = [max(shares, key=shares.__getitem__) for shares in genre_shares if shares]
    one, *others = [genre_names.get(genre, genre) for genre in likest] or [""]
    which = f": the first is most like {one}, the second most like {others[0]}"
    return caution(
        "two_genres",
        f"the two sides seem to be of two genres{which if others and others != [one] else ''}",
        "what sets the genres apart cannot be told from what sets authors apart, so the log Bayes "
        "factor is 0",
        "compare texts of one genre",
        blocks_decision=True,
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
            blocks_decision=True,
        )
