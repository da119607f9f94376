"""Documents: tables and charts that say the same in a terminal, Markdown, HTML and as files."""

import json
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UsageError
from heedful.reporting import chart as charts
from heedful.reporting.chart import LIGHT, Chart, Spec
from heedful.reporting.document import Document
from heedful.reporting.html.environment import asset
from heedful.reporting.notation import percent
from heedful.reporting.plots import (
    Axis,
    Estimate,
    Line,
    Point,
    estimates_chart,
    flows_chart,
    heat_map,
    line_chart,
)
from heedful.reporting.table import INDENT, Table, markdown_text
from properties import of_a_hundred

SVG = "{http://www.w3.org/2000/svg}"
SHARES = Axis("accuracy", percent=True, bounds=(0.0, 1.0))
HOSTILE = "<script>alert(1)</script> | `x` [a](b) {{ 7 * 7 }}"


def lines(count: int, name: str = "critic") -> list[Line]:
    return [
        Line(f"{name} {n}", [Point(place, (n + place) / 100, 0.0, 0.9) for place in range(3)])
        for n in range(count)
    ]


def estimates(count: int) -> Spec:
    order = [f"run {number}" for number in range(count)]
    drawn = [
        Estimate(row, 0.5, [0.4, 0.6], series=series) for row in ("a", "b") for series in order
    ]
    return estimates_chart(drawn, order=order)


EXAMPLES = {
    "lines": line_chart(lines(9), Axis("step"), SHARES, level=(0.5, "chance")),
    "one line": line_chart(lines(1, HOSTILE), Axis("size", logarithmic=True), SHARES),
    "names": line_chart([Line("a", [Point("x & y", 0.5)])], Axis("", names=["x & y"]), SHARES),
    "heat map": heat_map(("d", ["a", "b"]), ("a", ["a", HOSTILE]), [[0.5, 1], [None, 0.7]]),
    "flows": flows_chart({"round 1": {"stays correct": 3, "becomes incorrect": 1}}),
    "estimates": estimates(8),
}


def svg(spec: Spec, title: str = "T") -> ET.Element:
    return ET.fromstring(Chart("x", title, spec).image("svg"))  # noqa: S314 - our own


def texts(drawn: ET.Element) -> set[str]:
    return {text.text or "" for text in drawn.iter(f"{SVG}text")}


def test_the_colours_of_files_are_those_of_the_light_theme() -> None:
    theme = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}), #\w{6}\)", asset("theme.css")))
    assert LIGHT.items() <= theme.items()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_chart_renders_and_names_no_colour_of_a_page(name: str) -> None:
    pytest.importorskip("vl_convert")
    chart = Chart("x", "What <it> & shows", EXAMPLES[name])
    assert "var(--" not in chart.json()
    assert json.loads(chart.json())["data" if "data" in chart.spec else "layer"]
    assert "What <it> & shows" in texts(svg(EXAMPLES[name], "What <it> & shows"))


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
SIZES = st.from_regex(r"\d{1,3}B", fullmatch=True)


@of_a_hundred(30)
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "a-vendor/a-critic-with-a-long-name-", "b/c-"]), SIZES),
        max_size=12,
    ),
    st.lists(NAMES, max_size=3),
)
def test_shown_names_stay_apart_and_keep_their_ends(
    pairs: list[tuple[str, str]], others: list[str]
) -> None:
    names = {start + end for start, end in pairs} | {*others}
    short = charts.shorten(sorted(names))
    assert short.keys() == names
    assert len(set(short.values())) == len(names)
    long = [name for name in names if name.startswith("a-vendor")]
    shown = {short[name][: charts.AXIS_LETTERS] for name in long}
    assert len(shown) == len(long)  # whatever other names stand beside them


# --- documents ----------------------------------------------------------------------------------


def document() -> Document:
    values = [0.125, 0.5]
    rows = [["group", "", ""], *([f"{INDENT}{v}", percent(v), HOSTILE] for v in values)]
    chart = estimates_chart([Estimate(str(v), v) for v in values])
    return Document(
        f"# {HOSTILE}",
        [f"1. {HOSTILE}"],
        [
            Table(HOSTILE, ("name", "%", "more"), rows, note=HOSTILE, details=("more",)),
            Chart("shares", HOSTILE, chart),
        ],
        [HOSTILE],
    )


def test_what_a_name_holds_is_never_markup() -> None:
    page = document().html()
    assert page.count("<script>alert(1)") == 0
    assert "&lt;script&gt;alert(1)" in page
    assert "{{ 7 * 7 }}" in unescape(page)
    text = document().markdown({"shares": "shares.svg"})
    assert "<script>" not in text
    assert "\n# \\# \\<script" in f"\n{text}"
    assert "\n1\\. " in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert "| **group** |  |  |" in rows


def test_the_page_makes_no_request_and_runs_only_its_own_scripts() -> None:
    page = document().html()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    policy = unescape(policy)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert policy.count("sha256-") == page.count("<script>") + page.count("<style>")
    plain = Document("T", parts=[Table("t", ("a",), [("1",)])]).html()
    assert len(plain) < 50_000
    assert "vega" not in plain


def test_the_chart_has_the_numbers_of_the_table() -> None:
    page = document().html()
    (spec,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    values = json.loads(spec)["data"]["values"]
    shown = re.findall(r'<td class="number"[^>]*>([\d.]+)</td>', page)
    assert [f"{row['value']:.2f}" for row in values] == shown == ["12.50", "50.00"]


def test_a_folder_holds_numbers_text_page_and_charts(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    numbers = {"value": 0.5, "name": HOSTILE}
    made = document().write(tmp_path / "new", numbers)
    assert [path.name for path in made] == ["report.json", "report.md", "report.html", "shares.svg"]
    assert json.loads(made[0].read_text(encoding="utf-8")) == numbers
    assert "](shares.svg)" in made[1].read_text(encoding="utf-8")
    ET.parse(made[3])  # noqa: S314 - our own
    made = document().write(tmp_path / "new", numbers, name="other", charts="pdf")
    assert made[3].read_bytes().startswith(b"%PDF")
    assert "![" not in made[1].read_text(encoding="utf-8")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        document().write(tmp_path / "file" / "new", numbers)


def test_without_the_extra_the_page_has_the_charts_and_the_text_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.reporting.document.can_render", lambda: False)
    made = document().write(tmp_path, {})
    assert [path.name for path in made] == ["report.json", "report.md", "report.html"]
    assert "heedful\\[charts\\]" in made[1].read_text(encoding="utf-8")
    assert "data-chart" in made[2].read_text(encoding="utf-8")


def test_a_format_asked_for_without_the_extra_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(UsageError) as raised:
        document().write(tmp_path / "new", {}, charts="png")
    assert raised.value.hint == charts.INSTALL
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["# a", "- a", "+ a", "12. a", "1) a", "---", "> a", "* a"])
def test_a_line_begins_no_block_of_markdown(text: str) -> None:
    assert "\\" in markdown_text(text)
    assert markdown_text(text).replace("\\", "") == text


def test_markdown_holds_nothing_that_a_terminal_would_obey() -> None:
    table = Table("a\x1b[2J", ("b\x07",), [("c\x1b]0;d\x07",)], "e\x1b[31m")
    shown = Document("f\x1b[H", ["g\x9b2J"], [table], ["h\x1bc"]).markdown()
    assert not set("\x1b\x07\x9b") & set(shown)
