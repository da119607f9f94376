"""Plain values as JSON, between the process of a program and that of its tests.

A value loses what makes it more than plain: a subclass of a type is written as that type, by that
type's own methods, with a mark that it was one. So whoever reads it gets numbers, texts and
collections without methods of somebody else's. This file runs in sandboxes, too: it imports the
standard library alone.
"""

from __future__ import annotations

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

LARGEST_BITS = 10_000
"""Bits of a whole number; a larger one has more digits than JSON may hold."""

MUTABLE = (list, dict, set)
"""Values that whoever gets them can change."""

_UNORDERED = (["set"], ["frozenset"])


class UnsendableError(BaseException):
    """The tests ask more of a value than can be sent; ``except Exception`` doesn't hide it."""


class Opaque:
    """A value that isn't plain, as the tests see it: whether it equals anything is undecided."""

    def __init__(self, name: str) -> None:
        """Name the value's type."""
        self._name = name

    def __eq__(self, other: object) -> bool:
        """Refuse to say: numbers of numpy, views and queues may equal plain values."""
        raise UnsendableError(self._refusal())

    __ne__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        """Refuse to say."""
        raise UnsendableError(self._refusal())

    def _refusal(self) -> str:
        return f"it returned a {self._name}, which isn't a plain value"


_AS_JSON: dict[type, Callable[[Any], Any]] = {
    # What JSON has; each is stripped of its subclass.
    int: int.__pos__,
    float: float.__pos__,
    str: str.__str__,
}
_AS_TEXT: dict[str, tuple[Any, Callable[[Any], str], Callable[[str], Any]]] = {
    # The base type, and how it is written and read; a type comes before those that it derives from.
    "complex": (complex, complex.__repr__, complex),
    "Fraction": (fractions.Fraction, fractions.Fraction.__str__, fractions.Fraction),
    "Decimal": (decimal.Decimal, decimal.Decimal.__str__, decimal.Decimal),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
}


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


_COLLECTIONS: dict[str, tuple[Any, Callable[[list[Any]], Any]]] = {
    # The base type, and how it is made of its items.
    "list": (list, list),
    "tuple": (tuple, tuple),
    "set": (set, set),
    "frozenset": (frozenset, frozenset),
    "bytes": (bytes, bytes),
    "range": (range, lambda bounds: range(*bounds)),
    "dict": (dict, _pairs),
    "iterator": (Iterator, iter),
}


def encode(value: Any, export: Callable[[Any], int], depth: int = 0) -> Any:
    """Write a value as JSON."""
    if value is None or value is True or value is False:
        return value
    if depth > DEEPEST:
        return ["opaque", f"value nested deeper than {DEEPEST} levels"]
    for base, stripped in _AS_JSON.items():
        if isinstance(value, base):
            plain = stripped(value)
            large = base is int and plain.bit_length() > LARGEST_BITS
            return ["opaque", "number too large"] if large else _marked(value, base, plain)
    for tag, (base, write, _) in _AS_TEXT.items():
        if isinstance(value, base):
            return _marked(value, base, [tag, write(value)])
    return _encode_collection(value, export, depth) or _encode_other(value, export)


def _encode_collection(value: Any, export: Callable[[Any], int], depth: int) -> Any:
    for tag, (base, _) in _COLLECTIONS.items():
        if isinstance(value, base):
            items = list(_items(value, base))
            if tag == "iterator" and len(items) > LONGEST_ITERATOR:
                return None
            written = [tag, *(encode(item, export, depth + 1) for item in items)]
            return written if tag == "iterator" else _marked(value, base, written)
    return None


def _encode_other(value: Any, export: Callable[[Any], int]) -> Any:
    if callable(value) and not isinstance(value, type):
        return ["function", export(value)]
    return ["opaque", type(value).__name__]


def _marked(value: Any, base: type, written: Any) -> Any:
    """Mark what was more than its base type."""
    return written if type(value) is base else ["subclass", written]


def _items(value: Any, base: Any) -> Iterator[Any]:
    """Go through a collection by its base type's own method."""
    if base is dict:
        return (part for pair in dict.items(value) for part in pair)
    if base is range:
        return iter((value.start, value.stop, value.step))
    if base is Iterator:
        return islice(value, LONGEST_ITERATOR + 1)
    return iter(base.__iter__(value))


def decode(data: Any, remote: Callable[[int], Any]) -> Any:
    """Read a value that :func:`encode` wrote."""
    if data is None or isinstance(data, str | int | float):
        return data
    tag, *parts = data
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag][1]([decode(part, remote) for part in parts])
    (part,) = parts
    if tag == "subclass":
        return decode(part, remote)
    if tag == "function":
        return remote(int(part))
    if tag == "opaque":
        return Opaque(str(part)[:100])
    return _AS_TEXT[tag][2](part)


def is_opaque(data: Any) -> bool:
    """Whether a value, as :func:`encode` wrote it, is or holds one that isn't plain."""
    return holds(data, "opaque")


def holds(data: Any, tag: str) -> bool:
    """Whether a value, as :func:`encode` wrote it, is or holds one with a tag."""
    left = [data]
    while left:
        part = left.pop()
        if isinstance(part, list):
            if part[:1] == [tag]:
                return True
            left += part
    return False


def is_used_up(written: Any) -> bool:
    """Whether a value, as it was written, can be read once only, or not be read."""
    return any(holds(written, tag) for tag in ("iterator", "opaque"))


def unmarked(written: Any) -> Any:
    """Return a value as written, without marks of subclasses, and with its sets in one order."""
    if not isinstance(written, list):
        return written
    if written[:1] == ["subclass"]:
        return unmarked(written[1])
    parts = [unmarked(part) for part in written]
    return [parts[0], *sorted(parts[1:], key=repr)] if parts[:1] in _UNORDERED else parts


def update(old: Any, new: Any) -> None:
    """Make a value what a copy of it has become, where it can be changed."""
    if type(old) is not type(new):
        return
    if isinstance(old, tuple) and len(old) == len(new):
        for part, value in zip(old, new, strict=True):
            update(part, value)
    elif isinstance(old, list):
        alike = len(old) == len(new)
        for place, value in enumerate(new) if alike else ():
            update(old[place], value)
            in_place = type(old[place]) is type(value) and isinstance(value, MUTABLE)
            same = isinstance(value, tuple) and old[place] == value
            if not in_place and not same:
                old[place] = value
        if not alike:
            old[:] = new
    elif isinstance(old, dict | set):
        old.clear()
        old.update(new)
