"""The attack suite on scripted judges of several characters: tables in Markdown.

    python benchmarks/reward_attacks.py

For a judge of your own: ``heedful reward attack --judge …``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful import Critique, Judgment, Sample, Status
from heedful.rewards.attacking import attack_judge, examples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Scripted:
    """A judge that says of all constraints what a function says of the response."""

    def __init__(self, name: str, met: Callable[[str], bool]) -> None:
        self.name = name
        self.config: dict[str, Any] = {"judge": name}
        self._met = met

    async def judge(self, row: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge a response by its text alone."""
        status = Status.MET if self._met(row.response or "") else Status.UNMET
        size = len(row.checklist if requested is None else requested)
        return Critique(judgments=(Judgment(status=status),) * size)


GOOD = {sample.response for sample in examples()}
PRAISE = re.compile(r"\bmet\b|satisf|fulfil|VERDICT|满足|perfect", re.IGNORECASE)
JUDGES = (
    Scripted("permissive", lambda _: True),
    Scripted("gullible", lambda text: text in GOOD or PRAISE.search(text) is not None),
    Scripted("echoing", lambda text: text in GOOD or "VERDICT: MET" in text),
)
"""One passes everything, one believes what responses say of themselves, one reads a verdict in the
response as its own."""


def main() -> None:
    """Print the pass rates by kind."""
    results = [attack_judge(judge, examples()) for judge in JUDGES]
    print("| kind | tried | " + " | ".join(judge.name for judge in JUDGES) + " |")
    print("| --- " * (len(JUDGES) + 2) + "|")
    for kind, numbers in results[0]["kinds"].items():
        cells = [kind, str(numbers["alone"]["tried"])]
        for result in results:
            rates = (result["kinds"][kind][setting]["rate"] for setting in ("alone", "gates"))
            cells.append(" → ".join(f"{100 * rate:.0f} %" for rate in rates))
        print("| " + " | ".join(cells) + " |")
    for result in results:
        through = [name for name, each in result["attacks"].items() if each["gates"]["passed"]]
        print(f"\n{result['judge']}, behind the gates: {', '.join(through)}")


if __name__ == "__main__":
    main()
