"""The documentation as a site: it is built without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import adhominem

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built where no network can be reached."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    nowhere = "http://127.0.0.1:9"
    environment = {"NO_MKDOCS_2_WARNING": "1", "http_proxy": nowhere, "https_proxy": nowhere}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_of_docs_is_in_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file()
    for made in ("model-card.html", "changes.html"):
        assert (site / made).is_file()


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]*\bsrc=\"?([^\"\s>]+)", text)
        loaded += re.findall(r"<link[^>]*\bhref=\"?([^\"\s>]+)", text)
        assert loaded
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text("utf-8"))


def test_the_api_reference_has_every_public_name(site: Path) -> None:
    text = (site / "api.html").read_text("utf-8")
    for name, home in adhominem._HOMES.items():
        assert f'id="adhominem.{home}.{name}"' in text


def test_a_link_out_of_docs_leads_to_the_repository_or_to_a_copy(site: Path) -> None:
    text = (site / "index.html").read_text("utf-8")
    assert 'href="model-card.html"' in text
    assert 'href="https://github.com/adhominem/adhominem/blob/main/CONTRIBUTING.md"' in text
    assert 'href="../' not in text


def test_a_page_has_no_fault_that_axe_knows_and_asks_nobody(browser: Any, site: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    asked: list[str] = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "first-hour" / "linguist.html").as_uri())
        faults = axe.run(page).response["violations"]
        assert not faults, [(fault["id"], fault["nodes"][0]["html"]) for fault in faults]
    assert asked
    assert all(address.startswith(("file:", "data:")) for address in asked)
