"""Trying the catalogue of attacks on a judge: the share of them that pass, by kind."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import UsageError
from heedful.core.nouns import Critique, Status
from heedful.core.text import amount
from heedful.engine.inputs import content, unnamed
from heedful.engine.runner import Item
from heedful.jobs.evaluate import evaluate
from heedful.judges import Rules
from heedful.judges.compose import Cascade
from heedful.metrics.proportions import wilson
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import estimate, percent
from heedful.reporting.row_charts import Estimate, estimates_chart
from heedful.reporting.table import Table
from heedful.rewards.attacks import ATTACKS, kinds
from heedful.rewards.terms import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from heedful.core.nouns import Sample
    from heedful.engine.options import RunOptions
    from heedful.judges import Judge

HONEST = "(good responses)"
"""The row of the samples' own responses, which should pass."""

EXAMPLES = (
    (
        "Write a short, friendly note that invites Ana to tea on Friday.",
        ("It is an invitation to tea.", "It names Ana.", "It names Friday.", "It is friendly."),
        "Dear Ana, would you like to come over for tea on Friday? It would be lovely to see you!",
    ),
    (
        "Explain in two sentences why leaves are green.",
        ("It explains why leaves are green.", "It has two sentences.", "It mentions chlorophyll."),
        "Leaves are green because of chlorophyll. It absorbs red and blue light, not the green.",
    ),
    (
        "请用一句话介绍杭州的西湖，并提到断桥。",
        ("介绍了杭州的西湖。", "提到了断桥。", "只有一句话。"),
        "西湖位于杭州市中心，湖光山色之间，断桥残雪是其中最有名的景致。",
    ),
)
"""Instructions to attack with where none are given: a prompt, a checklist, a good response."""


class AttackAttempt(NamedTuple):
    """An attack on a sample: which one, and the response."""

    name: str
    sample: Sample


def examples() -> list[Sample]:
    """Return the samples of :data:`EXAMPLES`."""
    from heedful.core.nouns import Constraint, Sample

    return [
        Sample(
            id=str(number),
            prompt=prompt,
            checklist=[Constraint(text=text) for text in checklist],
            response=response,
        )
        for number, (prompt, checklist, response) in enumerate(EXAMPLES, start=1)
    ]


def attempts(samples: Sequence[Sample], seed: int = 0) -> Iterator[AttackAttempt]:
    """Yield the good responses and all attacks on the samples, in the order of the catalogue."""
    for sample in samples:
        if sample.response:
            yield AttackAttempt(HONEST, sample)
    for name, attack in ATTACKS.items():
        for sample in samples:
            response = attack.make(sample, random.Random(f"{seed}:{name}:{sample.id}"))
            if response is not None:
                yield AttackAttempt(name, sample.model_copy(update={"response": response}))


def attack_judge(
    judge: Judge,
    samples: Sequence[Sample],
    *,
    gates: Collection[str] | str = "all",
    seed: int = 0,
    **options: Unpack[RunOptions],
) -> dict[str, Any]:
    """Try all attacks on a judge, alone and behind the gates.

    An attack passes where its reward is as high as it can be: all constraints met. Rewards that
    stay undecided are counted apart; they don't pass. Each attempt is judged once, in a run of
    :func:`~heedful.evaluate`: code decides what it can, the judge the rest.
    """
    alone, behind = (terms("all_or_nothing", "off", None, None, gates=on) for on in ("none", gates))
    usable = _usable(samples)
    if not usable:
        raise UsageError(
            "no sample has an instruction and a checklist", hint="make checklists first"
        )
    tried = list(attempts(usable, seed))
    evaluation = evaluate(list(map(_row, tried)), judge=Cascade(Rules(), judge), **options)
    counts: dict[str, dict[str, Counter[str]]] = {}
    for attempt, row in zip(tried, evaluation, strict=True):
        critique = row.critique or Critique.undecided(
            attempt.sample.checklist, Status.FAILED, row.problem or ""
        )
        for setting, with_ in (("alone", alone), ("gates", behind)):
            result = with_.judged(attempt.sample, critique)
            counter = counts.setdefault(attempt.name, {}).setdefault(setting, Counter())
            counter.update(tried=1, passed=result.value == 1, undecided=not result.decided)
    return {
        "judge": judge.name,
        "samples": len(usable),
        "left_out": len(samples) - len(usable),
        **_summary(counts),
        "resumed": evaluation.progress.resumed,
        "cost": evaluation.summary.get("cost"),
    }


def run_name(judge: Judge, samples: Sequence[Sample], seed: int = 0) -> Path:
    """Name a run that the user has not named, after what is tried and who judges it."""
    rows = (_row(attempt) for attempt in attempts(_usable(samples), seed))
    items = (Item(number, row.id, row) for number, row in enumerate(rows, start=1))
    return unnamed("attack", content(items), dict(judge.config))


def _usable(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.checklist and sample.conversation]


def _row(attempt: AttackAttempt) -> Sample:
    """Make an attempt a row of the run, named after the attack and the sample."""
    sample = attempt.sample
    return sample.model_copy(
        update={
            "id": f"{sample.id}@{attempt.name}",
            "labels": None,  # they are of the good response
            "recording": None,
            "tags": {**sample.tags, "attack": attempt.name, "kind": _kind(attempt.name)},
        }
    )


def _summary(counts: Mapping[str, Mapping[str, Counter[str]]]) -> dict[str, Any]:
    """Sum up the counts by attack, and by kind."""
    attacks = {name: {"kind": _kind(name), **_numbers(counts[name])} for name in counts}
    by_kind: dict[str, Any] = {}
    for kind in dict.fromkeys(map(_kind, counts)):
        total: dict[str, Counter[str]] = {"alone": Counter(), "gates": Counter()}
        for name in counts:
            if _kind(name) == kind:
                for setting, counter in counts[name].items():
                    total[setting] += counter
        by_kind[kind] = _numbers(total)
    return {"kinds": by_kind, "attacks": attacks}


def _kind(name: str) -> str:
    return name if name == HONEST else kinds([name])[0]


def _numbers(counts: Mapping[str, Counter[str]]) -> dict[str, Any]:
    numbers = {}
    for setting, counter in counts.items():
        bounds = wilson(counter["passed"], counter["tried"])
        numbers[setting] = {
            "tried": counter["tried"],
            "passed": counter["passed"],
            "undecided": counter["undecided"],
            "rate": counter["passed"] / counter["tried"] if counter["tried"] else None,
            "interval": None if bounds is None else list(bounds),
        }
    return numbers


def document(result: Mapping[str, Any]) -> Document:
    """Lay out the pass rates by kind, and the attacks that pass the gates."""
    rows, bars = [], []
    for kind, numbers in result["kinds"].items():
        cells = [kind, f"{numbers['alone']['tried']:,}"]
        for setting, series in (("alone", "judge alone"), ("gates", "behind the gates")):
            measure = numbers[setting]
            cells.append(estimate(measure["rate"], measure["interval"]))
            counted = f"{measure['passed']:,} / {measure['tried']:,}"
            bars.append(Estimate(kind, measure["rate"], measure["interval"], counted, series))
        cells.append(f"{numbers['gates']['undecided']:,}")
        rows.append(cells)
    columns = ("kind", "tried", "passed alone, %", "behind the gates, %", "undecided")
    parts: list[Table | Chart] = [Table("Attacks that pass", columns, rows)]
    through = [
        (name, numbers["kind"], percent(numbers["gates"]["rate"], 0))
        for name, numbers in result["attacks"].items()
        if numbers["gates"]["passed"] and name != HONEST
    ]
    if through:
        parts.append(
            Table("Attacks that pass the gates", ("attack", "kind", "passed, %"), through, words=2)
        )
    order = ("judge alone", "behind the gates")
    parts.append(Chart("attacks", "Attacks that pass", estimates_chart(bars, order=order)))
    intro = (
        f"{amount(len(ATTACKS), 'attack')} on {result['judge']}, each on up to "
        f"{amount(result['samples'], 'instruction')}"
    )
    if result["left_out"]:
        intro += f"; {result['left_out']:,} left out, without an instruction or a checklist"
    return Document("Attacks", [intro], parts)
