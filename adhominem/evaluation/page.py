"""An evaluation as one page for people: a single HTML file that fetches nothing from anywhere."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.measures import MEASURES, Evaluation
from adhominem.evaluation.plots import Entropies, figures, svg_of
from adhominem.harmless import on_page
from adhominem.text.writing import write_whole

_OF_PARTS = ("auc", "c@1", "overall_2021", "cllr", "eer")  # the measures of parts of the set
_MANY = 5  # systems; a table of more is printed across
_ARROWS = {True: "\N{NO-BREAK SPACE}↑", False: "\N{NO-BREAK SPACE}↓", None: ""}
_PIECES = re.compile(r"[^-_./\\\s]{0,15}[-_./\\\s]|[^-_./\\\s]{1,16}")
_RESAMPLED = {
    "authors": "The small numbers are 95 % intervals. The bootstrap drew authors with all their "
    "pairs, since two pairs of one author are not independent cases.",
    "pairs": "The small numbers are 95 % intervals. The bootstrap drew pairs as if each were an "
    "independent case; where authors come more than once, the true uncertainty is larger.",
}
_COUNT = re.compile(r"([\d,]+) ")  # of pairs or values, at the beginning of a remark
_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, footer { max-width: 80rem; margin: 0 auto; padding: 0 1rem; }
p, ul { max-width: 44rem; }
h1, h2 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin: 1.5rem 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; padding-top: .5rem; border-top: 1px solid #ccc; }
p, li { overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.3; }
caption { text-align: left; color: #555; padding-bottom: .4rem; }
th, td { padding: .3rem .6rem; vertical-align: top; border-bottom: 1px solid #ddd; }
th { text-align: left; font-weight: 600; }
thead th { vertical-align: bottom; border-bottom: 2px solid #1a1a1a; }
thead th + th, td { text-align: right; font-variant-numeric: tabular-nums; }
thead th { min-width: 4.5rem; max-width: 9rem; }
tbody th { position: sticky; left: 0; background: #fff; min-width: 10rem; max-width: 22rem; }
tbody th[scope="rowgroup"] { position: static; padding-top: 1rem; }
.several tbody th[scope="row"] { font-weight: 400; }
.many th, .many td { padding-left: .35rem; padding-right: .35rem; }
small { display: block; font-weight: 400; font-size: .75rem; color: #555; }
td small { white-space: nowrap; }
td b { font-weight: 700; }
.figures div { display: grid; gap: 2rem 2.5rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); }
figure { margin: 0; }
figure img { display: block; width: 100%; max-width: 36rem; height: auto; }
figcaption { max-width: 36rem; font-size: .875rem; color: #333; margin-top: .4rem; }
footer { color: #555; font-size: .8rem; padding-bottom: 2rem; margin-top: 2.5rem; }
@page { size: A4; margin: 15mm; }
@page across { size: A4 landscape; }
@media print {
  html { font-size: 9.5pt; }
  main, footer { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  .table { overflow: visible; }
  .many { page: across; }
  .many table { font-size: 7.5pt; width: 100%; }
  .many small { font-size: 6pt; }
  .many th, .many td { padding: 1mm; }
  thead th { min-width: 0; }
  tbody th { position: static; }
  tr, figure { break-inside: avoid; }
  tr:has(th[scope="rowgroup"]) { break-after: avoid; }
  .figures { break-before: page; }
  .figures div { display: block; }
  figure { margin: 0 auto 8mm; max-width: 120mm; }
}
"""


def write_page(
    evaluations: Sequence[Evaluation],
    systems: Sequence[Answers],
    path: Path,
    version: str,
    entropies: Entropies | None = None,
) -> None:
    """Write the page: `evaluations` are its tables, `systems` its figures."""
    if len(evaluations) == 1:
        title = f"Evaluation of {evaluations[0].name}"
    else:
        title = f"Evaluation of {len(evaluations)} systems"
    # Nothing is fetched or run; of styles only this one is obeyed, and figures are in the page.
    digest = base64.b64encode(sha256(_STYLE.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{on_page(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{on_page(title)}</h1>
{_what_was_evaluated(evaluations)}
{_how_to_read(evaluations)}
{_measures(evaluations)}
{_parts(evaluations)}
{_figures(systems, entropies)}
</main>
<footer><p>Written by AdHominem {on_page(version)}.</p></footer>
</body>
</html>
"""
    with write_whole(path) as file:
        # A file's name may hold bytes that are no text; nothing else may.
        file.write(page.encode("utf-8", "replace").decode("utf-8"))


def _what_was_evaluated(evaluations: Sequence[Evaluation]) -> str:
    counts = sorted({(each.pairs, each.same_author) for each in evaluations})
    said = " ".join(
        f"The set has {pairs:,} pairs of texts: {same:,} by one author, and {pairs - same:,} by "
        "two."
        for pairs, same in counts
    )
    names = ", ".join(on_page(each.name) for each in evaluations)
    number = f"{len(evaluations)} systems" if len(evaluations) > 1 else "System"
    noted = "".join(f"<li>{on_page(text)}.</li>" for text in _remarks(evaluations))
    return f"""<h2>What was evaluated</h2>
<p>{number}: {names}.</p>
<p>{said}</p>
{f"<p>To be kept in mind:</p><ul>{noted}</ul>" if noted else ""}"""


def _remarks(evaluations: Sequence[Evaluation]) -> list[str]:
    """All remarks; one that several systems have, be it with another number, comes once."""
    if len(evaluations) == 1:
        return list(evaluations[0].remarks)
    about: dict[str, list[str]] = {}  # the systems, and the number of each
    for each in evaluations:
        for remark in each.remarks:
            number = _COUNT.match(remark)
            text = remark[number.end() :] if number else remark
            named = f"{each.name} ({number[1]})" if number else each.name
            about.setdefault(text, []).append(named)
    everyone = [each.name for each in evaluations]
    return [
        f"{'all systems' if names == everyone else ', '.join(names)}: {text}"
        for text, names in about.items()
    ]


def _how_to_read(evaluations: Sequence[Evaluation]) -> str:
    drawn = {each.resampled for each in evaluations}
    said = [text for name, text in _RESAMPLED.items() if name in drawn]
    if len(evaluations) > 1:
        said.append(
            "The best number of a row is <b>bold</b>. That does not say that the system is better "
            f"than the next one by more than chance{': compare the intervals' if said else ''}."
        )
    times = max((each.resamples for each in evaluations), default=0)
    if times:
        said.append(f"There were {times:,} resamples.")
    paragraphs = "\n".join(f"<p>{text}</p>" for text in said)
    return f"""<h2>How to read it</h2>
<p><strong>A Bayes factor is not a verdict.</strong> It says how much more probable the two texts
are if one person wrote both than if two did. It becomes a probability of one author only together
with a prior, which belongs to the case and not to the texts. What stands here holds for pairs like
those of this set; on other genres a system may do worse.</p>
<p><strong>Cllr</strong> is the cost of taking the Bayes factors at their word: 0 is perfect, and 1
is what it costs to say of every pair that the evidence speaks for neither side. A system above 1
does more harm than one that says nothing, however well it ranks the pairs; calibration may help as
far as Cllr_min.</p>
{paragraphs}"""


def _measures(evaluations: Sequence[Evaluation]) -> str:
    heads = "".join(f'<th scope="col">{_breakable(each.name)}</th>' for each in evaluations)
    rows = []
    for name, measure in MEASURES.items():
        numbers = [each.measures[name] for each in evaluations]
        intervals = [each.intervals.get(name) for each in evaluations]
        cells = "".join(_cells(name, numbers, intervals))
        arrow = _ARROWS[measure.higher_is_better]
        rows.append(
            f'<tr><th scope="row">{on_page(measure.title)}{arrow}'
            f"<small>{on_page(measure.meaning)}</small></th>{cells}</tr>"
        )
    return _table(
        "Measures",
        "↑: higher is better; ↓: lower is better",
        f'<tr><th scope="col">measure</th>{heads}</tr>',
        ["\n".join(rows)],
        "many" if len(evaluations) > _MANY else "",
    )


def _parts(evaluations: Sequence[Evaluation]) -> str:
    """Same topic, cross topic, by length: whatever parts were measured apart."""
    several = len(evaluations) > 1
    bodies = []
    for part in dict.fromkeys(part for each in evaluations for part in each.groups):
        measured = [(each.name, each.groups[part]) for each in evaluations if part in each.groups]
        pairs, same = measured[0][1].pairs, measured[0][1].same_author
        size = f"{pairs:,} pairs, {same:,} by one author"
        head = f"{on_page(part)}<small>{size}</small>"
        if not 0 < same < pairs:
            head += "<small>all are of one class</small>"
        columns = [
            _cells(name, [found.measures[name] for _, found in measured]) for name in _OF_PARTS
        ]
        named = [_breakable(name) if several else head for name, _ in measured]
        rows = [
            f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'
            for name, *cells in zip(named, *columns, strict=True)
        ]
        if several:
            width = len(_OF_PARTS) + 1
            rows.insert(0, f'<tr><th scope="rowgroup" colspan="{width}">{head}</th></tr>')
        bodies.append("\n".join(rows))
    if not bodies:
        return ""
    heads = "".join(
        f'<th scope="col">{on_page(MEASURES[name].title)}'
        f"{_ARROWS[MEASURES[name].higher_is_better]}</th>"
        for name in _OF_PARTS
    )
    return _table(
        "Parts of the set",
        "A part of few pairs says little.",
        f'<tr><th scope="col">{"system" if several else "part"}</th>{heads}</tr>',
        bodies,
        "several" if several else "",
    )


def _table(title: str, caption: str, head: str, bodies: Iterable[str], css_class: str) -> str:
    rows = "\n".join(f"<tbody>\n{body}\n</tbody>" for body in bodies)
    # It can be scrolled where it is too wide, by the keyboard, too.
    return f"""<section{f' class="{css_class}"' if css_class else ""}>
<h2>{title}</h2>
<div class="table" role="region" aria-label="{title}" tabindex="0">
<table>
<caption>{caption}</caption>
<thead>{head}</thead>
{rows}
</table>
</div>
</section>"""


def _cells(
    name: str,
    numbers: Sequence[float],
    intervals: Sequence[tuple[float, float] | None] | None = None,
) -> list[str]:
    """A measure of each system; the best number is bold, if there is another."""
    higher_is_better = MEASURES[name].higher_is_better
    shown = [round(number, 3) for number in numbers]  # no bold 0.000 beside a plain one
    known = [number for number in shown if not math.isnan(number)]
    best = math.nan
    if higher_is_better is not None and len(numbers) > 1 and known:
        best = max(known) if higher_is_better else min(known)
    cells = []
    for number, interval in zip(shown, intervals or [None] * len(numbers), strict=True):
        text = f"<b>{_number(number)}</b>" if number == best else _number(number)
        if interval is not None and not math.isnan(interval[0]):
            text += f"<small>{_number(interval[0])}–{_number(interval[1])}</small>"
        cells.append(f"<td>{text}</td>")
    return cells


def _breakable(name: str) -> str:
    """A name that may be broken where a narrow column must break it: best not within a word."""
    return "<wbr>".join(on_page(piece) for piece in _PIECES.findall(name))


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3f}".replace("-", "−")
    return text.lstrip("−") if text == "−0.000" else text


def _figures(systems: Sequence[Answers], entropies: Entropies | None) -> str:
    names = ", ".join(answers.name for answers in systems)
    drawn = []
    for at, (_, drawing, figure) in enumerate(figures(systems, entropies), 1):
        # As data: the ids inside one figure cannot meet those of another.
        data = base64.b64encode(svg_of(figure)).decode("ascii")
        drawn.append(
            f'<figure><img src="data:image/svg+xml;base64,{data}" '
            f'alt="{on_page(f"{drawing.title} of {names}")}">\n'
            f"<figcaption><strong>Figure {at}: {on_page(drawing.title)}.</strong> "
            f"{on_page(drawing.caption)}</figcaption></figure>"
        )
    joined = "\n".join(drawn)
    return f"""<section class="figures">
<h2>Figures</h2>
<div>
{joined}
</div>
</section>"""
