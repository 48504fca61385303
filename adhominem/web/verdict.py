"""An answer for people, as HTML: the number, its words, its prior, and what to beware of."""

from __future__ import annotations

from collections.abc import Sequence

from adhominem.harmless import on_page
from adhominem.render.summary import NOT_A_VERDICT, background, in_numbers, signed
from adhominem.scoring.decision import VerbalScale, probability_same_author, show_probability
from adhominem.verify.verification import Side, Verification
from adhominem.web.gauge import gauge

_OTHER_PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)


def verdict(verification: Verification, notes: Sequence[str] = ()) -> str:
    """All of it; `notes` is what was odd about the files."""
    stated = not any(each.decides for each in verification.warnings)
    against = background(verification)
    return f"""<section class="verdict" aria-labelledby="result">
<h2 id="result" tabindex="-1">Result</h2>
<p class="verbal">{on_page(verification.verbal)}</p>
{_strength(verification) if stated else ""}
{_beware(verification, notes)}
<p class="caveat"><strong>{NOT_A_VERDICT}</strong></p>
{_probability(verification) if stated else _unstated(verification)}
{f"<h3>Compared with</h3><p>{on_page(against)}</p>" if against else ""}
<h3>What was compared</h3>
<dl class="material">
<dt>First side</dt>{_documents(verification.first)}
<dt>Second side</dt>{_documents(verification.second)}
<dt>Model</dt><dd><div>{on_page(verification.model)}, AdHominem {on_page(verification.version)}
<small>SHA-256 {on_page(verification.model_sha256)}</small></div></dd>
</dl>
</section>"""


def _strength(verification: Verification) -> str:
    factor = verification.log10_bayes_factor
    return f"""<p class="number">log10 Bayes factor <strong>{signed(factor)}</strong></p>
<p class="times">{in_numbers(factor)}</p>
{gauge(factor)}
{_scale()}"""


def _probability(verification: Verification) -> str:
    """Never without its prior."""
    return f"""<h3>With what was believed before</h3>
<p>The probability that one person wrote both sides is
<strong>{show_probability(verification.probability_same_author)}</strong>, <strong>if it was
{verification.prior_same_author:g} before the texts were read</strong>. That prior belongs to the
case, and is yours to state.</p>
{_priors(verification)}
<p>If an answer has to be given: <strong>{on_page(verification.decision)}</strong>;
{on_page(verification.reason)}.</p>"""


def _unstated(verification: Verification) -> str:
    return f"""<details><summary>The number that was computed all the same</summary>
<p>log10 Bayes factor {signed(verification.log10_bayes_factor)}. Do not use it: the reasons are
given above.</p></details>"""


def _scale() -> str:
    rows = "".join(
        f"<tr><td>{start:g} or more</td><td>{on_page(words)}</td></tr>"
        for start, words in VerbalScale().rungs
    )
    return f"""<details><summary>The verbal scale</summary>
<table><caption>The size of the log10 Bayes factor, whatever its sign, and its words. Above 0 the
texts support one person, below 0 two people.</caption>
<thead><tr><th scope="col">size</th><th scope="col">words</th></tr></thead>
<tbody>{rows}</tbody></table></details>"""


def _beware(verification: Verification, notes: Sequence[str]) -> str:
    said = [
        f"<li>{on_page(each.message)}"
        f"{'. <strong>No statement is made for this reason.</strong>' if each.decides else ''}</li>"
        for each in verification.warnings
    ]
    said += [f"<li>{on_page(note)}</li>" for note in notes]
    if not said:
        return (
            '<div class="beware none"><h3>What speaks against trusting the number</h3>'
            "<p>Nothing of what AdHominem looks for was found. It cannot see several hands in one "
            "text, quotations, or the work of machines.</p></div>"
        )
    return (
        '<div class="beware"><h3>What speaks against trusting the number</h3>'
        f"<ul>{''.join(said)}</ul></div>"
    )


def _priors(verification: Verification) -> str:
    priors = sorted({*_OTHER_PRIORS, verification.prior_same_author})
    cells = []
    for prior in priors:
        after = float(probability_same_author(verification.log_bayes_factor, prior))
        own = ' class="own"' if prior == verification.prior_same_author else ""
        cells.append(
            f'<tr{own}><th scope="row">{prior:g}</th><td>{show_probability(after)}</td></tr>'
        )
    return f"""<details><summary>With another prior</summary>
<table class="priors"><caption>The same texts, and other beliefs before they were read</caption>
<thead><tr><th scope="col">before</th><th scope="col">after</th></tr></thead>
<tbody>{"".join(cells)}</tbody></table></details>"""


def _documents(side: Side) -> str:
    shown = "".join(
        f"<div>{on_page(each.name)}, {each.tokens:,} words and marks"
        f"<small>SHA-256 {on_page(each.sha256)}</small></div>"
        for each in side.documents
    )
    return f"<dd>{shown}</dd>"
