"""Facts that code counts in a response, in words for the judge of the constraint.

A fact names what was counted and how much there is, never a verdict: whether "the summary" is the
whole response is for the judge to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.nouns import Check
from heedful.verify.base import quoted
from heedful.verify.custom.counting import UNITS, amounts, count_units
from heedful.verify.custom.parts import PARTS
from heedful.verify.custom.phrases import occurrences
from heedful.verify.text.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from heedful.verify.compiler.compile import CompiledConstraint
    from heedful.verify.text.prepared import Response

_EDGE = 30
"""Characters of the beginning or the end that a fact quotes."""
_MOST_PARTS = 20


def measure(compiled: CompiledConstraint, response: Response) -> str | None:
    """Say what code counts for a constraint."""
    return facts((compiled.check,) if compiled.check is not None else compiled.measures, response)


def facts(checks: tuple[Check, ...], response: Response) -> str | None:
    """Say what code counts for checks, each fact once, in one line."""
    return (
        "; ".join(dict.fromkeys(fact for each in checks for fact in _facts(each, response))) or None
    )


def _facts(check: Check, response: Response) -> Iterator[str]:
    """Tell the facts that a check of ours rests on; other checks have none that we know."""
    match check.id.removeprefix("heedful:"):
        case "all" | "either_reading":
            for each in check.args["checks"]:
                yield from _facts(Check.model_validate(each), response)
        case "count":
            yield from _counted(check.args, response.layout)
        case "contains" | "excludes":
            for phrase in check.args["phrases"]:
                times = occurrences(response.layout, phrase)
                yield f"{quoted([phrase])} occurs {times} times"
        case "starts_with":
            start = response.text.strip()[:_EDGE].replace("\n", " ")
            yield f"the response starts with '{start}'"
        case "ends_with":
            end = response.text.strip()[-_EDGE:].replace("\n", " ")
            yield f"the response ends with '{end}'"
        case _:
            return


def _counted(args: dict[str, Any], layout: Layout) -> Iterator[str]:
    unit, part = args["unit"], args.get("part", "response")
    if part in {"response", "passage"}:
        count = count_units(layout, unit)
        if count is not None:
            open_ = ", by how they are counted" * (count.low != count.high)
            yield f"the response has {amounts(count, unit)}{open_}"
        return
    texts = PARTS[part].find(layout)[0]
    ranges = [count_units(Layout(text), unit) for text in texts[:_MOST_PARTS]]
    spans = [str(each) for each in ranges if each is not None]
    if spans:
        listed = ", ".join(spans) + ", …" * (len(texts) > len(spans))
        name = PARTS[part].name.removeprefix("the ")
        counted = f"{UNITS[unit].one} counts in order: {listed}"
        yield f"the response has {len(texts)} of: {name}; {counted}"
