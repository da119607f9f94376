"""Facts that code counts in a response, in words for the judge of the constraint.

A fact names what was counted and how much there is, never a verdict: whether "the summary" is the
whole response is for the judge to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.verify.base import quoted
from heedful.verify.custom.counting import UNITS, CountRange, amounts, count_units
from heedful.verify.custom.parts import PARTS
from heedful.verify.custom.phrases import occurrences

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from heedful.core.nouns import Check
    from heedful.verify.compiler.compile import CompiledConstraint
    from heedful.verify.custom.counting import Unit
    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

    Language = Literal["en", "zh"]

__all__ = ["facts", "measure"]

_EDGE = 30
"""Characters of the beginning or the end that a fact quotes."""
_MOST_PARTS = 20


def measure(compiled: CompiledConstraint, response: Response) -> str | None:
    """Say what code counts for a constraint, in the constraint's language."""
    checks = (compiled.check,) if compiled.check is not None else compiled.measures
    return facts(checks, response, "zh" if compiled.language == "zh" else "en")


def facts(checks: tuple[Check, ...], response: Response, language: Language) -> str | None:
    """Say what code counts for checks, each fact once, in one line."""
    sentences = dict.fromkeys(
        fact for check in checks for fact in _facts(check, response, language)
    )
    return ("；" if language == "zh" else "; ").join(sentences) or None


def _facts(check: Check, response: Response, language: Language) -> Iterator[str]:
    """Tell the facts that a check of ours rests on; other checks have none that we know."""
    match check.id.removeprefix("heedful:"):
        case "all" | "either_reading":
            from heedful.core.nouns import Check

            for each in check.args["checks"]:
                yield from _facts(Check.model_validate(each), response, language)
        case "count":
            yield from _counted(check.args, response.layout, language)
        case "contains" | "excludes":
            for phrase in check.args["phrases"]:
                number = occurrences(response.layout, phrase)
                times = _span(number)
                yield {
                    "en": f"{quoted([phrase])} occurs {times} times",
                    "zh": f"“{phrase}”出现{times}次",
                }[language]
        case "starts_with":
            start = response.text.strip()[:_EDGE].replace("\n", " ")
            yield {"en": f"the response starts with '{start}'", "zh": f"回复以“{start}”开头"}[
                language
            ]
        case "ends_with":
            end = response.text.strip()[-_EDGE:].replace("\n", " ")
            yield {"en": f"the response ends with '{end}'", "zh": f"回复以“{end}”结尾"}[language]
        case _:
            return


def _counted(args: dict[str, Any], layout: Layout, language: Language) -> Iterator[str]:
    unit, part = args["unit"], args.get("part", "response")
    if part in {"response", "passage"}:
        count = count_units(layout, unit)
        if count is not None:
            yield _whole(count, unit, language)
        return
    from heedful.verify.text.layout import Layout

    for texts in PARTS[part].find(layout)[:1]:
        ranges = [count_units(Layout(text), unit) for text in texts[:_MOST_PARTS]]
        spans = [_span(each) for each in ranges if each is not None]
        if spans:
            yield _by_part(spans, len(texts), unit, part, language)


def _whole(count: CountRange, unit: Unit, language: Language) -> str:
    open_ = count.low != count.high
    if language == "zh":
        return f"回复共有{_span(count, '至')}{UNITS[unit].chinese}" + (
            "（依统计口径而异）" if open_ else ""
        )
    return f"the response has {amounts(count, unit)}" + (
        ", by how they are counted" if open_ else ""
    )


def _by_part(spans: list[str], number: int, unit: Unit, part: Any, language: Language) -> str:
    listed = ", ".join(spans) + (", …" if number > len(spans) else "")
    if language == "zh":
        return f"回复共有{number}{PARTS[part].chinese}，{UNITS[unit].chinese}数依次为{listed}"
    name = PARTS[part].name.removeprefix("the ")
    return f"the response has {number} of: {name}; {UNITS[unit].one} counts in order: {listed}"


def _span(count: CountRange, to: str = "-") -> str:
    return str(count.low) if count.low == count.high else f"{count.low}{to}{count.high}"
