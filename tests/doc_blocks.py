"""The commands and programs of the documentation: found, and run as a reader would.

What a page says about a block stands in a comment right before it:

- ``<!-- not run: WHY -->``: it is not run; its ``heedful`` lines are parsed all the same.
- ``<!-- test -->``: ``.ci/run`` runs it.

All other blocks with commands or Python are run, in the order of the page and in one folder. A
command that ends otherwise than with 0 says so at its end: ``# exit code 1``. A ``text`` block
right after one of them has lines of what it prints. Packages are taken to be installed, and the
mock server to be running.
"""

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heedful.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")],
    key=lambda path: str(path.relative_to(ROOT)),
)
LIMIT_S = 120
RUN_KINDS = {"sh", "python"}
OTHER_KINDS = {"", "json", "text", "toml", "yaml"}

_BLOCK = re.compile(
    r"^(?:<!--(?P<note>(?:(?!-->).)*)-->\n)?```(?P<kind>\w*)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_OUTPUT = re.compile(r"\n*```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"# exit code (\d+)")
_ASSIGNED = re.compile(r"export (\w+)=(.*)")
_ASKS = {"--model", "-m", "--verifier", "--check-model"}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        kind: its language.
        line: where its code starts, from 1.
        reason: why it is not run; ``None`` where it is.
        output: lines that it prints, among others.
    """

    page: Path
    kind: str
    code: str
    line: int
    reason: str | None
    output: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Find the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        note = (match["note"] or "").strip()
        reason = note.removeprefix("not run:").strip() if note.startswith("not run:") else None
        if note == "test":
            reason = ".ci/run does"
        line = text.count("\n", 0, match.start("code")) + 1
        shown = _OUTPUT.match(text, match.end())
        output = tuple(filter(None, map(str.rstrip, shown[1].splitlines()))) if shown else ()
        yield Block(page, match["kind"], match["code"], line, reason, output)


def commands(code: str) -> Iterator[str]:
    """Take a block of commands apart: continued lines and open quotes belong to one command."""
    command = ""
    for line in code.replace("\\\n", " ").splitlines():
        command = f"{command}\n{line}".strip()
        if command.startswith("#"):
            command = ""
        elif command and _closed(command):
            yield command
            command = ""
    assert not command, f"a quote is left open: {command}"


def _closed(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def within(seconds: int, place: str) -> Iterator[None]:
    """End what takes too long, as a server does that nobody stops."""

    def end(*_: object) -> None:
        pytest.fail(f"{place}: did not end in {seconds} s; say in a comment that it is not run")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Reader:
    """Somebody who types what a page says, in a folder of their own.

    Where a page has an address on this machine, the mock server answers.
    """

    def __init__(self, folder: Path, mock: str, *, stands_in: bool = False) -> None:
        """Begin on a page.

        Args:
            folder: where commands are typed.
            mock: the mock server's address.
            stands_in: whether it also answers for models of which the page gives no address.
        """
        self.folder = folder
        self.mock = mock
        self.stands_in = stands_in
        self.names: dict[str, Any] = {"__name__": "__page__"}

    def run(self, block: Block) -> None:
        """Run a block.

        Raises:
            AssertionError: a command ended with another exit code than the page says, or printed
                something else.
        """
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), within(LIMIT_S, block.place):
            self._run(block)
        lines = iter([line.rstrip() for line in printed.getvalue().splitlines()])
        missing = [line for line in block.output if line not in lines]
        assert not missing, f"{block.place}: not printed: {missing[0]}\n{printed.getvalue()}"

    def _run(self, block: Block) -> None:
        code = re.sub(r"http://127\.0\.0\.1:\d+/v1", self.mock, block.code)
        if block.kind == "python":
            exec(compile(code, block.place, "exec"), self.names)  # noqa: S102 - our own pages
            return
        for command in commands(code):
            if not self._known(command):
                result = self._type(command)
                expected = int(match[1]) if (match := _EXIT.search(command)) else 0
                assert result == expected, f"{block.place}: {command}: exit code {result}"

    def _known(self, command: str) -> bool:
        """Do what needs no running: packages, the mock server, variables."""
        if match := _ASSIGNED.fullmatch(command):
            os.environ[match[1]] = match[2].replace("…", "none")
            return True
        return "pip install " in command or command.startswith("python examples/mock_server.py")

    def _type(self, command: str) -> int:
        words = shlex.split(os.path.expandvars(command), comments=True)
        if words[0] == "heedful":
            return self._heedful(words[1:])
        words = [sys.executable if word == "python" else word for word in words]
        return subprocess.run(words, cwd=self.folder, check=False, capture_output=True).returncode

    def _heedful(self, words: list[str]) -> int:
        if self.stands_in and _ASKS & {*words} and "--base-url" not in words:
            words = [*words, "--base-url", self.mock]
        try:
            main([*self._expanded(words)])
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1
        return 0

    def _expanded(self, words: list[str]) -> Iterator[str]:
        """Expand what the shell would: ``*`` in names of files."""
        for word in words:
            result = sorted(str(path) for path in Path().glob(word)) if "*" in word else []
            yield from result or [word]
