"""Which package tells best whether a text starts with a verb, without downloading a model.

    pip install HanTa textblob lemminflect
    python benchmarks/start_verb.py

Prints, for each of them that is installed, how many of our 60 openings it tells right, and which
not. Many are hard on purpose: words that are verbs in one sentence and nouns in another.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

VERB = """
Imagine that. / Consider the case. / Design a house. / Picture this scene. / Let us go. /
Is it true? / Running is fun. / Thank you for asking. / Book a flight. / Start with a verb. /
Explore the world. / Proving this is hard. / Behold the king! /
Understand that life is short. / Do it. / Having seen it, we left. / Introducing the new phone. /
Create a plan. / Address the issue. / Unlock your potential. / Can you help? /
Determine the value. / Note that x is even. / Enhance your skills. / Immerse yourself in it. /
Exploring the depths of the sea is fun. / Cook the rice. / Water the plants. /
Light the candle. / Given a ring R, we prove.
"""
NO_VERB = """
The house. / A verb. / Here is the answer. / In the beginning. / Sure, I can. /
Certainly! It is. / Galois theory is a branch. / Once upon a time. / It is. / You must go. / Yes. /
Design is a field. / Water is wet. / Light travels fast. / Title / 1. Go. / Verbs are fun. /
Hello there. / Walks in the park are nice. / However, we go. / Dear Sir, / As an AI. /
John runs. / Quickly run. / Science shows. / Books are good. / Interest rates rise. / Time flies. /
Play time is over. / There is.
"""


def hanta() -> Callable[[str], bool]:
    """Ask heedful's verifier, which asks HanTa."""
    from heedful.core.nouns import Check
    from heedful.verify import Response, check

    importlib.import_module("HanTa")
    wanted = Check(id="words:start_verb")
    return lambda text: check(wanted, Response(text)).met


def textblob() -> Callable[[str], bool]:
    """Ask TextBlob's tagger, whose lexicon comes with it."""
    tagger = importlib.import_module("textblob.en.taggers").PatternTagger()
    return lambda text: tagger.tag(text, tokenize=True)[0][1].startswith(("VB", "MD"))


def lemminflect() -> Callable[[str], bool]:
    """Ask LemmInflect whether the first word can be a verb, wherever it stands."""
    lemmas = importlib.import_module("lemminflect").getAllLemmas
    return lambda text: bool({"VERB", "AUX"} & set(lemmas(text.split()[0].strip(".,!").lower())))


def openings(text: str) -> list[str]:
    """Read the openings above."""
    return [" ".join(opening.split()) for opening in text.split(" /")]


def main() -> int:
    """Ask and print."""
    for package in (hanta, textblob, lemminflect):
        try:
            starts_with_verb = package()
        except ImportError as error:
            print(f"{package.__name__}: not installed ({error})")
            continue
        openers = dict.fromkeys(openings(VERB), True)
        openers |= dict.fromkeys(openings(NO_VERB), False)
        wrong = [text for text, verb in openers.items() if starts_with_verb(text) is not verb]
        print(f"{package.__name__}: {len(openers) - len(wrong)}/{len(openers)} right")
        for text in wrong:
            print(f"  {'a verb' if openers[text] else 'no verb'}: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
