"""A meta-evaluation as tables, for a terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.analysis.meta.rankings import choice_tables, ranking_tables
from heedful.core import taxonomy
from heedful.core.text import amount
from heedful.reporting.document import Document
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    MEASURED,
    NOTHING,
    bounded,
    bounds,
    cells,
    decimal,
    estimate,
    interval,
    p_value,
    percent,
    signed,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType


__all__ = ["document", "view"]

TITLE = "How good are the judges?"

BRACKETS_OPEN = "In brackets: bounds, if none of the undecided flipped, and if all did."

PAIRS_SHOWN = 15
"""More pairs than this are left to the file."""


def view(summary: Mapping[str, Any]) -> RenderableType:
    """Lay out a meta-evaluation for a terminal."""
    return document(summary).terminal()


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out a meta-evaluation as a document."""
    return Document(TITLE, [headline(summary)], list(tables(summary)), summary["notes"])


def headline(summary: Mapping[str, Any]) -> str:
    """Say what was measured on what."""
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
        yield leaderboard(judges, faithful=summary["scoring"] == "faithful")
        yield errors(judges)
        yield averages(judges, summary["by"])
    yield from levels(judges)
    yield from ranking_tables(judges, summary["by"])
    yield from choice_tables(summary.get("choices"))
    yield from constraint_types(judges)
    yield from _annotators(summary)
    yield from _alphas(summary)
    for judge in judges:
        yield from _calibration(judge)
    yield from _pairs(summary["pairs"])
    yield from _costs(judges)
    yield from _probes(summary.get("probes", ()))
    yield from _corrections(summary.get("corrected", ()))
    if "explanations" in summary:
        yield _explanations(summary["explanations"])


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


def _calibration(judge: Mapping[str, Any]) -> Iterator[Table]:
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


def _by_chance(score: Mapping[str, Any]) -> str:
    """Write a score of calibration beside the one of a judge that is calibrated."""
    shown = estimate(score["value"], score["interval"])
    return f"{shown} %, by chance {percent(score['by_chance'], 1)} %"


def _p_value(p: float | None) -> str:
    return NOTHING if p is None else p_value(p)


def _pairs(pairs: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    if not pairs:
        return
    rows = [
        (
            f"{pair['first']} − {pair['second']}",
            f"{pair['compared']:,}",
            bounded_rate(pair["mean_f1"], pair, signed),
            interval(pair["mean_f1"]["interval"], signed),
            _p_value(pair["mean_f1"]["p_holm"]),
            bounded_rate(pair["accuracy"], pair, signed),
            interval(pair["accuracy"]["interval"], signed),
            _p_value(pair["accuracy"]["p_holm"]),
            percent(pair["coverage"], 1) if pair["coverage"] < 1 else "",
        )
        for pair in pairs[:PAIRS_SHOWN]
    ]
    more = len(pairs) - len(rows)
    adjusted = "p (Holm)" if len(pairs) > 1 else "p"
    yield Table(
        "Paired differences",
        (
            "judges",
            "both",
            "Δ mean F1",
            INTERVAL,
            adjusted,
            "Δ right",
            INTERVAL,
            adjusted,
            COVERAGE,
        ),
        rows,
        "On the verdicts that both decided, first minus second; right: verdicts equal to the "
        "label. p: the paired randomization test, which swaps the judges on whole instructions; "
        "below 0.05 it shows a difference."
        + (f" {more} more pairs in the JSON file." if more else "")
        + brackets(pairs),
    ).filled()


def _costs(judges: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
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


def _probes(probes: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    if not probes:
        return
    yield Table(
        "Probes",
        ("probe: judge", "both", "flipped", INTERVAL, "→ met", "→ unmet", "✓→✗", "✗→✓", COVERAGE),
        [
            (
                f"{probe['probe']}: {probe['judge']}",
                f"{probe['compared']:,}",
                bounded_rate(probe["flipped"], probe),
                interval(probe["flipped"]["interval"]),
                f"{probe['to_met']:,}",
                f"{probe['to_unmet']:,}",
                f"{probe['broken']:,}",
                f"{probe['corrected']:,}",
                percent(probe["coverage"], 1) if probe["coverage"] < 1 else "",
            )
            for probe in probes
        ],
        "Verdicts that changed when the same was judged again (repeat), with the checklist in "
        "another order (order), with a closing paragraph below the response (length)."
        + (f" {BRACKETS_OPEN}" if any(probe["coverage"] < 1 for probe in probes) else ""),
    ).filled()


def _corrections(corrected: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    names = {
        "apparent": "met, as judged",
        "corrected": "met, corrected",
        "sensitivity": "the judge's sensitivity",
        "specificity": "the judge's specificity",
    }
    for correction in corrected:
        run, labelled = correction["coverage"], correction["coverage_of_labelled"]
        coverages = {
            "apparent": run,
            "corrected": min(run, labelled),
            "sensitivity": labelled,
            "specificity": labelled,
        }
        note = (
            "The share of constraints met, corrected for the judge's known errors (Rogan–Gladen), "
            "if it errs here as often as on the labelled rows."
        )
        if not correction["same_settings"]:
            note += " It had other settings here, so it may not."
        yield Table(
            f"Corrected rate: {correction['run']}",
            (correction["judge"], "%", INTERVAL, COVERAGE, "bounds"),
            [
                (
                    name,
                    percent(correction[key]["value"], 1),
                    interval(correction[key]["interval"]),
                    percent(coverages[key], 1),
                    bounds({**correction[key], "coverage": coverages[key]}),
                )
                for key, name in names.items()
            ],
            note,
        ).filled()


def _explanations(comparison: Mapping[str, Any]) -> Table:
    outcomes = comparison["outcomes"]
    lost = comparison["rows"]["failed"]
    failed = f" Of those undecided, {lost:,} failed." if lost else ""
    return Table(
        f"Explanations, compared by {comparison['arbiter']}",
        ("judges", "win %", INTERVAL, "won", "lost", "tie", "mixed", "undec.", COVERAGE, "bounds"),
        [
            (
                f"{comparison['first']} against {comparison['second']}",
                percent(comparison["win_rate"]["value"], 1),
                interval(comparison["win_rate"]["interval"]),
                *(f"{outcomes[key]:,}" for key in ("first", "second", "tie", "inconsistent")),
                f"{outcomes['undecided']:,}",
                percent(comparison["coverage"], 1),
                bounds({**comparison["win_rate"], "coverage": comparison["coverage"]}),
            )
        ],
        "Where both came to the same verdict. Won: preferred in both orders; mixed: the answer "
        "changed with the order. Ties and mixed ones are half a win. What was shown first was "
        f"preferred {comparison['shown_first_preferred']:,} times, what was shown second "
        f"{comparison['shown_second_preferred']:,} times.{failed}",
    ).filled()


def _dollars(value: float | None, digits: int) -> str:
    return "unknown" if value is None else f"${value:,.{digits}f}"


UNDECIDED = ("unparsed", "failed", "unsupported", "not_applicable", "missing")

BRACKETS = "In brackets: bounds, if the undecided were wrong, and if they were right."


def leaderboard(judges: Sequence[Mapping[str, Any]], *, faithful: bool) -> Table:
    """Lay out the judges' rates over all verdicts, the best judge first."""
    note = "In per cent, pooled over the verdicts that were decided: compare first how many were."
    if faithful:
        note = "In per cent, pooled over all verdicts: what was not decided is taken as met."
    return Table(
        "Leaderboard",
        ("judge", "mean F1", INTERVAL, "F1 met", "F1 unmet", "bal.acc", "κ", COVERAGE),
        [
            (
                judge["name"],
                bounded_rate(judge["pooled"]["mean_f1"], judge),
                interval(judge["pooled"]["mean_f1"]["interval"]),
                bounded_rate(judge["pooled"]["f1_met"], judge),
                bounded_rate(judge["pooled"]["f1_unmet"], judge),
                bounded_rate(judge["pooled"]["balanced_accuracy"], judge),
                bounded_rate(judge["pooled"]["kappa"], judge, decimal, 3),
                percent(judge["coverage"], 1),
            )
            for judge in judges
        ],
        note + brackets(judges),
        # The averages have these too, and a terminal has no room for both.
        details=("F1 met", "F1 unmet") if any(judge["coverage"] < 1 for judge in judges) else (),
    )


def bounded_rate(
    measure: Mapping[str, Any], of: Mapping[str, Any], write: Any = percent, digits: int = 1
) -> str:
    """Write a rate, with its bounds below it if not all of what it is of was decided."""
    shown = write(measure["value"], digits)
    return bounded(shown, {**measure, "coverage": of["coverage"]}, write, digits)


def brackets(measured: Iterable[Mapping[str, Any]]) -> str:
    """Say what stands in brackets, if anything does."""
    below = any(each["coverage"] < 1 for each in measured)
    return f" {BRACKETS}" if below else ""


def errors(judges: Sequence[Mapping[str, Any]]) -> Table:
    """Lay out the verdicts by label, and why others weren't reached."""
    rows = []
    for judge in judges:
        cells, verdicts = judge["pooled"]["cells"], judge["verdicts"]
        reasons = [f"{verdicts[name]:,} {name}" for name in UNDECIDED if verdicts.get(name)]
        counts = [f"{cells[name]:,}" for name in ("tp", "fn", "tn", "fp")]
        rows.append((judge["name"], *counts, ", ".join(reasons) or "0"))
    return Table(
        "Verdicts",
        ("judge", "met ✓", "met ✗", "unmet ✓", "unmet ✗", "undecided"),
        rows,
        "By label: met ✗ is a constraint that is met and was called unmet."
        + (
            " A vote that ends in a tie is unparsed."
            if any(judge["votes"] for judge in judges)
            else ""
        ),
    )


def levels(judges: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Lay out how judges agree with labels that name levels; nothing where none does."""
    rows = [
        (
            judge["name"],
            *cells(found["exact"]),
            *_kappa(found["weighted_kappa"]),
            *_kappa(found["not_applicable_kappa"]),
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


def _kappa(measured: Mapping[str, Any]) -> tuple[str, str]:
    return decimal(measured["value"]), interval(measured["interval"], decimal, 3)


def averages(judges: Sequence[Mapping[str, Any]], by: str) -> Table:
    """Lay out F1 averaged over verdicts, instructions and the values of a tag."""
    names = {"pooled": "pooled", "per_instruction": "per instruction", "per_type": f"per {by}"}
    rows = []
    for judge in judges:
        for key, name in names.items():
            if key in judge:
                shown = [judge[key][rate] for rate in ("mean_f1", "f1_met", "f1_unmet")]
                cells = (
                    cell
                    for rate in shown
                    for cell in (bounded_rate(rate, judge), interval(rate["interval"]))
                )
                covered = percent(judge["coverage"], 1) if judge["coverage"] < 1 else ""
                rows.append((f"{judge['name']}: {name}", *cells, covered))
    return Table(
        "Averages",
        (
            "judge: averaged",
            "mean F1",
            INTERVAL,
            "F1 met",
            INTERVAL,
            "F1 unmet",
            INTERVAL,
            COVERAGE,
        ),
        rows,
        "Pooled: over verdicts. Per instruction: F1 of each instruction, then the mean. "
        f"Per {by}: the mean of those means, one for each {by}.{brackets(judges)}",
    ).filled()


def constraint_types(judges: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Break the judges down by constraint type, the types that each finds hardest on top."""

    def hardness(item: tuple[str, Mapping[str, Any]]) -> tuple[bool, float, str]:
        kind, rates = item
        value = rates["mean_f1"]["value"]
        return value is None, value or 0.0, kind

    for judge in judges:
        rows = [
            (
                taxonomy.name(kind, "en"),
                f"{rates['verdicts']:,}",
                bounded_rate(rates["mean_f1"], rates),
                interval(rates["mean_f1"]["interval"]),
                bounded_rate(rates["f1_met"], rates),
                bounded_rate(rates["f1_unmet"], rates),
                bounded_rate(rates["kappa"], rates, decimal, 3),
                percent(rates["coverage"], 1),
            )
            for kind, rates in sorted(judge["by_constraint_type"].items(), key=hardness)
        ]
        if rows:
            yield Table(
                f"By constraint type: {judge['name']}",
                ("type", "verdicts", "mean F1", INTERVAL, "F1 met", "F1 unmet", "κ", COVERAGE),
                rows,
                brackets(judge["by_constraint_type"].values()).lstrip(),
            )
