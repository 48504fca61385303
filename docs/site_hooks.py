"""What MkDocs does beside its own: pages that are made, and links to files outside docs/.

Links in the pages are those that GitHub follows. A link to a file outside docs/ leads to the site's
copy of it, if there is one, and else to the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import adhominem

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/adhominem/adhominem/blob/main/"
COPIES = {  # files outside docs/ that the site has, and where
    "adhominem/model/shipped/general-en/README.md": "model-card.md",
    "CHANGELOG.md": "changes.md",
}
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
_ROOMS = {  # of the API reference
    "verify": "Comparing",
    "questions": "Questions",
    "index": "Searching",
    "render": "Pages",
    "jobs": "Whole jobs, from files to files",
    "evaluation": "Measuring",
    "score": "Scores and populations",
    "text": "Texts",
    "pairs": "Pairs",
    "paper": "The paper",
    "ngrams": "n-grams",
    "training": "Training",
    "model": "Models",
    "cli": "This installation",
    "errors": "Errors and warnings",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of other files."""
    for source, page in COPIES.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=led_home(text, source, page)))
    api = files.get_file_from_path("api.md")
    assert api is not None
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links out of docs/ to where the site has the file, or the repository."""
    uri = page.file.src_uri
    if uri == "api.md":
        return f"{markdown}\n{api_reference()}"
    return markdown if uri in COPIES.values() else led_home(markdown, f"docs/{uri}", uri)


def led_home(text: str, source: str, page: str) -> str:
    """A page's text with the links of the file `source` as a page of the site needs them."""

    def lead(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        anchor = match[2] or ""
        if target in COPIES:
            target = f"docs/{COPIES[target]}"
        if not target.startswith("docs/"):
            return f"]({REPOSITORY}{target}{anchor})"
        return f"]({posixpath.relpath(target, posixpath.dirname(f'docs/{page}'))}{anchor})"

    return _LINK.sub(lead, text)


def api_reference() -> str:
    """All public names by room, in the words of their docstrings."""
    homes: dict[str, list[str]] = {}
    for name, home in adhominem._HOMES.items():
        homes.setdefault(home.partition(".")[0], []).append(f"adhominem.{home}.{name}")
    missing = homes.keys() - _ROOMS.keys()
    if missing:
        raise ValueError(f"rooms without a heading in the API reference: {sorted(missing)}")
    parts = []
    for room, heading in _ROOMS.items():
        parts += [f"## {heading}\n", *(f"::: {path}\n" for path in homes.get(room, []))]
    return "\n".join(parts)
