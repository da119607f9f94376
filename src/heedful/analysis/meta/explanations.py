"""Whose explanations are better? A model compares two judges' explanations, in both orders.

Only verdicts on which both judges agree are compared, so that it is the explanation that counts.
An explanation wins if it is preferred in both orders; a model that prefers a place rather than an
explanation shows in the inconsistent ones.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from heedful.analysis.meta.entries import Sums, open_bounds
from heedful.analysis.meta.labels import MET, UNMET
from heedful.core.log import logger
from heedful.core.nouns import Sample, Status
from heedful.core.outputs import write_json
from heedful.core.version import __version__
from heedful.engine.call_cache import attempt, attempts
from heedful.engine.cost import CostSummary
from heedful.engine.job import Job
from heedful.engine.options import SENDING
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.engine.runner import Item
from heedful.engine.saved_run import SUMMARY
from heedful.jobs.results import PROBLEMS_LISTED
from heedful.judges.prompts import Shown, comparing
from heedful.metrics.agreement_intervals import ratio_estimate
from heedful.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from heedful.analysis.meta.bench import Bench
    from heedful.analysis.meta.entries import JudgeEntry
    from heedful.analysis.meta.labels import Labelled
    from heedful.engine.runner import Progress
    from heedful.engine.store import Entry, Store
    from heedful.models.base import Model
    from heedful.models.pricing import Price

Pairing = dict[str, Any]
"""Fields of a pair: ``sample``, ``cluster``, ``constraint``, ``verdict``, ``explanations``."""

PURPOSE = Purpose("arbiter", tokens=EXPLAINED_TOKENS)

OUTCOMES = ("first", "second", "tie", "inconsistent", "undecided")


async def compare(
    entries: tuple[JudgeEntry, JudgeEntry],
    samples: Iterable[Sample],
    labelled: Labelled,
    arbiter: Model,
    bench: Bench,
) -> dict[str, Any]:
    """Compare two judges' explanations."""
    job = ComparisonJob(entries, _pairings(entries, samples, labelled), arbiter)
    options = bench.run_options()
    if options["executor"] in SENDING:
        options["executor"] = "local"
    return await job.run_async(
        run=None if bench.folder is None else bench.folder / job.name,
        **bench.limits(),
        **options,
    )


class ComparisonJob(Job[Pairing, dict[str, Any]]):
    """Have an arbiter compare pairs of explanations, each in both orders."""

    assumptions = f"{EXPLAINED_TOKENS} a comparison; reasoning comes on top"
    calls_per_row = 2

    def __init__(
        self,
        entries: tuple[JudgeEntry, JudgeEntry],
        pairings: Iterable[Pairing],
        arbiter: Model,
    ) -> None:
        """Take what is compared; see :func:`compare`."""
        self._pairings = list(pairings)
        self._arbiter = arbiter
        self._judges = [dict(entry.config) for entry in entries]
        self.about = {
            "first": entries[0].name,
            "second": entries[1].name,
            "arbiter": arbiter.name,
        }
        self.total = len(self._pairings)

    @property
    def config(self) -> Mapping[str, Any]:
        """All that the preferences depend on."""
        return {
            "command": "meta",
            "arbiter": dict(self._arbiter.config),
            "prompt": comparing.preference_version(),
            "judges": self._judges,
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        """The pairs: a retry of the judges changes them, and most answers still serve."""
        return {"pairings": _digest(self._pairings, 16)}

    @property
    def name(self) -> str:
        """A name for the run, after the judges that are compared, the arbiter and the prompt."""
        return f"explanations-{_digest(self.config, 4)}"

    def rows(self) -> Iterator[Item[Pairing]]:
        """Give the pairs."""
        for number, pairing in enumerate(self._pairings, start=1):
            yield Item(line=number, id=str(number), value=pairing)

    def encode(self, row: Pairing) -> str:
        """Write a pair as the store keeps it."""
        return json.dumps(row)

    async def work(self, row: Pairing) -> str:
        """Request both orders; a failed call fails the pair."""
        orders = (self._prefer(row, swapped=swapped) for swapped in (False, True))
        # Both come to an end, so that one answer is stored if the other call fails.
        replies = await asyncio.gather(*orders, return_exceptions=True)
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
        return json.dumps(replies)

    async def _prefer(self, pairing: Pairing, *, swapped: bool) -> str | None:
        """Request which is better: ``first`` or ``second`` as shown, ``neither``, or None."""
        first, second = pairing["explanations"][:: -1 if swapped else 1]
        messages = comparing.render_preference(
            Sample.model_validate(pairing["sample"]),
            pairing["constraint"],
            Status(pairing["verdict"]),
            first,
            second,
        )
        shown = Shown.in_prompt(messages)
        for number in attempts(0):
            completion = await attempt(number, self._arbiter, messages, Sampling(), PURPOSE, [])
            preferred = (
                None if completion.cut_off else comparing.parse_preference(completion.text, shown)
            )
            if preferred is not None:
                return preferred
        return None

    def is_unfinished(self, entry: Entry) -> bool:
        """Tell whether a pair failed or was left undecided."""
        return entry.failure is not None or None in _replies(entry)

    def begin(self, store: Store) -> None:
        """Record who is compared by whom, and drop the pairs of other verdicts."""
        pairings = self.settings["pairings"]
        if store.meta("pairings") not in (None, pairings):
            store.truncate(0)
        store.set_meta("pairings", pairings)
        store.set_meta("about", {"heedful": __version__, **self.about})
        logger.info(
            "requests to %s in %s", self._arbiter.name, store.directory or "a temporary run"
        )

    def about_dry_run(self) -> dict[str, Any]:
        """Name the arbiter."""
        return {"models": [self._arbiter.name]}

    def result(
        self, store: Store, progress: Progress, prices: Mapping[str, Price] | None
    ) -> dict[str, Any]:
        """Count the outcomes, and write the summary."""
        entries = list(store.entries())
        failures = [
            {"line": entry.line, "id": pairing["sample"]["id"], "problem": entry.failure}
            for pairing, entry in zip(self._pairings, entries, strict=True)
            if entry.failure is not None
        ]
        comparison = {
            **self.about,
            **_result(self._pairings, [_replies(entry) for entry in entries]),
            "rows": {"read": progress.read, "failed": len(failures)},
            "problems": failures[:PROBLEMS_LISTED],
            "run": None if store.directory is None else str(store.directory),
            "cost": CostSummary(store.usage_records(), prices).result(),
        }
        if store.directory is not None:
            write_json(store.directory / SUMMARY, {"heedful": __version__, **comparison})
        return comparison


def _pairings(
    entries: tuple[JudgeEntry, JudgeEntry], samples: Iterable[Sample], labelled: Labelled
) -> Iterator[Pairing]:
    """Pair the explanations of verdicts on which both judges agree."""
    for sample in samples:
        target = labelled.targets.get(sample.id)
        said = [entry.explanations.get(sample.id) for entry in entries]
        if target is None or said[0] is None or said[1] is None:
            continue
        states = zip(*(entry.verdicts[sample.id][0] for entry in entries), strict=True)
        for place, ((state, other), first, second) in enumerate(
            zip(states, said[0], said[1], strict=False)
        ):
            if state == other and state in (MET, UNMET) and first.strip() and second.strip():
                yield {
                    "sample": sample.model_dump(
                        mode="json", include={"id", "conversation", "response"}
                    ),
                    "cluster": target.cluster,
                    "constraint": sample.checklist[place].text,
                    "verdict": (Status.MET if state == MET else Status.UNMET).value,
                    "explanations": [first, second],
                }


def _replies(entry: Entry) -> list[str | None]:
    """Return what was preferred in either order; nothing in a pair that failed."""
    replies: list[str | None] = json.loads(entry.output or "[null, null]")
    return replies


def _outcome(as_given: str | None, swapped: str | None) -> str:
    if as_given is None or swapped is None:
        return "undecided"
    if as_given == swapped == "neither":
        return "tie"
    back = {"first": "second", "second": "first", "neither": "neither"}[swapped]
    return as_given if as_given == back else "inconsistent"


def _result(pairings: list[Pairing], replies: list[list[str | None]]) -> dict[str, Any]:
    outcomes = [_outcome(*reply) for reply in replies]
    counts = Counter(outcomes)
    sums = Sums(2)
    for pairing, outcome in zip(pairings, outcomes, strict=True):
        if outcome != "undecided":
            won = {"first": 1.0, "second": 0.0}.get(outcome, 0.5)
            sums.add(pairing["cluster"], (won, 1))
    shown = Counter(reply for pair in replies for reply in pair)
    decided = len(outcomes) - counts["undecided"]
    return {
        "pairs": len(outcomes),
        "coverage": decided / len(outcomes) if outcomes else 0.0,
        "outcomes": {outcome: counts[outcome] for outcome in OUTCOMES},
        "win_rate": {
            **ratio_estimate({(won, of): n for (won, of), n in sums.counted().items()}),
            "bounds": open_bounds(sums.total()[0], decided, len(outcomes)),
        },
        "shown_first_preferred": shown["first"],
        "shown_second_preferred": shown["second"],
    }


def _digest(value: object, size: int) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=size).hexdigest()
