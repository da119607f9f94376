"""Induce criteria from good and bad responses, and measure how well each separates others.

``rated rows → choose | prove → proposals from choose → judged on prove → good less bad``
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from heedful.analysis.align.options import Trying
from heedful.analysis.align.proposals import LONGEST, ask, read, text_of
from heedful.analysis.meta.bench import Bench
from heedful.analysis.meta.labels import preferred
from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.nouns import Constraint, Sample, Status
from heedful.engine.dry_run import end_dry_run, is_dry_run
from heedful.engine.options import taken
from heedful.engine.runner import finish
from heedful.jobs.checklists.compiled import write_samples
from heedful.judges.making import make_judge
from heedful.judges.options import CHECKLIST, JudgeOptions
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import fill, shipped
from heedful.metrics.agreement import holm
from heedful.metrics.clusters import CHOOSING, cluster_of, place_of
from heedful.metrics.contrasts import LEVEL, contrast
from heedful.models.options import CallOptions
from heedful.reporting.document import Document
from heedful.reporting.notation import INTERVAL, interval, p_value, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping, Sequence

    from heedful.analysis.align.options import AlignOptions
    from heedful.analysis.meta.options import MetaOptions
    from heedful.engine.inputs import Data
    from heedful.jobs.evaluate import Evaluation
    from heedful.models.base import AnyModel

MOST = 8
"""Criteria that are asked for in a call, and that are measured."""

PAIRS, CALLS = 3, 8
"""Pairs that a call shows, and calls at most."""

Sides = dict[bytes, tuple[list[Sample], list[Sample]]]
"""By instruction its good responses and its bad ones."""


def induce(
    data: Data,
    *,
    judge: str = CHECKLIST,
    output: str | os.PathLike[str] | None = None,
    seed: int = 0,
    **options: Unpack[AlignOptions],
) -> dict[str, Any]:
    """Have a model propose criteria that separate good responses from bad, and measure each.

    Args:
        data: rows with labels, with ``preferred_to``, or with a number ``reward`` or ``score``.
        judge: who decides whether the held-out responses meet the criteria.
        output: a folder for the samples with the criteria that separate, and the page.
        seed: of the division into instructions that criteria come from and those that measure them.
        options: ``proposer``, see :class:`~heedful.judges.options.JudgeOptions` (``model``, …) and
            :class:`~heedful.analysis.meta.options.MetaOptions` (``max_cost``, …).

    Returns:
        The summary, ready for JSON; docs/checklists.md describes it.

    Raises:
        InputError: too few instructions have good and bad responses.
        UsageError: no model is named.
    """
    given: dict[str, Any] = {**options}
    trying, own = taken(given, Trying), taken(given, JudgeOptions)
    first = _first_model(own)
    asked = make_judge(judge, seed=seed, **cast("JudgeOptions", own))
    bench = Bench(data, cast("MetaOptions", given), scoring="strict", seed=seed)
    samples, problems = _readable(bench)
    choose, prove = _parts(samples, seed)
    pairs = _pairs(choose)
    if not pairs or not _pairs(prove):
        hint = "give more instructions with labels, preferred_to, or a column reward or score"
        what = "too few instructions have good and bad responses"
        raise InputError(what, where=bench.where, hint=hint)
    held = [each for sides in prove.values() for side in sides for each in side]
    if is_dry_run():
        texts = ["A criterion of a dozen words or so, as a model may well put it."] * MOST
        on_top = f"on top come {-(-len(pairs) // PAIRS)} calls that propose criteria"
        end_dry_run([bench.planned(asked, _with(held, texts))], on_top=on_top)
    calls = {name: each for name, each in own.items() if name in CallOptions.__annotations__}
    questions = [_question(pairs[at : at + PAIRS]) for at in range(0, len(pairs), PAIRS)]
    proposed = _proposed(ask(bench, questions, trying.get("proposer") or first, calls))
    texts = [text for text, _ in proposed.most_common(MOST)]
    if not texts:
        raise InputError("the model proposed no criterion", where=bench.where)
    judged = finish(bench.judged(asked, _with(held, texts)))
    summary: dict[str, Any] = {
        "input": bench.where or None,
        "seed": seed,
        "instructions": {"choose": len(choose), "prove": len(prove)},
        "proposed": proposed.total(),
        "problems": problems,
        "criteria": _measured(texts, prove, judged, seed),
    }
    if output is not None:
        _write(Path(output), summary, samples)
    return summary


def _first_model(own: Mapping[str, Any]) -> AnyModel:
    models = own.get("model")
    if not models:
        raise UsageError("the judge has no model", hint="name one: --model, or model= in Python")
    first: AnyModel = models[0] if isinstance(models, list | tuple) else models
    return first


def _write(folder: Path, summary: Mapping[str, Any], samples: Sequence[Sample]) -> None:
    kept = [each["text"] for each in summary["criteria"] if each["separates"]]
    document(summary).write(folder, summary, name="induced")
    write_samples(_with(samples, kept), folder / "checklists.jsonl")


def _readable(bench: Bench) -> tuple[list[Sample], list[dict[str, Any]]]:
    """Return the rows, and what is wrong with those that cannot be read."""
    samples, problems = [], []
    for row in bench.rows:
        problem = row.problem
        if row.sample is not None:
            try:
                preferred(row.sample)
            except RowError as error:
                problem = str(error)
            else:
                samples.append(row.sample)
        if problem is not None:
            problems.append({"line": row.line, "id": row.id, "problem": problem})
    return samples, problems


def _parts(samples: Sequence[Sample], seed: int) -> tuple[Sides, Sides]:
    """Divide the good and the bad responses: those that criteria come from, those that measure."""
    worse = {name for sample in samples for name in preferred(sample) or ()}
    rated: dict[bytes, list[tuple[float, Sample]]] = defaultdict(list)
    for sample in samples:
        value = _rating(sample, worse) if sample.response else None
        if value is not None:
            rated[cluster_of(sample)].append((value, sample))
    parts: tuple[Sides, Sides] = {}, {}
    for cluster, rows in rated.items():
        values = [value for value, _ in rows if math.isfinite(value)] or [-math.inf, math.inf]
        ends = (max(values), math.inf), (min(values), -math.inf)
        if min(values) < max(values):
            good, bad = ([row for value, row in rows if value in end] for end in ends)
            parts[place_of(cluster, seed) >= CHOOSING][cluster] = good, bad
    return parts


def _rating(sample: Sample, worse: Collection[str]) -> float | None:
    """Return a response's rating, if it has one; infinite where that is good or bad by itself."""
    labels, better = sample.labels or (), bool(preferred(sample))
    if labels and None not in labels:
        return math.inf if all(labels) else -math.inf
    if better or sample.id in worse:  # those between others are neither good nor bad
        return None if better and sample.id in worse else math.inf if better else -math.inf
    extra = sample.model_extra or {}
    value = extra.get("reward", extra.get("score"))
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _pairs(sides: Sides) -> list[tuple[Sample, Sample]]:
    """Pair good and bad responses, those to one instruction first."""
    firsts = sorted(sides.values(), key=lambda each: not all(each))
    goods = [good[0] for good, _ in firsts if good]
    return [*zip(goods, (bad[0] for _, bad in firsts if bad), strict=False)][: PAIRS * CALLS]


def _question(pairs: Sequence[tuple[Sample, Sample]]) -> str:
    texts = []
    for pair in pairs:
        for kind, sample in zip(("GOOD", "BAD"), pair, strict=True):
            turns = "\n".join(f"{turn.role}: {turn.content}" for turn in sample.conversation)
            texts.append((f"INSTRUCTION OF THE {kind}", turns[-LONGEST:]))
            texts.append((f"{kind} RESPONSE", (sample.response or "")[:LONGEST]))
    fence = Fence.around([text for _, text in texts])
    places = {
        "pairs": "\n\n".join(fence.wrap(name, text) for name, text in texts),
        "mark": fence.mark,
        "most": f"{MOST}",
    }
    return fill(shipped("induce.txt", __package__ or ""), places)


def _proposed(replies: Sequence[str]) -> Counter[str]:
    """Read the criteria that were proposed; one that comes twice, spelled alike, is one."""
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for reply in replies:
        listed = read(reply).get("criteria")
        for given in listed[:MOST] if isinstance(listed, list) else ():
            text = text_of({"text": given}, "text")
            key = " ".join(re.findall(r"\w+", text.casefold()))
            if key:
                counts[spelled.setdefault(key, text)] += 1
    return counts


def _with(samples: Sequence[Sample], texts: Sequence[str]) -> list[Sample]:
    checklist = tuple(Constraint(text=text) for text in texts)
    update = {"checklist": checklist, "labels": None, "recording": None}
    return [sample.model_copy(update=update) for sample in samples]


def _measured(
    texts: Sequence[str], prove: Sides, judged: Evaluation, seed: int
) -> list[dict[str, Any]]:
    """Measure how well each criterion separates, the best first.

    What is undecided counts against a criterion: as unmet by a good response, met by a bad one.
    Where most is, the criterion is unanswerable.
    """
    said = {
        row.sample.id: [judgment.status for judgment in row.critique.judgments]
        for row in judged
        if row.sample is not None and row.critique is not None
    }
    unread = [Status.FAILED] * len(texts)
    found: list[dict[str, Any]] = []
    for place, text in enumerate(texts):
        clusters: Counter[tuple[float, ...]] = Counter()
        undecided = 0
        for sides in prove.values():
            good, bad = ([said.get(row.id, unread)[place] for row in side] for side in sides)
            met = good.count(Status.MET), len(bad) - bad.count(Status.UNMET)
            clusters[met[0], len(good), met[1], len(bad)] += 1
            undecided += sum(not status.decided for status in (*good, *bad))
        if 2 * undecided > sum(good + bad for _, good, _, bad in clusters.elements()):
            clusters.clear()  # it can't be answered, so there is nothing to measure
        found.append({"text": text, "undecided": undecided, **contrast({"": clusters}, seed=seed)})
    adjusted = holm([1.0 if each["p"] is None else each["p"] for each in found])
    for each, p in zip(found, adjusted, strict=True):
        each["p"] = p
        each["separates"] = p < LEVEL and (each["difference"]["value"] or 0) > 0
    return sorted(found, key=lambda each: -(each["difference"]["value"] or 0.0))


def _verdict(criterion: Mapping[str, Any]) -> str:
    if criterion["difference"]["value"] is None:
        return "unanswerable"
    return "yes" if criterion["separates"] else "no"


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out what was proposed, and how well it separates."""
    criteria, parts = summary["criteria"], summary["instructions"]
    kept = sum(each["separates"] for each in criteria)
    rows = [
        (
            each["text"],
            _verdict(each),
            percent(each["first"]["value"], 1),
            percent(each["second"]["value"], 1),
            signed(each["difference"]["value"], 1),
            interval(each["difference"]["interval"], signed),
            p_value(each["p"]),
            f"{each['undecided'] or ''}",
        )
        for each in criteria
    ]
    columns = ("criterion", "separates", "good %", "bad %", "Δ", INTERVAL, "p", "undecided")
    note = "Shares of responses that meet it. p is adjusted for the number of criteria (Holm)."
    said = (
        f"{kept} of {len(criteria)} criteria separate good responses from bad ones.",
        f"{parts['choose']} instructions gave the criteria, {parts['prove']} others measured them.",
    )
    return Document("Induced criteria", said, [Table("", columns, rows, note, words=2)], [])
