"""A meta-evaluation as tables, for a terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.core.text import amount
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    MEASURED,
    NOTHING,
    bounded,
    cells,
    decimal,
    estimate,
    interval,
    p_value,
    percent,
    signed,
)
from heedful.reporting.plots import Axis, Estimate, Line, Point, estimates_chart, line_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Measure = Mapping[str, Any]


TITLE = "How good are the judges?"

UNDECIDED = ("unparsed", "failed", "unsupported", "not_applicable", "missing")

BRACKETS = "In brackets: bounds, if the undecided were wrong, and if they were right."


PAIRS_SHOWN = 15
"""More pairs than this are left to the file."""

F1S = ("mean_f1", "f1_met", "f1_unmet")


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out a meta-evaluation as a document."""
    return Document(TITLE, [headline(summary)], list(tables(summary)), summary["notes"])


def headline(summary: Mapping[str, Any]) -> str:
    """Summarize what was measured, and on which labels."""
    labels = summary["labels"]
    total = labels["met"] + labels["unmet"]
    origins = ", ".join(
        f"{origin} ({amount(rows, 'row')})" for origin, rows in labels["from"].items()
    )
    unread = summary["rows"]["failed"]
    failed = f" {amount(unread, 'row')} could not be read." if unread else ""
    return (
        f"{amount(total, 'labelled constraint')} ({labels['met']:,} met, "
        f"{labels['unmet']:,} unmet) of {amount(labels['rows'], 'response')} to "
        f"{amount(labels['instructions'], 'instruction')}.{failed} "
        f"Labels: {origins}. Scoring: {summary['scoring']}. "
        "Intervals: 95 %; instructions and conversations count whole."
    )


def tables(summary: Mapping[str, Any]) -> Iterator[Table]:
    """Choose the tables that a meta-evaluation fills."""
    judges, by = summary["judges"], summary["by"]
    if summary["labels"]["met"] + summary["labels"]["unmet"]:
        yield _leaderboard(judges, faithful=summary["scoring"] == "faithful")
        yield _errors(judges)
        yield _averages(judges, by)
    ranked = [*judges, *([summary["elo"]] if "elo" in summary else [])]
    pairs = {
        "Paired differences": summary["pairs"],
        "Now − in the earlier run": [summary["since"]] if "since" in summary else [],
    }
    laid_out = [
        _levels(judges),
        *_rankings(ranked, by),
        _choices(summary.get("choices")),
        *map(_constraint_types, judges),
        _annotators(summary),
        _alphas(summary),
        *map(_calibration, judges),
        *(_pairs(each, title) for title, each in pairs.items()),
        _costs(judges),
    ]
    yield from (table.filled() for table in laid_out if table.rows)


def card(judge: Measure, name: str = "") -> Iterator[Table | Chart]:
    """Show a judge by itself: F1 by type of constraint, how sure it is, and some of its errors."""
    of = name or judge["name"]
    estimates = [
        Estimate(
            taxonomy.name(kind, "en"), rate["value"], rate["interval"], f"{rates['verdicts']:,}"
        )
        for kind, rates in judge["by_constraint_type"].items()
        for rate in [rates["mean_f1"]]
        if rate["value"] is not None
    ]
    estimates.sort(key=lambda estimate: estimate.value or 0.0)
    if estimates:
        title = f"F1 by type of constraint: {of}"
        yield Chart("f1", title, estimates_chart(estimates, "mean F1, %"))
    laid_out = [_constraint_types(judge), _calibration(judge)]
    yield from (table for table in laid_out[:1] if table.rows)
    bins = judge["calibration"]["bins"] if judge.get("calibration") else ()
    points = [Point(group["confidence"], group["accuracy"]) for group in bins if group["verdicts"]]
    if points:
        ends = [Point(at, at) for at in (min(point.y for point in points), 1.0)]
        lines = [Line(of, points), Line("as often right as it says", ends)]
        x, y = Axis("confidence", percent=True), Axis("right", percent=True, bounds=(0.0, 1.0))
        yield Chart("reliability", f"Reliability: {of}", line_chart(lines, x, y))
    yield from (table for table in laid_out[1:] if table.rows)
    if judge.get("disagreements"):
        found = judge["disagreements"]
        rows = [
            (
                f"{each['id']}, {each['constraint']}",
                *(each[name] for name in ("text", "label", "verdict", "explanation")),
            )
            for each in found["first"]
        ]
        yield Table(
            f"Verdicts unlike the labels: {of}",
            ("sample, constraint", "text", "label", "verdict", "explanation"),
            rows,
            f"The first {len(rows):,} of {found['count']:,}.",
            words=5,
        )


def _rate(measure: Measure, of: Measure, write: Any = percent, digits: int = 1) -> str:
    """Write a rate, with its bounds below it if not all of what it is ``of`` was decided."""
    shown = write(measure["value"], digits)
    return bounded(shown, {**measure, "coverage": of["coverage"]}, write, digits)


def _estimated(measure: Measure, of: Measure, write: Any = percent) -> tuple[str, str]:
    """Write a rate as :func:`_rate` does, and its interval."""
    return _rate(measure, of, write, 1), interval(measure["interval"], write, 1)


def _agreed(measure: Measure) -> tuple[str, str]:
    """Write a κ or α, and its interval."""
    return decimal(measure["value"]), interval(measure["interval"], decimal, 3)


def _f1s(measured: Measure, of: Measure) -> tuple[str, ...]:
    """Write mean F1 with its interval, and what it is the mean of."""
    parts = (_rate(measured[name], of) for name in ("f1_met", "f1_unmet"))
    return *_estimated(measured["mean_f1"], of), *parts


def _covered(of: Measure) -> str:
    """Write a coverage, unless all is decided."""
    return percent(of["coverage"], 1) if of["coverage"] < 1 else ""


def _brackets(measured: Iterable[Measure]) -> str:
    """Say what stands in brackets, if anything does."""
    return f" {BRACKETS}" if any(each["coverage"] < 1 for each in measured) else ""


def _leaderboard(judges: Sequence[Measure], *, faithful: bool) -> Table:
    """Lay out the judges' rates over all verdicts, the best judge first."""
    note = "In per cent, pooled over the verdicts that were decided: compare first how many were."
    if faithful:
        note = "In per cent, pooled over all verdicts: what was not decided is taken as met."
    rows = [
        (
            judge["name"],
            percent(judge["coverage"], 1),
            *_f1s(judge["pooled"], judge),
            _rate(judge["pooled"]["balanced_accuracy"], judge),
            _rate(judge["pooled"]["kappa"], judge, decimal, 3),
        )
        for judge in judges
    ]
    columns = ("judge", COVERAGE, "mean F1", INTERVAL, "F1 met", "F1 unmet", "bal.acc", "κ")
    # The averages have these too, and a terminal has no room for both.
    details = ("F1 met", "F1 unmet") if any(judge["coverage"] < 1 for judge in judges) else ()
    return Table("Leaderboard", columns, rows, note + _brackets(judges), details=details)


def _errors(judges: Sequence[Measure]) -> Table:
    """Lay out the verdicts by label, and why others weren't reached."""
    rows = []
    for judge in judges:
        cells, verdicts = judge["pooled"]["cells"], judge["verdicts"]
        reasons = [f"{verdicts[name]:,} {name}" for name in UNDECIDED if verdicts.get(name)]
        counts = [f"{cells[name]:,}" for name in ("tp", "fn", "tn", "fp")]
        rows.append((judge["name"], *counts, ", ".join(reasons) or "0"))
    note = "By label: met ✗ is a constraint that is met and was called unmet."
    if any(judge["votes"] for judge in judges):
        note += " A vote that ends in a tie is unparsed."
    columns = ("judge", "met ✓", "met ✗", "unmet ✓", "unmet ✗", "undecided")
    return Table("Verdicts", columns, rows, note)


def _averages(judges: Sequence[Measure], by: str) -> Table:
    """Lay out F1 averaged over verdicts, instructions and the values of a tag."""
    names = {"pooled": "pooled", "per_instruction": "per instruction", "per_type": f"per {by}"}
    rows = [
        (
            f"{judge['name']}: {name}",
            *(cell for rate in F1S for cell in _estimated(judge[key][rate], judge)),
            _covered(judge),
        )
        for judge in judges
        for key, name in names.items()
        if key in judge
    ]
    note = (
        "Pooled: over verdicts. Per instruction: F1 of each instruction, then the mean. "
        f"Per {by}: the mean of those means, one for each {by}.{_brackets(judges)}"
    )
    heads = ("mean F1", INTERVAL, "F1 met", INTERVAL, "F1 unmet", INTERVAL)
    return Table("Averages", ("judge: averaged", *heads, COVERAGE), rows, note).filled()


def _levels(judges: Sequence[Measure]) -> Table:
    """Lay out how judges agree with labels that name levels."""
    rows = [
        (
            judge["name"],
            *cells(found["exact"]),
            *_agreed(found["weighted_kappa"]),
            *_agreed(found["not_applicable_kappa"]),
        )
        for judge in judges
        if (found := judge.get("levels")) is not None
    ]
    return Table(
        "Levels",
        ("judge", *MEASURED, "weighted κ", INTERVAL, "κ of n/a", INTERVAL),
        rows,
        "The same answer as the label, of rows whose labels name levels. Weighted κ: quadratic "
        "in the levels' values. κ of n/a: whether a criterion applies.",
    )


def _rankings(judges: Sequence[Measure], by: str) -> Iterator[Table]:
    """Lay out how judges rank pairs, and the best response."""
    rows = [
        (
            f"{judge['name']}: {averaged}",
            percent(ranking["coverage"], 1),
            *_estimated(measures["pair_accuracy"], ranking),
            _rate(measures["tau_b"], ranking, decimal, 3),
            interval(measures["tau_b"]["interval"], decimal, 2),
            "/".join(f"{count:,}" for count in ranking["pairs"].values()),
        )
        for judge in judges
        if (ranking := judge.get("ranking")) is not None
        for averaged, measures in (
            ("per instruction", ranking),
            (f"per {by}", ranking["mean_of_types"]),
        )
        if measures
    ]
    yield Table(
        "Ranking",
        ("judge: averaged", COVERAGE, "pair acc.", INTERVAL, "τ-b", INTERVAL, "+/−/tie/?"),
        rows,
        "Of pairs of responses of which one is known to be better: how often its score is "
        "higher; ties are wrong. +/−/tie/?: concordant, discordant, tied, undecided. In "
        "brackets: the bounds, where pairs are undecided.",
    )
    best = [
        (judge["name"], percent(of["coverage"], 1), *_estimated(of, of), f"{of['instructions']:,}")
        for judge in judges
        if (of := judge.get("best_of")) is not None
    ]
    yield Table(
        "Best response first",
        ("judge", COVERAGE, "%", INTERVAL, "instructions"),
        best,
        "Of instructions with one response that is known to be the best: how often it scores "
        "highest; 1/k where it shares the highest score with k − 1 others (RewardBench 2).",
    )


CHOICES = {
    "accuracy": "accuracy, both orders",
    "accuracy_unswapped": "accuracy, as in the file",
    "accuracy_swapped": "accuracy, swapped",
    "correct_both": "right in both orders",
    "positional_agreement": "same choice in both orders",
    "first_shown": "chose the first one shown",
}


def _choices(measured: Measure | None) -> Table:
    """Lay out a pairwise judge's choices."""
    columns = ("rate", *MEASURED)
    if measured is None:
        return Table("Recorded choices", columns, [])
    rows = [(words, *cells(measured[name])) for name, words in CHOICES.items()]
    kappas = measured["kappa"]
    note = (
        f"{measured['pairs']:,} pairs. Answers that tie, which are wrong: "
        f"{measured['ties']:,}. Cohen's κ with the labels: {decimal(kappas['unswapped'])} as "
        f"in the file, {decimal(kappas['swapped'])} swapped."
    )
    return Table("Recorded choices", columns, rows, note)


def _constraint_types(judge: Measure) -> Table:
    """Break a judge down by constraint type, the types that it finds hardest on top."""

    def hardness(item: tuple[str, Measure]) -> tuple[bool, float, str]:
        kind, rates = item
        value = rates["mean_f1"]["value"]
        return value is None, value or 0.0, kind

    by_type = judge["by_constraint_type"]
    rows = [
        (
            taxonomy.name(kind, "en"),
            f"{rates['verdicts']:,}",
            percent(rates["coverage"], 1),
            *_f1s(rates, rates),
            _rate(rates["kappa"], rates, decimal, 3),
        )
        for kind, rates in sorted(by_type.items(), key=hardness)
    ]
    columns = ("type", "verdicts", COVERAGE, "mean F1", INTERVAL, "F1 met", "F1 unmet", "κ")
    note = _brackets(by_type.values()).lstrip()
    return Table(f"By constraint type: {judge['name']}", columns, rows, note)


def _annotators(summary: Mapping[str, Any]) -> Table:
    against = summary.get("against_annotators", {"judges": {}})
    rows = [
        (
            name,
            f"{each['pairs']:,}",
            percent(each["mean_f1"]["value"], 1),
            interval(each["mean_f1"]["interval"]),
            percent(each["f1_met"]["value"], 1),
            percent(each["f1_unmet"]["value"], 1),
            interval(each["mean_f1"]["bounds"]),
        )
        for name, each in {
            **against["judges"],
            **({"the annotators": against["annotators"]} if "annotators" in against else {}),
        }.items()
    ]
    return Table(
        "Against each annotator",
        ("of", "pairs", "mean F1", INTERVAL, "F1 met", "F1 unmet", "bounds"),
        rows,
        "Each verdict against each annotator's; the annotators against "
        "each other. Bounds: if the undecided were wrong, and right.",
    )


def _alphas(summary: Mapping[str, Any]) -> Table:
    names = {"judges": "the judges", "annotators": "the annotators of the file"}
    alphas = {names[key]: value for key, value in summary.get("alpha", {}).items()} | {
        judge["name"]: judge["alpha_of_samples"]
        for judge in summary["judges"]
        if "alpha_of_samples" in judge
    }
    rows = [(name, *_agreed(of), f"{of['constraints']:,}") for name, of in alphas.items()]
    return Table(
        "Agreement among several (Krippendorff's α)",
        ("of", "α", INTERVAL, "constraints"),
        rows,
        "Among themselves, whatever the labels say. 1 is full agreement, 0 is chance.",
    )


def _calibration(judge: Measure) -> Table:
    title = f"Calibration: {judge['name']}"
    columns = ("confidence of", "verdicts", "on average", "right")
    calibrated = judge.get("calibration")
    if not calibrated:
        return Table(title, columns, [])
    rows = [
        (
            f"{group['low']:.1f} – {group['high']:.1f}",
            f"{group['verdicts']:,}",
            percent(group["confidence"], 1),
            percent(group["accuracy"], 1),
        )
        for group in calibrated["bins"]
    ]
    note = (
        f"Expected calibration error: {_by_chance(calibrated['ece'])}. "
        f"Brier score: {_by_chance(calibrated['brier'])}. "
        "By chance: the mean of a judge that is right exactly as often as it says."
    )
    return Table(title, columns, rows, note)


def _by_chance(score: Measure) -> str:
    """Write a score of calibration beside the one of a judge that is calibrated."""
    shown = estimate(score["value"], score.get("interval"))
    return f"{shown} %, by chance {percent(score['by_chance'], 1)} %"


def _pairs(pairs: Sequence[Measure], title: str) -> Table:
    rows = [
        (
            f"{pair['first']} − {pair['second']}",
            f"{pair['compared']:,}",
            _covered(pair),
            f"{pair['only_first_right']:,}",
            f"{pair['only_second_right']:,}",
            *(
                cell
                for rate in ("mean_f1", "accuracy")
                for cell in (
                    *_estimated(pair[rate], pair, signed),
                    NOTHING if pair[rate]["p_holm"] is None else p_value(pair[rate]["p_holm"]),
                )
            ),
        )
        for pair in pairs[:PAIRS_SHOWN]
    ]
    more = len(pairs) - len(rows)
    adjusted = "p (Holm)" if len(pairs) > 1 else "p"
    heads = ("judges", "both", COVERAGE, "✓✗", "✗✓", "Δ mean F1", INTERVAL, adjusted)
    note = (
        "On the verdicts that both decided, first minus second; right: verdicts equal to the "
        "label; ✓✗: only the first is right. p: the paired randomization test, which swaps the "
        "judges on whole instructions; below 0.05 it shows a difference."
        + (f" {more} more pairs in the JSON file." if more else "")
        + _brackets(pairs)
    )
    return Table(title, (*heads, "Δ right", INTERVAL, adjusted), rows, note)


def _costs(judges: Sequence[Measure]) -> Table:
    rows = [
        (
            judge["name"],
            f"{cost['judged']:,}",
            f"{cost['calls']:,}",
            " + ".join(
                "–" if each[name] is None else f"{each[name]:,.0f}"
                for name in ("prompt_tokens", "completion_tokens")
            ),
            _dollars(cost["dollars"], 4),
            _dollars(each["dollars"], 6),
        )
        for judge in judges
        if (cost := judge.get("cost"))
        for each in [cost["per_constraint"]]
    ]
    columns = ("judge", "decided", "calls", "tokens each", "in all", "each")
    return Table("Cost", columns, rows, "Each: for each constraint that was decided.")


def _dollars(value: float | None, digits: int) -> str:
    return "unknown" if value is None else f"${value:,.{digits}f}"
