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

    from rich.console import RenderableType

    Measure = Mapping[str, Any]


TITLE = "How good are the judges?"

UNDECIDED = ("unparsed", "failed", "unsupported", "not_applicable", "missing")

BRACKETS = "In brackets: bounds, if the undecided were wrong, and if they were right."


PAIRS_SHOWN = 15
"""More pairs than this are left to the file."""

F1S = ("mean_f1", "f1_met", "f1_unmet")


def view(summary: Mapping[str, Any]) -> RenderableType:
    """Lay out a meta-evaluation for a terminal."""
    return document(summary).terminal()


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
    judges = summary["judges"]
    labels = summary["labels"]
    if labels["met"] + labels["unmet"]:
        yield _leaderboard(judges, faithful=summary["scoring"] == "faithful")
        yield _errors(judges)
        yield _averages(judges, summary["by"])
    yield from _levels(judges)
    elo = summary.get("elo")
    yield from _rankings([*judges, *([] if elo is None else [elo])], summary["by"])
    yield from _best_of(judges)
    yield from _choices(summary.get("choices"))
    yield from _constraint_types(judges)
    yield from _annotators(summary)
    yield from _alphas(summary)
    for judge in judges:
        yield from _calibration(judge)
    yield from _pairs(summary["pairs"])
    since = [summary["since"]] if "since" in summary else []
    yield from _pairs(since, "Now − in the earlier run")
    yield from _pairs(summary.get("probes", ()), "The judge − the same under a probe")
    yield from _costs(judges)


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
    yield from _constraint_types([judge])
    bins = judge["calibration"]["bins"] if judge.get("calibration") else ()
    points = [Point(group["confidence"], group["accuracy"]) for group in bins if group["verdicts"]]
    if points:
        ends = [Point(at, at) for at in (min(point.y for point in points), 1.0)]
        lines = [Line(of, points), Line("as often right as it says", ends)]
        x, y = Axis("confidence", percent=True), Axis("right", percent=True, bounds=(0.0, 1.0))
        yield Chart("reliability", f"Reliability: {of}", line_chart(lines, x, y))
    yield from _calibration(judge)
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


def _estimated(
    measure: Measure, of: Measure, write: Any = percent, digits: int = 1
) -> tuple[str, str]:
    """Write a rate as :func:`_rate` does, and its interval."""
    return _rate(measure, of, write, digits), interval(measure["interval"], write, digits)


def _covered(of: Measure) -> str:
    """Write a coverage, unless all is decided."""
    return percent(of["coverage"], 1) if of["coverage"] < 1 else ""


def _brackets(measured: Iterable[Measure], said: str = BRACKETS) -> str:
    """Say what stands in brackets, if anything does."""
    return f" {said}" if any(each["coverage"] < 1 for each in measured) else ""


def _leaderboard(judges: Sequence[Measure], *, faithful: bool) -> Table:
    """Lay out the judges' rates over all verdicts, the best judge first."""
    note = "In per cent, pooled over the verdicts that were decided: compare first how many were."
    if faithful:
        note = "In per cent, pooled over all verdicts: what was not decided is taken as met."
    rows = [
        (
            judge["name"],
            percent(judge["coverage"], 1),
            *_estimated(judge["pooled"]["mean_f1"], judge),
            _rate(judge["pooled"]["f1_met"], judge),
            _rate(judge["pooled"]["f1_unmet"], judge),
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


def _levels(judges: Sequence[Measure]) -> Iterator[Table]:
    """Lay out how judges agree with labels that name levels; nothing where none does."""
    kappas = ("weighted_kappa", "not_applicable_kappa")
    rows = [
        (
            judge["name"],
            *cells(found["exact"]),
            *(
                cell
                for name in kappas
                for cell in (
                    decimal(found[name]["value"]),
                    interval(found[name]["interval"], decimal, 3),
                )
            ),
        )
        for judge in judges
        if (found := judge.get("levels")) is not None
    ]
    if rows:
        yield Table(
            "Levels",
            ("judge", *MEASURED, "weighted κ", INTERVAL, "κ of n/a", INTERVAL),
            rows,
            "The same answer as the label, of rows whose labels name levels. Weighted κ: quadratic "
            "in the levels' values. κ of n/a: whether a criterion applies.",
        ).filled()


def _rankings(judges: Sequence[Measure], by: str) -> Iterator[Table]:
    """Lay out how judges rank; nothing where none ranks."""
    rows = []
    for judge in judges:
        ranking = judge.get("ranking")
        if ranking is None:
            continue
        averaged = [("per instruction", ranking)]
        if ranking["mean_of_types"]:
            averaged.append((f"per {by}", ranking["mean_of_types"]))
        rows += [
            (
                f"{judge['name']}: {name}",
                percent(ranking["coverage"], 1),
                *_estimated(measures["pair_accuracy"], ranking),
                _rate(measures["tau_b"], ranking, decimal, 3),
                interval(measures["tau_b"]["interval"], decimal, 2),
                "/".join(f"{count:,}" for count in ranking["pairs"].values()),
            )
            for name, measures in averaged
        ]
    if rows:
        yield Table(
            "Ranking",
            ("judge: averaged", COVERAGE, "pair acc.", INTERVAL, "τ-b", INTERVAL, "+/−/tie/?"),
            rows,
            "Of pairs of responses of which one is known to be better: how often its score is "
            "higher; ties are wrong. +/−/tie/?: concordant, discordant, tied, undecided. In "
            "brackets: the bounds, where pairs are undecided.",
        )


def _best_of(judges: Sequence[Measure]) -> Iterator[Table]:
    rows = [
        (
            judge["name"],
            percent(best["coverage"], 1),
            *_estimated(best, best),
            f"{best['instructions']:,}",
        )
        for judge in judges
        if (best := judge.get("best_of")) is not None
    ]
    if rows:
        yield Table(
            "Best response first",
            ("judge", COVERAGE, "%", INTERVAL, "instructions"),
            rows,
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


def _choices(measured: Measure | None) -> Iterator[Table]:
    """Lay out a pairwise judge's choices; nothing where there are none."""
    if measured is not None:
        rows = [(words, *cells(measured[name])) for name, words in CHOICES.items()]
        kappas = measured["kappa"]
        note = (
            f"{measured['pairs']:,} pairs. Answers that tie, which are wrong: "
            f"{measured['ties']:,}. Cohen's κ with the labels: {decimal(kappas['unswapped'])} as "
            f"in the file, {decimal(kappas['swapped'])} swapped."
        )
        yield Table("Recorded choices", ("rate", *MEASURED), rows, note).filled()


def _constraint_types(judges: Sequence[Measure]) -> Iterator[Table]:
    """Break the judges down by constraint type, the types that each finds hardest on top."""

    def hardness(item: tuple[str, Measure]) -> tuple[bool, float, str]:
        kind, rates = item
        value = rates["mean_f1"]["value"]
        return value is None, value or 0.0, kind

    for judge in judges:
        rows = [
            (
                taxonomy.name(kind, "en"),
                f"{rates['verdicts']:,}",
                percent(rates["coverage"], 1),
                *_estimated(rates["mean_f1"], rates),
                _rate(rates["f1_met"], rates),
                _rate(rates["f1_unmet"], rates),
                _rate(rates["kappa"], rates, decimal, 3),
            )
            for kind, rates in sorted(judge["by_constraint_type"].items(), key=hardness)
        ]
        if rows:
            yield Table(
                f"By constraint type: {judge['name']}",
                ("type", "verdicts", COVERAGE, "mean F1", INTERVAL, "F1 met", "F1 unmet", "κ"),
                rows,
                _brackets(judge["by_constraint_type"].values()).lstrip(),
            )


def _annotators(summary: Mapping[str, Any]) -> Iterator[Table]:
    against = summary.get("against_annotators")
    if against is None:
        return
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
        for name, each in [*against["judges"].items(), ("the annotators", against["annotators"])]
    ]
    yield Table(
        "Against each annotator",
        ("of", "pairs", "mean F1", INTERVAL, "F1 met", "F1 unmet", "bounds"),
        rows,
        "Each verdict against each annotator's; the annotators against "
        "each other. Bounds: if the undecided were wrong, and right.",
    )


def _alphas(summary: Mapping[str, Any]) -> Iterator[Table]:
    names = {"judges": "the judges", "annotators": "the annotators of the file"}
    alphas = {names[key]: value for key, value in summary.get("alpha", {}).items()}
    for judge in summary["judges"]:
        if "alpha_of_samples" in judge:
            alphas[judge["name"]] = judge["alpha_of_samples"]
    if alphas:
        rows = [
            (
                name,
                decimal(value["value"]),
                interval(value["interval"], decimal, 3),
                f"{value['constraints']:,}",
            )
            for name, value in alphas.items()
        ]
        yield Table(
            "Agreement among several (Krippendorff's α)",
            ("of", "α", INTERVAL, "constraints"),
            rows,
            "Among themselves, whatever the labels say. 1 is full agreement, 0 is chance.",
        )


def _calibration(judge: Measure) -> Iterator[Table]:
    calibrated = judge.get("calibration")
    if calibrated:
        rows = [
            (
                f"{group['low']:.1f} – {group['high']:.1f}",
                f"{group['verdicts']:,}",
                percent(group["confidence"], 1),
                percent(group["accuracy"], 1),
            )
            for group in calibrated["bins"]
        ]
        yield Table(
            f"Calibration: {judge['name']}",
            ("share of the votes", "verdicts", "confidence", "right"),
            rows,
            f"Expected calibration error: {_by_chance(calibrated['ece'])}. "
            f"Brier score: {_by_chance(calibrated['brier'])}. "
            "By chance: the mean of a judge that is right exactly as often as it says.",
        )


def _by_chance(score: Measure) -> str:
    """Write a score of calibration beside the one of a judge that is calibrated."""
    shown = estimate(score["value"], score.get("interval"))
    return f"{shown} %, by chance {percent(score['by_chance'], 1)} %"


def _pairs(pairs: Sequence[Measure], title: str = "Paired differences") -> Iterator[Table]:
    if not pairs:
        return
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
    yield Table(
        title,
        (*heads, "Δ right", INTERVAL, adjusted),
        rows,
        "On the verdicts that both decided, first minus second; right: verdicts equal to the "
        "label; ✓✗: only the first is right. p: the paired randomization test, which swaps the "
        "judges on whole instructions; below 0.05 it shows a difference."
        + (f" {more} more pairs in the JSON file." if more else "")
        + _brackets(pairs),
    ).filled()


def _costs(judges: Sequence[Measure]) -> Iterator[Table]:
    rows = []
    for judge in judges:
        if "cost" in judge:
            cost, each = judge["cost"], judge["cost"]["per_constraint"]
            tokens = (each["prompt_tokens"], each["completion_tokens"])
            rows.append(
                (
                    judge["name"],
                    f"{cost['judged']:,}",
                    f"{cost['calls']:,}",
                    " + ".join("–" if number is None else f"{number:,.0f}" for number in tokens),
                    _dollars(cost["dollars"], 4),
                    _dollars(each["dollars"], 6),
                )
            )
    if rows:
        yield Table(
            "Cost",
            ("judge", "decided", "calls", "tokens each", "in all", "each"),
            rows,
            "Each: for each constraint that was decided.",
        )


def _dollars(value: float | None, digits: int) -> str:
    return "unknown" if value is None else f"${value:,.{digits}f}"
