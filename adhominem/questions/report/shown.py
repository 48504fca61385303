"""What reports of both kinds show alike: the values that `report_sections.html` is filled with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from adhominem.questions.report.candidates import CandidatesReport
from adhominem.questions.report.details import CaseDetails
from adhominem.questions.report.report import NO_ANNEX, Report, ReportedText
from adhominem.render.summary import how_far, signed
from adhominem.score.decision import VerbalScale
from adhominem.verify.cautions import UNCALIBRATED
from adhominem.verify.resampling import WIDENED
from adhominem.verify.verification import Likeness

AnyReport = Report | CandidatesReport
_NAMED = 4  # texts of a side that a sentence can hold
_MOST_LISTED = 10  # texts in the table of the first pages; with more, there is a row for a side


def common_values(
    report: AnyReport, common: Report, sides: Sequence[tuple[str, Sequence[ReportedText]]]
) -> dict[str, Any]:
    """The values of every report; `common` has what is the same for all its sides."""
    details = report.details
    texts = [(side, text) for side, of_side in sides for text in of_side]
    numbered = [(_item(details, text, at), side, text) for at, (side, text) in enumerate(texts, 1)]
    return {
        "report": report,
        "common": common,
        "details": details,
        "population": common.population,
        "calibration": common.calibration,
        "has_annex": report.settings.annex != NO_ANNEX,
        "material": [
            (item, side, text.name, _received(details, text), f"{text.words:,}")
            for item, side, text in numbered
        ],
        "most_listed": _MOST_LISTED,
        "by_side": [
            (side, f"{len(of_side):,}", f"{sum(text.words for text in of_side):,}")
            for side, of_side in sides
        ],
        "files": [
            (item, _with_topic(text), text.modified or "–", f"{text.words:,}", f"{text.tokens:,}")
            for item, _, text in numbered
        ],
        "hashes": [text.sha256 for _, text in texts],
        "origins": [
            (named, known.origin)
            for named, _, text in numbered
            if (known := details.item(text.name)) is not None and known.origin
        ],
        "population_texts": _population_rows(common),
        "likely_genre": _likely_genre(common.likeness),
        "scale": scale_rows(report.settings.scale),
        "usual_scale": report.settings.scale == VerbalScale().rungs,
        "widened": f"{WIDENED:g}",
        "uncalibrated": UNCALIBRATED,
        "signed": signed,
        "how_far": how_far,
    }


def _item(details: CaseDetails, text: ReportedText, number: int) -> str:
    """What an item is called: its reference, or its number."""
    known = details.item(text.name)
    return known.reference if known is not None and known.reference else str(number)


def _received(details: CaseDetails, text: ReportedText) -> str:
    known = details.item(text.name)
    return known.received if known is not None and known.received else "–"


def _with_topic(text: ReportedText) -> str:
    return f"{text.name} (topic: {text.topic})" if text.topic else text.name


def listed(texts: Sequence[ReportedText], details: CaseDetails) -> str:
    """The texts of a side as a sentence can list them: by their references, or by their names."""
    items = [details.item(text.name) for text in texts]
    names = [
        item.reference if item is not None and item.reference else f"“{text.name}”"
        for item, text in zip(items, texts, strict=True)
    ]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1:,} more texts"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _population_rows(report: Report) -> list[tuple[str, ...]]:
    material = () if report.population is None else report.population.material
    return [
        (f"{at:,}", text.name, f"{text.words:,}", text.sha256)
        for at, text in enumerate(material, start=1)
    ]


def _likely_genre(likeness: Likeness | None) -> dict[str, Any] | None:
    """The genre that the texts are most like, and its share of the guess."""
    if likeness is None or not likeness.genres:
        return None
    genre, share = max(likeness.genres.items(), key=lambda item: item[1])
    return {"name": likeness.name(genre), "share": share}


def scale_rows(rungs: Sequence[tuple[float, str]]) -> list[tuple[str, str]]:
    """The verbal scale: where each rung begins and ends, and its words."""
    ends = [f"{start:g} to below {end:g}" for (start, _), (end, _) in pairwise(rungs)]
    ends.append(f"{rungs[-1][0]:g} or more")
    return [(end, words) for end, (_, words) in zip(ends, rungs, strict=True)]
