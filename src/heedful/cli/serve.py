"""``heedful serve``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from cyclopts import Parameter

from heedful.cli.flags import FlagGroup, Quiet, Reasoning, Switch, taken, takes
from heedful.cli.judging import JUDGING
from heedful.cli.logs import LogOptions, logged
from heedful.cli.reward import REWARD, terms_of
from heedful.judges.options import JudgeOptions
from heedful.models.options import CONCURRENCY

if TYPE_CHECKING:
    from heedful.judges import Judge
    from heedful.rewards import Reward
    from heedful.rewards.server import Limits

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


LIMITS = {"max_batch": "batch", "max_body": "body", "max_bodies": "bodies"}
"""Flags with other names than their limits."""


@takes(FlagGroup("The server", (ServerOptions,)), REWARD, JUDGING, FlagGroup("Log", (LogOptions,)))
def serve(
    *,
    judge: Annotated[str, Parameter(name=["--judge", "-j"])] = CODE,
    ask_guards: Switch = False,
    reasoning: Reasoning = "strip",
    prices: Path | None = None,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Serve critiques and rewards over HTTP until stopped.

    Args:
        judge: rules (code; goes first in any case), compiled (code, from the constraints' words),
            checklist (a model); with commas, in turn.
        ask_guards: The guards of --guards, and the judge is asked about what code finds nothing in.
        reasoning: strip: the answer after a response's reasoning is judged. keep: all of it.
        prices: A JSON file with your own prices, for the metrics.
        quiet: Log no requests.
    """
    from heedful.models.pricing import read_prices
    from heedful.rewards import Reward, server

    limits = _limits(options)
    token = options.get("token", os.environ.get(TOKEN))
    terms = terms_of(options)
    calls = options.get("max_concurrency", CONCURRENCY)
    reward = Reward(
        _judge(judge, taken(options, JudgeOptions)),
        terms.aggregate,
        guards="judge" if ask_guards else terms.guards,
        length=terms.length,
        undecided=terms.undecided,
        gates=terms.gates,
        reasoning=reasoning,
        concurrency=RESPONSES_PER_CALL * calls,
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


def _judge(names: str, options: dict[str, Any]) -> Judge | str:
    """Make what judges after code; its own name where code is all."""
    from heedful.judges import check_names, make_judge

    check_names(names, SERVED)
    rest = [name for name in map(str.strip, names.split(",")) if name != CODE]
    if not rest and "model" not in options:
        return CODE
    return make_judge(",".join(rest) or CODE, **options)


def _started(url: str, reward: Reward, limits: Limits, *, secured: bool) -> str:
    """Say what clients can expect."""
    from heedful.rewards import AGGREGATES

    names = CODE if reward.judge is None else f"{CODE},{reward.judge.name}"
    terms = reward.terms
    aggregate = next(name for name, each in AGGREGATES.items() if each is terms.aggregate)
    fallback = "null" if terms.undecided is None else f"{terms.undecided:g}"
    request = f"{limits.batch:,} and {limits.body / 2**20:g} MiB in a request"
    return (
        f"serving at {url}, {'with' if secured else 'without'} a token\n"
        f"judge {names}; reward {aggregate}, guards {terms.guards}, undecided {fallback}\n"
        f"limits: {limits.capacity:,} samples at a time, {request}, {limits.deadline:g} s; "
        f"{limits.grace:g} s to stop\n"
    )
