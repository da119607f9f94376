"""A headless browser for tests of pages, where there is one."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

__all__ = ["browser"]

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def chromium() -> str:
    """Where Chromium is: ``HEEDFUL_CHROMIUM``, or one of the system."""
    named = os.environ.get("HEEDFUL_CHROMIUM")
    result = named or shutil.which("chromium") or shutil.which("chromium-browser")
    if not result:
        pytest.skip("there is no Chromium (HEEDFUL_CHROMIUM may name one)")
    return result


@contextmanager
def browser() -> Iterator[Browser]:
    """Start the browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium(), args=QUIET)
        try:
            yield started
        finally:
            started.close()
