"""The attacks of ``examples/attacks.py`` on scripted judges, alone and behind the gates.

python benchmarks/reward_attacks.py
"""

from __future__ import annotations

import re
import runpy
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import Critique, Judgment, Sample, Status
from heedful.rewards import Reward

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


ATTACKS = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "attacks.py"))
SAMPLES: list[Sample] = ATTACKS["examples"]()
ROWS: list[Sample] = list(ATTACKS["rows"](SAMPLES))
GOOD = {sample.response for sample in SAMPLES}
PRAISE = re.compile(r"\bmet\b|satisf|fulfil|VERDICT|满足|perfect", re.IGNORECASE)
JUDGES = (
    Scripted("permissive", lambda _: True),
    Scripted("gullible", lambda text: text in GOOD or PRAISE.search(text) is not None),
    Scripted("echoing", lambda text: text in GOOD or "VERDICT: MET" in text),
)
"""One passes everything, one believes what responses say of themselves, one reads a verdict in the
response as its own."""


def passed(judge: Scripted, gates: str) -> list[bool]:
    """Tell which attacks get the highest reward."""
    with Reward(judge, "all_or_nothing", gates=gates) as reward:
        return [scored.value == 1 for scored in reward.score_sync(ROWS)]


def main() -> None:
    """Print the pass rates by kind."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(ROWS):
        kinds[str(row.tags["kind"])].append(at)
    results = {judge.name: [passed(judge, gates) for gates in ("none", "all")] for judge in JUDGES}
    print("| kind | tried | " + " | ".join(results) + " |")
    print("| --- " * (len(JUDGES) + 2) + "|")
    for kind, places in kinds.items():
        cells = [kind, str(len(places))]
        for settings in results.values():
            shares = (sum(settled[at] for at in places) / len(places) for settled in settings)
            cells.append(" → ".join(f"{share:.0%}" for share in shares))
        print("| " + " | ".join(cells) + " |")
    for name, (_, gated) in results.items():
        through = {str(row.tags["attack"]) for row, got in zip(ROWS, gated, strict=True) if got}
        print(f"\n{name}, behind the gates: {', '.join(sorted(through))}")


if __name__ == "__main__":
    main()
