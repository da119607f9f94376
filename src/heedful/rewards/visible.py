"""Whether a response shows its reader anything.

A policy that writes nothing but thoughts, comments or control tokens must not earn what a careless
judge gives for it.
"""

from __future__ import annotations

import re

from heedful.core.text import is_blank

CONTROLS = r"<\|[^<>|]*\|>|</?s>|<(?:eos|bos|pad|unk)>|<(?:start|end)_of_turn>|\[/?INST\]"
"""A special token of the common chat templates."""

_THOUGHT = r"(?:think|thinking|thought|reasoning)"
_MARKS = re.compile(
    rf"{CONTROLS}|<｜[^<>｜]*｜>|(?P<alone>^[ \t]*</{_THOUGHT}>[ \t]*$)"
    rf"|<(?P<thought>/?){_THOUGHT}>|<!--(?:-?>)?",
    re.IGNORECASE | re.MULTILINE,
)
_THOUGHT_END = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})(?:[ \t]*[\w+#.-]+)?[ \t]*$", re.MULTILINE)


def shows_nothing(text: str) -> bool:
    r"""Tell whether a response is empty once what no reader sees is taken away.

    That is: reasoning in ``<think>`` or the like, closed or not, HTML's comments, fences without
    code between them, control tokens of chats, white space and invisible characters. What stands
    before a closing tag on a line of its own is reasoning too: the chat's template opened it.

    >>> shows_nothing("<think>So.</think>\n```\n```<|im_end|>"), shows_nothing("<!-- a -->1")
    (True, False)
    """
    return is_blank(_FENCE_LINE.sub("", visible(text)))


def visible(text: str) -> str:
    """Return what a reader sees of a response: no reasoning, comments or control tokens."""
    return "".join(_shown(text))


def _shown(text: str) -> list[str]:
    """Cut a text at what hides the text after it, in one pass."""
    shown: list[str] = []
    start = 0
    while mark := _MARKS.search(text, start):
        shown.append(text[start : mark.start()])
        start = mark.end()
        if mark["alone"]:
            shown.clear()
        elif mark["thought"] == "":
            closing = _THOUGHT_END.search(text, start)
            start = closing.end() if closing else len(text)
        elif mark[0] == "<!--":
            at = text.find("-->", start)
            start = at + 3 if at >= 0 else len(text)
    shown.append(text[start:])
    return shown
