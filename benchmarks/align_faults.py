"""Show what ``heedful align`` finds in a judge of known faults, and what it costs.

The judge misreads one criterion, needs examples for another, and slips at random. Its model is
scripted, so that the numbers are the same each time; the calls are those that a real model would
get.

    python benchmarks/align_faults.py --rows 34 --output aligned     # about 100 labels
"""

import argparse
import json
import random
import re
import time
from pathlib import Path
from typing import Any

from heedful import Constraint, Message, Sample, align
from heedful.models import ScriptedModel

SOURCE, BRIEF, POLITE = "Names a source.", "Is brief.", "Is polite."
MET = 0.6
CLEARER = "Gives the URL of a source."
EXAMPLE = "Example of a response"
PEOPLE = "A judge decides"
"""How the question for causes and words begins."""


def samples(rows: int, seed: int) -> list[Sample]:
    """Make rows whose response says what is true of it."""
    chance = random.Random(seed)
    made = []
    for number in range(rows):
        truths = {text: chance.random() < MET for text in (SOURCE, BRIEF, POLITE)}
        said = " ".join(f"{text[:-1]}={int(true)}" for text, true in truths.items())
        made.append(
            Sample(
                id=f"r{number}",
                conversation=(Message(role="user", content=f"Question {number}."),),
                checklist=tuple(Constraint(text=text) for text in truths),
                response=f"{said} Number {number}.",
                labels=tuple(truths.values()),
            )
        )
    return made


class FaultyJudge:
    """A judge with three faults."""

    def __init__(self, slips: float) -> None:
        self.slips = slips
        self.model = ScriptedModel(self.reply, name="faulty")

    def reply(self, messages: Any, sample: int) -> str:
        """Judge a prompt, or propose what the judge needs."""
        content = messages[-1].content
        if content.startswith(PEOPLE):
            wording = CLEARER if SOURCE in content else ""
            causes = ["criterion" if SOURCE in content else "judge"] * 5
            return json.dumps({"causes": causes, "wording": wording, "definition": ""})
        blocks = re.split(r"^(?=\d+\. )", content.rsplit("CHECKLIST", 2)[1], flags=re.MULTILINE)
        response = content.rsplit("RESPONSE", 2)[1]
        said = [self.verdict(block, response, sample) for block in blocks[1:]]
        return "\n\n".join(
            f"<c{n}>\nSo it reads.\nVERDICT: {'MET' if met else 'UNMET'}\n</c{n}>"
            for n, met in enumerate(said, 1)
        )

    def verdict(self, block: str, response: str, sample: int) -> bool:
        """Decide, with the faults."""
        name = next((text for text in (BRIEF, POLITE) if text in block), SOURCE)
        true = f"{name[:-1]}=1" in response
        number = int(re.findall(r"Number (\d+)", response)[0])
        misread = name == SOURCE and CLEARER not in block and number % 2 == 0
        unshown = name == BRIEF and EXAMPLE not in block and number % 3 == 0
        slip = random.Random(f"{response} {name} {sample}").random() < self.slips
        return (true != (misread or unshown)) != slip


def main() -> None:
    """Align the judge, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--slips", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    faulty = FaultyJudge(given.slips)
    started = time.process_time()
    summary = align(
        samples(given.rows, given.seed),
        model=faulty.model,
        judge="checklist",
        seed=given.seed,
        output=given.output,
    )
    labels, proof = summary["labels"], summary["proof"]
    print(f"{labels['met'] + labels['unmet']} labels, {len(faulty.model.calls)} calls,")
    print(f"{time.process_time() - started:.1f} s of CPU time without the model")
    print("chosen:", summary["chosen"])
    if proof is not None:
        for rate in ("mean_f1", "f1_unmet", "kappa"):
            before, after = (proof[side][rate]["value"] for side in ("before", "after"))
            print(f"{rate}: {before:.3f} → {after:.3f}")
        low, high = (100 * end for end in proof["difference"]["interval"])
        print(f"gain: {100 * proof['difference']['value']:.1f} points ({low:.1f} to {high:.1f})")


if __name__ == "__main__":
    main()
