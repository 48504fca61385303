"""Write docs/commands.md, the reference of all commands, from their --help.

python docs/make_commands.py
"""

from __future__ import annotations

from pathlib import Path

import click

from adhominem.cli import main

PAGE = Path(__file__).with_name("commands.md")
WIDTH = 88  # of the help, whatever the terminal
HEAD = """# Commands

What `adhominem COMMAND --help` says of each command. This page is made by `docs/make_commands.py`.
Results go to stdout, everything else to stderr. Exit status: 0 when all went well, 1 for an error,
2 for a wrong call, 3 when the work was done but some of the input had to be skipped.
"""


def commands_page() -> str:
    """The whole page."""
    settings = main.context_settings
    top = click.Context(main, info_name="adhominem", terminal_width=WIDTH, **settings)
    parts = [HEAD, f"```text\n{main.get_help(top)}\n```\n"]
    for name, command in main.commands.items():
        context = click.Context(command, info_name=name, parent=top)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(commands_page(), "utf-8")
