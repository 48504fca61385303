"""Teach a model what texts by machines look like, so that it warns of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import EmptyTextError, InputError, OptionError
from adhominem.jobs.inputs import Corpora, Watch, reading, unwatched
from adhominem.jobs.workers import encode_documents, encoder
from adhominem.model.folder import is_shipped, model_folder
from adhominem.model.writing import write_machine_look
from adhominem.score.machine import SHORTEST, MachineLook
from adhominem.text.files import Document
from adhominem.text.readers import check_names
from adhominem.text.writing import locked
from adhominem.training.prose import draw
from adhominem.verify.verifier import load

TEXTS = 300  # of a source


@dataclass(frozen=True)
class LearntMachineLook:
    """What was learnt: the shares of texts that look machine-written, if they are unknown.

    Texts by a machine are judged by what was learnt from the other sources alone, those of a genre
    by what was learnt without it.
    """

    model: Path
    texts: dict[str, int]  # by source
    detected: dict[str, float]  # of the texts by machines, by source
    false_alarms: dict[str, float]  # of the texts by people, by source


def learn_machine_look(
    model: str | Path,
    corpora: Corpora,
    machines: Corpora,
    *,
    texts: int = TEXTS,
    jobs: int | None = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> LearntMachineLook:
    """Learn it from corpora by people, each a genre, and from texts by machines.

    Up to so many `texts` of each source are taken, by chance; those of fewer than 200 words and
    marks are left out. What was learnt is saved in the model's folder.
    """
    folder = model_folder(model)
    if is_shipped(folder):
        raise OptionError(
            f"{folder.name} comes with the package; copy it first (cp -r {folder} my-model) and "
            "teach the copy"
        )
    verifier = load(folder)
    if all(member.scorer.is_sparse for member in verifier.members):
        raise OptionError(f"{folder.name} has sparse LEVs alone; expected a member with dense ones")
    with locked(folder), encoder(folder, verifier, jobs) as encode:
        groups: list[dict[str, FloatArray]] = []
        for title, sources in (("people", corpora), ("machines", machines)):
            drawn = _drawn(sources, texts, title, skipped, watch)
            encoded = {}
            with watch(f"encoding {title}", sum(map(len, drawn.values()))) as on_documents:
                for name, documents in drawn.items():
                    _, levs = encode_documents(documents, encode, skipped, on_documents)
                    long = levs.log_tokens >= np.log(SHORTEST) - 1e-6
                    if not long.any():
                        raise EmptyTextError(
                            f"no text has {SHORTEST} words and marks; expected longer ones", name
                        )
                    encoded[name] = verifier.scorer.dense_columns(levs[long])
            groups.append(encoded)
        people, by_machines = groups
        with watch("learning", 1 + len(by_machines)) as on_fits:
            look, alarms = MachineLook.fit(list(by_machines.values()), people)
            on_fits(1)
            detected = {}
            for name, rows in by_machines.items():
                others = [table for other, table in by_machines.items() if other != name]
                without, _ = MachineLook.fit(others or [rows], people)
                detected[name] = float(np.mean(without.scores(rows) > 0))
                on_fits(1)
        write_machine_look(folder, look)
    counts = {name: len(rows) for group in groups for name, rows in group.items()}
    return LearntMachineLook(folder, counts, detected, alarms)


def _drawn(
    corpora: Corpora, texts: int, title: str, skipped: list[InputError] | None, watch: Watch
) -> dict[str, list[Document]]:
    """Texts of each source, by chance."""
    with reading(corpora, f"reading {title}", watch) as (sources, on_bytes):
        check_names(sources)
        drawn = {}
        for source in sources:
            documents = source.documents(
                author_required=False, labelled=False, skipped=skipped, on_bytes=on_bytes
            )
            drawn[source.name] = draw(documents, texts)
            if not drawn[source.name]:
                raise EmptyTextError(
                    "there is no text to learn from; expected one or more", source.path
                )
    return drawn
