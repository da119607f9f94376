"""JSON and JSON Schema in users' own constraints."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adversarial import excess, repeated
from heedful.core.errors import UndecidedError, VerifierError
from heedful.core.nouns import Check
from heedful.verify import Response, check
from heedful.verify.custom.json_schema import fault
from heedful.verify.custom.patterns import Pattern

if TYPE_CHECKING:
    from pathlib import Path

# --- values and keywords ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "schema", "place"),
    [
        ({"a": 1}, {"type": "object", "properties": {"a": {"type": "integer"}}}, None),
        ({"a": True}, {"properties": {"a": {"type": "integer"}}}, "$.a"),
        ([1, 1], {"uniqueItems": True}, "$"),
        ([1, 1.0], {"uniqueItems": True}, "$"),
        ([1, "x"], {"items": {"type": "number"}}, "$[1]"),
        ({"a": 1, "b": 2}, {"properties": {"a": {}}, "additionalProperties": False}, "$"),
        ("abc", {"maxLength": 2}, "$"),
        (3, {"minimum": 4}, "$"),
        (19.99, {"multipleOf": 0.01}, None),
        ("x", {"enum": ["y", "z"]}, "$"),
        (1, {"enum": [True]}, "$"),
        (1, {"const": 1.0}, None),
        (5, {"anyOf": [{"type": "string"}, {"maximum": 4}]}, "$"),
        ("b", {"not": {"const": "b"}}, "$"),
        ("b7", {"pattern": "^[a-z]$"}, "$"),
        ("abc\n", {"pattern": "^abc$"}, "$"),
        ("٣", {"pattern": r"^\d$"}, "$"),
    ],
)
def test_a_fault_names_the_place(value: Any, schema: Any, place: str | None) -> None:
    wrong = fault(value, schema)
    assert wrong is None if place is None else (wrong or "").startswith(f"{place} ")


@pytest.mark.parametrize(
    "text",
    [
        "[0.1000000000000000055511151231257827]",  # the float has fewer digits
        "[123456789012345678.5]",
        "[1e400]",
        "[1e-999999999999999999999]",
        '[{"a": 1, "a": "x"}]',
    ],
)
def test_a_value_that_is_not_read_as_written_is_not_compared(text: str) -> None:
    schema = Check(id="heedful:json", args={"schema": {"type": "array"}})
    with pytest.raises(UndecidedError):
        check(schema, Response(text))
    assert check(Check(id="heedful:json"), Response(text)).met


@pytest.mark.parametrize("number", [1e15, 1e30, 1e308])
def test_a_float_too_large_to_be_divided_is_not_decided(number: float) -> None:
    with pytest.raises(UndecidedError):
        fault(number, {"multipleOf": 0.3})
    assert fault(10**40, {"multipleOf": 10}) is None
    assert fault(10**40 + 1, {"multipleOf": 10}) is not None


# --- patterns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        (r"^([a-z0-9]+\.?)+@x\.com$", "a" * 40, False),
        ("^(a+)+$", "a" * 26 + "b", False),
        ("(a|aa)+$", "a" * 60 + "b", False),
        ("^(a?){40}a{40}$", "a" * 40, True),
        ("a*a*a*a*a*b", "a" * 3000, False),
        (r"^(\w+\s?)*$", "a" * 60 + "!", False),
        ("(x+x+)+y", "x" * 40 + "y", True),
        ("^((a{0,9}){0,9}){0,9}$", "a" * 60 + "b", False),
        (r"^(?=(a+)+$)", "a" * 40 + "b", False),
        (r"\d+$", "1" * 30_000 + "x", False),
        ("^.{1,5000}$", "a" * 5001, False),
    ],
)
def test_a_pattern_that_stalls_an_engine_which_backtracks_is_decided(
    pattern: str, text: str, *, fits: bool
) -> None:
    assert (fault({"e": text}, {"properties": {"e": {"pattern": pattern}}}) is None) is fits


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^((((a){99}){99}){99}){99}$", "b"),
        ("(){0,99999999999}", "b"),
        (r"^(a+)\1+$", "aa"),
        ("(?=.*b)a", "a" * 20_000),
        (r"^\p{Script=Greek}+$", "a"),
    ],
)
def test_a_pattern_that_needs_more_than_an_automaton_is_not_decided(
    pattern: str, text: str
) -> None:
    with pytest.raises(UndecidedError):
        fault(text, {"pattern": pattern})


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        (r"^\s$", "\u00a0", "\u200b"),
        (r"^\S$", "\u200b", "\ufeff"),
        ("^.$", "\x85", "\u2028"),
        (r"^\p{L}+$", "π", "1"),
        (r"^\p{Uppercase_Letter}\P{Lu}$", "Aa", "AA"),
        (r"^\cJ$", "\n", "J"),
        (r"^\uD83D\uDE00$", "😀", "😁"),
        (r"^\u{1F600}$", "😀", "😁"),
        ("[^]", "\n", ""),
        ("^x{,2}$", "x{,2}", "xx"),
        ("^[[]$", "[", "]"),
        ("^(?<year>\\d{4})$", "2024", "٢٠٢٤"),
        (r"\bcat\b", "a cat!", "concat"),
        ("(?<=a|bb)c", "bbc", "bc"),
        ("(?<!a)c", "bc", "ac"),
        ("^(?!no)", "yes", "not"),
        (r"^a\/b-\.$", "a/b-.", "a/b-x"),
        ("^abc$", "abc", "abc\n"),
    ],
)
def test_patterns_are_ecmascripts(pattern: str, fits: str, does_not: str) -> None:
    assert Pattern(pattern)(fits)
    assert not Pattern(pattern)(does_not)


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        (r"^\d{4}-\d{2}-\d{2}$", "2024-01-31", "2024-1-31"),
        (r"^[^@\s]+@[^@\s]+\.[a-z]+$", "someone@example.org", "someone at example.org"),
        (r"^#?([a-f0-9]{6}|[a-f0-9]{3})$", "#ff00aa", "#ff00a"),
        (r"^https?://", "https://example.org/" + "a" * 30_000, "ftp://example.org"),
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "abcdefg1", "abcdefgh"),
        (r"^\+?[0-9 ()-]{7,20}$", "+49 (30) 12-34", "call me"),
        ("^.{1,280}$", "a" * 280, "a" * 281),
        ("^[a-z]+( [a-z]+)*$", "some words in a row " * 10 + "end", "two  spaces"),
        ("^[a-z0-9]+(-[a-z0-9]+)*$", "a-slug-" * 20 + "9", "-no-slug"),
        ("wor", "a word", "a sword"[:3]),
        ("", "a", None),
    ],
)
def test_common_patterns_are_decided(pattern: str, fits: str, does_not: str | None) -> None:
    assert fault(fits, {"pattern": pattern}) is None
    if does_not is not None:
        assert fault([does_not], {"items": {"pattern": pattern}}) == (
            f"$[0] must match pattern {pattern}"
        )


_SIGNS = ["a", "b", ".", "|", "*", "+", "?", "{0,2}", "{2}", "{1,}", "$", "^"]
_GROUPS = ["(", "(?:", "(?=", "(?!", ")", "[ab]", "[^a]", r"\w", r"\b"]
_PIECES = st.sampled_from([*_SIGNS, *_GROUPS])


@given(st.lists(_PIECES, max_size=9).map("".join), st.text(alphabet="ab ", max_size=7))
def test_a_pattern_finds_what_pythons_engine_finds(pattern: str, text: str) -> None:
    try:
        finds = Pattern(pattern)(text)
    except ValueError:
        assume(False)  # noqa: FBT003 - its own signature
    expected = re.compile(pattern.replace("$", r"\Z"), re.ASCII).search(text)
    assert finds == (expected is not None)


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "a*a*a*b", "(a|ab|b)*c", "^[ab]{1,300}$", "(?=(a|b)*c)a", r"(\w+\s?)+$"]
)
@pytest.mark.parametrize("piece", ["a", "ab", "a ", "\n"])
@pytest.mark.slow
def test_a_pattern_takes_time_linear_in_the_text(pattern: str, piece: str) -> None:
    def search(text: str) -> None:
        with suppress(UndecidedError):
            Pattern(pattern)(text)

    assert excess(search, repeated(piece), 3.0) is None


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "a{99999999999}", 7, None, "(" * 20_000])
def test_what_is_no_pattern_is_a_verifier_error(pattern: Any) -> None:
    with pytest.raises(VerifierError):
        fault("a", {"pattern": pattern})


@given(st.text(alphabet="ab\"'\\\\{}()+;\n#$", max_size=12))
def test_no_text_of_a_schema_is_run(text: str) -> None:
    """A schema comes from a data file, and the library makes Python of it."""
    for schema in (
        {"properties": {text: {"const": text}}, "required": [text], "additionalProperties": False},
        {"enum": [text, [text], {text: text}]},
    ):
        assert fault({text: text}, schema) is None
        assert fault({text + "x": text}, schema) is not None


# --- formats ------------------------------------------------------------------------------------

FORMATS = [
    ("date", ["2024-02-29", "0000-02-29"], ["2023-02-29", "2024-13-01", "soon", "2024-1-1"]),
    ("time", ["12:00:00Z", "23:59:59.5+05:30"], ["12:00", "24:00:00Z", "12:00:00"]),
    ("date-time", ["2024-02-29T12:00:00Z"], ["2024-02-29", "2024-02-30T12:00:00Z"]),
    ("email", ["me@example.org", "a.b+c@x.co"], ["me", "me@", "@x.org", "a..b@x.org"]),
    ("hostname", ["example.org", "localhost"], ["-a.org", "a..b", "a" * 64]),
    ("ipv4", ["127.0.0.1"], ["256.0.0.1", "127.0.0.01", "1.2.3", "١.٢.٣.٤"]),
    ("ipv6", ["::1", "2001:db8::ff00:42:8329"], ["::g", "1::2::3", "fe80::1%eth0"]),
    ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000"]),
    ("uri", ["https://example.org/a?b=c#d", "mailto:me@x.org"], ["/a/b", "no scheme", "a:b c"]),
]


@pytest.mark.parametrize(("name", "good", "bad"), FORMATS)
def test_formats_are_decided(name: str, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert fault(text, {"format": name}) is None, text
    for text in bad:
        assert fault({"a": text}, {"properties": {"a": {"format": name}}}) is not None, text
    assert fault(7, {"format": name}) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("postcode", "12345"),
        ("time", "23:59:60Z"),
        ("email", '"a b"@x.org'),
        ("uri", "http://[::1]/"),
        ("hostname", "bücher.de"),
    ],
)
def test_an_unknown_format_and_an_unusual_text_are_not_decided(name: str, text: str) -> None:
    with pytest.raises(UndecidedError):
        fault(text, {"format": name})


def test_pattern_and_format_hold_together() -> None:
    schema = {"format": "date", "pattern": "^2024", "allOf": [{"maxLength": 10}]}
    assert fault("2024-01-01", schema) is None
    assert fault("2023-01-01", schema) is not None
    assert fault("2024-01-41", schema) is not None


# --- schemas that are refused, and a suite that others wrote -------------------------------------


@pytest.mark.parametrize("schema", [{"$schema": "http://localhost/own"}, {"multipleOf": 1e-10}])
def test_a_schema_that_cannot_be_followed_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(VerifierError):
        fault(1, schema)


def test_the_published_suite_is_passed(data: Path) -> None:
    """No case is decided wrongly; those of other metaschemas are refused."""
    text = (data / "peer_suites" / "json_schema_2020-12.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line]
    wrong, left = [], Counter[str]()
    for row in rows:
        try:
            if (fault(row["data"], row["schema"]) is None) is not row["valid"]:
                wrong.append(row["test"])
        except VerifierError:
            left[row["file"]] += 1
    assert len(rows) > 550
    assert not wrong
    # Schemas with metaschemas of their own, and numbers of which a float has too few digits.
    assert left == {"vocabulary.json": 5, "multipleOf.json": 1, "optional/float-overflow.json": 1}


def test_a_keyword_that_is_not_known_is_refused() -> None:
    with pytest.raises(VerifierError, match="dependentRequired"):
        fault({}, {"dependentRequired": {}})
