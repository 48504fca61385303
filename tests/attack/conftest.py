"""How hard to attack, and a count of what was tried.

`make test` runs each attack for some seconds; `make attack` sets ADHOMINEM_ATTACK=long and runs
them for as long as it takes. Both print at the end how much of what was tried.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest

_COUNTED = "attack: "


@dataclass(frozen=True)
class Attack:
    """How hard this one is to be; it tells how often it tried what."""

    long: bool
    record: Callable[[str, object], None]

    def rounds(self, short: int, long: int) -> int:
        """How often to try: in every test run, and in a long attack."""
        return long if self.long else short

    def tried(self, what: str, times: int = 1) -> None:
        """For the count at the end: "kills", "fuzzed inputs", "patterns", "requests"..."""
        self.record(f"{_COUNTED}{what}", times)


@pytest.fixture
def attack(record_property: Callable[[str, object], None]) -> Attack:
    return Attack(os.environ.get("ADHOMINEM_ATTACK") == "long", record_property)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, times in report.user_properties:
                    if name.startswith(_COUNTED):
                        counts[name.removeprefix(_COUNTED)] += times
    if counts:
        told = ", ".join(f"{times:,} {what}" for what, times in sorted(counts.items()))
        terminalreporter.write_line(f"attacked with {told}")
