"""``heedful merge``."""

from __future__ import annotations

import json as as_json
import sys
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.judging import is_complete, too_little
from heedful.cli.running import INCOMPLETE, Outcome, Quiet, print_outcome


def merge(
    *runs: Annotated[Path, Parameter(name="RUN")],
    run: Path | None = None,
    prices: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Quiet = False,
) -> int:
    """Add up finished runs over parts of a data set.

    Args:
        runs: Directories of finished runs of one judge, in the order of their rows.
        run: A new directory for the whole run, with all rows. By default nothing is written.
        prices: A file, {"MODEL": {"prompt": 1, "completion": 2}}, in dollars per million tokens.
        json: Print the summary as JSON.
        quiet: Print nothing.
    """
    from heedful.jobs.evaluate_tables import view
    from heedful.jobs.merge import merge as merge_runs

    table = None
    if prices is not None:
        from heedful.models.pricing import read_prices

        table = read_prices(prices)
    summary = merge_runs(*runs, run=run, prices=table)
    failed, complete = summary["rows"]["failed"], is_complete(summary)
    if json:
        sys.stdout.write(as_json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
        return 0 if complete else INCOMPLETE
    results = run and run / "results.jsonl"
    outcome = Outcome(
        view=lambda: view(summary),
        written=[results, run and run / "summary.json"],
        problems=summary["problems"],
        failed=failed,
        names=results,
        complete=complete,
        hints=[*too_little(summary)],
    )
    return print_outcome(outcome, quiet=quiet)
