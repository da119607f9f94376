"""``heedful cascade``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time

from heedful.cli.running import Outcome, Output, Quiet, print_outcome
from heedful.core.errors import UsageError


def cascade(
    small: Path,
    large: Path,
    /,
    *,
    truth: Path | None = None,
    margin: float = 1.0,
    output: Output = None,
    quiet: Quiet = False,
) -> int:
    """Find from which confidence a small judge may be trusted, without a call.

    Args:
        small: The directory of a run by the small judge.
        large: The directory of a run by the large one, on the same rows.
        truth: A run whose verdicts are the truth, such as one by code. Default: the rows' labels,
            or else the large judge's verdicts.
        margin: How many points of accuracy the cascade may lose.
        output: Write the numbers to a .json file.
        quiet: Print nothing.
    """
    from heedful.analysis.cascade import document, replay
    from heedful.data.formats.base import refuse_inputs, write_json

    if not 0 <= margin < 100:  # noqa: PLR2004 - points
        raise UsageError(f"--margin {margin:g}", hint="give points of accuracy, such as 1")
    if output is not None:
        refuse_inputs(output, [path for path in (small, large, truth) if path is not None])
    result = replay(small, large, truth=truth, margin=margin / 100)
    if output is not None:
        write_json(output, result)
    outcome = Outcome(view=lambda: document(result).terminal(), written=[output])
    return print_outcome(outcome, quiet=quiet)
