"""Indexes whose files say something else, with checksums that fit: as if made to do harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from adhominem.index.files import (
    IndexFile,
    read_arrays,
    read_manifest,
    write_arrays,
    write_manifest,
)

Arrays = dict[str, Any]


def rewrite(folder: Path, name: str, change: Callable[[Arrays], Arrays]) -> None:
    """Change the arrays of a file, and the manifest so that it fits."""
    manifest = read_manifest(folder)
    (before,) = (file for file in manifest.files() if file.name == name)
    after = write_arrays(folder, name, change(read_arrays(folder, before)))

    def new(file: IndexFile | None) -> IndexFile | None:
        return after if file == before else file

    shards = [
        replace(shard, levs=new(shard.levs), codes=new(shard.codes)) for shard in manifest.shards
    ]
    manifest = replace(
        manifest, shards=tuple(shards), view=new(manifest.view), chance=new(manifest.chance)
    )
    write_manifest(folder, manifest)
