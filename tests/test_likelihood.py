"""The judge that reads log-probabilities: verdict, confidence, and what decides nothing."""

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heedful import Constraint, Message, Sample, Status, UsageError, evaluate
from heedful.judges.likelihood import Likelihood, log_odds
from heedful.models import Completion, ScriptedModel
from heedful.models.replies import read_completion

SAMPLE = Sample(
    id="1",
    conversation=(Message(role="user", content="Greet me."),),
    checklist=(Constraint(text="It is polite."), Constraint(text="It is short.")),
    response="Hello.",
)


def judged(tokens: dict[str, float] | None, *, scale: float = 1, offset: float = 0) -> Any:
    """Judge by a model whose first token has these probabilities."""
    logs = None if tokens is None else {token: math.log(p) for token, p in tokens.items()}
    model = ScriptedModel(lambda *_: Completion(text="Yes", first_tokens=logs))
    return asyncio.run(Likelihood(model, scale=scale, offset=offset).judge(SAMPLE)).judgments[0]


@pytest.mark.parametrize(
    ("tokens", "status", "confidence"),
    [
        ({"Yes": 0.8, "No": 0.2}, Status.MET, 0.8),
        ({" yes": 0.3, "No": 0.6, "**": 0.1}, Status.UNMET, 2 / 3),
        ({"Yes": 0.5, "▁Yes": 0.1, '"yes': 0.1, "NO": 0.3}, Status.MET, 0.7),
        ({"是": 0.9, "否": 0.05, "不": 0.05}, Status.MET, 0.9),
        ({"不是": 0.55, "是": 0.3, "这": 0.1}, Status.UNMET, 0.55 / 0.85),
        ({"是的": 0.55, "不": 0.3}, Status.MET, 0.55 / 0.85),
        ({"不满足": 0.6, "满足": 0.3}, Status.UNMET, 2 / 3),
        ({"没有，": 0.6, "是。": 0.3}, Status.UNMET, 2 / 3),
        ({"没错": 0.6, "Not": 0.2}, Status.MET, 0.75),
        ({"是否": 0.6, "不仅": 0.2}, Status.UNPARSED, None),  # begins another sentence
        ({"Yes": 0.45, "No": 0.45}, Status.UNPARSED, None),
        ({"Yes": 0.99}, Status.MET, 0.99 / 0.995),  # "no" has 0.01 at most
        ({"Yes": 0.6}, Status.MET, 0.6 / 0.8),
        ({"Y": 0.6, "N": 0.4}, Status.MET, 0.6),  # the beginnings of the two words
        ({"Yes": 0.2, "The": 0.8}, Status.UNPARSED, None),  # it would say something else
        ({"Yesterday": 0.9, "None": 0.1}, Status.UNPARSED, None),
        ({"": 0.9, "*": 0.1}, Status.UNPARSED, None),
        (None, Status.UNPARSED, None),
    ],
)
def test_a_verdict_is_the_likelier_answer(
    tokens: dict[str, float] | None, status: Status, confidence: float | None
) -> None:
    judgment = judged(tokens)
    assert judgment.status is status
    assert judgment.confidence == (None if confidence is None else pytest.approx(confidence))


@given(st.floats(0.01, 0.99), st.floats(0.1, 5), st.floats(-3, 3))
def test_calibration_changes_the_odds(yes: float, scale: float, offset: float) -> None:
    judgment = judged({"Yes": yes, "No": 1 - yes}, scale=scale, offset=offset)
    odds = scale * math.log(yes / (1 - yes)) + offset
    assume(abs(odds) > 1e-6)
    met = 1 / (1 + math.exp(-odds))
    assert judgment.confidence == pytest.approx(max(met, 1 - met))
    assert judgment.status is (Status.MET if odds > 0 else Status.UNMET)


@given(st.dictionaries(st.text(max_size=4), st.floats(-800, 0), max_size=20))
def test_odds_are_finite_whatever_the_tokens(tokens: dict[str, float]) -> None:
    odds, mass = log_odds(tokens)
    assert math.isfinite(odds)
    assert 0 <= mass <= 1


@pytest.mark.parametrize(
    ("alternatives", "expected"),
    [
        (
            [{"token": "Yes", "logprob": -0.5}, {"token": "No", "logprob": -1}],
            {"Yes": -0.5, "No": -1},
        ),
        ([{"token": "Yes", "logprob": -3}, {"token": "Yes", "logprob": -1}], {"Yes": -1}),
        ([{"token": "Yes", "logprob": 2}, {"token": 3, "logprob": -1}, 7, None], None),
        ([{"token": "\ud800", "logprob": -1}], {"\N{REPLACEMENT CHARACTER}": -1}),
        ([{"token": "Yes", "logprob": "much"}, {"logprob": -1}], None),
        ("Yes", None),
        ([{"token": f"t{k}", "logprob": -1.0} for k in range(500)], 100),
    ],
)
def test_what_a_server_sends_is_bounded(alternatives: Any, expected: Any) -> None:
    choice = {
        "message": {"content": "Yes"},
        "finish_reason": "length",
        "logprobs": {"content": [{"token": "Yes", "top_logprobs": alternatives}]},
    }
    broken: tuple[Any, ...] = (None, [], {"content": [7]}, {"content": None}, 1)
    for logprobs in broken:
        body = {"choices": [{**choice, "logprobs": logprobs}]}
        assert read_completion(json.dumps(body).encode()).first_tokens is None
    read = read_completion(json.dumps({"choices": [choice]}).encode())
    size = len(read.first_tokens or ())
    assert (size if isinstance(expected, int) else read.first_tokens) == expected


def test_each_constraint_is_a_call_for_one_token() -> None:
    model = ScriptedModel(lambda *_: Completion(text="No", first_tokens={"No": 0.0}))
    result = evaluate([SAMPLE], judge=Likelihood(model))
    assert result.summary["verdicts"]["unmet"] == 2
    assert [call.sampling.max_tokens for call in model.calls] == [1, 1]
    assert [call.sampling.top_logprobs for call in model.calls] == [20, 20]
    assert len({call.messages for call in model.calls}) == 2


def test_options_of_other_protocols_are_refused() -> None:
    model = ScriptedModel("")
    assert "likelihood" in evaluate([SAMPLE], judge="likelihood", model=model).summary["judge"]
    with pytest.raises(UsageError):
        evaluate([SAMPLE], judge="likelihood", model=model, per_call=2)
    with pytest.raises(UsageError, match="--no-explain"):
        evaluate([SAMPLE], judge="likelihood", model=model, explain=False)
    both = evaluate([SAMPLE], judge="likelihood,checklist", model=model, prompt="short", reasks=0)
    assert len({call.sampling.max_tokens for call in model.calls}) == 2
    assert both.summary["verdicts"]["unparsed"] == 2
    with pytest.raises(UsageError):
        evaluate([SAMPLE], judge="rules,likelihood")
    with pytest.raises(UsageError):
        Likelihood(model, scale=0)
