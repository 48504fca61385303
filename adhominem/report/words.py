"""The words of a report: one definition for the page and for the PDF.

They compare two propositions. They never say who wrote a text, and never give a probability of one
author without the prior that it rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from adhominem.explain.resampling import WIDENED
from adhominem.render.summary import EVEN, in_numbers, signed, times
from adhominem.report.blocks import (
    Block,
    Bullets,
    Facts,
    Paragraph,
    Section,
    Table,
    Texts,
)
from adhominem.report.case import (
    listed,
    material_blocks,
    population_blocks,
    propositions_blocks,
)
from adhominem.report.evidence_blocks import calibration_blocks, how_often, validation_blocks
from adhominem.report.report import Report
from adhominem.scoring.decision import VerbalScale, show_probability

TITLE = "Report on a comparison of texts"
NO_VERDICT = (
    "This is not a verdict. A Bayes factor does not say who wrote the texts, nor how probable it "
    "is that one person did: for that, everything else that is known of the case has to be "
    "weighed, too, which is for the court."
)
_LIMITS = (
    "The result compares the two propositions above and no others. It says nothing of texts that "
    "several people wrote, that somebody else edited, dictated or translated, that copy from one "
    "another, or that a machine helped to write.",
    "It says nothing either of writers who disguise their style, or imitate someone else's.",
    "One person writes differently on different occasions, to different readers and at different "
    "ages; people of one background write alike. How near the conditions of the validation come to "
    "those of the case is for the examiner to argue.",
    "The interval covers which passages happened to be at hand, and nothing else: neither the "
    "choice of the model, nor that of the population, nor that of the texts.",
    "The heat maps in the annex illustrate what the number rests on. They are no evidence of their "
    "own, and what passages contribute does not add up to the result.",
)


def headline(report: Report) -> str:
    """The title of the whole."""
    return f"{TITLE}: {report.case}" if report.case else TITLE


def sections(report: Report) -> list[Section]:
    """All of a report in order; the texts with their heat maps are its annex, if they are there."""
    numbered = (
        ("propositions", "Propositions", propositions_blocks(report)),
        ("population", "Relevant population", population_blocks(report)),
        ("material", "Material", material_blocks(report)),
        ("result", "Result", _result(report)),
        ("validation", "The result among pairs of known authors", validation_blocks(report)),
        ("calibration", "Calibration and bounds", calibration_blocks(report)),
        ("limits", "Warnings and limits", _limits(report)),
        ("method", "Method", _method(report)),
        ("reproduction", "Software, settings and how to repeat it", _reproduction(report)),
    )
    found = [Section("summary", "Summary", tuple(_summary(report)))]
    for number, (name, title, blocks) in enumerate(numbered, start=1):
        found.append(Section(name, f"{number}. {title}", tuple(blocks)))
    if report.explanation is not None:
        annex = (Paragraph(_LIMITS[-1]), Texts(report.explanation))
        found.append(Section("texts", "Annex: what speaks for and against in the texts", annex))
    return found


def head(report: Report) -> Facts:
    """What stands under the title."""
    rows = (
        ("Case", report.case),
        ("Examiner", report.examiner),
        ("Date of the report", report.date),
        ("Compared", f"{listed(report.first)} with {listed(report.second)}"),
        ("Written by", f"AdHominem {report.version}, model {report.model}"),
    )
    return Facts(tuple(row for row in rows if row[1]))


def _summary(report: Report) -> Iterator[Block]:
    yield Paragraph(f"log10 Bayes factor {signed(report.log10_bayes_factor)}", "number")
    yield Paragraph(report.verbal, "verbal")
    if report.states:
        yield Paragraph(in_numbers(report.log10_bayes_factor))
        if report.interval is not None:
            yield Paragraph(
                f"Interval over the passages of the texts: {_interval(report)}.{_both_ways(report)}"
            )
        yield Paragraph(how_often(report))
    else:
        yield Paragraph("The number above was computed, but nothing is stated on the ground of it.")
    yield Paragraph(NO_VERDICT, "strong")
    if report.warnings:
        count = len(report.warnings)
        title = f"{count} {'warning' if count == 1 else 'warnings'} (section 7)"
        yield Bullets(tuple(_sentence(each.message) for each in report.warnings), title)


def _interval(report: Report) -> str:
    interval = report.interval
    assert interval is not None
    low, high = signed(interval.low), signed(interval.high)
    if interval.low == interval.high and interval.low_is_bound and interval.high_is_bound:
        return f"all of it ({interval.level:.0%}) lies beyond the bound of the calibration, {low}"
    return f"from {low} to {high} ({interval.level:.0%})"


def _result(report: Report) -> Iterator[Block]:
    rows = [("log10 Bayes factor", signed(report.log10_bayes_factor)), ("In words", report.verbal)]
    if report.states:
        rows.insert(1, ("Bayes factor", _to_one(report.log10_bayes_factor)))
    if report.interval is not None:
        rows.append(("Interval over passages", _interval(report)))
    yield Facts(tuple(rows))
    yield Paragraph(_how_found(report))
    if report.states:
        yield _scale(report)
    yield from _probability(report)


def _both_ways(report: Report) -> str:
    """What an interval around 0 means."""
    if report.interval is None or not report.interval.low < 0 < report.interval.high:
        return ""
    return " It includes 0: other passages of these texts could have pointed the other way."


def _to_one(log10: float) -> str:
    if times(log10) == EVEN:
        return "about 1 to 1"
    favoured = "H_same over H_different" if log10 > 0 else "H_different over H_same"
    return f"{times(log10).removesuffix(' times')} to 1 for {favoured}"


def _how_found(report: Report) -> str:
    interval = report.interval
    if interval is None:
        return (
            "No interval is given: a text has too few passages for any to be drawn anew. How far "
            "the number depends on the passages that happened to be at hand is not known."
        )
    cut = ""
    if interval.low_is_bound or interval.high_is_bound:
        cut = " It is cut off where the calibration ends, as the number itself is."
    return (
        f"For the interval, the passages of each text were drawn anew {report.settings.draws:,} "
        "times, with replacement, and all was computed again. It lies around the result, and is "
        f"{WIDENED:g} times as wide as {interval.level:.0%} of what was found then, since passages "
        "of one text have much in common that drawing them anew does not change. So it says how "
        "far the number depends on the passages that happened to be at hand, and nothing "
        f"else.{cut}"
    )


def _scale(report: Report) -> Table:
    rungs = report.settings.scale
    ends = [f"{start:g} to below {end:g}" for (start, _), (end, _) in pairwise(rungs)] + [
        f"{rungs[-1][0]:g} or more"
    ]
    rows = tuple((end, words) for end, (_, words) in zip(ends, rungs, strict=True))
    return Table(
        "The verbal scale: for H_same above 0, for H_different below",
        ("log10 Bayes factor, without its sign", "in words"),
        rows,
        2,
        (0.4, 0.6),
    )


def _probability(report: Report) -> Iterator[Block]:
    prior, probability = report.prior_same_author, report.probability_same_author
    if prior is None:
        yield Paragraph(
            "No probability that one person wrote both sides is given. A Bayes factor becomes one "
            "only together with a prior probability, which rests on all else that is known of the "
            "case and is for the court, not for the examiner or the software."
        )
    elif probability is None:
        yield Paragraph(
            f"A prior probability of {prior:g} was given, but since no statement is made, no "
            "probability is given either."
        )
    else:
        yield Paragraph(
            f"With a prior probability of {prior:g} that one person wrote both sides, which was "
            "given for this report, the probability after the texts is "
            f"{show_probability(probability)}. The prior does not come from the texts: it rests on "
            "all else that is known of the case, and is for the court. With another prior the "
            "probability is another; the Bayes factor stays the same."
        )


def _limits(report: Report) -> Iterator[Block]:
    if report.warnings:
        items = tuple(_sentence(each.message) for each in report.warnings)
        yield Bullets(items, "Found with these texts")
    else:
        yield Paragraph("The software found nothing unusual in these texts to warn of.")
    yield Paragraph("Of every comparison of this genre it must be kept in mind:")
    yield Bullets(_LIMITS)


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}."


def _method(report: Report) -> Iterator[Block]:
    members = len(report.members)
    by, model = "an encoder", "A two-covariance model"
    factor = "is the Bayes factor"
    if members > 1:
        by, model = f"each of {members} encoders", "A two-covariance model of each encoder"
        factor = "is a Bayes factor, and those of all encoders are made into one"
    last = " At last the number is calibrated." if report.calibration is not None else ""
    yield Paragraph(
        "Each text is normalised, so that the style of quotes and dashes, line breaks and the like "
        f"do not count, and cut into words and marks. Then {by} turns it into a row of numbers "
        f"that describes its language. {model}, learnt from texts by many authors, "
        "knows how far such rows differ between authors, and among texts of one author. By it the "
        "rows of both sides have a probability if one person wrote both sides, and another if a "
        f"different person wrote each; the first divided by the second {factor}. Several "
        f"texts of a side are weighed together, not joined.{last}"
    )
    yield Paragraph(
        "B. Boenninghoff, J. Rupp, R. M. Nickel, D. Kolossa: Deep Bayes Factor Scoring for "
        "Authorship Verification. Notebook for PAN at CLEF 2020.",
        "note",
    )


def _reproduction(report: Report) -> Iterator[Block]:
    command = "adhominem check-report report.html FIRST SECOND"
    if report.population:
        command += " --population POPULATION"
    if report.settings.scale != VerbalScale().rungs:
        command += " --scale SCALE"
    yield Facts(
        (
            ("Software", f"AdHominem {report.version}"),
            ("Model", report.model),
            ("SHA-256 of the model", report.model_sha256),
            ("Encoders", ", ".join(report.members)),
            ("Interval", f"{report.settings.draws:,} draws, seed {report.settings.seed}"),
            ("Date of the report", report.date),
            ("Check", command),
        ),
        frozenset({"SHA-256 of the model", "Check"}),
    )
    yield Paragraph(
        "The HTML form of this report has all its numbers in a form for machines, too. The command "
        "above computes them anew from the texts and says what differs; FIRST and SECOND are the "
        "files or folders of the two sides."
    )
