"""The report in a real browser: drawn, quiet, usable by keyboard, on a phone and on paper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

import pytest

from browsers import browser
from heedful import Constraint, Message, Recording, Sample, evaluate, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "\"'><img src=x onerror=\"document.title = 'taken'\">",
    "</script></style></title><script>document.title = 'taken'</script>",
    "<svg onload=\"document.title = 'taken'\"><a href='javascript:alert(1)'>x</a>",
    "javascript:document.title='taken'",
    "\x00\x07\x1b[31m \u202egnirts\u202c \u2066 \ufeff",
    "شكرا جزيلا على السؤال. " * 20,
    "Z" + "\u0335\u0341" * 2000,
    "w" * 20_000,
    "x" * 1_000_000,
    "答" * 5_000,
    "http://192.0.2.1/a.png ![a](http://192.0.2.1/b.png) {{ datum.x }}",
)


def sample(number: int, words: str) -> Sample:
    """A sample that has the same words wherever a sample has words."""
    return Sample(
        id=f"{number} {words[:5000]}",
        conversation=(Message(role="user", content=words),),
        checklist=tuple(
            Constraint(text=words[:5000] or "-", type=f"{words[:200]}{place % 3}")
            for place in range(1 + number % 4)
        ),
        response=words,
        tags={"task": f"{words[:300]} {number % 5}", words[:60] or "tag": number % 2},
        recording=Recording(
            prompt="native",
            verdicts=tuple(
                {"status": status, "explanation": words[:5000]}
                for status in ("unmet", "met", "unparsed", "met")[: 1 + number % 4]
            ),
        ),
    )


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with browser() as item:
        yield item


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on a run that holds hostile texts."""
    folder = tmp_path_factory.mktemp("report")
    rows = [sample(number, HOSTILE[number % len(HOSTILE)]) for number in range(12)]
    evaluate(rows, judge="recorded", run=folder / "<b>one<b>")
    report(folder / "<b>one<b>", output=folder / "report.html", examples=12)
    return folder / "report.html"


class Opened:
    """A page that notes what it asks for and complains of."""

    def __init__(self, started: Browser, path: Path, **context: Any) -> None:
        self.page: Page = started.new_page(**context)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(path.as_uri())
        self.page.wait_for_function(
            "document.querySelectorAll('figure').length"
            " === document.querySelectorAll('figure svg[aria-label]').length"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()


def test_it_draws_its_charts_asks_for_nothing_and_complains_of_nothing(
    started: Browser, path: Path
) -> None:
    with Opened(started, path) as opened:
        page = opened.page
        assert page.locator("figure svg").count() >= 3
        assert page.locator("figure svg path[aria-roledescription='point']").count() > 0
        for fold in page.locator("details > summary").all():
            fold.click()
        page.wait_for_timeout(200)
        assert opened.requests == [path.as_uri()]
        assert opened.complaints == []


def test_hostile_words_do_nothing(started: Browser, path: Path) -> None:
    with Opened(started, path) as opened:
        page = opened.page
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        page.wait_for_timeout(300)
        assert "taken" not in page.title()
        assert (
            page.locator("main img, main a[href^='javascript'], main script:not([type])").count()
            == 0
        )
        assert page.locator("text=U+202E").count() > 0
        assert opened.requests == [path.as_uri()]
        # Stacked marks stay in their line, and huge words in their column.
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


def test_pointing_at_a_mark_tells_its_numbers_as_text(started: Browser, path: Path) -> None:
    with Opened(started, path) as opened:
        page = opened.page
        page.locator("#breakdowns > summary").click()
        page.locator("#breakdowns figure svg path[aria-roledescription='point']").first.hover()
        told = page.locator("#vg-tooltip-element")
        told.wait_for(state="visible")
        assert re.search(r"counts\s*\d+ of \d+", told.inner_text())
        assert told.locator("img, script, svg, a").count() == 0
        assert told.evaluate("one => getComputedStyle(one).position") == "fixed"
        assert opened.requests == [path.as_uri()]
        assert opened.complaints == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways_but_what_may(started: Browser, path: Path, width: int) -> None:
    with Opened(started, path, viewport={"width": width, "height": 800}) as opened:
        page = opened.page
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.evaluate(
            """width => [...document.querySelectorAll("h1, h2, h3, p, summary, .said, figure")]
            .filter(one => one.getBoundingClientRect().right > width + 1
                && !one.closest(".wide")).length""",
            width,
        )
        assert outside == 0


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_reader_chooses_light_or_dark(started: Browser, path: Path) -> None:
    with Opened(started, path, color_scheme="light") as opened:
        page = opened.page
        behind = "getComputedStyle(document.body).backgroundColor"
        mark = "getComputedStyle(document.querySelector('figure svg text')).fill"
        assert luminance(page.evaluate(behind)) > 0.9
        assert luminance(page.evaluate(mark)) < 0.1
        page.get_by_role("button", name="Dark").click()
        assert luminance(page.evaluate(behind)) < 0.1
        assert luminance(page.evaluate(mark)) > 0.5
        page.reload()
        assert luminance(page.evaluate(behind)) < 0.1


def test_the_keyboard_reaches_everything_and_opens_what_is_folded(
    started: Browser, path: Path
) -> None:
    with Opened(started, path) as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        reached = set()
        for _ in range(400):
            page.keyboard.press("Tab")
            at = page.evaluate(
                "[document.activeElement.tagName, document.activeElement.textContent.slice(0, 40)]"
            )
            if at[0] == "BODY":
                break
            reached.add(at[0])
            outlined = page.evaluate(
                "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
            )
            assert outlined, at
        assert {"A", "BUTTON", "SUMMARY"} <= reached
        for fold in ("#examples", "#examples details"):
            first = page.locator(fold).first
            first.locator("summary").first.focus()
            page.keyboard.press("Enter")
            assert first.get_attribute("open") is not None


def test_paper_is_light_and_shows_what_is_folded(started: Browser, path: Path) -> None:
    with Opened(started, path, color_scheme="dark") as opened:
        page = opened.page
        page.emulate_media(media="print", color_scheme="dark")
        assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
        assert page.locator(".bar").is_hidden()
        closed = page.locator("details:not([open])")
        assert closed.count() > 0
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert closed.count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert closed.count() > 0
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_scripts_all_tables_are_there(started: Browser, path: Path) -> None:
    page = started.new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    page.locator("#metrics > summary").click()
    assert page.locator("table").first.is_visible()
    assert page.locator("#metrics td").first.is_visible()
    assert page.locator(".drawing").first.is_hidden()
    page.locator("#examples > summary").click()
    page.locator("#examples details summary").first.click()
    assert page.locator("#examples .checklist").first.is_visible()
    page.close()
