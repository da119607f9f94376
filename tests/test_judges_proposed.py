"""The judge by code whose checks a model proposes: what it accepts, refuses and pays for."""

import asyncio
import itertools
import json
from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from heedful import Constraint, Message, Sample, Status, StopRunError, UsageError, dry_run, evaluate
from heedful.jobs.evaluate_tables import view
from heedful.judges import make_judge
from heedful.judges.proposed import Proposed
from heedful.models import Price, ScriptedModel

TEXT = "Keep the whole thing to something like 3 sentences, no more than that, yeah?"
CHECK: dict[str, Any] = {"id": "heedful:count", "args": {"unit": "sentences", "at_most": 3}}
MET, UNMET = "It rained.", "It rained. It blew. It froze. It stopped."
GOOD = {"check": CHECK, "met": MET, "unmet": UNMET}


def row(response: str = MET, text: str = TEXT, name: str = "1") -> Sample:
    return Sample(id=name, prompt="?", checklist=(Constraint(text=text),), response=response)


def replying(*replies: Any) -> ScriptedModel:
    texts = itertools.cycle(each if isinstance(each, str) else json.dumps(each) for each in replies)
    return ScriptedModel(lambda *_: next(texts))


def verdict(model: ScriptedModel, sample: Sample) -> Any:
    return asyncio.run(Proposed(model).judge(sample)).judgments[0]


def test_a_check_that_both_proposals_name_decides() -> None:
    assert verdict(replying(GOOD), row(MET)).status is Status.MET
    assert verdict(replying(GOOD), row(UNMET)).status is Status.UNMET


REFUSED_TEXT = TEXT.replace("3 sentences", "4 sentences")


def answering(answers: int = 100) -> ScriptedModel:
    """Proposes the same twice for TEXT, two checks for the other, and finds what is asked met."""

    def fail(number: int) -> Exception | None:
        return StopRunError("enough") if number >= answers else None

    def reply(messages: Sequence[Message], sample: int) -> str:
        prompt = messages[-1].content
        if "You choose a check" not in prompt:
            return "<c1>\nSo it is.\nVERDICT: MET\n</c1>"
        most = 3 if TEXT in prompt else 3 + sample
        return json.dumps({**GOOD, "check": {**CHECK, "args": {**CHECK["args"], "at_most": most}}})

    return ScriptedModel(reply, fail=fail)


def rows() -> list[Sample]:
    """Rows of one constraint: of twelve, three each are TEXT, refused, vague and for code."""
    texts = itertools.cycle((TEXT, REFUSED_TEXT, "Be kind.", "At most 5 words."))
    responses = (f"Row {at}. {(MET, UNMET)[at // 4 % 2]}" for at in range(12))
    return [row(*each, name=str(at)) for at, each in enumerate(zip(responses, texts, strict=False))]


OPTIONS: dict[str, Any] = {"proposals": True, "prices": {"scripted": Price(prompt=1, completion=4)}}
CALLS = 2 * 2 + 3 + 3
"""Two proposals for each of two texts, and a verdict on each row that they leave."""


def test_each_distinct_text_is_paid_for_once_and_the_summary_says_what_came_of_it() -> None:
    model = answering()
    summary = evaluate(rows(), model=model, **OPTIONS).summary
    assert len(model.calls) == summary["cost"]["calls"] == CALLS
    assert summary["proposals"] == {"compiled": 1, "refused": 1}
    assert summary["decided_by"] == {"scripted/plain": 6, "scripted/proposed": 3, "compiled": 3}
    with StringIO() as shown:
        Console(file=shown, width=100).print(view(summary))
        assert "1 text compiled with a model's help, 1 refused" in shown.getvalue()


def test_without_the_option_nothing_is_proposed() -> None:
    options: list[dict[str, Any]] = [{}, {"proposals": False}]
    for option in options:
        model = answering()
        summary = evaluate(rows(), model=model, **option).summary
        assert len(model.calls) == 9
        assert "proposals" not in summary
    with pytest.raises(UsageError, match="--proposals is given"):
        evaluate(rows(), proposals=True)


def test_a_dry_run_counts_what_the_run_requests() -> None:
    model = answering()
    assert dry_run(evaluate, rows()[:1], model=model, **OPTIONS)["calls"] == 3  # if it is refused
    estimate = dry_run(evaluate, rows(), model=model, **OPTIONS)
    assert [(each["judge"], each["calls"]) for each in estimate["judges"]] == [
        ("scripted/plain", 9),
        ("scripted/proposed", 4),
    ]
    assert not model.calls


REFUSED: dict[str, list[Any]] = {
    "proposals differ": [
        GOOD,
        {**GOOD, "check": {**CHECK, "args": {"unit": "sentences", "at_most": 2}}},
    ],
    "meant to be unmet": [{**GOOD, "unmet": MET}],
    "meant to be met": [{**GOOD, "met": UNMET}],
    "no text that is met": [{"check": CHECK, "unmet": UNMET}],
    "proposes no check": [{"check": None}],
    "can't be read": ["I would count the sentences."],
    "may be proposed": [{"check": {"id": "heedful:all", "args": {"checks": []}}}],
    "isn't a check": [{"check": {"id": "heedful:json", "args": {"schema": {"pattern": "(a+)+$"}}}}],
    "doesn't fit": [{"check": {"id": "heedful:count", "args": {"unit": "parsecs", "at_most": 3}}}],
    "aren't the text's": [{"check": {"id": "heedful:contains", "args": {"phrases": ["rain"]}}}],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_proposal_is_refused_with_the_reason(reason: str) -> None:
    judgment = verdict(replying(*REFUSED[reason]), row())
    assert judgment.status is Status.UNSUPPORTED
    assert reason in judgment.explanation


def test_no_call_is_made_for_what_compiles_or_counts_nothing() -> None:
    model = replying(GOOD)
    for text in ("At most 5 words.", "Be kind."):
        assert verdict(model, row(text=text)).status is Status.UNSUPPORTED
    assert not model.calls


def test_it_goes_between_code_and_the_model() -> None:
    named = make_judge("rules,compiled,proposed,checklist", model=replying(GOOD))
    assert named.name == "rules,compiled,scripted/proposed,scripted/plain"
    for names in (None, "rules,compiled,checklist", "rules,compiled,proposed,checklist"):
        made = make_judge(names, model=replying(GOOD), proposals=True)
        assert made.config == named.config
