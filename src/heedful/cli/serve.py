"""``heedful serve``."""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from heedful.cli import judging
from heedful.cli.judging import JudgeFlags
from heedful.cli.logs import LogFlags
from heedful.cli.reward import RewardFlags
from heedful.cli.running import Quiet  # noqa: TC001 - cyclopts reads annotations at run time

if TYPE_CHECKING:
    from heedful.judges import Judge
    from heedful.rewards import Reward
    from heedful.rewards.server import Limits

CUT_SHORT = 1
"""Stopped before all that was accepted had been judged."""

CODE = "rules"

SERVED = ("rules", "compiled", "checklist", "likelihood")
"""The judges that make sense here: a request holds no recorded verdicts."""
"""The judge that goes first in any case."""

TOKEN = "HEEDFUL_TOKEN"  # noqa: S105 - the variable's name

RESPONSES_PER_CALL = 4
"""Responses judged at a time for each call in flight, as code and equal askings need none."""


@Parameter(name="*", group="The server")
@dataclass(frozen=True, kw_only=True)
class ServerFlags:
    """Where the server listens, and its limits.

    Attributes:
        host: The address to listen at; one that other machines reach needs a token.
        port: The port; 0 takes a free one.
        token: Required of clients; better in HEEDFUL_TOKEN, where no list of processes has it.
        deadline: Seconds after which a request is answered with what there is.
        grace: Seconds to answer accepted requests, once a signal stops the server.
        capacity: Samples accepted at a time; requests beyond are refused with 429.
        max_batch: Samples in one request.
        max_body: Mebibytes of one request.
        max_bodies: Mebibytes of all requests of which anything is being judged.
        cache: A directory that keeps the model's answers over restarts.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Parameter(name=["--port", "-p"])] = 8765
    token: str | None = None
    deadline: float = 150.0
    grace: float = 30.0
    capacity: int = 8192
    max_batch: int = 4096
    max_body: float = 32.0
    max_bodies: float = 256.0
    cache: Path | None = None

    def limits(self) -> Limits:
        """Return the limits."""
        from heedful.rewards.server import Limits

        return Limits(
            capacity=self.capacity,
            batch=self.max_batch,
            body=int(self.max_body * 2**20),
            bodies=int(self.max_bodies * 2**20),
            deadline=self.deadline,
            grace=self.grace,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServedJudgeFlags:
    """The judge, and the reward made of its verdicts.

    Attributes:
        judge: rules (code; goes first in any case), compiled (code, from the constraints' words),
            checklist (a model); with commas, in turn.
        ask_guards: The guards of --guards, and the judge is asked about what code finds nothing in.
        reasoning: strip: the answer after a response's reasoning is judged. keep: all of it.
    """

    judge: Annotated[str, Parameter(name=["--judge", "-j"])] = CODE
    ask_guards: Annotated[bool, Parameter(negative="")] = False
    reasoning: Literal["strip", "keep"] = "strip"


def serve(
    *,
    judging_flags: ServedJudgeFlags = ServedJudgeFlags(),
    prices: Path | None = None,
    quiet: Quiet = False,
    serving: ServerFlags = ServerFlags(),
    rewarding: RewardFlags = RewardFlags(),  # noqa: B008 - immutable
    model_flags: JudgeFlags = JudgeFlags(),  # noqa: B008 - immutable
    logs: LogFlags = LogFlags(),  # noqa: B008 - immutable
) -> int:
    """Serve critiques and rewards over HTTP until stopped.

    Args:
        judging_flags: Who judges what.
        prices: A JSON file with your own prices, for the metrics.
        quiet: Log no requests.
        serving: Where, and how much.
        rewarding: How verdicts become a reward.
        model_flags: The model and how it is called.
        logs: What is logged; by default a line for each request.
    """
    from heedful.models.pricing import read_prices
    from heedful.rewards import Reward, server

    limits = serving.limits()
    token = os.environ.get(TOKEN) if serving.token is None else serving.token
    guards: Literal["off", "code", "judge"] = "code" if rewarding.guards else "off"
    terms = rewarding.terms()
    reward = Reward(
        _judge(judging_flags.judge, model_flags),
        terms.aggregate,
        guards="judge" if judging_flags.ask_guards else guards,
        length=terms.length,
        undecided=terms.undecided,
        gates=terms.gates,
        reasoning=judging_flags.reasoning,
        concurrency=RESPONSES_PER_CALL * model_flags.max_concurrency,
        cache=serving.cache,
    )
    if not quiet and logs.log_level is None:
        logs = dataclasses.replace(logs, log_level="INFO")

    def announce(url: str) -> None:
        sys.stdout.write(_started(url, reward, limits, secured=token is not None))
        sys.stdout.flush()

    with logs.listening():
        whole = server.serve(
            reward,
            host=serving.host,
            port=serving.port,
            token=token,
            limits=limits,
            prices=None if prices is None else read_prices(prices),
            announce=announce,
        )
    return 0 if whole else CUT_SHORT


def _judge(names: str, model_flags: JudgeFlags) -> Judge | str:
    """Make what judges after code; its own name where code is all."""
    from heedful.judges import check_names

    check_names(names, SERVED)
    rest = [name for name in map(str.strip, names.split(",")) if name != CODE]
    if not rest and not model_flags.model:
        return CODE
    return judging.make(",".join(rest) or CODE, model_flags, scoring="strict", seed=0)


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
