"""All cautions about a comparison of two sides, in order."""

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

_OTHER_LENGTH = 2.0  # ratio of lengths beyond which a population has another length
_COPIED = 0.5  # share of the shorter text also in the other, beyond which it is a copy
_FEW_TEXTS = 20  # in a population
_CLEAR_DIFFERENCE = 0.05  # between two rates, for one to count as larger
_MOST_COPIES = 0.02  # copies of the compared texts, as a share of the population
_MOST_REPEATED = 0.1  # repetitions, as a share of the population
_OF_GENRE, _OF_OTHER = 0.5, 0.05  # shares of a genre: above, it is that genre; below, not

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
    """All cautions about a comparison of these sides by a model.

    `scored` is the result of the comparison. If the sides seem to be of two genres, `genres` are
    the shares of each side (`Scorer.genre_shares`). `misleading` are the model's rates of
    misleading evidence without a population, and `taken_out` the passages that were not compared.
    """
    lead, names = model.lead, model.genre_names
    yield from repeated_texts(sides)
    yield from passages_taken_out(taken_out)
    yield from shared_texts(sides)
    if population is not None:
        if scored is not None and scored.population_misfit[0]:
            yield OTHER_GENRE
        yield from _small(population)
        yield from _population_cautions(sides, population)
        yield from _mixed(population, names)
        yield from _population_length(population, sides)
    if scored is not None and scored.two_genres[0]:
        yield _two_genres_caution(genres, names)
    yield from cautions_of_texts(
        sides,
        common_words=lead.vocabulary.words,
        known_types=lead.vocabulary.known,
        typicality=lead.typicality,
    )
    yield from _calibration_cautions(model.calibration is not None, model.changed)
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
    """The cautions that apply to any comparison of many pairs.

    `misleading` are the model's rates of misleading evidence without a population, if they matter.
    """
    yield from _calibration_cautions(calibrated, changed)
    if population is None:
        if misleading is not None:
            yield _no_population(misleading, genre_names)
        return
    yield from _small(population)
    yield from _mixed(population, genre_names)


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
    guess, *others = misleading
    said = (
        f"in its validation without a population, {_genre_of_rates(guess, genre_names)}, "
        f"{guess.same:.0%} of the same-author cases gave evidence for different authors, and "
        f"{guess.different:.0%} of the different-author cases gave evidence for one author: the "
        f"number errs {_which_way(guess)}"
    )
    for rates in others:
        said += (
            f"; {_genre_of_rates(rates, genre_names)} ({rates.same:.0%} and "
            f"{rates.different:.0%}), it errs {_which_way(rates)}"
        )
    return said


def _genre_of_rates(rates: MisleadingRates, genre_names: Mapping[str, str]) -> str:
    if rates.genre:
        name = genre_names.get(rates.genre, rates.genre)
        return f"in the genre that it takes these texts for, “{name}”"
    return "over all genres" if rates.known else "in genres that it does not know"


def _which_way(rates: MisleadingRates) -> str:
    more = rates.same - rates.different
    if abs(more) < _CLEAR_DIFFERENCE:
        return "about as often either way"
    return f"more often towards {'different authors' if more > 0 else 'one author'}"


def _usual_length(side: Sequence[ExaminedText]) -> float:
    """The geometric mean of the texts' numbers of tokens."""
    return exp(fsum(log(len(text.tokens)) for text in side) / len(side))


def _long(sides: Sequence[Sequence[ExaminedText]], longest: float) -> Iterator[Caution]:
    """The caution about texts longer than nearly all those of the calibration."""
    means = list(map(_usual_length, sides))
    if max(means) > longest + 1:  # one token of tolerance: a LEV holds the logarithm
        yield caution(
            "longer_than_calibrated",
            f"texts of about {max(means):,.0f} words and marks: nearly all texts that the model "
            f"was calibrated with have at most {longest:,.0f}",
            "these are weighed as if they were no longer than that, and how reliable the number is "
            "for them was hardly measured",
            "try the model on texts of this length by known authors, with `adhominem validate`",
        )


def _mixed(population: Population, genre_names: Mapping[str, str]) -> Iterator[Caution]:
    """The caution about a population of several genres, whose mean represents none of them."""
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


def _population_length(
    population: Population, sides: Sequence[Sequence[ExaminedText]]
) -> Iterator[Caution]:
    """The caution about a population of texts of another length, on which LEVs depend."""
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


def _population_cautions(
    sides: Sequence[Sequence[ExaminedText]], population: Population
) -> Iterator[Caution]:
    """The cautions about a population: an unsuitable one makes the result wrong, not just weak."""
    texts = [text for side in sides for text in side]
    prints = [*population.prints, *(fingerprint(text.exhibit.document.text) for text in texts)]
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


def _two_genres_caution(
    genre_shares: Sequence[Mapping[str, float]], genre_names: Mapping[str, str]
) -> Caution:
    """The caution about sides of two genres, which hide or imitate a difference of authors."""
    likest = [max(shares, key=shares.__getitem__) for shares in genre_shares if shares]
    one, *others = [genre_names.get(genre, genre) for genre in likest] or [""]
    which = f": the first is most like {one}, the second most like {others[0]}"
    return caution(
        "two_genres",
        f"the two sides seem to be of two genres{which if others and others != [one] else ''}",
        "differences between genres cannot be distinguished from differences between authors, so "
        "the log Bayes factor is 0",
        "compare texts of one genre",
        blocks_decision=True,
    )


def no_statement(ids: Sequence[str]) -> Iterator[Caution]:
    """The caution about pairs left unanswered because a text is not what the model was made for."""
    if ids:
        yield caution(
            "foreign",
            "pairs with a text that is not running prose of a kind that the model knows, or of "
            f"texts that seem to be of two genres ({len(ids):,}): {listed(ids)}",
            "they are not answered: the log Bayes factor is 0, and the value is 0.5",
            "look at them with `adhominem verify`, which says what is unusual about a pair",
            blocks_decision=True,
        )
