"""Reading a file's text through a window: the values of a long JSON text, one after another."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any, BinaryIO

from heedful.data.formats.raw import CELL_LIMIT

CHUNK = 1 << 16
"""Bytes that are read at a time."""

_TOKEN = 16
"""Longer than any JSON literal: an error this close to the end may only mean "read on"."""

_NO_SPACE = re.compile(r"[^ \t\r\n]")
_DECODER = json.JSONDecoder()


class Window:
    """A window that slides over a file's text: bounded by the longest element, not by the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        # A byte that is not UTF-8 must cost its own element only: it is smuggled through as a
        # surrogate and found again when the element is complete.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="surrogateescape")
        self._ended = False
        self.text = ""
        self.at = 0
        self.line = 1

    def more(self) -> bool:
        """Read on, forgetting what lies behind; false at the end of the file."""
        if self._ended:
            return False
        if len(self.text) - self.at > CELL_LIMIT:
            what = f"a row is longer than {CELL_LIMIT:,} characters"
            raise json.JSONDecodeError(what, "", 0)
        self.text = self.text[self.at :]
        self.at = 0
        # As much again as is held: an element of n characters is tried log(n) times, not n.
        raw = self._file.read(max(CHUNK, len(self.text)))
        self._ended = not raw
        self.text += self._decoder.decode(raw, final=self._ended)
        return True

    def advance(self, to: int) -> str:
        """Go on to a place in the text; return what was passed."""
        passed = self.text[self.at : to]
        self.line += passed.count("\n")
        self.at = to
        return passed

    def peek(self) -> str:
        """Skip white space; return the next character, ``""`` at the end of the file."""
        while True:
            rest = _NO_SPACE.search(self.text, self.at)
            self.advance(rest.start() if rest else len(self.text))
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def element(self) -> tuple[Any, str]:
        """Read the value that starts here; return it and its text."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated")
                cut = cut or error.pos > len(self.text) - _TOKEN
                if not (cut and self.more()):
                    raise
                continue
            if end == len(self.text) and self.more():  # a number may go on behind the window
                continue
            return value, self.advance(end)
