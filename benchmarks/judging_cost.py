"""Calls and tokens that protocols take on the same data, without making a call.

    python benchmarks/judging_cost.py --data DIR

For the rows of CFBench that have a reference answer (taken as the response), the turns of SysBench,
and rows of our own in the shape of AdvancedIF (three tasks; several turns and system prompts; six
to nine questions a row, a third of them about form), prints what ``heedful evaluate --dry-run``
estimates for judging: the whole checklist in one call, constraint by constraint, and both after
code has decided what it can.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import TYPE_CHECKING

from heedful import Cascade, Constraint, Message, Sample, dry_run, evaluate
from heedful.data import formats
from heedful.judges import Compiled, Rules, prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.judges import Judge

CFBENCH = "cfbench/cfbench_data.json"
SYSBENCH = "sysbench/gpt35.jsonl"

TASKS = {"complex_if": (402, 1, False), "carried_context": (736, 5, False)}
TASKS["system_steerability"] = (507, 3, True)
"""Rows, turns of the user, and whether there is a system prompt."""

FORM = (
    "Does the response have at most {} words?",
    "Does the response consist of at least {} sentences?",
    "Is the response free of exclamation marks?",
    "Does the response avoid the word 'very'?",
)
CONTENT = (
    "Does the response explain why the plan changed on day {}?",
    "Does the response keep the friendly tone that the user asked for in turn {}?",
    "Does the response take up the budget of {} that was agreed on before?",
    "Does the response suggest an alternative for the activity on day {}?",
)
WORDS = "the plan for the trip changes since rain is expected and we go to the museum first"


def advancedif() -> Iterator[Sample]:
    """Make rows in the shape of AdvancedIF; the same at every run."""
    draw = random.Random(1)

    def prose(words: int) -> str:
        return " ".join(draw.choice(WORDS.split()) for _ in range(words)) + "."

    for task, (rows, turns, system) in TASKS.items():
        for number in range(rows):
            conversation = [Message(role="system", content=prose(300))] if system else []
            for turn in range(turns):
                conversation.append(Message(role="user", content=prose(60)))
                if turn < turns - 1:
                    conversation.append(Message(role="assistant", content=prose(200)))
            size = draw.randint(6, 9)
            texts = [
                draw.choice(FORM if k % 3 == 0 else CONTENT).format(draw.randint(40, 400))
                for k in range(size)
            ]
            yield Sample(
                id=f"{task}-{number}",
                conversation=tuple(conversation),
                checklist=tuple(Constraint(text=text) for text in texts),
                response=prose(250),
                tags={"task": task},
            )


def cfbench(data: Path) -> Iterator[Sample]:
    """Give CFBench's rows that have a reference answer, as if a model had answered it."""
    for row in formats.read(data / CFBENCH):
        if row.sample is not None and row.sample.reference:
            yield row.sample.model_copy(
                update={"response": row.sample.reference, "reference": None}
            )


def sysbench(data: Path) -> Iterator[Sample]:
    """Give SysBench's turns."""
    return (row.sample for row in formats.read(data / SYSBENCH) if row.sample is not None)


def judges() -> dict[str, Judge]:
    """Make the judges that are compared; no call is made."""
    model = ScriptedModel("")
    whole = Checklist(model, prompts.make("plain"))
    single = Checklist(model, prompts.make("plain"), per_call=1)
    return {
        "checklist": whole,
        "per constraint": single,
        "code, then checklist": Cascade(Rules(), Compiled(), whole),
        "code, then per constraint": Cascade(Rules(), Compiled(), single),
    }


def show(name: str, rows: list[Sample]) -> None:
    """Print a line for each judge."""
    constraints = sum(len(row.checklist) for row in rows)
    print(f"{name}: {len(rows):,} rows, {constraints:,} constraints")
    for judge, made in judges().items():
        estimate = dry_run(evaluate, rows, judge=made)
        tokens = estimate["prompt_tokens"], estimate["completion_tokens"]
        print(f"  {judge:26} {estimate['calls']:6,} calls {tokens[0]:11,} + {tokens[1]:9,} tokens")


def main() -> None:
    """Estimate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    show("CFBench", list(cfbench(data)))
    show("SysBench", list(sysbench(data)))
    show("in the shape of AdvancedIF", list(advancedif()))


if __name__ == "__main__":
    main()
