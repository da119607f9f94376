"""``heedful choose``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from heedful.cli.connection import MODEL, the_model
from heedful.cli.flags import Output, takes
from heedful.cli.rows import add_to_rows
from heedful.cli.running import DATA, RUN


@takes(DATA, MODEL, RUN)
def choose(
    input: list[Path],
    /,
    *,
    output: Output = None,
    **options: Any,
) -> int:
    """Have a model choose the better response of each labelled pair, in both orders.

    Args:
        input: The file with the pairs, or several: rows with preferred_to, or LLMBar's.
        output: Where the choices go, for heedful meta. Only a dry run needs none.
    """
    from heedful.jobs.choose import choose as have_chosen

    name = the_model(options)
    return add_to_rows(partial(have_chosen, model=name), input, output, options, [name])
