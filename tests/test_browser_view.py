"""The viewer in a real browser, by hand and by key."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")

from browsers import browser
from heedful.critic.data.audit import Audit
from viewing import make_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

pytestmark = pytest.mark.browser

WAIT_MS = 90_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@contextmanager
def serving(folder: Path, cache: Path) -> Iterator[str]:
    """Serve a folder with the command; give the address with its token."""
    command = [sys.executable, "-m", "heedful", "view", str(folder)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            said = "".join(process.stdout.readline() for _ in range(3))
            result = re.search(r"http://\S+", said)
            assert result is not None, said
            yield result[0]
        finally:
            process.kill()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browser")
    make_run(folder / "runs" / "small")
    make_run(folder / "runs" / "large", commas=5)
    make_run(folder / "runs" / "panel", 30, panel=True)
    with serving(folder / "runs", folder / "cache") as result:
        yield result


def press(page: Page, *keys: str) -> None:
    """Press keys once the page is there: its script is the last to come."""
    page.wait_for_load_state()
    for key in keys:
        page.keyboard.press(key)


class Watched:
    """A page of a browser, with all that it should not do.

    Attributes:
        page: the page.
        faults: errors on the console, dialogs, requests to elsewhere.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.faults: list[str] = []
        self._base = address.partition("/?")[0]
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", self._interrupted)
        page.on("request", self._asked)
        page.goto(address)
        page.wait_for_url(f"{self._base}/")

    def _interrupted(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self._base}/", "data:")):
            self.faults.append(f"request: {request.url}")

    def open(self, run: str, more: str = "") -> Page:
        """Open a run by its name in the list, or a page below it."""
        self.page.goto(f"{self._base}/")
        href = self.page.get_by_role("link", name=run, exact=True).get_attribute("href")
        self.page.goto(f"{self._base}{href}{more}")
        return self.page


@pytest.fixture
def watched(chromium: Browser, address: str) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 1280, "height": 850})
    watched = Watched(context.new_page(), address)
    yield watched
    context.close()
    assert not watched.faults


def test_a_run_is_opened_filtered_and_paged_by_keys(watched: Watched) -> None:
    page = watched.page
    assert "token" not in page.url
    page.wait_for_selector("[data-row]")
    press(page, "j", "Enter")
    page.wait_for_url("**/run/*")
    page = watched.open("small")
    press(page, "s")
    page.wait_for_url("**/samples")
    press(page, "n")
    page.wait_for_url("**page=2")
    assert page.locator("[data-row]").count() == 10
    press(page, "/")
    page.keyboard.type("rivers")
    page.wait_for_url("**q=rivers**")
    page.wait_for_selector(".count:has-text('20 of 60')")
    press(page, "Escape")
    page.locator("select[name=status]").select_option("unmet")
    page.wait_for_selector(".count:has-text('10 of 60')")
    assert page.url.endswith("/samples?q=rivers&status=unmet")
    page.go_back()
    page.wait_for_selector(".count:has-text('20 of 60')")
    page.go_forward()
    page.wait_for_selector(".count:has-text('10 of 60')")
    page.reload()
    page.wait_for_selector(".count:has-text('10 of 60')")
    press(page, "j", "j", "Enter")
    page.wait_for_selector("text=2 of 10")
    press(page, "j")
    page.wait_for_selector("text=3 of 10")
    press(page, "k")
    page.wait_for_selector("text=2 of 10")
    press(page, "u")
    page.wait_for_selector(".count:has-text('10 of 60')")
    assert "q=rivers" in page.url


def test_what_belongs_to_a_constraint_is_marked(watched: Watched) -> None:
    page = watched.open("panel", "/samples/7")
    lit = page.locator("mark.lit")
    assert lit.count() == 0
    page.hover("#constraint-1")
    assert lit.all_inner_texts() == ["Use no commas.", "river"]
    page.hover("h1")
    assert lit.count() == 0
    page.focus("#constraint-2")
    assert lit.all_inner_texts() == ["Mention the delta."]
    page.click("mark[data-of='1'] >> nth=0")
    assert page.evaluate("document.activeElement.id") == "constraint-1"


def test_hostile_text_does_nothing(watched: Watched) -> None:
    for more in ("/samples", "/samples?q=onerror", "/samples/5"):
        page = watched.open("small", more)
        page.wait_for_timeout(100)
        assert page.locator("main img, main script").count() == 0
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) == 0
    shown = page.locator("article.response .said").inner_text()
    assert "<script>alert(1)</script></script>" in shown
    assert page.evaluate("getComputedStyle(document.querySelector('.response .said')).direction")


def test_judgments_are_labelled_by_keys_and_saved_at_once(
    chromium: Browser, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "runs" / "audited", 6)
    with serving(tmp_path / "runs", tmp_path / "cache") as address:
        context = chromium.new_context()
        watched = Watched(context.new_page(), address)
        page = watched.open("audited")
        page.get_by_text("Audit", exact=True).click()
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("text=row 1 of 6")
        for row in range(1, 7):
            page.wait_for_selector(f"text=row {row} of 6")
            press(page, "1" if row > 1 else "2")
            page.wait_for_selector(f"text={2 * row - 1} of 12 questions")
            if row == 3:
                press(page, "m")
                page.keyboard.type("looked twice, 是")
                press(page, "Enter")
                page.wait_for_selector("input[value='looked twice, 是']")
                page.reload()
                page.wait_for_selector("text=5 of 12 questions")
            press(page, "3" if row > 5 else "1")
            page.wait_for_selector(f"text={2 * row} of 12 questions")
        assert page.get_by_text("it is complete").is_visible()
        context.close()
        assert not watched.faults
    questions, _ = Audit(run / "audit.csv").measures()
    assert questions["judgment_correct"]["right"] == 5
    assert questions["explanation_correct"]["unsure"] == 1
    assert "looked twice, 是" in (run / "audit.csv").read_text(encoding="utf-8")


def test_constraints_are_labelled_by_keys_alone(chromium: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "mine", 3)
    with serving(tmp_path / "runs", tmp_path / "cache") as address:
        context = chromium.new_context()
        watched = Watched(context.new_page(), address)
        page = watched.open("mine", "/samples/1")
        pressed = page.locator("form.label [aria-pressed=true]")
        press(page, "1")
        page.wait_for_url("**#constraint-1")
        page.wait_for_selector("#constraint-2:focus")
        press(page, "0")
        page.wait_for_selector("#constraint-2 [aria-pressed=true]")
        assert [text.split()[0] for text in pressed.all_inner_texts()] == ["met", "unmet"]
        page.focus("#constraint-1")
        press(page, "?")
        page.wait_for_selector("#constraint-1 [aria-pressed=true]", state="detached")
        press(page, "j")
        page.wait_for_url("**/samples/2")
        context.close()
        assert not watched.faults
    (row,) = map(json.loads, run.with_name("mine.labels.jsonl").read_text().splitlines())
    assert row["labels"] == [None, False]


def test_two_runs_are_compared(watched: Watched) -> None:
    page = watched.page
    button = page.get_by_role("button", name="Compare runs")
    assert button.is_disabled()
    page.get_by_label("Compare large").check()
    page.get_by_label("Compare small").check()
    press(page, "c")
    page.wait_for_selector("text=Verdicts that differ")
    press(page, "j", "Enter")
    page.wait_for_selector("table.verdicts tr.differs")
    assert page.locator("article.response").count() == 2
    press(page, "u")
    page.wait_for_selector("text=Verdicts that differ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_print(chromium: Browser, address: str, scheme: str) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)  # type: ignore[arg-type]
    watched = Watched(context.new_page(), address)
    for cell in watched.page.locator(".runs tbody td, .runs tbody th").all():
        place = cell.bounding_box()
        assert place is not None
        assert place["x"] + place["width"] <= 360
    for run, more in (("small", ""), ("small", "/samples"), ("panel", "/samples/7")):
        page = watched.open(run, more)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator(".pager").first.is_visible()
    assert page.locator(".constraint").first.is_visible()
    context.close()
    assert not watched.faults


def test_keys_are_told_and_leave_fields_alone(watched: Watched) -> None:
    page = watched.open("small", "/samples")
    press(page, "?")
    dialog = page.locator("dialog[open]")
    assert "search for a text" in dialog.inner_text()
    press(page, "Escape")
    assert dialog.count() == 0
    press(page, "/")
    page.keyboard.type("jkn?")
    assert page.get_by_label("text", exact=True).input_value() == "jkn?"
    assert page.locator("dialog[open]").count() == 0
