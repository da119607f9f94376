"""Grammars of constraints: read from a text file, and matched against texts.

The file's own head explains how it is written. A grammar is a set of named phrases; matching one
at a position gives every way to read it, each with the values that it bound. There is no recursion,
so the work is bounded; matches at a position are cached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heedful.verify.compiler.slots import Slot

Values = tuple[tuple[str, Any], ...]
Match = tuple[int, Values]
"""End of a match, and the values that it bound."""


_PIECE = re.compile(r"<[a-z_]+(?::[a-z_]+)?>|[\[\]()|]|(?:(?!<[a-z_]+(?::[a-z_]+)?>)[^\s\[\]()|])+")
_BINDING = re.compile(r"(?<![a-z_])([a-z_]+)=(\S+)")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SPACES = dict.fromkeys((0x3000, 0xA0, 0x09, 0x0A, 0x0D), 0x20)
_LATIN_RUN = re.compile("[a-z0-9]+")
_MOST_NEEDS = 3
_POSITION_BITS = 20
"""Of a key in a text's matches, those of the position."""
# What is in brackets is said of what stands before them: "keep it short (50 words)".
_BRACKETS = dict.fromkeys("(（", ",") | dict.fromkeys(")）", " ")
_SAME = str.maketrans(
    _FULL_WIDTH
    | _SPACES
    | {0x2019: "'", 0x2013: "-", 0x2014: "-", 0x301C: "~"}
    | {ord(sign): same for sign, same in _BRACKETS.items()}
)


def matching_form(text: str) -> str:
    """Write a text as the grammar matches it, sign by sign: lower case, half width."""
    text = text.translate(_SAME)
    lower = text.lower()
    return lower if len(lower) == len(text) else text


@dataclass(slots=True)
class _Node:
    """A part of a pattern."""

    kind: str
    text: str = ""
    parts: tuple[_Node, ...] = ()
    bind: str = ""
    gives: tuple[tuple[str, str], ...] = ()
    first: frozenset[str] | None = None
    """The signs that a match which is not empty can start with; ``None``: any."""
    may_be_empty: bool = False
    needs: tuple[frozenset[str], ...] = ()
    """Sets of words; of each, every match holds at least one. The smallest sets alone."""
    by_sign: dict[str, tuple[_Node, ...]] = field(default_factory=dict)
    """The parts of ``any`` that can match where the next sign is this one; filled as met."""
    key: int = 0
    """Names the part in a text's matches, with room for a position."""


class Grammar:
    """A grammar, read and checked; ``rules`` name the phrases that are checks, with their ids."""

    def __init__(self, text: str, slots: dict[str, Slot], where: str = "grammar") -> None:
        """Read a grammar."""
        self._slots = slots
        self._where = where
        self._visited: set[str] = set()
        self._nodes = 0
        self._words: dict[str, set[str]] = {}
        self._latin_words: set[str] = set()
        self._phrases: dict[str, _Node] = {}
        self._starting: dict[tuple[tuple[str, ...], str], list[tuple[str, _Node]]] = {}
        """Of phrases, those that can start with a sign; filled as met."""
        self.rules: dict[str, str] = {}
        lines: dict[str, list[tuple[int, str]]] = {}
        name = ""
        for number, line in enumerate(text.split("\n"), start=1):
            bare = line.split("  #", 1)[0].rstrip()
            if not bare.strip() or bare.lstrip().startswith("#"):
                continue
            if not bare[0].isspace():
                name = self._heading(bare, number)
                lines.setdefault(name, [])
            elif not name:
                raise self._wrong("a line before the first heading", number)
            else:
                lines[name].append((number, bare.strip()))
        for name, alternatives in lines.items():
            self._phrases[name] = _Node(
                "any", parts=tuple(self._line(*each) for each in alternatives)
            )
        self._check()

    def _heading(self, line: str, number: int) -> str:
        match = re.fullmatch(r"(?:check (\S+) )?([a-z_]+):", line)
        if match is None:
            raise self._wrong("a heading is 'name:' or 'check verifier:id name:'", number)
        if match[1]:
            self.rules[match[2]] = match[1]
        return match[2]

    def _line(self, number: int, line: str) -> _Node:
        """Read alternatives, and what they bind."""
        pattern, arrow, bindings = line.partition("->")
        gives = tuple(_BINDING.findall(bindings))
        if arrow and _BINDING.sub("", bindings).strip():
            raise self._wrong("after '->' stand bindings such as unit=words", number)
        pieces = _PIECE.findall(pattern)
        node, left = self._alternatives(pieces, number)
        if left:
            raise self._wrong(f"{left[0]!r} closes nothing", number)
        return _Node("all", parts=(node,), gives=gives)

    def _alternatives(self, pieces: list[str], number: int) -> tuple[_Node, list[str]]:
        options: list[_Node] = []
        parts: list[_Node] = []
        while pieces and pieces[0] not in "])":
            piece, *pieces = pieces
            if piece == "|":
                options.append(_Node("all", parts=tuple(parts)))
                parts = []
            elif piece in "[(":
                node, rest = self._alternatives(pieces, number)
                if not rest or rest[0] != {"[": "]", "(": ")"}[piece]:
                    raise self._wrong(f"{piece!r} is not closed", number)
                pieces = rest[1:]
                parts.append(node if piece == "(" else _optional(node))
            elif len(piece) > 2 and piece[0] == "<":  # noqa: PLR2004 - "<" and "<=" are words
                name, _, bind = piece[1:-1].partition(":")
                kind = "slot" if name in self._slots else "phrase"
                parts.append(_Node(kind, name, bind=bind or name))
            else:
                parts.append(_Node("word", matching_form(piece)))
        options.append(_Node("all", parts=tuple(parts)))
        return (options[0] if len(options) == 1 else _Node("any", parts=tuple(options))), pieces

    def _wrong(self, what: str, number: int) -> InputError:
        return InputError(what, where=f"{self._where}:{number}", hint="see the head of the grammar")

    def _check(self) -> None:
        """See that all names are known and none contains itself; note how each part can start."""
        for name in self._phrases:
            self._visit(_Node("phrase", name), ())

    def _visit(self, node: _Node, inside: tuple[str, ...]) -> None:
        self._nodes += 1
        node.key = self._nodes << _POSITION_BITS
        for part in node.parts:
            self._visit(part, inside)
        match node.kind:
            case "phrase":
                self._enter(node, inside)
            case "slot":
                node.first = self._slots[node.text].starts
            case "word":
                node.first = frozenset(node.text[0])
                node.needs = (frozenset((node.text,)),)
                if _LATIN_RUN.fullmatch(node.text):
                    self._latin_words.add(node.text)
                else:
                    self._words.setdefault(node.text[0], set()).add(node.text)
            case "any":
                node.needs = _any_needed(node.parts)
                node.first = _union([part.first for part in node.parts])
                node.may_be_empty = any(part.may_be_empty for part in node.parts)
            case "all":
                known = {words for part in node.parts for words in part.needs}
                node.needs = tuple(sorted(known, key=len)[:_MOST_NEEDS])
                node.may_be_empty = all(part.may_be_empty for part in node.parts)
                node.first = _first_of(node.parts)
                if node.may_be_empty and node.gives:
                    raise InputError(
                        f"an alternative that binds {node.gives[0][0]} matches nothing at all",
                        where=self._where,
                        hint="let it hold at least one word that cannot be left out",
                    )

    def _enter(self, node: _Node, inside: tuple[str, ...]) -> None:
        """Visit the phrase that a node names, unless that was done."""
        target = self._phrases.get(node.text)
        if target is None or node.text in inside:
            what = "no phrase" if target is None else "contained in itself is"
            raise InputError(f"{what} <{node.text}>", where=self._where, hint="correct its name")
        if node.text not in self._visited:
            self._visit(target, (*inside, node.text))
            self._visited.add(node.text)
        node.first, node.may_be_empty, node.needs = (
            target.first,
            target.may_be_empty,
            target.needs,
        )

    def match(self, name: str, text: NormalizedText, start: int) -> list[Match]:
        """Find every way in which a phrase matches; none where the grammar has no such phrase."""
        return (
            self._match(self._phrases[name], text, start) if self.able((name,), text, start) else []
        )

    def able(self, names: tuple[str, ...], text: NormalizedText, start: int) -> list[str]:
        """Name the phrases that can match at a position: by its sign, and by the text's words."""
        if text.words is None:
            # Of the words of the grammar, those that a text holds: most parts need one of the rest.
            signs = set(text.form) & self._words.keys()
            text.words = {word for sign in signs for word in self._words[sign] if word in text.form}
            text.words |= self._latin_words.intersection(_LATIN_RUN.findall(text.form))
        while (sign := text.form[start : start + 1]) == " ":
            start += 1
        able = text.able.get((names, sign))
        if able is None:
            starting = self._starting.get((names, sign))
            if starting is None:
                known = [(name, self._phrases[name]) for name in names if name in self._phrases]
                starting = [each for each in known if _can(each[1], sign)]
                self._starting[names, sign] = starting
            able = text.able[names, sign] = [
                name
                for name, phrase in starting
                if phrase.may_be_empty or _has_needed(phrase, text.words)
            ]
        return able

    def _match(self, node: _Node, text: NormalizedText, start: int) -> list[Match]:
        form = text.form
        sign = form[start : start + 1]
        while sign == " ":
            start += 1
            sign = form[start : start + 1]
        if node.first is not None and sign not in node.first:
            return [(start, ())] if node.may_be_empty else []
        return self._match_at(node, text, start)

    def _match_at(self, node: _Node, text: NormalizedText, start: int) -> list[Match]:
        """Match a part at a sign that it can start with."""
        if node.kind == "word":
            return _word(node.text, text.form, start)
        key = node.key | start
        matches = text.matches.get(key)
        if matches is None:
            matches = text.matches[key] = self._find(node, text, start)
        return matches

    def _find(self, node: _Node, text: NormalizedText, start: int) -> list[Match]:
        if node.kind == "slot":
            values = self._slots[node.text].read(text.form, text.written, start)
            return [(end, ((node.bind, value),)) for end, value in values]
        if node.kind == "phrase":
            return self._match_at(self._phrases[node.text], text, start)
        if node.kind == "any":
            sign = text.form[start : start + 1]
            parts = text.parts.get((node.key, sign))
            if parts is None:
                parts = text.parts[node.key, sign] = _possible(node, sign, text.words or set())
            options = [match for part in parts for match in self._match(part, text, start)]
            return list(dict.fromkeys(options)) if len(options) > 1 else options
        matches: list[Match] = [(start, ())]
        for part in node.parts:
            matches = [
                (end, bound + more)
                for at, bound in matches
                for end, more in self._match(part, text, at)
            ]
            if not matches:
                return matches
        if node.gives:
            matches = [(end, _give(node.gives, bound)) for end, bound in matches]
        return list(dict.fromkeys(matches)) if len(matches) > 1 else matches


class NormalizedText:
    """A text to match, as written and sign by sign as the grammar matches it, and its matches."""

    def __init__(self, written: str) -> None:
        self.written = written
        self.form = matching_form(written)
        self.matches: dict[int, list[Match]] = {}
        self.words: set[str] | None = None
        self.parts: dict[tuple[int, str], list[_Node]] = {}
        """The parts of ``any`` that can match where the next sign is this one."""
        self.able: dict[tuple[tuple[str, ...], str], list[str]] = {}
        """Of phrases, those that can match where the next sign is this one."""


def _union(firsts: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    signs: frozenset[str] = frozenset()
    for first in firsts:
        if first is None:
            return None
        signs |= first
    return signs


def _any_needed(parts: Sequence[_Node]) -> tuple[frozenset[str], ...]:
    """Join what the parts need: of the smallest set of each, every match holds a word."""
    if not all(part.needs for part in parts):
        return ()
    return (frozenset().union(*(part.needs[0] for part in parts)),) if parts else ()


def _first_of(parts: Sequence[_Node]) -> frozenset[str] | None:
    """Join what the parts can start with, up to the first that cannot be empty."""
    sure = next((at for at, part in enumerate(parts, 1) if not part.may_be_empty), len(parts))
    return _union(part.first for part in parts[:sure])


def _possible(node: _Node, sign: str, words: set[str]) -> list[_Node]:
    """Find the parts that can match at a sign, in a text that has these words of the grammar."""
    parts = node.by_sign.get(sign)
    if parts is None:
        parts = node.by_sign[sign] = tuple(each for each in node.parts if _can(each, sign))
    return [part for part in parts if part.may_be_empty or _has_needed(part, words)]


def _can(node: _Node, sign: str) -> bool:
    return node.first is None or sign in node.first or node.may_be_empty


def _has_needed(node: _Node, words: set[str]) -> bool:
    for each in node.needs:  # noqa: SIM110 - a generator takes twice as long
        if each.isdisjoint(words):
            return False
    return True


def _optional(node: _Node) -> _Node:
    return _Node("any", parts=(node, _Node("all")))


def _word(word: str, form: str, start: int) -> list[Match]:
    """Match a word; one of Latin letters only where no letter or digit goes on."""
    if not form.startswith(word, start):
        return []
    end = start + len(word)
    if _latin(word[0]) and start and _latin(form[start - 1]):
        return []
    if _latin(word[-1]) and end < len(form) and _latin(form[end]):
        return []
    return [(end, ())]


def _latin(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def _give(gives: tuple[tuple[str, str], ...], bound: Values) -> Values:
    """Work out what an alternative binds: what is named in braces is renamed, the rest passes."""
    values = dict(bound)
    used = {value[1:-1] for _, value in gives if value[0] == "{"}
    passed = tuple(pair for pair in bound if pair[0] not in used)
    given = tuple((name, values[v[1:-1]] if v[0] == "{" else _literal(v)) for name, v in gives)
    return passed + given


def _literal(value: str) -> Any:
    if "," in value:
        return tuple(value.split(","))
    return int(value) if value.lstrip("-").isdigit() else value


@cache
def shipped() -> Grammar:
    """Read heedful's own grammar."""
    from importlib import resources

    from heedful.verify.compiler.slots import SLOTS

    text = resources.files(__package__).joinpath("grammar.txt").read_text(encoding="utf-8")
    return Grammar(text, SLOTS, "grammar.txt")
