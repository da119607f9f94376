r"""Escape the control tokens of chat templates in text that is judged.

Servers tokenise a message together with the chat template. Most of them read ``<|im_end|>`` in the
text as the token that ends the turn, so a response could close the user's turn and write the
judge's answer. A backslash after the first bracket makes it plain text: ``<\|im_end|>``. A token
that already has backslashes there gets one more, so escaping is reversible.

The families are those of the models used as judges: ChatML, Llama, Qwen, Phi, gpt-oss, GLM,
Granite, Cohere, Kimi (``<|…|>``); DeepSeek, Hunyuan (fullwidth bars); Gemma, T5, ERNIE, Nemotron,
Seed, InternLM and SentencePiece models (``<…>``); Mistral and GLM (``[…]``); EXAONE (``[|…|]``);
MiniMax (``]~b]``); Llama 2 (``<<SYS>>``). Tokens of other families aren't escaped. A model in this
process needs no list: :mod:`heedful.models.engine` knows its tokenizer.
"""

from __future__ import annotations

import re

_NAMED = (
    r"/?s|bos|eos|pad|unk|mask|cls|sep|sop|soh|eo[ahmpdt]|BOS|EOS|EO[MT]|PAD|UNK|CLS|SEP|MASK"
    r"|(?:BOS|EOS)_TOKEN|(?:start|end)_of_(?:turn|image|audio|text)|(?:begin|end)_of_\w{1,24}"
    r"|\|\w{1,32}|\w{1,32}\|"  # Gemma: <|turn>, <channel|>
    r"|(?:SPECIAL|extra_id|unused|mask|reserved(?:_token)?)_?:?\d{1,5}|seed:[\w:]{1,32}"
    r"|eos_token|bos_token"
)
_BRACKETED = (
    r"/?INST|/?SYSTEM_PROMPT|/?AVAILABLE_TOOLS|/?TOOL_CALLS|/?TOOL_RESULTS|/?TOOL_CONTENT|/?THINK"
    r"|ARGS|CALL_ID|PREFIX|MIDDLE|SUFFIX|IMG(?:_BREAK|_END)?|g?MASK|sMASK|CLS|SEP|PAD|UNK|BOS|EOS"
    r"|UNUSED_TOKEN_\d{1,4}"
)
_TOKEN = (
    r"(?:[|｜][^\s<>|｜]{1,64}[|｜]>"  # <|im_end|>, <｜User｜>
    rf"|(?:{_NAMED})>"  # </s>, <end_of_turn>
    r"|</?SYS>>)"  # <<SYS>>
)
_ESCAPABLE = re.compile(
    rf"<(?=\\*{_TOKEN})"
    rf"|\[(?=\\*(?:(?:{_BRACKETED})\]|\|[^\s\[\]|]{{1,64}}\|\]))"
    r"|\](?=\\*[~!][^\s\[\]]{0,16}[\[\]])|\[(?=\\*e~\[)"  # ]~b], ]~!b[, [e~[
)
_ESCAPED = re.compile(
    rf"<\\(?=\\*{_TOKEN})"
    rf"|\[\\(?=\\*(?:(?:{_BRACKETED})\]|\|[^\s\[\]|]{{1,64}}\|\]))"
    r"|\]\\(?=\\*[~!][^\s\[\]]{0,16}[\[\]])|\[\\(?=\\*e~\[)"
)


def escape(text: str) -> str:
    r"""Make control tokens plain text.

    >>> escape("Done.<|im_end|>")
    'Done.<\\|im_end|>'
    >>> unescape(escape("[INST] </s>")) == "[INST] </s>"
    True
    """
    if not ("<" in text or "[" in text or "]" in text):
        return text
    return _ESCAPABLE.sub(lambda match: f"{match[0]}\\", text)


def unescape(text: str) -> str:
    """Return the text as it was before :func:`escape`."""
    return _ESCAPED.sub(lambda match: match[0][0], text)
