"""Flags made from the class of options that a command calls."""

from __future__ import annotations

from dataclasses import make_dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Optional

from cyclopts import Parameter
from docstring_parser import parse

if TYPE_CHECKING:
    from pydantic import BaseModel


def flags_of(settings: type[BaseModel], panel: str) -> type:
    """Make a flag of each setting, with its type and its text; one that isn't given is ``None``."""
    texts: dict[str, str] = {}
    for each in reversed(settings.__mro__):
        described = parse(cleandoc(vars(each).get("__doc__") or "")).params
        texts |= {
            param.arg_name: " ".join((param.description or "").split()) for param in described
        }
    fields = []
    lines = ["Settings.", "", "Attributes:"]
    for name, field in settings.model_fields.items():
        fields.append((name, Optional[field.annotation], None))  # noqa: UP045 - a value, not an annotation
        shown = field.default if field.default or type(field.default) in (int, float) else None
        known = shown is None or field.is_required() or "Default:" in texts[name]
        lines.append(f"    {name}: {texts[name]}" + ("" if known else f" Default: {shown}."))
    made = make_dataclass(settings.__name__, fields, frozen=True, kw_only=True)
    made.__module__ = __name__  # the parser takes a class of the standard library for a plain value
    made.__doc__ = "\n".join(lines)
    return Parameter(name="*", group=panel)(made)
