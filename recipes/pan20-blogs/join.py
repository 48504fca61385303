"""Join the posts of each author to texts of equally many posts.

    python recipes/pan20-blogs/join.py SOURCE TARGET [--only FILE] [--posts 2]

SOURCE is a JSON Lines file of documents, TARGET is one too; both may be packed. Documents of an
author are joined in their order, `--posts` to a text; what is left over is dropped, for authors
whose texts are longer than those of others would be known by that. An author with fewer documents
has one text, of all of them. With `--only`, documents count only if their ids are in FILE.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from adhominem.text.files import Document
from adhominem.text.readers import find_sources
from adhominem.text.writing import write_whole


def texts_of(documents: int, posts: int) -> list[range]:
    """Which of an author's documents make which text."""
    texts = max(1, documents // posts)
    return [range(at * posts, min(documents, (at + 1) * posts)) for at in range(texts)]


def join(documents: Sequence[Document], posts: int) -> Iterator[dict[str, str]]:
    """The texts of one author."""
    for number, chosen in enumerate(texts_of(len(documents), posts)):
        name = f"{documents[0].author}-{number}"
        text = "\n".join(documents[at].text for at in chosen)
        yield {"author": documents[0].author, "topic": "", "work": name, "id": name, "text": text}


def read(path: Path) -> Iterator[Document]:
    """The documents of a file."""
    for source in find_sources(path):
        yield from source.documents()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--only", type=Path)
    parser.add_argument("--posts", type=int, default=2)
    arguments = parser.parse_args()
    only = {document.id for document in read(arguments.only)} if arguments.only else None
    authors: dict[str, list[Document]] = {}
    for document in read(arguments.source):
        if only is None or document.id in only:
            authors.setdefault(document.author, []).append(document)
    arguments.target.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(arguments.target) as file:
        for documents in authors.values():
            for row in join(documents, arguments.posts):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
