"""CriticBench on generators and critics whose true accuracy is known.

    python benchmarks/criticbench_simulation.py --output docs/criticbench

Generators of four sizes answer sums of different difficulty, and are right with a probability that
depends on both; critics likewise. The whole of ``heedful bench criticbench`` runs on them: build,
run, report. Prints whether selection keeps what it claims and how far measured accuracies are from
the true ones; draws the report's charts; and compares self-consistency with self-check for checkers
from worse than chance to perfect. No model is called, and nothing outside the output is written.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import statistics
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.bench.criticbench.build import BuildPlan, build
from heedful.bench.criticbench.items import read_samples
from heedful.bench.criticbench.run import CriticsJob, Examination, self_consistency
from heedful.bench.criticbench.tables import charts, report
from heedful.judges.prompts.fence import unfence
from heedful.models import Completion, ScriptedModel, Usage
from heedful.reporting.chart import Chart
from heedful.reporting.plots import Axis, Line, Point, line_chart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heedful.bench.criticbench.items import Samples, Triplet
    from heedful.core.nouns import Message

SIZES = {"1B": 1.0, "4B": 4.0, "16B": 16.0, "64B": 64.0}
ABILITIES = {"1B": -1.0, "4B": -0.2, "16B": 0.6, "64B": 1.6}
QUESTIONS = 200
KEPT = 80
SAMPLES = 16
REPEATS = 4
CHECKERS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
THRESHOLDS = (1.0, 2.0)
CONVINCED = 0.6
"""How often a wrong answer is the question's most convincing one."""

_SUM = re.compile(r"What is (\d+) plus (\d+)\?")
_BOX = re.compile(r"\\boxed\{(\d+)\}")


class Scripted(ScriptedModel):
    """A scripted model with a name of its own."""

    def __init__(self, name: str, reply: Callable[[str, int], str]) -> None:
        """Write the script: from the prompt and the sample's number to the text."""

        def answer(messages: Sequence[Message], sample: int) -> Completion:
            text = reply(messages[-1].content, sample)
            usage = Usage(prompt_tokens=1, completion_tokens=1)
            return Completion(text=text, usage=usage, model=name)

        super().__init__(answer)
        self.name = name


def summed(text: str) -> int:
    """Return the sum that the last question of a text asks for."""
    first, second = _SUM.findall(text)[-1]
    return int(first) + int(second)


def difficulty(gold: int) -> float:
    """Say how hard a question is, about as the standard normal is distributed."""
    return random.Random(f"question {gold}").gauss(0, 1)


def sigmoid(value: float) -> float:
    """Turn ability less difficulty into a probability."""
    return 1 / (1 + math.exp(-value))


def generator(name: str, ability: float) -> Scripted:
    """Make a generator; half of its answers have one step more than the other half."""

    def reply(prompt: str, sample: int) -> str:
        gold = summed(prompt)
        chance = random.Random(f"{name} {gold} {sample}")
        right = chance.random() < sigmoid(1.5 * (ability - difficulty(gold)))
        off = 0 if right else 1 if chance.random() < CONVINCED else chance.randint(2, 9)
        steps = "I count on.\n" * chance.randint(1, 2)
        return f"{steps}The answer is \\boxed{{{gold + off}}}."

    return Scripted(name, reply)


def critic(name: str, accuracy: Callable[[int], float]) -> Scripted:
    """Make a critic, from its accuracy on a question by the question's answer."""

    def reply(prompt: str, sample: int) -> str:
        question, response = (fenced.text for fenced in unfence(prompt))
        gold = summed(question)
        right = _BOX.findall(response)[-1] == str(gold)
        chance = random.Random(f"{name} {gold} {response} {sample}").random()
        said = right == (chance < accuracy(gold))
        return f"I add the numbers.\nJudgment: {'correct' if said else 'incorrect'}"

    return Scripted(name, reply)


def skilled(name: str) -> Callable[[int], float]:
    """Return the accuracy of a critic by question: from chance on hard ones to all on easy ones."""
    ability = ABILITIES[name]
    return lambda gold: 0.5 + 0.5 * sigmoid(1.5 * (ability - difficulty(gold)))


def steady(accuracy: float) -> Callable[[int], float]:
    """Return the accuracy of a critic that is the same on all questions."""
    return lambda _: accuracy


def written(folder: Path) -> Path:
    """Write the questions as GSM8K has them."""
    path = folder / "sums.jsonl"
    rows = (
        {"question": f"What is {10 * number} plus 7?", "answer": f"#### {10 * number + 7}"}
        for number in range(1, QUESTIONS + 1)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def selection(folder: Path, plan: BuildPlan) -> None:
    """Build with each ranking, and say what it keeps."""
    print(f"{QUESTIONS} questions, {SAMPLES} answers from each of {len(SIZES)} generators")
    print("\nkept                triplets  correct  convincing  certainty  largest less smallest")
    for ranking, queries in (
        ("all", None),
        ("certain", KEPT),
        ("uncertain", KEPT),
        ("separating", KEPT),
    ):
        preferred = "separating" if queries is None else ranking
        made = build(plan, ranking=preferred, queries=queries, run=folder / "build")
        triplets, samples = made.triplets, read_samples(folder / "build")
        correct = sum(triplet.correct for triplet in triplets) / len(triplets)
        chosen = {triplet.query for triplet in triplets}
        sure = [
            sample.certainty
            for sample in samples
            if sample.query in chosen and sample.certainty is not None
        ]
        gap = gained(samples, chosen)
        print(
            f"{ranking + (f', {queries}' if queries else ''):18} {len(triplets):9,} "
            f"{correct:8.1%} {convinced(triplets, samples):11.1%} {statistics.fmean(sure):10.2f} "
            f"{gap:+12.1%}"
        )


def convinced(triplets: Sequence[Triplet], samples: Sequence[Samples]) -> float:
    """Return the share of wrong responses that end on their generator's most frequent error."""
    responses = {(sample.query, sample.generator): sample.responses for sample in samples}
    hits = []
    for triplet in triplets:
        if not triplet.correct and triplet.provenance:
            sampled = responses[triplet.query, triplet.generator]
            errors = Counter(each.answer for each in sampled if each.correct is False)
            hits.append(errors[triplet.provenance.answer] == max(errors.values()))
    return statistics.fmean(hits)


def gained(samples: Sequence[Samples], chosen: set[str]) -> float:
    """Return how much more often the largest generator is right than the smallest."""
    names = list(SIZES)
    rates = {
        name: statistics.fmean(
            sample.accuracy or 0.0
            for sample in samples
            if sample.generator == name and sample.query in chosen
        )
        for name in (names[0], names[-1])
    }
    return rates[names[-1]] - rates[names[0]]


def measured(folder: Path) -> dict[str, Any]:
    """Have critics of all sizes judge the benchmark; say how far they are from the truth."""
    critics = [critic(name, skilled(name)) for name in SIZES]
    examination = Examination(folder / "build", critics, repeats=REPEATS)
    found, _, _ = CriticsJob(examination).run(run=folder / "run")
    result = report([folder / "run"], sizes=SIZES)
    print("\ncritic   measured  95 % interval     spread  true")
    for name, one in result["critics"].items():
        golds = [
            summed(row.judged.triplet.question)
            for row in found
            if row.judged.critic == name and row.judged.triplet
        ]
        true = statistics.fmean(map(skilled(name), golds))
        low, high = one["accuracy"]["interval"]
        print(
            f"{name:6} {one['accuracy']['value']:10.1%}  {low:.1%} to {high:.1%} "
            f"{one['spread']:9.2%} {true:6.1%}"
        )
    return result


def checking(folder: Path, plan: BuildPlan) -> Chart:
    """Compare self-consistency with self-check, for checkers of known accuracy; draw it."""
    build(plan, run=folder / "one")
    critics = [critic(f"{accuracy}", steady(accuracy)) for accuracy in CHECKERS]
    examination = Examination(
        folder / "one", critics, repeats=1, checks="all", thresholds=THRESHOLDS
    )
    found, _, _ = CriticsJob(examination).run()
    rows = self_consistency(found, THRESHOLDS)
    print("\nchecker  certainty <      SC     SC²  change (95 % interval)   errors gone  critiques")
    for row in rows:
        low, high = row["interval"]
        print(
            f"{row['critic']:>7} {row['threshold']:12g} {row['plain']['value']:7.1%} "
            f"{row['checking']['value']:7.1%}  {row['difference']:+6.1%} "
            f"({low:+.1%} to {high:+.1%}) {row['error_reduction']:+11.1%} {row['critiques']:10,}"
        )
    plain = rows[0]["plain"]["value"]
    lines = [
        Line(
            f"SC², certainty < {threshold:g}",
            [
                Point(float(row["critic"]), row["checking"]["value"], *row["checking"]["interval"])
                for row in rows
                if row["threshold"] == threshold
            ],
        )
        for threshold in THRESHOLDS
    ]
    title = "Self-check helps where the checker is better than chance"
    x = Axis("true accuracy of the checker", percent=True)
    y = Axis("accuracy of the vote", percent=True, bounds=(0.0, 1.0))
    return Chart("checkers", title, line_chart(lines, x, y, level=(plain, "self-consistency")))


def main() -> None:
    """Simulate, print and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=Path, help="a folder for the charts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = written(folder)
        generators = [generator(size, ability) for size, ability in ABILITIES.items()]
        selection(folder, BuildPlan([path], generators, samples=SAMPLES))
        figures = list(charts(measured(folder)))
        plan = BuildPlan([path], [generator("4B", ABILITIES["4B"])], samples=SAMPLES)
        figures.append(checking(folder, plan))
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        for chart in figures:
            (arguments.output / f"{chart.name}.svg").write_bytes(chart.image("svg"))


if __name__ == "__main__":
    main()
