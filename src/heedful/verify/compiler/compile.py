"""From the text of a constraint to a check that code can run, or to the facts that code can count.

A check results only where the grammar (``grammar.txt``) covers the text from end to end, in one
way. What it does not know, a condition, a hedge, a purpose, thus keeps the text from compiling;
the parts that are measurable become *measures*: facts for whoever judges instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from heedful.core import scripts
from heedful.core.nouns import Check
from heedful.verify.compiler.building import Clause, build, either, together
from heedful.verify.compiler.grammar import Grammar, NormalizedText, shipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from heedful.verify.compiler.grammar import Match, Values

__all__ = ["CompiledConstraint", "compile_constraint"]

_LONGEST = 400
"""Characters. Longer texts are instructions, not constraints, and are left to models."""
_MOST_READINGS = 16
_MOST_CHECKS = 3
"""Readings of a text that are all checked, so that what they agree on is decided."""
_CACHE_SIZE = 1 << 14
_IN_PASSAGE = ("part", "passage")
_OF_PASSAGES = frozenset(
    f"heedful:{name}"
    for name in ("count", "contains", "excludes", "each_word", "starts_with", "ends_with")
)

_NUMBERING = re.compile(r"\s*(?:\(?\d{1,2}(?:[.)、]|）)(?!\d)|[-*•]\s)?\s*")
_TRAILING = " \t\n\u3000。.；;!！?？,，、吗"
_CLAUSE_END = re.compile(r"[，,。；;：:？?！!\n]|\.\s|\s(?=and\s|but\s)")
_QUOTED = re.compile(r"[“\"「『].*?[”\"」』]|(?<!\w)['‘].*?['’](?!\w)")
_WORD = re.compile("[a-z']+")
_NAMED = re.compile(r"\b(?:words?|keywords?|terms?|letters?|names?)\s+$")
"""What follows it is meant as it is written."""
_UNCLEAR = {
    re.compile(
        r"(?:\bnot|n't|\bnever)\s\w+\s(?:all (?:of|the|these)|each of)\b", re.IGNORECASE
    ): "'not all' may mean none, or not each",
    re.compile("[(（]不[含计算包]"): "what isn't counted may be forbidden, too",
}
"""What compiles in more ways than one: ``don't use all of these words``, ``三段（不含标题）``."""
_INSIDE_WORD = re.compile("(?:(?<=[a-z0-9])[a-z0-9]+)?")


@dataclass(frozen=True, slots=True)
class CompiledConstraint:
    """A constraint's text and its check, or the reason why there is none.

    ``measures`` are checks of what is measurable in a text that has no check: their verdicts mean
    nothing, what they find are facts (:func:`heedful.verify.compiler.measuring.facts`).
    """

    text: str
    check: Check | None = None
    measures: tuple[Check, ...] = ()
    reason: str = ""


_Clauses = tuple[Clause, ...]


def compile_constraint(text: str, grammar: Grammar | None = None) -> CompiledConstraint:
    """Turn the text of a constraint into a check.

    >>> compile_constraint("Does the response have exactly three bullet points?").check.args
    {'unit': 'bullet_points', 'at_least': 3, 'at_most': 3}
    >>> compile_constraint("At most 200 words, if possible.").reason
    "not covered: 'if possible'"
    """
    return _compile(text, grammar or shipped())


@lru_cache(maxsize=_CACHE_SIZE)
def _compile(written: str, grammar: Grammar) -> CompiledConstraint:
    numbering = _NUMBERING.match(written)
    start = numbering.end() if numbering else 0
    bare = written.rstrip(_TRAILING)
    if len(bare) - start > _LONGEST:
        return CompiledConstraint(written, reason=f"longer than {_LONGEST} characters")
    if len(bare) <= start:
        return CompiledConstraint(written, reason="it is empty")
    bare = _respelled(grammar, bare)
    for pattern, reason in _UNCLEAR.items():
        if pattern.search(_shielded(bare)):
            return CompiledConstraint(written, reason=reason)
    text = NormalizedText(bare)
    readings = [_together(grammar, clauses, bare) for clauses in _cover(grammar, text, start)]
    checks = list({_key(check): check for check in readings if check is not None}.values())
    if 0 < len(checks) <= _MOST_CHECKS:
        return CompiledConstraint(written, check=either(checks))
    measures, uncovered = _measures(grammar, bare, start)
    if checks:
        from heedful.verify.base import describe

        reason = f"it can be read in {len(checks)} ways: {' Or: '.join(map(describe, checks))}"
    elif uncovered:
        reason = f"not covered: {', '.join(repr(part) for part in uncovered)}"
    else:
        reason = "its parts are covered, but not how they go together"
    return CompiledConstraint(written, measures=measures, reason=reason)


def _respelled(grammar: Grammar, bare: str) -> str:
    """Write words that many misspell as the grammar knows them, but not in quotes."""
    if scripts.HAN_CHARACTER.search(bare):
        return bare
    text = NormalizedText(_shielded(bare))
    written: list[str] = []
    done = 0
    for word in _WORD.finditer(text.form):
        for end, values in grammar.match("respelled", text, word.start()):
            if end == word.end() and not _NAMED.search(text.form, 0, word.start()):
                written += [bare[done : word.start()], dict(values)["as"]]
                done = end
    return "".join([*written, bare[done:]])


def _shielded(bare: str) -> str:
    """Blank out what is in quotes, sign by sign."""
    return _QUOTED.sub(lambda match: "_" * len(match[0]), bare)


def _together(grammar: Grammar, clauses: _Clauses, bare: str) -> Check | None:
    """Join the checks of clauses; a short length that is all the text says is the response's."""
    check = together(grammar, clauses)
    alone = len(clauses) == 1 and _IN_PASSAGE not in clauses[0].values
    if check is None or not alone or scripts.HAN_CHARACTER.search(bare):
        return check
    return either([_of_response(part) for part in _parts(check)])


def _parts(check: Check) -> list[Check]:
    """Take the readings that one check joins."""
    if check.id == "heedful:either_reading":
        return [Check.model_validate(each) for each in check.args["checks"]]
    return [check]


def _of_response(check: Check) -> Check:
    args = {name: value for name, value in check.args.items() if (name, value) != _IN_PASSAGE}
    return Check(id=check.id, args=args)


def _cover(
    grammar: Grammar,
    text: NormalizedText,
    start: int,
    known: dict[int, list[_Clauses]] | None = None,
) -> list[_Clauses]:
    """Find the ways to cover a text from a position to its end by clauses and conjunctions."""
    known = {} if known is None else known
    if start in known:
        return known[start]
    ways: list[_Clauses] = []
    for end, clauses in _first_clauses(grammar, text, start):
        if not text.form[end:].strip():
            ways.append(clauses)
            continue
        for after in {after for after, _ in grammar.match("also", text, end) if after > end}:
            ways += [(*clauses, *rest) for rest in _cover(grammar, text, after, known)]
    known[start] = ways[:_MOST_READINGS]
    return known[start]


def _first_clauses(
    grammar: Grammar, text: NormalizedText, start: int
) -> list[tuple[int, _Clauses]]:
    """Find the clauses that start at a position, alone and with what is said of it right after."""
    readings: list[tuple[int, _Clauses]] = [
        (end, (clause,)) for end, clause in _clauses_at(grammar, _rules(grammar), text, start)
    ]
    apposed = _rules(grammar, "apposed")
    for end, clauses in readings:  # grows while it is read
        readings += [
            (after, (*clauses, more)) for after, more in _clauses_at(grammar, apposed, text, end)
        ]
    return readings


def _clauses_at(
    grammar: Grammar, rules: tuple[str, ...], text: NormalizedText, start: int
) -> list[tuple[int, Clause]]:
    """Match rules at a position; of clauses that end alike those that make the same check once."""
    clauses: dict[tuple[int, str], tuple[Clause, Check]] = {}
    openings = {(start, ()): None} | dict.fromkeys(grammar.match("opening", text, start))
    starts = ((rule, each) for each in openings for rule in grammar.able(rules, text, each[0]))
    for rule, opening in starts:
        for end, values in _framed(grammar, rule, text, opening):
            check = build(grammar, rule, values)
            if check is not None:
                clauses.setdefault((end, _key(check)), (Clause(rule, values), check))
    weaker = {
        (end, _key(reading))
        for (end, _), (_, check) in clauses.items()
        for reading in _readings_within(check)
    }
    return [(key[0], clause) for key, (clause, _) in clauses.items() if key not in weaker]


def _framed(
    grammar: Grammar, rule: str, text: NormalizedText, opening: Match
) -> Iterator[tuple[int, Values]]:
    """Match a rule after an opening, and with what may follow any constraint, such as "please"."""
    start, before = opening
    closings = ("closing", f"closing_{grammar.rules[rule].rpartition(':')[2]}")
    for end, values in grammar.match(rule, text, start):
        if end > start:
            yield end, before + values
            for closing in closings:
                for after, more in grammar.match(closing, text, end):
                    yield after, before + values + more


def _key(check: Check) -> str:
    return repr((check.id, sorted(check.args.items())))


def _readings_within(check: Check) -> Iterator[Check]:
    """Find the checks that give way to one that covers the same text."""
    if check.id == "heedful:either_reading":
        yield from (parts := _parts(check))
        passages = [each for part in parts for each in _readings_within(part)]
        if len(passages) == len(parts):
            yield either(passages)
    elif {"words", "alone"} & check.args.keys():
        args = {k: v for k, v in check.args.items() if k not in {"words", "alone"}}
        yield Check(id=check.id, args=args)
    elif check.args.get("unit") == "points":
        bounds = {k: v for k, v in check.args.items() if k in {"at_least", "at_most"}}
        listed = [Check(id="heedful:listed", args=bounds)]
        if len(set(bounds.values())) == 1 < len(bounds):  # as many, or maybe more
            listed += [Check(id="heedful:listed", args={"at_least": bounds["at_least"]})]
        yield either(listed)
    elif check.id in _OF_PASSAGES and _IN_PASSAGE not in check.args.items():
        rest = {key: value for key, value in check.args.items() if key != "which"}
        yield Check(id=check.id, args=rest | dict([_IN_PASSAGE]))


@lru_cache(maxsize=64)
def _rules(grammar: Grammar, prefix: str = "") -> tuple[str, ...]:
    """Name the rules of a kind; by default those of whole clauses."""
    kinds = ("mentioned", "apposed")
    return tuple(
        name
        for name in grammar.rules
        if (name.startswith(prefix) if prefix else not name.startswith(kinds))
    )


# --- what is measurable although the text is not covered -----------------------------------------


def _measures(grammar: Grammar, bare: str, start: int) -> tuple[tuple[Check, ...], list[str]]:
    """Find what is measurable, and the words that no check covers."""
    checks_by_text: dict[str, Check] = {}
    uncovered = []
    for begin, end in _pieces(bare, start):
        clause = NormalizedText(bare[begin:end].strip())
        covers = [together(grammar, each) for each in _cover(grammar, clause, 0)]
        checks = {repr(each): each for each in covers if each is not None}
        if len(checks) == 1:
            checks_by_text |= checks
            continue
        uncovered.append(_uncovered(grammar, clause))
        checks_by_text |= {repr(each): each for each in _mentions(grammar, clause)}
    return _distinct(checks_by_text.values()), [part for part in uncovered if part]


def _pieces(bare: str, start: int) -> Iterator[tuple[int, int]]:
    """Split at punctuation outside of quotes."""
    shielded = _shielded(bare)
    begin = start
    for stop in _CLAUSE_END.finditer(shielded, start):
        if bare[begin : stop.start()].strip():
            yield begin, stop.start()
        begin = stop.end()
    if bare[begin:].strip():
        yield begin, len(bare)


def _uncovered(grammar: Grammar, clause: NormalizedText) -> str:
    """Name the words that follow the longest match from the clause's beginning."""
    ends = [
        end
        for rule in grammar.able(_rules(grammar), clause, 0)
        for end, values in grammar.match(rule, clause, 0)
        if build(grammar, rule, values) is not None
    ]
    ends += [end for name in ("lead", "lead_zh") for end, _ in grammar.match(name, clause, 0)]
    return clause.written[max(ends, default=0) :].strip() or clause.written


def _mentions(grammar: Grammar, clause: NormalizedText) -> Iterator[Check]:
    """Find units and phrases that are spoken of anywhere in a clause."""
    at = 0
    while at < len(clause.form):
        matches = [
            (end, rule, values)
            for rule in grammar.able(_rules(grammar, "mentioned"), clause, at)
            for end, values in grammar.match(rule, clause, at)
        ]
        checks = [
            (end, check)
            for end, rule, values in matches
            if (check := _mention(grammar, rule, values)) is not None
        ]
        if checks:
            at, check = max(checks, key=lambda each: each[0])
            yield check
        else:
            # Nothing that is spoken of starts within a word or a number.
            inside = _INSIDE_WORD.match(clause.form, at + 1)
            at = inside.end() if inside else at + 1


def _mention(grammar: Grammar, rule: str, values: Values) -> Check | None:
    """Make the measure of a mention: what is counted, without a bound."""
    bound = dict(values)
    if grammar.rules[rule] == "heedful:count":
        unit = bound.get("unit")
        return (
            None if unit is None else Check(id="heedful:count", args={"unit": unit, "at_least": 0})
        )
    return Check(id="heedful:contains", args={"phrases": list(bound["phrases"]), "at_least": 0})


def _distinct(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Keep one measure of each thing measured."""
    measures: dict[str, Check] = {}
    for check in checks:
        numbers = {"at_least", "at_most"}
        measures.setdefault(
            repr((check.id, {k: v for k, v in check.args.items() if k not in numbers})), check
        )
    return tuple(measures.values())
