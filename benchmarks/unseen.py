"""What a model is worth on genres that training did not see.

    python benchmarks/unseen.py CORPUS DEV WORK [--groups fiction,talk] [--set SETTING]
                                [--places CORPUS] [--models general-en] [--card]

CORPUS is what `adhominem prepare` made of texts of many genres, one corpus a genre; DEV holds dev
sets, each of the name of its genre, as pairs or prepared. For each group of genres, models are
trained without them (settings of a short training: `--set training.weight_steps=400`) and measured
on their dev sets; the group `none` leaves nothing out and is measured on all of them. `--places`
are prepared texts of genres that no model is trained on: like the shipped one, those trained here
then know where they lie, but for those that are like the group. WORK keeps the models and what they
say: what is there already is not done again, so several of these may run side by side, each with
groups and presets of its own, before one prints the tables of all.

Printed is the AUC of each member's log Bayes factor and of their sum, before calibration, without a
population and with the set's own texts as one. No dev set takes part in a training. `--models` are
further models, measured on all sets, as they are and as if they did not know the genres of the
set's group; what they were trained on they cannot forget. `--card` puts the tables into the card of
the first of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
from measure import run

import adhominem
from adhominem.evaluation.pan import auc
from adhominem.model.card import put_section
from adhominem.model.folder import model_folder, read_models
from adhominem.model.member import AnyModel
from adhominem.score.members import GenreMember
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer
from adhominem.text.corpus import PackedCorpus, is_packed
from adhominem.training.train import any_preset

GROUPS: dict[str, tuple[str, ...]] = {
    "none": (),
    "early": ("letters", "plays", "poetry"),
    "talk": ("podcast", "scotus"),
    "forums": ("email", "usenet", "reddit"),
    "technical": (
        *("student", "carpentries", "ropensci", "javablog", "endpoint", "scottlogic"),
        "proposals",
    ),
    "state": ("parliament", "pacific", "government", "opinions", "speeches"),
    "fiction": ("gutenberg", "wright", "scp", "stories"),
}
FIRST_GENRES = ("blogs", "gutenberg", "parliament", "reddit", "scotus", "scp", "wright")
# Sets of genres that no training has, and genres like them of which a model may know the place.
NEVER_TRAINED_ON = {"c50": ("news", "newswire", "editorials"), "fanfic18": ("stories",)}
MODES = ("alone", "population")
Said = Mapping[str, np.ndarray]  # by dev set: (modes, pairs), log Bayes factors


def without(corpus: PackedCorpus, genres: Sequence[str]) -> PackedCorpus:
    """A prepared corpus without the texts of these genres."""
    labels = corpus.labels
    dropped = [at for at, name in enumerate(labels.corpus_names) if name in genres]
    documents = np.flatnonzero(~np.isin(labels.corpus, dropped))
    authors, author = np.unique(labels.author[documents], return_inverse=True)
    chosen = replace(
        labels.select(documents),
        author=author.astype(np.int32),
        author_names=[labels.author_names[at] for at in authors],
    )
    kept = np.repeat(np.isin(np.arange(len(corpus)), documents), corpus.lengths)  # (tokens,)
    tokens = corpus.tokens[kept]
    rows = [row for row in corpus.description["corpora"] if row["name"] not in genres]
    counts = {"documents": len(documents), "tokens": len(tokens), "authors": len(authors)}
    return replace(
        corpus,
        tokens=tokens,
        offsets=np.cumsum([0, *corpus.lengths[documents]]),
        labels=chosen,
        ids=[corpus.ids[at] for at in documents],
        description={**corpus.description, **counts, "corpora": rows, "tokens_sha256": "part"},
    )


def measured(model: AnyModel, dev: Mapping[str, PackedCorpus]) -> tuple[Said, Said]:
    """A member's evidence: as it is, and as if it did not know the genres of a set's group."""
    assert model.genres is not None
    member = Scorer((GenreMember(model.genres),))
    encoder = model.encoder()
    known: dict[str, np.ndarray] = {}
    unknown: dict[str, np.ndarray] = {}
    for name, pairs in dev.items():
        ignorant = reduce(Scorer.without, group_of(name), member)
        keys = [pairs.document(at).tobytes() for at in range(len(pairs))]
        distinct = list(dict.fromkeys(keys))
        place = {key: at for at, key in enumerate(distinct)}
        texts = [
            [pairs.types[number] for number in np.frombuffer(key, pairs.tokens.dtype)]
            for key in distinct
        ]
        levs = encoder.encode(texts, [[] for _ in texts])
        tokens = np.log([[max(1, len(text))] for text in texts]).astype(np.float32)
        levs = np.concatenate([levs, tokens], axis=1)  # (texts, lev_size + 1)
        first, second = np.array([place[key] for key in keys]).reshape(-1, 2).T
        population = Population.of(levs)
        for said, scorer in ((known, member), (unknown, ignorant)):
            scores = [
                scorer.scores(levs[first], levs[second], given) for given in (None, population)
            ]
            said[name] = np.array([of_scores.total for of_scores in scores])
    return known, unknown


def with_places(model: AnyModel, places: PackedCorpus) -> AnyModel:
    """A member that knows the places of further genres, but was not trained on them."""
    assert model.genres is not None
    labels = places.labels
    texts = [[places.types[number] for number in places.document(at)] for at in range(len(places))]
    levs = model.encoder().encode(texts, [[] for _ in texts])
    centres = {
        name: levs[labels.corpus == at].mean(axis=0, dtype=np.float64)
        for at, name in enumerate(labels.corpus_names)
    }
    return replace(model, genres=model.genres.with_centres(centres))


def open_dev(folder: Path, names: Sequence[str]) -> dict[str, PackedCorpus]:
    """The existing dev sets of these names, prepared if they are not."""
    from adhominem.text.prepare import prepare_pairs

    sets = {}
    for path in sorted(folder.iterdir()):
        if path.name in names and is_packed(path):
            sets[path.name] = PackedCorpus.open(path)
        elif path.name in names:
            packed = folder / f".{path.name}.prepared"
            known = is_packed(packed)
            sets[path.name] = PackedCorpus.open(packed) if known else prepare_pairs(path, packed)
    return sets


def group_of(name: str) -> tuple[str, ...]:
    """The group of a dev set's genre, or an empty string."""
    groups = [*GROUPS.values(), *((name, *like) for name, like in NEVER_TRAINED_ON.items())]
    return next((genres for genres in groups if name in genres), ())


def save(path: Path, said: Said) -> Said:
    """Save a member's evidence on dev sets to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **said)  # type: ignore[arg-type]
    return said


def read(path: Path) -> Said:
    """The evidence that `save` wrote."""
    with np.load(path, allow_pickle=False) as table:
        return {name: table[name] for name in table.files}


def trained(
    corpus: Path, group: str, preset: str, settings: Sequence[str], output: Path, device: str
) -> AnyModel:
    """A model trained without a group of genres; read, if it exists already."""
    if not output.exists():
        packed = PackedCorpus.open(corpus)
        packed = without(packed, GROUPS[group]) if GROUPS[group] else packed
        config = any_preset(preset).with_settings(settings)
        adhominem.train(packed, {}, output, config=config, device=device, resume=True)
    (model,) = read_models(output)
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument(
        "--groups", default=",".join(GROUPS), help="names, with commas; empty: train nothing"
    )
    parser.add_argument("--presets", default="ngrams,ngram-profile")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--places", type=Path, help="a prepared corpus")
    parser.add_argument("--models", default="", help="further models, with commas")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--card", action="store_true", help="write the tables into the model card")
    arguments = parser.parse_args()
    presets = arguments.presets.split(",")
    everything = [path.name for path in sorted(arguments.dev.iterdir()) if path.name[0] != "."]
    dev = open_dev(arguments.dev, everything)
    systems: dict[str, dict[str, Said]] = {}  # by system, by member
    for group in filter(None, arguments.groups.split(",")):
        sets = GROUPS[group] or everything
        for preset in presets:
            output = arguments.work / group / preset
            knowing = "" if arguments.places is None else "-with-places"
            file = output.with_name(f"{preset}{knowing}.npz")
            if not file.exists():
                place = (arguments.corpus, group, preset, arguments.settings)
                model = trained(*place, output, arguments.device)
                if arguments.places is not None:
                    model = with_places(model, PackedCorpus.open(arguments.places))
                known, unknown = measured(model, {name: dev[name] for name in sets if name in dev})
                save(file, unknown if GROUPS[group] else known)
            title = "left out" if GROUPS[group] else "trained on"
            members = systems.setdefault(title, {})
            members[preset] = {**members.get(preset, {}), **read(file)}
            print(group, preset, file=sys.stderr)
    for name in filter(None, arguments.models.split(",")):
        for model in read_models(model_folder(name)):
            titles = Path(name).name, f"{Path(name).name}, genre unknown"
            files = [arguments.work / title / f"{model.folder.name}.npz" for title in titles]
            if not all(file.exists() for file in files):
                for file, said in zip(files, measured(model, dev), strict=True):
                    save(file, said)
            for title, file in zip(titles, files, strict=True):
                systems.setdefault(title, {})[model.folder.name] = read(file)
            print(name, model.folder.name, file=sys.stderr)
    truth = {name: np.array(pairs.same_author) for name, pairs in dev.items()}
    text = "\n".join(tables(systems, truth))
    print(text)
    if arguments.card:
        folder = model_folder(arguments.models.split(",")[0])
        put_section(folder, "unseen", tables=text)


def tables(
    systems: Mapping[str, Mapping[str, Said]], truth: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """The AUC of the sums by dev set; then the means over all sets that all systems have."""
    sums = {title: _sum(list(members.values())) for title, members in systems.items()}
    heads = [f"{title}, {mode}" for title in systems for mode in MODES]
    yield f"| dev set | pairs | {' | '.join(heads)} |"
    yield "|---" * (2 + len(heads)) + "|"
    for name, same_author in truth.items():
        cells = [
            auc(said[name][mode], same_author) if name in said else np.nan
            for said in sums.values()
            for mode in range(len(MODES))
        ]
        yield f"| {name} | {len(same_author)} | {' | '.join(map(_number, cells))} |"
    common = [name for name in truth if all(name in said for said in sums.values())]
    trained_on = [name for name in common if name not in NEVER_TRAINED_ON]
    for title, names in (
        ("genres of training", trained_on),
        ("of these the further genres", [one for one in trained_on if one not in FIRST_GENRES]),
        ("of none", [name for name in NEVER_TRAINED_ON if name in truth]),
    ):
        yield ""
        yield f"| mean of {len(names)} sets, {title} | alone | population |"
        yield "|---|---|---|"
        for system, members in systems.items():
            if not all(name in sums[system] for name in names):
                continue
            rows = {**members, "sum": sums[system]}
            for member, said in rows.items():
                means = [
                    float(np.mean([auc(said[at][mode], truth[at]) for at in names] or np.nan))
                    for mode in range(len(MODES))
                ]
                yield f"| {system}: {member} | {' | '.join(map(_number, means))} |"


def _sum(members: Sequence[Said]) -> Said:
    """For each dev set that all members have, the sum of their evidence, (modes, pairs)."""
    common = [name for name in members[0] if all(name in said for said in members)]
    return {name: np.sum([said[name] for said in members], axis=0) for name in common}


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}".replace("0.", ".", 1)


if __name__ == "__main__":
    run(main)
