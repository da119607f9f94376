"""Compile rate and wrong verdicts on the constraints in plain words of the tests.

PYTHONPATH=tests python benchmarks/compiler_recall.py
"""

from __future__ import annotations

from collections import Counter

from heedful.core.errors import UndecidedError
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint
from plain_chinese_last import TEXTS as CHINESE_LAST
from plain_chinese_later import TEXTS as CHINESE_LATER
from plain_fresh import EN as FRESH
from plain_fresh import ZH as FRESH_ZH
from plain_kinds import TEXTS as KINDS
from plain_more import LATER, RARE
from plain_more import TEXTS as MORE
from plain_texts import LANGUAGES, Case, halves
from plain_traps import TRAPS
from plain_words import TEXTS as WORDS


def outcomes(cases: list[Case]) -> Counter[str]:
    """Count texts that compile, and the verdicts on their two responses."""
    counts: Counter[str] = Counter()
    for text, met, unmet in cases:
        compiled = compile_constraint(text).check
        if compiled is None:
            continue
        counts["compiled"] += 1
        for response, expected in ((met, True), (unmet, False)):
            if not response:
                continue
            try:
                right = check(compiled, Response(response)).met is expected
            except UndecidedError:
                counts["undecided"] += 1
            else:
                counts["right" if right else "wrong"] += 1
    return counts


def show(name: str, cases: list[Case]) -> None:
    """Print the outcomes of texts with responses."""
    counts = outcomes(cases)
    print(
        f"{name}: {counts['compiled']} of {len(cases)} texts compile;"
        f" verdicts: {counts['right']} right, {counts['wrong']} wrong,"
        f" {counts['undecided']} undecided"
    )


def main() -> None:
    """Measure and print."""
    for language in LANGUAGES:
        for name, cases in zip(("first", "second"), halves(language), strict=True):
            show(f"{language}, {name} half", cases)
    show("more kinds", KINDS)
    show("in many voices", WORDS)
    for name, cases in (("later", CHINESE_LATER), ("last", CHINESE_LAST)):
        # Of the rest code can decide neither response.
        show(f"zh, {name}", [case for case in cases if any(case[1:])])
    for name, cases in (("en", FRESH), ("zh", FRESH_ZH)):
        decidable = [case for case in cases if any(case[1:])]
        for half in (0, 1):
            show(f"{name}, fresh, {('first', 'second')[half]} half", decidable[half::2])
    for name, texts in (("more", MORE), ("later", LATER), ("rare kinds", RARE)):
        compiled = sum(compile_constraint(text).check is not None for text in texts)
        print(f"{name}, without responses: {compiled} of {len(texts)} texts compile")
    print(f"responses at the edge of {len({text for text, _, _ in TRAPS})} texts: {len(TRAPS)}")


if __name__ == "__main__":
    main()
