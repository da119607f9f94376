"""Coverage-guided fuzzing of all that reads what others wrote.

python tools/fuzz.py TARGET --seconds 60      # one of TARGETS; needs atheris (Linux, pip install)

Each target takes bytes and raises only where heedful has a defect: an exception that no caller
expects, or a result that breaks what the reader promises. ``tests/corpus`` keeps inputs that found
something; ``tests/test_fuzz.py`` runs every target on them and on random bytes.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import random
import sqlite3
import sys
import tempfile
from contextlib import suppress
from functools import cache
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from heedful.core.errors import HeedfulError, RowError
from heedful.core.nouns import Check, Constraint, Message, Sample
from heedful.data.formats import source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "corpus"

CONSTRAINTS = (Constraint(text="No commas."), Constraint(text="At most 50 words, please."))

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet", ".xlsx")

ROWS = 50

PLAIN = (None, "", "Yes: [1] \U0001f600", True, -1, float("nan"), "[")

TEXT_OF_JSON = 11


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="heedful-fuzz-"))


def require(condition: bool) -> None:  # noqa: FBT001 - its one argument
    """Raise where a reader broke what it promises."""
    if not condition:
        raise AssertionError


def _text(data: bytes) -> str:
    """Make a text of bytes: any character may come, halves of surrogate pairs excepted."""
    return data.decode("utf-8", "replace")


def files(data: bytes) -> None:
    """A file of any kind: it is refused, or each row is read or has a problem."""
    from heedful.data import formats

    suffix = SUFFIXES[data[0] % len(SUFFIXES)] if data else ".jsonl"
    path = _folder() / f"rows{suffix}"
    path.write_bytes(data[1:])
    try:
        for row in islice(formats.open_source(path), ROWS):
            require((row.sample is None) == (row.problem is not None))
            if row.sample is not None:
                row.sample.model_dump_json(exclude_defaults=True)
    except (HeedfulError, ValueError) as error:
        # What cannot be stored is a ValueError, and costs its row.
        if not isinstance(error, HeedfulError) and "serializ" not in type(error).__name__.lower():
            raise


@cache
def _keys(name: str) -> list[str]:
    """List the words of a format's module that may be keys of its records."""
    reader = source.named(name)
    tree = ast.parse(inspect.getsource(inspect.getmodule(reader.sample) or source))
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    words = {text for text in texts if isinstance(text, str) and text.isidentifier()}
    return sorted(words | {key for group in reader.needs for key in group})


def _value(draw: Iterator[int], keys: Sequence[str], depth: int = 4) -> Any:
    """Make a JSON value of bytes."""
    kind = next(draw) % (12 if depth else 7)
    if kind < len(PLAIN):
        return PLAIN[kind]
    if kind == len(PLAIN):
        return keys[next(draw) % len(keys)]
    size = next(draw) % 4
    if kind in {8, 9}:
        return [_value(draw, keys, depth - 1) for _ in range(size)]
    made = {keys[next(draw) % len(keys)]: _value(draw, keys, depth - 1) for _ in range(size)}
    return json.dumps(made) if kind == TEXT_OF_JSON else made


def records(data: bytes) -> None:
    """A record of any values under the keys of each format: a sample, or an error of its row."""
    draw = chain(data, repeat(0))
    name = list(source.FORMATS)[next(draw) % len(source.FORMATS)]
    keys = _keys(name)
    needed = [group[next(draw) % len(group)] for group in source.named(name).needs]
    more = [keys[next(draw) % len(keys)] for _ in range(next(draw) % 8)]
    record = {key: _value(draw, keys) for key in (*needed, *more)}
    reader = source.named(name)
    with suppress(RowError, ValidationError):  # whoever reads rows tells both
        for part in reader.turns(record):
            reader.sample(part, 1).model_dump_json()


def verdicts(data: bytes) -> None:
    """A judge's reply in each prompt's form: one judgment a constraint, and no exception."""
    from heedful.judges import prompts

    for name in prompts.NAMES:
        found = prompts.make(name).parse(_text(data), CONSTRAINTS)
        require(len(found) == len(CONSTRAINTS))


def completions(data: bytes) -> None:
    """A model server's reply: a completion that can be stored, or a fault that can be told."""
    from heedful.models.faults import FaultError, fault_of
    from heedful.models.replies import read_completion

    try:
        read_completion(data).model_dump_json()
    except FaultError as error:
        error.fault.text.encode()
    status = 200 + data[0] * 2 if data else 500
    fault = fault_of(status, {"Retry-After": _text(data[:20])}, data)
    fault.text.encode()


def batches(data: bytes) -> None:
    """A line of a batch's results."""
    from heedful.models.batches import anthropic, gemini, openai
    from heedful.models.untrusted import parse

    try:
        line = parse(data)
    except (ValueError, RecursionError):
        return
    if isinstance(line, dict):
        for service in (anthropic, gemini, openai):
            service._answer(line)  # noqa: SLF001 - what reads a line


def constraints(data: bytes) -> None:
    """A constraint in words: compiled or not, with checks that run."""
    from heedful.verify import Response, check
    from heedful.verify.compiler.compile import compile_constraint

    found = compile_constraint(_text(data)).check
    if found is not None:
        try:
            check(found, Response("One, two. Three!\n\n- four"))
        except HeedfulError:
            return


@cache
def _checks() -> list[Check]:
    from heedful.verify.compiler.compile import compile_constraint

    words = (CORPUS / "constraints" / "plain.txt").read_text(encoding="utf-8").splitlines()
    compiled = (compile_constraint(line).check for line in words)
    return [found for found in compiled if found is not None]


def responses(data: bytes) -> None:
    """A response: each check decides it, or says why not; and each gate."""
    from heedful.rewards import gates
    from heedful.verify import Response, check

    text = _text(data)
    for requirement in _checks():
        try:
            check(requirement, Response(text))
        except HeedfulError:
            continue
    asked = (Message(role="user", content="Write a poem."),)
    sample = Sample(id="1", conversation=asked, checklist=CONSTRAINTS, response=text)
    gates.violation(sample, gates.enabled("all"))


def answers(data: bytes) -> None:
    """A completion with an answer or a program in it."""
    from heedful.bench.grading.answers import final_answer, stated_answer

    text = _text(data)
    final_answer(text)
    stated_answer(text)


def schemas(data: bytes) -> None:
    """A JSON Schema and a value: valid, or a fault, or undecided."""
    from heedful.verify import Response, check

    schema, _, value = _text(data).partition("\n")
    try:
        wanted = json.loads(schema)
    except (ValueError, RecursionError):
        return
    try:
        check(Check(id="heedful:json", args={"schema": wanted}), Response(value))
    except HeedfulError:
        return


def reward_rows(data: bytes) -> None:
    """A sample or a label in a request to the reward server."""
    from heedful.rewards import rows
    from heedful.rewards.server import app

    try:
        value = json.loads(_text(data))
    except (ValueError, RecursionError):
        value = _text(data)
    with suppress(RowError):
        app.read_row(value, 0)
    rows.labelled(value, "response", {"prompt": "Write."})
    rows.labelled(_text(data), "response", {})


def reviews(data: bytes) -> None:
    """Replies of critics and of models that write checklists."""
    from heedful.bench.realcritic.critic import read_check, read_review
    from heedful.jobs.checklists import prompt

    text = _text(data)
    read_review(text)
    read_check(text)
    for reader in (prompt.make("plain").parse,):
        try:
            reader(text)
        except HeedfulError:
            continue


def stages(data: bytes) -> None:
    """Replies of the experts and verifiers who make a critic's data."""
    from heedful.critic.data import filtering, replies

    text = _text(data)
    for reader in (replies.blocks, filtering.parse):
        require(set(reader(text, [0, 1])) <= {0, 1})


def mappings(data: bytes) -> None:
    """A mapping of columns, and a row for it."""
    from heedful.data.formats import mapped
    from heedful.models.untrusted import parse

    columns, _, row = _text(data).partition("\n")
    try:
        reader = mapped.make(f"{mapped.PREFIX}{columns}")
        record = parse(row.encode())
    except (HeedfulError, ValueError, RecursionError):
        return
    with suppress(RowError, ValidationError):
        for part in reader.turns(record) if isinstance(record, dict) else ():
            reader.sample(part, 1).model_dump_json()


def problems(data: bytes) -> None:
    """A file of problems, triplets, audited rows or prices: read, or refused."""
    from heedful.bench.criticbench.items import read_triplets
    from heedful.bench.grading.problems import read_problems
    from heedful.critic.data.audit import Audit
    from heedful.models.pricing import read_prices

    path = _folder() / "problems.jsonl"
    path.write_bytes(data)
    for reader in (lambda name: list(read_problems(name)), read_triplets, Audit, read_prices):
        with suppress(HeedfulError):
            reader(path)


def redaction(data: bytes) -> None:
    """A secret and a message: the secret isn't in what is left."""
    from heedful.models.redaction import SECRET_CHARACTERS, Redactor

    secret, _, text = _text(data).partition("\n")
    left = Redactor([secret])(f"{text}{secret}")
    kept = len(secret.strip()) >= SECRET_CHARACTERS and secret.strip() in left
    require(not kept or secret.strip() in "[key]")


@cache
def _store() -> bytes:
    from heedful import evaluate

    run = _folder() / "whole"
    rows = [
        Sample(id=str(n), prompt="p", checklist=CONSTRAINTS, response="x " * n) for n in range(30)
    ]
    evaluate(rows, judge="compiled", run=run)
    return (run / "run.sqlite").read_bytes()


def stores(data: bytes) -> None:
    """A damaged run: refused, or its rows are as they were."""
    from heedful import SavedRun

    whole = bytearray(_store())
    for at in range(0, len(data) - 4, 5):
        place = int.from_bytes(data[at : at + 4]) % len(whole)
        whole[place] ^= data[at + 4]
    run = _folder() / "damaged"
    run.mkdir(exist_ok=True)
    (run / "run.sqlite").write_bytes(whole)
    (run / "summary.json").write_text("{}")
    for salvage in (False, True):
        try:
            with SavedRun.open(run, salvage=salvage) as saved:
                for entry in saved.entries():
                    require(bool(entry.problem) or entry.id == str(entry.position))
        except HeedfulError:
            continue
        except sqlite3.Error as error:
            raise AssertionError(error) from error


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        *(files, records, verdicts, completions, batches, constraints, responses, answers),
        *(schemas, reward_rows, reviews, stages, mappings, problems, redaction, stores),
    )
}


def _inputs(target: str) -> Iterator[bytes]:
    """Give inputs to begin with: what found something, records of each format, random bytes."""
    for path in (CORPUS / target).glob("*"):
        yield path.read_bytes()
    chance = random.Random(target)
    for name in source.FORMATS:
        keys = _keys(name)
        needed = [key for group in source.named(name).needs for key in group]
        draw = iter(lambda: chance.randrange(256), None)
        record = json.dumps({key: _value(draw, keys) for key in (*needed, *keys[:9])}).encode()
        head = {"files": bytes([chance.randrange(2)]), "mappings": f"{keys[0]}=prompt\n".encode()}
        yield head.get(target, b"") + record
    for _ in range(len(SUFFIXES) * 4):
        yield chance.randbytes(chance.randrange(40))


def _dictionary(folder: Path) -> Path:
    """Write the words of all formats and JSON for the fuzzer, which puts them into its inputs."""
    words = {word for name in source.FORMATS for word in _keys(name)}
    lines = [f'"\\"{word}\\":"' for word in sorted(words) if word.isascii()]
    lines += ['"{}"', '"[]"', '"null"', '"<c1>"', '"</c1>"', '"VERDICT: MET"', '"\\\\boxed{"']
    path = folder / "words.dict"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def main() -> None:
    """Fuzz a target for some time, beginning with its corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--found", type=Path, help="a folder for inputs that reach new code")
    options = parser.parse_args()
    import atheris

    # Only what is imported here is instrumented, so that coverage guides; else chance alone does.
    for name in [name for name in sys.modules if name.startswith("heedful")]:
        del sys.modules[name]
    with atheris.instrument_imports(include=["heedful"], enable_loader_override=False):
        target = importlib.import_module("fuzz").TARGETS[options.target]
        found = options.found or Path(tempfile.mkdtemp(prefix="heedful-corpus-"))
        for number, data in enumerate(_inputs(options.target)):
            target(data)  # imports what it needs
            (found / f"first-{number}").write_bytes(data)
    words: list[Any] = [
        sys.argv[0],
        f"-max_total_time={options.seconds}",
        "-max_len=4096",
        "-timeout=10",
        "-rss_limit_mb=3000",
        f"-dict={_dictionary(_folder())}",
        f"-artifact_prefix={found}/",
        found,
        *(folder for folder in [CORPUS / options.target] if folder.is_dir()),
    ]
    atheris.Setup(list(map(str, words)), target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
