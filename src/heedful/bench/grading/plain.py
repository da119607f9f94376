"""Plain values as JSON, between the process of a program and that of its tests.

A value loses what makes it more than plain: a subclass of a type is written as that type, by that
type's own methods, with a mark that it was one (the standard library's kinds of dictionaries and
named tuples stay what they are). So whoever reads it gets numbers, texts and collections without
methods of somebody else's. This file runs in sandboxes, too: it imports the standard library alone.
"""

from __future__ import annotations

import builtins
import collections
import datetime as dt
import decimal
import fractions
import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

DEEPEST = 200
"""Levels of nesting in a value."""

LONGEST_ITERATOR = 100_000
"""Items of an iterator, which is written as a whole."""


MUTABLE = (list, dict, set, bytearray, collections.deque)
"""Values that whoever gets them can change."""

_UNORDERED = (["set"], ["frozenset"])


class UnsendableError(BaseException):
    """The tests ask more of a value than can be sent; ``except Exception`` doesn't hide it."""


class Opaque:
    """A value that isn't plain, as the tests see it: equal to nothing plain, else undecided."""

    def __init__(self, name: str) -> None:
        """Name the value's type."""
        self._name = name

    def __eq__(self, other: object) -> bool:
        """Equal nothing plain; another object may be its equal."""
        if isinstance(other, Opaque) or is_opaque(encode(other, int)):
            raise UnsendableError(self._refusal())
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


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


_BUILT_IN = {name: kind for name, kind in vars(builtins).items() if isinstance(kind, type)}

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
    "type": ((), str, _BUILT_IN.__getitem__),  # written by its name, below
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
_VIEWS = {"keys", "values", "items", "iterator"}
"""Collections whose types say nothing more."""

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
    "Counter": (collections.Counter, lambda items: collections.Counter(_pairs(items))),
    "OrderedDict": (collections.OrderedDict, lambda items: collections.OrderedDict(_pairs(items))),
    "defaultdict": (
        collections.defaultdict,
        lambda items: collections.defaultdict(items[0], _pairs(items[1:])),
    ),
    "dict": (dict, _pairs),
    "iterator": (Iterator, iter),
}


def encode(value: Any, export: Callable[[Any], int], depth: int = 0) -> Any:
    """Write a value as JSON."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _marked(value, str, str.__str__(value))
    if depth > DEEPEST:
        return ["opaque", f"value nested deeper than {DEEPEST} levels"]
    for tag, (base, write, _) in _WRITTEN.items():
        if isinstance(value, base):
            return _marked(value, base, [tag, write(value)])
    return _encode_collection(value, export, depth) or _encode_other(value, export, depth)


def _encode_collection(value: Any, export: Callable[[Any], int], depth: int) -> Any:
    fields = _fields(value)
    if fields is not None:
        items = [encode(item, export, depth + 1) for item in tuple.__iter__(value)]
        return ["namedtuple", type(value).__name__, fields, *items]
    for tag, (base, _) in _COLLECTIONS.items():
        if isinstance(value, base) and not isinstance(value, io.IOBase):
            items = list(islice(_items(value), LONGEST_ITERATOR + 1 if tag == "iterator" else None))
            if tag != "iterator" or len(items) <= LONGEST_ITERATOR:
                made = [tag, *(encode(item, export, depth + 1) for item in items)]
                return made if tag in _VIEWS else _marked(value, base, made)
    return None


def _marked(value: Any, base: type, written: Any) -> Any:
    """Mark what was more than its base type; numpy's numbers differ from it in nothing of use."""
    if type(value) is base or type(value).__module__ == "numpy":
        return written
    return ["subclass", written]


def _fields(value: Any) -> str | None:
    """Return the names of a named tuple's fields, where none hides a method of tuples."""
    names = getattr(type(value), "_fields", None) if isinstance(value, tuple) else None
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        return None
    plain = type(value).__bases__ == (tuple,) and not {*names} & {*dir(tuple)}
    made = set(vars(collections.namedtuple("_Made", ())))  # noqa: PYI024 - which names it makes
    own = {name for name in vars(type(value)) if not name.startswith("__")}
    return " ".join(names) if plain and own <= {*names, *made} else None


def _named(name: str, fields: str, items: list[Any]) -> tuple[Any, ...]:
    names = fields.split()
    if {*names} & {*dir(tuple)}:
        raise ValueError(fields)
    made: Any = collections.namedtuple(name, names, module=__name__)  # type: ignore[misc]  # noqa: PYI024
    return tuple.__new__(made, items) if len(items) == len(names) else tuple(items)


def _items(value: Any) -> Iterator[Any]:
    """Go through a collection by its base type's own method."""
    if isinstance(value, collections.defaultdict):
        return iter([value.default_factory, *_items(dict(dict.items(value)))])
    if isinstance(value, collections.OrderedDict):
        return (part for pair in collections.OrderedDict.items(value) for part in pair)
    if isinstance(value, dict):
        return (part for pair in dict.items(value) for part in pair)
    bases: tuple[Any, ...] = (list, tuple, set, frozenset, collections.deque)
    base = next((base for base in bases if isinstance(value, base)), None)
    return iter(value) if base is None else base.__iter__(value)


def _encode_other(value: Any, export: Callable[[Any], int], depth: int) -> Any:
    if isinstance(value, type) and _BUILT_IN.get(value.__name__) is value:
        return ["type", value.__name__]
    if callable(value) and not isinstance(value, type):
        return ["function", export(value)]
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return encode(value.item(), export, depth + 1)
    return ["opaque", type(value).__name__]


def decode(data: Any, remote: Callable[[int], Any]) -> Any:
    """Read a value that :func:`encode` wrote."""
    if data is None or isinstance(data, str | bool):
        return data
    tag, *parts = data
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag][1]([decode(part, remote) for part in parts])
    if tag == "namedtuple":
        name, fields, *items = parts
        return _named(name, fields, [decode(item, remote) for item in items])
    return _decode_one(tag, parts, remote)


def _decode_one(tag: str, parts: list[Any], remote: Callable[[int], Any]) -> Any:
    (part,) = parts
    if tag == "subclass":
        return decode(part, remote)
    if tag == "function":
        return remote(int(part))
    if tag == "opaque":
        return Opaque(str(part)[:100])
    return _WRITTEN[tag][2](part)


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
    elif isinstance(old, bytearray | collections.deque):
        old.clear()
        old.extend(new)
