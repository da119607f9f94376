"""Keys are in no message, whatever a server makes of them before it sends them back."""

import asyncio
import json
import logging
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fault_server import Answer, refusal, serving
from heedful import Constraint, Message, Sample, evaluate
from heedful.core.errors import HeedfulError
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel, Sampling
from heedful.models.faults import fault_of
from heedful.models.redaction import PIECE, Redactor
from heedful.models.replies import read_completion

KEYS = st.text(
    string.ascii_letters + string.digits + "-_.+/=%& \"\\<>'~", min_size=16, max_size=80
).map(lambda text: f"k{text}y")
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "percent-encoded": lambda key: quote(key, safe=""),
    "percent-encoded, in part": quote,
    "of a form": quote_plus,
    "lower percents": lambda key: quote(key, safe="").lower(),
    "JSON": json.dumps,
    "letters apart": " ".join,
    "capitals": str.upper,
    "spaced": lambda key: " ".join(key[at : at + 4] for at in range(0, len(key), 4)),
    "wrapped": lambda key: "\n".join(key[at : at + 10] for at in range(0, len(key), 10)),
    "dotted": ".".join,
    "first half": lambda key: key[: len(key) // 2],
    "last half": lambda key: key[len(key) // 2 :],
    "all but the first": lambda key: key[1:],
    "cut, with dots": lambda key: f"{key[: len(key) * 2 // 3]}...",
}


def longest_left(said: str, form: str) -> int:
    """Return the longest run of letters and digits of a form that a message still has."""
    whole = "".join(filter(str.isalnum, form)).lower()
    parts = ("".join(filter(str.isalnum, part)).lower() for part in said.split("[key]"))
    runs = (
        length
        for part in parts
        for start in range(len(part))
        for length in range(1, len(part) - start + 1)
        if part[start : start + length] in whole
    )
    return max(runs, default=0)


@pytest.mark.parametrize("name", FORMS)
@given(key=KEYS)
def test_no_piece_of_a_key_is_left_whatever_form_it_has(name: str, key: str) -> None:
    form = FORMS[name](key)
    left = Redactor([key])(f"<<< {form} >>>").removeprefix("<<< ").removesuffix(" >>>")
    assert longest_left(left, form) < PIECE


async def answer(model: OpenAIModel) -> None:
    try:
        await model.generate([Message(role="user", content="x")], Sampling())
    finally:
        await model.close()


@pytest.mark.parametrize("name", FORMS)
def test_a_key_in_the_address_is_in_no_message(name: str) -> None:
    key = "sk-Proj/4f+Zq9=Xw&7LmN%2Pb_Tr8Vs6"
    with serving(refusal(400, f"no: {FORMS[name](key)}")) as server:
        model = OpenAIModel(
            "m", base_url=f"{server.url}?api-key={quote(key, safe='')}", max_attempts=1
        )
        with pytest.raises(HeedfulError) as refused:
            asyncio.run(answer(model))
    said = str(refused.value).partition("HTTP 400: ")[2]
    assert said.startswith("no")
    assert longest_left(said.removeprefix("no: "), FORMS[name](key)) < PIECE


WRITTEN = ("as it is", "percent-encoded")
"""Forms that a program puts a key into when it repeats a header."""


def reply(said: str, *, status: int) -> dict[str, Any]:
    """Make a server's reply, with something in each of its texts."""
    if status != 200:
        return {"error": {"message": said, "code": said, "param": said}, "model": said}
    message = {"content": f"{said} <c1>\nVERDICT: MET\n</c1>", "reasoning_content": said}
    tokens = [{"top_logprobs": [{"token": said, "logprob": -1.0}]}]
    choice = {"message": message, "finish_reason": said, "logprobs": {"content": tokens}}
    usage = {"prompt_tokens": 10, "completion_tokens": 4}
    return {"choices": [choice], "model": said, "usage": usage}


def texts(value: Any) -> Iterator[str]:
    """Yield all texts within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in (*value, *value.values()):
            yield from texts(item)


@given(
    key=KEYS,
    form=st.sampled_from(WRITTEN),
    before=st.integers(0, 220),
    escapes=st.booleans(),
    status=st.sampled_from([200, 400]),
)
def test_no_text_of_a_reply_holds_a_key(
    *, key: str, form: str, before: int, escapes: bool, status: int
) -> None:
    said = FORMS[form](key)
    text = "".join(f"\\u{ord(c):04x}" for c in said) if escapes else json.dumps(said)[1:-1]
    body = json.dumps(reply("@", status=status)).replace("@", "\N{MIDDLE DOT}" * before + text)
    read = Redactor([key]).body(body.encode())
    fault = fault_of(status, {}, read)
    kept = {fault.text, fault.model, fault.parameter or ""}
    if status == 200:
        kept |= {*texts(read_completion(read).model_dump())}
        without = read_completion(json.dumps(reply("", status=status)).encode())
        kept -= {*texts(without.model_dump())}  # words of every reply, which a key may resemble
    assert not [text for text in kept if longest_left(text, said) >= PIECE]


def test_what_local_servers_take_for_a_key_is_a_word_of_answers() -> None:
    said = json.dumps({"text": "LM Studio serves the model: lm-studio, on 2024-10-21."}).encode()
    named = [("HTTP-Referer", "https://example.org/heedful"), ("api-version", "2024-10-21")]
    assert Redactor(["lm-studio"], named).body(said) == said


@pytest.mark.slow
def test_a_key_that_a_server_repeats_is_in_no_file_and_no_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = "sk-Proj/4f+Zq9=Xw&7LmN%2Pb_Tr8Vs6"
    rows = [
        Sample(id=str(n), prompt=f"{n}", checklist=(Constraint(text="It is."),), response="Yes.")
        for n in range(5)
    ]

    def script(number: int, _: dict[str, Any]) -> Answer:
        status = (200, 400, 200, 500, 200)[number % 5]
        return Answer(status=status, body=reply(f"you sent Bearer {key}", status=status))

    with serving(script=script) as server, caplog.at_level(logging.DEBUG):
        model = OpenAIModel("m", base_url=server.url, api_key=key, backoff_s=0.01)
        judge = Checklist(model, prompts.make("plain"))
        summary = evaluate(rows, judge=judge, run=tmp_path / "run").summary
    assert summary["cost"]["calls"] >= 3
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"[key]" in written
    assert key.encode() not in written + json.dumps(summary).encode()
    assert longest_left(caplog.text, key) < PIECE
