"""RealCritic's numbers as tables and charts, and the report on runs, made without a call."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.bench.realcritic import metrics
from heedful.bench.realcritic.metrics import case_of, corrected
from heedful.bench.realcritic.run import Results
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import (
    INTERVAL,
    MEASURED,
    cells,
    cost_line,
    counts,
    interval,
    least,
    percent,
    rate,
    signed,
)
from heedful.reporting.plots import FLOWS, Axis, Line, Point, bounds_of, flows_chart, line_chart
from heedful.reporting.table import INDENT, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from heedful.bench.realcritic.critic import Paradigm
    from heedful.bench.realcritic.metrics import Labels
    from heedful.bench.realcritic.run import RealCriticRow
    from heedful.core.nouns import Scoring
    from heedful.reporting.chart import Format

__all__ = ["build_document", "document", "write_report"]

Row = tuple[str, ...]
Ends = tuple[float, float]

PARADIGMS: tuple[Paradigm, ...] = ("self", "cross")
"""Critiques of the critic's own solution, and of the given one."""
GENERATORS_SHOWN = 12

STRICT = (
    "strict scoring: given solutions are graded again; where something was not decided, a rate is "
    "a range"
)
FAITHFUL = (
    "faithful scoring, as the published code counts: given solutions, and "
    "answers that repeat them, as the file labels them; what was not decided is wrong"
)

CORRECTED = "given solutions that people have adjudicated: by their verdict"


def league(cells: Mapping[str, Mapping[str, Ends]]) -> dict[str, dict[str, Ends]]:
    """Add what the paper's result table derives from its cells: averages and differences.

    All are least and greatest values, which are equal where everything is decided.
    """
    rows: dict[str, dict[str, Ends]] = {}
    for name, own in cells.items():
        rows[name] = dict(own)
        for after, before in (("self", "direct"), ("cross", "baseline")):
            if name == after and before in cells:
                rows[f"{after} - {before}"] = {
                    key: (low - cells[before][key][1], high - cells[before][key][0])
                    for key, (low, high) in own.items()
                    if key in cells[before]
                }
    return {name: {**own, "average": _mean(list(own.values()))} for name, own in rows.items()}


def _mean(ends: Sequence[Ends]) -> Ends:
    low, high = (math.fsum(side) / len(ends) for side in zip(*ends, strict=True))
    return low, high


def tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """Lay out a report, the headline first."""
    critics = report["critics"]
    note = STRICT if report["scoring"] == "strict" else FAITHFUL
    if report.get("labels") == "corrected":
        note = f"{note}; {CORRECTED}"
    yield _accuracies(critics, note, report["unread"])
    yield from _leagues(critics)
    yield _transitions(critics)
    yield _verdicts(critics)
    for table in (_post_checks(critics), _first_errors(critics), _generators(critics)):
        if table.rows:
            yield table


def _rounds(numbers: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give each round with its name."""
    for paradigm in PARADIGMS:
        rounds = numbers.get(paradigm, ())
        for place, numbers_of_round in enumerate(rounds, start=1):
            yield f"{paradigm} {place}" if len(rounds) > 1 else paradigm, numbers_of_round


def _by_round(
    critics: Mapping[str, Any],
    width: int,
    shown: Callable[[Mapping[str, Any]], Iterable[str]],
    part: str | None = None,
) -> list[Row]:
    """Lay out a row for each round below its critic; of rounds that have a part, where named."""
    rows: list[Row] = []
    for critic, numbers in critics.items():
        rounds = [(name, own) for name, own in _rounds(numbers) if part is None or part in own]
        if rounds:
            rows.append((critic, *[""] * width))
        rows += [(f"{INDENT}{name}", *shown(own)) for name, own in rounds]
    return rows


def _accuracies(critics: Mapping[str, Any], note: str, unread: int) -> Table:
    rows: list[Row] = []
    notes = []
    gain: Row
    for critic, numbers in critics.items():
        rows.append((critic, *[""] * 6))
        for name in ("baseline", "direct"):
            if name in numbers:
                accuracy = cells(numbers[name]["accuracy"], 1)
                rows.append((f"{INDENT}{name}", *accuracy, "", ""))
        for name, round_ in _rounds(numbers):
            delta = round_["delta"]
            gain = signed(delta["value"], 1), interval(delta["interval"], signed)
            rows.append((f"{INDENT}{name}", *cells(round_["accuracy"], 1), *gain))
        for reason, count in _undecided(numbers):
            notes.append(f"{critic}: {count:,} undecided: {reason}")
        labels = numbers.get("labels")
        if labels and labels["agreed"] < labels["decided"]:
            agreed, decided = labels["agreed"], labels["decided"]
            said = f"our grade of the given solution is as the file labels it for {agreed:,} of"
            notes.append(f"{critic}: {said} {decided:,}")
    notes.append(
        "direct: the critic's own solutions; baseline: the given ones; self, cross: these after "
        "critique. Δ: self - direct, cross - baseline, on what both sides decide"
    )
    notes.append(note)
    if unread:
        notes.append(f"{amount(unread, 'row')} could not be read; they count as undecided")
    columns = ("critic", *MEASURED, "Δ", INTERVAL)
    return Table("Accuracy", columns, rows, "; ".join(notes)).filled()


def _undecided(numbers: Mapping[str, Any]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for _, round_ in _rounds(numbers):
        for reason, count in round_["undecided"].items():
            counts[reason] = counts.get(reason, 0) + count
    return sorted(counts.items(), key=lambda pair: -pair[1])[:3]


def _leagues(critics: Mapping[str, Any]) -> Iterator[Table]:
    """Lay out the paper's result table: by set, with averages, for the last round."""
    for critic, numbers in critics.items():
        known = {"baseline": numbers["baseline"]["sets"]}
        if "direct" in numbers:
            known = {"direct": numbers["direct"]["sets"], **known}
        known |= {name: numbers[name][-1]["sets"] for name in PARADIGMS if name in numbers}
        sets = list(numbers["baseline"]["sets"])
        if len(sets) < 2:  # noqa: PLR2004 - one set is the whole
            continue
        accuracies = {
            name: {key: tuple(ends) for key in sets if key in own and (ends := own[key]["bounds"])}
            for name, own in known.items()
        }
        rows: list[Row] = []
        for name, row in league(accuracies).items():
            differs = " - " in name
            write = signed if differs else percent
            shown = (_written(row.get(key), write) for key in (*sets, "average"))
            rows.append((f"Δ({name})" if differs else name, *shown))
        note = "average: the mean over sets, each weighing the same; the last round"
        yield Table(f"{critic}, by set, %", ("", *sets, "average"), rows, note)


def _written(ends: Ends | None, write: Callable[[float | None, int], str]) -> str:
    """Write a value, or from where to where it can be."""
    if ends is None or ends[0] == ends[1]:
        return write(ends and ends[0], 1)
    return interval(ends, write)


def _transitions(critics: Mapping[str, Any]) -> Table:
    def shown(round_: Mapping[str, Any]) -> Row:
        moved = round_["transitions"]
        gains, losses = moved["incorrect_to_correct"], moved["correct_to_incorrect"]
        return (
            f"{gains['count']:,}",
            percent(gains["of_incorrect"], 1),
            percent(gains["of_all"], 1),
            f"{losses['count']:,}",
            percent(losses["of_correct"], 1),
            percent(losses["of_all"], 1),
            f"{moved['correct_to_correct']:,}",
            f"{moved['incorrect_to_incorrect']:,}",
            f"{sum(moved['undecided'].values()):,}",
        )

    columns = ("I→C", "of I", "of N", "C→I", "of C", "of N", "C→C", "I→I", "open")
    rows = _by_round(critics, len(columns), shown)
    note = (
        "I incorrect, C correct, before → after; open: one of them undecided. Shares in %: of I, "
        "of C as in the published code; of N as in the paper's figures. Δ = (I→C - C→I)/N"
    )
    return Table("Transitions", ("critic", *columns), rows, note)


def _verdicts(critics: Mapping[str, Any]) -> Table:
    def shown(round_: Mapping[str, Any]) -> Row:
        quality = round_["verdict"]["quality"]
        shares = [
            percent(quality[key] / quality["n"] if quality["n"] else None, 1)
            for key in ("high_right", "high_wrong", "low_right", "low_wrong")
        ]
        value, between, *_ = cells(round_["verdict"]["accuracy"], 1)
        return (value, between, *shares)

    heads = ("high\nright", "high\nwrong", "low\nright", "low\nwrong")
    columns = ("%", INTERVAL, *heads)
    note = (
        "%: verdicts on the solution that are right. Then, in % of the critiques with both "
        "decided: high or low as the correction is correct or not, by the verdict. Low and right "
        "is what verdict accuracy hides"
    )
    rows = _by_round(critics, len(columns), shown)
    return Table("Verdict × quality", ("critic", *columns), rows, note)


def _post_checks(critics: Mapping[str, Any]) -> Table:
    def shown(round_: Mapping[str, Any]) -> Row:
        check = round_["post_check"]
        without = check["accuracy_without_unqualified"]
        return (
            rate(round_["accuracy"], 1),
            rate(without, 1),
            counts(without),
            f"{check['unqualified']:,}",
            f"{check['undecided']:,}",
        )

    columns = ("%", "without\nunqualified", "counts", "unqualified", "open")
    rows = _by_round(critics, len(columns), shown, "post_check")
    return Table("Shortcut post-check", ("critic", *columns), rows)


def _first_errors(critics: Mapping[str, Any]) -> Table:
    def shown(round_: Mapping[str, Any]) -> Row:
        scores = round_["first_error"]
        both = (scores["erroneous"], scores["correct"])
        f1 = rate({"value": scores["f1"], "bounds": scores["f1_bounds"]}, 1)
        return (f1, *(cell for measure in both for cell in (rate(measure, 1), counts(measure))))

    columns = ("F1, %", "erroneous, %", "counts", "correct, %", "counts")
    rows = _by_round(critics, len(columns), shown, "first_error")
    note = "as ProcessBench scores: F1 is the harmonic mean of the two accuracies"
    return Table("First wrong step", ("critic", *columns), rows, note)


def _generators(critics: Mapping[str, Any]) -> Table:
    columns = ("items", "baseline", "%", "I→C", "C→I")
    rows: list[Row] = []
    notes = []
    for critic, numbers in critics.items():
        if "cross" not in numbers:
            continue
        rows.append((critic, *[""] * len(columns)))
        groups = list(numbers["cross"][-1]["generators"].items())
        for generator, own in groups[:GENERATORS_SHOWN]:
            moved = own["transitions"]
            shares = (
                moved["incorrect_to_correct"]["of_incorrect"],
                moved["correct_to_incorrect"]["of_correct"],
            )
            known = rate(own["baseline"], 1), rate(own["accuracy"], 1)
            shown = (percent(share, 1) for share in shares)
            rows.append((f"{INDENT}{generator}", f"{own['items']:,}", *known, *shown))
        if len(groups) > GENERATORS_SHOWN:
            more = len(groups) - GENERATORS_SHOWN
            notes.append(f"{critic}: {more} more in report.json")
    notes.append("baseline and % in per cent; I→C in % of I, C→I in % of C")
    return Table("Cross-critique, by author", ("author", *columns), rows, "; ".join(notes))


COUNTS = {
    "sampled": "questions",
    "too_easy": "all\nright",
    "unusable": "no\nuse",
    "only_wrong": "only\nwrong",
    "only_correct": "only\ncorrect",
    "both": "both",
    "chosen_correct": "chosen\ncorrect",
    "chosen_wrong": "chosen\nwrong",
}


def build_document(manifest: Mapping[str, Any]) -> Document:
    """Lay out a manifest: the pool's models, and what became of each set's questions."""
    pool = [(name, percent(accuracy, 1)) for name, accuracy in manifest["models"].items()]
    sets = [
        (name, *(f"{counts[key]:,}" for key in COUNTS)) for name, counts in manifest["sets"].items()
    ]
    parts = [
        Table("Pool, the strongest first", ("model", "accuracy, %"), pool),
        Table("Questions by set", ("set", *COUNTS.values()), sets),
    ]
    dropped = {
        "over_long": "over-long",
        "undecided": "of unknown correctness",
        "failed": "not answered",
    }
    totals = {key: sum(counts[key] for counts in manifest["sets"].values()) for key in dropped}
    notes = [
        f"{amount(total, 'solution')} {dropped[key]}" for key, total in totals.items() if total
    ]
    return Document("RealCritic: a benchmark built", parts=parts, notes=notes)


STARTS = {"self": "direct", "cross": "baseline"}
"""The starting point of each kind of critique."""


TITLES = {"self": "self-critique", "cross": "cross-critique"}


def rounds_charts(report: Mapping[str, Any]) -> Iterator[Chart]:
    """Draw accuracy by round, a chart for each paradigm with a line for each critic.

    Round 0 is the start: the direct answers for self-critique, the given solutions for
    cross-critique.
    """
    for paradigm, start in STARTS.items():
        measures = {
            critic: [numbers[start], *numbers[paradigm]]
            for critic, numbers in report["critics"].items()
            if paradigm in numbers
        }
        if not measures:
            continue
        lines = [Line(critic, list(_points(own))) for critic, own in measures.items()]
        last = max(map(len, measures.values()))
        names = ["start", *(f"round {place}" for place in range(1, last))]
        y = Axis("accuracy", percent=True, bounds=bounds_of(lines))
        title = f"Accuracy of the corrections by round, {TITLES[paradigm]}"
        yield Chart(f"rounds-{paradigm}", title, line_chart(lines, Axis("", names=names), y))


def _points(measures: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    for place, measure in enumerate(measures):
        accuracy = measure["accuracy"]
        if accuracy["coverage"]:
            name = f"round {place}" if place else "start"
            yield Point(name, least(accuracy), *(accuracy["interval"] or (None, None)))


def flow_charts(
    rows: Sequence[RealCriticRow], scoring: Scoring, labels: Labels = "shipped"
) -> Iterator[Chart]:
    """Draw what each round of critiques made of the solutions, by critic and paradigm."""
    if labels == "corrected":
        rows = list(corrected(rows))
    critics = list(dict.fromkeys(row.critic for row in rows if row.item is not None))
    for number, critic in enumerate(critics, start=1):
        own = [row for row in rows if row.item is not None and row.critic == critic]
        for paradigm in PARADIGMS:
            rounds = max(
                (len(row.outcome.rounds(paradigm)) for row in own if row.outcome), default=0
            )
            steps = {}
            for place in range(rounds):
                cases = [case_of(row, paradigm, place, scoring) for row in own]
                steps[f"round {place + 1}"] = Counter(
                    _way(case.previous, case.after) for case in cases
                )
            if steps:
                title = f"{critic}, {paradigm}-critique: what became of the solutions"
                yield Chart(f"flows-{number}-{paradigm}", title, flows_chart(steps))


def _way(before: bool | None, after: bool | None) -> str:  # noqa: FBT001 - a pair of grades
    """Name what became of a solution, as :data:`FLOWS` does."""
    if before is None or after is None:
        return "undecided"
    way = "stays" if before == after else "becomes"
    name = f"{way} {'correct' if after else 'incorrect'}"
    assert name in FLOWS  # noqa: S101 - the chart has a colour for each
    return name


TITLE = "RealCritic: is a correction after critique right?"


def write_report(
    runs: Sequence[Path],
    output: Path,
    *,
    scoring: Scoring = "strict",
    labels: Labels = "shipped",
    charts: Format | None = None,
) -> tuple[Document, list[Path]]:
    """Write ``report.json``, ``report.md``, ``report.html`` and the charts."""
    results = [Results.open(run) for run in runs]
    about = [each.about for each in results]
    names = Counter(name for each in about for name in each["critics"])
    for name, times in names.items():
        if times > 1:
            raise UsageError(f"the critic {name!r} is in {times} runs", hint="name one of them")
    rows = [row for each in results for row in each]
    report = {"runs": about, **metrics.numbers(rows, scoring, labels)}
    made = document(report, list(flow_charts(rows, scoring, labels)))
    return made, made.write(output, report, charts=charts)


def document(
    report: Mapping[str, Any],
    flows: Iterable[Chart] = (),
    *,
    cost: Mapping[str, Any] | None = None,
) -> Document:
    """Lay out a report: how it came about, its tables and charts."""
    about = [_about(run) for run in report.get("runs", ())]
    cost_of = [f"Cost: {cost_line(cost)}."] if cost else []
    parts: list[Table | Chart] = [*tables(report), *rounds_charts(report), *flows]
    return Document(TITLE, [*about, *cost_of], parts)


def _about(run: Mapping[str, Any]) -> str:
    facts = {
        "Sets": ", ".join(run["sets"]),
        "critics": ", ".join(run["critics"]),
        "modes": ", ".join(run["modes"]),
        "rounds": run["rounds"],
        "post-check": run["checker"],
        "heedful": run["heedful"],
    }
    return "; ".join(f"{key}: {value}" for key, value in facts.items() if value is not None) + "."
