"""The commands: where each is, and its help.

The help stands here and not with the command, whose file is only imported when the command runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Command(NamedTuple):
    """A command: the function that does it, as ``module:name``, and its help."""

    target: str
    help: str


class Group(NamedTuple):
    """Commands that have a first word in common."""

    help: str
    commands: Mapping[str, Command | Group]


CRITIC: dict[str, Command | Group] = {
    "select": Command(
        "heedful.cli.critic_data:select",
        """Choose instructions, as many of each category and complexity as can be.

The tags category and complexity say what a row is; a model says it where they
are missing.

heedful critic select prompts.jsonl --model gpt-4.1-mini --count 1000 -o selected.jsonl
""",
    ),
    "sample": Command(
        "heedful.cli.critic_data:sample",
        """Sample several critiques of each response from an expert model.

INPUT has instructions, their checklists (heedful checklist makes them) and
responses (heedful respond obtains them). A trained critic is sampled the same
way: a final critique that a row has already stays.

heedful critic sample responses.jsonl --model expert -o critiques.jsonl
""",
    ),
    "filter": Command(
        "heedful.cli.critic_data:filter",
        """Filter sampled critiques into one critique of each response, to be learned from.

Four stages: cross (other models verify each judgment), rules (code counts, the
expert revises), judgment (the majority, if it is large enough), explanation
(the one most like the others). With other settings the same command asks only
what is new. The run's directory gets dropped.jsonl, funnel.json and funnel.md.

heedful critic filter critiques.jsonl --model expert --verifier a --verifier b -o filtered.jsonl
""",
    ),
    "checklists": Command(
        "heedful.cli.critic_data:checklists",
        """Write instructions and checklists to train a checklist generator on.

Each instruction once, as prompt and completion; no model is called.

heedful critic checklists critiques.jsonl -o generator.jsonl
""",
    ),
    "split": Command(
        "heedful.cli.critic_data:split",
        """Split samples in two, for fine-tuning and for preferences, by instruction.

All samples of an instruction go into the same part.

heedful critic split critiques.jsonl -o parts
""",
    ),
    "pairs": Command(
        "heedful.cli.critic_data:pairs",
        """Make preference pairs of an expert's critiques and sampled ones.

A sampled critique is rejected; chosen is the same with each judgment that the
expert contradicts replaced by a sampled one that the expert shares.

heedful critic pairs dpo_data.json --similarity quick_ratio -o pairs.jsonl
""",
    ),
    "export": Command(
        "heedful.cli.critic_data:export",
        """Export critiques or pairs for a training tool, with a dataset card.

heedful critic export pairs.jsonl --to trl -o dataset
""",
    ),
    "train": Group(
        """Train a critic, or a checklist generator.

heedful critic train sft sft -m Qwen/Qwen3-4B-Instruct-2507 --evaluation heldout.jsonl -o critic-sft
heedful critic train dpo dpo -m critic-sft --evaluation heldout.jsonl -o critic
heedful evaluate samples.jsonl --judge checklist --model critic
""",
        {
            "sft": Command(
                "heedful.cli.critic_train:sft",
                """Fine-tune a model on critiques, or on checklists.

DATA is an export (heedful critic export --to trl), filtered critiques, or the
output of heedful critic checklists. Re-run the same command to resume.
Several GPUs: accelerate launch -m heedful critic train sft …

heedful critic train sft sft -m Qwen/Qwen3-4B-Instruct-2507 --evaluation heldout.jsonl -o critic-sft
""",
            ),
            "dpo": Command(
                "heedful.cli.critic_train:dpo",
                """Train a critic to prefer one critique of a pair to the other (DPO).

DATA is an export (heedful critic export --to trl) or the output of heedful
critic pairs; the model is the fine-tuned critic, and the reference too.

heedful critic train dpo dpo -m critic-sft --evaluation heldout.jsonl -o critic
""",
            ),
        },
    ),
    "audit": Command(
        "heedful.cli.critic_data:audit",
        """Draw samples for a person to check, or read what was checked.

heedful critic audit critiques.jsonl --samples 70 -o audit.csv
heedful critic audit audit.csv --filled
""",
    ),
}

CRITICBENCH: dict[str, Command | Group] = {
    "build": Command(
        "heedful.cli.criticbench:build",
        """Build a benchmark: generators answer questions, code grades, triplets are selected.

heedful bench criticbench build gsm8k.jsonl -m small -m large --run bench
""",
    ),
    "run": Command(
        "heedful.cli.criticbench:run",
        """Have critics judge a benchmark, and say how often they are right.

heedful bench criticbench run bench -m small -m large --check own -o report
""",
    ),
    "report": Command(
        "heedful.cli.criticbench:report",
        """Put runs of critics over one benchmark together, without a model.

heedful bench criticbench report runs/a runs/b --size small=2 --size large=30 -o report
""",
    ),
}

REALCRITIC: dict[str, Command | Group] = {
    "build": Command(
        "heedful.cli.realcritic:build",
        """Build sets of solutions to criticise from a pool of models.

heedful bench realcritic build test.jsonl -m gpt-4o -m gpt-4.1-nano -o sets
""",
    ),
    "run": Command(
        "heedful.cli.realcritic:run",
        """Have critics criticise and correct solutions, and grade the corrections.

Direct answers, self-critique, cross-critique, and any number of rounds of each.
A run goes on where it stopped, and can be extended: nothing is requested twice.

heedful bench realcritic run gsm8k.jsonl math.jsonl --model gpt-4.1-mini
""",
    ),
    "report": Command(
        "heedful.cli.realcritic:report",
        """Make the tables and plots of finished runs, without a call.

heedful bench realcritic report runs/mine -o report
""",
    ),
    "grade": Command(
        "heedful.cli.bench:grade",
        """Grade given solutions against gold answers, without a model.

heedful bench realcritic grade gsm8k.jsonl math.jsonl -o graded.jsonl
""",
    ),
}

REWARD: dict[str, Command | Group] = {
    "pairs": Command(
        "heedful.cli.reward:pairs",
        """Make preference pairs for DPO: the best and the worst response to each instruction.

heedful respond prompts.jsonl --model policy --samples 8 -o responses.jsonl
heedful evaluate responses.jsonl --judge rules,checklist --model critic --run runs/k8
heedful reward pairs runs/k8 -o pairs.jsonl
heedful reward pairs runs/k8 --to sharegpt -o dataset
""",
    ),
    "best": Command(
        "heedful.cli.reward:best",
        """Keep the best of the responses to each instruction.

heedful reward best runs/k8 -o best.jsonl --aggregate all_or_nothing --guards
heedful reward best runs/k8 --to trl -o dataset
""",
    ),
    "stats": Command(
        "heedful.cli.reward:stats",
        """Describe a reward: its distribution, its signal, best of n, length, agreement.

heedful reward stats runs/k8 --other-aggregate all_or_nothing
""",
    ),
}


PANELS = {
    "Judge": (
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
    "Data": ("checklist", "checklist-lint", "export", "merge", "respond"),
    "Train": ("bench", "critic", "reward", "serve"),
}
"""The commands as the overview groups them; those that are in none come last."""

COMMANDS: Mapping[str, Command | Group] = {
    "evaluate": Command(
        "heedful.cli.evaluate:evaluate",
        """Judge responses against their checklists.

Reads JSON lines, CSV, Parquet and Excel, and the published files of IFEval,
Multi-IF, CFBench, AdvancedIF, IF-Critic and SysBench. Code decides what it
can; with --model a model decides the rest.

heedful evaluate mine.jsonl --model gpt-4.1-mini
heedful evaluate input_data.jsonl --responses responses.jsonl
""",
    ),
    "rejudge": Command(
        "heedful.cli.evaluate:rejudge",
        """Judge the samples of a finished run again, with another judge or another prompt.

RUN is the directory of the run. It holds its samples, so the input file is not
needed; it stays as it is, and the verdicts go into a new run.

heedful rejudge runs/mine --model gpt-4.1-mini --prompt cfbench
""",
    ),
    "respond": Command(
        "heedful.cli.evaluate:respond",
        """Obtain responses from a model, for samples that have none.

Reads what heedful evaluate reads, and writes heedful's own JSON lines, in the
order of the input. Samples that have a response keep it.

heedful respond prompts.jsonl --model gpt-4.1-mini -o responses.jsonl
""",
    ),
    "checklist": Command(
        "heedful.cli.checklist:checklist",
        """Make checklists: a model takes each instruction apart into its constraints.

Each constraint must stand word for word in the instruction, or it is asked for
again and then left out. Samples that have a checklist keep it.

heedful checklist prompts.jsonl --model gpt-4.1-mini -o checklists.jsonl
""",
    ),
    "checklist-lint": Command(
        "heedful.cli.checklist:lint",
        """Look for faults in checklists and rubrics, as a linter does in code.

Duplicates, contradictions, weights that make no sense and golden examples that
come out wrong are errors; what asks for two things, is vague, or could be
decided by code, and what of the instruction no constraint takes up, are hints.
No model is called. heedful checklist lint is the same command.

heedful checklist-lint rubrics.jsonl
""",
    ),
    "judge-accuracy": Command(
        "heedful.cli.judge_accuracy:judge_accuracy",
        """Measure judges against known verdicts.

F1 of met and of unmet, balanced accuracy, kappa, alpha, calibration, cost, and
differences between judges. The labels are in the file, or a critique in it is
taken for the truth.

heedful judge-accuracy labelled.jsonl --judge checklist --model gpt-4.1-mini
heedful judge-accuracy labelled.jsonl --sweep per_call=1,all votes=1,5 --model gpt-4.1-mini
""",
    ),
    "choose": Command(
        "heedful.cli.evaluate:choose",
        """Have a model choose the better of two responses, in both orders.

For pairs of which it is known which is better: rows with preferred_to, or the
records of LLMBar. heedful judge-accuracy measures the choices: accuracy, and
how often both orders give the same one.

heedful choose pairs.jsonl --model gpt-4.1-mini -o choices.jsonl
heedful judge-accuracy choices.jsonl
""",
    ),
    "cascade": Command(
        "heedful.cli.calibrate:cascade",
        """Find from which confidence a small judge may be trusted before a large one.

Two runs on the same rows are replayed under every threshold: what goes on to
the large judge, what that saves, and what it costs in accuracy. The threshold
is chosen on one half of the instructions and measured on the other.

heedful cascade runs/critic runs/large --margin 1
""",
    ),
    "calibrate": Command(
        "heedful.cli.calibrate:calibrate",
        """Estimate the rate that people would find, from a run and a few labels.

Plan how many rows to label, draw them at random, label them; PPI++ then gives
the rate with an interval, whatever errors the judge makes.

heedful calibrate runs/mine --plan 0.05
heedful calibrate runs/mine --draw 60 -o to_label.jsonl
heedful calibrate runs/mine --labels labelled.jsonl
""",
    ),
    "compare": Command(
        "heedful.cli.compare:compare",
        """Compare the same samples under several models or judges.

Paired differences with intervals and tests of every metric, wins and losses,
and the verdicts that differ. Nothing is judged, and no model is called.

heedful compare runs/gpt runs/haiku -o comparison.md
heedful compare runs/a runs/b runs/old --baseline runs/old
""",
    ),
    "report": Command(
        "heedful.cli.runs:report",
        """Write a report on finished runs: one page of HTML that needs nothing but itself.

Rates with intervals and coverage, breakdowns, charts, the hardest constraints,
what judges disagreed on or did not decide, cost, and how it all came about.
Nothing is judged, and no model is called.

heedful report runs/mine -o report.html
heedful report runs/gpt runs/haiku -o both.html
""",
    ),
    "merge": Command(
        "heedful.cli.runs:merge",
        """Add up finished runs over parts of a data set, such as one for each file.

Rates and intervals come from all rows. With --run the whole is written too, as
the run that judging all files together makes; otherwise nothing is. Nothing is
judged, and no model is called.

heedful merge runs/part-1 runs/part-2 --run runs/whole
""",
    ),
    "runs": Command(
        "heedful.cli.runs:runs",
        """List runs: the judge of each, its rates, coverage and cost.

heedful runs
heedful runs runs --sort "responses fully met"
""",
    ),
    "view": Command(
        "heedful.cli.runs:view",
        """Look at runs in a browser.

Samples by text, verdict, type, tag and judge; each with its explanations and
the judge's words; runs under way; audits; two runs side by side. It listens on
this machine only, and writes only audits, labels and saved filters.

heedful view runs --open
""",
    ),
    "export": Command(
        "heedful.cli.runs:export",
        """Write finished runs for other tools.

A .csv, .jsonl or .parquet file has the judgments, a row each; a .xml file is a
JUnit report; a .eval file is a log of Inspect AI with one run; a .md or .tex file
has the summary, as for a pull request or a paper.

heedful export runs/gpt runs/haiku -o judgments.csv
heedful export runs/gpt -o logs/gpt.eval
""",
    ),
    "serve": Command(
        "heedful.cli.serve:serve",
        """Serve critiques and rewards over HTTP, for trainers.

OpenAPI at /openapi.json, Prometheus at /metrics, OpenRLHF at /openrlhf. What
has a check is decided by code, whatever the judge.

heedful serve --judge rules,checklist --model critic --base-url http://127.0.0.1:8000/v1
""",
    ),
    "init": Command(
        "heedful.cli.setup:init",
        """Write an example to begin with: three samples, and a commented heedful.toml.

heedful init
""",
    ),
    "trust": Command(
        "heedful.cli.trust:trust",
        """Trust the heedful.toml of this folder: its addresses, key variables and headers.

A folder from somebody else could send your prompts and any key in your
environment anywhere. Read the file first. It needs trust again once one of
these flags in it changes.

heedful trust
""",
    ),
    "completion": Command(
        "heedful.cli.setup:completion",
        """Print the script that completes commands and flags in a shell.

heedful completion bash
""",
    ),
    "critic": Group(
        """Make data to train a critic on, as IF-Critic does, and train it.

heedful critic select prompts.jsonl --model sorter --count 1000 -o selected.jsonl
heedful checklist selected.jsonl --model expert -o checklists.jsonl
heedful respond checklists.jsonl -m a -m b -m c --models-per-sample 2 -o responses.jsonl
heedful critic sample responses.jsonl --model expert -o critiques.jsonl
heedful critic filter critiques.jsonl --model expert --verifier b -o filtered.jsonl
heedful critic split filtered.jsonl -o parts
heedful critic train sft parts/sft.jsonl -m BASE -o critic-sft
heedful critic sample parts/preference.jsonl --model ./critic-sft --samples 10 -o sampled.jsonl
heedful critic pairs sampled.jsonl -o pairs.jsonl
heedful critic train dpo pairs.jsonl -m critic-sft -o critic
""",
        CRITIC,
    ),
    "reward": Group(
        "Rewards of judged responses: preference pairs, the best of n, statistics.",
        REWARD,
    ),
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
