"""A real ``heedful serve`` at a free port, and a plain client for it."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="the extra serve is not installed")

CODED: dict[str, Any] = {
    "prompt": "Greet.",
    "response": "Hi you",
    "checklist": [{"text": "No commas.", "check": {"id": "punctuation:no_comma"}}],
}
ASKED: dict[str, Any] = {**CODED, "checklist": [*CODED["checklist"], "It is polite."]}


class Server:
    """A process that serves.

    Attributes:
        url: where.
        said: what it printed at its start.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.said = [process.stdout.readline().rstrip() for _ in range(3)]
        self.url = self.said[0].split()[2].rstrip(",") if self.said[0] else ""

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop it; return its exit code and what it wrote to its log."""
        self.process.send_signal(how)
        _, log = self.process.communicate(timeout=30)
        return self.process.returncode, log

    def post(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Send a body, as JSON unless it is bytes; return status, JSON and headers."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, dict(headers or {}))
        return answered(request)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Ask for a page."""
        status, body, _ = answered(
            urllib.request.Request(self.url + path, None, dict(headers or {}))
        )
        return status, body

    def rewards(self, *samples: Any) -> tuple[int, Any]:
        """Ask for rewards."""
        status, body, _ = self.post("/v1/rewards", {"samples": samples})
        return status, body


def answered(request: urllib.request.Request) -> tuple[int, Any, Mapping[str, str]]:
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, _read(answer), _named(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _read(error), _named(error)


def _named(answer: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


def _read(answer: Any) -> Any:
    text = answer.read().decode()
    return json.loads(text) if "json" in answer.headers["Content-Type"] else text


def command(*flags: str) -> list[str]:
    return [sys.executable, "-m", "heedful", "serve", *flags]


@contextmanager
def server(*flags: str, model_url: str | None = None, cwd: Path | None = None) -> Iterator[Server]:
    """Serve until the end of the block; with a model, the judge asks it."""
    asking = ["--judge=rules,checklist", "--model=critic", f"--base-url={model_url}"]
    words = command("--port=0", *(asking if model_url else []), *flags)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    ) as process:
        made = Server(process)
        try:
            if not made.url:
                raise AssertionError(process.communicate()[1])
            yield made
        finally:
            if process.returncode is None:
                process.kill()
                process.communicate()
