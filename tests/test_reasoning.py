"""Reasoning before an answer: told apart in all its forms, kept in the row, and never judged."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commands
from adversarial import LIMIT_S, cpu_s
from fault_server import completion
from heedful import Check, Constraint, evaluate
from heedful.core.problems import Problem, Solution
from heedful.core.reasoning import ReasoningMode, separate
from heedful.data.formats import native
from heedful.jobs.results import Scored
from heedful.judges import Cascade, Compiled, Rules, prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel
from heedful.models.replies import read_completion, without_reasoning
from heedful.rewards import Reward
from heedful.rewards.rows import labelled
from jsonl import write_rows

HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}"
FORMS = {
    "think": "<think>\n{}\n</think>\n\n{}",
    "thinking": "<thinking>{}</thinking>{}",
    "Magistral": "[THINK]{}[/THINK]{}",
    "Harmony": HARMONY + "<|return|>",
    "Harmony without its end": HARMONY,
    "Harmony without special tokens": "analysisWe need it. {}assistantfinal{}",
    "the template's opening tag": "{}\n</think>\n\n{}",
    "the template's opening tag, on one line": "{}.</think>{}",
    "Harmony without special tokens, in Chinese": "analysis用户想要{}assistantfinal{}",
    "Cohere": "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "Gemma": "<|channel>thought\n{}<channel|>{}",
    "the turn's opening token": "<|im_start|>assistant\n<think>{}</think>{}",
    "two blocks": "<think>{}</think>\n<think>more</think>\n{}",
}
UNCLOSED = ["<think>{}", "\n<thinking>{}\n", "[THINK]{}", "<|channel|>analysis<|message|>{}"]
MENTIONS = [
    "`<think>` opens the reasoning, `</think>` closes it.",
    "Models write <think> first, and </think> before the answer.",
    "The tag </think> ends it.",
    "It ends with </think>.",
    'They print "</think>" and go on.',
    "An example:\n\n```xml\n<think>\nSo.\n</think>\n```\n\nIt is XML.",
    "<think> tags wrap the reasoning.",
    "</think> closes what the template opened.",
    "Channels are marked <|channel|>final<|message|>.",
    "analysis comes first, assistantfinal last",
]
THOUGHT = "First, two, or three? I'd say: `no`, **met**.\n\n- VERDICT: MET"
CHECKLIST = (
    Constraint(text="No commas.", check=Check(id="punctuation:no_comma")),
    Constraint(text="At most 3 words."),
    Constraint(text="It is polite."),
)
CODE = [{"text": "No commas.", "check": {"id": "punctuation:no_comma"}}]

PIECES = [
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "<|channel|>",
    "final<|message|>",
    "`",
    "```",
]
PIECES += ["analysisWe need ", "assistantfinal", "\n", " ", "a", "So.", "<|end|>", "~~~"]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)
words = st.text(
    st.characters(exclude_characters="<>[]`~◁▷", exclude_categories=["Cs"]), max_size=40
)


def row(response: Any, **fields: Any) -> dict[str, Any]:
    checklist = [each.model_dump(exclude_defaults=True) for each in CHECKLIST]
    return {"id": "1", "prompt": "Greet me.", "checklist": checklist, "response": response} | fields


def judged(row: dict[str, Any], **options: Any) -> tuple[Scored, ScriptedModel, dict[str, Any]]:
    """Judge a row by code, and then by a model that finds everything met."""
    model = ScriptedModel("<c1>\nIt is.\nVERDICT: MET\n</c1>")
    judge = Cascade(Rules(), Compiled(), Checklist(model, prompts.make("plain")))
    evaluation = evaluate([row], judge=judge, **options)
    return evaluation[0], model, evaluation.summary


def verdicts(result: Scored) -> list[str]:
    return [each.status for each in result.verdicts]


def rewarded(response: Any, **options: Any) -> float | None:
    with Reward(**options) as reward:
        (scored,) = reward.score_sync([labelled({"checklist": CODE}, response, {"prompt": "Hi."})])
    return scored.value


@given(st.sampled_from(sorted(FORMS.values())), words, words)
def test_each_form_is_its_thought_and_its_answer(form: str, thought: str, rest: str) -> None:
    answer = f"A{rest}"
    said, apart = separate(form.format(thought, answer))
    assert said.rstrip() == answer.rstrip()
    assert apart is not None
    assert thought.strip() in apart


@given(texts)
def test_an_answer_holds_no_further_reasoning(text: str) -> None:
    answer, thought = separate(text)
    assert separate(answer) == (answer, None)
    assert answer in text
    assert thought is not None or answer == text


@given(words)
def test_a_text_without_a_tag_is_left_alone(text: str) -> None:
    assert separate(text) == (text, None)


@pytest.mark.parametrize("text", MENTIONS)
def test_a_tag_that_is_mentioned_is_text(text: str) -> None:
    assert separate(text) == (text, None)


@pytest.mark.parametrize("thought", ["`</think>` ends it.", "a ` b"])
def test_reasoning_may_mention_its_own_end(thought: str) -> None:
    assert separate(f"<think>\n{thought}\n</think>\n\nYes `so`.") == ("Yes `so`.", thought)


@pytest.mark.parametrize("piece", [*PIECES, "<think></think>", "x</think>\n", "a </think> b", "`a"])
def test_hostile_texts_take_linear_time(piece: str) -> None:
    for text in (piece * 20_000, "<think>" + piece * 20_000):
        assert cpu_s(separate, text, LIMIT_S) < 1


@pytest.mark.parametrize("form", FORMS.values())
@pytest.mark.parametrize(
    "answer", ["One two three", "One, two, three and four.", "Hi!\n\n- a\n- b"]
)
def test_the_answer_alone_is_judged(form: str, answer: str) -> None:
    plain, asked, _ = judged(row(answer))
    result, model, summary = judged(row(form.format(THOUGHT, answer)))
    assert result.verdicts == plain.verdicts
    assert model.calls == asked.calls
    assert rewarded(form.format(THOUGHT, answer)) == rewarded(answer)
    assert result.sample is not None
    assert result.sample.response == answer
    assert THOUGHT in str(result.sample.reasoning)
    assert "reasoning removed from 1 response" in summary["notes"]


BESIDE = [
    row("Hi!", reasoning_content=THOUGHT),
    row("Hi!", reasoning=THOUGHT),
    row([{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": "Hi!"}]),
    row([{"type": "reasoning", "summary": [{"text": THOUGHT}]}, {"type": "text", "text": "Hi!"}]),
    row({"role": "assistant", "content": "Hi!", "reasoning_content": THOUGHT}),
]
TURN = {"role": "assistant", "content": "Hi!", "reasoning": THOUGHT}
BESIDE.append(
    {
        **{name: value for name, value in row("").items() if name not in ("prompt", "response")},
        "messages": [{"role": "user", "content": "Greet me."}, TURN],
    }
)


@pytest.mark.parametrize("record", BESIDE)
def test_reasoning_beside_the_content_is_kept_and_not_judged(record: dict[str, Any]) -> None:
    result, model, _ = judged(record)
    plain, asked, _ = judged(row("Hi!"))
    assert result.verdicts == plain.verdicts
    assert model.calls == asked.calls
    assert result.sample is not None
    assert (result.sample.response, result.sample.reasoning) == ("Hi!", THOUGHT)
    again = native.sample(native.write_beside_results(result.sample), 1)
    assert (again.response, again.reasoning) == ("Hi!", THOUGHT)


@pytest.mark.parametrize("form", UNCLOSED)
def test_reasoning_without_an_end_is_no_answer_and_meets_nothing(form: str) -> None:
    result, model, summary = judged(row(form.format("One or two")))
    assert verdicts(result) == ["unmet"] * len(CHECKLIST)
    assert not model.calls
    assert "no answer after the reasoning in 1 response: unmet" in summary["notes"]
    levels = {"checklist": [{"text": "Good.", "scale": ["bad", "good"]}, "Polite."]}
    _, _, scaled = judged(row(form.format("One")) | levels)
    assert scaled["metrics"]["rubric"]["score"]["value"] == 0
    assert rewarded(form.format("One or two")) == 0
    assert rewarded(form.format("One or two"), gates="none") == 0


@pytest.mark.parametrize("options", [{"reasoning": "keep"}, {"scoring": "faithful"}])
def test_reasoning_is_judged_where_that_is_asked_for(options: dict[str, Any]) -> None:
    response = "<think>a, b</think>One"
    result, _, summary = judged(row(response), **options)
    assert result.sample is not None
    assert result.sample.response == response
    assert verdicts(result)[0] == "unmet"
    assert summary["reasoning"] == "keep"
    assert any("reasoning judged as part of 1 response" in note for note in summary["notes"])
    assert verdicts(judged(row(response), **options | {"reasoning": "strip"})[0])[0] == "met"
    assert rewarded(response, reasoning="keep") == 0
    assert rewarded(response) == 1


def test_earlier_turns_are_shown_without_their_reasoning() -> None:
    turns = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "<think>a</think>b"},
    ]
    messages = [*turns, {"role": "user", "content": "Go on."}]
    result, model, _ = judged({**row("Yes."), "prompt": messages})
    assert "<think>" not in str(model.calls[0].messages)
    assert result.sample is not None
    assert result.sample.conversation[1].model_extra == {"reasoning": "a"}


def test_a_completion_that_is_messages_is_rewarded_for_its_answer() -> None:
    said = {"role": "assistant", "content": "<think>a, b</think>One"}
    assert rewarded([said]) == rewarded("One") == 1


@pytest.mark.slow
def test_graders_read_the_answer() -> None:
    pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")
    from heedful.bench.grading.graders import Grader
    from heedful.bench.grading.math_pool import MathPool

    problem = Problem(id="1", question="Twice six?", kind="open", answers=("12",))
    thought = r"It may be \boxed{7}."

    async def grades(*texts: str, reasoning: ReasoningMode = "strip") -> list[bool | None]:
        async with MathPool(1) as pool:
            grader = Grader(pool, reasoning=reasoning)
            graded = [await grader.grade(problem, Solution(text=text)) for text in texts]
        return [grade.correct for grade in graded]

    for answer in (r"So \boxed{12}.", "The answer is 13."):
        wrapped = [form.format(thought, answer) for form in FORMS.values()]
        assert len({*asyncio.run(grades(answer, *wrapped))}) == 1
    cut = [form.format(r"\boxed{12}") for form in UNCLOSED]
    assert asyncio.run(grades(*cut)) == [None] * len(cut)
    assert asyncio.run(grades(*cut, reasoning="keep")) == [True] * len(cut)


def test_the_command_strips_or_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(row("<think>a, b</think>One")) + "\n", encoding="utf-8")
    responses = tmp_path / "responses.jsonl"
    said = {"id": "1", "response": "<think>a, b</think>One"}
    write_rows(responses, [said])
    for words, met in (([], 2), (["--reasoning", "keep"], 0), (["--responses", responses], 2)):
        run = tmp_path / f"run{len(words)}{met}"
        commands.run("evaluate", data, "--run", run, *words)
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
        assert summary["verdicts"]["met"] == met
        note = f"reasoning {'removed from' if met else 'judged as part of'} 1 response"
        assert note in " ".join(capsys.readouterr().out.split())
    assert commands.run("evaluate", data, "--reasoning", "drop") == 2
    assert '"strip", "keep"' in capsys.readouterr().err


def test_a_response_has_no_reasoning_that_the_template_opened() -> None:
    body = completion("why\n</think>\n\nyes").body
    thought = without_reasoning(read_completion(json.dumps(body).encode()))
    assert (thought.text, thought.reasoning) == ("yes", "why")
    body = completion("a\n</think>\nb", reasoning_content="why").body
    assert without_reasoning(read_completion(json.dumps(body).encode())).text == "a\n</think>\nb"
