"""The sections of a report about what its number is held against."""

from __future__ import annotations

from collections.abc import Iterator

from adhominem.render.summary import signed
from adhominem.report.blocks import Block, Facts, Figure, Paragraph, Table
from adhominem.report.evidence import ValidationFacts
from adhominem.report.report import Report
from adhominem.report.tippett import tippett
from adhominem.verify.cautions import UNCALIBRATED

_KIND_IS_GUESSED = (
    "Which genre these texts are like is the model's guess; whether such pairs are like the "
    "case is for the examiner to judge."
)
_UNSEEN = 0.05  # the chance that something of the share named was not seen once


def validation_blocks(report: Report) -> Iterator[Block]:
    """Where the result falls on the Tippett plot."""
    found = report.validation
    if found is None:
        yield Paragraph(
            "No validation under conditions like those of this case is at hand. How often pairs of "
            "texts by one author, or by two, give a Bayes factor like this one is not known.",
            "strong",
        )
        yield Paragraph(
            "The model's folder has no pairs of known authors that it was tried on, or none like "
            "these texts. They come with a model's calibration (adhominem calibrate)."
        )
        return
    yield Paragraph(
        "The model was tried on pairs of texts whose authors are known. Each pair was weighed by a "
        "calibration that had seen neither the pair nor its authors. Under conditions like those "
        f"of this case there are {found.same_author:,} same-author and "
        f"{found.different_authors:,} different-author pairs: {found.condition}. {_KIND_IS_GUESSED}"
    )
    yield _table(found)
    yield Paragraph(how_often(report))
    yield Paragraph(
        "These shares are about pairs whose authors are known. They are not the probability that "
        "one person, or two, wrote the texts of this case."
    )
    if report.calibration is not None and report.calibration.at_bound:
        yield Paragraph(
            "The result is at a bound, and so are the pairs counted as at least as far: how much "
            "farther their scores, or that of this case, lie is not told."
        )
    if report.like is not None:
        ends = None
        if report.interval is not None:
            ends = report.interval.low, report.interval.high
        yield Figure(
            tippett(report.like, report.log10_bayes_factor, ends),
            "Tippett plot. Each curve gives the share of pairs whose Bayes factor is at least that "
            "on the axis. Same-author pairs left of 0, and different-author pairs right of 0, are "
            "evidence that misleads. The dots are where this case falls.",
        )
    yield Paragraph(
        f"The cost Cllr of these pairs is {found.cllr:.2f}: 0 is perfect, and 1 is the cost of "
        "evidence that says nothing. A pair may be there more than once, whole and shortened.",
        "note",
    )


def _table(found: ValidationFacts) -> Table:
    rows = (
        ("one author", found.same_author, found.same_at_least, found.same_at_most),
        (
            "different authors",
            found.different_authors,
            found.different_at_least,
            found.different_at_most,
        ),
    )
    return Table(
        "Pairs of known authors, and how many have a Bayes factor at least, and at most, as great "
        "as this case",
        ("written by", "pairs", "at least as great", "at most as great"),
        tuple(
            (name, f"{pairs:,}", _part(at_least, pairs), _part(at_most, pairs))
            for name, pairs, at_least, at_most in rows
        ),
        1,
        (0.31, 0.15, 0.27, 0.27),
    )


def _part(count: int, of: int) -> str:
    return f"{count:,} ({count / of:.1%})"


def how_often(report: Report) -> str:
    """How often evidence as strong as this points the wrong way, in one sentence or two."""
    found = report.validation
    if found is None:
        return "How often pairs of known authors give such a Bayes factor is not known (section 5)."
    count, of, written, way = (
        (found.different_at_least, found.different_authors, "two known authors", "at least")
        if report.log10_bayes_factor > 0
        else (found.same_at_most, found.same_author, "one known author", "at most")
    )
    if count:
        return (
            f"Of the pairs by {written} under like conditions, {count:,} of {of:,} "
            f"({count / of:.1%}) have a Bayes factor {way} as great as this: so often was evidence "
            "at least this strong misleading."
        )
    unseen = 1 - _UNSEEN ** (1 / of)
    return (
        f"Of the pairs by {written} under like conditions, none of {of:,} has a Bayes factor {way} "
        "as great as this. That does not mean that it cannot happen: among so many pairs, what "
        f"happens in up to {unseen:.1%} of cases may well not be seen."
    )


def calibration_blocks(report: Report) -> Iterator[Block]:
    """What the Bayes factors are worth, and how far they may go."""
    found = report.calibration
    if found is None:
        yield Paragraph(f"{UNCALIBRATED[:1].upper()}{UNCALIBRATED[1:]}.", "strong")
        yield Paragraph("There are no bounds either: the number may be far too great.")
        return
    mode = "with" if report.population is not None else "without"
    yield Paragraph(
        "What the model finds is turned into an honest Bayes factor by a map that was fitted to "
        f"pairs of known authors, here to their scores {mode} a relevant population."
    )
    pairs = f"{found.pairs:,} pairs"
    if found.same_author is not None:
        pairs += f", {found.same_author:,} of them by one author"
    if found.authors is not None:
        pairs += f"; {found.authors:,} authors, none of them among those of the training texts"
    rows = [("Map", found.method), ("Fitted to", pairs)]
    if found.sets:
        rows.append(("Pair sets", ", ".join(found.sets)))
    if found.cllr_before is not None and found.cllr_after is not None:
        rows.append(
            (
                "Cllr",
                f"{found.cllr_before:.2f} before calibration, {found.cllr_after:.2f} after, on "
                "authors that the map has not seen (0 is perfect, 1 says nothing)",
            )
        )
    rows.append(
        (
            "Bounds",
            f"no log10 Bayes factor below {signed(found.lower_bound)} or above "
            f"{signed(found.upper_bound)} is reported: so few pairs support nothing stronger",
        )
    )
    yield Facts(tuple(rows))
    if found.at_bound:
        yield Paragraph(
            "Here a bound decided the number: the score lies beyond what the calibration supports, "
            "and the Bayes factor given is that of the bound.",
            "strong",
        )
