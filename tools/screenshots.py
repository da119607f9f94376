"""Make pictures of every page: of the viewer and of the reports, light, dark, on a phone, on paper.

    python tools/screenshots.py                   # writes docs/screens/*.webp, and its index.md
    python tools/screenshots.py -o FOLDER --format png

The runs behind them are made from ``examples/`` with the mock server, so the pictures need no
model and no data; their verdicts mean nothing. Needs Playwright and Chromium, as the browser lane.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browsers import browser  # noqa: E402 - the path to it is set above
from heedful.critic.data.audit import draw as draw_audit  # noqa: E402 - likewise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

EXAMPLES = ROOT / "examples"

RUNS = """
checklist examples/prompts.jsonl --model large -o checklists.jsonl
respond checklists.jsonl --model large --samples 6 -o large.jsonl
respond checklists.jsonl --model small --samples 6 -o small.jsonl
respond checklists.jsonl --model medium --samples 6 -o medium.jsonl
evaluate large.jsonl --judge rules,compiled,checklist --model medium --run runs/large
evaluate small.jsonl --judge rules,compiled,checklist --model medium --run runs/small
evaluate medium.jsonl --judge rules,compiled,checklist --model medium --run runs/medium
evaluate large.jsonl -m large -m medium -m small --judge checklist --run runs/panel
evaluate examples/quickstart.jsonl --run runs/quickstart
evaluate examples/labelled.jsonl --judge checklist --model large --run runs/labelled
judge-accuracy examples/labelled.jsonl --runs runs/labelled -o runs/accuracy.json
bench criticbench build examples/sums.jsonl -m small -m large --samples 8 --run bench
bench criticbench run bench -m small -m large --repeats 2 --check own --run runs/criticbench
bench criticbench report runs/criticbench --size small=2 --size large=30 -o criticbench
bench realcritic run examples/solutions.jsonl --model large --rounds 2 --run runs/realcritic
bench realcritic report runs/realcritic -o realcritic
report runs/large -o report.html
"""
"""What is run before the pictures; each command that asks a model gets the mock's address."""

ASKS = (
    *("checklist", "respond", "evaluate", "bench criticbench build", "bench criticbench run"),
    "bench realcritic run",
)

PAGES = {
    "runs": ("All runs", "", ""),
    "run": ("A run", "large", ""),
    "samples": ("Samples", "large", "/samples?status=unmet"),
    "repeats": ("Repeats", "large", "/samples?group=repeats"),
    "sample": ("A sample", "quickstart", "/samples/3"),
    "panel": ("A sample, judged by a panel", "panel", "/samples/4"),
    "accuracy": ("Judge accuracy", "accuracy.json", ""),
    "audit": ("An audit", "audit.csv", ""),
    "compare": ("Two runs side by side", "compare", ""),
    "compare-sample": ("A sample of both", "compare", "sample"),
    "leaderboard": ("Leaderboard", "leaderboard", ""),
}
"""By name: what it shows, the run that is opened, and what follows in its address."""

FILES = {
    "report": ("The report of a run", "report.html"),
    "report-criticbench": ("CriticBench's report", "criticbench/report.html"),
    "report-realcritic": ("RealCritic's report", "realcritic/report.html"),
}

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}, "is_mobile": True, "has_touch": True},
    "print": {"viewport": {"width": 688, "height": 1017}},
}
"""A laptop, a phone, and A4 within its margins, at 96 dots an inch."""

TALLEST = 1600
"""Longer pages are cut, in CSS pixels."""


def heedful(arguments: list[str], folder: Path, codes: tuple[int, ...] = (0, 1)) -> None:
    """Run a command; exit code 1 says that something was undecided, which the mock often is."""
    command = [sys.executable, "-m", "heedful", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


@contextmanager
def serving(*command: str, until: str, folder: Path = ROOT) -> Iterator[str]:
    """Run a server; give what it says first that matches a pattern."""
    with subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            for line in process.stdout or ():
                if found := re.search(until, line):
                    yield found[0]
                    return
            raise SystemExit(f"{' '.join(command)} ended")
        finally:
            process.kill()


def make_runs(folder: Path) -> None:
    """Make the runs and reports that are shown, by names that are the same everywhere."""
    shutil.copytree(EXAMPLES, folder / "examples")
    with serving(str(EXAMPLES / "mock_server.py"), "0", until=r"http://\S+/v1") as address:
        for line in RUNS.strip().splitlines():
            more = ["--base-url", address] if line.startswith(ASKS) else []
            heedful(line.split() + more, folder)
    draw_audit(folder / "runs" / "quickstart", folder / "runs" / "audit.csv", samples=5)
    # One that failed, as a wrong address makes it: nothing answers at port 9.
    dead = "evaluate small.jsonl --judge checklist --model large --base-url http://127.0.0.1:9/v1"
    heedful([*dead.split(), "--run", "runs/unreachable"], folder, codes=(2,))


def address_of(page: Page, base: str, run: str, more: str) -> str:
    """Find a page's address in the list of runs."""
    if not run:
        return f"{base}/"
    page.goto(f"{base}/")

    def key(name: str) -> str:
        return str(page.get_by_role("link", name=name, exact=True).first.get_attribute("href"))

    if run not in ("compare", "leaderboard"):
        return f"{base}{key(run)}{more}"
    names = ("large", "small") if run == "compare" else ("large", "small", "medium")
    result = f"{base}/compare?run={'&run='.join(key(name).rpartition('/')[2] for name in names)}"
    if not more:
        return result
    page.goto(result)
    return base + str(page.locator("[data-open]").first.get_attribute("href"))


def draw(page: Page, address: str, path: Path, look: str) -> None:
    """Save a picture of a page, from its head down to ``TALLEST``."""
    page.goto(address)
    if look == "print":
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_selector("#waiting", state="detached")
    page.wait_for_function(
        "[...document.querySelectorAll('figure')].every(one => one.querySelector('svg'))"
    )
    page.evaluate("scrollTo(0, 0)")
    size = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], TALLEST), "scale": 1}
    session = page.context.new_cdp_session(page)
    if look == "print":  # of which a session knows nothing that is told another
        session.send("Emulation.setEmulatedMedia", {"media": "print"})
    asked = {"format": path.suffix[1:], "captureBeyondViewport": True, "clip": clip}
    if path.suffix == ".webp":
        asked["quality"] = 45
    path.write_bytes(base64.b64decode(session.send("Page.captureScreenshot", asked)["data"]))


def draw_all(started: Browser, folder: Path, output: Path, suffix: str, only: list[str]) -> None:
    """Save all pages, or some, in all looks."""
    command = ("-m", "heedful", "view", "runs")
    with serving(*command, until=r"http://\S+", folder=folder) as address:
        base = address.partition("/?")[0]
        for look, settings in LOOKS.items():
            context = started.new_context(**settings)
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(address)
            page.wait_for_selector("h1")  # the token's page goes on by itself
            if look == "print":
                page.emulate_media(media="print")
            for name, (_, run, more) in PAGES.items():
                if only and name not in only:
                    continue
                target = output / f"{name}-{look}.{suffix}"
                draw(page, address_of(page, base, run, more), target, look)
            for name, (_, file) in FILES.items():
                if only and name not in only:
                    continue
                draw(page, (folder / file).as_uri(), output / f"{name}-{look}.{suffix}", look)
            context.close()


def index(output: Path, suffix: str) -> None:
    """Write the page that shows them all."""
    lines = [
        "# Every page",
        "",
        "Made by `python tools/screenshots.py` from the examples, with the",
    ]
    lines += ["mock server in the place of models: the verdicts mean nothing.", ""]
    for name, (title, *_) in {**PAGES, **FILES}.items():
        lines += [f"## {title}", ""]
        lines += [f"![{title}, {look}]({name}-{look}.{suffix})" for look in LOOKS]
        lines.append("")
    (output / "index.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    """Make the runs, then the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "screens")
    parser.add_argument("--format", choices=("webp", "png"), default="webp")
    parser.add_argument("--runs", type=Path, help="a folder with the runs of an earlier call")
    parser.add_argument("--only", nargs="+", default=[], help="names of pages; the index stays")
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.runs or Path(temporary)
        if not (folder / "report.html").exists():
            folder.mkdir(exist_ok=True)
            make_runs(folder)
        with browser() as started:
            draw_all(started, folder, asked.output, asked.format, asked.only)
    if not asked.only:
        index(asked.output, asked.format)


if __name__ == "__main__":
    main()
