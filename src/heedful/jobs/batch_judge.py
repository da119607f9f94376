"""Batches of rows judged one by one, for frameworks that hand them out: Ray Data, Daft, Spark."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import to_json

from heedful.core.errors import UsageError
from heedful.data.formats import native
from heedful.engine.options import refuse_unknown
from heedful.jobs.evaluate import evaluate
from heedful.jobs.options import EvaluationOptions
from heedful.judges.making import make_judge
from heedful.judges.options import JudgeOptions
from heedful.metrics import scores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from heedful.core.nouns import Scoring
    from heedful.jobs.results import Scored
    from heedful.judges.base import AnyJudge, Judge

_OF_WHOLE = ("run", "output", "responses", "replies", "executor", "workers", "limit", "sample")
"""Options that make sense for all rows together, not for a batch of them."""

_ADDED = ("csr", "isr", "judgments", "problem")


class BatchJudge:
    """A judge of batches of rows, which can be pickled and keeps nothing of them.

    Each row comes back as it was, with ``csr`` and ``isr`` (the share of its constraints that are
    met, and whether all are; ``None`` where that isn't decided), ``judgments``, and ``problem``:
    why there are none.

    >>> judge = BatchJudge()
    >>> rows = [{"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi, you!"}]
    >>> [(row["response"], row["csr"]) for row in judge(rows)]
    [('Hi, you!', 0.0)]

    A batch may also be a mapping of columns, as Ray Data's are. Columns have one type each:
    ``judgments`` is JSON text then, as in tables that heedful reads, and nothing is NaN or empty.

    >>> columns = {"checklist": [["No commas."]], "response": ["Hi!"]}
    >>> list(judge(columns))
    ['checklist', 'response', 'csr', 'isr', 'judgments', 'problem']

    Args:
        judge: as for :func:`heedful.evaluate`.
        scoring: likewise.
        seed: likewise.
        options: likewise, without those of a whole run: equal prompts are requested once within a
            batch, and ``max_cost`` holds for each.

    Raises:
        UsageError: the judge or an option is unknown.
    """

    def __init__(
        self,
        *,
        judge: AnyJudge | None = None,
        scoring: Scoring = "strict",
        seed: int = 0,
        **options: Unpack[EvaluationOptions],
    ) -> None:
        refuse_unknown(options, EvaluationOptions)
        for name in _OF_WHOLE:
            if name in options:
                raise UsageError(f"a batch has no {name!r}", hint="leave it out")
        self._who = judge
        self._scoring: Scoring = scoring
        self._seed = seed
        self._options = options
        self._made: Judge | None = None
        self._judge()  # so that what is wrong is said here, not in a worker

    def __getstate__(self) -> dict[str, Any]:
        """Be pickled without connections."""
        return self.__dict__ | {"_made": None}

    def __call__(self, batch: Any) -> Any:
        """Judge a batch: a sequence of rows, or a mapping of columns; the same comes back.

        Raises:
            UsageError: a row holds several responses.
        """
        if not isinstance(batch, Mapping):
            rows = list(batch)
            judged = self._rows(rows)
            return [{**row, **said} for row, said in zip(rows, judged, strict=True)]
        columns = {name: _plain(column) for name, column in batch.items()}
        names = list(columns)
        cells = zip(*columns.values(), strict=True)
        rows = [dict(zip(names, row, strict=True)) for row in cells]
        return {**batch, **_columns(self._rows(rows))}

    def _judge(self) -> Judge:
        if self._made is None:
            named = {key: value for key, value in self._options.items() if key in _JUDGING}
            options = cast("JudgeOptions", named)
            self._made = make_judge(self._who, scoring=self._scoring, seed=self._seed, **options)
        return self._made

    def _rows(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Judge rows; what is added to each."""
        if not rows:
            return []
        rest = {key: value for key, value in self._options.items() if key not in _JUDGING}
        options = cast("EvaluationOptions", rest)
        made = evaluate(
            [dict(row) for row in rows],
            judge=self._judge(),
            scoring=self._scoring,
            seed=self._seed,
            **options,
        )
        scored = list(made)
        if len(scored) != len(rows):
            what = "a row holds several responses"
            raise UsageError(what, hint="give each a row of its own, as `heedful.read` does")
        return [_added(row, self._scoring) for row in scored]


def judge_batch(
    rows: Any,
    *,
    judge: AnyJudge | None = None,
    scoring: Scoring = "strict",
    seed: int = 0,
    **options: Unpack[EvaluationOptions],
) -> Any:
    """Judge a batch of rows; see :class:`BatchJudge`, which makes its judge only once.

    Raises:
        UsageError: the judge or an option is unknown.
    """
    return BatchJudge(judge=judge, scoring=scoring, seed=seed, **options)(rows)


_JUDGING = JudgeOptions.__annotations__


def _added(row: Scored, scoring: Scoring) -> dict[str, Any]:
    """Lay out what a row gets."""
    if row.sample is None or row.critique is None:
        return {"csr": None, "isr": None, "judgments": [], "problem": row.problem}
    known = scores(row.sample, row.critique, scoring)
    judgments = native.judgments(row.sample, row.critique)
    rates = {"csr": known["csr"], "isr": known["isr"]}
    return {**rates, "judgments": judgments, "problem": row.problem}


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Lay out what rows get as columns, each of one type."""
    columns = {name: [row[name] for row in rows] for name in _ADDED}
    for name in ("csr", "isr"):
        columns[name] = [math.nan if rate is None else float(rate) for rate in columns[name]]
    columns["judgments"] = [to_json(judgments).decode() for judgments in columns["judgments"]]
    columns["problem"] = [problem or "" for problem in columns["problem"]]
    return columns


def _plain(value: Any) -> Any:
    """Take arrays apart."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
