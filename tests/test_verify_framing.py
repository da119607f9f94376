"""What frames a text, such as a greeting or a signature, never decides a verdict."""

import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heedful import Response
from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check
from heedful.verify import check
from heedful.verify.custom.counting import UNITS, count_units
from heedful.verify.text.layout import Layout

ABOVE = [
    "Dear Ms. Jones,",
    "Hi team,",
    "Subject: The weather",
    "To whom it may concern:",
    "Certainly! Here is the poem.",
    "尊敬的王老师：",
    "大家好！",
]
BELOW = [
    "Kind regards,\nAlice Brown",
    "Thanks,\n\nBob",
    "Best wishes,\nAnn Lee\nHead of Weather",
    "— Emily Dickinson",
    "*By Emily Dickinson*",
    "——李白",
    "此致\n敬礼\n\n小明",
    "谢谢！",
    "(Word count: 40)",
    "Word count: 40",
    "Let me know if you need anything else!",
    "I hope this helps!",
    "（共四十字）",
    "希望对你有帮助！",
]
BLOCKS = [
    "It rained in the morning. We stayed in.",
    "The snow fell all night. Nobody went out.",
    "Fog lay on the hills. The birds were quiet.",
]


def outcome(text: str, id_: str, **args: Any) -> bool | None:
    try:
        return check(Check(id=f"heedful:{id_}", args=args), Response(text)).met
    except UndecidedError:
        return None


@given(
    st.sampled_from(["", *ABOVE]),
    st.sampled_from(["", *BELOW]),
    st.sampled_from(["paragraph", "stanza", "line"]),
    st.integers(1, 3),
)
def test_what_is_around_a_text_counts_or_not(above: str, below: str, part: str, size: int) -> None:
    core = BLOCKS[:size]
    text = "\n\n".join(filter(None, [above, *core, below]))
    bounds = {"unit": f"{part}s", "at_least": size, "at_most": size}
    framed = bool(above or below)
    assert outcome(text, "count", **bounds) is not False
    assert outcome(text, "ends_with", phrases=["."], part=part) is not False
    assert outcome(text, "contains", phrases=[core[-1].split()[-1]], part=part, which=-1) in {
        True,
        None,
    }
    assert outcome(text, "starts_with", phrases=["It"], part=part, which=1) is not False
    if not framed and size > 1:
        assert outcome(text, "count", **bounds) is True
        assert outcome(text, "contains", phrases=["morning"], part=part, which=-1) is False


def test_counts_of_the_docs_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[1] / "docs" / "verifiers.md").read_text(encoding="utf-8")
    section = page.split("\n## Paragraphs, lines and marks\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (\d)(?: to (\d))? (.+?)s? \| .+ \|$", section, re.MULTILINE)
    assert len(rows) > 7
    for texts, low, high, noun in rows:
        unit = next(unit for unit, named in UNITS.items() if named.one == noun)
        for quoted, plain in re.findall(r"`` (.+?) ``|`([^`]+)`", texts):
            layout = Layout((quoted or plain).replace("⏎", "\n"))
            assert count_units(layout, unit) == (int(low), int(high or low)), texts
