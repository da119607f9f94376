"""The page of an alignment: what changed, and what it brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.analysis.align.proposals import CAUSES, VOTES
from heedful.core.text import amount, one_line
from heedful.judges.protocol import ALL
from heedful.reporting.document import Document
from heedful.reporting.notation import INTERVAL, decimal, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RATE_NAMES = {"balanced_accuracy": "balanced accuracy", "accuracy": "accuracy"}


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out an alignment as a document."""
    parts, labels = summary["parts"], summary["labels"]
    divided = (
        f"{amount(labels['met'] + labels['unmet'], 'label')}: "
        f"{parts['choose']['instructions']} instructions chose, "
        f"{parts['prove']['instructions']} others measured the choice."
    )
    return Document(
        "Aligned judge", [_headline(summary), divided], [*_tables(summary)], [*_notes(summary)]
    )


def _headline(summary: Mapping[str, Any]) -> str:
    proof = summary["proof"]
    rate = RATE_NAMES[summary["rate"]]
    if proof is None:
        return "No gain is shown: no candidate was better on the rows that choose."
    gain = f"{rate} {signed(proof['difference']['value'], 1)} points"
    between = interval(proof["difference"]["interval"], signed)
    sides = " to ".join(
        percent(proof[side]["accuracy_compared"]["value"], 1) for side in ("before", "after")
    )
    shown = {"gain": "A gain is shown", "loss": "A loss is shown"}.get(
        proof["shown"], "No gain is shown"
    )
    kept = "" if proof["shown"] == "gain" else " The protocol stays as it is."
    return (
        f"{shown}: {gain} ({between}), {sides} %, on rows that didn't choose. "
        f"Chosen: {summary['chosen']}.{kept}"
    )


def _tables(summary: Mapping[str, Any]) -> Iterator[Table]:
    if summary["proof"] is not None:
        yield _before_and_after(summary["proof"])
        yield from _words(summary)
    rows = [
        (
            _group(group),
            f"{group['verdicts']:,}",
            f"{group['disagreements']:,}",
            *(f"{group['causes'].get(cause, 0) or ''}" for cause in CAUSES),
        )
        for group in summary["groups"]
        if group["disagreements"]
    ]
    note = "Causes are a model's guess, for some of each. A wrong label is changed in heedful view."
    columns = ("criteria", "verdicts", "differ", *CAUSES.values())
    yield Table("Where the judge and people differ, on choose", columns, rows, note)
    tried = [
        (
            each["name"],
            "" if each["gain_on_choose"] is None else signed(each["gain_on_choose"], 1),
            f"{each['tried_on']:,}" if each["tried_on"] else "too dear",
            "" if each["tokens"] is None else f"{each['tokens']:,.0f}",
        )
        for each in summary["candidates"]
    ]
    note = (
        "Against the present protocol, on the instructions that choose: the best of many is partly "
        "lucky, so this isn't what a change is worth. Worse ones were tried on fewer instructions."
    )
    heads = ("change", "Δ on choose", "instructions", "tokens a criterion")
    yield Table("What was tried", heads, tried, note)


def _before_and_after(proof: Mapping[str, Any]) -> Table:
    names = {
        "mean_f1": "mean F1 %",
        "f1_unmet": "F1 unmet %",
        "accuracy": "accuracy %",
        "kappa": "κ",
    }
    rows = []
    for rate, name in names.items():
        shown = decimal if rate == "kappa" else percent
        cells = [
            cell
            for side in ("before", "after")
            for cell in (
                shown(proof[side][rate]["value"], 2 if rate == "kappa" else 1),
                interval(proof[side][rate]["interval"], shown, 2 if rate == "kappa" else 1),
            )
        ]
        rows.append((name, *cells))
    for group in proof["by_group"]:
        before, after = group["errors"]
        rows.append((f"errors, {_group(group)}", f"{before}", "", f"{after}", ""))
    columns = ("on the rows that didn't choose", "before", INTERVAL, "after", INTERVAL)
    return Table("Before and after", columns, rows)


def _words(summary: Mapping[str, Any]) -> Iterator[Table]:
    protocol, present = summary["protocol"], summary["present"]
    rows = [
        (_kind(name) if part == "notes" else name, str(value))
        for part in ("criteria", "notes")
        for name, value in protocol[part].items()
        if present[part].get(name) != value
    ]
    before, after = ({"judge": each["judge"], **each["options"]} for each in (present, protocol))
    rows += [
        (name, " → ".join(", ".join(v) if isinstance(v, list) else str(v) for v in pair))
        for name, value in after.items()
        if (pair := (before.get(name, "default"), value))[0] != value
    ]
    yield Table("What was chosen", ("criterion or setting", "shown to the judge"), rows, words=2)


def _kind(name: str) -> str:
    return "every criterion" if name == ALL else f"criteria of type {name}"


def _group(group: Mapping[str, Any]) -> str:
    if group["name"] == ALL:
        return "without a type"
    return f"{group['kind']} {one_line(group['name'], 60)}"


def _notes(summary: Mapping[str, Any]) -> Iterator[str]:
    doubted = [
        f"{each['id']} ({each['constraint']})"
        for group in summary["groups"]
        for each in group["doubted_labels"]
    ]
    if doubted:
        more = ", …" if len(doubted) > 10 else ""  # noqa: PLR2004 - a line
        yield f"Labels to look at again, by row and criterion: {', '.join(doubted[:10])}{more}"
    votes = next((c for c in summary["candidates"] if c["name"] == f"{VOTES} votes"), None)
    if votes and (votes["gain_on_choose"] or 0) > 0 and "votes" not in str(summary["chosen"]):
        yield f"{VOTES} votes were better on choose, too: part of the errors are slips."
    if summary.get("proofs", 1) > 1:
        yield (
            f"{summary['proofs']} protocols have been measured on these rows: with each, a gain is "
            "more likely to be luck. Label new rows for a fresh proof."
        )
