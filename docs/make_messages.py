"""Write docs/messages.md, all warnings and errors in one place, from the code.

python docs/make_messages.py

What stands in braces is filled in when the message is shown. Messages that are put together
elsewhere, from parts, are not listed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adhominem import errors

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "adhominem"
PAGE = Path(__file__).with_name("messages.md")
HEAD = """# Messages

All warnings and errors, as they stand in the code; this page is made by `docs/make_messages.py`.
What stands in braces, like {name}, is filled in. Each should say what happened, what it means for
the number, and what to do. If one does not, or if you had to look twice, please open an issue.

In the terminal, results go to stdout and messages to stderr. The exit status is 0 when all went
well, 1 for an error, 2 for a wrong call, and 3 when the work was done but some of the input had
to be skipped; what was skipped is listed at the end.

## Warnings about a comparison

Each has a code. Programs should go by the code: it stays, while the words may change. Where no
statement is made, nothing is decided either; the number is shown for those who want to know.
Where a code stands for several messages, they come from different commands or cases.
"""
ERRORS = """
## Errors

An error ends a command, or one input of a batch is skipped because of it. Errors about an input
begin with the file and, where there is one, the line: `letters.jsonl:17: ...`. In Python, each is
an exception of this name, and all are `AdHominemError`s; the REST interface answers with the same
words.
"""
FILES = """
## Warnings about files and settings

These are Python warnings; a command shows them as a line that begins with `warning:`.
"""


@dataclass(frozen=True)
class Message:
    """A message of the code: the class or the code it belongs to, and its words."""

    kind: str
    parts: tuple[str, ...]
    place: str  # file
    blocks: str = ""


def words(node: ast.expr) -> str | None:
    """A text as it is written, with what is filled in between braces; None if it is not text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else _filled_in(part)  # type: ignore[misc]
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = words(node.left), words(node.right)
        return None if left is None or right is None else left + right
    return None


def _part(node: ast.expr) -> str:
    """A part of a caution; where it depends, what it can be."""
    if isinstance(node, ast.IfExp):
        return f"{_part(node.orelse)}; or {_part(node.body)}"
    return (
        words(node) or "{" + ast.unparse(node).partition("(")[0].strip("_").replace("_", " ") + "}"
    )


def _filled_in(node: ast.expr) -> str:
    """A word for what is filled in: the last name of the expression."""
    names = re.findall(r"[A-Za-z_]\w*", ast.unparse(getattr(node, "value", node)))
    dull = {"len", "str", "sorted", "join", "min", "max", "repr", "round", "shown", "id"}
    dull |= {"listed", "named"}
    telling = [name.strip("_") for name in names if name not in dull and not name.startswith("__")]
    return "{" + (telling[-1] if telling else "...").lower().replace("_", " ") + "}"


def messages() -> Iterator[Message]:
    """All messages of the package, file by file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield from _message(node, place)


def _message(node: ast.Call, place: str) -> Iterator[Message]:
    name = ast.unparse(node.func).rpartition(".")[2]
    arguments = [words(argument) for argument in node.args]
    if name in ("caution", "Caution") and len(arguments) > 1 and arguments[0]:
        blocks = [
            ast.unparse(word.value) for word in node.keywords if word.arg == "blocks_decision"
        ]
        parts = tuple(map(_part, node.args[1:4]))
        yield Message(arguments[0], parts, place, (blocks or [""])[0])
    elif name == "warn" and len(arguments) > 1 and arguments[0]:
        yield Message(ast.unparse(node.args[1]), (arguments[0],), place)
    elif _is_raised(name) and arguments and arguments[0]:
        yield Message(name, (arguments[0],), place)


def _is_raised(name: str) -> bool:
    kind = getattr(errors, name, None)
    is_error = isinstance(kind, type) and issubclass(kind, errors.AdHominemError)
    return is_error and name != "MissingExtraError"


def _cell(text: str) -> str:
    one_line = " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;")
    return re.sub(r"([*_])", r"\\\1", one_line)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _entry(one: Message) -> Iterator[str]:
    """A caution as a list of its parts."""
    blocks = {"": "", "True": " *No statement is made.*"}
    blocked = blocks.get(one.blocks, " *If much is copied, no statement is made.*")
    labels = ("What happened", "What it means for the number", "What to do")
    for label, part in zip(labels, one.parts, strict=False):
        end = blocked if label == labels[1] else ""
        yield f"- **{label}:** {_capital(_cell(part))}.{end}"
    yield ""


def messages_page() -> str:
    """The whole page."""
    told = list(messages())
    cautions = sorted(
        (one for one in told if one.kind.islower()), key=lambda one: (one.kind, one.place)
    )
    parts = [HEAD]
    for code in dict.fromkeys(one.kind for one in cautions):
        parts.append(f"### {code}\n")
        for one in cautions:
            if one.kind == code:
                parts += _entry(one)
    for head, ending in ((FILES, "Warning"), (ERRORS, "Error")):
        parts.append(head)
        for kind in _tree(ending):
            of_kind = [one for one in told if one.kind == kind]
            if not of_kind and kind != "MissingExtraError":
                continue
            summary = (getattr(errors, kind).__doc__ or "").strip().splitlines()[0]
            parts.append(f"### {kind}\n\n{summary}\n")
            if kind == "MissingExtraError":
                parts.append(f"- {_cell(str(errors.MissingExtraError('LIBRARY', 'EXTRA', 'X')))}")
            parts += dict.fromkeys(f"- {_cell(one.parts[0])}" for one in of_kind)
            parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _tree(ending: str) -> list[str]:
    """The names of the classes in the order of errors.py."""
    names = re.findall(r"^class (\w+)", Path(errors.__file__).read_text("utf-8"), re.MULTILINE)
    return [name for name in names if name.endswith(ending)]


if __name__ == "__main__":
    PAGE.write_text(messages_page(), "utf-8")
