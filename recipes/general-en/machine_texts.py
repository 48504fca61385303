"""Essays and stories by people and by machines, each writer and genre in a file of its own.

    python machine_texts.py TEXTS FOLDER

FOLDER gets people/GENRE.jsonl and machines/WRITER-GENRE.jsonl.
"""

import json
import lzma
import sys
from pathlib import Path

NAMES = {"essay": "essays", "wp": "stories"}  # of those by people, as genres


def main(texts: str, folder: str) -> None:
    files = {}
    with lzma.open(texts, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            genre, writer = row["genre"], row["writer"]
            name = f"people/{NAMES[genre]}" if writer == "human" else f"machines/{writer}-{genre}"
            files.setdefault(name, []).append({"id": row["id"], "text": row["text"]})
    for name, documents in files.items():
        path = Path(folder) / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
