"""The words beside every heat map: the number, and what it does and does not say."""

from __future__ import annotations

from math import isfinite, log

from adhominem.score.decision import (
    DIFFERENT,
    NONE,
    SAME,
    VerbalScale,
    say_probability,
    show_probability,
)
from adhominem.verify.explanation import Explanation
from adhominem.verify.ngram_contributions import NgramContribution
from adhominem.verify.verification import ComparedDocument, Verification

NOT_A_VERDICT = (
    "A Bayes factor is not a verdict: it says how much more probable the texts are if one person "
    "wrote both sides than if a different person wrote each."
)
EVEN = "about 1 times"  # what `times` says of a Bayes factor that is next to nothing
NOT_WHY = "Attention shows where the network looked, not why it decided."
PASSAGE_CONTRIBUTION = (
    "Contributions begin at 0, where the texts favour neither. A passage speaks for one author as "
    "far as it departs from what is usual in the way the other side does, and otherwise against it."
)
NGRAM_CONTRIBUTION = (
    "An n-gram speaks for one author if both sides have more of it than is usual, or both have "
    "less, and for different authors if only one of them does."
)
RATES = (
    "How often an n-gram occurs on either side, in brackets for every 1,000 tokens, and the rate "
    "at which the model would take it to be neither frequent nor rare in texts of this length."
)
NO_ATTENTION = "No network looked at these texts: there is no attention to show."

CHANNELS = {  # of n-grams, in plain words
    "characters": "letters within a word",
    "tokens": "a word or mark",
    "bigrams": "two words in a row",
    "shaped_bigrams": "two words in a row, rare ones by their shape",
}


def title(verification: Verification) -> str:
    """The title of a comparison: what was compared with what."""
    sides = (verification.first.documents, verification.second.documents)
    return f"Comparison of {' and '.join(_named(side) for side in sides)}"


def _named(documents: tuple[ComparedDocument, ...]) -> str:
    more = len(documents) - 1
    others = f" and {more} more {'text' if more == 1 else 'texts'}" if more else ""
    name = documents[0].name if documents else "no text"
    return f"{name}{others}"


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign; without one if it rounds to zero."""
    if not isfinite(value):
        return "–" if value != value else "+∞" if value > 0 else "−∞"
    shown = f"{value:+.{digits}f}"
    return shown[1:] if float(shown) == 0 else shown.replace("-", "−")


def times(log10: float) -> str:
    """A Bayes factor in words, such as “about 20 times”, whichever way it points."""
    size = abs(log10)
    if size >= 6:
        return f"about 10 to the power of {size:.0f} times"
    factor = 10**size
    digits = len(str(int(factor)))
    rounded = f"{round(factor, 2 - digits):,.{1 if digits < 2 else 0}f}"
    return f"about {rounded.removesuffix('.0')} times"


def in_numbers(log10: float) -> str:
    """A log10 Bayes factor as a sentence."""
    if not isfinite(log10):
        return ""
    if times(log10) == EVEN:
        return "What the model sees of the texts is about equally probable under both propositions."
    more, less = (SAME, DIFFERENT) if log10 > 0 else (DIFFERENT, SAME)
    return f"What the model sees of the texts is {times(log10)} as probable if {more} as if {less}."


def contributed(nats: float) -> str:
    """A contribution in base 10, to a thousandth."""
    return signed(nats / log(10), 3)


def rate(per_thousand: float) -> str:
    """How often something occurs in 1,000 tokens."""
    return "< 0.1" if 0 < per_thousand < 0.05 else f"{per_thousand:,.1f}"


def described(ngram: NgramContribution) -> str:
    """A description of an n-gram in plain words."""
    said = CHANNELS.get(ngram.channel, ngram.channel)
    if ngram.words:
        said += f", as in {', '.join(ngram.words)}"
    more = len(ngram.with_it)
    return f"{said} (with {more} more in the same places)" if more else said


def balance(explanation: Explanation) -> list[tuple[str, str, str]]:
    """The parts that a log10 Bayes factor is the sum of: name, amount and description.

    The last row is the sum.
    """
    verification, parts = explanation.verification, explanation.balance
    rows = []
    if explanation.ngrams:
        rows.append(("Listed n-grams", parts.habits, "the strongest habits"))
        named = f"such as {', '.join(parts.named)}: " if parts.named else ""
        rows.append(("Names", parts.names, f"{named}not habits, but what the texts are about"))
        rows.append(("Other n-grams", parts.other_ngrams, "each of them weaker than those listed"))
        said = "what other parts of the model see, very rare n-grams, and what both sides avoid"
        rows.append(("Everything else", parts.rest, said))
    else:
        rows.append(("All passages", parts.log_bayes_factor, "no n-grams are known to contribute"))
    shown = [(name, contributed(amount), said) for name, amount, said in rows]
    total, reported = (
        contributed(parts.log_bayes_factor),
        contributed(verification.log_bayes_factor),
    )
    bound = f"reported as {reported}, the most that the model's calibration supports"
    return [*shown, ("Log10 Bayes factor", total, "" if total == reported else bound)]


def probability(verification: Verification) -> str:
    """The probability of one author, together with the prior that it rests on."""
    shown = show_probability(verification.probability_same_author)
    return (
        f"Probability of one author {shown}, if it was {verification.prior_same_author:g} before "
        "the texts; the prior belongs to the case and does not come from the texts."
    )


def headline(verification: Verification) -> str:
    """The evidence in a few words."""
    if not verification.states:
        return "No statement is made"
    words = VerbalScale().words(verification.log10_bayes_factor)
    if words == NONE:
        return "No support to speak of, either way"
    side = "one author" if verification.log10_bayes_factor > 0 else "different authors"
    return f"{words[:1].upper()}{words[1:]} for {side}"


def shift(verification: Verification) -> str:
    """How the texts change the probability of one author from the prior."""
    before, after = verification.prior_same_author, verification.probability_same_author
    if say_probability(before) == say_probability(after):
        return f"The texts leave the probability of one author at {before:g}."
    moved = "raise" if after > before else "lower"
    return (
        f"The texts {moved} the probability of one author from {before:g} to "
        f"{say_probability(after)}."
    )


def against_prior(verification: Verification) -> str:
    """Why the probability points another way than the evidence; empty where it does not."""
    before, after = verification.prior_same_author, verification.probability_same_author
    factor = verification.log10_bayes_factor
    if not isfinite(factor) or (factor > 0) == (after > 0.5) or after == 0.5:
        return ""
    if not verification.states or times(factor) == EVEN:
        return ""
    least = min(before, 1 - before)
    odds = f"{plain_odds((1 - least) / least)} to 1"
    if factor > 0:
        return (
            "The texts point to one author, but different authors remain more probable, because "
            f"the prior was {odds} against one author and the evidence is only {times(factor)} in "
            "its favour."
        )
    return (
        "The texts point to different authors, but one author remains more probable, because the "
        f"prior was {odds} in favour of one author and the evidence is only {times(factor)} "
        "against it."
    )


def plain_odds(odds: float) -> str:
    """Odds to two digits."""
    rounded = float(f"{odds:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def background(verification: Verification) -> str:
    """What the texts were compared against: a population, or the genre they are most like.

    Empty where neither is known.
    """
    if population := verification.population:
        without = signed(population.log10_bayes_factor_without)
        texts = f"Population of {population.texts:,} texts"
        return f"{texts}; without it the log10 Bayes factor would be {without}."
    likeness = verification.likeness
    return f"{likeness.sentence}." if likeness is not None and likeness.genres else ""


def sign(contribution: float) -> int:
    """The sign of a contribution as it is shown: 1, 0 or -1."""
    if not isfinite(contribution) or contributed(contribution) == "0.000":
        return 0
    return 1 if contribution > 0 else -1


def speaks_for(contribution: float) -> str:
    """The proposition that a contribution supports, or `neither`."""
    return ("neither", "one author", "different authors")[sign(contribution)]
