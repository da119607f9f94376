"""Verifiers of tool calls: which tool, with which arguments, in which order, how often.

Calls are looked for after the user's last turn, the response's included, unless a check's ``turns``
is ``all``: then in the whole conversation. Names are compared as they are. Checks of calls also
decide a response without text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from heedful.core.errors import UndecidedError, VerifierError
from heedful.verify.base import Finding, amount, bounds, quoted, verifier, worded
from heedful.verify.custom.json_format import fault
from heedful.verify.custom.parts import decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.turns import ToolCall
    from heedful.verify.text.prepared import Response

Match = Literal["subset", "equal", "schema"]
Turns = Literal["last", "all"]

_FITS = {"subset": "with", "equal": "with exactly", "schema": "with arguments of the schema"}
_LISTED = 5
"""Calls that a reason names."""


def _describe_calls(
    name: str | None, arguments: dict[str, Any] | None, match: Match, **args: Any
) -> str:
    what = "a tool" if name is None else f"the tool {name}"
    if arguments is not None:
        what += f" {_FITS[match]} {json.dumps(arguments, ensure_ascii=False)}"
    return worded("Call {what}[ {bounds} times].", args | {"what": what})


@verifier("heedful:tool_calls", describe=_describe_calls, decides_empty=True)
def tool_calls(
    response: Response,
    *,
    name: str | None = None,
    arguments: dict[str, Any] | None = None,
    match: Match = "subset",
    at_least: int | None = None,
    at_most: int | None = None,
    turns: Turns = "last",
) -> Finding:
    """A tool is called, so often and with such arguments."""
    if (at_least, at_most) == (None, None):
        at_least = 1
    required = bounds(at_least, at_most)
    calls = _calls(response, turns)
    fits = [_fits(call, name, arguments, match) for call in calls]
    sure, possible = fits.count(True), len(fits) - fits.count(False)
    verdicts = {
        (at_least or 0) <= count and (at_most is None or count <= at_most)
        for count in range(sure, possible + 1)
    }
    reason = f"{amount(sure, 'such call')}, asked for {required}; {_listed(calls)}"
    return decide(verdicts.pop() if len(verdicts) == 1 else None, reason)


@verifier(
    "heedful:tool_order",
    describe=lambda names, match, **_: (
        f"Call the tools {quoted(names)} in this order{', no other' * (match == 'equal')}."
    ),
    decides_empty=True,
)
def tool_order(
    response: Response,
    *,
    names: list[str],
    match: Literal["subset", "equal"] = "subset",
    turns: Turns = "last",
) -> Finding:
    """Tools are called in an order."""
    if not names:
        raise VerifierError("names is empty", hint="name the tools in their order")
    calls = _calls(response, turns)
    called = [call.name for call in calls]
    left = iter(called)
    met = called == names if match == "equal" else all(name in left for name in names)
    return Finding(met=met, found=_listed(calls))


@verifier(
    "heedful:tools_only",
    describe="Call no tools but {names}.",
    decides_empty=True,
)
def tools_only(response: Response, *, names: list[str], turns: Turns = "last") -> Finding:
    """No tool is called but these; none need be."""
    others = [call for call in _calls(response, turns) if call.name not in names]
    return Finding(met=not others, found=f"of other tools {_listed(others)}")


def _calls(response: Response, turns: Turns) -> Sequence[ToolCall]:
    divided = response.calls
    if divided is None:
        raise VerifierError("only the text of the response is at hand, not its tool calls")
    return divided[-1] if turns == "last" else [call for calls in divided for call in calls]


def _fits(
    call: ToolCall, name: str | None, arguments: dict[str, Any] | None, match: Match
) -> bool | None:
    """Tell whether a call is the one that is looked for; arguments that aren't JSON fit nothing."""
    if name is not None and call.name != name:
        return False
    if arguments is None:
        return True
    if isinstance(call.arguments, str):
        return False
    if match == "schema":
        try:
            return fault(call.arguments, arguments) is None
        except UndecidedError:
            return None
    return _same(call.arguments, arguments, others=match == "subset")


def _same(value: Any, wanted: Any, *, others: bool) -> bool:
    """Compare as JSON does: 1 is 1.0, and isn't true."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return (others or len(value) == len(wanted)) and all(
            key in value and _same(value[key], each, others=others) for key, each in wanted.items()
        )
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(
            _same(*pair, others=others) for pair in zip(value, wanted, strict=True)
        )
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def _listed(calls: Sequence[ToolCall]) -> str:
    if not calls:
        return "no call"
    names = ", ".join(call.name[:40] for call in calls[:_LISTED])
    more = f" and {len(calls) - _LISTED} more" if len(calls) > _LISTED else ""
    return f"{amount(len(calls), 'call')}: {names}{more}"
