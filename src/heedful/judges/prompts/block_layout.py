"""Layout of a sample in a prompt: every text of the data stands between fences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from heedful.core import scripts
from heedful.core.errors import RowError
from heedful.core.noun import trusted
from heedful.core.nouns import Constraint, Message, Sample
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import asks_for, fill

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Language = Literal["en", "zh"]

_LABELS: dict[Language, dict[str, str]] = {
    "en": {
        "system": "SYSTEM PROMPT",
        "user": "USER",
        "assistant": "ASSISTANT",
        "tool": "TOOL",
        "other": "OTHER TURN",
        "last": "LAST USER TURN",
        "response": "RESPONSE",
        "call": "TOOL CALL",
        "image": "IMAGE",
        "attached": "(attached)",
        "reference": "REFERENCE ANSWER",
        "checklist": "CHECKLIST",
        "facts": "COUNTED BY CODE",
        "empty": "(no conversation is given)",
        "measured": "Counted by code: ",
    },
    "zh": {
        "system": "系统提示",
        "user": "用户",
        "assistant": "助手",
        "tool": "工具",
        "other": "其他消息",
        "last": "用户最后一条消息",
        "response": "待评回复",
        "call": "工具调用",
        "image": "图片",
        "attached": "（见附图）",
        "reference": "参考答案",
        "checklist": "要求清单",
        "facts": "程序统计",
        "empty": "（没有提供对话）",
        "measured": "程序统计：",
    },
}
_ROLES = {"developer": "system", "function": "tool", "model": "assistant"}
# Kana and hangul count one by one, as Han characters do: Japanese isn't Chinese.
_OTHER = re.compile(
    rf"[{scripts.KANA}{scripts.HANGUL}]"
    rf"|[^\W\d_{scripts.KANA}{scripts.HAN}{scripts.HANGUL}]+"
)


def last_user_turn(sample: Sample) -> str:
    """Return the text of the user's last turn, by which prompts choose their language."""
    return next((turn.content for turn in sample.conversation[::-1] if turn.role == "user"), "")


def language_of(text: str) -> Language:
    """Tell whether a text is mostly Chinese: more Han characters than words of other scripts."""
    if text.isascii():
        return "en"
    return "zh" if len(scripts.HAN_CHARACTER.findall(text)) > len(_OTHER.findall(text)) else "en"


def messages(
    template: str,
    sample: Sample,
    checklist: str,
    language: Language,
    *,
    counted: str = "",
    places: Mapping[str, str] | None = None,
) -> list[Message]:
    """Fill a prompt with a sample.

    One user message, since not every model knows a system message.
    """
    if sample.response is None:
        raise RowError("the row has no response to judge", hint="give each row a response")
    label = _LABELS[language]
    made = [each.shown for each in sample.tool_calls]
    texts = [*spoken(sample.conversation), sample.response, *made, sample.reference or ""]
    fence = Fence.around([*texts, checklist, counted])
    items = [fence.wrap(label["checklist"], checklist)]
    if counted:
        items.append(fence.wrap(label["facts"], counted))
    filled = {
        **(places or {}),
        "conversation": conversation(sample.conversation, fence, language),
        "response": _fenced(fence, label["response"], sample.response, made, label["call"]),
        "checklist": "\n\n".join(items),
        "reference": fence.wrap(label["reference"], sample.reference) if sample.reference else "",
        "mark": fence.mark,
        "raw_instruction": raw_instruction(template, sample),
        "raw_response": sample.response,
        "raw_checklist": "\n\n".join(filter(None, (checklist, counted))),
    }
    return [message(fill(template, filled), sample.conversation)]


def message(text: str, turns: Sequence[Message]) -> Message:
    """Make the message of a prompt that shows a conversation, whose images come after it."""
    images = tuple(image for turn in turns for image in turn.images)
    return trusted(Message, {"role": "user", "content": text, "images": images})


def spoken(turns: Sequence[Message]) -> list[str]:
    """List the texts of a conversation that :func:`conversation` fences."""
    calls = [call.shown for turn in turns for call in turn.tool_calls]
    return [*(turn.content for turn in turns), *calls]


def raw_instruction(template: str, sample: Sample) -> str:
    """Return the one turn of a conversation, as it is, for a prompt that shows no more."""
    turns = sample.conversation
    if len(turns) > 1 and asks_for(template, "raw_instruction"):
        raise RowError(
            f"the prompt has {{{{raw_instruction}}}}, and the row {len(turns)} turns",
            hint="show them all with {{conversation}}",
        )
    return turns[-1].content if turns else ""


def conversation(turns: Sequence[Message], fence: Fence, language: Language) -> str:
    """Write a conversation, each turn fenced under the name of its role, each tool call apart."""
    label = _LABELS[language]
    fenced = []
    shown = 0
    for name, turn in zip(_names(turns, language), turns, strict=True):
        calls = [each.shown for each in turn.tool_calls]
        if turn.content or not calls:
            fenced.append(_fenced(fence, name, turn.content, calls, label["call"]))
        else:
            fenced += [fence.wrap(label["call"], each) for each in calls]
        for _ in turn.images:
            shown += 1
            fenced.append(fence.wrap(f"{label['image']} {shown}", label["attached"]))
    return "\n\n".join(fenced) or label["empty"]


def _fenced(fence: Fence, name: str, text: str, calls: Sequence[str], call: str) -> str:
    """Fence a turn, and its tool calls apart: a text may only imitate one."""
    return "\n\n".join([fence.wrap(name, text), *(fence.wrap(call, each) for each in calls)])


def numbered(
    constraints: Sequence[Constraint],
    measurements: Sequence[str | None] | None,
    language: Language,
) -> str:
    """Write a checklist as a numbered list, what code has counted below each constraint.

    Further lines of a constraint are indented, so that none can pass for a constraint of its own
    or for a count.
    """
    counted = _counted(constraints, measurements)
    label = _LABELS[language]["measured"]
    lines = []
    for number, (constraint, fact) in enumerate(zip(constraints, counted, strict=True), start=1):
        lines.append(f"{number}. {_indented(constraint.text)}")
        if fact:
            lines.append(f"{label}{_indented(fact)}")
    return "\n".join(lines)


def facts(constraints: Sequence[Constraint], measurements: Sequence[str | None] | None) -> str:
    """Write what code has counted as a list of its own, by the constraints' numbers."""
    counted = enumerate(_counted(constraints, measurements), start=1)
    return "\n".join(f"{number}. {_indented(fact)}" for number, fact in counted if fact)


def _names(conversation: Sequence[Message], language: Language) -> list[str]:
    """Label each turn by its role, the user's last one apart."""
    label = _LABELS[language]
    roles = [_ROLES.get(turn.role, turn.role) for turn in conversation]
    names = [
        label[role if role in ("system", "user", "assistant", "tool") else "other"]
        for role in roles
    ]
    if "user" in roles:
        names[len(roles) - 1 - roles[::-1].index("user")] = label["last"]
    return names


def _counted(
    constraints: Sequence[Constraint], measurements: Sequence[str | None] | None
) -> Sequence[str | None]:
    return [None] * len(constraints) if measurements is None else measurements


def _indented(text: str) -> str:
    return text.replace("\n", "\n   ")
