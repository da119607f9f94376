"""Secrets that no message may hold, in whatever form a server sends them back.

A server may repeat a key as it came, percent-encoded, in base64, cut, spaced or in capitals. So no
list of forms is looked for, but any piece of one: eight letters and digits in a row that are in a
secret too, whatever stands between them.
"""

from __future__ import annotations

import base64
import json
import re
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic_core import to_json

from heedful.models.untrusted import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SECRET_CHARACTERS = 6
"""Shorter values aren't secrets, and taking them out would make messages unreadable."""

PIECE = 8
"""Letters and digits of a piece; fewer for a secret that has fewer than 16."""

QUOTED_CHARACTERS = 500
"""Characters of a server's message that are passed on."""

READ_CHARACTERS = 20 * QUOTED_CHARACTERS
"""Characters that are looked through: pieces make what is quoted shorter."""

SURELY_SECRET = 16
"""Characters from which any value is taken for a secret in a reply too. Of shorter ones only those
with a digit are, down to :data:`PIECE`: "lm-studio" is what servers on this machine want to be
given, and answers may well be about it."""

_NAMES = re.compile(r"auth|cookie|credential|key|password|secret|token", re.IGNORECASE)
"""Names of headers and parameters that hold secrets; the others are sent as openly as the text."""

_ESCAPED = re.compile(rb"\\u00(?:3\d|[4-7])")

_MASKED = re.compile(r"(?<!\S)(?=\S*\*{3})\S+")  # a key as servers quote it, its ends in clear


class Redactor:
    """Takes secrets out of what servers say."""

    def __init__(self, keys: Iterable[str], named: Iterable[tuple[str, str]] = ()) -> None:
        """Learn the secrets: keys, and the values of headers and parameters by their names."""
        named = list(named)
        keys = [*keys, *(value for name, value in named if _NAMES.search(name))]
        words = _words([*keys, *(value for _, value in named)])
        self._exact = _spelled(words)
        sure = {word for word in _words(keys) if _is_surely_secret(word)}
        self._sure = _spelled(sure)
        self._needles = {max(re.findall(r"[^\W_]*", form), key=len).encode() for form in self._sure}
        self._pieces: dict[int, set[str]] = {}
        for word in words:
            length = min(PIECE, max(SECRET_CHARACTERS, len(_letters(word)) // 2))
            pieces = self._pieces.setdefault(length, set())
            for form in _forms(word):
                letters = _letters(form)
                pieces.update(letters[at : at + length] for at in range(len(letters) - length + 1))

    def __bool__(self) -> bool:
        """Whether there is any secret."""
        return bool(self._exact)

    def __call__(self, text: str) -> str:
        """Take the secrets out of a text, and shorten it."""
        text, more = text[:READ_CHARACTERS], len(text) > READ_CHARACTERS
        for secret in self._exact:
            text = text.replace(secret, "[key]")
        text = _MASKED.sub("[key]", self._without_pieces(text))
        # Only now: a key that was cut in two would not be found.
        more |= len(text) > QUOTED_CHARACTERS
        return f"{text[:QUOTED_CHARACTERS]} …" if more else text

    def body(self, data: bytes) -> bytes:
        """Take the secrets out of a reply before anything of it is read.

        Only whole secrets are taken out here, in the forms that programs write them in: a reply is
        what a model says, and pieces of a key are words too.
        """
        if not self._sure or not self._may_hold_any(data):
            return data
        try:
            value = parse(data)
        except (ValueError, RecursionError):
            for secret in self._sure:
                data = data.replace(secret.encode(), b"[key]")
            return data
        hidden = self._hidden(value)
        return data if hidden == value else to_json(hidden, inf_nan_mode="constants")

    def _may_hold_any(self, data: bytes) -> bool:
        """Check for the letters of a secret, or for escapes that may hide them."""
        if any(needle in data for needle in self._needles):
            return True
        return b"\\u00" in data and _ESCAPED.search(data) is not None

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._sure:
                value = value.replace(secret, "[key]")
            return value
        if isinstance(value, list):
            return [self._hidden(item) for item in value]
        if isinstance(value, dict):
            return {self._hidden(key): self._hidden(item) for key, item in value.items()}
        return value

    def _without_pieces(self, text: str) -> str:
        places = [at for at, char in enumerate(text) if char.isalnum()]
        letters = _letters(text)
        kept: list[str] = []
        end = first = 0
        for at in range(len(letters)):
            length = max(
                (n for n, pieces in self._pieces.items() if letters[at : at + n] in pieces),
                default=0,
            )
            if length and places[at] >= end:
                kept += (text[first : places[at]], "[key]")
            if length:
                end = first = max(end, places[at + length - 1] + 1)
        return "".join([*kept, text[first:]])


def _words(values: Iterable[str]) -> set[str]:
    """Return the values and their words, but for those too short to be secrets."""
    words = {word for value in values for word in (value, *value.split())}
    return {word for word in words if len(word) >= SECRET_CHARACTERS}


def _is_surely_secret(word: str) -> bool:
    return len(word) >= SURELY_SECRET or (len(word) >= PIECE and any(map(str.isdigit, word)))


def _spelled(words: Iterable[str]) -> list[str]:
    """Return all forms of words, the longest first."""
    forms = {form for word in words for form in _forms(word)}
    long = (form for form in forms if len(form) >= SECRET_CHARACTERS)
    return sorted(long, key=len, reverse=True)


def _letters(text: str) -> str:
    """Return letters and digits, in lower case where that is a single letter too."""
    return "".join(
        lower if len(lower := char.lower()) == 1 else char for char in text if char.isalnum()
    )


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms of a secret that have other letters than it has."""
    yield secret
    yield quote(secret, safe="")
    yield quote(quote(secret, safe=""), safe="")
    yield json.dumps(secret)[1:-1]
    yield escape(secret)
    data = secret.encode("utf-8", "surrogatepass")
    yield data.hex()
    for before in range(3):  # what stands before it moves all letters of base64
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        yield encoded[(0, 2, 3)[before] : -1 if (before + len(data)) % 3 else None]
