"""The sections of a report about the case: what is compared, and with what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adhominem.render.summary import how_far, signed
from adhominem.report.blocks import Block, Facts, Paragraph, Table
from adhominem.report.report import Report, ReportedText

_NAMED = 4  # texts of a side that a sentence can hold
_MOVED = 0.5  # decades by which a population may move the number without a remark
_LENGTHS = ("words", "tokens")


def propositions_blocks(report: Report) -> Iterator[Block]:
    """What is compared with what."""
    yield Paragraph("The Bayes factor compares two propositions:")
    first, second = listed(report.first), listed(report.second)
    yield Facts(
        (
            (
                "Same-author proposition (H_same)",
                f"One person wrote both {first} (first side) and {second} (second side).",
            ),
            (
                "Different-author proposition (H_different)",
                f"One person wrote {first} (first side), and a different person wrote {second} "
                "(second side).",
            ),
        )
    )
    if len(report.first) + len(report.second) > 2:
        yield Paragraph(
            "Both propositions take it for granted that all texts of a side were written by one "
            "person."
        )
    yield Paragraph(
        "Whether these are the propositions that matter in the case is for the court and the "
        "parties to say. By others the result may be another."
    )


def listed(texts: Sequence[ReportedText]) -> str:
    """The names of the texts of a side."""
    names = [f"“{text.name}”" for text in texts]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1:,} more texts"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def population_blocks(report: Report) -> Iterator[Block]:
    """The relevant population and what it did, or what it means that there is none."""
    yield Paragraph(
        "Texts of one genre and time are alike, whoever wrote them. A relevant population is a set "
        "of texts of the same genre by other people: only how the texts of the case depart from it "
        "speaks of their authors."
    )
    population = report.population
    if population is None:
        yield Paragraph("No relevant population was given.", "strong")
        yield Paragraph(f"What such texts have in common was {_guess(report)}")
        yield Paragraph(
            "The different person of H_different is then anybody who writes texts like those that "
            "the model was trained and calibrated on. A population that fits the case may make the "
            "Bayes factor stronger, weaker, or turn it round."
        )
        return
    moved = report.log10_bayes_factor - population.log10_bayes_factor_without
    yield Facts(
        (
            ("Source", population.source or "not stated"),
            ("Texts used", f"{population.texts:,}"),
            ("With it", f"log10 Bayes factor {signed(report.log10_bayes_factor)}"),
            ("Without it", f"log10 Bayes factor {signed(population.log10_bayes_factor_without)}"),
            ("SHA-256 of its mean", population.sha256),
        ),
        frozenset({"SHA-256 of its mean"}),
    )
    if abs(moved) >= _MOVED:
        yield Paragraph(
            f"The population moves the log10 Bayes factor by {signed(moved)}. So much depends on "
            "its choice, which should be defended by what is known of the case.",
            "strong",
        )
    yield Paragraph(
        "The software did not choose this population, and cannot tell whether it is the relevant "
        "one. The different person of H_different is one of those who write such texts."
    )


def _guess(report: Report) -> str:
    likeness = report.likeness
    if likeness is None or not likeness.genres:
        return "learnt from the training texts of the model alone."
    genre, share = max(likeness.genres.items(), key=lambda each: each[1])
    far = f"and {how_far(likeness)}"
    if likeness.atypicality > 1:
        far = f"but {how_far(likeness)}: the guess may well be wrong"
    return (
        "guessed. Of the model's training texts, these are most like "
        f"“{likeness.name(genre)}” ({share:.0%} of the guess), {far}."
    )


def material_blocks(report: Report) -> Iterator[Block]:
    """The texts, and how to recognise them."""
    sides = (("first", report.first), ("second", report.second))
    rows, notes = [], []
    for side, texts in sides:
        for text in texts:
            name = f"{text.name} (topic: {text.topic})" if text.topic else text.name
            rows.append((side, name, text.modified or "–", f"{text.words:,}", f"{text.tokens:,}"))
            notes.append(text.sha256)
    yield Table(
        "The texts compared; below each, the SHA-256 of its file",
        ("side", "text", "file last changed", "words", "tokens"),
        tuple(rows),
        3,
        (0.1, 0.43, 0.25, 0.11, 0.11),
        tuple(notes),
    )
    for side, texts in sides:
        if len(texts) > 1:
            words, tokens = (sum(getattr(each, what) for each in texts) for what in _LENGTHS)
            yield Paragraph(
                f"The {side} side has {len(texts):,} texts of {words:,} words and {tokens:,} "
                "tokens in all."
            )
    yield Paragraph(
        "Words are what stands between white space; tokens are words and marks as the model counts "
        "them. When a file was last changed is what the file system says, and not when the text "
        "was written. The SHA-256 recognises a file: one that has another is not the file that was "
        "compared. (Of a text that came without a file it is that of its characters in UTF-8.)",
        "note",
    )
