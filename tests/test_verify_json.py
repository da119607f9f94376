"""JSON and JSON Schema in users' own constraints."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError, VerifierError
from heedful.verify.custom.json_format import fault


@pytest.mark.parametrize(
    ("value", "schema", "place"),
    [
        ({"a": 1}, {"type": "object", "properties": {"a": {"type": "integer"}}}, None),
        ({"a": True}, {"properties": {"a": {"type": "integer"}}}, "$.a"),
        ([1, "x"], {"items": {"type": "number"}}, "$[1]"),
        ({"a": 1, "b": 2}, {"properties": {"a": {}}, "additionalProperties": False}, "$"),
        (19.99, {"multipleOf": 0.01}, None),
        (1, {"enum": [True]}, "$"),
        (5, {"anyOf": [{"type": "string"}, {"maximum": 4}]}, "$"),
        ("b", {"not": {"const": "b"}}, "$"),
        ("b7", {"pattern": "^[a-z]$"}, "$"),
        ("abc\n", {"pattern": "^abc$"}, "$"),
        ("٣", {"pattern": r"^\d$"}, "$"),
        ("2023-02-29", {"format": "date-time"}, "$"),
        ("256.0.0.1", {"format": "ipv4"}, "$"),
        ("me@example.org", {"format": "email"}, None),
        ("2023-01-01", {"format": "date", "pattern": "^2024"}, "$"),
        (7, {"format": "date", "pattern": "^2024"}, None),
    ],
)
def test_a_fault_names_the_place(value: Any, schema: Any, place: str | None) -> None:
    wrong = fault(value, schema)
    assert wrong is None if place is None else (wrong or "").startswith(f"{place} ")


# --- patterns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        (r"^\d{4}-\d{2}-\d{2}$", "2024-01-31", "2024-1-31"),
        (r"^[^@\s]+@[^@\s]+\.[a-z]+$", "someone@example.org", "someone at example.org"),
        (r"^#?([a-f0-9]{6}|[a-f0-9]{3})$", "#ff00aa", "#ff00a"),
        (r"^https?://", "https://example.org/" + "a" * 30_000, "ftp://example.org"),
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "abcdefg1", "abcdefgh"),
        ("^.{1,280}$", "a" * 280, "a" * 281),
    ],
)
def test_common_patterns_are_decided(pattern: str, fits: str, does_not: str) -> None:
    assert fault(fits, {"pattern": pattern}) is None
    assert (fault([does_not], {"items": {"pattern": pattern}}) or "").startswith("$[0] ")


def test_a_pattern_that_stalls_is_not_decided() -> None:
    begin = time.process_time()
    with pytest.raises(UndecidedError):
        fault("a" * 3000 + "b", {"pattern": "(a|aa)+$"})
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "a{99999999999}", 7, None])
def test_what_is_no_pattern_is_a_verifier_error(pattern: Any) -> None:
    with pytest.raises(VerifierError):
        fault("a", {"pattern": pattern})


# --- schemas from files -------------------------------------------------------------------------


@given(st.text(alphabet="ab\"'\\\\{}()+;\n#$", max_size=12))
def test_no_text_of_a_schema_is_run(text: str) -> None:
    """A schema comes from a data file, and the library makes Python of it."""
    for schema in (
        {"properties": {text: {"const": text}}, "required": [text], "additionalProperties": False},
        {"enum": [text, [text], {text: text}]},
    ):
        assert fault({text: text}, schema) is None
        assert fault({text + "x": text}, schema) is not None


@pytest.mark.parametrize("schema", [{"$schema": "http://localhost/own"}, {"$ref": "file:///x"}, []])
def test_a_schema_that_cannot_be_followed_is_refused(schema: Any) -> None:
    with pytest.raises(VerifierError):
        fault(1, schema)


def test_an_unknown_format_is_not_decided() -> None:
    with pytest.raises(UndecidedError):
        fault("12345", {"format": "postcode"})


def test_the_published_suite_is_passed(data: Path) -> None:
    """Few cases are decided wrongly: of floats, and of patterns that Python reads otherwise."""
    text = (data / "peer_suites" / "json_schema_2020-12.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line]
    wrong, left = [], []
    for row in rows:
        try:
            if (fault(row["data"], row["schema"]) is None) is not row["valid"]:
                wrong.append(row["file"])
        except (VerifierError, UndecidedError):
            left.append(row["file"])
    assert len(rows) > 550
    files = {"multipleOf.json", "optional/float-overflow.json", "optional/ecmascript-regex.json"}
    assert set(wrong) <= files
    assert len(wrong) + len(left) <= 40
