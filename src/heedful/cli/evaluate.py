"""``heedful evaluate | rejudge | respond | choose``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.cli import judging, terminal
from heedful.cli.flags import MODEL, FlagGroup, Judge, Output, takes, the_model
from heedful.cli.judging import JUDGING, RESULTS, ResultOptions
from heedful.cli.running import DATA, RUN, ConsoleOptions, add_to_rows
from heedful.core.errors import UsageError
from heedful.engine.options import RunOptions
from heedful.jobs.options import RespondOptions
from heedful.judges.options import WITH_MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = Annotated[list[Path], Parameter(name=["--input", "-i"], negative="")]


@takes(RESULTS, DATA._replace(without=()), JUDGING, RUN)
def evaluate(
    input: FILE,
    *,
    judge: Judge = None,
    response: Annotated[list[str] | None, Parameter(negative="")] = None,
    **options: Any,
) -> int:
    """Judge responses against their checklists.

    Reads JSON lines, CSV, Parquet, Excel, benchmarks' files and tools' logs. Code
    decides what it can; with --model a model decides the rest.

    heedful evaluate mine.jsonl --model gpt-4.1-mini
    heedful evaluate input_data.jsonl --responses responses.jsonl

    Args:
        input: The file to judge; several, a folder, a 'PATTERN*' or - (standard input).
        judge: rules (code), compiled (code, from the constraints' words), recorded (in the file),
            checklist (a model), likelihood (a model's log-probabilities), or a plugin's; with
            commas, in turn. Default: rules,recorded,compiled; with a model
            rules,compiled,checklist.
        response: A column of responses; several: compare.
    """
    from heedful.cli.files import readable

    files = readable(input)
    if response:
        return judge_columns(files, response, judge, options)
    return judging.carry_out(files, judge, options)


@takes(RESULTS.but("responses"), JUDGING, RUN)
def rejudge(
    past: Annotated[Path, Parameter(name="RUN")],
    /,
    *,
    judge: Judge = None,
    **options: Any,
) -> int:
    """Judge the samples of a finished run again, with another judge or another prompt.

    RUN is the directory of the run. It holds its samples, so the input file is not
    needed; it stays as it is, and the verdicts go into a new run.

    heedful rejudge runs/mine --model gpt-4.1-mini --prompt cfbench

    Args:
        past: The directory of the run whose samples are judged; it stays as it is.
        judge: rules (code), compiled (code, from the constraints' words), recorded (in the file),
            checklist (a model); with commas, in turn. Default: rules,compiled,checklist.
    """
    from heedful.jobs.saved_run import SavedRun

    run = options.get("run")
    if run is not None and run.resolve() == past.resolve():
        raise UsageError(
            "the new run would be in the directory of the old one",
            where=str(run),
            hint="name another directory with --run",
        )
    judge = judge or (None if "protocol" in options else WITH_MODEL)
    return judging.carry_out(SavedRun.open(past), judge, options)


@takes(FlagGroup("", (RespondOptions,)), DATA, MODEL, RUN)
def respond(
    input: list[Path],
    /,
    *,
    output: Output = None,
    **options: Any,
) -> int:
    """Obtain responses from a model, for samples that have none.

    Reads what heedful evaluate reads, and writes heedful's own JSON lines, in the
    order of the input. Samples that have a response keep it.

    Several models answer each sample: a row for each, ID@MODEL.

    heedful respond prompts.jsonl --model gpt-4.1-mini -o responses.jsonl

    Args:
        input: The file with the samples; several, a folder or a 'PATTERN*'.
        output: Where the samples go with their responses: JSON lines. Only a dry run needs none.
    """
    from heedful.jobs.respond import respond as obtain

    names = options.pop("model", [])
    if not names:
        raise UsageError("no model is given", hint="name one with --model")
    return add_to_rows(partial(obtain, models=names), input, output, options, names)


@takes(DATA, MODEL, RUN)
def choose(
    input: list[Path],
    /,
    *,
    output: Output = None,
    **options: Any,
) -> int:
    """Have a model choose the better of two responses, in both orders.

    For pairs of which it is known which is better: rows with preferred_to, or the
    records of LLMBar. heedful judge-accuracy measures the choices: accuracy, and
    how often both orders give the same one.

    heedful choose pairs.jsonl --model gpt-4.1-mini -o choices.jsonl
    heedful judge-accuracy choices.jsonl

    Args:
        input: The file with the pairs, or several: rows with preferred_to, or LLMBar's.
        output: Where the choices go, for heedful judge-accuracy. Only a dry run needs none.
    """
    from heedful.jobs.choose import choose as have_chosen

    name = the_model(options)
    return add_to_rows(partial(have_chosen, model=name), input, output, options, [name])


def judge_columns(
    files: list[Path], columns: Sequence[str], judge: str | None, options: dict[str, Any]
) -> int:
    """Judge each column's responses in a run that is named by it, and compare the runs."""
    from heedful.data.formats.source import response_in

    if len(files) > 1:
        raise UsageError("--response goes with one file", hint="name one")
    if len({*columns}) < len(columns):
        raise UsageError("--response names a column twice", hint="name each once")
    several = len(columns) > 1
    folder = options.get("run") or (_folder(files[0], judge, options) if several else None)
    runs, codes = [], []
    for column in columns:
        mapping = response_in(files[0], column, options.get("format"))
        own = {**options, "format": mapping.name}
        if not options.get("quiet"):
            title = f"\n  {column}" if several else ""
            console = terminal.console()
            console.print("\n".join(filter(None, (title, mapping.said))), style="dim")
        if folder is not None:
            own["run"] = folder / column if several else folder
            runs.append(own["run"])
        if several and "output" in own:
            output = own["output"]
            own["output"] = output.with_name(f"{output.stem}-{column}{output.suffix}")
        codes.append(judging.carry_out(files, judge, own))
    if several and not options.get("dry_run"):
        _compare(runs, quiet=bool(options.get("quiet")))
    return max(codes)


def _compare(runs: Sequence[Path], *, quiet: bool) -> None:
    from heedful.analysis.compare import compare, tables

    if not quiet:
        terminal.console().print(tables.view(compare(*runs)))


def _folder(file: Path, judge: str | None, options: Mapping[str, Any]) -> Path:
    """Name the folder of the runs after all that tells it from others, so that they resume."""
    from heedful.core.files import digest
    from heedful.engine.inputs import unnamed

    how = {*RunOptions.__annotations__, *ConsoleOptions.__annotations__, "output"}
    how |= {*ResultOptions.__annotations__} - {"scoring", "seed"}
    chosen = {name: str(value) for name, value in options.items() if name not in how}
    return unnamed(file.name.partition(".")[0], digest(file), judge, chosen)
