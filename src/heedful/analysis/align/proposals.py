"""Where a judge and people disagree, and what may mend it: other settings, and other words.

A model is shown disagreements on one criterion, or on criteria of one type. It proposes the cause
of each and clearer words; examples are taken from the labelled rows that choose, never from others.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.meta.labels import MET, UNMET
from heedful.core.nouns import Message, Sample
from heedful.core.text import one_line
from heedful.jobs.respond import respond
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import fill, shipped
from heedful.judges.protocol import ALL, AskingProtocol
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.analysis.align.trials import LabelledPart
    from heedful.analysis.meta.bench import Bench
    from heedful.analysis.meta.labels import JudgeEntry
    from heedful.models.base import AnyModel

CAUSES = {
    "judge": "the judge slipped",
    "criterion": "the criterion is ambiguous",
    "label": "the label looks wrong",
}
"""Causes of a disagreement that a model may propose."""

SHARED = 3
"""A criterion on so many labelled rows is a group of its own; others go by their type."""

MOST_GROUPS = 8
SHOWN = 5
"""Disagreements of a group that a model is shown."""

LONGEST = 1_500
"""Characters of a response that a model or a judge is shown as an example."""

WORDS = 400
"""Characters of a proposed wording or definition, at most."""

VOTES = 5
OF_VOTES = ("votes",)


class LabelledVerdict(NamedTuple):
    """A labelled verdict."""

    sample: Sample
    place: int  # of the criterion
    label: bool
    said: Mapping[str, Any] | None  # the disagreement, if it is one


@dataclass
class VerdictGroup:
    """The verdicts on a criterion, or on criteria of a type."""

    kind: str  # criterion or type
    name: str
    cases: list[LabelledVerdict] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    doubted: list[dict[str, Any]] = field(default_factory=list)  # labels that look wrong
    asked: list[dict[str, Any]] = field(default_factory=list)  # disagreements with their causes

    @property
    def wrong(self) -> list[LabelledVerdict]:
        """The disagreements."""
        return [case for case in self.cases if case.said is not None]


@dataclass(frozen=True, slots=True)
class Change:
    """What a candidate asks differently."""

    name: str
    replaces: tuple[str, ...]  # of changes that replace the same, the best is combined with others
    protocol: AskingProtocol = field(default_factory=AskingProtocol)  # what it sets
    examples: frozenset[str] = frozenset()  # rows that it shows the judge, so can't be tried on

    def on(self, base: AskingProtocol) -> AskingProtocol:
        """Change a protocol."""
        own = self.protocol
        notes = {
            kind: "\n".join(filter(None, (base.notes.get(kind), note)))
            for kind, note in own.notes.items()
        }
        return replace(
            base,
            judge=own.judge or base.judge,
            options={**base.options, **own.options},
            criteria={**base.criteria, **own.criteria},
            notes={**base.notes, **notes},
        )


def together(changes: Sequence[Change]) -> Change:
    """Make one change of several."""
    protocol = AskingProtocol()
    for change in changes:
        protocol = change.on(protocol)
    return Change(
        " + ".join(change.name for change in changes),
        tuple(name for change in changes for name in change.replaces),
        protocol,
        frozenset().union(*(change.examples for change in changes)),
    )


def grouped(parts: Sequence[LabelledPart], entries: Sequence[JudgeEntry]) -> list[VerdictGroup]:
    """VerdictGroup labelled verdicts by criterion or type, those with most disagreements first."""
    texts = Counter(
        each.text for part in parts for sample in part.samples for each in sample.checklist
    )
    groups: dict[tuple[str, str], VerdictGroup] = {}
    for part, entry in zip(parts, entries, strict=True):
        said = {(each["id"], each["constraint"]): each for each in entry.disagreements}
        for sample in part.samples:
            labels = part.labelled.targets[sample.id].labels
            states = entry.verdicts.get(sample.id, [labels])[0]
            for place, constraint in enumerate(sample.checklist):
                label, state = labels[place], states[place]
                if label not in (MET, UNMET):
                    continue
                key = ("type", constraint.type or ALL)
                if texts[constraint.text] >= SHARED:
                    key = ("criterion", constraint.text)
                group = groups.setdefault(key, VerdictGroup(*key))
                wrong = {label, state} == {MET, UNMET}
                # Of many disagreements not all are listed with what the judge said.
                about = said.get((sample.id, place + 1), {}) if wrong else None
                case = LabelledVerdict(sample, place, label == MET, about)
                group.cases.append(case)
    return sorted(groups.values(), key=lambda group: -len(group.wrong))


def settings(
    present: AskingProtocol, parts: Sequence[LabelledPart], models: Sequence[AnyModel]
) -> Iterator[Change]:
    """Yield the changes that need no words: how often, how much at once, by whom."""
    options = present.options

    def change(name: str, option: str, value: Any) -> Change:
        return Change(name, (option,), AskingProtocol(options={option: value}))

    checklists = [sample.checklist for part in parts for sample in part.samples]
    if max(map(len, checklists)) > 1:
        if options.get("per_call") != 1:
            yield change("one criterion in a call", "per_call", 1)
        if options.get("per_call") is not None:
            yield change("all criteria in one call", "per_call", None)
    if options.get("votes", 1) < VOTES:
        yield change(f"{VOTES} votes", "votes", VOTES)
    explains = options.get("explain", True)
    yield change("verdicts alone" if explains else "with explanations", "explain", not explains)
    names = present.judge or ""
    if "compiled" not in names and any(
        compile_constraint(each.text).check for checklist in checklists for each in checklist
    ):
        yield Change("code where it can", ("judge",), AskingProtocol(f"rules,compiled,{names}"))
    for model in models:
        yield change(f"model {getattr(model, 'name', model)}", "model", [model])


def examples(group: VerdictGroup) -> Change | None:
    """Show the judge a response that meets the criterion and one that doesn't; the shortest."""
    chosen = []
    for label in (True, False):
        fit = [
            case
            for case in group.cases
            if case.label == label and case.sample.response and len(case.sample.response) <= LONGEST
        ]
        if fit:
            # Where the judge is wrong an example says most.
            chosen.append(
                min(fit, key=lambda case: (case.said is None, len(case.sample.response or "")))
            )
    if len(chosen) < 2 or group.name == ALL:  # noqa: PLR2004 - one of each kind
        return None
    note = "\n".join(
        f"Example of a response that {'meets' if case.label else 'does not meet'} "
        f"{_named(group, case)}: {json.dumps(case.sample.response, ensure_ascii=False)}"
        for case in chosen
    )
    shown = frozenset(case.sample.id for case in chosen)
    return _noted(group, f"two examples for {_short(group)}", note, shown)


def _named(group: VerdictGroup, case: LabelledVerdict) -> str:
    return "it" if group.kind == "criterion" else json.dumps(case.sample.checklist[case.place].text)


def _noted(
    group: VerdictGroup, name: str, note: str, shown: frozenset[str] = frozenset()
) -> Change:
    place = (f"{group.kind} {group.name}",)
    if group.kind == "criterion":
        words = {group.name: f"{group.name}\n{note}"}
        return Change(name, place, AskingProtocol(criteria=words), shown)
    return Change(name, place, AskingProtocol(notes={group.name: note}), shown)


def _short(group: VerdictGroup) -> str:
    return f"“{one_line(group.name, 40)}”" if group.name != ALL else "all criteria"


def proposed(
    groups: Sequence[VerdictGroup],
    bench: Bench,
    model: AnyModel,
    calls: Mapping[str, Any],
    people: Mapping[tuple[str, int], str],
) -> list[Change]:
    """Have a model propose causes and words for the groups with most disagreements."""
    asked = [group for group in groups if group.wrong][:MOST_GROUPS]
    replies = ask(bench, [_question(group) for group in asked], model, calls)
    changes = [each for group in asked if (each := examples(group)) is not None]
    for group, reply in zip(asked, replies, strict=True):
        given = read(reply)
        causes = given.get("causes")
        listed = causes if isinstance(causes, list) else []
        for case, cause in zip(group.wrong[:SHOWN], listed, strict=False):
            known = cause if isinstance(cause, str) and cause in CAUSES else None
            which = (case.sample.id, case.place + 1)
            settled = people.get(which, known)
            about = {"id": which[0], "constraint": which[1]}
            group.asked.append({**about, "cause": known, "people": people.get(which)})
            if settled is not None:
                group.causes[settled] += 1
            if settled == "label":
                group.doubted.append(about)
        definition = text_of(given, "definition")
        if definition:
            changes.append(_noted(group, f"a definition for {_short(group)}", definition))
        wording = text_of(given, "wording")
        if wording and group.kind == "criterion":
            place = (f"criterion {group.name}",)
            words = AskingProtocol(criteria={group.name: wording})
            changes.append(Change(f"other words for {_short(group)}", place, words))
    return changes


def text_of(given: Mapping[str, Any], name: str) -> str:
    """Return a text of a reply on one line, cut where it is long; empty where there is none."""
    text = given.get(name)
    return one_line(text, WORDS) if isinstance(text, str) else ""


def _question(group: VerdictGroup) -> str:
    cases = []
    for case in group.wrong[:SHOWN]:
        said = case.said or {}
        turns = "\n".join(f"{turn.role}: {turn.content}" for turn in case.sample.conversation)
        cases.append(
            f"Criterion: {case.sample.checklist[case.place].text}\nConversation:\n"
            f"{turns[-LONGEST:]}\nResponse:\n{(case.sample.response or '')[:LONGEST]}\n"
            f"People: {'met' if case.label else 'unmet'}\n"
            f"Judge: {'unmet' if case.label else 'met'}, because: "
            f"{(said.get('explanation') or '')[:LONGEST]}"
        )
    fence = Fence.around(cases)
    return fill(
        shipped("propose.txt", __package__ or ""),
        {
            "about": "one criterion" if group.kind == "criterion" else "criteria of one kind",
            "cases": "\n\n".join(fence.wrap(f"CASE {n}", case) for n, case in enumerate(cases, 1)),
            "mark": fence.mark,
        },
    )


def read(reply: str) -> dict[str, Any]:
    """Read the JSON object of a reply; empty where there is none."""
    text = answer(reply)
    try:
        given = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def ask(
    bench: Bench, questions: Sequence[str], model: AnyModel, calls: Mapping[str, Any]
) -> list[str]:
    """Put questions to a model, in a run of their own; an answer that failed is empty."""
    if not questions:
        return []
    digest = blake2b("\0".join(questions).encode("utf-8", "surrogatepass"), digest_size=4)
    rows = [
        Sample(id=str(number), conversation=(Message(role="user", content=question),))
        for number, question in enumerate(questions, 1)
    ]
    run = None if bench.folder is None else bench.folder / f"proposals-{digest.hexdigest()}"
    made = respond(rows, model=model, run=run, **calls, **bench.running())
    bench.paid(made.summary)
    return [(row.sample.response if row.sample else None) or "" for row in made]
