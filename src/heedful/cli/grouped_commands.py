"""The commands that have a first word in common, and their help."""

from __future__ import annotations

from heedful.cli.command import Command, Group

CRITIC: dict[str, Command | Group] = {
    "select": Command(
        "heedful.cli.critic_select:select",
        """Choose instructions, as many of each category and complexity as can be.

The tags category and complexity say what a row is; a model says it where they
are missing.

heedful critic select prompts.jsonl --model gpt-4.1-mini --count 1000 -o selected.jsonl
""",
    ),
    "sample": Command(
        "heedful.cli.critic_sample:sample",
        """Sample several critiques of each response from an expert model.

INPUT has instructions, their checklists (heedful checklist makes them) and
responses (heedful respond obtains them). A trained critic is sampled the same
way: a final critique that a row has already stays.

heedful critic sample responses.jsonl --model expert -o critiques.jsonl
""",
    ),
    "filter": Command(
        "heedful.cli.critic_filter:filter",
        """Filter sampled critiques into one critique of each response, to be learned from.

Four stages: cross (other models verify each judgment), rules (code counts, the
expert revises), judgment (the majority, if it is large enough), explanation
(the one most like the others). With other settings the same command asks only
what is new. The run's directory gets dropped.jsonl, funnel.json and funnel.md.

heedful critic filter critiques.jsonl --model expert --verifier a --verifier b -o filtered.jsonl
""",
    ),
    "checklists": Command(
        "heedful.cli.critic_checklists:checklists",
        """Write instructions and checklists to train a checklist generator on.

Each instruction once, as prompt and completion; no model is called.

heedful critic checklists critiques.jsonl -o generator.jsonl
""",
    ),
    "split": Command(
        "heedful.cli.critic_split:split",
        """Split samples in two, for fine-tuning and for preferences, by instruction.

All samples of an instruction go into the same part.

heedful critic split critiques.jsonl -o parts
""",
    ),
    "pairs": Command(
        "heedful.cli.critic_pairs:pairs",
        """Make preference pairs of an expert's critiques and sampled ones.

A sampled critique is rejected; chosen is the same with each judgment that the
expert contradicts replaced by a sampled one that the expert shares.

heedful critic pairs dpo_data.json --similarity quick_ratio -o pairs.jsonl
""",
    ),
    "export": Command(
        "heedful.cli.critic_export:export",
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
        "heedful.cli.critic_audit:audit",
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
