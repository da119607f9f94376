"""``heedful calibrate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heedful.cli.flags import Output
from heedful.cli.running import Outcome, print_outcome
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from collections.abc import Mapping


def calibrate(
    run: Path,
    /,
    *,
    plan: float | None = None,
    draw: int | None = None,
    by: str | None = None,
    seed: int = 0,
    labels: Path | None = None,
    rate: Literal["csr", "isr", "score"] = "csr",
    output: Output = None,
) -> int:
    """Estimate the rate that people would find, from a run and a few labels.

    Plan how many rows to label, draw them at random, label them; PPI++ then gives
    the rate with an interval, whatever errors the judge makes.

    heedful calibrate runs/mine --plan 0.05
    heedful calibrate runs/mine --draw 60 -o to_label.jsonl
    heedful calibrate runs/mine --labels labelled.jsonl

    Args:
        run: The directory of a finished evaluation.
        plan: Say how many rows to label for an interval of this half-width (0.03: ± 3 points).
        draw: Draw so many rows at random into --output, to be labelled.
        by: With --draw: draw from each value of this tag in proportion; doubt: three times more
            from rows on which votes or judges disagree, for which rates are weighted.
        seed: Seed of the draw.
        labels: The drawn rows, labelled. With --draw: labels of an earlier draw, to be taken over.
        rate: csr: constraints met. isr: responses fully met. score: the weighted score of a rubric.
        output: Where drawn rows go (.jsonl), or the numbers (.json).
    """
    from heedful.analysis import calibration
    from heedful.core.outputs import refuse_inputs

    if output is not None:
        refuse_inputs(output, [run] if labels is None else [run, labels])
    if draw is not None:
        if plan is not None or output is None:
            raise UsageError("--draw needs --output, and no --plan")
        drawn = calibration.draw(run, output, labels=draw, by=by, seed=seed, labelled=labels)
        sys.stdout.write(f"{_drawn(drawn)}\n")
        return 0
    if by is not None:
        raise UsageError("--by goes with --draw: labels know how they were drawn")
    if plan is not None:
        planned = calibration.plan(run, half_width=plan)
        _write(planned, output)
        sys.stdout.write(f"{_planned(planned)}\n")
        return 0
    if labels is None:
        hint = "give --plan WIDTH, --draw N -o FILE, or --labels FILE"
        raise UsageError("nothing to do", hint=hint)
    from heedful.analysis.calibration import document

    result = calibration.calibrate(run, labels, rate=rate)
    _write(result, output)
    return print_outcome(Outcome(view=lambda: document(result).terminal(), written=[output]))


def _write(result: Mapping[str, Any], output: Path | None) -> None:
    from heedful.core.outputs import write_json

    if output is not None:
        write_json(output, json.loads(json.dumps(result)))


def _drawn(drawn: Mapping[str, Any]) -> str:
    text = f"{amount(drawn['drawn'], 'row')} of {drawn['of']:,} drawn into {drawn['file']}"
    return f"{text}: fill in labels, then heedful calibrate RUN --labels {drawn['file']}"


_MEANT = ", for the rate of all rows that these stand for (labels on all of them give their own)"


def _planned(planned: Mapping[str, Any]) -> str:
    wide = f"± {100 * planned['half_width']:g} points"
    if planned["labels"] is None:
        return f"{wide} aren't certain with the {planned['of']:,} rows of the run{_MEANT}"
    text = f"{wide}: label {amount(planned['labels'], 'row')} of {planned['of']:,}"
    if 2 * planned["labels"] > planned["of"]:
        text += _MEANT
    return f"{text}, or fewer where the judge is good: --labels FILE says how wide it is"
