"""The sums over a run: its summary and its results file, made as rows finish or from the store."""

from __future__ import annotations

import pickle
import shutil
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from heedful.core.closing import Closing
from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.core.outputs import replacing, write_json
from heedful.core.reasoning import has_no_answer, separate
from heedful.core.text import amount
from heedful.engine.cost import CostSummary
from heedful.engine.reader import SUMMARY
from heedful.jobs.results import (
    PROBLEMS_LISTED,
    RESULTS,
    line,
    scored_entry,
    with_reply,
)
from heedful.judges.base import CODE
from heedful.judges.dependencies import DEPENDENCY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import TextIOWrapper
    from pathlib import Path

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.engine.store import Entry, Store
    from heedful.jobs.results import Scored
    from heedful.models import Price

REASONS_LISTED = 20
REASONS_KEPT = 1000
OTHER = "other reasons"

PART = f"{RESULTS}.part"
"""The results file while it is written; what a killed session left is written over."""


BUFFER = 1 << 18
"""Bytes of results that are written together: a write for each row takes four times as long."""

TOGETHER = 32
"""Rows that are counted together."""


class RunCounts(Closing):
    """Counts a run's rows and writes them into the results file, in input order.

    What it comes to depends on the store alone: rows that are counted as they finish and rows that
    are read back give the same summary and the same file.
    """

    def __init__(
        self,
        directory: Path | None,
        scoring: Scoring,
        prices: Mapping[str, Price] | None = None,
        *,
        replies: bool = False,
    ) -> None:
        """Begin before the first row."""
        from heedful.metrics import Summary

        self._replies = replies

        self._directory = directory
        self._scoring = scoring
        self._summary = Summary(scoring=scoring)
        self._problems: list[dict[str, Any]] = []
        self._reasons: Counter[tuple[str, bool]] = Counter()
        self._waiting: list[Entry] = []
        self._needs_model = 0
        self._contradicted = 0
        self._reasoning: Counter[str] = Counter()
        self._proposals: dict[str, bool] = {}
        self._deciders = Deciders()
        self._account = CostSummary(prices=prices)
        self._file: TextIOWrapper | None = None
        if directory is not None:
            with _writing(directory):
                self._file = (directory / PART).open("w", BUFFER, encoding="utf-8", newline="\n")

    def close(self) -> None:
        """Drop the results file unless it is complete."""
        if self._file is not None and self._directory is not None:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                (self._directory / PART).unlink()

    def add(self, entry: Entry) -> None:
        """Count the next row, together with others: one by one takes a third more time."""
        self._waiting.append(entry)
        if len(self._waiting) >= TOGETHER:
            self._add_waiting()

    def set_aside(self) -> bytes | None:
        """Leave the counts of a part to :meth:`merge`, its lines in its directory.

        ``None`` where counts can't be added up.
        """
        self._add_waiting()
        if self._file is None or self._directory is None or not self._summary.mergeable:
            return None
        self._file.close()
        (self._directory / PART).rename(self._directory / RESULTS)
        self._file = None
        return pickle.dumps(self)

    def merge(self, pickled: bytes, directory: Path) -> None:
        """Add what was set aside of a part that comes next."""
        self._add_waiting()
        other: RunCounts = pickle.loads(pickled)  # noqa: S301 - of our own worker
        self._summary.merge(other._summary)
        self._problems = [*self._problems, *other._problems][:PROBLEMS_LISTED]
        for key, count in other._reasons.items():
            self._reasons[self._kept(key)] += count
        self._needs_model += other._needs_model
        self._contradicted += other._contradicted
        self._reasoning.update(other._reasoning)
        self._add_proposals(other._proposals)
        self._deciders.merge(other._deciders)
        self._account.merge(other._account)
        if self._file is not None:
            self._file.flush()
            with (directory / RESULTS).open("rb") as lines:
                shutil.copyfileobj(lines, self._file.buffer, BUFFER)

    def _kept(self, key: tuple[str, bool]) -> tuple[str, bool]:
        """Return a reason, or others where there are too many."""
        known = key in self._reasons or len(self._reasons) < REASONS_KEPT
        return key if known else (OTHER, key[1])

    def _add_waiting(self) -> None:
        """Count the rows that wait, each step for all of them."""
        entries, self._waiting = self._waiting, []
        rows = list(map(scored_entry, entries))
        scores = list(map(self._count, rows))
        if self._file is None or self._directory is None:
            return
        lines = []
        for entry, row, said in zip(entries, rows, scores, strict=True):
            text = line(row, self._scoring, said, entry)
            lines.append(with_reply(text, row) if self._replies else text)
        try:
            self._file.write("".join(lines))
        except OSError as error:
            raise _unwritable(self._directory, error) from error

    def _count(self, row: Scored) -> Mapping[str, float | None] | None:
        """Count one row; return its scores."""
        if row.problem is not None and len(self._problems) < PROBLEMS_LISTED:
            self._problems.append({"line": row.line, "id": row.id, "problem": row.problem})
        if row.sample is None or row.critique is None:
            self._summary.fail()
            return None
        scores = self._summary.add(row.sample, row.critique)
        self._count_reasons(row.sample, row.critique)
        self._count_reasoning(row.sample)
        self._add_proposals(row.critique.proposals)
        self._deciders.add(row.critique)
        self._account.add(row.critique.expenses)
        return scores

    def _add_proposals(self, proposals: Mapping[str, bool]) -> None:
        """Count each text once; it compiled if it did in any part of the run."""
        for text, compiled in proposals.items():
            self._proposals[text] = compiled or self._proposals.get(text, False)

    def _count_reasoning(self, sample: Sample) -> None:
        """Count the responses whose reasoning was removed, or judged as a part of them."""
        if sample.reasoning is not None:
            self._reasoning["removed"] += 1
            self._reasoning["no_answer"] += has_no_answer(sample)
        elif separate(sample.response or "")[1] is not None:
            self._reasoning["kept"] += 1

    def _count_reasons(self, sample: Sample, critique: Critique) -> None:
        """Count why verdicts were not reached, and those that their own explanations contradict."""
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=True):
            if judgment.status.settled:
                self._contradicted += bool((judgment.model_extra or {}).get("contradiction"))
                continue
            # A model that was asked says itself why it did not decide.
            code = judgment.judge.partition(":")[0] in ("", "recorded", *CODE)
            needs = judgment.status is Status.UNSUPPORTED and constraint.check is None and code
            self._needs_model += needs
            self._reasons[self._kept((judgment.explanation, needs))] += 1

    def finish(self, store: Store, seed: int, about: Mapping[str, Any]) -> dict[str, Any]:
        """Sum up, and put the results and the summary in their places."""
        self._add_waiting()
        result = {
            **about,
            "scoring": self._scoring,
            "seed": seed,
            **self._summary.result(),
            "problems": self._problems,
        }
        result["undecided"] = [
            {"reason": reason, "verdicts": count, "needs_model": needs}
            for (reason, needs), count in self._reasons.most_common(REASONS_LISTED)
        ]
        result["needs_model"] = self._needs_model
        if self._contradicted:
            result["contradicted"] = self._contradicted
            said = f"{amount(self._contradicted, 'verdict')} contradicted by the judge's own"
            note = f"{said} explanation (--reject-contradictions leaves such verdicts undecided)"
            result["notes"] = [*result["notes"], note]
        if self._reasoning:
            result["responses_with_reasoning"] = dict(self._reasoning)
            notes = _on_reasoning(self._reasoning, self._scoring)
            result["notes"] = [*result["notes"], *notes]
        if self._proposals:
            compiled = sum(self._proposals.values())
            refused = len(self._proposals) - compiled
            result["proposals"] = {"compiled": compiled, "refused": refused}
        result["decided_by"] = dict(self._deciders.verdicts.most_common())
        self._account.record(store.usage_records())
        if self._account:
            result["cost"] = self._account.result()
            saved = self._deciders.saved(self._account.judges(), result["cost"])
            if saved is not None:
                result["saved"] = saved
        adaptations = store.meta("adaptations")
        if adaptations:
            result["adaptations"] = adaptations
        if self._file is not None and self._directory is not None:
            with _writing(self._directory):
                self._file.close()
                _move(self._directory / PART, self._directory / RESULTS)
            write_json(self._directory / SUMMARY, result)
        return result


def _on_reasoning(counts: Mapping[str, int], scoring: Scoring) -> Iterator[str]:
    """Say what became of the responses that hold reasoning."""
    if counts.get("removed"):
        yield f"reasoning removed from {amount(counts['removed'], 'response')}"
    if counts.get("no_answer"):
        yield f"no answer after the reasoning in {amount(counts['no_answer'], 'response')}: unmet"
    if counts.get("kept"):
        judged = f"reasoning judged as part of {amount(counts['kept'], 'response')}"
        published = ", as the published code does" if scoring == "faithful" else ""
        yield f"{judged}{published} (--reasoning strip removes it)"


def summarise(
    store: Store,
    scoring: Scoring,
    seed: int,
    about: Mapping[str, Any],
    prices: Mapping[str, Price] | None = None,
) -> dict[str, Any]:
    """Summarise a run from its store alone, and write its files; see :class:`RunCounts`."""
    with RunCounts(store.directory, scoring, prices) as counts:
        for entry in store.entries():
            counts.add(entry)
        return counts.finish(store, seed, about)


class Deciders:
    """Verdicts by judge, and the calls saved because code reached some of them."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self._rows = 0
        self._rows_with_calls = 0

    def add(self, critique: Critique) -> None:
        """Count the verdicts of one row."""
        for judgment in critique.judgments:
            if judgment.status.settled:
                self.verdicts[judgment.judge] += 1
        self._rows += 1
        self._rows_with_calls += bool(critique.expenses)

    def merge(self, other: Deciders) -> None:
        """Add another's rows."""
        self.verdicts.update(other.verdicts)
        self._rows += other._rows
        self._rows_with_calls += other._rows_with_calls

    def saved(self, models: set[str], cost: Mapping[str, Any]) -> dict[str, Any] | None:
        """Estimate the calls and tokens that code saved, from those of the other rows."""
        called = sum(count for judge, count in self.verdicts.items() if judge in models)
        # What follows from an unmet constraint would not have been asked of a model either.
        verdicts = self.verdicts.total() - called - self.verdicts[DEPENDENCY]
        rows = self._rows - self._rows_with_calls
        if not (verdicts and called and self._rows_with_calls and cost["calls"]):
            return None
        by_row, by_verdict = rows / self._rows_with_calls, verdicts / called
        prompt, completion = cost["prompt_tokens"], cost["completion_tokens"]
        return {
            "verdicts": verdicts,
            "rows": rows,
            "calls": round(cost["calls"] * by_row),
            "prompt_tokens": None if prompt is None else round(prompt * by_row),
            "completion_tokens": None if completion is None else round(completion * by_verdict),
        }


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Name the file that cannot be written in the error."""
    try:
        yield
    except OSError as error:
        raise _unwritable(directory, error) from error


def _unwritable(directory: Path, error: OSError) -> UsageError:
    what = f"cannot be written: {error.strerror or error}"
    return UsageError(what, where=str(directory / RESULTS), hint="name another place")


def _move(part: Path, target: Path) -> None:
    """Move a complete file to its place, which may be a link or a pipe."""
    with replacing(target) as place:
        if place != target:
            shutil.move(part, place)
            return
        with part.open("rb") as source, place.open("wb") as sink:
            shutil.copyfileobj(source, sink)
