"""What code decides and what it counts of a constraint, for critique data."""

import pytest

from heedful import Constraint
from heedful.critic.data.verification import decide, measurable


@pytest.mark.parametrize(
    ("text", "response", "met"),
    [
        ('Include the word "sun".', "The sun is out.", True),
        ('Include the word "sun".', "The moon is out.", False),
        ("不要出现“但是”。", "天晴了。但是，很冷。", False),
        ("Start with a question that fits the tone.", "Why?", None),
        ("At most 50 words.", "Short.", None),  # to which part it applies is for a model to say
    ],
)
def test_what_limits_no_amount_is_decided_by_what_it_compiles_to(
    text: str, response: str, *, met: bool | None
) -> None:
    finding = decide(response, Constraint(text=text))
    assert (finding and finding.met) == met
    assert measurable(Constraint(text=text)) == ("50" in text)
