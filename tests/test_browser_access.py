"""Every page under axe: nothing that keeps people from reading or using it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")
pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from browsers import browser
from heedful import report
from heedful.critic.data.audit import draw
from test_browser_view import Watched, serving
from viewing import make_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

PAGES = [
    ("", ""),
    ("small", ""),
    ("small", "/samples"),
    ("small", "/samples?status=unmet&q=rivers"),
    ("small", "/samples?group=repeats"),
    ("small", "/samples?show=verdicts&show=tags&show=cost&sort=-unmet"),
    ("small", "/samples/1"),
    ("panel", "/samples/7"),
    ("audit.csv", ""),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("access")
    make_run(folder / "runs" / "small", 12)
    make_run(folder / "runs" / "large", 12, commas=5)
    make_run(folder / "runs" / "other", 12, commas=3)
    make_run(folder / "runs" / "panel", 12, panel=True)
    draw(folder / "runs" / "small", folder / "runs" / "audit.csv", samples=5)
    return folder


def faults(page: Page) -> list[str]:
    """Say what axe finds serious, and where."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{fault['id']}: {fault['nodes'][0]['target']} {fault['nodes'][0]['html'][:200]}"
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_viewer(
    chromium: Browser, folder: Path, scheme: str
) -> None:
    found = []
    with serving(folder / "runs", folder / "cache") as address:
        context = chromium.new_context(color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]
        watched = Watched(context.new_page(), address)
        page = watched.page
        base = page.url.rstrip("/")
        for run, more in PAGES:
            if run:
                watched.open(run, more)
            found += [f"{run}{more}: {fault}" for fault in faults(page)]
        for chosen in (["large", "small"], ["large", "small", "other"]):
            page.goto(base)
            for name in chosen:
                page.get_by_label(f"Compare {name}").check()
            page.get_by_role("button", name="Compare runs").click()
            page.wait_for_selector(".lead")
            assert page.locator("[data-rows]").count() == (len(chosen) == 2)
            found += [f"compare {chosen}: {fault}" for fault in faults(page)]
        context.close()
        assert not watched.faults
    assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_reports(chromium: Browser, folder: Path, scheme: str) -> None:
    report(folder / "runs" / "large", output=folder / "report.html")
    context = chromium.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto((folder / "report.html").as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('figure')].every(one => one.querySelector('svg'))"
    )
    found = faults(page)
    context.close()
    assert not found, "\n".join(found)
