"""Plain values as JSON, between the process of a program and that of its tests.

A value loses what makes it more than plain: a subclass of a type is written as that type, by that
type's own methods. So whoever reads it gets numbers, texts and collections without methods of
somebody else's. This file runs in sandboxes, too: it imports the standard library alone.
"""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

DEEPEST = 200
"""Levels of nesting in a value."""

LONGEST_ITERATOR = 100_000
"""Items of an iterator, which is written as a whole."""


class UnsendableError(BaseException):
    """The tests ask more of a value than can be sent; ``except Exception`` doesn't hide it."""


class Opaque:
    """A value that isn't plain, as the tests see it: equal to nothing, else undecided."""

    def __init__(self, name: str) -> None:
        """Name the value's type."""
        self._name = name

    def __eq__(self, other: object) -> bool:
        """Equal nothing."""
        return False

    __hash__ = None  # type: ignore[assignment]

    def __ne__(self, other: object) -> bool:
        """Refuse to say: only what equals nothing plain could differ from a plain value."""
        raise UnsendableError(self._refusal())

    def __bool__(self) -> bool:
        """Refuse to say."""
        raise UnsendableError(self._refusal())

    def _refusal(self) -> str:
        return f"it returned a {self._name}, which isn't a plain value"


def _ints(text: str) -> Iterator[int]:
    return (int(part, 16) for part in text.split())


_WRITTEN: dict[str, tuple[Any, Callable[[Any], str], Callable[[str], Any]]] = {
    # The base type, and how it is written and read; a type comes before those that it derives from.
    "int": (int, lambda v: hex(int.__pos__(v)), lambda t: int(t, 16)),
    "float": (float, lambda v: float.hex(float.__pos__(v)), float.fromhex),
    "complex": (
        complex,
        lambda v: f"{complex.__pos__(v).real.hex()} {complex.__pos__(v).imag.hex()}",
        lambda t: complex(*map(float.fromhex, t.split())),
    ),
    "bytes": (bytes, lambda v: bytes(memoryview(v)).hex(), bytes.fromhex),
    "bytearray": (bytearray, lambda v: bytes(memoryview(v)).hex(), bytearray.fromhex),
    "range": (
        range,
        lambda v: " ".join(map(hex, (v.start, v.stop, v.step))),
        lambda t: range(*_ints(t)),
    ),
    "Fraction": (fractions.Fraction, fractions.Fraction.__str__, fractions.Fraction),
    "Decimal": (decimal.Decimal, decimal.Decimal.__str__, decimal.Decimal),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "timedelta": (
        dt.timedelta,
        lambda v: " ".join(map(hex, (v.days, v.seconds, v.microseconds))),
        lambda t: dt.timedelta(*_ints(t)),
    ),
}
_COLLECTIONS: dict[str, tuple[Any, Callable[[list[Any]], Any]]] = {
    # The base type, and how it is made of its items.
    "list": (list, list),
    "tuple": (tuple, tuple),
    "set": (set, set),
    "frozenset": (frozenset, frozenset),
    "deque": (collections.deque, collections.deque),
    "keys": (type({}.keys()), lambda items: dict.fromkeys(items).keys()),
    "values": (type({}.values()), lambda items: dict(enumerate(items)).values()),
    "items": (type({}.items()), lambda items: dict(items).items()),
    "dict": (dict, lambda items: dict(zip(items[::2], items[1::2], strict=True))),
    "iterator": (Iterator, iter),
}


def encode(value: Any, export: Callable[[Any], int], depth: int = 0) -> Any:
    """Write a value as JSON.

    Args:
        value: the value.
        export: numbers a function, which whoever reads it may then call.
        depth: levels above it.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if depth > DEEPEST:
        return ["opaque", f"value nested deeper than {DEEPEST} levels"]
    for tag, (base, write, _) in _WRITTEN.items():
        if isinstance(value, base):
            return [tag, write(value)]
    for tag, (base, _) in _COLLECTIONS.items():
        if isinstance(value, base):
            items = list(islice(_items(value), LONGEST_ITERATOR + 1 if tag == "iterator" else None))
            if tag != "iterator" or len(items) <= LONGEST_ITERATOR:
                return [tag, *(encode(item, export, depth + 1) for item in items)]
    return _encode_other(value, export, depth)


def _items(value: Any) -> Iterator[Any]:
    """Go through a collection by its base type's own method."""
    if isinstance(value, dict):
        return (part for pair in dict.items(value) for part in pair)
    bases: tuple[Any, ...] = (list, tuple, set, frozenset, collections.deque)
    base = next((base for base in bases if isinstance(value, base)), None)
    return iter(value) if base is None else base.__iter__(value)


def _encode_other(value: Any, export: Callable[[Any], int], depth: int) -> Any:
    if callable(value) and not isinstance(value, type):
        return ["function", export(value)]
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return encode(value.item(), export, depth + 1)
    return ["opaque", type(value).__name__]


def decode(data: Any, remote: Callable[[int], Any]) -> Any:
    """Read a value that :func:`encode` wrote.

    Args:
        data: the JSON.
        remote: makes a function of its number.

    Raises:
        ValueError: it did not write this; or TypeError, KeyError, ArithmeticError.
    """
    if data is None or isinstance(data, str | bool):
        return data
    tag, *parts = data
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag][1]([decode(part, remote) for part in parts])
    (part,) = parts
    if tag == "function":
        return remote(int(part))
    if tag == "opaque":
        return Opaque(str(part)[:100])
    return _WRITTEN[tag][2](part)


def is_opaque(data: Any) -> bool:
    """Whether a value, as :func:`encode` wrote it, is or holds one that isn't plain."""
    left = [data]
    while left:
        part = left.pop()
        if isinstance(part, list):
            if part[:1] == ["opaque"]:
                return True
            left += part
    return False
