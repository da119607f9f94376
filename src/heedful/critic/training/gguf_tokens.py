"""A tokenizer's part of a GGUF file: vocabulary, merges, control tokens, chat template.

llama.cpp knows ways to cut a text into words by name. They are recognised by what the tokenizer
does, not by what the model is called; a tokenizer that does something else is refused, because its
texts would silently become other tokens.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_BYTES = "bytes"
_WORDS = "words"
_DIGITS = "digits"
_CASED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

_CUTS: Mapping[tuple[tuple[str, ...], bool], str] = {
    ((_WORDS,), False): "gpt-2",
    ((_DIGITS, _WORDS), False): "smollm",
    ((rf"{_CASED}\p{{N}}{_REST}", _BYTES), False): "qwen2",
    ((rf"{_CASED}\p{{N}}{{1,3}}{_REST}", _BYTES), True): "llama-bpe",
}
"""llama.cpp's names, by the steps and by whether whole words of the vocabulary skip the merges."""

_MORE_ENDS = ("eot", "eom")
"""Where GGUF keeps tokens that end an answer beside the one that ends a text."""


def add_tokenizer(writer: Any, tokenizer: Any, ends: set[int], rows: int) -> str:
    """Write a tokenizer into a GGUF file.

    The beginning of a text is never added: in process, too, a prompt has the tokens that the chat
    template writes, and no others.
    """
    if not tokenizer.is_fast:
        raise _refused("has no tokenizer.json")
    if not tokenizer.chat_template:
        raise _refused("has no chat template, so a critic cannot be prompted")
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    cut = _cut(content)
    texts, kinds = _vocabulary(content, rows)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(cut)
    writer.add_token_list(texts)
    writer.add_token_types(kinds)
    merges = content["model"]["merges"]
    writer.add_token_merges(
        [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    )
    _add_special(writer, tokenizer, ends)
    writer.add_add_bos_token(False)  # noqa: FBT003 - gguf's own signature
    writer.add_add_space_prefix(False)  # noqa: FBT003
    writer.add_chat_template(tokenizer.get_chat_template())
    return cut


def _cut(content: Mapping[str, Any]) -> str:
    """Find llama.cpp's name for how a tokenizer cuts texts."""
    model, normalizer = content["model"], content["normalizer"]
    if model["type"] != "BPE" or model.get("byte_fallback"):
        raise _refused(f"is no byte-level BPE, but {model['type']}")
    # Qwen's composes accents (NFC), llama.cpp does not: only texts that aren't composed differ.
    if normalizer is not None and normalizer["type"] != "NFC":
        raise _refused(f"changes texts first ({normalizer['type']}), which GGUF cannot say")
    steps = tuple(_step(step) for step in _steps(content["pre_tokenizer"]))
    name = _CUTS.get((steps, bool(model.get("ignore_merges"))))
    if name is None:
        known = ", ".join(sorted(_CUTS.values()))
        raise _refused(f"cuts texts otherwise than {known}: {' then '.join(steps) or 'not at all'}")
    return name


def _steps(pre_tokenizer: Any) -> list[Mapping[str, Any]]:
    if pre_tokenizer is None:
        return []
    inner = pre_tokenizer.get("pretokenizers")
    return [pre_tokenizer] if inner is None else inner


def _step(step: Mapping[str, Any]) -> str:
    """Name one step: ours, a pattern, or as it stands where it is none that we know."""
    match step:
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}:
            return _WORDS
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}:
            return _BYTES
        case {"type": "Digits", "individual_digits": True}:
            return _DIGITS
        case {
            "type": "Split",
            "behavior": "Isolated",
            "invert": False,
            "pattern": {"Regex": str(p)},
        }:
            return p
        case _:
            return json.dumps(step, ensure_ascii=False)


def _vocabulary(content: Mapping[str, Any], rows: int) -> tuple[list[str], list[int]]:
    """Return the tokens' texts and kinds, one for each row of the embeddings."""
    from gguf import TokenType

    texts = {number: text for text, number in content["model"]["vocab"].items()}
    kinds = dict.fromkeys(texts, TokenType.NORMAL)
    for token in content["added_tokens"]:
        if token["lstrip"] or token["rstrip"] or token["single_word"]:
            raise _refused(f"has a token that takes or needs spaces: {token['content']!r}")
        texts[token["id"]] = token["content"]
        kinds[token["id"]] = TokenType.CONTROL if token["special"] else TokenType.USER_DEFINED
    if max(texts) >= rows:
        raise _refused(f"has the token {max(texts):,}, the model only {rows:,} rows of embeddings")
    every = range(rows)
    named = [texts.get(number, f"[PAD{number}]") for number in every]
    return named, [int(kinds.get(number, TokenType.UNUSED)) for number in every]


def _add_special(writer: Any, tokenizer: Any, ends: set[int]) -> None:
    """Write which tokens begin, pad and end."""
    own = tokenizer.eos_token_id
    first = own if own in ends else min(ends, default=own)
    others = sorted(ends - {first})
    if first is None or len(others) > len(_MORE_ENDS):
        raise _refused(f"has {len(ends)} tokens that end an answer; GGUF takes one to three")
    special = {
        "bos": tokenizer.bos_token_id,
        "unk": tokenizer.unk_token_id,
        "pad": tokenizer.pad_token_id,
        "eos": first,
        **dict(zip(_MORE_ENDS, others, strict=False)),
    }
    for name, number in special.items():
        if number is not None:
            getattr(writer, f"add_{name}_token_id")(number)


def _refused(why: str) -> UsageError:
    return UsageError(
        f"the tokenizer {why}",
        hint="serve the folder itself (heedful takes it as --model, vLLM too), or convert it with "
        "llama.cpp's own script",
    )
