"""Saved runs: verdicts of their judges, and rates corrected for their judge's errors."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from heedful.analysis.meta.entries import collect
from heedful.analysis.meta.measures import by_instruction, coverage, recall_bounds
from heedful.analysis.meta.sums import open_bounds
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Status
from heedful.core.text import amount
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import scored_entry
from heedful.metrics.agreement import number
from heedful.metrics.clusters import cluster_of
from heedful.metrics.correction import Corrected, corrected_rate, rogan_gladen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from heedful.analysis.meta.entries import JudgeEntry
    from heedful.analysis.meta.labels import Labelled


def from_run(directory: Path, labelled: Labelled, *, explain: bool = False) -> list[JudgeEntry]:
    """Take in the verdicts of a saved run."""
    with SavedRun.open(directory, finished=False) as run:
        config = run.judge
        if labelled.recorded and _reads_labels(config):
            raise InputError(
                "the run's judge read the recorded verdicts, and they are the labels here",
                where=str(directory),
                hint="leave the run out; --judge recorded measures what lies beside the labels",
            )
        entries = collect(
            str(config["judge"]),
            run.rows(scored_entry),
            labelled,
            config,
            # A run that was interrupted has no summary to say what it cost.
            cost=run.summary.get("cost") if run.finished else None,
            explain=explain,
        )
    entries[0].run = str(directory)
    if not entries[0].verdicts:
        strangers = entries[0].strangers
        what = f"the checklist differs from that of the labels in {amount(strangers, 'row')}"
        raise InputError(
            what if strangers else "no row has the id of a labelled row",
            where=str(directory),
            hint="compare runs on the labelled file",
        )
    return entries


@dataclass(frozen=True, slots=True)
class Apparent:
    """The rate of a run on rows without labels, as judged.

    Attributes:
        directory: the run's.
        config: its judge's.
        counts: how many instructions have (met, decided) verdicts.
        constraints: verdicts, decided or not.
    """

    directory: Path
    config: Mapping[str, Any]
    counts: Mapping[tuple[float, float], int]
    constraints: int


def apparent_rate(directory: Path, judges: Sequence[str]) -> Apparent:
    """Read how many constraints of a run are met."""
    clusters: dict[bytes, tuple[int, int]] = {}
    constraints = 0
    with SavedRun.open(directory, finished=False) as run:
        config = run.judge
        if config["judge"] not in judges:
            raise UsageError(
                f"the run's judge is {config['judge']}, but {', '.join(judges)} is measured here",
                where=str(directory),
                hint="measure the judge that made the run",
            )
        for row in run.rows(scored_entry):
            if row.sample is not None and row.critique is not None:
                states = [judgment.status for judgment in row.critique.judgments]
                constraints += len(states)
                about = cluster_of(row.sample)
                met, decided = clusters.get(about, (0, 0))
                met += states.count(Status.MET)
                clusters[about] = met, decided + sum(status.decided for status in states)
    return Apparent(directory, config, Counter(clusters.values()), constraints)


def corrected(
    apparent: Apparent, entries: Sequence[JudgeEntry], labelled: Labelled
) -> dict[str, Any]:
    """Correct a run's rate of constraints met for the errors of its judge."""
    named = [entry for entry in entries if entry.judge == apparent.config["judge"]]
    same = [entry for entry in named if _alike(entry.config, apparent.config)]
    entry = (same or named)[0]
    decided = sum(pair[1] * count for pair, count in apparent.counts.items())
    met = sum(pair[0] * count for pair, count in apparent.counts.items())
    return {
        "run": str(apparent.directory),
        "judge": entry.name,
        "same_settings": bool(same),
        "constraints": apparent.constraints,
        "coverage": decided / apparent.constraints if apparent.constraints else 0.0,
        "coverage_of_labelled": coverage(entry, labelled),
        **_bounded(
            corrected_rate(apparent.counts, by_instruction(entry, labelled)),
            open_bounds(met, decided, apparent.constraints),
            recall_bounds(entry, labelled),
        ),
    }


def _bounded(
    rates: Corrected, apparent: list[float] | None, recalls: Sequence[list[float] | None]
) -> dict[str, Any]:
    """Add the bounds that undecided verdicts leave, here and on the labelled rows."""
    ends = [end for end in (apparent, *recalls) if end is not None]
    whole = None
    if len(ends) > len(recalls):
        corners = [number(rogan_gladen(*corner)) for corner in product(*ends)]
        known = [corner for corner in corners if corner is not None]
        # Where the judge may be no better than chance, any rate is possible.
        whole = [min(known), max(known)] if len(known) == len(corners) else [0.0, 1.0]
    return {
        "apparent": {**rates["apparent"], "bounds": apparent},
        "sensitivity": {**rates["sensitivity"], "bounds": recalls[0]},
        "specificity": {**rates["specificity"], "bounds": recalls[1]},
        "corrected": {**rates["corrected"], "bounds": whole},
    }


def _reads_labels(config: Mapping[str, Any]) -> bool:
    """Check whether a judge takes a file's recorded critique, as ``evaluate`` does, for its own."""
    if config.get("judge") == "recorded" and "critiques" not in config:
        return True
    return any(map(_reads_labels, config.get("judges", ())))


def _alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Check whether two configurations are the same once stored."""
    return json.dumps(dict(first), sort_keys=True) == json.dumps(dict(second), sort_keys=True)
