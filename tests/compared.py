"""Runs with known verdicts, to be compared."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from heedful import Constraint, Message, Recording, Sample, compare, evaluate

STATES = {"m": "met", "u": "unmet", "?": "unparsed"}


def sample(key: str, verdicts: str, response: str = "", **more: Any) -> Sample:
    """A sample whose verdicts are known: m met, u unmet, ? undecided."""
    types = ("content", "format")
    return Sample(
        id=key,
        conversation=more.pop("conversation", (Message(role="user", content=f"Do {key}."),)),
        checklist=more.pop(
            "checklist",
            tuple(
                Constraint(text=f"Constraint {place}.", type=types[place % 2])
                for place in range(len(verdicts))
            ),
        ),
        response=response or f"answer {key}",
        recording=Recording(
            prompt="native",
            verdicts=tuple(
                {"status": STATES[letter], "explanation": f"{letter} on {response or key}"}
                for letter in verdicts
            ),
        ),
        **more,
    )


def run(folder: Path, rows: dict[str, str] | list[Sample], response: str = "") -> Path:
    if isinstance(rows, dict):
        rows = [sample(key, said, response, tags={"task": key[0]}) for key, said in rows.items()]
    evaluate(rows, judge="recorded", run=folder)
    return folder


def only_pair(*runs: Path | str, **options: Any) -> dict[str, Any]:
    (pair,) = compare(*runs, **options)["pairs"]
    return dict(pair)


def assert_mirrored(there: Mapping[str, Any], back: Mapping[str, Any]) -> None:
    """The same two runs, compared both ways: the signs change, and nothing else."""
    assert there["metrics"].keys() == back["metrics"].keys()
    for family, rates in there["metrics"].items():
        for name, measured in rates.items():
            mirrored = back["metrics"][family][name]
            assert measured["first"] == mirrored["second"]
            assert measured["p"] == mirrored["p"]
            one, two = measured["difference"], mirrored["difference"]
            if one["value"] is not None:
                assert one["value"] == -two["value"]
            if one["interval"] is not None:
                assert one["interval"] == pytest.approx([-x for x in reversed(two["interval"])])


def value(pair: Mapping[str, Any], name: str, side: str = "difference") -> float:
    family, rate = name.split(".")
    result: float = pair["metrics"][family][rate][side]["value"]
    return result
