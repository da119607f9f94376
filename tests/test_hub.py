"""Datasets of the Hugging Face hub as input, with the library's loader replaced."""

import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commands import run
from heedful import InputError, UsageError, evaluate
from heedful.data.formats import hub

ROWS = [
    {"question": "Greet.", "answer": "Hello", "rubric": ["No commas."], "made": dt.date.max},
    {"question": "Greet.", "answer": "Hi, you", "rubric": ["No commas."], "made": None},
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    calls: list[Any] = []

    def load_dataset(name: str, config: str | None, **options: Any) -> Any:
        calls.append((name, config, options))
        if name == "nobody/offline":
            raise ConnectionError("no connection")
        return iter([{"x": b"bytes"}] if name == "nobody/bytes" else ROWS)

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    hub.fetched.cache_clear()
    yield calls
    hub.fetched.cache_clear()


MAP = "question=prompt,answer=response,rubric=checklist"


@pytest.mark.parametrize("source", ["hf:own/set:en@train", "hf://datasets/own/set:en@train"])
def test_a_dataset_is_judged_like_a_file(source: str, asked: list[Any], tmp_path: Path) -> None:
    assert run("evaluate", source, "--map", MAP, "--run", tmp_path / "run") == 0
    assert len(asked) == 1
    assert asked[0] == ("own/set", "en", {"split": "train", "streaming": True})
    in_python = evaluate(source, format=f"map:{MAP}").summary
    assert in_python["verdicts"]["met"] == in_python["verdicts"]["unmet"] == 1


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("hf:nobody/offline", r"hf:nobody/offline@test: .* no connection .*connection"),
        ("hf:nobody/bytes", "of type bytes"),
    ],
)
def test_what_cannot_be_read_says_why(source: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluate(source, format=f"map:{MAP}")


def test_without_the_extra_the_hint_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    hub.fetched.cache_clear()
    with pytest.raises(UsageError, match=r"pip install 'heedful\[hub\]'"):
        evaluate("hf:own/set")
