"""``heedful judge-accuracy``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.analysis.meta.options import MetaOptions
from heedful.cli.files import check_document, write_document
from heedful.cli.flags import FlagGroup, Output, Scoring, takes
from heedful.cli.judging import JUDGING
from heedful.cli.running import ConsoleOptions, Outcome, TableOptions, carry_out
from heedful.cli.terminal import LogOptions
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.engine.options import RunOptions, taken
from heedful.judges.options import CHECKLIST, JudgeOptions
from heedful.models.options import CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.analysis.align.sweep import SweepArm
    from heedful.reporting.document import Document

Judges = Annotated[list[str] | None, Parameter(name=["--judge", "-j"], negative="")]
Runs = Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)]
Words = Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)]

RUNS_FOLDER = Path("heedful-runs")

MEASURING = FlagGroup("", (MetaOptions,), only=("by", "truth", "since", "folder", "retry_failed"))
LABELS = FlagGroup(
    "Data", (TableOptions, MetaOptions), only=("map", "format", "responses", "reasoning")
)
COST = FlagGroup("Run", (RunOptions,), only=("max_cost", "prices", "executor", "workers"))
CONSOLE = FlagGroup("Run", (LogOptions, ConsoleOptions))


@takes(MEASURING, LABELS, JUDGING, CONSOLE, COST)
def judge_accuracy(
    input: Path,
    /,
    *,
    judge: Judges = None,
    runs: Runs = None,
    scoring: Scoring = "strict",
    seed: int = 0,
    sweep: Words = None,
    margin: float = 1.0,
    output: Output = None,
    **options: Any,
) -> int:
    """Measure judges against known verdicts.

    F1 of met and of unmet, balanced accuracy, kappa, alpha, calibration, cost, and
    differences between judges. The labels are in the file, or a critique in it is
    taken for the truth.

    heedful judge-accuracy labelled.jsonl --judge checklist --model gpt-4.1-mini
    heedful judge-accuracy labelled.jsonl --sweep per_call=1,all votes=1,5 --model gpt-4.1-mini

    Args:
        input: The file with the labels: its labels, else its annotations, else its critiques.
        judge: As for evaluate; give it again for each further judge. Default: with --model
            checklist, else recorded (what the file holds beside its labels), but for runs.
        runs: Runs of evaluate on INPUT, whose verdicts are measured too.
        scoring: strict: undecided verdicts are left out. faithful: they are met, as IF-RewardBench
            takes them.
        seed: For the randomization tests.
        sweep: Try protocols, as per_call=1,3,all votes=1,5 explain=yes,no model=A,B, and choose by
            accuracy and cost; runs: only those of --runs.
        margin: How many points of accuracy the protocol that --sweep chooses may lose.
        output: Write the numbers to a .json file, or the tables to a .md or .html file.
    """
    read = [input, options.get("responses"), *(runs or ())]
    check_document(output, [path for path in read if path is not None])
    judging = taken(options, JudgeOptions)
    folder = options.setdefault("folder", RUNS_FOLDER)
    options |= {"seed": seed, "runs": runs or ()}
    options["concurrency"] = judging.get("max_concurrency", CONCURRENCY)
    function: Callable[..., dict[str, Any]]
    if sweep is None:
        from heedful.analysis.meta import judge_accuracy as measure_judges

        default = ["checklist"] if judging.get("model") else [] if runs else ["recorded"]
        names: list[Any] = [None] if "protocol" in judging else default
        judges = list(_judges(judge or names, scoring, seed, judging))
        function = partial(measure_judges, input, scoring=scoring, judge=judges)
    elif scoring != "strict":
        raise UsageError("--sweep has strict scoring only", hint="leave --scoring out")
    else:
        from heedful.analysis.align.sweep import sweep as sweep_protocols

        protocols = arms(sweep, judge, judging)
        function = partial(sweep_protocols, input, protocols, margin=margin / 100)

    def outcome(summary: dict[str, Any]) -> Outcome:
        write_document(output, summary, lambda: _document(summary))
        shown = _outcome(summary, _kept(summary, folder, judging) if sweep else "")
        return replace(shown, written=[*shown.written, output])

    models = judging.get("model", ())
    return carry_out(function, options, models=models, outcome=outcome)


def _judges(
    names: Sequence[str | None], scoring: Scoring, seed: int, options: dict[str, Any]
) -> Iterator[Any]:
    """Make the judges; beside one that calls a model, one without gets none."""
    from heedful.judges import make_judge

    calls = [name is None or CHECKLIST in name for name in names]
    for name, has_model in zip(names, calls, strict=True):
        none = any(calls) and not has_model
        own = options | {"model": []} if none else options
        yield make_judge(name, scoring=scoring, seed=seed, **own)


def _document(summary: dict[str, Any]) -> Document:
    if "protocols" in summary:
        from heedful.analysis.align.sweep import document
    else:
        from heedful.analysis.meta.tables import document
    return document(summary)


def _kept(summary: dict[str, Any], folder: Path, options: Mapping[str, Any]) -> str:
    """Keep the chosen protocol as a file, and say how it is used."""
    from heedful.judges.protocol import AskingProtocol

    chosen = next(each for each in summary["protocols"] if each["name"] == summary["chosen"])
    if not chosen["settings"]:
        return ""
    settings = {**options, **chosen["settings"]}
    path = folder / "protocol.json"
    AskingProtocol(settings.pop("judge", CHECKLIST), settings).save(path, {})
    return f"heedful evaluate FILE --protocol {path}"


def _outcome(summary: dict[str, Any], next_step: str) -> Outcome:
    judges = summary.get("protocols") or summary["judges"]
    undecided = [
        f"{each.get('judge', each['name'])}: no verdict was decided"
        for each in judges
        if not each["coverage"]
    ]
    return Outcome(
        view=lambda: _document(summary).terminal(),
        written=[*(each["run"] for each in judges)],
        problems=summary["problems"],
        hints=undecided,
        failures=_drifted(summary.get("since")),
        complete=not (undecided or summary["rows"]["failed"]),
        next_step=next_step,
    )


def _drifted(since: Mapping[str, Any] | None) -> list[str]:
    if since is None or since["shown"] != "loss":
        return []
    changed = amount(since["changed"], "verdict")
    return [
        f"the judge is worse than in {since['run']}: {changed} changed of {since['compared']:,}"
    ]


RUNS = "runs"
"""Sweeps nothing but the runs that are named."""

_NUMBERS = {"per_call": int, "votes": int, "reasks": int, "temperature": float}
_SWITCHES = ("explain", "measure")
_WORDS = {"yes": True, "no": False}


def arms(
    words: Sequence[str], judges: Sequence[str] | None, options: dict[str, Any]
) -> list[SweepArm]:
    """Make the protocols that the command line names."""
    from heedful.analysis.align.sweep import protocols

    if list(words) == [RUNS]:
        return []
    axes: dict[str, list[Any]] = {} if judges is None else {"judge": list(judges)}
    for word in words:
        name, equals, values = word.partition("=")
        if not equals:
            raise UsageError(
                f"--sweep {word!r} has no values",
                hint="write per_call=1,3,all votes=1,5, or runs for those of --runs alone",
            )
        key = name.strip().replace("-", "_")
        if key in axes:
            hint = f"write all of its values at once: {key}=A,B"
            raise UsageError(f"--sweep has {key} twice", hint=hint)
        axes[key] = [_value(key, each.strip()) for each in values.split(",") if each.strip()]
    return protocols(axes, **options)


def _value(name: str, word: str) -> Any:
    """Read a value of a setting."""
    if name in _SWITCHES:
        if word not in _WORDS:
            raise UsageError(f"--sweep {name}={word}", hint=f"write {name}=yes,no")
        return _WORDS[word]
    if name == "per_call" and word == "all":
        return None
    if name not in _NUMBERS:
        return word
    try:
        return _NUMBERS[name](word)
    except ValueError as error:
        raise UsageError(f"--sweep {name}={word} isn't a number") from error
