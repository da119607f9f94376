"""The process that compares answers: one JSON request a line in, one JSON verdict a line out.

Started by :mod:`heedful.bench.grading.math_pool` as
``python -m heedful.bench.grading.math_worker``.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict

READY = "ready"

MEMORY_BYTES = 4 << 30
"""Memory of one comparison; more is an error of that comparison, not of the machine."""


def main() -> None:
    """Answer requests until the input ends."""
    _limit_memory()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    logging.disable(logging.CRITICAL)  # the libraries warn about what the pool takes care of
    import math_verify  # noqa: F401 - so that no request pays for the import
    from latex2sympy2_extended import latex2sympy

    from heedful.bench.grading.equality import EqualityResult, compare

    latex2sympy("x+1")  # builds the parser's tables
    replies = sys.stdout
    sys.stdout = sys.stderr  # what a library prints isn't a reply
    print(READY, file=replies, flush=True)
    for line in sys.stdin:
        gold, answer = json.loads(line)
        try:
            result = compare(gold, answer)
        except MemoryError:
            result = EqualityResult(None, "symbolic", "comparing it takes too much memory")
        except Exception as error:  # noqa: BLE001 - one pair's defect must not end the worker
            result = EqualityResult(None, "symbolic", f"comparing it fails: {type(error).__name__}")
        print(json.dumps(asdict(result)), file=replies, flush=True)


def _end_with_parent(parent: int) -> None:
    """Leave when the pool was killed: a comparison that never ends would not see its input end."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    with suppress(ValueError, OSError):  # macOS refuses to lower it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


if __name__ == "__main__":
    main()
