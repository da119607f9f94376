"""The commands: the function of each, and its line in the overview.

A command's own help is the docstring of its function, whose file is imported only when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Command(NamedTuple):
    """A command: its function, as ``module:name`` in this package, and its help's first line."""

    target: str
    help: str


class Group(NamedTuple):
    """Commands that have a first word in common."""

    help: str
    commands: Mapping[str, Command | Group]


TRAIN_HELP = """Train a critic, or a checklist generator.

heedful critic train sft sft -m Qwen/Qwen3-4B-Instruct-2507 --evaluation heldout.jsonl -o critic-sft
heedful critic train dpo dpo -m critic-sft --evaluation heldout.jsonl -o critic
heedful evaluate samples.jsonl --judge checklist --model critic
"""

CRITIC_HELP = """Make data to train a critic on, as IF-Critic does, and train it.

heedful checklist selected.jsonl --model expert -o checklists.jsonl
heedful respond checklists.jsonl -m a -m b -m c --models-per-sample 2 -o responses.jsonl
heedful critic sample responses.jsonl --model expert -o critiques.jsonl
heedful critic filter critiques.jsonl --model expert --verifier b -o filtered.jsonl
heedful critic split filtered.jsonl -o parts
heedful critic train sft parts/sft.jsonl -m BASE -o critic-sft
heedful critic sample parts/preference.jsonl --model ./critic-sft --samples 10 -o sampled.jsonl
heedful critic pairs sampled.jsonl -o pairs.jsonl
heedful critic train dpo pairs.jsonl -m critic-sft -o critic

All of it, from one file:
heedful critic build critic.toml -o build
"""


def _commands(module: str, **lines: str) -> dict[str, Command | Group]:
    """Name commands that are called as their functions are."""
    return {name: Command(f"{module}:{name}", line) for name, line in lines.items()}


TRAIN = Group(
    TRAIN_HELP,
    _commands(
        "critic_train",
        sft="Fine-tune a model on critiques, or on checklists.",
        dpo="Train a critic to prefer one critique of a pair to the other (DPO).",
    ),
)

BUILD = _commands(
    "critic_train",
    build="Build a critic from a file: responses, verdicts, fine-tuning, preferences, test, card.",
)

CRITIC = _commands(
    "critic_data",
    sample="Sample several critiques of each response from an expert model.",
    filter="Filter sampled critiques into one critique of each response, to be learned from.",
    checklists="Write instructions and checklists to train a checklist generator on.",
    split="Split samples in two, for fine-tuning and for preferences, by instruction.",
    pairs="Make preference pairs of an expert's critiques and sampled ones.",
    export="Export critiques or pairs for a training tool, with a dataset card.",
)

CRITICBENCH = _commands(
    "criticbench",
    build="Build a benchmark: generators answer questions, code grades, triplets are selected.",
    run="Have critics judge a benchmark, and measure how often they are right.",
    report="Report on runs of critics over one benchmark, without a model.",
)

REALCRITIC = _commands(
    "realcritic",
    build="Build sets of solutions to criticise from a pool of models.",
    run="Have critics criticise and correct solutions, and grade the corrections.",
    report="Make the tables and charts of finished runs, without a call.",
    grade="Grade given solutions against gold answers, without a model.",
)

REWARD = _commands(
    "reward",
    pairs="Make preference pairs for DPO: the best and the worst response to each instruction.",
    best="Keep the best of the responses to each instruction.",
)

PANELS = {
    "Judge": (
        "align",
        "calibrate",
        "cascade",
        "choose",
        "compare",
        "evaluate",
        "init",
        "judge-accuracy",
        "rejudge",
        "report",
        "runs",
        "view",
    ),
    "Data": ("checklist", "export", "induce", "merge", "respond"),
    "Train": ("bench", "critic", "reward", "serve"),
}
"""The commands as the overview groups them; those that are in none come last."""

COMMANDS: Mapping[str, Command | Group] = {
    **_commands(
        "evaluate",
        evaluate="Judge responses against their checklists.",
        rejudge="Judge the samples of a finished run again, with another judge or another prompt.",
        respond="Obtain responses from a model, for samples that have none.",
        choose="Have a model choose the better of two responses, in both orders.",
    ),
    "checklist": Command(
        "checklist:checklist", "Make checklists: a model lists the constraints of each instruction."
    ),
    "align": Command(
        "align:align", "Choose how a judge is asked by people's labels, and prove it on others."
    ),
    "induce": Command(
        "align:induce",
        "Propose criteria that separate good responses from bad, and measure each on others.",
    ),
    "judge-accuracy": Command(
        "judge_accuracy:judge_accuracy", "Measure judges against known verdicts."
    ),
    **_commands(
        "calibrate",
        cascade="Choose from which confidence to trust a small judge before a large one.",
        calibrate="Estimate the rate that people would find, from a run and a few labels.",
    ),
    **_commands("compare", compare="Compare the same samples under several models or judges."),
    **_commands(
        "runs",
        report="Write a report on a finished run: a self-contained HTML page.",
        merge="Merge finished runs over parts of a data set, such as one for each file.",
        runs="List runs: the judge of each, its rates, coverage and cost.",
        view="View runs in a browser.",
        export="Write finished runs for other tools.",
    ),
    **_commands("reward", serve="Serve critiques and rewards over HTTP, for trainers."),
    **_commands(
        "setup",
        init="Create an example: three samples, and a commented heedful.toml.",
        completion="Print the script that completes commands and flags in a shell.",
    ),
    **_commands("config", trust="Trust this folder's heedful.toml: its addresses, keys, headers."),
    "critic": Group(CRITIC_HELP, {**BUILD, **CRITIC, "train": TRAIN}),
    "reward": Group("Rewards of judged responses: preference pairs, the best of n.", REWARD),
    "bench": Group(
        "Benchmarks of critics.",
        {
            "criticbench": Group(
                "CriticBench: how often critics judge rightly whether a response is correct.",
                CRITICBENCH,
            ),
            "realcritic": Group(
                "RealCritic: a critique is as good as the correction it leads to.", REALCRITIC
            ),
        },
    ),
}
