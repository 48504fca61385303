"""An evaluation as one page for people: a single HTML file that fetches nothing from anywhere."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.measures import MEASURES, Evaluation
from adhominem.evaluation.plots import FIGURES, svg_of
from adhominem.text.files import write_whole

_OF_PARTS = ("auc", "c@1", "overall_2021", "cllr", "eer")  # the measures of parts of the set
_MANY = 5  # systems; a table of more is printed across
_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, footer { max-width: 72rem; margin: 0 auto; padding: 0 1rem; }
p, ul { max-width: 44rem; }
h1, h2 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin: 1.5rem 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; padding-top: .5rem; border-top: 1px solid #ccc; }
li { overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.3; }
caption { text-align: left; color: #555; padding-bottom: .4rem; }
th, td { padding: .3rem .6rem; vertical-align: top; border-bottom: 1px solid #ddd; }
th { text-align: left; font-weight: 600; }
thead th { vertical-align: bottom; border-bottom: 2px solid #1a1a1a; }
thead th + th, td { text-align: right; font-variant-numeric: tabular-nums; }
thead th { overflow-wrap: anywhere; min-width: 4.5rem; max-width: 9rem; }
tbody th { position: sticky; left: 0; background: #fff; min-width: 8.5rem; max-width: 20rem;
  overflow-wrap: anywhere; }
tbody th[scope="rowgroup"] { position: static; padding-top: .9rem; }
tbody th[scope="rowgroup"] ~ * , .several tbody tr + tr th { font-weight: 400; }
small { display: block; font-weight: 400; font-size: .75rem; color: #555; }
td small { white-space: nowrap; }
td b { font-weight: 700; }
.figures { display: grid; gap: 2rem 2.5rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); }
figure { margin: 0; }
figure img { display: block; width: 100%; max-width: 36rem; height: auto; }
figcaption { max-width: 36rem; font-size: .875rem; color: #333; margin-top: .4rem; }
footer { color: #555; font-size: .8rem; padding-bottom: 2rem; margin-top: 2.5rem; }
@page { size: A4; margin: 15mm; }
@page across { size: A4 landscape; }
@media print {
  body { font-size: 9.5pt; }
  main, footer { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  .table { overflow: visible; }
  .many { page: across; }
  .many table { font-size: 7.5pt; width: 100%; }
  .many small { font-size: 6pt; }
  .many th, .many td { padding: 1.2mm 1mm; }
  thead th { min-width: 0; }
  tbody th { position: static; }
  tr, figure { break-inside: avoid; }
  .figures { display: block; }
  figure { margin: 0 auto 8mm; max-width: 135mm; }
}
"""


def write_page(
    evaluations: Sequence[Evaluation], systems: Sequence[Answers], path: Path, version: str
) -> None:
    """Write the page: `evaluations` are its tables, `systems` its figures."""
    if len(evaluations) == 1:
        title = f"Evaluation of {evaluations[0].name}"
    else:
        title = f"Evaluation of {len(evaluations)} systems"
    with write_whole(path) as file:
        file.write(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{_what_was_evaluated(evaluations)}
{_how_to_read(evaluations)}
{_measures(evaluations)}
{_parts(evaluations)}
{_figures(systems)}
</main>
<footer><p>Written by AdHominem {escape(version)}.</p></footer>
</body>
</html>
""")


def _what_was_evaluated(evaluations: Sequence[Evaluation]) -> str:
    counts = {(each.pairs, each.same_author) for each in evaluations}
    said = " ".join(
        f"The set has {pairs:,} pairs of texts: {same:,} by one author, and {pairs - same:,} by "
        "two different ones."
        for pairs, same in sorted(counts)
    )
    names = "".join(f"<li>{escape(each.name)}</li>" for each in evaluations)
    listed = f"<p>The systems, in the order of the columns:</p>\n<ul>{names}</ul>"
    remarks: dict[str, list[str]] = {}  # and the systems that each is about
    for each in evaluations:
        for remark in each.remarks:
            remarks.setdefault(remark, []).append(each.name)
    noted = "".join(
        f"<li>{escape(_those(about, evaluations))}{escape(remark)}.</li>"
        for remark, about in remarks.items()
    )
    return "\n".join(
        [
            "<h2>What was evaluated</h2>",
            f"<p>{said}</p>",
            listed if len(evaluations) > 1 else "",
            f"<p>To be kept in mind:</p>\n<ul>{noted}</ul>" if noted else "",
        ]
    )


def _those(names: Sequence[str], evaluations: Sequence[Evaluation]) -> str:
    if len(evaluations) == 1:
        return ""
    return "all systems: " if len(names) == len(evaluations) else f"{', '.join(names)}: "


def _how_to_read(evaluations: Sequence[Evaluation]) -> str:
    bold = (
        "<p>The best number of a row is <b>bold</b>. That does not say that the system is better "
        "than the next one by more than chance: compare the intervals.</p>"
        if len(evaluations) > 1
        else ""
    )
    drawn = {each.resampled for each in evaluations if each.resampled}
    intervals = "".join(
        f"<p>{text}</p>"
        for name, text in {
            "authors": "The small numbers are 95 % intervals. The bootstrap drew authors with all "
            "their pairs, since two pairs of one author are not independent cases.",
            "pairs": "The small numbers are 95 % intervals. The bootstrap drew pairs as if each "
            "were an independent case; where authors come more than once, the true uncertainty is "
            "larger.",
        }.items()
        if name in drawn
    )
    return f"""<h2>How to read it</h2>
<p><strong>A Bayes factor is not a verdict.</strong> It says how much more probable the two texts
are if one person wrote both than if two did. It becomes a probability of one author only together
with a prior, which belongs to the case and not to the texts. What stands here holds for pairs like
those of this set; on other kinds of text a system may do worse.</p>
<p><strong>Cllr</strong> is the cost of taking the Bayes factors at their word: 0 is perfect, and 1
is what it costs to say of every pair that the evidence speaks for neither side. A system above 1
does more harm than one that says nothing, however well it ranks the pairs; calibration may help as
far as Cllr_min.</p>
{intervals}
{bold}"""


def _measures(evaluations: Sequence[Evaluation]) -> str:
    heads = "".join(f'<th scope="col">{escape(each.name)}</th>' for each in evaluations)
    rows = []
    for name, measure in MEASURES.items():
        numbers = [each.measures[name] for each in evaluations]
        intervals = [each.intervals.get(name) for each in evaluations]
        cells = "".join(_cells(name, numbers, intervals))
        rows.append(
            f'<tr><th scope="row">{escape(measure.title)}<small>{escape(measure.meaning)}</small>'
            f"</th>{cells}</tr>"
        )
    return _table(
        "Measures",
        "Better is higher for the measures down to accuracy, and lower from Cllr on.",
        f'<tr><th scope="col">measure</th>{heads}</tr>',
        ["\n".join(rows)],
        "many" if len(evaluations) > _MANY else "",
    )


def _parts(evaluations: Sequence[Evaluation]) -> str:
    """Same topic, cross topic, by length: whatever parts were measured apart."""
    heads = ["pairs", "same author", *(MEASURES[name].title for name in _OF_PARTS)]
    several = len(evaluations) > 1
    bodies = []
    for part in dict.fromkeys(part for each in evaluations for part in each.groups):
        measured = [(each.name, each.groups[part]) for each in evaluations if part in each.groups]
        columns = [
            _cells(name, [found.measures[name] for _, found in measured]) for name in _OF_PARTS
        ]
        rows = [
            f'<tr><th scope="row">{escape(name if several else part)}</th><td>{found.pairs:,}</td>'
            f"<td>{found.same_author:,}</td>{''.join(cells)}</tr>"
            for (name, found), *cells in zip(measured, *columns, strict=True)
        ]
        if several:
            width = len(heads) + 1
            rows.insert(0, f'<tr><th scope="rowgroup" colspan="{width}">{escape(part)}</th></tr>')
        bodies.append("\n".join(rows))
    if not bodies:
        return ""
    return _table(
        "Parts of the set",
        "A part of few pairs says little. – where a part has no pairs of one of the classes.",
        f'<tr><th scope="col">{"system" if several else "part"}</th>'
        + "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
        + "</tr>",
        bodies,
        "several" if several else "",
    )


def _table(title: str, caption: str, head: str, bodies: Iterable[str], kind: str) -> str:
    rows = "\n".join(f"<tbody>\n{body}\n</tbody>" for body in bodies)
    # It can be scrolled where it is too wide, by the keyboard, too.
    return f"""<section class="{kind}">
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
    known = [number for number in numbers if not math.isnan(number)]
    best = math.nan
    if higher_is_better is not None and len(numbers) > 1 and known:
        best = max(known) if higher_is_better else min(known)
    cells = []
    for number, interval in zip(numbers, intervals or [None] * len(numbers), strict=True):
        text = _number(number)
        if number == best:
            text = f"<b>{text}</b>"
        if interval is not None:
            text += f"<small>{_number(interval[0])} to {_number(interval[1])}</small>"
        cells.append(f"<td>{text}</td>")
    return cells


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3f}".replace("-", "−")
    return text.lstrip("−") if text == "−0.000" else text


def _figures(systems: Sequence[Answers]) -> str:
    drawn = []
    for at, drawing in enumerate(FIGURES.values(), 1):
        # As data: the ids inside one figure cannot meet those of another.
        data = base64.b64encode(svg_of(drawing.draw(systems))).decode("ascii")
        drawn.append(
            f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{escape(drawing.title)}">\n'
            f"<figcaption><strong>Figure {at}: {escape(drawing.title)}.</strong> "
            f"{escape(drawing.caption)}</figcaption></figure>"
        )
    joined = "\n".join(drawn)
    return f'<h2>Figures</h2>\n<div class="figures">\n{joined}\n</div>'
