"""The base of all nouns: immutable, keeping unknown fields, refusing misspelled keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


M = TypeVar("M", bound=BaseModel)

_new = object.__new__
# Nouns are frozen.
_set_values, _set_extra, _set_names, _set_private = (
    BaseModel.__dict__[slot].__set__
    for slot in (
        "__dict__",
        "__pydantic_extra__",
        "__pydantic_fields_set__",
        "__pydantic_private__",
    )
)


def trusted(noun: type[M], fields: dict[str, Any]) -> M:
    """Make a noun from trusted values without validation, in half the time."""
    defaults, factories, open_ended = _FIELDS.get(noun) or _fields(noun)
    values = {**defaults, **fields}
    for name, factory in factories:
        if name not in fields:
            values[name] = factory()
    made = _new(noun)
    _set_values(made, values)
    _set_extra(made, {} if open_ended else None)
    _set_names(made, {*fields})
    _set_private(made, None)
    return made


_FIELDS: dict[type[BaseModel], tuple[dict[str, Any], list[tuple[str, Any]], bool]] = {}


def _fields(noun: type[BaseModel]) -> tuple[dict[str, Any], list[tuple[str, Any]], bool]:
    """Return the defaults and default factories of all fields, and whether extras are allowed."""
    fields = noun.__pydantic_fields__.items()
    factories = [(name, each.default_factory) for name, each in fields if each.default_factory]
    defaults = {
        name: None if each.is_required() or each.default_factory else each.default
        for name, each in fields
    }
    _FIELDS[noun] = defaults, factories, noun.model_config.get("extra") == "allow"
    return _FIELDS[noun]


def to_text(noun: BaseModel, exclude: set[str] | None = None) -> str:
    """Write a noun as JSON without defaults: ``model_dump_json``, a microsecond or two faster."""
    written = noun.__pydantic_serializer__.to_json(noun, exclude_defaults=True, exclude=exclude)
    return written.decode()


def updated(noun: M, update: Mapping[str, Any]) -> M:
    """Copy a noun with other field values, unchecked.

    As ``model_copy``, which takes two or three times as long; verdicts are copied a lot.
    """
    extra = noun.__pydantic_extra__
    copied = _new(type(noun))
    _set_values(copied, {**noun.__dict__, **update})
    _set_extra(copied, extra and {**extra})
    _set_names(copied, {*noun.__pydantic_fields_set__, *update})
    _set_private(copied, None)
    return copied


class Noun(BaseModel):
    """Base of all nouns: immutable, and keeping the fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    other_names: ClassVar[Mapping[str, str]] = {}
    """Other words for a field, which are refused as keywords with the field as the hint."""

    accepted_names: ClassVar[Mapping[str, str]] = {}
    """Keywords that stand for a field when a noun is made."""

    if not TYPE_CHECKING:  # type checkers read the signature off the fields

        def __init__(self, /, **fields: Any) -> None:
            if not fields.keys() <= self.__pydantic_fields__.keys():
                fields = self._spelled(fields)
                refuse_misspelled(type(self), fields)
            try:
                # As BaseModel does; a call of it would take a third of the time.
                self.__pydantic_validator__.validate_python(fields, self_instance=self)
            except ValidationError:
                try:
                    fields = self._lenient(fields)
                    self.__pydantic_validator__.validate_python(fields, self_instance=self)
                except ValidationError as error:
                    raise _problem(type(self), error) from error

        # So pydantic does not take model_validate, with which files are read, through here.
        __init__.__pydantic_base_init__ = True

        def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
            """Copy the noun with other fields; misspelled ones are an error."""
            if update is None or deep or not update.keys() <= self.__pydantic_fields__.keys():
                refuse_misspelled(type(self), update or {})
                return super().model_copy(update=update, deep=deep)
            return updated(self, update)

    @classmethod
    def _spelled(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Take the keywords that a noun accepts in addition to its fields."""
        return fields

    @classmethod
    def _lenient(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Take the values that a noun accepts in addition to those of its fields' types."""
        return fields


_ALIKE = 0.82
"""Similarity of a keyword and a field, by difflib's ratio, that counts as a typing error.

``lables`` and ``labels`` are (0.83), ``idx`` and ``id`` are not (0.8).
"""

_LONGER = 2
"""Characters that a misspelling may have more than the field: ``response_id`` is another thing."""


def refuse_misspelled(noun: type[Noun], names: Iterable[str]) -> None:
    """Refuse a keyword that isn't a field but reads like one."""
    fields = noun.__pydantic_fields__
    for name in names:
        field = None if name in fields else meant(noun, name)
        if field is not None:
            raise UsageError(
                f"{noun.__name__} has no field {name!r}",
                hint=f"did you mean {field!r}? A field of your own with this name can be given to "
                f"{noun.__name__}.model_validate",
            )


def meant(noun: type[Noun], name: str) -> str | None:
    """Name the field that a keyword was probably meant for."""
    from difflib import get_close_matches

    others = {**noun.accepted_names, **noun.other_names}
    if name in others:
        return others[name]
    if any(char.isdigit() for char in name):
        return None
    folded = name.casefold()
    likely = [
        field
        for field in (*noun.__pydantic_fields__, *noun.accepted_names)
        if field[0] == folded[:1] and len(folded) - len(field) <= _LONGER
    ]  # ``preference`` is no misspelled ``reference``
    return next(iter(get_close_matches(folded, likely, 1, _ALIKE)), None)


def located(parts: Iterable[int | str]) -> str:
    """Write where a field lies as code does.

    >>> located(["checklist", 0, "text"])
    '.checklist[0].text'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _problem(noun: type[Noun], error: ValidationError) -> UsageError:
    """Name the field that is invalid, in one line."""
    first = error.errors(include_url=False, include_context=False)[0]
    name = located(first["loc"])
    reason = f"{first['msg'][0].lower()}{first['msg'][1:]}"
    if first["type"] == "missing":
        return UsageError(f"{noun.__name__}{name} is missing")
    given = type(first["input"]).__name__
    return UsageError(f"{noun.__name__}{name} is of type {given}: {reason}")
