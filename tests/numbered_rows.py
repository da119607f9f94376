"""Rows of a number each, a server that judges them, and what their runs come to."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fault_server
from fault_server import Answer, completion, refusal
from heedful import Constraint, Evaluation, Sample, evaluate
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.models.limiter import AdaptiveLimiter

__all__ = ["children", "judge", "lives", "rows", "serving", "usage", "verdicts"]


@contextmanager
def serving(counts: Counter[str], delay_s: float = 0.0) -> Iterator[str]:
    """Serve a judge: every third row is unmet, one is refused, and one is malformed at first.

    What is refused costs nothing and isn't stored, so it isn't counted: how often it is requested
    depends on which rows are in work at a time.
    """

    def answer(_: int, body: dict[str, Any]) -> Answer:
        (row,) = re.findall(r"Tell me about number (\d+)\.", body["messages"][-1]["content"])
        if row == "7":
            return refusal(400, "the prompt is too long")
        counts[row] += 1
        verdict = "MET" if int(row) % 3 else "UNMET"
        text = "" if row == "8" and counts[row] == 1 else f"<c1>\nSeen.\nVERDICT: {verdict}\n</c1>"
        usage = {"prompt_tokens": 600, "completion_tokens": 40}
        return Answer(body={**completion(text).body, "usage": usage}, delay_s=delay_s)

    with fault_server.serving(script=answer) as server:
        yield server.url


def rows(count: int) -> list[Sample]:
    """Make rows of which each prompt comes twice, and one that cannot be judged."""
    made = [
        Sample(
            id=str(number),
            prompt=f"Tell me about number {number // 2}.",
            checklist=(Constraint(text="It is true."),),
            response="It is a number.",
        )
        for number in range(count)
    ]
    return [*made, Sample(id="empty", prompt="Hi.", checklist=(Constraint(text="It is."),))]


def judge(url: str, count: int, run: Path, **options: Any) -> Evaluation:
    model = OpenAIModel(
        "m", base_url=url, api_key="none", backoff_s=0.01, limiter=AdaptiveLimiter(32)
    )
    checklist = Checklist(model, prompts.make("plain"))
    return evaluate(rows(count), judge=checklist, run=run, concurrency=32, **options)


def children(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children")
    try:
        return [*map(int, listed.read_text(encoding="utf-8").split())]
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return []


def lives(process: int) -> bool:
    """Whether a process runs; one that nobody has taken note of yet is listed all the same."""
    status = Path(f"/proc/{process}/stat")
    return (
        status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    )


def usage(run: Path) -> list[Any]:
    with sqlite3.connect(run / "run.sqlite") as db:
        return [*db.execute("SELECT * FROM usage")]


def verdicts(run: Path) -> list[Any]:
    """Return the outputs, but for who of two equal prompts caused the call."""
    with sqlite3.connect(run / "run.sqlite") as db:
        values = [value for (value,) in db.execute("SELECT value FROM outputs ORDER BY position")]
    return [re.sub(r',"expenses":\[.*?\]', "", value) for value in values]
