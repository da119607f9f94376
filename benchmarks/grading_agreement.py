"""How far the comparison of answers agrees with people, with other projects' suites, and how fast.

    python benchmarks/grading_agreement.py --data DIR [--pairs tests/answer_pairs.txt] [--ablate]

DIR holds ``realcritic/`` and ``peer_suites/``. Prints, for heedful and for math-verify in one
process each on the same items: the verdicts on hostile pairs (in both directions), on the cases of
other projects' suites, and the seconds for RealCritic's open items; then every disagreement with
the suites, and the gold answers of each set that are called equal. With ``--ablate``, how many
verdicts change without each part of the comparison. With ``--unboxed``, whether solutions whose
boxes are taken away still end on what these held.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections import Counter
from contextlib import ExitStack
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from pkgutil import resolve_name
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from heedful.bench.grading import equality, expressions, regions, symbolic
from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.boxes import boxed, last_boxed
from heedful.bench.grading.constants import Renaming
from heedful.bench.grading.problems import read_problems
from heedful.bench.grading.units import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SECONDS = 5
CROSSED_SECONDS = 60
"""Of CPU time, for the gold answers of one set."""

GRADING = "heedful.bench.grading."
PARTS: dict[str, dict[str, Any]] = {
    # what stands in for a part of the comparison when it is left out
    "number words": {"tidying.in_digits": str},
    "dates": {"equality.same_moment": lambda *_: None},
    "sets of numbers": {"structures.says_region": lambda _: False},
    "inequalities": {"structures.relation": lambda _: None},
    "decimal commas": {"equality.localized": lambda _: None},
    "bases": {"equality.compare_based": lambda *_: None, "leaves.compare_based": lambda *_: None},
    "units": {"leaves.measure": Quantity, "equality.measure": Quantity},
    "two units": {"equality.in_one_unit": str},
    "angles": {"leaves._angles": lambda *_: None},
    "names of several values": {"structures.spread": str},
    "constants": {"symbolic.arbitrary_addend": lambda *_: None, "symbolic.renamings": None},
    "pieces": {"symbolic.pieces": lambda *_: []},
    "jumps": {"symbolic.has_jumps": lambda _: False},
    "whole numbers": {"symbolic._unless_whole": lambda *_: False},
    "words": {"equality.same_words": lambda *_: None},
    "phrases": {"equality.is_phrase": lambda _: False},
    "yes and no": {"equality.verdict_word": lambda _: None},
    "quantifiers": {"equality.is_quantified": lambda _: False},
    "ordered names": {"symbolic.ordered_names": lambda _: frozenset()},
    "math-verify's sets": {"leaves.symbolic.equal_relations": lambda *_: None},
    "ratios": {"leaves._ratios": lambda *_: None},
    "matrices": {"structures._matrices": lambda *_: None},
    "capitals": {"equality._spelling": lambda _: object()},
    "why unequal answers may be equal": {"equality.likeness": lambda *_: ""},
    "why equal answers may not be": {"equality.doubt": lambda *_: ""},
    "notations of schools and programs": {"tidying.respelled": str},
    "congruences": {"equality.same_residues": lambda *_: None},
    "sets of letters": {"structures._memberships": lambda *_: None},
    "choices with values": {"equality._chosen": lambda *_: None},
    "names in lists": {"structures._differently_named": lambda *_: False},
    "alternatives": {"structures._alternatives": lambda *_: None},
    "rankings": {"structures._is_ranking": lambda _: False},
    "lists with dots": {"structures._without_dots": lambda _: None},
    "two readings": {"leaves._otherwise_read": str},
    "numbers as expressions": {"leaves.symbolic.value_equal": lambda *_: None},
}


class Item(NamedTuple):
    """A gold answer and one to be compared with it; ``same`` as a person or a suite says."""

    kind: str
    gold: str
    answer: str
    same: bool | None = None


def hostile(path: Path) -> Iterable[Item]:
    """Read the hostile pairs, in both directions."""
    for line in path.read_text(encoding="utf-8").splitlines():
        sign, _, rest = line.partition(" ")
        if sign in {"=", "≠"}:
            left, right = rest.split(" | ")
            yield Item("pairs", left, right, sign == "=")
            yield Item("pairs", right, left, sign == "=")


def peers(folder: Path) -> Iterable[Item]:
    """Read the cases of other projects; of a text the answer that we extract from it."""
    for name in ("math_verify", "math_other"):
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            raw = row.get("pred_raw", row["answer"])
            answer = row["answer"] if raw == row["answer"] else final_answer(raw) or row["answer"]
            yield Item("suites", row["gold"], answer, row["expected"])


def real(folder: Path, *, solutions: bool) -> Iterable[Item]:
    """Read RealCritic's open items, with the answers that the files give, and the solutions'."""
    for path in sorted(folder.glob("*.jsonl")):
        for row in read_problems(path, "realcritic"):
            if row.problem and row.solution and row.problem.kind == "open" and row.solution.answer:
                yield Item(path.stem, row.problem.answers[0], row.solution.answer)
                answer = final_answer(row.solution.text or "") if solutions else None
                if answer:
                    yield Item(path.stem, row.problem.answers[0], answer)


def ours(gold: str, answer: str) -> bool | None:
    """Compare with heedful."""
    return equality.compare(gold, answer).equal


def math_verify(gold: str, answer: str) -> bool | None:
    """Compare with math-verify as its documentation says, without its time limit."""
    from math_verify import parse, verify

    sides = [parse(f"${side}$", parsing_timeout=None) for side in (gold, answer)]
    return bool(verify(*sides, timeout_seconds=None))


def limited(compare: Callable[[str, str], bool | None], item: Item) -> bool | None:
    """Compare within some seconds; what takes longer or fails is undecided."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        return compare(item.gold, item.answer)
    except Exception:  # noqa: BLE001 - sympy raises anything
        return None
    finally:
        signal.alarm(0)


def measure(items: list[Item]) -> None:
    """Print verdicts and seconds of both."""
    for name, compare in (("heedful", ours), ("math-verify", math_verify)):
        started = time.process_time()
        verdicts = [(item, limited(compare, item)) for item in items]
        seconds = time.process_time() - started
        if items[0].same is None:
            decided = Counter(str(verdict) for _, verdict in verdicts)
            print(f"  {name:12} {seconds:6.1f} s of CPU; {dict(decided)}")
            continue
        different = sum(not item.same for item in items)
        accepted = sum(bool(verdict) and not item.same for item, verdict in verdicts)
        missed = sum(not verdict and bool(item.same) for item, verdict in verdicts)
        print(
            f"  {name:12} {seconds:6.1f} s; false accepts {accepted} of {different}, "
            f"missed {missed} of {len(items) - different}"
        )
        for item, verdict in verdicts if name == "heedful" else ():
            if verdict is not item.same and (verdict is not None or item.same):
                print(f"    {item.gold!r}, {item.answer!r}: {verdict}")


def crossed(items: list[Item]) -> None:
    """Print which gold answers of a set are called equal, of its pairs in an order of chance."""
    remember_parses()
    golds = list(dict.fromkeys(item.gold for item in items))
    started, equal, tried = time.process_time(), [], 0
    pairs = list(combinations(golds, 2))
    for gold, other in Random(0).sample(pairs, len(pairs)):
        if time.process_time() - started > CROSSED_SECONDS:
            break
        tried += 1
        if limited(ours, Item("", gold, other)):
            equal.append((gold, other))
    print(f"crossed {items[0].kind}: {tried:,} of {len(pairs):,} pairs", flush=True)
    for pair in equal:
        print("  ", *map(repr, pair), sep=" ")


def unboxed(path: Path) -> None:
    """Print how often a set's solutions without their boxes end on what the last box holds."""
    verdicts: Counter[bool | None] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for text in filter(None, (row.get("reasoning"), row.get("solution"))):
            box = last_boxed(text)
            if not box:
                continue
            plain, at = "", 0
            for start, end, content in boxed(text):
                plain += text[at:start] + content
                at = end
            found = final_answer(plain + text[at:])
            verdicts[limited(ours, Item("", box, found)) if found else None] += 1
    print(
        f"{path.stem} without boxes: {verdicts[True]} the same, {verdicts[False]} another value,"
        f" {verdicts[None]} undecided"
    )


def remember_parses() -> None:
    """Keep all formulas that are parsed, which come again and again here."""
    for name in ("parsed", "read"):
        function = getattr(expressions, name)
        cached = lru_cache(maxsize=None)(function.__wrapped__)
        for module in (expressions, symbolic, regions):
            if hasattr(module, name):
                setattr(module, name, cached)


def ablate(items: list[Item]) -> None:
    """Print how many verdicts change without each part, and those on real answers.

    Only the items on which a part says something else than its stand-in are compared again.
    """
    remember_parses()
    spoke: set[str] = set()
    verdicts: list[tuple[Item, bool | None, frozenset[str]]] = []
    with ExitStack() as stack:
        for part, target, stand_in in stand_ins():
            real_part = watched(part, resolve_name(GRADING + target), stand_in, spoke)
            stack.enter_context(patch(GRADING + target, real_part))
        for item in items:
            spoke.clear()
            verdict = limited(ours, item)
            verdicts.append((item, verdict, frozenset(spoke)))
    for part in PARTS:
        spoken = [each[:2] for each in verdicts if part in each[2]]
        print_changes(part, without(part, spoken))


def without(
    part: str, spoken: list[tuple[Item, bool | None]]
) -> list[tuple[Item, bool | None, bool | None]]:
    """Return the items with other verdicts without a part: with it, and without it."""
    with ExitStack() as stack:
        for owner, target, stand_in in stand_ins():
            if owner == part:
                stack.enter_context(patch(GRADING + target, stand_in))
        after = [(item, verdict, limited(ours, item)) for item, verdict in spoken]
    return [each for each in after if each[1] is not each[2]]


def print_changes(part: str, changed: list[tuple[Item, bool | None, bool | None]]) -> None:
    """Print what changes without a part, and each such verdict on a real answer."""
    judged = [each for each in changed if each[0].same is not None]
    harmed = sum(verdict is item.same for item, verdict, _ in judged)
    accepted = sum(bool(after) and not item.same for item, _, after in judged)
    print(
        f"  without {part}: pairs and suites {len(judged)} change, {harmed} of them were right,"
        f" {accepted} false accepts; RealCritic {len(changed) - len(judged)} change",
        flush=True,
    )
    for item, verdict, after in changed:
        if item.same is None:
            print(f"    {item.kind} {item.gold!r}, {item.answer!r}: {verdict} -> {after}")


def stand_ins() -> Iterable[tuple[str, str, Callable[..., Any]]]:
    """Give each part's name, its function, and what stands in for that."""
    for part, replaced in PARTS.items():
        for target, stand_in in replaced.items():
            yield part, target, stand_in or (lambda _, answer: [Renaming(answer, proven=True)])


def watched(
    part: str, function: Callable[..., Any], stand_in: Callable[..., Any], spoke: set[str]
) -> Callable[..., Any]:
    """Wrap a function so that ``spoke`` gets its part where the stand-in returns something else."""

    def call(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        if part not in spoke and result != stand_in(*arguments, **options):
            spoke.add(part)
        return result

    return call


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    parser.add_argument("--pairs", type=Path, default=Path("tests/answer_pairs.txt"))
    parser.add_argument("--cross", action="store_true", help="compare gold answers with each other")
    parser.add_argument("--ablate", action="store_true", help="leave parts out, one at a time")
    parser.add_argument("--unboxed", action="store_true", help="take the boxes of solutions away")
    arguments = parser.parse_args()
    if arguments.unboxed:
        for name in ("gsm8k", "math", "college_math"):
            unboxed(arguments.data / "realcritic" / f"{name}.jsonl")
        return
    pairs = list(hostile(arguments.pairs))
    suites = list(peers(arguments.data / "peer_suites"))
    items = list(real(arguments.data / "realcritic", solutions=arguments.ablate))
    if arguments.ablate:
        ablate([*pairs, *suites, *items])
        return
    if arguments.cross:
        for kind in dict.fromkeys(item.kind for item in items):
            crossed([item for item in items if item.kind == kind])
        return
    for title, rows in (("hostile pairs", pairs), ("suites", suites), ("RealCritic", items)):
        print(f"{title}, {len(rows):,}:")
        measure(rows)


if __name__ == "__main__":
    main()
