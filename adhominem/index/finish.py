"""What searches need beside the texts: population, view and codes, made once all is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Levs
from adhominem.index.files import (
    Manifest,
    Shard,
    checked,
    damaged,
    read_arrays,
    write_arrays,
    write_manifest,
)
from adhominem.index.store import COHORT, Store
from adhominem.index.view import SAMPLE, View
from adhominem.score.population import FEWEST, Population
from adhominem.verify.verifier import Verifier

_GROWN = 2.0  # times as many texts as when the view was made: then it is made again
_AT_ONCE = 256
_MORE = 16_384  # texts, at most, that correct the directions of a view


def finished(
    folder: Path,
    manifest: Manifest,
    verifier: Verifier,
    on_texts: Callable[[int], None] = lambda count: None,
) -> Manifest:
    """An index that can be searched; what is made already is not made again."""
    store = Store(folder, manifest)
    population = store.make_population(verifier)
    if population is None:  # too few texts for one: each is compared by itself
        return manifest
    if not manifest.author_share:
        manifest = replace(manifest, author_share=population.authors / population.texts)
        write_manifest(folder, manifest)
        store = Store(folder, manifest)
    view = read_view(store, verifier, population)
    if view is None or population.texts > _GROWN * view.population.texts:
        manifest, view = with_view(store, verifier, population)
    assert manifest.view is not None
    for at, shard in enumerate(manifest.shards):
        if shard.codes is None:
            made = with_codes(store, at, shard, view, manifest.view.sha256)
            shards = (*manifest.shards[:at], made, *manifest.shards[at + 1 :])
            manifest = replace(manifest, shards=shards)
            write_manifest(folder, manifest)
        on_texts(shard.texts)
    return manifest


def with_view(store: Store, verifier: Verifier, population: Population) -> tuple[Manifest, View]:
    """The manifest of an index with a new view, which is written here, and without codes."""
    view = View(verifier.scorer, population).with_directions(
        store.levs(store.spread(SAMPLE)), _more(store)
    )
    manifest = store.manifest
    told = {
        **view.arrays(),
        "texts": np.array([population.texts]),
        "lev_mean": population.lev_mean,
        "authors": np.array([population.authors]),
        "cohort": store.spread(COHORT),
    }
    name = f"view-{manifest.next_number:06}.safetensors"
    file = write_arrays(store.folder, name, told)
    shards = tuple(replace(shard, codes=None) for shard in manifest.shards)
    manifest = replace(manifest, view=file, shards=shards, next_number=manifest.next_number + 1)
    write_manifest(store.folder, manifest)
    return manifest, view


def _more(store: Store) -> Iterator[Levs]:
    """Texts that correct the directions of a view: of a large index a quarter, up to a point."""
    numbers = store.spread(min(_MORE, len(store) // 4))
    for at in range(0, len(numbers) if len(numbers) > SAMPLE else 0, _AT_ONCE):
        yield store.levs(numbers[at : at + _AT_ONCE])


def with_codes(store: Store, at: int, shard: Shard, view: View, of_view: str) -> Shard:
    """A shard with the codes of its texts, which are written here."""
    parts: dict[str, list[npt.NDArray[Any]]] = {}
    for begin in range(0, shard.texts, _AT_ONCE):
        rows = np.arange(begin, min(begin + _AT_ONCE, shard.texts))
        levs = store.levs(rows + store.begins[at])
        points = view.points(levs)
        for name, array in {"codes": view.codes(levs, points), **points.arrays()}.items():
            parts.setdefault(name, []).append(array)
    arrays = {name: np.concatenate(several) for name, several in parts.items()}
    stem = shard.levs.name.removesuffix(".safetensors").replace("texts", "codes")
    name = f"{stem}-{sha256(of_view.encode()).hexdigest()[:4]}.safetensors"
    return replace(shard, codes=write_arrays(store.folder, name, arrays))


def read_codes(store: Store, shard: Shard, view: View | None = None) -> dict[str, npt.NDArray[Any]]:
    """The codes of a shard that has some; by a view also the points, and all of its shape.

    An IndexFolderError names damage.
    """
    assert shard.codes is not None
    arrays = read_arrays(store.folder, shard.codes)
    shapes = {"codes": (shard.texts, None)} if view is None else view.shapes(shard.texts)
    kinds = {"codes": "i1", "places": "f2"}
    try:
        return {
            name: checked(arrays, name, kinds.get(name, "f4"), *shapes[name]) for name in shapes
        }
    except ValueError as error:
        raise damaged(store.folder / shard.codes.name, error) from None


def read_view(store: Store, verifier: Verifier, population: Population) -> View | None:
    """The view that the codes of an index were made by; None if there is none yet.

    It has the centre that the index had then; `population` is what it is now.
    """
    file = store.manifest.view
    if file is None:
        return None
    arrays = read_arrays(store.folder, file)
    size = verifier.scorer.lev_size
    try:
        texts, cohort = checked(arrays, "texts", "i8", 1), checked(arrays, "cohort", "i8", None)
        authors = checked(arrays, "authors", "f8", 1)[0]
        if (
            texts[0] < FEWEST
            or not 0 < authors <= texts[0]
            or not len(cohort)
            or not 0 <= cohort.min() <= cohort.max() < store.numbers
        ):
            raise ValueError("its texts are not those of the index")
        then = replace(
            population,
            texts=int(texts[0]),
            lev_mean=np.array(checked(arrays, "lev_mean", "f8", size)),
            seeming_authors=float(authors),
            cohort=store.levs(cohort),
            memory={},
        )
        return View.from_arrays(verifier.scorer, then, arrays)
    except ValueError as error:
        raise damaged(store.folder / file.name, error) from None
