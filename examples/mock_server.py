"""A mock server that stands in for models, to try every command without one.

    python examples/mock_server.py            # serves http://127.0.0.1:8000/v1 until Ctrl-C
    python examples/mock_server.py 8001       # on another port

No model is behind it. It recognises heedful's prompts and answers by a few rules, with errors at
random: it writes sentences about the words of an instruction, and calls a constraint met where the
response has enough of its words. The model's name in a request sets how often it errs. Repeated
requests get different answers, in the same order after each start. Its verdicts mean nothing: use
it to learn the commands, and a real model for results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from heedful import verify as code
from heedful.core.errors import VerifierError
from heedful.judges.prompts.block_layout import language_of
from heedful.judges.prompts.fence import unfence
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.core.nouns import Check

    Player = Callable[["Prompt"], str]

ERRORS = {"large": 0.1, "medium": 0.25, "small": 0.45}
"""How often a model errs, by its name."""

OTHERS_ERR = 0.15

TOKEN = 4
"""Characters of a token, about."""

WORD = re.compile(r"[A-Za-z]{4,}|(?=([\u4e00-\u9fff]{2}))")
SUM = re.compile(r"(\d+) plus (\d+)")
BOX = re.compile(r"\\boxed\{(-?\d+)\}")


class Prompt:
    """A request: its text, what is fenced in it, and the lots that decide what goes wrong.

    Attributes:
        text: what the user said.
        fenced: the fenced texts by label; of several with one label the last.
        chinese: whether the answer is to be Chinese.
        lot: random numbers that depend on the model, the request and how often it came before.
    """

    def __init__(self, model: str, messages: list[dict[str, str]], draw: int) -> None:
        turns = (each["content"] for each in messages if each["role"] == "user")
        self.text = "\n\n".join(turns)
        self.fenced = {each.label: each.text for each in unfence(self.text)}
        self.chinese = language_of(self.text) == "zh"
        self.lot = Random(f"{model} {messages} {draw}")
        self._error = ERRORS.get(model, OTHERS_ERR)

    def errs(self) -> bool:
        """Draw whether the model errs now."""
        return self.lot.random() < self._error

    def say(self, english: str, chinese: str) -> str:
        """Choose the language."""
        return chinese if self.chinese else english

    def numbered(self, *labels: str) -> list[str]:
        """Return the fenced texts whose label is one of these and a number."""
        return [text for label, text in self.fenced.items() if label.rpartition(" ")[0] in labels]

    @property
    def response(self) -> str:
        """The response that is judged."""
        return self.fenced.get("RESPONSE") or self.fenced.get("待评回复", "")


def words(text: str) -> set[str]:
    """Return what a text is about: its longer words by their first letters, Chinese pairs."""
    return {(match[1] or match[0])[:4].casefold() for match in WORD.finditer(text)}


def meets(constraint: str, response: str) -> tuple[bool, str]:
    """Say whether a fifth of a constraint's words stand in the response, and which do."""
    wanted = words(constraint)
    shared = sorted(wanted & words(response))
    return 5 * len(shared) >= len(wanted), ", ".join(shared) or "-"


def block(number: int, *lines: str) -> str:
    """Write one block of a reply."""
    return "\n".join((f"<c{number}>", *lines, f"</c{number}>"))


def judge(prompt: Prompt) -> str:
    """Judge a response against a checklist."""
    checklist = prompt.fenced.get("CHECKLIST") or prompt.fenced.get("要求清单", "")
    constraints = re.findall(r"^\d+\. (.+)$", checklist, re.MULTILINE)
    return "\n\n".join(
        block(number, *verdict(prompt, constraint))
        for number, constraint in enumerate(constraints, start=1)
    )


def mark(prompt: Prompt) -> str:
    """Judge as CFBench's judge does: each criterion and 1 or 0."""
    checklist = prompt.fenced.get("要求清单") or prompt.fenced.get("CHECKLIST", "")
    return "\n\n".join(
        f"{criterion}\t{int(meets(criterion, prompt.response)[0] != prompt.errs())}"
        for criterion in checklist.split("\n\n")
    )


def verdict(prompt: Prompt, constraint: str) -> tuple[str, str]:
    """Explain and judge one constraint."""
    met, shared = meets(constraint, prompt.response)
    if prompt.errs():
        met = not met
    return (
        prompt.say(f"Of its words the response has: {shared}.", f"回复中有这些词语：{shared}。"),
        prompt.say(f"VERDICT: {'MET' if met else 'UNMET'}", f"结论：{'满足' if met else '不满足'}"),
    )


def decompose(prompt: Prompt) -> str:
    """Take an instruction apart at its punctuation."""
    instruction = prompt.fenced.get("LAST USER TURN") or prompt.fenced.get("用户最后一条消息", "")
    stretches = [part.strip() for part in re.split(r"[.!?;](?:\s|$)|[,，。！？；]", instruction)]
    lines = ("类型", "优先级", "原文") if prompt.chinese else ("TYPE", "PRIORITY", "TEXT")
    colon = "：" if prompt.chinese else ": "
    return "\n\n".join(
        block(
            number,
            f"{lines[0]}{colon}content/other",
            f"{lines[1]}{colon}{'primary' if number == 1 else 'secondary'}",
            f"{lines[2]}{colon}{stretch}",
        )
        for number, stretch in enumerate(filter(None, stretches), start=1)
    )


def sort(prompt: Prompt) -> str:
    """Name a category, and a complexity by the number of stretches."""
    complexity = min(5, 1 + len(re.findall(r"[.,;，。；]", "".join(prompt.fenced.values()))))
    return prompt.say(
        f"CATEGORY: writing\nCOMPLEXITY: {complexity}", f"类别：writing\n复杂度：{complexity}"
    )


def verify(prompt: Prompt) -> str:
    """Look over judgments: one is right if we would have come to it."""
    blocks = []
    for number, text in enumerate(prompt.numbered("JUDGMENT", "判断"), start=1):
        constraint, *_, said = text.splitlines()
        right = meets(constraint, prompt.response)[0] == ("UNMET" not in said and "不" not in said)
        if prompt.errs():
            right = not right
        blocks.append(
            block(
                number,
                prompt.say("I looked for its words.", "我核对了词语。"),
                prompt.say(
                    f"EXPLANATION: {'CORRECT' if right else 'INCORRECT'}",
                    f"分析：{'正确' if right else '不正确'}",
                ),
                prompt.say("VERDICT: FOLLOWS", "结论：一致"),
            )
        )
    return "\n\n".join(blocks)


def extract(prompt: Prompt) -> str:
    """Say that every limit is on the whole response."""
    items = prompt.numbered("CONSTRAINT", "要求")
    part = prompt.say("PART: WHOLE", "片段：全文")
    return "\n\n".join(block(number, part) for number in range(1, len(items) + 1))


def revise(prompt: Prompt) -> str:
    """Write judgments again, from code where it understands the constraint."""
    blocks = []
    for number, text in enumerate(prompt.numbered("JUDGMENT", "判断"), start=1):
        constraint = text.splitlines()[0].partition(prompt.say(": ", "："))[2]
        check = compile_constraint(constraint).check
        finding = counted(check, prompt.response) if check else None
        met = finding.met if finding else not re.search(r"UNMET|不满足", text)
        seen = finding.found if finding else text.splitlines()[-1]
        blocks.append(
            block(
                number,
                prompt.say(f"The response has {seen}.", f"回复：{seen}。"),
                prompt.say(
                    f"VERDICT: {'MET' if met else 'UNMET'}", f"结论：{'满足' if met else '不满足'}"
                ),
            )
        )
    return "\n\n".join(blocks)


def counted(check: Check, response: str) -> code.Finding | None:
    """Run a check; ``None`` where its readings disagree."""
    try:
        return code.check(check, code.Response(response))
    except VerifierError:
        return None


def solve(prompt: Prompt) -> str:
    """Add two numbers, and sometimes slip."""
    first, second = SUM.findall(prompt.text)[-1]
    total = int(first) + int(second) + (prompt.lot.choice((1, 1, 10)) if prompt.errs() else 0)
    return f"{first} and {second} make {total}.\nThe answer is \\boxed{{{total}}}."


def right(prompt: Prompt) -> tuple[bool, int]:
    """Say whether a solution looks right, and the sum."""
    first, second = SUM.findall(prompt.text)[-1]
    total = int(first) + int(second)
    solution = prompt.fenced.get("SOLUTION") or prompt.response
    boxes = BOX.findall(solution)
    correct = bool(boxes) and int(boxes[-1]) == total
    return correct != prompt.errs(), total


def criticise(prompt: Prompt) -> str:
    """Judge the solution of a sum."""
    correct, total = right(prompt)
    return f"The numbers make {total}.\nJudgment: {'correct' if correct else 'incorrect'}"


def correct(prompt: Prompt) -> str:
    """Judge the solution of a sum, and put it right."""
    correct, total = right(prompt)
    given = BOX.findall(prompt.fenced["SOLUTION"])
    answer = given[-1] if correct and given else str(total)
    word, step = ("Correct", -1) if correct else ("Incorrect", 1)
    return (
        f"## Critique\n### Step 1\nThe numbers make {total}.\n\n"
        f"## Conclusion\nThe solution is {word}.\nFirst wrong step: {step}\n\n"
        f"## Correction\nThe answer is \\boxed{{{answer}}}."
    )


def rank(prompt: Prompt) -> str:
    """Rank responses by how many words of the request they have."""
    asked = words(
        "\n".join(text for label, text in prompt.fenced.items() if "RESPONSE" not in label)
    )
    shared = [len(asked & words(text)) for text in prompt.numbered("RESPONSE")]
    order = sorted(range(len(shared)), key=shared.__getitem__, reverse=not prompt.errs())
    return "RANKING: " + " > ".join(str(at + 1) for at in order)


def respond(prompt: Prompt) -> str:
    """Write a few sentences about words of the instruction; some instructions are followed."""
    subjects = re.findall(r"[A-Za-z]{4,}|[\u4e00-\u9fff]{2}", prompt.text) or ["this"]
    count = prompt.lot.randint(2, 5)
    sentences = [
        prompt.say(f"A word on {word}, and another.", f"说到{word}，值得一谈。")
        if prompt.errs()
        else prompt.say(f"There is much to say of {word}.", f"{word}值得一谈。")
        for word in prompt.lot.choices(subjects, k=count)
    ]
    phrases = re.findall(r"['‘“\"]([^'’”\"]+)['’”\"]", prompt.text)
    endings = [] if prompt.errs() else phrases
    return prompt.say(" ", "").join([*sentences, *endings])


PLAYERS: dict[str, Player] = {
    "judge the response against every constraint": judge,
    "逐条判断": judge,
    "根据评判点清单": mark,
    "taking an instruction apart": decompose,
    "把指令拆分成": decompose,
    "You are sorting instructions": sort,
    "给指令分类": sort,
    "You are checking the work of somebody": verify,
    "复核这些评判": verify,
    "You are to rank them": rank,
    "You are preparing a count": extract,
    "为程序计数做准备": extract,
    "You have judged whether": revise,
    "请重写每个判断": revise,
    "Go through it step by step, as the examples": criticise,
    "checking a solution to a problem": correct,
    "\\boxed{}": solve,
    "Problem: ": solve,
}
"""Who plays, by words of the prompt; the first that is found. Other prompts are instructions."""


class Server(ThreadingHTTPServer):
    """Lets as many callers wait as a run may send at once."""

    request_queue_size = 256
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST …/chat/completions``."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together
    seen: ClassVar[Counter[str]] = Counter()
    lock = threading.Lock()

    def do_POST(self) -> None:
        """Answer one request."""
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = json.dumps([body["model"], body["messages"]])
        with self.lock:
            sample_index = self.seen[key]
            self.seen[key] += 1
        prompt = Prompt(body["model"], body["messages"], sample_index)
        answer = next((role for piece, role in PLAYERS.items() if piece in prompt.text), respond)
        self._send(self._completion(body, answer(prompt)))

    def _completion(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        tokens = sum(len(message["content"]) for message in body["messages"]) // TOKEN
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": tokens, "completion_tokens": len(text) // TOKEN}
        return {
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }

    def _send(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Play models, to try heedful's commands on.")
    parser.add_argument("port", nargs="?", type=int, default=8000, help="0 takes a free one")
    port = parser.parse_args().port
    try:
        server = Server(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        parser.error(f"port {port}: {error} (name another: python examples/mock_server.py 8001)")
    with server, contextlib.suppress(KeyboardInterrupt):
        sys.stderr.write(f"mock server at http://127.0.0.1:{server.server_port}/v1\n")
        server.serve_forever()


if __name__ == "__main__":
    main()
