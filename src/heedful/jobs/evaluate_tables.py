"""The tables and the chart of an evaluation, and the rows that a terminal shows with them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core import taxonomy
from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.core.rubric import is_fault
from heedful.core.text import amount, one_line
from heedful.jobs.results import judged_by
from heedful.metrics.family import family_of
from heedful.metrics.general import BY_PRIORITY, CHECKED, CONSTRAINTS_MET, FULLY_MET, WEIGHTED
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.metric_names import heading, label, ranked
from heedful.reporting.notation import (
    INTERVAL,
    MEASURED,
    NOTHING,
    cells,
    cost_line,
    counted,
    interval,
    least,
    percent,
    rate,
    undecided,
    without_interval,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from heedful.metrics.family import Family
    from heedful.reporting.plots import Estimate

    Measure = Mapping[str, Any]

    from heedful.core.nouns import Constraint, Judgment
    from heedful.jobs.results import Scored


BY_CONSTRAINT = ("type", "verifier", "subtype", "priority")
BY_TAG = ("task", "split")
SCORE_BY = "score by "
OF_CONSTRAINT = "constraint "  # and the name of a tag

REASONS_SHOWN = 3
REASON_CHARACTERS = 300

IN_DOUBT = "cannot be decided by code: "
"""The beginning of a verifier's reason where it counted and readings disagree."""

LEADING = (
    ("constraints met", *CONSTRAINTS_MET),
    ("responses fully met", *FULLY_MET),
    ("met by priority", *BY_PRIORITY),
    ("weighted score", *WEIGHTED),
)
"""The rates that are said first: words, family and name."""

TURNS_SHOWN = 10

FAULTS_SHOWN = 5
"""Constraints that aren't met, or mistakes (of negative points) that were made."""

ROWS_LOOKED_AT = 1000
LONGEST = {"id": 24, "constraint": 80, "why": 100}
"""Characters of a cell."""

REPLY_SHOWN = 300
"""Characters of a reply that are shown."""

DRAWN = 30
"""Lines that a chart has at most."""

GROUPS_SHOWN = 12
"""Of a breakdown in a terminal: those that went worst; all are in summary.json."""

READ = (
    "Intervals: 95 %, Wilson's; samples of one instruction or conversation count together. Compare "
    "rates only under the same judge, protocol and scoring."
)

RANGES = (
    "A range is from the rate if all that is undecided were unmet to the rate if it were met; its "
    "interval is from the lower limit of the one to the upper limit of the other."
)


def view(summary: Mapping[str, Any], unmet: Table | None = None) -> RenderableType:
    """Lay out a summary for a terminal: the metrics, then the groups that went worst."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    decided = summary["verdicts"]["met"] + summary["verdicts"]["unmet"]
    shown = tables(summary, groups=GROUPS_SHOWN)
    # Where nothing was decided, one table says so.
    parts = list(shown) if decided else list(islice(shown, 1 if summary["metrics"] else 0))
    parts += [unmet] if unmet else []
    body = Document("", parts=parts, notes=list(notes(summary)))
    # In a narrow terminal, what a line goes on with stands below its beginning.
    head = [Padding.indent(Text(*line), depth) for depth, *line in _headline(summary)]
    return Group(*head, body.terminal())


def document(name: str, summary: Mapping[str, Any]) -> Document:
    """Lay out a summary as a document."""
    return Document(name, _paragraphs(summary), list(tables(summary)), list(notes(summary)))


def notes(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the notes to a summary."""
    if "columns" in summary:
        yield summary["columns"]
    yield from summary["notes"]
    for line in summary.get("adaptations", ()):
        yield f"sent differently than requested: {line}"
    contradictions = summary.get("contradictions")
    if contradictions and contradictions["count"]:
        turns = ", ".join(turn["id"] for turn in contradictions["turns"][:TURNS_SHOWN])
        more = ", …" if contradictions["count"] > TURNS_SHOWN else ""
        yield f"turns whose shipped flag contradicts their verdicts: {turns}{more}"


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Rates by name or group, as a table and as a chart."""

    title: str
    column: str
    measures: Sequence[tuple[str, Measure]]
    axis: str = "%"
    worst_first: bool = False

    def table(self, shown: int | None = None, note: str = "") -> Table:
        """Lay them out: all, or so many, the worst first, by what is known of them."""
        measures = _worst_first(self.measures) if shown is not None else [*self.measures]
        left = len(measures[shown:]) if shown is not None else 0
        more = f"{left:,} more in summary.json." if left else ""
        bare = without_interval(measure for _, measure in measures[:shown])
        rows = [(name, *cells(measure)) for name, measure in measures[:shown]]
        said = " ".join(filter(None, [note, more, bare]))
        return Table(heading(self.title), (self.column, *MEASURED), rows, said).filled()

    @property
    def is_drawn(self) -> bool:
        """Whether a chart says what they come to: the worst, or all if they are few."""
        return self.worst_first or len(self.measures) <= DRAWN

    def chart(self) -> Chart:
        """Draw them with their intervals and counts."""
        from heedful.reporting.plots import estimates_chart

        drawn = estimates(self.measures[:DRAWN])
        return Chart("rates", heading(self.title), estimates_chart(drawn, self.axis))


def _worst_first(measures: Iterable[tuple[str, Measure]]) -> list[tuple[str, Measure]]:
    return sorted(measures, key=lambda item: (least(item[1]), item[0]))


def estimates(measures: Iterable[tuple[str, Measure]]) -> list[Estimate]:
    """Turn rates into the points of a chart."""
    from heedful.reporting.plots import Estimate

    return [
        Estimate(name, measure["value"], measure["interval"], counted(measure))
        for name, measure in measures
    ]


def tables(summary: Mapping[str, Any], *, groups: int | None = None) -> Iterator[Table]:
    """Lay out a run's numbers."""
    brief = groups is not None
    yield _metrics(summary, "" if brief else READ)
    if summary["votes"]:
        yield votes_table(summary["votes"])
    by = summary["by"]
    for family in summary["metrics"]:
        of_benchmark = family_of(family)
        if of_benchmark is not None and of_benchmark.by_turn:
            yield _by_turn(by, of_benchmark)
    scored = [name for name in by if name.startswith(SCORE_BY)]
    tagged = [] if brief else [name for name in by if name.startswith(OF_CONSTRAINT)]
    # Where criteria have points, their score says more, and counts mistakes too.
    known = (*tagged, *_dimensions(summary["metrics"], brief=brief))
    dimensions = [
        *(scored[:1] if brief else scored),
        *(
            name
            for name in ("type", "verifier", "priority", *tagged)
            if name in known and SCORE_BY + name not in scored
        ),
        *BY_TAG,
    ]
    for dimension in dimensions:
        if (breakdown := breakdown_by(by, dimension)) is not None:
            yield breakdown.table(groups)
    if summary["undecided"] and not brief:
        reasons = [(item["reason"], f"{item['verdicts']:,}") for item in summary["undecided"]]
        yield Table("Undecided", ("reason", "verdicts"), reasons)


def _dimensions(families: Mapping[str, Any], *, brief: bool) -> tuple[str, ...]:
    """Choose the dimensions of constraints: IFEval's go by their verifiers too."""
    by_check = {CHECKED, *(name for name in families if (f := family_of(name)) and f.by_turn)}
    if not by_check & set(families):
        return ("type", "priority")
    return ("verifier",) if brief else ("type", "verifier", "priority")


def breakdown_by(by: Mapping[str, Any], dimension: str) -> Breakdown | None:
    """Break the rate of constraints down, or of samples the first rate that is said."""
    groups = {value: group for value, group in by.get(dimension, {}).items() if value != "dropped"}
    named = dimension.removeprefix(OF_CONSTRAINT).removeprefix(SCORE_BY)
    if groups and all("value" in group for group in groups.values()):
        title, measures = "constraints met", _of_constraints(groups)
    else:
        title, measures = _leading_rate(groups)
    column = dimension if title == "constraints met" else named
    of = f"{title}, %"
    return Breakdown(f"{title} by {named}", column, measures, of) if measures else None


def breakdowns_of(summary: Mapping[str, Any]) -> list[Breakdown]:
    """Break a run down by everything: constraints the worst first, samples in their order."""
    by = summary["by"]
    first = [name for name in BY_CONSTRAINT if name in by]
    found: list[Breakdown] = []
    counted = []
    for dimension in [*first, *(name for name in by if name not in first)]:
        breakdown = breakdown_by(by, dimension)
        if breakdown is None:
            continue
        if dimension in first or dimension.startswith(OF_CONSTRAINT):
            worst = _worst_first(breakdown.measures)
            numbers = [(name, of["numerator"], of["denominator"]) for name, of in worst]
            if numbers not in counted:  # IFEval's subtypes are its verifiers
                counted.append(numbers)
                found.append(replace(breakdown, measures=worst, worst_first=True))
        else:
            natural = sorted(breakdown.measures, key=lambda item: _natural(item[0]))
            found.append(replace(breakdown, measures=natural))
    return found


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort 2 before 10, and 1,024 after 512."""
    return [
        (int(digits), "") if digits else (-1, words)
        for digits, words in re.findall(r"(\d+)|(\D+)", name.replace(",", ""))
    ]


def metrics_of(summary: Mapping[str, Any]) -> Breakdown:
    """Name all rates of a run, and how its verdicts agree with labels."""
    measures = [
        (label(family, name, summary), measure)
        for family in ranked(summary["metrics"])
        for name, measure in summary["metrics"][family].items()
    ]
    measures += [
        (f"agreement with labels, {reading}", measure)
        for reading, measure in summary["labels"].get("agreement", {}).items()
        if measure["denominator"]
    ]
    return Breakdown("Metrics", "metric", measures)


def _metrics(summary: Mapping[str, Any], note: str) -> Table:
    rates = metrics_of(summary)
    if any(measure["value"] is None and measure["bounds"] for _, measure in rates.measures):
        note = f"{note} {RANGES}".strip()
    return rates.table(note=note)


def votes_table(votes: Mapping[str, Any]) -> Table:
    """Lay out each member's votes, and how often the members were not unanimous."""
    rows = []
    for judge, cast in votes["judges"].items():
        left = sum(cast[status] for status in ("unparsed", "failed", "unsupported"))
        shown = (f"{number:,}" for number in (cast["met"], cast["unmet"], left))
        rows.append((judge, *shown, percent(cast["with_majority"])))
    split = votes["disagreement"]
    note = ""
    if split["denominator"]:
        note = f"{_said(split, 2)} of verdicts not unanimous"
    return Table("Votes", ("judge", "met", "unmet", "undecided", "% majority"), rows, note)


def _by_turn(by: Mapping[str, Any], family: Family) -> Table:
    """Lay out the mean of four accuracies, languages down and turns across."""
    turns = list(by["turn"])
    rows = []
    for language, group in by["language"].items():
        by_turn = [by["language and turn"].get(f"{language} {turn}") for turn in turns]
        means = [cell and cell[family.name]["mean"] for cell in by_turn]
        shown = [rate(mean) if mean else NOTHING for mean in means]
        mean = group[family.name]["mean"]
        rows.append((language, *shown, rate(mean), interval(mean["interval"])))
    columns = ("language", *(f"turn {turn}" for turn in turns), "mean", INTERVAL)
    return Table(f"{family.title} by language and turn, %", columns, rows)


def _of_constraints(groups: Mapping[str, Measure]) -> list[tuple[str, Measure]]:
    """Give types their English names; those that share one keep their keys."""
    names = [taxonomy.name(key, "en") for key in groups]
    return [
        (name if names.count(name) == 1 else key, measure)
        for name, (key, measure) in zip(names, groups.items(), strict=True)
    ]


def _leading_rate(groups: Mapping[str, Any]) -> tuple[str, list[tuple[str, Measure]]]:
    """Choose the first rate of the benchmark that is said first, by group of samples."""
    families = ranked({key for group in groups.values() for key in group} - {"samples"})
    if not families:
        return "", []
    family = families[0]
    name = next(name for group in groups.values() for name in group.get(family, {}))
    measures = [
        (value, group[family][name])
        for value, group in groups.items()
        if name in group.get(family, {})
    ]
    return label(family, name), measures


def _paragraphs(summary: Mapping[str, Any]) -> list[str]:
    verdicts = summary["verdicts"]
    text = f"{_counted(summary)}; coverage {percent(summary['coverage'], 1)} %."
    failed = summary["rows"]["failed"]
    if failed:
        text += f" {_failed(failed)}."
    if summary.get("excluded"):
        text += f" {_excluded(summary)}."
    files = " with ".join(path.replace("\\", "/").split("/")[-1] for path in summary["input"] or ())
    how = (
        f"Judge {judged_by(summary)}, {summary['scoring']} scoring, seed {summary['seed']}, "
        f"heedful {summary['heedful']}" + (f", on {files}" if files else "") + "."
    )
    cost = [f"Cost: {cost_line(summary['cost'])}."] if "cost" in summary else []
    lead = [sentence(summary)] if verdicts["met"] + verdicts["unmet"] else []
    return [*lead, text, how, *cost]


def _excluded(summary: Mapping[str, Any]) -> str:
    return f"{amount(summary['excluded'], 'row')} left out, as no response was generated"


def _failed(rows: int) -> str:
    return f"{amount(rows, 'row')} could not be read or judged; they count as undecided"


def _counted(summary: Mapping[str, Any]) -> str:
    """Count the samples, the constraints, and the verdicts by status."""
    verdicts = ", ".join(
        f"{count:,} {status.replace('_', ' ')}"
        for status, count in summary["verdicts"].items()
        if count
    )
    samples, constraints = (amount(summary[f"{name}s"], name) for name in ("sample", "constraint"))
    return f"{samples}, {constraints}: {verdicts or 'no verdicts'}"


def _headline(summary: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yield the lines above the tables: how far each is indented, its text and its style."""
    verdicts = summary["verdicts"]
    decided = verdicts["met"] + verdicts["unmet"]
    shown = [f"{words} {_said(measure)}" for words, measure in rates(summary)]
    yield 0, "", ""
    if decided and shown:
        whole = all(measure["value"] is not None for _, measure in rates(summary))
        for line in [" · ".join(shown)] if whole else shown:
            yield 2, line, "bold"
    yield 2, _counted(summary), ""
    applicable = summary["constraints"] - verdicts.get("not_applicable", 0)
    coverage = f"coverage {percent(summary['coverage'], 1)} %"
    yield 2, f"{decided:,} of {applicable:,} verdicts decided, {coverage}", ""
    if summary["rows"]["failed"]:
        yield 2, _failed(summary["rows"]["failed"]), "bold red"
    if summary.get("excluded"):
        yield 2, _excluded(summary), "yellow"
    for line in _reasons(summary):
        yield 4, line, "yellow"
    if len(summary["decided_by"]) > 1:
        by = (f"{judge} {count:,}" for judge, count in summary["decided_by"].items())
        yield 2, f"decided by {', '.join(by)}", ""
    if "proposals" in summary:
        texts = amount(summary["proposals"]["compiled"], "text")
        refused = f"{summary['proposals']['refused']:,} refused"
        yield 2, f"{texts} compiled with a model's help, {refused}", ""
    if "cost" in summary:
        yield 2, cost_line(summary["cost"]), ""
    if "saved" in summary:
        yield 2, _saved(summary["saved"]), ""
    yield 2, f"judge {judged_by(summary)}, {summary['scoring']} scoring", ""
    yield 0, "", ""


def _reasons(summary: Mapping[str, Any]) -> Iterator[str]:
    """Say why verdicts are missing: those that need a model together, then the commonest."""
    left = summary.get("needs_model", 0)
    if left:
        yield f"{left:,} undecided: code does not decide them, and no model was asked"
        yield from _in_doubt(summary)
    others = [item for item in summary["undecided"] if not item.get("needs_model")]
    for item in others[:REASONS_SHOWN]:
        yield f"{item['verdicts']:,} undecided: {one_line(item['reason'], REASON_CHARACTERS)}"
    rest = sum(summary["verdicts"][status] for status in ("unparsed", "failed", "unsupported"))
    rest -= left + sum(item["verdicts"] for item in others[:REASONS_SHOWN])
    if rest > 0:
        yield f"{rest:,} more, for other reasons: undecided in summary.json"


def _in_doubt(summary: Mapping[str, Any]) -> Iterator[str]:
    """Say why code that counted did not decide, of the verdicts that are left to a model."""
    doubts: Counter[str] = Counter()
    for item in summary["undecided"]:
        _, in_doubt, why = item["reason"].partition(IN_DOUBT)
        if item.get("needs_model") and in_doubt:
            doubts[why] += item["verdicts"]
    for why, count in doubts.most_common(REASONS_SHOWN):
        yield f"  {count:,} of these: {one_line(why, REASON_CHARACTERS)}"


def rates(summary: Mapping[str, Any]) -> list[tuple[str, Measure]]:
    """Name the rates that say most, in plain words, in the order in which they are said."""
    metrics = summary["metrics"]
    measures = [(words, metrics.get(family, {}).get(name)) for words, family, name in LEADING]
    # A rate of which nothing is decided is said too: not to say it would hide that.
    return [(words, each) for words, each in measures if each and each["bounds"]]


def _said(measure: Measure, digits: int = 1) -> str:
    """Write a rate; a range with how much is undecided."""
    left = undecided(measure)
    why = f": {left} undecided" if left and measure["value"] is None else ""
    return f"{rate(measure, digits)} %{why}"


def sentence(summary: Mapping[str, Any]) -> str:
    """Sum a run up in a sentence, as for a pull request."""
    said = []
    for words, measure in rates(summary):
        between = measure["value"] is not None and measure.get("interval")
        bounds = f" ({INTERVAL} {interval(between)})" if between else ""
        said.append(f"{words} {_said(measure)}{bounds}")
    rows = amount(summary["samples"], "response")
    if summary["samples"] and not summary["constraints"]:
        return f"{rows}: no sample has a constraint."
    coverage = f"{percent(summary['coverage'], 1)} % of the verdicts decided"
    return f"{rows}: {', '.join(said) or 'nothing decided'}; {coverage}."


def _saved(saved: Mapping[str, Any]) -> str:
    parts = [f"code saved the model {amount(saved['verdicts'], 'verdict')}"]
    if saved["rows"]:
        parts.append(
            f"{amount(saved['rows'], 'whole row')} (about {amount(saved['calls'], 'call')})"
        )
    if saved["prompt_tokens"] is not None:
        tokens = saved["prompt_tokens"] + saved["completion_tokens"]
        parts.append(f"about {amount(tokens, 'token')}")
    return ", ".join(parts)


def rates_chart(summary: Mapping[str, Any], by: str | None = None) -> Chart:
    """Draw rates with their intervals and counts."""
    from heedful.reporting.plots import estimates_chart

    drawn = metrics_of(summary) if by is None else breakdown_by(summary["by"], by)
    if drawn is None:
        raise UsageError(f"no rates by {by!r}", hint=f"there are {', '.join(summary['by'])}")
    title = f"{heading(drawn.title)}, with 95 % intervals"
    return Chart("rates", title, estimates_chart(estimates(drawn.measures)))


def unmet(summary: Mapping[str, Any], rows: Iterable[Scored]) -> Table | None:
    """Lay out the first faults, in the order of the input; ``None`` without any."""
    penalised = any("negative weights" in note for note in summary["notes"])
    count = summary["verdicts"]["unmet"]
    faults = list(islice(_found(rows), FAULTS_SHOWN)) if count or penalised else []
    if not faults:
        return None
    note = ""
    if penalised:
        note = "Mistakes are marked −; heedful view shows all."
    elif count > len(faults):
        note = f"The first {len(faults)} of {count:,}; heedful view shows all."
    return Table(
        "Unmet, and mistakes made" if penalised else "Unmet",
        ("sample", "constraint", "why"),
        faults,
        note,
        words=3,
    )


def _found(rows: Iterable[Scored]) -> Iterator[tuple[str, ...]]:
    for row in islice(rows, ROWS_LOOKED_AT):
        if row.sample is None or row.critique is None:
            continue
        for constraint, judgment in zip(row.sample.checklist, row.critique.judgments, strict=False):
            if is_fault(constraint, judgment.status):
                mark = "− " if judgment.status is Status.MET else ""
                texts = (row.id, mark + constraint.text, judgment.explanation)
                yield tuple(map(one_line, texts, LONGEST.values()))


class UnreadReply(NamedTuple):
    """A reply from which a verdict is missing."""

    id: str
    reason: str
    text: str
    hint: str  # what to change, where that is known


def example(summary: Mapping[str, Any], rows: Iterable[Scored]) -> UnreadReply | None:
    """Return one unreadable reply of a model, if there is one."""
    if not summary["verdicts"]["unparsed"]:
        return None
    return next(filter(None, map(_unread, islice(rows, ROWS_LOOKED_AT))), None)


def _unread(row: Scored) -> UnreadReply | None:
    sample, critique = row.sample, row.critique
    if sample is None or critique is None or critique.text is None or not critique.expenses:
        return None
    judgments = critique.judgments
    reason = next((each.explanation for each in judgments if each.status is Status.UNPARSED), None)
    if reason is None:
        return None
    text = _once(critique.text)
    pairs = zip(sample.checklist, judgments, strict=True)
    asked = [pair for pair in pairs if pair[1].judge == critique.expenses[-1].judge]
    return UnreadReply(
        row.id, reason, one_line(text, REPLY_SHOWN) or "(nothing)", _hint(text, asked)
    )


def _once(text: str) -> str:
    """Drop the repetition where a second request got the same reply."""
    half = text[: len(text) // 2 - 1]
    return half if text == f"{half}\n\n{half}" else text


def _hint(text: str, asked: Sequence[tuple[Constraint, Judgment]]) -> str:
    """Name the prompt whose parser reads more of the reply, or another likely reason."""
    from heedful.judges import prompts

    constraints = [constraint for constraint, _ in asked]
    decided = sum(judgment.status.decided for _, judgment in asked)
    for name in prompts.NAMES:
        read = prompts.make(name).parse(text, constraints)
        if sum(judgment.status.decided for judgment in read) > decided:
            return f"this looks like a reply to the prompt {name}: --prompt {name}"
    if not text.strip():
        return "the reply is empty: raise --max-completion-tokens, or use another --prompt"
    return ""
