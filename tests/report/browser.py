"""A real browser that opens pages: a chromium without a window."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if BROWSER is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a page. What it says in the console or asks of a network fails the test."""
    contexts, problems = [], []

    def open_one(path: Path, fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(10_000)
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on(
            "request",
            lambda request: problems.append(request.url) if request.url[:5] != "file:" else None,
        )
        tab.on("dialog", lambda dialog: problems.append(dialog.message))
        tab.goto(path.as_uri() + fragment)
        wait_until(tab, "document.documentElement.dataset.ready")
        return tab

    yield open_one
    for context in contexts:
        context.close()
    assert problems == []


def wait_until(tab: Any, condition: str) -> None:
    """Wait for a condition without `eval`, which the page's policy forbids."""
    for _ in range(100):
        if tab.evaluate(condition):
            return
        tab.wait_for_timeout(50)
    raise AssertionError(f"not within 5 seconds: {condition}")
