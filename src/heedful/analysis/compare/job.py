"""Comparing runs two by two.

``runs → sides → pairs of rows → differences, tests, flips``
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.analysis.compare.differences import adjust_rates
from heedful.analysis.compare.pairs import DIMENSIONS, LABELS, RunComparison
from heedful.analysis.compare.sides import differing, paired, sides
from heedful.core.errors import InputError, UsageError
from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.jobs.evaluate import Run, directories
from heedful.jobs.results import judged_by
from heedful.metrics.contrasts import adjust_p
from heedful.reporting.metric_names import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.analysis.compare.differences import Rate
    from heedful.analysis.compare.sides import Pairing, PairingCounts, Side

    Match = Literal["id", "instruction", "conversation"]


BY = ("type", "task", "split", "turn", "language")
"""Breakdowns by default, where there are two values or more."""


class Comparison(dict[str, Any]):
    """The numbers of a comparison, ready for JSON, and the sentence that they come to."""

    @property
    def sentence(self) -> str:
        """Which is better, or that no difference is shown; one for each pair with the baseline."""
        from heedful.analysis.compare.tables import headlines

        return " ".join(headlines(self)) or "Nothing was decided on both sides."

    def __repr__(self) -> str:
        """Say the sentence."""
        return f"<Comparison: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Show the sentence and the rates in a notebook; all that it says is escaped."""
        from html import escape

        from heedful.analysis.compare.tables import rate_tables

        shown = (f"<p>{escape(table.title)}</p>{table.html()}" for table in rate_tables(self))
        return f"<p><b>{escape(self.sentence)}</b></p>{''.join(shown)}"


def compare(
    *runs: Run,
    metrics: str | Sequence[str] = (),
    by: str | Sequence[str] | None = None,
    match: Match | None = None,
    baseline: Run | None = None,
    anyway: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare the same samples under several models or judges, two by two.

    >>> from heedful import compare, evaluate
    >>> row = {"id": "1", "checklist": ["No commas."]}
    >>> a = evaluate([{**row, "response": "One."}])
    >>> b = evaluate([{**row, "response": "One, two."}])
    >>> compare(a, b)["pairs"][0]["metrics"]["cfbench"]["csr"]["difference"]["value"]
    1.0

    Args:
        runs: evaluations, or directories of finished runs of :func:`heedful.evaluate`.
            ``RUN@MODEL`` is the rows of RUN whose tag ``model`` is MODEL; one run alone is
            compared by that tag.
        metrics: one or more rates, as ``isr`` or ``cfbench.isr``, or a family of them, as
            ``ifeval``; all by default.
        by: break down by these: ``type``, ``subtype``, ``priority``, ``verifier``, or any tag;
            by default those of :data:`BY` that have two values or more.
        match: What makes two rows the same sample: id; instruction, the id without the model that
            answered; conversation, what system and user said. Default: the first of them by which
            any rows match.
        baseline: One of the runs: compare the others with it, each minus it. Without it, each run
            comes minus those named after it.
        anyway: Compare although more differs than the responses or the judge.
        seed: For the randomization tests.

    Returns:
        A dict ready for JSON; docs/compare.md describes it. Its attribute ``sentence`` says what it
        shows.

    Raises:
        InputError: the runs have no sample in common.
        RunError: a run is not there, or not finished.
        UsageError: the runs are not alike, or an option is unknown.
    """
    chosen = [metrics] if isinstance(metrics, str) else metrics
    named = [by] if isinstance(by, str) else by
    dimensions = None if named is None else tuple(dict.fromkeys(named))
    options = PairOptions(chosen, dimensions, match, seed, anyway)
    with directories(runs) as places:
        opened = sides(places)
        try:
            reference = None
            if baseline is not None:
                same = [place for place, run in zip(places, runs, strict=True) if run is baseline]
                reference = _baseline(same[0] if same else str(baseline), places, opened)
            result = _result(opened, reference, options)
        finally:
            for side in opened:
                side.run.close()
    for run in result["runs"]:
        if not Path(run["run"]).is_dir():  # it was saved for the comparison only
            run["run"] = run["name"]
    return result


class PairOptions(NamedTuple):
    """How two sides are compared; ``by`` ``None``: those of :data:`BY` with several values."""

    metrics: Sequence[str]
    by: tuple[str, ...] | None
    match: Match | None
    seed: int
    anyway: bool


def _result(opened: Sequence[Side], baseline: Side | None, options: PairOptions) -> Comparison:
    pairs, left_out = _all_pairs(opened, baseline, options)
    if options.by is None:
        for pair in pairs:
            pair["by"] = {name: groups for name, groups in pair["by"].items() if len(groups) > 1}
    else:
        _check_breakdowns(options.by, pairs)
    adjust(pairs)
    return Comparison(
        heedful=__version__,
        seed=options.seed,
        baseline=(baseline or opened[0]).name,
        runs=[side.about() for side in opened],
        pairs=pairs,
        left_out=left_out,
    )


def adjust(pairs: Sequence[dict[str, Any]]) -> None:
    """Adjust the p-values of pairs that are shown together for their number (Holm), in place."""
    for test in ("constraints", "samples"):
        adjust_p([pair["mcnemar"][test] for pair in pairs])
    adjust_rates(pair["metrics"] for pair in pairs)


def _baseline(named: str, runs: Sequence[str], opened: Sequence[Side]) -> Side:
    """Find the run that the others are compared with."""
    by_name = {side.name: side for side in opened}
    if len(runs) == len(opened):
        by_name |= dict(zip(runs, opened, strict=True))
    if named not in by_name:
        raise UsageError(
            f"the baseline {named!r} is none of the runs that are compared",
            hint=f"name one of {', '.join(side.name for side in opened)}",
        )
    return by_name[named]


def _all_pairs(
    opened: Sequence[Side], baseline: Side | None, options: PairOptions
) -> tuple[list[dict[str, Any]], list[str]]:
    """Compare the pairs, those with the baseline first; say which are left out, and why."""
    others = [side for side in opened if side is not baseline]
    pairs = [] if baseline is None else [_pair(side, baseline, options) for side in others]
    left_out = []
    for first, second in combinations(others, 2):
        try:
            pairs.append(_pair(first, second, options))
        except (InputError, UsageError) as error:
            if baseline is None:
                raise
            left_out.append(f"{first.name} − {second.name} is left out: {error.what}")
    return pairs, left_out


def _pair(first: Side, second: Side, options: PairOptions) -> dict[str, Any]:
    with paired(first, second, options.match) as pairing:
        counts = pairing.counts
        settings = differing(first, second)
        judged_alike = first.judge == second.judge
        faults = _faults(first, second, pairing, judged_alike=judged_alike)
        if faults and not options.anyway:
            raise _unlike(first, second, faults)
        comparison = RunComparison(
            (first.scoring, second.scoring), BY if options.by is None else options.by
        )
        for one, other, cluster in pairing:
            comparison.add(cluster, first.row(one), second.row(other))
    # The labels of one response say nothing of how well another was judged.
    known = [rate for rate in comparison.rates() if rate != LABELS or not counts.responses]
    result = comparison.result(_chosen(options.metrics, known), options.seed)
    _count_unread(result["metrics"], _readable(first, second, counts))
    rows = counts.paired + counts.only_first + counts.only_second + counts.ambiguous
    result["notes"] += [what for what, _ in faults]
    if judged_alike and counts.responses and (_reads(first) or _reads(second)):
        result["notes"].append("the files hold the verdicts; that one judge gave them is assumed")
    return {
        "first": first.name,
        "second": second.name,
        "compared": _compared(counts.responses, judged_alike=judged_alike),
        "differs": settings,
        "matched_by": pairing.key,
        "samples": counts._asdict(),
        "coverage": (counts.paired - counts.checklists) / rows,
        **result,
    }


def _readable(first: Side, second: Side, counts: PairingCounts) -> float:
    """Compute the share of the samples whose rows could be read on both sides."""
    lost = min(counts.only_first, second.unread), min(counts.only_second, first.unread)
    both = min(second.unread - lost[0], first.unread - lost[1])
    if first.only is not None or second.only is not None:
        both = 0  # whose they are isn't known
    unread = sum(lost) + both
    return counts.paired / (counts.paired + unread)


def _count_unread(metrics: Mapping[str, Mapping[str, Any]], readable: float) -> None:
    """Count unreadable rows as undecided in coverage and bounds, as a summary does."""
    if readable == 1:
        return
    for measured in (measured for rates in metrics.values() for measured in rates.values()):
        measured["coverage"] *= readable
        if measured["bounds"] is not None:
            low, high = measured["bounds"]
            measured["bounds"] = [
                low * readable - (1 - readable),
                high * readable + (1 - readable),
            ]


def _compared(responses: int, *, judged_alike: bool) -> str:
    """Name what differs between two runs, and so can explain their rates."""
    if judged_alike:
        return "responses" if responses else "nothing"
    return "responses and judges" if responses else "judges"


def _faults(
    first: Side, second: Side, pairing: Pairing, *, judged_alike: bool
) -> list[tuple[str, str]]:
    """List what makes two runs unlike, each with its hint."""
    faults = []
    counts = pairing.counts
    pairs = amount(counts.paired, "pair")
    if first.scoring != second.scoring:
        what = f"{first.name} has {first.scoring} scoring, {second.name} {second.scoring}"
        faults.append((what, "evaluate both with the same --scoring"))
    if not judged_alike and counts.responses:
        names = [side.run.config["judge"] for side in (first, second)]
        judges = " and ".join(dict.fromkeys(names))
        what = (
            f"both the responses ({counts.responses:,} of {pairs}) and the judge ({judges}) differ"
        )
        faults.append((what, "judge one of them again as the other was: heedful rejudge"))
    match = "match them with --match conversation" if pairing.key != "conversation" else ""
    for kind, what, hint in (
        ("conversations", "prompts", match),
        ("checklists", "checklists", "evaluate both with the same checklists"),
    ):
        number = getattr(counts, kind)
        if number:
            example = f"as {pairing.example(kind)!r}"
            faults.append((f"{number:,} of {pairs} have different {what}, {example}", hint))
    return faults


def _reads(side: Side) -> bool:
    """Check whether some of a side's verdicts may have been recorded in its files."""
    return "recorded" in str(side.run.config["judge"]) and judged_by(side.run.summary) != "code"


def _unlike(first: Side, second: Side, faults: Sequence[tuple[str, str]]) -> UsageError:
    hints = "; ".join(dict.fromkeys(hint for _, hint in faults if hint))
    return UsageError(
        "these are not alike: " + "; ".join(what for what, _ in faults),
        where=f"{first.name} and {second.name}",
        hint=f"{hints}; or compare them --anyway",
    )


def _chosen(names: Sequence[str], known: Sequence[Rate]) -> list[Rate]:
    """Find rates by name, or by family and name."""
    if not names:
        return list(known)
    chosen: list[Rate] = []
    for name in names:
        plain = KEYS.get(name)  # as gates name it
        named = [
            rate for rate in known if rate == plain or name in (rate[1], ".".join(rate), rate[0])
        ]
        if not named:
            there = ", ".join(".".join(rate) for rate in known) or "none"
            raise UsageError(
                f"there is no metric {name!r} here", hint=f"those that both runs have: {there}"
            )
        chosen += [rate for rate in named if rate not in chosen]
    return chosen


def _check_breakdowns(by: Sequence[str], pairs: Sequence[dict[str, Any]]) -> None:
    """Refuse a breakdown that would silently be left out."""
    for dimension in by:
        dropped = any(f"by {dimension}:" in note for pair in pairs for note in pair["notes"])
        if not dropped and not any(dimension in pair["by"] for pair in pairs):
            raise UsageError(
                f"no sample has {dimension!r} to break down by",
                hint=f"give {', '.join(DIMENSIONS)} or a tag of the samples",
            )
        if not dropped and not any(pair["by"].get(dimension) for pair in pairs):
            raise UsageError(
                f"none of the metrics that were asked for is broken down by {dimension!r}",
                hint="choose others, or leave the breakdown out",
            )
