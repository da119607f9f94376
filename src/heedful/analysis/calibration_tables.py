"""The tables of a calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.reporting.document import Document
from heedful.reporting.notation import INTERVAL, decimal, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["document"]

RATES = {"csr": "constraints met", "isr": "responses fully met", "score": "weighted score"}

FEW_LABELS = 30


def document(result: Mapping[str, Any]) -> Document:
    """Lay out a calibration as a document."""
    text = (
        f"{RATES[result['rate']].capitalize()}, as people would find: "
        f"{percent(result['value'], 1)} % ({interval(result['interval'])}), from "
        f"{amount(result['labels'], 'labelled row')} of {result['units']:,}."
    )
    note = (
        "PPI++: the judge's verdicts on all rows, corrected by its errors on those drawn at "
        "random. Intervals: 95 %, rows independent of each other, for all rows that these stand "
        "for: of the run's own rows alone more is known."
    )
    notes = [note]
    if result["coverage"] < 1:
        covered = percent(result["coverage"], 1)
        notes.append(
            f"The judge decided {covered} % of the verdicts; rows go by what it decided, and one "
            "without any by the mean of the others. Labels correct for that, too."
        )
    if result["labels"] < FEW_LABELS:
        few = amount(result["labels"], "label")
        notes.append(f"{few} say little: with fewer than {FEW_LABELS} the intervals are rough.")
    return Document("Calibration", [text], list(_tables(result)), notes)


def _tables(result: Mapping[str, Any]) -> Iterator[Table]:
    rows = [
        ("PPI++", percent(result["value"]), interval(result["interval"])),
        ("labels alone", percent(result["classical"]), interval(result["classical_interval"])),
        ("the judge alone", percent(result["judged"]), interval(None)),
    ]
    note = f"The verdicts weigh {decimal(result['weight'], 2)}: 0 is labels alone, 1 all they can."
    yield Table("Rate", ("from", "%", INTERVAL), rows, note)
    kinds = result.get("kinds", {})
    if kinds:
        heads = (result["draw"]["by"], "%", INTERVAL, "judge %", "labels")
        lines = [
            (
                kind,
                percent(each["value"]),
                interval(each["interval"]),
                percent(each["judged"]),
                f"{each['labels']:,}",
            )
            for kind, each in kinds.items()
        ]
        yield Table(f"By {result['draw']['by']}", heads, lines)
    bias = result["bias"]
    errors = {"all": bias["error"], **bias["models"]}
    columns = ("model", "error", INTERVAL, "rows")
    by_model = [
        (name, signed(each["value"]), interval(each["interval"], signed), f"{each['rows']:,}")
        for name, each in errors.items()
    ]
    length = bias["length"]
    note = (
        "Verdict minus label, in points: above 0 the judge is too kind. Rank correlation of the "
        f"error with the response's length: {decimal(length['rho'], 2)} "
        f"({interval(length['interval'], decimal, 2)})."
    )
    yield Table("Errors by the model that answered", columns, by_model, note)
