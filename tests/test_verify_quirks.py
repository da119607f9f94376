"""The verdicts that a careful reader may contest are those that the page on verifiers lists."""

import json
import re
from pathlib import Path

import pytest

from heedful.core.nouns import Check
from heedful.verify import Readings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "verdicts.md"
ROW = re.compile(
    r"\| `(?P<id>\S+)` \| `(?P<args>\{.*?\})` \| `(?P<text>\".*\")` "
    r"\| (?P<strict>met|unmet) \| (?P<faithful>met|unmet) \| \S.* \|"
)
ROWS = [row.groups() for row in map(ROW.fullmatch, PAGE.read_text("utf-8").split("\n")) if row]


@pytest.mark.parametrize(("id_", "args", "text", "strict", "faithful"), ROWS)
def test_a_row_of_the_page_is_true(
    id_: str, args: str, text: str, strict: str, faithful: str
) -> None:
    for seed, verdict in ((None, strict), (0, faithful)):
        readings = Readings(json.loads(text), seed=seed)
        finding = readings.read(Check(id=id_, args=json.loads(args))).strict
        assert finding.met is (verdict == "met")


def test_all_families_are_on_the_page() -> None:
    families = {row[0].partition(":")[0] for row in ROWS}
    assert {"keywords", "detectable_format", "count", "ratio", "words", "paragraphs"} <= families
    assert len(ROWS) > 100
