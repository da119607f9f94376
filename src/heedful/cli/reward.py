"""``heedful reward pairs | best`` and ``heedful serve``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from cyclopts import Parameter

from heedful.cli.flags import (
    FlagGroup,
    Quiet,
    Reasoning,
    RequiredOutput,
    Switch,
    takes,
)
from heedful.cli.judging import JUDGING
from heedful.cli.running import Outcome, print_outcome
from heedful.cli.terminal import LogOptions, logged
from heedful.core.errors import UsageError
from heedful.engine.options import taken
from heedful.judges.options import JudgeOptions
from heedful.models.options import CONCURRENCY
from heedful.rewards.policy_pairs import best as best_responses
from heedful.rewards.policy_pairs import make_pairs

if TYPE_CHECKING:
    from heedful.judges import Judge
    from heedful.rewards import Reward
    from heedful.rewards.server import Limits
    from heedful.rewards.terms import LengthPenalty, Terms


Aggregates = Literal["fraction", "all_or_nothing", "hybrid", "psr", "weighted", "gate"]

JUDGE_FIRST = "judge the responses first: heedful evaluate INPUT --run RUN, then name that run"

HINTS = {
    "pairs": "no instruction has two judged responses with different rewards",
    "best": f"no response has a reward; {JUDGE_FIRST}",
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
        gates: What code gives 0 for: all, none, or names, with commas: empty, cut_off, repetition,
            echo, refusal, language. Default: all.
        undecided: The reward where verdicts are missing that it depends on; by default the response
            is left out.
        length_free: Characters that cost nothing; with --length-full a penalty for longer ones.
        length_full: Characters from which the penalty is whole; it grows in proportion between.
        length_penalty: The largest penalty. Default: 1.
    """

    aggregate: Aggregates
    gates: str
    undecided: float
    length_free: int
    length_full: int
    length_penalty: float


REWARD = FlagGroup("The reward", (RewardOptions,))


def terms_of(options: dict[str, Any]) -> Terms:
    """Make the terms of a reward."""
    from heedful.rewards.terms import terms

    return terms(
        options.get("aggregate", "fraction"),
        _length(options),
        options.get("undecided"),
        gate_names(options.get("gates", "all")),
    )


def _length(options: dict[str, Any]) -> LengthPenalty | None:
    from heedful.rewards.terms import LengthPenalty

    if "length_full" in options:
        most = options.get("length_penalty", 1.0)
        return LengthPenalty(options.get("length_free", 0), options["length_full"], most)
    if "length_free" in options:
        raise UsageError("--length-free is given without --length-full", hint="give both")
    return None


@takes(FlagGroup("", (make_pairs,), {"output", "to"}), REWARD)
def pairs(
    judged: list[Path],
    /,
    *,
    output: RequiredOutput,
    to: Layouts | None = None,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Make preference pairs for DPO: the best and the worst response to each instruction.

    heedful respond prompts.jsonl --model policy --samples 8 -o responses.jsonl
    heedful evaluate responses.jsonl --judge rules,compiled,checklist --model critic --run runs/k8
    heedful reward pairs runs/k8 -o pairs.jsonl
    heedful reward pairs runs/k8 --to sharegpt -o dataset

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
    terms = terms_of(taken(options, RewardOptions))
    summary = make_pairs(judged, terms, output=output, to=to, **options)
    return _finish(summary, "pairs", output, done=summary["pairs"] > 0, quiet=quiet)


@takes(FlagGroup("", (best_responses,), {"output", "to"}), REWARD)
def best(
    judged: list[Path],
    /,
    *,
    output: RequiredOutput,
    to: Layouts | None = None,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Keep the best of the responses to each instruction.

    heedful reward best runs/k8 -o best.jsonl --aggregate all_or_nothing
    heedful reward best runs/k8 --to trl -o dataset

    Args:
        judged: Directories of runs of heedful evaluate, or files with judgments.
        output: Where the samples go: JSON lines, with a field reward; with --to a folder.
        to: Write prompts and completions to fine-tune on, with a card: trl (conversational JSON
            lines), parquet (the same columns), alpaca or sharegpt (LLaMA-Factory), openai.
        ties: Which of several best ones: any, the first in the file, or the shortest.
        seed: For random ties.
        quiet: Print no numbers.
    """
    terms = terms_of(taken(options, RewardOptions))
    summary = best_responses(judged, terms, output=output, to=to, **options)
    return _finish(summary, "best", output, done=summary["written"] > 0, quiet=quiet)


def _finish(
    summary: dict[str, Any], view: str, output: Path | None, *, done: bool, quiet: bool
) -> int:
    """Print a summary and name the rows that could not be used; return the exit code."""
    from heedful.rewards.policy_pairs import VIEWS

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


CUT_SHORT = 1
"""Stopped before all that was accepted had been judged."""

CODE = "rules"
"""The judge that goes first in any case."""

SERVED = ("rules", "compiled", "checklist", "likelihood")
"""The judges that make sense here: a request holds no recorded verdicts."""

TOKEN = "HEEDFUL_TOKEN"  # noqa: S105 - the variable's name

RESPONSES_PER_CALL = 4
"""Responses judged at a time for each call in flight, as code and equal askings need none."""


class ServerOptions(TypedDict, total=False):
    """Where the server listens, and its limits.

    Attributes:
        host: The address to listen at; one that other machines reach needs a token. Default:
            127.0.0.1.
        port: The port; 0 takes a free one. Default: 8765.
        token: Required of clients; better in HEEDFUL_TOKEN, where no list of processes has it.
        deadline: Seconds after which a request is answered with what there is. Default: 150.
        grace: Seconds to answer accepted requests, once a signal stops the server. Default: 30.
        capacity: Samples accepted at a time; requests beyond are refused with 429. Default: 8192.
        max_batch: Samples in one request. Default: 4096.
        max_body: Mebibytes of one request. Default: 32.
        max_bodies: Mebibytes of all requests of which anything is being judged. Default: 256.
        cache: A directory that keeps the model's answers over restarts.
        workers: Processes that serve on the port. They share the cache; calls in flight and calls
            and tokens a minute are divided evenly between them; --capacity, --max-bodies are each
            one's. Default: 1.
    """

    host: str
    port: int
    token: str
    deadline: float
    grace: float
    capacity: int
    max_batch: int
    max_body: float
    max_bodies: float
    cache: Path
    workers: int


LIMITS = {"max_batch": "batch", "max_body": "body", "max_bodies": "bodies"}
"""Flags with other names than their limits."""


@takes(FlagGroup("The server", (ServerOptions,)), REWARD, JUDGING, FlagGroup("Log", (LogOptions,)))
def serve(
    *,
    judge: Annotated[str | None, Parameter(name=["--judge", "-j"])] = None,
    guards: Switch = False,
    reasoning: Reasoning = "strip",
    prices: Path | None = None,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Serve critiques and rewards over HTTP, for trainers.

    Prometheus at /metrics, OpenRLHF at /openrlhf. What has a check is decided by
    code, whatever the judge.

    heedful serve --model critic --base-url http://127.0.0.1:8000/v1

    Args:
        judge: rules (code; goes first in any case), compiled (code, from the constraints' words),
            checklist (a model), in turn. Default: the first two, and with --model all three.
        guards: The judge also decides the criteria against gaming, in the same call.
        reasoning: strip: the answer after a response's reasoning is judged. keep: all of it.
        prices: A JSON file with your own prices, for the metrics.
        quiet: Log no requests.
    """
    from heedful.models.pricing import read_prices
    from heedful.rewards import Reward, server

    limits = _limits(options)
    token = options.get("token", os.environ.get(TOKEN))
    terms = terms_of(options)
    reward = Reward(
        _judge(judge, taken(options, JudgeOptions)),
        terms.aggregate,
        guards=guards,
        length=terms.length,
        undecided=terms.undecided,
        gates=terms.gates,
        reasoning=reasoning,
        concurrency=RESPONSES_PER_CALL * options.get("max_concurrency", CONCURRENCY),
        cache=options.get("cache"),
    )
    logs = taken(options, LogOptions)
    if not quiet:
        logs.setdefault("log_level", "INFO")

    def announce(url: str) -> None:
        sys.stdout.write(_started(url, reward, limits, secured=token is not None))
        sys.stdout.flush()

    with logged(**logs):
        whole = server.serve(
            reward,
            host=options.get("host", "127.0.0.1"),
            port=options.get("port", 8765),
            token=token,
            limits=limits,
            prices=None if prices is None else read_prices(prices),
            announce=announce,
        )
    return 0 if whole else CUT_SHORT


def _limits(options: dict[str, Any]) -> Limits:
    from heedful.rewards.server import Limits

    given = {LIMITS.get(name, name): value for name, value in options.items()}
    limits = {name: given[name] for name in Limits.__annotations__ if name in given}
    for name in {"body", "bodies"} & limits.keys():
        limits[name] = int(limits[name] * 2**20)
    return Limits(**limits)


def _judge(names: str | None, options: dict[str, Any]) -> Judge | str:
    """Make what judges after code; its own name where code is all."""
    from heedful.judges import check_names, make_judge

    names = names or f"{CODE},compiled" + (",checklist" if "model" in options else "")
    check_names(names, SERVED)
    rest = [name for name in map(str.strip, names.split(",")) if name != CODE]
    judge = ",".join(rest) or CODE
    if judge in {CODE, "compiled"} and "model" not in options:
        return judge
    return make_judge(judge, **options)


def _started(url: str, reward: Reward, limits: Limits, *, secured: bool) -> str:
    """Say what clients can expect."""
    from heedful.rewards import AGGREGATES

    names = CODE if reward.judge is None else f"{CODE},{reward.judge.name}"
    terms = reward.terms
    aggregate = next(name for name, each in AGGREGATES.items() if each is terms.aggregate)
    guards = "on" if reward.guards else "off"
    fallback = "null" if terms.undecided is None else f"{terms.undecided:g}"
    request = f"{limits.batch:,} and {limits.body / 2**20:g} MiB in a request"
    return (
        f"serving at {url}, {'with' if secured else 'without'} a token\n"
        f"judge {names}; reward {aggregate}, guards {guards}, undecided {fallback}\n"
        f"limits: {limits.capacity:,} samples at a time, {request}, {limits.deadline:g} s; "
        f"{limits.grace:g} s to stop\n"
    )
