"""Checklists and rubrics read as code is: what in them will go wrong before anything is judged.

No model is called. Errors make verdicts or scores wrong; hints say what could be better.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.core import rubric
from heedful.core.errors import VerifierError
from heedful.core.noun import meant
from heedful.core.nouns import Constraint, Sample
from heedful.core.text import is_blank
from heedful.data.formats import native
from heedful.verify import Readings, describe
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from heedful.core.nouns import Check
    from heedful.data.formats import Row

Kind = Literal[
    "unreadable", "weights", "empty", "check", "field", "duplicate", "contradiction", "golden",
    "points", "code", "coverage",
]  # fmt: skip
HINTS: frozenset[Kind] = frozenset({"points", "code", "coverage"})

_GOLDEN = "golden"
"""Field of a constraint: responses that must come out met or unmet."""


class LintFinding(NamedTuple):
    """One thing that is wrong, or could be better."""

    sample: str
    constraint: int  # its number, 0 for the checklist as a whole
    kind: Kind
    message: str

    @property
    def is_error(self) -> bool:
        """Whether it will make verdicts or scores wrong."""
        return self.kind not in HINTS


def lint_rows(rows: Iterable[Row]) -> Iterator[LintFinding]:
    """Lint every checklist of a source, lazily; a row that cannot be read is a finding."""
    for row in rows:
        if row.sample is None:
            yield LintFinding(row.id or f"line-{row.line}", 0, "unreadable", str(row.problem))
        else:
            yield from lint(row.sample)


def lint(sample: Sample) -> Iterator[LintFinding]:
    """Lint a checklist, in its order and then as a whole."""

    def finding(constraint: int, kind: Kind, message: str) -> LintFinding:
        return LintFinding(sample.id, constraint, kind, message)

    senseless = rubric.problem(sample.checklist)
    if senseless is not None:
        yield finding(0, "weights", senseless)
    if not sample.checklist:
        yield finding(0, "empty", "the checklist is empty")
    for number, constraint in enumerate(sample.checklist, start=1):
        for kind, message in _of_one(constraint):
            yield finding(number, kind, message)
        if constraint.source_span and not _quotes(sample, constraint.source_span):
            yield finding(number, "coverage", "its source_span isn't in the instruction")
    for second, kind, message in _pairs(sample.checklist):
        yield finding(second, kind, message)
    for message in _weights(sample.checklist):
        yield finding(0, "points", message)


def _quotes(sample: Sample, span: str) -> bool:
    """Tell whether the conversation holds a span, whatever spaces are in either; or is empty."""
    said = " ".join(" ".join(turn.content for turn in sample.conversation).split())
    return not said or " ".join(span.split()) in said


def golden_rows(sample: Sample) -> Iterator[dict[str, Any]]:
    """Make labelled rows of the golden examples of a checklist, for ``heedful judge-accuracy``.

    A constraint's field ``golden`` is a list of ``{"response": …, "met": true}``.
    """
    for number, constraint in enumerate(sample.checklist, start=1):
        for place, (response, met) in enumerate(_golden(constraint), start=1):
            alone = constraint.model_copy(update={"depends_on": ()})
            row = Sample(
                id=f"{sample.id}/{number}/{place}",
                conversation=sample.conversation,
                checklist=(alone,),
                response=response,
                labels=(met,),
                tags=sample.tags,
            )
            yield native.write(row)


def _of_one(constraint: Constraint) -> Iterator[tuple[Kind, str]]:
    text = constraint.text
    for name in constraint.model_extra or {}:
        field = meant(Constraint, name)
        if field is not None:
            yield "field", f"it has {name!r}, which nothing reads: did you mean {field!r}?"
    if constraint.check is not None:
        try:
            describe(constraint.check)
        except VerifierError as error:
            yield "check", f"its check cannot run: {error}"
    if is_blank(text):
        yield "empty", "the text is empty"
        return
    compiled = compile_constraint(text)
    check = constraint.check or compiled.check
    if constraint.check is None and compiled.check is not None:
        said = describe(compiled.check)
        yield "code", f"code can decide it ({said}): heedful checklist --compile adds the check"
    yield from _of_golden(constraint, check)


def _of_golden(constraint: Constraint, check: Check | None) -> Iterator[tuple[Kind, str]]:
    """Check golden examples by code, where code decides the constraint."""
    given = (constraint.model_extra or {}).get(_GOLDEN)
    examples = list(_golden(constraint))
    if given is not None and (not isinstance(given, list) or len(examples) < len(given)):
        yield "golden", 'write golden as [{"response": "…", "met": true}]'
    for place, (response, met) in enumerate(examples if check else (), start=1):
        try:
            verdict, _ = Readings(response).read(check) if check else (None, None)
        except VerifierError as error:
            yield "golden", f"golden example {place} is not decided: {error}"
            continue
        if verdict is not None and verdict.met != met:
            said = "met" if verdict.met else "unmet"
            yield "golden", f"golden example {place} comes out {said}: {verdict.found}"


def _golden(constraint: Constraint) -> Iterator[tuple[str, bool]]:
    given = (constraint.model_extra or {}).get(_GOLDEN)
    for example in given if isinstance(given, list) else ():
        if isinstance(example, dict):
            response, met = example.get("response"), example.get("met")
            if isinstance(response, str) and isinstance(met, bool):
                yield response, met


def _weights(checklist: Sequence[Constraint]) -> Iterator[str]:
    """Find points that will surprise."""
    given = [each for each in checklist if each.weight is not None]
    if given and len(given) < len(checklist):
        yield (
            f"{len(checklist) - len(given)} of {len(checklist)} constraints have no weight and "
            "count 1: give all of them one"
        )
    points = [1.0 if each.weight is None else each.weight for each in checklist]
    positive = math.fsum(point for point in points if point > 0)
    if given and not positive:
        yield "no weight is positive: most published scores are not defined"
    for number, point in enumerate(points, start=1):
        if point == 0 and not checklist[number - 1].gate:
            yield f"constraint {number} has the weight 0: it is judged and counts nowhere"


def _pairs(checklist: Sequence[Constraint]) -> Iterator[tuple[int, Kind, str]]:
    """Find constraints that say the same as an earlier one, or leave no number between them."""
    words: dict[str, int] = {}
    counts: dict[str, tuple[int, float, float]] = {}
    for number, constraint in enumerate(checklist, start=1):
        said = " ".join(re.findall(r"\w+", constraint.text.casefold()))
        check = constraint.check or compile_constraint(constraint.text).check
        args = {} if check is None else dict(check.args)
        low, high = args.pop("at_least", None), args.pop("at_most", None)
        about = said if check is None else f"{check.id} {sorted(args.items())}"
        same = f"{about} {low} {high}"
        if words.setdefault(same, number) != number and said:
            yield number, "duplicate", f"it says the same as constraint {words[same]}"
        elif not (low is None and high is None) and not constraint.is_penalty:
            at, least, most = counts.get(about, (number, 0.0, math.inf))
            least, most = max(least, low or 0), min(most, math.inf if high is None else high)
            if least > most:
                yield number, "contradiction", f"no response can meet it and constraint {at}"
            counts[about] = at, least, most
