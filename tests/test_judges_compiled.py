"""The judge that compiles the constraints' own texts, alone and in a cascade."""

import asyncio

from heedful import Check, Constraint, Sample, Status
from heedful.judges import Compiled, Measurement

CHECKLIST = (
    Constraint(text="At most 5 words."),
    Constraint(text="以“雨”开头"),
    Constraint(text="Be kind."),
    Constraint(text="No commas.", check=Check(id="punctuation:no_comma")),
    Constraint(text='Include "rain".'),
)


def sample(response: str | None) -> Sample:
    return Sample(id="1", checklist=CHECKLIST, response=response)


def test_what_compiles_is_decided_and_the_rest_says_why_not() -> None:
    judgments = asyncio.run(Compiled().judge(sample("It rains today."))).judgments
    assert [each.status for each in judgments] == [
        Status.MET, Status.UNMET, Status.UNSUPPORTED, Status.UNSUPPORTED, Status.UNSUPPORTED,
    ]  # fmt: skip
    assert judgments[0].explanation == "3 words, asked for at most 5"
    assert "does not compile" in judgments[2].explanation
    assert judgments[3].explanation
    assert judgments[4].explanation.startswith("cannot be decided by code")


def test_measurements_are_made_for_a_model_that_judges() -> None:
    given = sample("Rain, rain")
    facts = [Measurement()(given, constraint) for constraint in given.checklist]
    assert facts == [
        "the response has 2 words",
        "the response starts with 'Rain, rain'",
        None,
        "the response has 1 comma",
        "'rain' occurs 2 times",
    ]
    assert Measurement()(sample(None), CHECKLIST[0]) is None
