"""An estimate as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from heedful.core.text import amount
from heedful.reporting.notation import percent, price
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from heedful.engine.dry_run import Estimate


def estimate_view(estimate: Estimate, max_cost: float | None = None) -> RenderableType:
    """Lay out what a run would take."""
    judging = "judge" in estimate
    caller = "judge" if judging else "model"
    text = _rows(estimate["rows"], "judged" if judging else "asked for")
    names = estimate["judge"] if judging else ", ".join(estimate.get("models", ()))
    text.append(f"\n  {caller} {names}\n" if names else "\n")
    on_top = estimate.get("on_top")
    if not estimate["calls"] and not estimate["submitted"]:
        return Group(text, Text(f"  {on_top or 'no call to a model is needed'}\n"))
    rows = [(_caller(judge), *_taken(judge)) for judge in estimate["judges"]]
    if len(estimate["judges"]) > 1:
        rows.append(("all", *_taken(estimate)))
    columns = (caller, "calls", "tokens in", "tokens out", "dollars")
    table = Table("", columns, rows).terminal()
    notes = _notes(estimate, max_cost)
    return Group(text, table, *(Padding(Text(note, style="dim"), (0, 2)) for note in notes))


def _notes(estimate: Estimate, max_cost: float | None) -> list[str]:
    """Say what the numbers rest on, and what comes beside them."""
    dollars, spent = estimate["dollars"], estimate["spent"]
    notes = [f"Tokens in are estimated from the prompts; tokens out: {estimate['assumptions']}."]
    if estimate.get("on_top"):
        notes.append(estimate["on_top"])
    notes += _images(estimate)
    if estimate["reused"]:
        notes.append(f"{amount(estimate['reused'], 'answer')} at hand, or the same as another's")
    if estimate["submitted"]:
        notes.append(f"{amount(estimate['submitted'], 'request')} in batches under way: bought")
    shared = estimate.get("prefix_tokens")
    if shared and estimate["prompt_tokens"]:
        share = percent(shared / estimate["prompt_tokens"], 0)
        notes.append(
            f"{share} % of tokens in begin as an earlier prompt does: a prefix cache would hold "
            "them (the dollars don't count on it)"
        )
    batched = estimate.get("batch_dollars")
    if batched:
        notes.append(f"with --executor batch: {price(batched)}, within a day")
    unpriced = {str(each["model"]) for each in estimate["judges"] if each["dollars"] is None}
    if unpriced:
        notes.append(
            f"{', '.join(sorted(unpriced))}: no price is known; give it with --prices FILE"
        )
    if spent:
        notes.append(f"spent in this run so far: {price(spent)}")
    if max_cost is not None and dollars is not None and dollars + (spent or 0.0) > max_cost:
        notes.append(f"--max-cost {max_cost:g} would probably stop the run before it is done")
    return notes


def _images(estimate: Estimate) -> list[str]:
    """Say that images aren't in the estimate, if there are any."""
    if not estimate.get("images"):
        return []
    shown = amount(estimate["images"], "image")
    return [f"tokens and dollars leave out {shown}: each provider counts them in its own way"]


def _rows(rows: Mapping[str, int], verb: str) -> Text:
    text = Text(f"\n  {amount(rows['read'], 'row')}")
    counted = {"done before": "done", "unchanged": "unchanged", f"cannot be {verb}": "failed"}
    for what, name in counted.items():
        text.append(f", {rows[name]:,} {what}" if rows.get(name) else "")
    return text


def _caller(judge: Mapping[str, Any]) -> str:
    """Name who requests and which model, unless the name holds the model."""
    who, model = str(judge["judge"]), str(judge["model"])
    return who if model in who else f"{who}: {model}"


def _taken(estimate: Mapping[str, Any]) -> tuple[str, str, str, str]:
    counts = (estimate[name] for name in ("calls", "prompt_tokens", "completion_tokens"))
    calls, prompt, completion = (f"{count:,}" for count in counts)
    return calls, prompt, completion, price(estimate["dollars"])
