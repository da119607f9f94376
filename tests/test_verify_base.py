from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import VerifierError
from heedful.core.nouns import Check
from heedful.verify import (
    Finding,
    Readings,
    Response,
    base,
    check,
    compare,
    describe,
    known,
    verifier,
)

WORDS = "length_constraints:number_words"


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after each test the verifiers that it registers."""
    known("none of these")  # loads all
    monkeypatch.setattr(base, "_registry", dict(base._registry))  # noqa: SLF001 - nothing unregisters


def words(**args: Any) -> Check:
    return Check(id=WORDS, args=args)


@verifier("tests:starts", describe="Start with {what}.")
def starts(response: Response, *, what: str, times: int = 1) -> Finding:
    return Finding(met=response.text.startswith(what * times), found=response.text[:5])


@verifier("tests:breaks", describe=lambda: "Break.")
def breaks(response: Response) -> Finding:
    return Finding(met=bool(1 / (len(response.text) - 3)), found="whole")


def test_a_check_is_decided_with_what_was_found() -> None:
    finding = check(words(num_words=3, relation="less than"), Response("one two three"))
    assert not finding.met
    assert finding == compare(3, "less than", 3, "word")


def test_null_arguments_count_as_absent_and_whole_floats_as_integers() -> None:
    requirement = words(num_words=2.0, relation="at least", keywords=None, num_sections=None)
    assert check(requirement, Response("one two")).met


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        ({"relation": "at least"}, ["num_words is missing"]),
        ({"num_words": 3, "relation": "at most"}, ["relation is 'at most'", "'less than'"]),
        ({"num_words": 2.5, "relation": "at least"}, ["num_words is 2.5"]),
        ({"num_words": "many", "relation": "at least"}, ["num_words is 'many'"]),
        ({"num_words": 3, "relation": "at least", "n": 1}, ["n is not an argument of it"]),
    ],
)
def test_wrong_arguments_are_refused_with_what_is_allowed(
    args: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(VerifierError) as caught:
        check(words(**args), Response("text"))
    assert caught.value.where == WORDS
    assert "num_words, relation" in caught.value.hint
    for part in parts:
        assert part in str(caught.value)


def test_a_check_without_arguments_says_that_it_takes_none() -> None:
    with pytest.raises(VerifierError, match="arguments"):
        describe(Check(id="punctuation:no_comma", args={"n": 1}))


def test_an_unknown_id_is_refused_with_the_nearest_one() -> None:
    assert not known("length_constraints:number_word")
    with pytest.raises(VerifierError, match=f"did you mean {WORDS}"):
        check(Check(id="length_constraints:number_word"), Response("text"))


def test_a_verifier_of_ones_own_has_typed_arguments_and_defaults() -> None:
    assert known("tests:starts")
    assert check(Check(id="tests:starts", args={"what": "a"}), Response("ab")).met
    assert not check(Check(id="tests:starts", args={"what": "a", "times": 2}), Response("ab")).met
    assert describe(Check(id="tests:starts", args={"what": "a"})) == "Start with a."


def test_an_id_that_is_taken_is_refused() -> None:
    with pytest.raises(VerifierError, match=r"is taken by heedful\.verify\.ifeval\..*number_words"):

        @verifier(WORDS, describe="")
        def mine(response: Response) -> Finding:
            return Finding(met=bool(response.text), found="")


def test_a_parameter_without_a_type_is_refused() -> None:
    @verifier("tests:untyped", describe="")
    def untyped(response: Response, *, bound) -> Finding:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return Finding(met=bool(response.text), found=str(bound))

    with pytest.raises(VerifierError, match="'bound'"):
        check(Check(id="tests:untyped", args={"bound": 1}), Response("text"))


def test_a_verifier_that_raises_does_so_as_a_verifier_error() -> None:
    assert check(Check(id="tests:breaks"), Response("four")).met
    with pytest.raises(VerifierError, match=r"tests:breaks.*ZeroDivisionError"):
        check(Check(id="tests:breaks"), Response("abc"))


def test_a_verifier_may_return_a_bool_and_nothing_else_but_a_finding() -> None:
    @verifier("tests:bool", describe="")
    def right(response: Response) -> bool:
        return bool(response.text)

    @verifier("tests:text", describe="")
    def wrong(response: Response) -> Finding:
        return response.text  # type: ignore[return-value]

    assert check(Check(id="tests:bool"), Response("text")).met
    with pytest.raises(VerifierError, match=r"'text'.*Finding"):
        check(Check(id="tests:text"), Response("text"))


@pytest.mark.parametrize("text", ["", " \n\t", "\u2003"])
def test_an_empty_response_meets_nothing(text: str) -> None:
    requirement = words(num_words=5, relation="less than")
    assert not check(requirement, Response(text)).met
    assert not Readings(text).read(requirement).loose


def test_unhashable_arguments_work_and_differ() -> None:
    a, b = (Check(id="keywords:existence", args={"keywords": [w]}) for w in ("a", "b"))
    assert [check(each, Response("a")).met for each in (a, b, a)] == [True, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "Sure, here:\nno comma",
        "no comma\nHope this helps, bye",
        "Sure, here:\nno comma\nHope this helps, bye",
    ],
)
def test_the_loose_reading_drops_the_first_line_the_last_and_both(text: str) -> None:
    strict, loose = Readings(text).read(Check(id="punctuation:no_comma"))
    assert not strict.met
    assert loose


def test_the_loose_reading_drops_asterisks() -> None:
    requirement = Check(id="startend:end_checker", args={"end_phrase": "The end."})
    assert Readings("**The end.**").read(requirement).loose
    assert not Readings("__The end.__").read(requirement).loose


@given(st.text(st.sampled_from("ab,*\n ")), st.integers(0, 6))
def test_what_is_met_strictly_is_met_loosely(text: str, bound: int) -> None:
    readings = Readings(text)
    for relation in ("less than", "at least"):
        strict, loose = readings.read(words(num_words=bound, relation=relation))
        assert loose or not strict.met


HASH = Check(
    id="keywords:letter_frequency",
    args={"letter": "#", "let_frequency": 1, "let_relation": "at least"},
)


def test_faithful_draws_depend_on_seed_sample_and_position_only() -> None:
    text = "aeiou and the rest"

    def verdicts(seed: int) -> list[bool]:
        samples = [Readings(text, seed=seed, sample=str(number)) for number in range(40)]
        return [readings.read(HASH, 1).strict.met for readings in samples]

    assert verdicts(0) == verdicts(0)
    assert verdicts(0) != verdicts(1)
    readings = Readings(text, seed=0, sample="7")
    alone = readings.read(HASH, 3)
    readings.read(HASH, 0)
    assert readings.read(HASH, 3) == alone
    assert len({readings.read(HASH, position).strict.found for position in range(20)}) > 1


def test_strict_scoring_draws_nothing() -> None:
    strict, loose = Readings("# Title").read(HASH)
    assert strict.met
    assert loose
    assert "#" in strict.found


def plugins(folder: Path, code: str, module: str) -> str:
    """Install a plugin into a folder; run code that sees it; return what it prints."""
    info = folder / "some_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[heedful.verifiers]\nmine = some_plugin\n")
    (folder / "some_plugin.py").write_text(module)
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


SCRIPT = """
from heedful.core.nouns import Check
from heedful.verify import Response, check, known
known("punctuation:no_comma"); print("some_plugin" in sys.modules)
try:
    print(known("mine:id"), check(Check(id="mine:id"), Response("x")).found)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_plugin_is_loaded_when_an_id_is_not_built_in(tmp_path: Path) -> None:
    module = """
from heedful.verify import Finding, verifier
@verifier("mine:id", describe="Mine.")
def mine(response): return Finding(met=True, found="by a plugin")
"""
    assert plugins(tmp_path, SCRIPT, module) == "False\nTrue by a plugin\n"
