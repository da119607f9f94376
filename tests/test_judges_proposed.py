"""The judge by code whose checks a model proposes: what it accepts, refuses and pays for."""

import asyncio
import itertools
import json
from typing import Any

import pytest

from heedful import Constraint, Sample, Status, dry_run, evaluate
from heedful.judges import Cascade, Compiled, make_judge
from heedful.judges.proposed import PROPOSABLE, Proposed
from heedful.models import ScriptedModel
from heedful.verify.compiler.compile import compile_constraint

TEXT = "Keep the whole thing to something like 3 sentences, no more than that, yeah?"
CHECK = {"id": "heedful:count", "args": {"unit": "sentences", "at_most": 3}}
MET, UNMET = "It rained.", "It rained. It blew. It froze. It stopped."
GOOD = {"check": CHECK, "met": MET, "unmet": UNMET}


def row(response: str = MET, text: str = TEXT, name: str = "1") -> Sample:
    return Sample(id=name, prompt="?", checklist=(Constraint(text=text),), response=response)


def replying(*replies: Any) -> ScriptedModel:
    texts = itertools.cycle(each if isinstance(each, str) else json.dumps(each) for each in replies)
    return ScriptedModel(lambda *_: next(texts))


def verdict(model: ScriptedModel, sample: Sample) -> Any:
    return asyncio.run(Proposed(model).judge(sample)).judgments[0]


def test_the_text_is_one_that_code_measures_and_does_not_compile() -> None:
    compiled = compile_constraint(TEXT)
    assert compiled.check is None
    assert compiled.measures


def test_a_check_that_both_proposals_name_decides() -> None:
    assert verdict(replying(GOOD), row(MET)).status is Status.MET
    assert verdict(replying(GOOD), row(UNMET)).status is Status.UNMET


def test_each_distinct_text_is_paid_for_once(tmp_path: Any) -> None:
    model = replying(GOOD)
    rows = [row(each, name=str(at)) for at, each in enumerate((MET, UNMET, MET, UNMET))]
    judge = Cascade(Compiled(), Proposed(model))
    first = evaluate(rows, judge=judge, output=tmp_path / "run")
    assert (first.summary["verdicts"]["met"], first.summary["verdicts"]["unmet"]) == (2, 2)
    assert len(model.calls) == 2
    evaluate([*rows, row(name="5")], judge=Cascade(Compiled(), Proposed(model)))
    assert len(model.calls) == 4  # another run has a store of its own


def test_a_dry_run_counts_the_proposals_of_each_text() -> None:
    model = replying(GOOD)
    rows = [row(name="1"), row(UNMET, name="2"), row(text=TEXT.replace("3", "4"), name="3")]
    estimate = dry_run(evaluate, rows, judge=Cascade(Compiled(), Proposed(model)))
    assert estimate["calls"] == 4
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


def test_it_goes_by_name_between_code_and_the_model() -> None:
    judge = make_judge("rules,compiled,proposed,checklist", model=replying(GOOD))
    assert judge.name == "rules,compiled,scripted/proposed,scripted/plain"


def test_what_may_be_proposed_is_listed_with_its_arguments() -> None:
    model = replying(GOOD)
    verdict(model, row())
    prompt = model.calls[0].messages[0].content
    assert all(f"- {id_}(" in prompt for id_ in PROPOSABLE)
