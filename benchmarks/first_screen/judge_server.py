"""A judge model of fixed opinions on the loopback: the same for every tool, each in its own form.

    python benchmarks/first_screen/judge_server.py

Prints the port that it serves. It finds the row by its response and the criteria by their text in
the prompt. On one row it keeps to no form, as small models do, to show what a tool makes of that.
``GET /calls`` counts the requests of each tool.
"""

from __future__ import annotations

import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

ROWS = [json.loads(line) for line in Path(__file__).with_name("rows.jsonl").open(encoding="utf-8")]
UNMET = {
    "Does not contain the word 'simply'.": "It says 'Simply pour'.",
    "It says how long the tea steeps.": "No time is given.",
    "No exclamation marks.": "It ends with one.",
}
GARBLED = "swimming"
NO_FORM = "That is a good question. Swimming can be dangerous, and it depends on many things."


def why(criterion: str) -> str:
    """Explain the opinion on a criterion."""
    return UNMET.get(criterion, "It does.")


def letters(text: str) -> str:
    """Return the letters and digits: some tools write a response that is JSON again."""
    return "".join(filter(str.isalnum, text))


def reply(asker: str, prompt: str) -> str:
    """Judge in the form that a tool reads."""
    row = next(row for row in ROWS if letters(row["response"]) in letters(prompt))
    if row["id"] == GARBLED:
        return NO_FORM
    asked = [criterion for criterion in row["checklist"] if criterion in prompt]
    unmet = [criterion for criterion in asked if criterion in UNMET]
    reason = " ".join(map(why, unmet)) or "All is there."
    if asker == "promptfoo":
        return json.dumps({"reason": reason, "score": int(not unmet), "pass": not unmet})
    if asker in {"inspect", "lm-eval"}:
        return f"{reason}\n\nGRADE: {'I' if unmet else 'C'}"
    return "\n\n".join(
        f"<c{number}>\n{why(each)}\nVERDICT: {'UNMET' if each in UNMET else 'MET'}\n</c{number}>"
        for number, each in enumerate(asked, start=1)
    )


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST /ASKER/v1/chat/completions``."""

    protocol_version = "HTTP/1.1"
    calls: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        """Say how often each tool asked."""
        self._send(self.calls)

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        asker = self.path.split("/")[1]
        self.calls[asker] += 1
        text = reply(asker, prompt)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        usage["total_tokens"] = sum(usage.values())
        head = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        self._send({**head, "choices": [choice], "usage": usage})

    def _send(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
