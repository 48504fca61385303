"""What parses that others send: no release with a known advisory is let in."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
REQUIREMENTS = [
    Requirement(line)
    for line in (*PROJECT["dependencies"], *(each for own in EXTRAS.values() for each in own))
]
PINS = {
    name: Version(version)
    for name, version in re.findall(
        r"^([\w-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE
    )
}
# The first release without a known advisory, and the last of the advisories.
FIRST_SAFE = {
    "cryptography": ("50.0.0", "CVE-2026-69247"),  # of encrypted PDFs
    "fastapi": ("0.109.1", "CVE-2024-24762"),
    "h11": ("0.16.0", "CVE-2025-43859"),
    "pyarrow": ("23.0.1", "CVE-2026-25087"),
    "pypdf": ("6.16.1", "CVE-2026-84311"),
    "python-multipart": ("0.0.31", "GHSA-v9pg-7xvm-68hf"),
    "starlette": ("1.3.1", "CVE-2026-54283"),
    "tokenizers": ("0.23.1", "AIKIDO-2026-10636"),
    "uvicorn": ("0.11.7", "CVE-2020-7695"),
}
# Nothing that others send reaches these: it is enough that what is installed here has no advisory.
PINNED_ALONE = {
    "lxml": ("6.1.0", "CVE-2026-41066"),  # of python-docx, which writes what tests read
    "pillow": ("12.3.0", "PYSEC-2026-3453"),  # draws for matplotlib and reportlab
    "pydantic": ("2.4.0", "CVE-2024-3772"),  # fastapi asks for a later one
    "reportlab": ("3.6.13", "CVE-2023-33733"),
    "torch": ("2.10.0", "CVE-2026-24747"),  # of pickles, which are never read
}


def named(requirement: Requirement) -> str:
    return requirement.name.lower()


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_what_is_pinned_is_what_is_asked_for(requirement: Requirement) -> None:
    if named(requirement) != "adhominem":
        assert PINS[named(requirement)] in requirement.specifier


@pytest.mark.parametrize("name", FIRST_SAFE)
def test_no_release_with_a_known_advisory_is_let_in(name: str) -> None:
    first, advisory = FIRST_SAFE[name]
    found = [each for each in REQUIREMENTS if named(each) == name]
    assert found, f"{name} is asked for by nothing"
    for requirement in found:
        (bound,) = [each for each in requirement.specifier if each.operator in (">=", "==")]
        assert Version(bound.version) >= Version(first), advisory


@pytest.mark.parametrize("name", [*FIRST_SAFE, *PINNED_ALONE])
def test_no_pin_has_a_known_advisory(name: str) -> None:
    first, advisory = {**FIRST_SAFE, **PINNED_ALONE}[name]
    assert PINS[name] >= Version(first), advisory


def test_the_server_asks_for_all_that_reads_requests() -> None:
    asked = {named(Requirement(line)) for line in EXTRAS["serve"]}
    assert asked == {"fastapi", "h11", "python-multipart", "starlette", "uvicorn"}
