"""The model card: what a model was made of, how good it is, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from adhominem.evaluation.answers import answers_from
from adhominem.evaluation.measures import measure
from adhominem.model.calibration import CalibrationReport, Validation
from adhominem.model.files import ModelFiles, reading
from adhominem.model.layout import CARD
from adhominem.model.writing import replace_files
from adhominem.ngrams.config import NgramConfig
from adhominem.ngrams.table import CHANNELS, NgramTable
from adhominem.paper.config import Config
from adhominem.score.calibration import Calibration
from adhominem.score.decision import probability_same_author
from adhominem.text.vocabulary import Vocabulary

_MEASURES = {
    "auc": "AUC",
    "c@1": "c@1",
    "f05u_2020": "F0.5u (2020)",
    "f1": "F1",
    "overall_2020": "overall (2020)",
    "cross_entropy": "cross entropy",
    "distance_auc": "distance AUC",
}
_FEWEST = 100  # cases of each class for a row
_CALIBRATION_MEASURES = ("auc", "cllr", "cllr_min", "cllr_cal", "eer", "ece")


def _render(template: str, **values: object) -> str:
    """A section in Markdown, by one of the templates in templates/."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("adhominem.model")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    formats = {"thousands": "{:,}", "hundredths": "{:.2f}", "rounded": "{:.3f}"}
    environment.filters |= {name: form.format for name, form in formats.items()}
    return environment.get_template(template).render(values) + "\n"


def model_card(
    config: Config,
    vocabulary: Vocabulary,
    corpus: dict[str, Any],
    scores: dict[str, Any],
    best_epoch: int,
) -> str:
    """The README.md of a network's folder."""
    return _render(
        "network.md",
        config=config,
        vocabulary=vocabulary,
        corpora=corpus.get("corpora", []),
        best_epoch=best_epoch,
        **_scores(scores),
    )


def ngram_card(
    config: NgramConfig, table: NgramTable, corpus: dict[str, Any], scores: dict[str, Any]
) -> str:
    """The README.md of an n-gram model's folder."""
    channels = zip(CHANNELS, table.sizes, strict=True)
    return _render(
        "ngrams.md",
        config=config,
        counted=[f"{size:,} {name.replace('_', ' ')}" for name, size in channels],
        corpora=corpus.get("corpora", []),
        scores=scores,
        architecture="ngrams",
    )


def ensemble_card(members: list[str], scores: dict[str, Any], about: str = "") -> str:
    """The README.md of an ensemble's folder, which begins with `about`."""
    about = about.strip() or f"# An ensemble of {len(members)} AdHominem models"
    return _render("ensemble.md", about=about, members=members, **_scores(scores))


def languages_card(languages: Sequence[str], scores: dict[str, Any], about: str = "") -> str:
    """The README.md of the folder of a model of several languages, which begins with `about`."""
    about = about.strip() or f"# An AdHominem model of {len(languages)} languages"
    architecture = {"architecture": "ngrams"}
    return _render("languages.md", about=about, languages=languages, scores=scores, **architecture)


def _scores(scores: dict[str, Any]) -> dict[str, Any]:
    """The scores on dev by set, and their measures."""
    row: dict[str, Any] = next(iter(scores.values()), {})
    measures = {name: title for name, title in _MEASURES.items() if name in row}
    return {"scores": scores, "measures": measures, "architecture": ""}


def read_card(folder: Path) -> str | None:
    """The card of a model; None if it has none."""
    files = ModelFiles.at(folder)
    if not files.has(CARD):
        return None
    with reading(folder, CARD.name, "mend or remove it"):
        return files.read(CARD).decode("utf-8")


def calibrated_card(
    card: str,
    calibration: Calibration,
    alone: CalibrationReport,
    population: CalibrationReport | None,
    validation: Validation,
    *,
    twin: bool = False,
) -> str:
    """The card of a model that was calibrated after the card was written, or by a `twin`.

    The accuracy is left out, since it was measured with other parameters: measure it again
    (`put_section`).
    """
    reports = {"without a population": alone}
    if population is not None:
        reports["with a population"] = population
    limits = {
        mode: [limit / log(10) for limit in calibration.widest(population=report is population)]
        for mode, report in reports.items()
    }
    return _render(
        "calibration.md",
        card=card.partition("## Limits")[0].partition("## Calibration")[0],
        alone=alone,
        reports=reports,
        limits=limits,
        measures=_CALIBRATION_MEASURES,
        conditions=_by_conditions(validation),
        twin=twin,
    )


def _by_conditions(validation: Validation) -> list[dict[str, Any]]:
    """The accuracy of Bayes factors by number of texts and size of the population."""
    rows = []
    for texts in (1, 3, 5):
        for least, most, texts_of in ((0, 0, "none"), (5, 10, "5 to 10"), (20, 50, "20 to 50")):
            within = (validation.population >= least) & (validation.population <= most)
            cases = validation[within & (validation.texts == texts)]
            if min(cases.same_author.sum(), (~cases.same_author).sum()) < _FEWEST:
                continue
            factors = cases.log_bayes_factor.astype(np.float64)
            wrong = np.where(cases.same_author, -factors, factors)
            answers = answers_from("", probability_same_author(factors), factors, cases.same_author)
            rows.append(
                {
                    "texts": texts,
                    "population": texts_of,
                    "cases": len(cases),
                    "beyond_2": float((np.abs(factors) > 2 * log(10)).mean()),
                    "wrong_beyond_1": float((wrong > log(10)).mean()),
                    **measure(answers),
                }
            )
    return rows


def put_section(folder: Path, name: str, **tables: str) -> None:
    """Put tables into a model's card, before its limits, or in place of the old ones.

    `name` is that of the section's template: "accuracy", or "unseen" for unseen genres.
    """
    section = _render(f"{name}.md", **tables)
    head, limits, tail = (read_card(folder) or "").partition("## Limits")
    title = section.partition("\n")[0] + "\n"
    before, _, old = head.partition(title)
    after = old[old.find("\n## ") + 1 :] if "\n## " in old else ""
    card = f"{before}{section.rstrip()}\n\n{after}{limits}{tail}"
    replace_files(folder, {CARD.name: card.encode("utf-8")})
