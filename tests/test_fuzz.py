"""The targets of tools/fuzz.py, on what fuzzing found and on random bytes."""

import random
from collections.abc import Iterator

import pytest

import fuzz

EXTRAS = {"reward_rows": "prometheus_client"}


def corpus() -> Iterator[tuple[str, str]]:
    for name in fuzz.TARGETS:
        for path in sorted((fuzz.CORPUS / name).glob("*")):
            yield name, path.name


@pytest.mark.parametrize(("name", "file"), [*corpus()])
def test_inputs_that_failed_once_pass(name: str, file: str) -> None:
    fuzz.TARGETS[name]((fuzz.CORPUS / name / file).read_bytes())


def test_each_folder_of_the_corpus_is_a_targets() -> None:
    folders = {path.name for path in fuzz.CORPUS.iterdir()}
    assert folders
    assert folders <= fuzz.TARGETS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_random_bytes_find_no_defect(name: str) -> None:
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason="an extra is not installed")
    chance = random.Random(name)
    for _ in range(20 if name in {"stores", "responses"} else 100):
        data = chance.randbytes(chance.randrange(200))
        fuzz.TARGETS[name](data if chance.random() < 0.5 else data.hex(" ").encode())


def test_a_defect_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.models.redaction.Redactor.__call__", lambda _, text: text)
    with pytest.raises(AssertionError):
        fuzz.redaction(b"secret-key\n")
