"""How many checks a second one core runs, by kind, and how many texts it compiles.

    python benchmarks/verify_speed.py

Each response is new to each check that is timed, so nothing is remembered from one to the next.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from typing import Any

from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint

ROUNDS = 5
# In the place of # stands a number of its own for each response.
ENGLISH = "The rain in Spain stays mainly in plain #, and so do we. " * 5
CHINESE = "今天下雨了，我们留在#号看书，不出门。" * 12
TEXTS = {
    "English, 60 words": ENGLISH,
    "Chinese, 228 字": CHINESE,
    "English, 600 words in 10 paragraphs": "\n\n".join(
        f"{number}{ENGLISH}" for number in range(10)
    ),
}
CHECKS: dict[str, tuple[str, dict[str, Any]]] = {
    "commas": ("count", {"unit": "commas", "at_most": 9}),
    "字": ("count", {"unit": "zi", "at_most": 500}),
    "words": ("count", {"unit": "words", "at_most": 500}),
    "paragraphs": ("count", {"unit": "paragraphs", "at_most": 3}),
    "bullet points": ("count", {"unit": "bullet_points", "at_least": 3}),
    "sentences": ("count", {"unit": "sentences", "at_least": 3}),
    "contains": ("contains", {"phrases": ["rain"]}),
    "starts with": ("starts_with", {"phrases": ["The"]}),
    "ends with": ("ends_with", {"phrases": ["。"]}),
    "JSON": ("json", {}),
    "table": ("format", {"format": "table"}),
    "case": ("case", {"case": "lower"}),
    "language: zh": ("language", {"language": "zh"}),
    "language: fr": ("language", {"language": "fr"}),
}
CONSTRAINTS = (
    "Does the response have exactly {} bullet points?",
    "At most {} words, if possible.",
    "字数不少于{}字，语言优美",
    "每段不超过{}句话",
)


def rate(wanted: Check, text: str, number: int) -> float:
    """Return checks a second, the median of some rounds."""
    rates = []
    for turn in range(ROUNDS):
        # No cache of texts or of their lines helps.
        first = turn * number
        responses = [Response(text.replace("#", str(first + at))) for at in range(number)]
        start = time.process_time()
        for response in responses:
            _run(wanted, response)
        rates.append(number / (time.process_time() - start))
    return statistics.median(rates)


def _run(wanted: Check, response: Response) -> None:
    with contextlib.suppress(UndecidedError):
        check(wanted, response)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--number", type=int, default=300, help="checks a round")
    number = parser.parse_args().number
    for title, text in TEXTS.items():
        print(title)
        for name, (id_, args) in CHECKS.items():
            wanted = Check(id=f"heedful:{id_}", args=args)
            _run(wanted, Response(text))  # profiles and patterns are loaded once
            print(f"    {name}: {rate(wanted, text, number):,.0f} checks/s")
    texts = [template.format(at) for template in CONSTRAINTS for at in range(2, number)]
    compile_constraint("warm up")
    start = time.process_time()
    for text in texts:
        compile_constraint(text)
    print(f"compiling: {len(texts) / (time.process_time() - start):,.0f} constraints/s")


if __name__ == "__main__":
    main()
