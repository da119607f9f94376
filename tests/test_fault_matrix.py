"""Every command that calls models, with every fault of a server.

No fault ends in a traceback. A command exits with the code that it documents and says what is
wrong and where; it loses no row; and once the server is well again, the same command comes to the
results of a run without faults, and pays for no answer twice.
"""

import itertools
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import commands
import extras
from calling_commands import COMMANDS, Command, write_inputs
from fault_server import Answer, Script, completion, serving
from heedful.models import OpenAIModel

extras.needs("math_verify", extra="reasoning")

HANG_S = 30.0


@cache
def prepared(root: Path, name: str) -> Path:
    """Make a folder with all that a command reads."""
    folder = root / name.replace(",", "")
    folder.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_inputs()
        for earlier in COMMANDS[name].before:
            with serving(script=honest(COMMANDS[earlier])) as server:
                assert call(COMMANDS[earlier], server.url) == 0
    return folder


def honest(command: Command) -> Script:
    return lambda _, body: command.answer(body)


def call(command: Command, url: str, *more: str) -> int:
    words = [*command.words.split(), "--base-url", url, "-k", "none", *more]
    return commands.run(*words)


def result(command: Command) -> dict[str, str]:
    """Read the rows of a command's results, by file and place."""
    if not command.result:
        return {}
    found = {}
    for path in sorted(Path().glob(command.result)):
        for at, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            found[f"{path.name} {at}"] = line
    return found


@cache
def expected(root: Path, name: str) -> tuple[dict[str, str], Counter[str]]:
    """Run a command with a server that is well; give its results, and what it asked."""
    command = COMMANDS[name]
    shutil.copytree(prepared(root, name), root / f"{name} well")
    with pytest.MonkeyPatch.context() as patch, serving(script=honest(command)) as server:
        patch.chdir(root / f"{name} well")
        assert call(command, server.url) == 0
        return result(command), Counter(map(key, server.bodies))


def key(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)


# --- faults -------------------------------------------------------------------------------------


def sent(status: int = 200, body: Any = "", **headers: str) -> Callable[[Answer], Answer]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Answer(status=status, body=body, headers=named)


def with_fields(**fields: Any) -> Callable[[Answer], Answer]:
    return lambda good: replace(good, body={**good.body, **fields})


def edited(edit: Callable[[bytes], bytes]) -> Callable[[Answer], Answer]:
    return lambda good: replace(good, body=edit(json.dumps(good.body).encode()))


def beside(**fields: Any) -> Callable[[Answer], Answer]:
    def bend(good: Answer) -> Answer:
        (choice,) = good.body["choices"]
        choices = [{**choice, "message": {**choice["message"], **fields}}]
        return replace(good, body={**good.body, "choices": choices})

    return bend


LIMIT = 1 << 20
"""Bytes that an answer may have where it is to be too long."""

DEEP = "[" * 200_000
PASSING: Mapping[str, Callable[[Answer], Answer]] = {
    "429, Retry-After": sent(429, "slow down", Retry_After="0.05"),
    "429, Retry-After makes no sense": sent(429, {"error": []}, Retry_After="soon, 1e999"),
    "500": sent(500, {"error": {"message": "oops"}}),
    "502, a page": sent(502, "<html>" + "busy " * 10_000),
    "503, a lone surrogate": sent(503, b'{"error": {"message": "\\ud800"}}'),
    "529, not UTF-8": sent(529, b"\xff\xfe\x00\xd8"),
    "200, an error": sent(200, {"error": {"message": "upstream", "code": 502}}),
    "200, nothing": sent(200, ""),
    "200, a list": sent(200, "[]"),
    "200, deep": sent(200, DEEP),
    "200, no choice": with_fields(choices=[]),
    "200, half of the JSON": edited(lambda data: data[: len(data) // 2]),
    "200, not gzip": lambda good: replace(good, headers={"Content-Encoding": "gzip"}),
    "dropped": lambda good: replace(good, cut=0),
    "dropped half-way": lambda good: replace(good, cut=60),
    "hangs": lambda good: replace(good, delay_s=HANG_S),
    "drips": lambda good: replace(good, drip_s=0.2),
}
"""Faults of the first attempt at each request, which the next does not meet."""

HARMLESS: Mapping[str, Callable[[Answer], Answer]] = {
    "a number of 100,000 digits": edited(
        lambda data: data[:-1] + b', "usage": {"prompt_tokens": 1' + b"0" * 100_000 + b"}}"
    ),
    "odd usage": with_fields(usage={"prompt_tokens": -5, "completion_tokens": [1]}),
    "a long name": with_fields(model="toy" * 300_000),
    "lone surrogates": beside(reasoning_content="\ud800 \udfff", name="\udcff"),
    "a line of 50 MB": with_fields(padding="x" * (50 << 20)),
    "a byte order mark": edited(lambda data: b"\xef\xbb\xbf" + data),
}
"""Oddities of a good answer."""

LASTING: Mapping[str, Callable[[Answer], Answer]] = {
    "too long": edited(lambda data: data + b" " * LIMIT),
    "400": sent(400, {"error": {"message": "this prompt is odd", "param": ["x"]}}),
    "always 500": sent(500, "oops"),
    "always dropped": lambda good: replace(good, cut=0),
    "always broken JSON": edited(lambda data: data[:-20]),
    "filtered": lambda _: completion("", finish_reason="content_filter"),
}
"""Faults that every third request meets again and again."""

STOPPING: Mapping[str, tuple[Callable[[Answer], Answer], str]] = {
    "401": (sent(401, {"error": {"message": "bad key"}}), "bad key"),
    "401 after two answers": (sent(401, {"error": {"message": "bad key"}}), "bad key"),
    "402": (sent(402, {"error": "empty"}), "empty"),
    "429, no credit": (sent(429, {"error": {"code": "insufficient_quota"}}), "quota"),
    "404": (sent(404, {"detail": "Not Found"}), "Not Found"),
    "400, no such model": (
        sent(400, {"error": {"message": "Invalid model name"}}),
        "Invalid model",
    ),
    "400, no such key": (sent(400, {"error": {"message": "No connected db."}}), "No connected db"),
    "a redirect": (sent(307, "", Location="http://example.invalid"), "redirects"),
    "only streams": (sent(200, 'data: {"choices": []}\n\ndata: [DONE]\n'), "stream"),
}
"""Faults after which no call can succeed: what is answered, and what the message holds."""

ENDPOINTS = {
    "nobody there": ("http://127.0.0.1:9/v1", "refused"),
    "no such host": ("http://nowhere.invalid/v1", "nowhere.invalid"),
    "no TLS": ("https://127.0.0.1:{port}/v1", "TLS"),
}
"""Addresses at which no server answers, and what the message holds."""


# --- what may be expected -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause between attempts for no time that a person would notice."""
    assert OpenAIModel.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(OpenAIModel.__init__.__kwdefaults__, "backoff_s", 0.001)
    monkeypatch.setenv("NO_PROXY", "*")


class Bought:
    """A script that answers well or bends the answer, and remembers the good ones."""

    def __init__(self, command: Command, bends: Callable[[int, str], Any]) -> None:
        self.paid: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        self._command, self._bends = command, bends

    def __call__(self, number: int, body: dict[str, Any]) -> Answer:
        bend = self._bends(number, key(body))
        self.attempts[key(body)] += 1
        answer = self._command.answer(body)
        if bend is not None:
            return bend(answer)  # type: ignore[no-any-return]
        self.paid[key(body)] += 1
        return answer


def check(root: Path, name: str, fault: str, patch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Run a command against a faulty server, and again against one that is well."""
    command = COMMANDS[name]
    rows, requests = expected(root, name)
    folder = root / f"{name} {fault}".replace("/", "")
    shutil.copytree(prepared(root, name), folder)
    patch.chdir(folder)
    if fault == "too long":
        patch.setattr("heedful.models.openai.BODY_LIMIT", LIMIT)
    code, words, paid = faulty(command, fault)
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    stops = fault in STOPPING or fault in ENDPOINTS
    assert code == (2 if stops else command.incomplete if fault in LASTING else 0), said.err
    if stops:
        assert words in said.err, said.err
        assert len(said.err.splitlines()) <= 4, said.err
    if code or fault in LASTING:
        again = ["--retry-failed"] if fault in LASTING and not command.repeats else []
        well = Bought(command, lambda *_: None)
        with serving(script=well) as server:
            assert call(command, server.url, *again) == 0, capsys.readouterr().err
        paid = well.paid if command.repeats else paid + well.paid
    assert result(command).keys() == rows.keys()
    if not (command.draws or fault in HARMLESS):  # what a call used is in the rows of some
        assert result(command) == rows
    assert paid == requests


def faulty(command: Command, fault: str) -> tuple[int, str, Counter[str]]:
    """Run a command against a server with a fault: its exit code, what it says, what it paid."""
    one_by_one = ("--max-concurrency", "1")
    if fault in ENDPOINTS:
        url, words = ENDPOINTS[fault]
        with serving(Answer()) as server:
            port = server.url.rpartition(":")[2].partition("/")[0]
            return call(command, url.format(port=port), *one_by_one), words, Counter()
    script = Bought(command, lambda *_: None)
    more: Sequence[str] = ()
    words = ""
    if fault in PASSING:
        script = Bought(command, lambda _, body: None if script.attempts[body] else PASSING[fault])
        more = ("--timeout", "1.5") if fault in {"hangs", "drips"} else ()
    elif fault in HARMLESS:
        once = fault == "a line of 50 MB"
        script = Bought(command, lambda number, _: None if once and number else HARMLESS[fault])
    elif fault in LASTING:
        order: dict[str, int] = {}
        script = Bought(
            command,
            lambda _, body: None if order.setdefault(body, len(order)) % 3 else LASTING[fault],
        )
    else:
        after = 2 if fault.endswith("after two answers") else 0
        bend, words = STOPPING[fault]
        script = Bought(command, lambda number, _: None if number < after else bend)
        more = one_by_one
    with serving(script=script) as server:
        code = call(command, server.url, *more)
        paid = Counter(map(key, server.bodies)) if fault in HARMLESS else script.paid
        return code, words, paid


FAULTS = (*PASSING, *HARMLESS, *LASTING, *STOPPING, *ENDPOINTS)
SKIPPED = {("evaluate, a panel", fault) for fault in LASTING}
"""The others of a panel decide where one has no answer."""

CASES = [case for case in itertools.product(COMMANDS, FAULTS) if case not in SKIPPED]

SOME = set(zip(COMMANDS, FAULTS[::3], strict=False))
"""Each command once, with every third fault."""


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case in SOME else pytest.mark.exhaustive)
        for case in CASES
    ],
)
def test_every_command_survives_every_fault(
    root: Path,
    name: str,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(root, name, fault, monkeypatch, capsys)
