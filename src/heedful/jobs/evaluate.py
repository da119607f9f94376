"""The main job: judge every sample of a source, durably, and say how well the constraints were met.

``file → Format → Sample stream → Run(judge) → store → metrics → summary, results file``
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

from heedful.core.errors import UsageError
from heedful.core.log import logger
from heedful.core.nouns import Constraint, Sample
from heedful.core.outputs import write_json
from heedful.core.version import __version__
from heedful.data.formats import Source
from heedful.engine.inputs import OpenedData
from heedful.engine.job import Job
from heedful.engine.options import DataOptions, refuse_unknown, split_options
from heedful.engine.purpose import EXPLAINED_TOKENS, VERDICT_TOKENS
from heedful.engine.reader import SUMMARY, Reader
from heedful.engine.runner import Progress, finish
from heedful.engine.store import Store
from heedful.jobs.options import EvaluationOptions
from heedful.jobs.results import (
    Scored,
    StoredSample,
    check_output,
    check_run,
    is_undecided,
    record,
    scored,
    scored_entry,
    write_output,
    written,
)
from heedful.jobs.run_counts import RunCounts
from heedful.jobs.saved_run import SavedRun, VerdictTables
from heedful.judges.base import CODE
from heedful.judges.dependencies import judge_in_order
from heedful.judges.making import make_judge
from heedful.judges.options import JudgeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from heedful.core.nouns import Scoring
    from heedful.engine.inputs import Data
    from heedful.engine.options import ReadingOptions, RunOptions
    from heedful.engine.runner import Item
    from heedful.engine.store import Entry
    from heedful.judges.base import AnyJudge
    from heedful.models import Price

STORE_VERSION = 3
"""Raised when a run made by an older heedful can no longer be resumed."""


class Evaluation(VerdictTables):
    """A finished (or interrupted) evaluation, read from its store.

    It can be iterated, counted, indexed and sliced; each row is a
    :class:`~heedful.jobs.results.Scored`, whose ``verdicts`` name their constraints. A notebook
    shows the rates and the first rows.

    >>> from heedful import evaluate
    >>> rows = [{"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi, you!"}]
    >>> evaluation = evaluate(rows)
    >>> len(evaluation)
    1
    >>> verdict = evaluation[0].verdicts[0]
    >>> verdict.constraint, verdict.met, verdict.explanation
    ('No commas.', False, '1 comma, asked for at most 0')

    Attributes:
        directory: the run's directory; ``None`` where it is a temporary file.
        summary: as in ``summary.json``.
        progress: how many rows were done, and how many of them in an earlier session.
    """

    def __init__(self, store: Store, summary: dict[str, Any], progress: Progress) -> None:
        self._store = store
        self.directory = store.directory
        self.summary = summary
        self.progress = progress

    def __iter__(self) -> Iterator[Scored]:
        """Yield the rows in input order, in constant memory."""
        return scored(self._store)

    def __len__(self) -> int:
        """Count the rows, those that could not be read among them."""
        return self._store.count()

    def __bool__(self) -> bool:
        """Be true, also without rows: it is a result."""
        return True

    @overload
    def __getitem__(self, place: int) -> Scored: ...

    @overload
    def __getitem__(self, place: slice) -> list[Scored]: ...

    def __getitem__(self, place: int | slice) -> Scored | list[Scored]:
        """Return the row at a place from 0, or those of a slice."""
        if not isinstance(place, int | slice):
            raise UsageError(
                f"the place of a row is {place!r:.60}",
                hint="give a number from 0; by its id: next(row for row in evaluation if "
                "row.sample.id == …)",
            )
        places = range(len(self))[place]
        if isinstance(places, int):
            return scored_entry(self._store.entry(places))
        return [scored_entry(self._store.entry(each)) for each in places]

    def _numbers(self) -> dict[str, Any]:
        return self.summary

    def _scored(self) -> Iterator[Scored]:
        return iter(self)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of ``results.jsonl``, in input order, in constant memory."""
        scoring: Scoring = self.summary["scoring"]
        return (record(row, scoring) for row in self)

    def __getattr__(self, name: str) -> dict[str, Any]:
        """Return a rate by its printed name with underscores, or its paper's: ``isr``."""
        if name.startswith("_") or name == "summary":  # asked for before there is any
            raise AttributeError(name)
        rates = {re.sub(r"\W+", "_", key.casefold()): rate for key, rate in self.rates().items()}
        known = ", ".join(rates)
        for family in self.summary["metrics"].values():
            rates = {**family, **rates}
        if name not in rates:
            raise AttributeError(f"the evaluation has no {name!r}; its rates: {known}", name=name)
        return rates[name]

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Save a run that is in a temporary file as a directory, as ``run=`` would have.

        Raises:
            RunError: the directory holds a run.
        """
        folder = Path(directory)
        self._store.save(folder)
        write_json(folder / SUMMARY, self.summary)
        return folder

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled with all its rows."""
        state = self._store.snapshot(), self.summary, self.progress.done, self.progress.resumed
        return _restored, (self.directory, *state)

    def __repr__(self) -> str:
        """Sum it up in a sentence."""
        return f"<Evaluation: {self._sentence()}>"

    def _repr_html_(self) -> str:
        return self._html()


def _restored(
    directory: Path | None, snapshot: bytes | None, summary: dict[str, Any], done: int, resumed: int
) -> Evaluation:
    """Make an evaluation of what pickling wrote."""
    store = Store.restored(snapshot) if snapshot is not None else Reader(cast("Path", directory))
    return Evaluation(store, summary, Progress(done=done, resumed=resumed))


Run: TypeAlias = str | os.PathLike[str] | Evaluation | SavedRun
"""A finished run: its directory, or what is in Python."""


@contextmanager
def directories(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Give the directory of each run; those that have none are saved for as long as it takes."""
    with tempfile.TemporaryDirectory(prefix="heedful-") as folder:
        yield [
            _directory(run, Path(folder, f"evaluation {place}"))
            for place, run in enumerate(runs, 1)
        ]


def _directory(run: Run, place: Path) -> str:
    if isinstance(run, str | os.PathLike):
        return os.fspath(run)
    if not isinstance(run, Evaluation | SavedRun):
        hint = "give directories or evaluations, one by one"
        raise UsageError(f"a run is {type(run).__name__} {run!r:.40}", hint=hint)
    if run.directory is None:
        return os.fspath(run.save(place))
    return os.fspath(run.directory)


class EvaluationJob(Job[Sample, Evaluation]):
    """Judge every sample of a data set."""

    divisible = True
    assumptions = (
        f"{EXPLAINED_TOKENS} a constraint, {VERDICT_TOKENS} for a verdict alone; reasoning and "
        "repeated requests come on top"
    )

    def __init__(
        self,
        data: Data,
        *,
        judge: AnyJudge | None = None,
        scoring: Scoring = "strict",
        seed: int = 0,
        responses: str | os.PathLike[str] | None = None,
        output: str | os.PathLike[str] | None = None,
        replies: bool = False,
        **reading: Unpack[ReadingOptions],
    ) -> None:
        """Open the data; see :func:`evaluate`."""
        self.judge = make_judge(judge, scoring=scoring, seed=seed)
        self._scoring: Scoring = scoring
        self._seed = seed
        self._output = None if output is None else Path(output)
        self._replies = replies
        if reading.get("reasoning") is None:
            reading["reasoning"] = "keep" if scoring == "faithful" else "strip"
        self._data = OpenedData(data, reading, responses=responses, seed=seed)
        if isinstance(data, SavedRun):
            data.require("evaluate")
            self._data.files, self._data.format = [data.directory], data.format
            same = {
                "format": data.format.name if data.format else None,
                "task": data.config["task"],
            }
            self._data.config |= {"input": data.config["input"], **same}
            self._data.about |= {"input": data.about.get("input"), **same}
            self._data.about["rejudged"] = str(data.directory)
        self.stem = self._data.stem
        self.total = self._data.total()
        self.by_code = {*self.judge.name.split(",")} <= {*CODE, "recorded"}
        self.about = {"heedful": __version__, **self._data.about, "judge": self.judge.name}
        judging = {"scoring": scoring, "seed": seed, **self.judge.config}
        self._config = {"store": STORE_VERSION, **judging}
        self._requested = self._decided = 0

    def name_input(self) -> None:
        """Name rows in memory by their content, so that a run goes on with the same rows only."""
        self._data.name()

    @property
    def config(self) -> Mapping[str, Any]:
        """All that the verdicts depend on."""
        return {**self._data.config, **self._config}

    def rows(self) -> Iterator[Item[Sample]]:
        """Give the samples, and the rows that could not be read."""
        return self._data.items()

    def rows_where(self, wanted: Callable[[int], bool]) -> Iterator[Item[Sample]]:
        """Give the samples; those at other places may be empty."""
        return self._data.items(wanted)

    def encode(self, row: Sample) -> str:
        """Write a sample as the store keeps it."""
        return StoredSample.of(row)

    async def work(self, row: Sample) -> str:
        """Judge one sample; its critique."""
        try:
            critique = await judge_in_order(self.judge, row, scoring=self._scoring)
        except Exception:  # failed requests count too, postponed ones when they are answered
            self._requested += len(row.checklist)
            raise
        self._requested += len(row.checklist)
        self._decided += sum([judgment.status.settled for judgment in critique.judgments])
        return written(critique)

    @contextmanager
    def follow(
        self, store: Store, prices: Mapping[str, Price] | None
    ) -> Iterator[Callable[[Entry], None]]:
        """Count the rows as they finish, and write them into the results file."""
        replies = self._replies
        with RunCounts(store.directory, self._scoring, prices, replies=replies) as self._counts:
            yield self._counts.add

    def preload(self) -> None:
        """Have code judge something, with all that it needs."""
        if any(name in self.judge.name for name in CODE):
            asked = tuple(Constraint(text=text) for text in ("Write in English.", "No commas."))
            sample = Sample(id="", prompt="Go.", checklist=asked, response="It is a fine day.")
            code = make_judge("compiled")
            finish(judge_in_order(code, sample, scoring=self._scoring))

    def counted(self) -> bytes | None:
        """Set aside what is counted of a part."""
        return self._counts.set_aside()

    def add_counted(self, counted: bytes, directory: Path) -> None:
        """Add what was counted of a part."""
        self._counts.merge(counted, directory)

    def coverage(self) -> float | None:
        """Return the share of verdicts decided so far in this session."""
        return self._decided / self._requested if self._requested else None

    def is_unfinished(self, entry: Entry) -> bool:
        """Tell whether a row was judged and not decided in all."""
        return is_undecided(entry)

    def check(self, run: Path | None) -> None:
        """Refuse an output that cannot be written, or that would replace what is read."""
        if self._output is not None:
            inputs = self._data.files if run is None else [*self._data.files, run]
            check_output(self._output, self._data.format, inputs)
        check_run(run, self._data.files)

    def begin(self, store: Store) -> None:
        """Record how the numbers come about."""
        store.set_meta("about", self.about)
        logger.info("judging with %s in %s", self.judge.name, store.directory or "a temporary run")

    def about_dry_run(self) -> dict[str, Any]:
        """Name the judge."""
        return {"judge": self.judge.name}

    def result(
        self, store: Store, progress: Progress, prices: Mapping[str, Price] | None
    ) -> Evaluation:
        """Summarise, and write the results."""
        rows = self._data.rows
        if isinstance(rows, Source) and rows.exclude_failures:
            self.about["excluded"] = rows.excluded
        del prices
        summary = self._counts.finish(store, self._seed, self.about)
        if summary["problems"] and not summary["rows"]["read"]:
            logger.warning("no row can be read; the first: %s", summary["problems"][0]["problem"])
        if self._output is not None:
            write_output(store, self._output, self._data.format, self._scoring, self.judge)
        return Evaluation(store, summary, progress)


def evaluate(
    data: Data,
    *,
    judge: AnyJudge | None = None,
    scoring: Scoring = "strict",
    seed: int = 0,
    **options: Unpack[EvaluationOptions],
) -> Evaluation:
    """Judge every sample and summarise.

    >>> from heedful import Check, Constraint, Sample, evaluate
    >>> sample = Sample(
    ...     id="1",
    ...     checklist=(Constraint(text="No commas.", check=Check(id="punctuation:no_comma")),),
    ...     response="One, two.",
    ... )
    >>> evaluation = evaluate([sample])
    >>> evaluation.summary["verdicts"]["unmet"]
    1
    >>> next(iter(evaluation)).critique.judgments[0].explanation
    '1 comma, none allowed'

    Rows may be dicts, as in files:

    >>> row = {"prompt": "Greet me.", "checklist": ["At most 3 words."], "response": "Hi!"}
    >>> evaluate([row]).summary["verdicts"]["met"]
    1

    Args:
        data: a file in any format that heedful reads; a list of samples, or of dicts as in files;
            a ``DataFrame`` or ``Dataset``; or the samples of a finished run
            (:class:`~heedful.jobs.saved_run.SavedRun`).
        judge: ``rules``, ``compiled``, ``recorded``, ``checklist`` (a model), or several in order,
            separated by commas; a judge of your own, or a function ``(sample, constraint)`` that
            says whether it is met. By default ``rules,recorded,compiled``
            (``rules,recorded`` for faithful scoring), with a model ``rules,compiled,checklist``.
        scoring: ``strict``: what the numbers should mean; ``faithful``: what the published code
            computes.
        seed: for the random choices of faithful scoring.
        options: ``responses`` and ``output``, files; how the data is read
            (:class:`~heedful.engine.options.DataOptions`): ``format``, ``task``, ``limit``,
            ``sample``, …; the model that judges (:class:`~heedful.judges.options.JudgeOptions`):
            ``model``, ``base_url``, ``prompt``, ``votes``, …; and how the job is run
            (:class:`~heedful.engine.options.RunOptions`): ``run``, ``max_cost``, ….

    Returns:
        The evaluation: its summary, and its rows.

    Raises:
        InputError: the file is missing, empty or in no known format, or changed while it was read.
        RunError: the run's directory holds a run with another configuration.
        StopRunError: no call can succeed any more, or the next may cost more than is left; the
            same call goes on from there.
        UsageError: the judge or an option is unknown.
    """
    job, running = _opened(data, judge, options, scoring=scoring, seed=seed)
    return finish(job.run_async(**running))


async def evaluate_async(
    data: Data,
    *,
    judge: AnyJudge | None = None,
    scoring: Scoring = "strict",
    seed: int = 0,
    **options: Unpack[EvaluationOptions],
) -> Evaluation:
    """Do what :func:`evaluate` does, inside a running event loop."""
    job, running = _opened(data, judge, options, scoring=scoring, seed=seed)
    return await job.run_async(**running)


def default_run(
    data: Data,
    *,
    judge: AnyJudge | None = None,
    scoring: Scoring = "strict",
    seed: int = 0,
    **options: Unpack[EvaluationOptions],
) -> Path:
    """Return the run that ``heedful evaluate`` would make or resume with the same options."""
    return _opened(data, judge, options, scoring=scoring, seed=seed)[0].default_run()


def _opened(
    data: Data,
    judge: AnyJudge | None,
    options: EvaluationOptions,
    *,
    scoring: Scoring,
    seed: int,
) -> tuple[EvaluationJob, RunOptions]:
    """Make the job, and the options of its run."""
    refuse_unknown(options, EvaluationOptions)
    named = {name: value for name, value in options.items() if name in JudgeOptions.__annotations__}
    who = make_judge(judge, scoring=scoring, seed=seed, **cast("JudgeOptions", named))
    responses, output = options.pop("responses", None), options.pop("output", None)
    replies = options.pop("replies", False)
    rest = {name: value for name, value in options.items() if name not in named}
    reading, running = split_options(cast("DataOptions", rest))
    if "max_concurrency" in named:
        running.setdefault("concurrency", options["max_concurrency"])
    job = EvaluationJob(
        data,
        judge=who,
        scoring=scoring,
        seed=seed,
        responses=responses,
        output=output,
        replies=replies,
        **reading,
    )
    return job, running
