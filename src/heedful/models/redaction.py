"""Secrets that no message may hold, in whatever form a server sends them back.

A server may repeat a key as it came, percent-encoded, cut, spaced or in capitals. So no list of
forms is looked for, but any piece of one: eight letters and digits in a row that are in a secret
too, whatever stands between them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic_core import to_json

from heedful.models.untrusted import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

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

_MASKED = re.compile(r"(?<!\S)(?=\S*\*{3})\S+")  # a key as servers quote it, its ends in clear


class Redactor:
    """Takes secrets out of what servers say."""

    def __init__(self, keys: Iterable[str], named: Iterable[tuple[str, str]] = ()) -> None:
        """Learn the secrets: keys, and the values of headers and parameters by their names."""
        named = list(named)
        keys = [*keys, *(value for name, value in named if _NAMES.search(name))]
        sure = {
            form
            for word in _words(keys)
            if _is_surely_secret(word)
            for form in (word, _quoted(word))
        }
        self._sure = sorted(sure, key=len, reverse=True)
        # The longest run of letters stands in a reply whatever JSON escapes of the rest.
        self._needles = {max(re.findall(r"[^\W_]*", form), key=len).encode() for form in sure}
        words = _words([*keys, *(value for _, value in named)])
        self._words = sorted(words, key=len, reverse=True)
        self._pieces: dict[int, set[str]] = {}
        for word in words:
            length = min(PIECE, max(SECRET_CHARACTERS, len(_letters(word)) // 2))
            pieces = self._pieces.setdefault(length, set())
            for letters in map(_letters, (word, _quoted(word))):
                pieces.update(letters[at : at + length] for at in range(len(letters) - length + 1))

    def __bool__(self) -> bool:
        """Whether there is any secret."""
        return bool(self._words)

    def __call__(self, text: str) -> str:
        """Take the secrets out of a text, and shorten it."""
        text, more = text[:READ_CHARACTERS], len(text) > READ_CHARACTERS
        for secret in self._words:  # one of mostly signs has no pieces
            text = text.replace(secret, "[key]")
        text = _MASKED.sub("[key]", self._without_pieces(text))
        # Only now: a key that was cut in two would not be found.
        more |= len(text) > QUOTED_CHARACTERS
        return f"{text[:QUOTED_CHARACTERS]} …" if more else text

    def body(self, data: bytes) -> bytes:
        """Take the secrets out of a reply before anything of it is read.

        Only whole secrets are taken out here: a reply is what a model says, and pieces of a key are
        words too.
        """
        escaped = self._sure and rb"\u00" in data  # which may hide the letters of a secret
        if not escaped and not any(needle in data for needle in self._needles):
            return data
        try:
            value = parse(data)
        except (ValueError, RecursionError):
            for secret in self._sure:
                data = data.replace(secret.encode(), b"[key]")
            return data
        hidden = self._hidden(value)
        return data if hidden == value else to_json(hidden, inf_nan_mode="constants")

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


def _letters(text: str) -> str:
    """Return letters and digits, in lower case where that is a single letter too."""
    return "".join(
        lower if len(lower := char.lower()) == 1 else char for char in text if char.isalnum()
    )


def _quoted(secret: str) -> str:
    """Write a secret as it stands in an address."""
    return quote(secret.encode("utf-8", "surrogatepass"), safe="")
