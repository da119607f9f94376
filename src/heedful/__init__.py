"""heedful: did the model do everything it was asked?

The names below are the public API. They are imported when they are first used, so that importing
the package costs next to nothing.
"""

from __future__ import annotations

from heedful.core.version import __version__

TYPE_CHECKING = False  # type checkers know the name; importing typing would cost 8 ms
if TYPE_CHECKING:
    from heedful.analysis.align import align
    from heedful.analysis.compare import compare
    from heedful.analysis.export import export
    from heedful.analysis.meta import judge_accuracy, judge_accuracy_async
    from heedful.core.errors import (
        HeedfulError,
        InputError,
        RowError,
        RunError,
        StopRunError,
        UsageError,
        VerifierError,
    )
    from heedful.core.nouns import (
        Check,
        Constraint,
        Critique,
        Judgment,
        Message,
        Recording,
        Sample,
        Status,
    )
    from heedful.engine.dry_run import Estimate, dry_run
    from heedful.engine.inputs import read
    from heedful.engine.job import Job
    from heedful.engine.options import RunOptions
    from heedful.integrations.testing import assert_follows
    from heedful.jobs.batch_judge import BatchJudge, judge_batch
    from heedful.jobs.checklists import checklist
    from heedful.jobs.evaluate import Evaluation, evaluate, evaluate_async
    from heedful.jobs.merge import merge
    from heedful.jobs.respond import respond
    from heedful.jobs.results import Scored
    from heedful.jobs.rows import Generated, Generation
    from heedful.jobs.saved_run import SavedRun
    from heedful.judges import Cascade, Judge, Recorded, Rules, make_judge
    from heedful.pages.report.report import report
    from heedful.rewards import Reward
    from heedful.verify import Finding, Response, verifier

_HOMES = {
    "heedful.integrations.testing": ("assert_follows",),
    "heedful.jobs.checklists": ("checklist",),
    "heedful.analysis.compare": ("compare",),
    "heedful.core.errors": (
        "HeedfulError",
        "InputError",
        "RowError",
        "RunError",
        "StopRunError",
        "UsageError",
        "VerifierError",
    ),
    "heedful.jobs.batch_judge": ("BatchJudge", "judge_batch"),
    "heedful.jobs.evaluate": ("Evaluation", "evaluate", "evaluate_async"),
    "heedful.jobs.results": ("Scored",),
    "heedful.jobs.merge": ("merge",),
    "heedful.analysis.export": ("export",),
    "heedful.pages.report.report": ("report",),
    "heedful.engine.dry_run": ("Estimate", "dry_run"),
    "heedful.engine.inputs": ("read",),
    "heedful.engine.job": ("Job",),
    "heedful.engine.options": ("RunOptions",),
    "heedful.jobs.saved_run": ("SavedRun",),
    "heedful.jobs.rows": ("Generated", "Generation"),
    "heedful.jobs.respond": ("respond",),
    "heedful.rewards": ("Reward",),
    "heedful.judges": ("Cascade", "Judge", "Recorded", "Rules", "make_judge"),
    "heedful.analysis.align": ("align",),
    "heedful.analysis.meta": ("judge_accuracy", "judge_accuracy_async"),
    "heedful.core.nouns": (
        "Check",
        "Constraint",
        "Critique",
        "Judgment",
        "Message",
        "Recording",
        "Sample",
        "Status",
    ),
    "heedful.verify": ("Finding", "Response", "verifier"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BatchJudge",
    "Cascade",
    "Check",
    "Constraint",
    "Critique",
    "Estimate",
    "Evaluation",
    "Finding",
    "Generated",
    "Generation",
    "HeedfulError",
    "InputError",
    "Job",
    "Judge",
    "Judgment",
    "Message",
    "Recorded",
    "Recording",
    "Response",
    "Reward",
    "RowError",
    "Rules",
    "RunError",
    "RunOptions",
    "Sample",
    "SavedRun",
    "Scored",
    "Status",
    "StopRunError",
    "UsageError",
    "VerifierError",
    "__version__",
    "align",
    "assert_follows",
    "checklist",
    "compare",
    "dry_run",
    "evaluate",
    "evaluate_async",
    "export",
    "judge_accuracy",
    "judge_accuracy_async",
    "judge_batch",
    "make_judge",
    "merge",
    "read",
    "report",
    "respond",
    "verifier",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOME:
        message = f"module 'heedful' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *_HOME})
