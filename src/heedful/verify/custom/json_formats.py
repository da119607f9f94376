"""The values of JSON Schema's keyword ``format`` that code decides.

Source: JSON Schema, draft 2020-12, validation vocabulary, section 7.3, and the RFCs that it names.
The keyword may be taken for an annotation; whoever gives one to a constraint asks for it.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import date
from typing import TYPE_CHECKING

from heedful.core.errors import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Callable

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(
    r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([zZ]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_MAIL = re.compile(
    rf"[\w!#$%&'*+/=?^`{{|}}~-]+(?:\.[\w!#$%&'*+/=?^`{{|}}~-]+)*@{_HOST.pattern}", re.ASCII
)
_URI = re.compile(
    r"[a-zA-Z][a-zA-Z0-9+.-]*:(?:[\w.~:/?#@!$&'()*+,;=\[\]-]|%[0-9a-fA-F]{2})*", re.ASCII
)
_LONGEST_HOST = 253


def _date(text: str) -> bool:
    written = _DATE.fullmatch(text)
    if not written:
        return False
    year, month, day = map(int, written.groups())
    try:
        # Year 0 is a leap year, as 2000 is; Python knows none before 1.
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _time(text: str) -> bool | None:
    if not _TIME.fullmatch(text):
        return False
    # A leap second is the last of a day in UTC, which depends on the offset.
    return None if text[6:8] == "60" else True


def _date_time(text: str) -> bool | None:
    return _time(text[11:]) if _date(text[:10]) and text[10:11] in {"T", "t"} else False


def _address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return text.isascii() and "%" not in text

    return fits


def _host(text: str) -> bool | None:
    if not text.isascii():
        return None
    return len(text) <= _LONGEST_HOST and _HOST.fullmatch(text) is not None


def _mail(text: str) -> bool | None:
    if _MAIL.fullmatch(text):
        return True
    # Quoted names and addresses in brackets may hold nearly anything, and other scripts too.
    unusual = not text.isascii() or '"' in text or "[" in text
    return None if unusual and "@" in text else False


def _uri(text: str) -> bool | None:
    if not _URI.fullmatch(text):
        return False
    # What brackets hold, and how many numbers signs there are, isn't looked into.
    return None if re.search(r"[\[\]]|#.*#", text) else True


_FORMATS: dict[str, Callable[[str], bool | None]] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "ipv4": _address(ipaddress.IPv4Address),
    "ipv6": _address(ipaddress.IPv6Address),
    "hostname": _host,
    "email": _mail,
    "uri": _uri,
}


def fits(name: str, text: str) -> bool:
    """Say whether a text has a format.

    >>> fits("date", "2024-02-29"), fits("date", "2023-02-29")
    (True, False)
    """
    outcome = _FORMATS[name](text) if name in _FORMATS else None
    if outcome is None:
        raise UndecidedError(
            f"cannot be decided by code: whether '{text[:40]}' has format {name!r}"
        )
    return outcome
