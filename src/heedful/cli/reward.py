"""``heedful reward``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from cyclopts import Parameter

from heedful.cli.flags import FlagGroup, Output, Quiet, RequiredOutput, takes
from heedful.cli.running import Outcome, print_outcome
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from heedful.rewards.terms import LengthPenalty, Terms


Aggregates = Literal["fraction", "all_or_nothing", "hybrid", "psr", "weighted", "gate"]

JUDGE_FIRST = "judge the responses first: heedful evaluate INPUT --run RUN, then name that run"

HINTS = {
    "pairs": "no instruction has two judged responses with different rewards",
    "best": f"no response has a reward; {JUDGE_FIRST}",
    "stats": f"no response has a reward; {JUDGE_FIRST}",
}
"""Hints where nothing came of a command, by the view."""

Layouts = Literal["trl", "parquet", "alpaca", "sharegpt", "openai"]


def gate_names(gates: str) -> str | list[str]:
    """Read a list of gates with commas; ``all`` and ``none`` stay words."""
    return gates if gates in ("all", "none") else [name.strip() for name in gates.split(",")]


class RewardOptions(TypedDict, total=False):
    """How verdicts become a reward.

    Attributes:
        aggregate: fraction of the constraints met; all_or_nothing; hybrid, the mean of the two;
            psr, CFBench's by priority; weighted by the field weight of the constraints; gate: the
            fraction met of what has no check, but 0 where code found anything unmet. Default:
            fraction.
        gates: The plain signs of gaming for which a response gets 0: all, none, or names, with
            commas: empty, near_empty, cut_off, too_long, repetition, echo, self_grading,
            addresses_judge, refusal, language, too_short. Default: all.
        guards: 0 for a response that grades itself or whose text breaks off, as code sees it; the
            gate cut_off goes by the model's finish reason.
        judge_empty: Judge empty and near-empty responses: turns these two gates off.
        undecided: The reward where verdicts are missing that it depends on; by default the response
            is left out.
        length_free: Characters that cost nothing; with --length-full a penalty for longer ones.
        length_full: Characters from which the penalty is whole; it grows in proportion between.
        length_penalty: The largest penalty. Default: 1.
    """

    aggregate: Aggregates
    gates: str
    guards: bool
    judge_empty: bool
    undecided: float
    length_free: int
    length_full: int
    length_penalty: float


REWARD = FlagGroup("The reward", (RewardOptions,))


def terms_of(options: dict[str, Any], aggregate: str | None = None) -> Terms:
    """Make the terms of a reward, with another aggregate where one is named."""
    from heedful.rewards.terms import terms

    return terms(
        aggregate or options.get("aggregate", "fraction"),
        "code" if "guards" in options else "off",
        _length(options),
        options.get("undecided"),
        judge_empty=options.get("judge_empty", False),
        gates=gate_names(options.get("gates", "all")),
    )


def _length(options: dict[str, Any]) -> LengthPenalty | None:
    from heedful.rewards.terms import LengthPenalty

    if "length_full" in options:
        most = options.get("length_penalty", 1.0)
        return LengthPenalty(options.get("length_free", 0), options["length_full"], most)
    if "length_free" in options:
        raise UsageError("--length-free is given without --length-full", hint="give both")
    return None


@takes(REWARD)
def pairs(
    judged: list[Path],
    /,
    *,
    output: RequiredOutput,
    to: Layouts | None = None,
    margin: float = 0.0,
    pairs: int = 1,
    ties: Literal["random", "length"] = "random",
    seed: int = 0,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Make preference pairs for DPO: the best and the worst response to each instruction.

    Args:
        judged: Directories of runs of heedful evaluate, or files with judgments.
        output: Where the pairs go: JSON lines of TRL's conversational format; with --to a folder.
        to: Write a data set with its card: trl (conversational JSON lines), parquet (the same
            columns, for Hugging Face datasets), alpaca or sharegpt (LLaMA-Factory), openai.
        margin: The least difference between the two rewards of a pair; they always differ.
        pairs: Pairs for an instruction at most; each response is in one of them at most.
        ties: Which of several responses with the same reward: any, or the two whose lengths differ
            least.
        seed: For random ties.
        quiet: Print no numbers.
    """
    from heedful.rewards.policy_pairs import make_pairs

    summary = make_pairs(
        judged,
        terms_of(options),
        output=output,
        margin=margin,
        pairs=pairs,
        ties=ties,
        seed=seed,
        to=to,
    )
    return _finish(summary, "pairs", output, done=summary["pairs"] > 0, quiet=quiet)


@takes(REWARD)
def best(
    judged: list[Path],
    /,
    *,
    output: RequiredOutput,
    to: Layouts | None = None,
    ties: Literal["random", "first", "shortest"] = "random",
    seed: int = 0,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Keep the best of the responses to each instruction.

    Args:
        judged: Directories of runs of heedful evaluate, or files with judgments.
        output: Where the samples go: JSON lines, with a field reward; with --to a folder.
        to: Write prompts and completions to fine-tune on, with a card: trl (conversational JSON
            lines), parquet (the same columns), alpaca or sharegpt (LLaMA-Factory), openai.
        ties: Which of several best ones: any, the first in the file, or the shortest.
        seed: For random ties.
        quiet: Print no numbers.
    """
    from heedful.rewards.policy_pairs import best as keep

    summary = keep(judged, terms_of(options), output=output, ties=ties, seed=seed, to=to)
    return _finish(summary, "best", output, done=summary["written"] > 0, quiet=quiet)


@takes(REWARD)
def stats(
    judged: list[Path],
    /,
    *,
    other: Annotated[list[Path] | None, Parameter(negative="")] = None,
    other_aggregate: Aggregates | None = None,
    output: Output = None,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Describe a reward: distribution, groups without signal, best of n, length, agreement.

    Args:
        judged: Directories of runs of heedful evaluate, or files with judgments.
        other: A second run or file on the same responses, whose reward is compared.
        other_aggregate: The second reward's aggregate; alone it compares two aggregates.
        output: Write the numbers here, as JSON.
        quiet: Print no numbers.
    """
    from heedful.core.outputs import write_json
    from heedful.jobs.results import check_folder
    from heedful.rewards.stats import statistics

    if output is not None:
        check_folder(output, [*judged, *(other or ())])
    second = None
    if other is not None or other_aggregate is not None:
        second = (other or judged, terms_of(options, other_aggregate))
    summary = statistics(judged, terms_of(options), other=second)
    if output is not None:
        write_json(output, summary)
    return _finish(summary, "stats", output, done=summary["mean"] is not None, quiet=quiet)


def _finish(
    summary: dict[str, Any], view: str, output: Path | None, *, done: bool, quiet: bool
) -> int:
    """Print a summary and name the rows that could not be used; return the exit code."""
    from heedful.rewards.stats import VIEWS

    return print_outcome(
        Outcome(
            view=lambda: VIEWS[view](summary).terminal(),
            written=(output,) if output is not None and (done or output.is_file()) else (),
            problems=summary["problems"],
            failed=summary["unread"],
            hints=() if done else (HINTS[view],),
            complete=done and not summary["unread"],
        ),
        quiet=quiet,
    )
