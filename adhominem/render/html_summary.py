"""The top and the bottom of an explanation's page: the number, and all that it rests on."""

from __future__ import annotations

from adhominem.harmless import on_page
from adhominem.render.summary import NOT_A_VERDICT, background, probability, signed
from adhominem.verify.verification import Side, Verification

PAGE_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, footer { max-width: 80rem; margin: 0 auto; padding: 0 1rem; }
main > p, main > ul { max-width: 50rem; }
h1, h2 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin: 1.5rem 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2rem 0 .8rem; padding-top: .6rem; border-top: 1px solid #ccc; }
p, li, dd { overflow-wrap: anywhere; }
.number { margin: 1rem 0 0; font-size: 1.1rem; }
.number strong { margin-left: .4rem; font-size: 2rem; line-height: 1.2; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.verbal { margin: .2rem 0 1rem; font-size: 1.1rem; }
.beware { max-width: 50rem; margin: 1rem 0; padding: .6rem 1rem; border-left: .3rem solid #8a4500;
  background: #fff6ea; }
.beware h2 { margin: 0; padding: 0; border: 0; font-size: 1rem; }
.beware ul { margin: .3rem 0 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 1rem 0;
  font-size: .875rem; }
dt { font-weight: 600; }
dd { margin: 0; }
dd small { display: block; color: #555;
  font: .75rem/1.4 ui-monospace, "DejaVu Sans Mono", monospace; }
footer { color: #555; font-size: .8rem; padding-bottom: 2rem; margin-top: 2.5rem; }
@page { size: A4; margin: 15mm; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; }
  dt { margin-top: .4rem; }
}
@media print {
  html { font-size: 9.5pt; }
  main { max-width: none; padding: 0; }
  footer { display: none; }  /* the version stands above, and this may need a sheet of its own */
  h2 { break-after: avoid; }
  .beware { print-color-adjust: exact; -webkit-print-color-adjust: exact; break-inside: avoid; }
}
"""


def summary(verification: Verification) -> str:
    """The number with its words, warnings, and what was compared with which model."""
    warnings = "".join(f"<li>{on_page(each.message)}</li>" for each in verification.warnings)
    beware = f'<div class="beware"><h2>Beware</h2><ul>{warnings}</ul></div>' if warnings else ""
    against = background(verification)
    claim, _, reason = NOT_A_VERDICT.partition(":")
    return f"""<p class="number">log10 Bayes factor <strong>\
{signed(verification.log10_bayes_factor)}</strong></p>
<p class="verbal">{on_page(verification.verbal)}</p>
<p><strong>{claim}:</strong>{reason}</p>
<p>{probability(verification)} Decision: <strong>{on_page(verification.decision)}</strong>; \
{on_page(verification.reason)}.</p>
{f"<p>{on_page(against)}</p>" if against else ""}
{beware}
<dl>
<dt>First side</dt>
{_documents(verification.first)}
<dt>Second side</dt>
{_documents(verification.second)}
<dt>Model</dt>
<dd>{on_page(verification.model)}<small>SHA-256 {on_page(verification.model_sha256)}</small></dd>
<dt>Version</dt>
<dd>AdHominem {on_page(verification.version)}</dd>
</dl>"""


def footer(verification: Verification) -> str:
    """Who wrote the page."""
    return f"<footer><p>Written by AdHominem {on_page(verification.version)}.</p></footer>"


def _documents(side: Side) -> str:
    # One <dd> for all: the grid has two columns.
    shown = "".join(
        f"<div>{on_page(each.name)}, {each.tokens:,} tokens"
        f"<small>SHA-256 {on_page(each.sha256)}</small></div>"
        for each in side.documents
    )
    return f"<dd>{shown}</dd>"
