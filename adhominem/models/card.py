"""The model card: what a model was made of, how good it is, and where it ends."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from pathlib import Path
from typing import Any

from adhominem.config import Config, NgramConfig
from adhominem.encoders.ngrams.counter import CHANNELS, NgramTable
from adhominem.models.calibration import CalibrationReport
from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import CARD
from adhominem.text.vocabulary import Vocabulary
from adhominem.text.writing import write_whole

_MEASURES = {
    "auc": "AUC",
    "c@1": "c@1",
    "f05u_2020": "F0.5u (2020)",
    "f1": "F1",
    "overall_2020": "overall (2020)",
    "cross_entropy": "cross entropy",
    "distance_auc": "distance AUC",
}
_CALIBRATION_MEASURES = ("auc", "cllr", "cllr_min", "cllr_cal", "eer", "ece")
_NO_DEV = "There was no dev set, so nothing is known about its accuracy."
_LIMITS = """\
## Limits

The Bayes factor is **not calibrated** on texts by authors other than those of training. On genres
unlike those above it may be far too extreme. It is evidence to be weighed, not a verdict. It
becomes a probability only together with a prior, which the texts cannot give.
"""


def model_card(
    config: Config,
    vocabulary: Vocabulary,
    corpus: dict[str, Any],
    scores: dict[str, Any],
    best_epoch: int,
) -> str:
    """The README.md of a model folder."""
    encoder, training = config.encoder, config.training
    return f"""# An AdHominem model

It turns a text into a linguistic embedding vector (LEV) of {encoder.lev_size} numbers, and compares
two of them by a Bayes factor: how much more probable they are if one person wrote both texts than
if two people did.

## Trained on

| corpus | authors | documents | tokens |
|---|---|---|---|
{_corpora(corpus)}

Vocabulary: {len(vocabulary.token_types):,} token types and {len(vocabulary.characters)} characters,
from these texts alone. The weights are those after epoch {best_epoch + 1} of at most
{training.epochs}, with seed {training.seed}. All settings are in `config.json`, the course of
training in `training.jsonl` and `entropy.png`.

## Scores on dev

{_table(scores)}

{_LIMITS}"""


def ngram_card(
    config: NgramConfig, table: NgramTable, corpus: dict[str, Any], scores: dict[str, Any]
) -> str:
    """The README.md of an n-gram model's folder."""
    counted = ", ".join(
        f"{size:,} {name.replace('_', ' ')}"
        for name, size in zip(CHANNELS, table.sizes, strict=True)
    )
    form = {
        "projection": f"reduced to {config.lev_size:,} dimensions by a learnt projection",
        "profile": f"kept as they are, in {config.lev_size:,} dimensions",
    }[config.form]
    rows = "\n".join(f"| {name} | {row['auc']:.3f} |" for name, row in scores.items())
    shown = f"| dev set | AUC |\n|---|---|\n{rows}" if scores else _NO_DEV
    return f"""# An AdHominem n-gram model

It counts n-grams ({counted}) and gives each a learnt weight; the weighted counts are {form}.
Two texts are compared, by a Bayes factor, in how they differ from other texts of their genre.

## Trained on

| corpus | authors | documents | tokens |
|---|---|---|---|
{_corpora(corpus)}

All settings are in `config.json`, the course of training in `training.jsonl`.

## AUC on dev, of the cosine with the set's own texts as the population

{shown}

{_LIMITS}"""


def _corpora(corpus: dict[str, Any]) -> str:
    return "\n".join(
        f"| {row['name']} | {row['authors']:,} | {row['documents']:,} | {row['tokens']:,} |"
        for row in corpus.get("corpora", [])
    )


def ensemble_card(members: list[str], scores: dict[str, Any], about: str = "") -> str:
    """The README.md of an ensemble's folder; `about` stands at its beginning."""
    listed = "\n".join(f"- [{name}]({name}/README.md)" for name in members)
    table = f"## Scores on dev\n\n{_table(scores)}\n\n" if scores else ""
    about = about.strip() or f"# An ensemble of {len(members)} AdHominem models"
    return f"""{about}

## Members

Before calibration, the probability is the mean of the members' probabilities; calibration gives
each member a weight.

{listed}

{table}{_LIMITS}"""


def read_card(folder: Path) -> str | None:
    """The card of a model, if it has one."""
    files = ModelFiles.at(folder)
    if not files.has(CARD):
        return None
    with reading(folder, CARD.name, "mend or remove it"):
        return files.read(CARD).decode("utf-8")


def calibrated_card(card: str, reports: Mapping[str, CalibrationReport]) -> str:
    """The card of a model that has been calibrated since it was written.

    `reports` are by how they are called, that without a population first. Its accuracy is left
    out, since it was that of another map: measure it again (`card_with`).
    """
    before_limits = card.partition("## Limits")[0].partition("## Calibration")[0]
    alone = next(iter(reports.values()))
    also = ", and with\ncompanions among them" if len(reports) > 2 else ""
    rows = "\n".join(
        f"| {mode}, {title} | "
        + " | ".join(f"{row[name]:.3f}" for name in _CALIBRATION_MEASURES)
        + " |"
        for mode, report in reports.items()
        for title, row in (("before", report.before), ("after", report.after))
    )
    bounds = "; ".join(
        f"{mode}, no log10 Bayes factor below {report.calibration.lower_bound / log(10):.2f} or "
        f"above {report.calibration.upper_bound / log(10):.2f} is reported"
        for mode, report in reports.items()
    )
    return f"""{before_limits}## Calibration

The map from the model's score to a log Bayes factor is {alone.calibration.method}. It was fitted to
{alone.calibration.pairs:,} pairs, {alone.same_author:,} of them by the same author, of
{alone.authors:,} authors that the model was not trained on ({", ".join(alone.sets)}): without a
relevant population, with each set's own texts as the population{also}.
{bounds[0].upper()}{bounds[1:]}.
"After" is measured on pairs whose authors the map has not seen.

| | {" | ".join(_CALIBRATION_MEASURES)} |
|---|{"---|" * len(_CALIBRATION_MEASURES)}
{rows}

## Limits

The Bayes factor can be taken at its word for texts like those of the calibration. On other genres
it may be too extreme. It is evidence to be weighed, not a verdict. It becomes a probability only
together with a prior, which the texts cannot give.
"""


def card_with(folder: Path, accuracy: str, lengths: str) -> None:
    """Put tables of how good a model is into its card, before its limits."""
    path = folder / CARD.name
    head, limits, tail = path.read_text("utf-8").partition("## Limits")
    head = head.partition("## Accuracy")[0]
    text = f"""{head}## Accuracy

Measured by `benchmarks/accuracy.py`, on authors that the model was neither trained nor calibrated
with. Every pair is answered, with a prior of 0.5. "Population" means with the set's own texts as
the relevant population; "companions" means that each text also draws on those of them that look as
if the same author wrote them (query expansion), as with `--population input`. A Cllr of 0 is
perfect; a system that always answers "no evidence either way" gets 1.

{accuracy}

### By length

Only the first words of both texts are compared, as many as the first column says. The figures are
means over all sets that have texts of that length.

{lengths}

{limits}{tail}"""
    with write_whole(path) as file:
        file.write(text)


def _table(scores: dict[str, Any]) -> str:
    if not scores:
        return _NO_DEV
    rows = "\n".join(
        f"| {name} | " + " | ".join(f"{row[key]:.3f}" for key in _MEASURES if key in row) + " |"
        for name, row in scores.items()
    )
    shown = [title for key, title in _MEASURES.items() if key in next(iter(scores.values()))]
    return f"""\
For each set, the range of probabilities that count as "no answer" has the width that is best for
that set. The cross entropy is in bits; guessing gets 1. The distance AUC, if given, is that of the
distance between the vectors alone.

| set | {" | ".join(shown)} |
|---|{"---|" * len(shown)}
{rows}"""
