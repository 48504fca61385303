"""Recompute a report, and list the differences in its data and in what its file shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any

from adhominem.errors import InputError
from adhominem.evaluation.study import ValidationStudy
from adhominem.harmless import harmless
from adhominem.model.files import is_plain
from adhominem.questions.report.candidates import (
    AnyReport,
    CandidatesReport,
    by_candidate,
    common_part,
    make_candidates_report,
)
from adhominem.questions.report.formats import StoredReport, read_report, report_bytes
from adhominem.questions.report.report import Report, ReportedText, ReportOptions, make_report
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population, PopulationText
from adhominem.text.exhibits import Exhibit, SideTexts, exhibits_of
from adhominem.text.office import word_parts
from adhominem.text.streams import text_in
from adhominem.verify.verifier import Verifier, load

_CLOSE = 1e-4  # decades: how far numbers of two machines may be apart
_LONGEST = 100  # characters of what is shown of a difference
_TEXTS = '<section id="texts">'
_DOCUMENT, _PROPERTIES = "word/document.xml", "docProps/"  # those of a file are not on its pages
_NAMES = {
    "log10_bayes_factor": "log10 Bayes factor",
    "model_sha256": "SHA-256 of the model",
    "version": "version of AdHominem",
    "population.sha256": "SHA-256 of the population (other texts, or another type of processor)",
    "population.texts": "texts of the population",
    "population.log10_bayes_factor_without": "log10 Bayes factor without the population",
    "population.sensitivity.lowest": "lowest log10 Bayes factor with parts of the population",
    "population.sensitivity.median": "median log10 Bayes factor with parts of the population",
    "population.sensitivity.highest": "highest log10 Bayes factor with parts of the population",
    "interval.low": "lower end of the interval",
    "interval.high": "upper end of the interval",
    "settings.scale": "verbal scale",
    "probability_same_author": "probability by the prior given",
    "validation.study": "validation study of the examiner's own material",
    "validation.study.sha256": "SHA-256 of the validation study",
}
_NOT_COMPARED = {
    "first",
    "second",
    "model",
    "members",
    "language",
    "language_given",
}  # texts by their hashes, models by theirs
AnyTexts = Sequence[ReportedText | PopulationText]
_CAUSES = ("settings", "version", "model_sha256", "population")  # listed before their effects


@dataclass(frozen=True)
class Difference:
    """A value that differs between a report and what the texts give now."""

    what: str
    reported: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: the report has {self.reported}, now it is {self.found}"


def check_report(
    report: str | Path | StoredReport,
    first: SideTexts,
    second: SideTexts | None = None,
    *,
    candidates: Mapping[str, SideTexts] | None = None,
    population: Population | None = None,
    verifier: Verifier | None = None,
    model: str | Path | None = None,
    scale: VerbalScale | None = None,
    validation: ValidationStudy | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> list[Difference]:
    """All differences between a report, or its file, and what the texts give now.

    The texts are those of two sides, or the disputed ones and those of each of the `candidates`.
    The model is the one that the report names, unless a `verifier` is given; `model` is its path.
    Topics, seed, draws and prior are those of the report. Its verbal scale is not trusted, since
    the words of the result come from it: it must be `scale`, or AdHominem's. Nor are its cases of
    known authors, if they are the examiner's own: the study must be given again, as `validation`.
    What the file shows is compared, too: it must agree with its data.
    """
    stored = report if isinstance(report, StoredReport) else read_report(report)
    reported, sides = stored.report, dict(candidates or {})
    check_kind(stored, several=bool(sides))
    known = by_candidate(reported)
    if sides and not known.keys() <= sides.keys():
        missing = [name for name in known if name not in sides]
        others = [name for name in sides if name not in known]
        now = harmless(", ".join(others)) or "none of this name"
        return [Difference("candidates", harmless(", ".join(missing)), now)]
    verifier = verifier or load(model or named_model(stored))
    common = common_part(reported)
    questioned = _as_reported(exhibits_of(first, "first"), common.first)
    options = _as_it_was_made(common, population, scale)
    if isinstance(reported, Report):
        computed = make_report(
            verifier,
            questioned,
            _as_reported(exhibits_of(second or (), "second"), reported.second),
            prior_same_author=reported.prior_same_author,
            validation=validation,
            on_progress=on_progress,
            **options,
        )
        shown = replace(reported, explanation=computed.explanation, like=computed.like)
        return compare_reports(reported, computed) or list(compare_files(stored, shown))
    # Candidates with nothing but copies are in no report, and are left out again.
    sides |= {
        name: _as_reported(exhibits_of(sides[name], name), of_one.second)
        for name, of_one in known.items()
    }
    order = [*known, *(name for name in sides if name not in known)]
    again = make_candidates_report(
        verifier,
        questioned,
        {name: sides[name] for name in order},
        prior_none=reported.prior_none,
        on_progress=on_progress,
        **options,
    )
    return _compare_candidates(reported, again) or list(compare_files(stored, reported))


def check_kind(stored: StoredReport, *, several: bool) -> None:
    """Raise an InputError for candidates beside a report on two sides, and the other way round."""
    if isinstance(stored.report, Report) != several:
        return
    expected = (
        "a report on two sides; give FIRST and SECOND, and no --candidate"
        if several
        else "a report with several candidates; give the disputed text, and each candidate's by "
        "--candidate"
    )
    raise InputError(f"this is {expected}", stored.path)


def _as_it_was_made(
    reported: Report, population: Population | None, scale: VerbalScale | None
) -> ReportOptions:
    """The options to make a report again with."""
    return {
        "population": population,
        "population_source": "" if reported.population is None else reported.population.source,
        "details": reported.details,
        "date": reported.date,
        "seed": reported.settings.seed,
        "draws": reported.settings.draws,
        "annex": reported.settings.annex,
        "scale": scale,
    }


def named_model(stored: StoredReport) -> str:
    """The model that a report names; it must be the name of a model, not the path of a folder."""
    model = common_part(stored.report).model
    if not is_plain(model):
        raise InputError(
            "the report does not name its model by a valid name; give the path of the model",
            stored.path,
        )
    return model


def compare_reports(reported: Report, computed: Report) -> list[Difference]:
    """The differences between the data of a report and those computed now."""
    differences = list(_compare_texts(reported.first, computed.first, "first side"))
    differences += _compare_texts(reported.second, computed.second, "second side")
    if reported.population is not None and computed.population is not None:
        material = reported.population.material, computed.population.material
        differences += _compare_texts(*material, "population")
    differences += compare_values(_comparable(reported), _comparable(computed), "")
    return differences


def _comparable(report: Report) -> dict[str, Any]:
    data, scale = report.to_json(), report.settings.scale
    data["settings"]["scale"] = ", ".join(f"{words} from {start:g}" for start, words in scale)
    data["warnings"] = [warning["message"] for warning in data["warnings"]]
    if data["population"] is not None:
        del data["population"]["material"]  # by their hashes
    order = sorted(data, key=lambda name: name not in _CAUSES)
    return {name: data[name] for name in order if name not in _NOT_COMPARED}


def _as_reported(exhibits: Sequence[Exhibit], reported: Sequence[ReportedText]) -> list[Exhibit]:
    """Exhibits with the report's names and topics, in its order, which the draws depend on.

    A text is recognised by its hash: its file may have been renamed.
    """
    known: dict[str, list[int]] = {}  # a file and its copies have one hash
    for at, text in enumerate(reported):
        known.setdefault(text.sha256, []).append(at)
    placed_exhibits = []
    for exhibit in exhibits:
        topic, name, at = "", exhibit.document.id, len(reported)
        if places := known.get(exhibit.sha256):
            at = places.pop(0)
            topic, name = reported[at].topic, reported[at].name
        document = replace(exhibit.document, topic=topic, id=name)
        placed_exhibits.append((at, replace(exhibit, document=document)))
    return [exhibit for _, exhibit in sorted(placed_exhibits, key=lambda placed: placed[0])]


def _compare_texts(before: AnyTexts, now: AnyTexts, where: str) -> Iterator[Difference]:
    """Differences for texts in only one of the lists, or with other counts of words or tokens."""
    for lacking, new in zip_longest(_without(before, now), _without(now, before), fillvalue="none"):
        yield Difference(f"text of the {where}", lacking, new)
    counted = {text.sha256: text for text in now}
    for text in before:
        for what in ("words", "tokens"):
            count = getattr(text, what, 0)  # texts of a population have no number of tokens
            count_now = getattr(counted.get(text.sha256, text), what, 0)
            if count != count_now:
                name = f"{what} of {harmless(text.name)}"
                yield Difference(name, f"{count:,}", f"{count_now:,}")


def _without(texts: AnyTexts, others: AnyTexts) -> Iterator[str]:
    """Texts that are not among the others, by their hashes: files may be renamed."""
    left = Counter(text.sha256 for text in others)
    for text in texts:
        left[text.sha256] -= 1
        if left[text.sha256] < 0:
            yield f"{harmless(text.name)} (SHA-256 {text.sha256})"


def _compare_candidates(reported: CandidatesReport, computed: CandidatesReport) -> list[Difference]:
    before, now = by_candidate(reported), by_candidate(computed)
    differences = list(compare_values(list(before), list(now), "candidates"))
    common: set[Difference] = set()
    for name in [name for name in before if name in now]:
        for difference in compare_reports(before[name], now[name]):
            if difference not in common:  # what all have in common is listed once
                common.add(difference)
                what = f"{harmless(name)}: {difference.what}"
                differences.append(replace(difference, what=what))
    return [*differences, *compare_values(_values(reported), _values(computed), "")]


def _values(report: CandidatesReport) -> dict[str, Any]:
    """What a report has beside those on each candidate, with what it is called."""
    return {
        **{f"{harmless(one.name)}: posterior": one.posterior for one in report.propositions},
        "posterior of none of them": report.posterior_none,
        "warnings of the case": [caution.message for caution in report.warnings],
        "whether anything is stated": report.states,
    }


def compare_values(reported: Any, computed: Any, name: str) -> Iterator[Difference]:
    """All differences between two values, each with the name of what differs."""
    if isinstance(reported, dict) and isinstance(computed, dict):
        for key in {**reported, **computed}:
            inner = f"{name}.{key}" if name else key
            yield from compare_values(reported.get(key), computed.get(key), inner)
    elif (
        isinstance(reported, list) and isinstance(computed, list) and len(reported) == len(computed)
    ):
        for at, (one, other) in enumerate(zip(reported, computed, strict=True), start=1):
            yield from compare_values(one, other, f"{name} {at}")
    elif isinstance(reported, float) and isinstance(computed, float):
        if abs(reported - computed) > _CLOSE:
            yield Difference(_named(name), _shown(reported), _shown(computed))
    elif reported != computed:
        if isinstance(reported, str) and isinstance(computed, str):
            yield Difference(_named(name), *_where(reported, computed))
        else:
            yield Difference(_named(name), _shown(reported), _shown(computed))


def _named(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name.replace('_', ' ')} {_shown(item)}" for name, item in value.items()]
    if isinstance(value, list):
        value = ", ".join(map(str, value)) or None
    text = "none" if value is None else f"{value:+.4f}" if isinstance(value, float) else str(value)
    text = harmless(text)  # a page may be anybody's, and the terminal is ours
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def compare_files(stored: StoredReport, expected: AnyReport) -> Iterator[Difference]:
    """Differences between a file and its data, or the texts that it should show.

    What is `expected` is written again from the data of the report, so that the last digits on
    another machine do not matter. Those in heat maps do, in the rare case that a colour or a third
    digit depends on them.
    """
    suffix = stored.path.suffix.lower()
    if suffix not in (".pdf", ".docx"):
        now = report_bytes(expected, ".html").decode("utf-8")
        yield from _compare_pages(text_in(stored.data, stored.path), now)
        return
    written = report_bytes(expected, suffix)
    if suffix == ".docx":
        yield from _compare_parts(
            *(word_parts(data, stored.path) for data in (stored.data, written))
        )
    elif stored.data != written:
        yield Difference(
            "what the PDF shows",
            f"other bytes ({_digest(stored.data)})",
            f"those that AdHominem writes here ({_digest(written)}; another version of reportlab "
            "or matplotlib may write others)",
        )


def _digest(data: bytes) -> str:
    return f"SHA-256 {sha256(data).hexdigest()[:16]}…"


def _compare_parts(document: dict[str, str], expected: dict[str, str]) -> Iterator[Difference]:
    """Changes in a Word document, by an examiner or by Word, which adds parts of its own."""
    for part in {**expected, **document}:
        before, now = document.get(part), expected.get(part)
        if before is None or now is None:
            both = ("none" if one is None else harmless(part) for one in (before, now))
            yield Difference("part of the document (Word adds and drops parts as it saves)", *both)
        elif before == now or part.startswith(_PROPERTIES):
            continue
        elif part.endswith(".xml"):
            shown = "the document" if part == _DOCUMENT else harmless(part)
            yield from _compare_words(before, now, f"what {shown} says")
        else:
            yield Difference(
                harmless(part),
                f"other bytes (SHA-256 {before[:16]}…)",
                f"those that AdHominem writes here (SHA-256 {now[:16]}…; another version of "
                "matplotlib or python-docx may write others)",
            )


def _compare_words(document: str, expected: str, what: str) -> Iterator[Difference]:
    """The paragraphs of a part that were changed, added or removed."""
    before, now = document.split("\n"), expected.split("\n")
    for kind, one, two, three, four in SequenceMatcher(None, before, now, False).get_opcodes():
        if kind != "equal":
            for written, wanted in zip_longest(before[one:two], now[three:four], fillvalue=""):
                if written != wanted:
                    yield Difference(what, *_where(written, wanted))


def _compare_pages(page: str, expected: str) -> Iterator[Difference]:
    """The first line that differs, before the texts and among them."""
    parts = zip(
        page.replace("\r\n", "\n").partition(_TEXTS), expected.partition(_TEXTS), strict=True
    )
    whats = ("what the page says", "", "the texts and heat maps of the page")
    for what, (before, now) in zip(whats, parts, strict=True):
        lines = zip_longest(before.split("\n"), now.split("\n"), fillvalue="")
        differing = next((pair for pair in lines if pair[0] != pair[1]), None)
        if what and differing is not None:
            yield Difference(what, *_where(*differing))


def _where(line: str, expected: str) -> tuple[str, str]:
    """Two texts; long ones are cut to start a little before the first character that differs."""
    letters = enumerate(zip_longest(line, expected))
    part = next((at for at, (one, other) in letters if one != other), 0)
    begin = max(0, part - _LONGEST // 2) if max(len(line), len(expected)) > _LONGEST else 0
    return f"“{_shown(line[begin:])}”", f"“{_shown(expected[begin:])}”"
