"""What RealCritic asks, and how critiques are read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.passages import last_boxed
from heedful.bench.realcritic.critic import Prompts, read_check, read_review
from heedful.core.errors import UsageError
from heedful.core.problems import Problem, Solution
from heedful.judges.prompts.fence import unfence

PROBLEM = Problem(id="1", question="What is 2 + 3?", kind="open", answers=("5",))


def reply(verdict: str, step: object, answer: str) -> str:
    return (
        f"## Critique\n### Step 1\nLooks odd.\n\n## Conclusion\nThe solution is {verdict}.\n"
        f"First wrong step: {step}\n\n## Correction\nSo it is \\boxed{{{answer}}}."
    )


PUBLISHED = r"""```
## Critique of Student Solution Steps
### Critique of Step 1
The step is correct.
### Critique of Step 2
The error is that 4 is not 5. This step is incorrect.

## Conclusion of Critique
The solution is Incorrect.
The first error step number: 2

## Correction of Student Solution
===CORRECTION_START===
Therefore, the final answer is \boxed{5}.
===CORRECTION_END===
```"""


@pytest.mark.parametrize(
    ("text", "verdict", "step", "box"),
    [
        (reply("Correct", -1, "5"), True, -1, "5"),
        (reply("Incorrect", 2, "5"), False, 2, "5"),
        (reply("**Incorrect**", "Step 12", "5"), False, 12, "5"),
        (reply("not correct", "2", "5"), False, 2, "5"),
        (reply("Correct", "none", "5"), True, -1, "5"),
        (reply("Correct", "−1", "5"), True, -1, "5"),
        ("<think>The solution is Correct.</think>" + reply("Incorrect", 1, "5"), False, 1, "5"),
        (PUBLISHED, False, 2, "5"),
        (
            "**Conclusion:** Incorrect\nfirst wrong step: 3\n**Correction**\n\\boxed{5}",
            False,
            3,
            "5",
        ),
        ("The solution is correct. The answer is \\boxed{5}.", True, None, "5"),
        (reply("Correct", 2, "5"), True, None, "5"),  # the two contradict each other
        (reply("Incorrect", -1, "5"), False, None, "5"),
        (reply("Correct", -1, "5") + "\n\nConclusion: \\boxed{7} it is.", True, -1, "7"),
        ("", None, None, None),
        ("I do not know.", None, None, None),
    ],
)
def test_reviews_are_read(text: str, verdict: object, step: int | None, box: str | None) -> None:
    review = read_review(text)
    assert (review.verdict, review.first_error) == (verdict, step)
    assert last_boxed(review.correction or "") == box


def test_the_last_conclusion_counts() -> None:
    twice = "## Conclusion\nThe solution is Incorrect.\n" + reply("Correct", -1, "5")
    assert read_review(twice).verdict is True


def test_checks_are_read() -> None:
    assert read_check("It looked.\n\n**RESULT: QUALIFIED**") is True
    assert read_check("It solved first.\nRESULT: unqualified.") is False
    assert read_check(r"So \boxed{Unqualified}") is False
    assert read_check("RESULT: QUALIFIED\nRESULT: UNQUALIFIED") is False
    assert read_check("Is it qualified or not?") is None


@given(st.text())
def test_any_reply_can_be_read(text: str) -> None:
    review = read_review(text)
    if review.verdict is not None and review.first_error is not None:
        assert review.verdict == (review.first_error == -1)
    read_check(text)


@given(st.text(min_size=1), st.text())
def test_the_solution_stands_in_the_prompt_as_it_is(question: str, text: str) -> None:
    problem = PROBLEM.model_copy(update={"question": question})
    (message,) = Prompts.ours().critique(problem, Solution(text=text))
    assert [item.text for item in unfence(message.content)] == [question, text]


def test_prompts_have_what_they_need() -> None:
    (asked,) = Prompts.ours().direct(PROBLEM)
    assert asked.content.startswith("What is 2 + 3?\n")
    choices = {"A": "four", "B": "five"}
    problem = PROBLEM.model_copy(update={"kind": "choice", "answers": ("B",), "choices": choices})
    assert "Answer Choices: (A) four (B) five" in Prompts.ours().direct(problem)[0].content
    stated = problem.model_copy(update={"question": "Which? (A) four (B) five"})
    assert "Answer Choices" not in Prompts.ours().direct(stated)[0].content
    numbered = Solution(text="a\n\nb", steps=("a", "b"))
    (asked,) = Prompts.ours().critique(PROBLEM, numbered)
    assert unfence(asked.content)[1].text == "Step 1: a\n\nStep 2: b"
    (asked,) = Prompts.ours().check(PROBLEM, numbered, "My critique.")
    assert [item.text for item in unfence(asked.content)][2] == "My critique."


def own(folder: Path, **texts: str) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name.replace('_', '.')}.txt").write_text(text, encoding="utf-8")
    return folder


def test_a_protocol_of_ones_own_has_system_and_user_turns(tmp_path: Path) -> None:
    texts = {
        "critique_system": "You judge.",
        "critique": "Problem: {{problem}}\nSolution: {{solution}}",
        "direct": "{{question}} Think.",
    }
    prompts = Prompts.read(own(tmp_path / "published", **texts))
    solution = Solution(text="It is {{problem}}.")
    assert [(turn.role, turn.content) for turn in prompts.critique(PROBLEM, solution)] == [
        ("system", "You judge."),
        ("user", "Problem: What is 2 + 3?\nSolution: It is {{problem}}."),
    ]
    assert [turn.content for turn in prompts.direct(PROBLEM)] == ["What is 2 + 3? Think."]
    # What the folder lacks is ours, and a prompt with a mark has its texts behind fences.
    assert prompts.retry("R") == Prompts.ours().retry("R")
    (check,) = prompts.check(PROBLEM, solution, "C")
    assert [name for name, _ in unfence(check.content)] == ["PROBLEM", "SOLUTION", "CRITIQUE"]
    assert prompts.version() != Prompts.ours().version()
    assert Prompts.read(None) == Prompts.ours()


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ({}, "published"),
        ({"critic": "{{problem}}"}, "critic.txt"),
        ({"critique": "{{problem}}"}, "{{solution}}"),
        ({"critique": "{{problem}} {{solution}} {{gold}}"}, "{{gold}}"),
        ({"again_system": "x"}, "again.system.txt"),
    ],
)
def test_prompts_that_cannot_work_are_refused(
    texts: dict[str, str], wrong: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        Prompts.read(own(tmp_path / "published", **texts))
    assert wrong in f"{refused.value.where} {refused.value.what}"
