"""RealCritic's prompts, how critiques are read, and its numbers."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.passages import last_boxed
from heedful.bench.realcritic.critic import Prompts, read_check, read_review
from heedful.bench.realcritic.metrics import Case, harmonic_mean, round_numbers, transitions
from heedful.bench.realcritic.tables import league
from heedful.core.errors import UsageError
from heedful.core.problems import Problem, Solution
from heedful.judges.prompts.fence import unfence

MAYBE = st.sampled_from([True, False, None])

CASES = [
    Case(set="a", generator="weak", before=True, after=True, verdict=True),
    Case(set="a", generator="weak", before=True, after=False, verdict=False),
    Case(set="a", generator="strong", before=False, after=True, verdict=False, qualified=True),
    Case(set="a", generator="strong", before=False, after=True, verdict=True, qualified=False),
    Case(set="b", generator="strong", before=False, after=False, verdict=False, qualified=False),
    Case(set="b", generator="weak", before=True, after=None, verdict=None, reason="no box"),
]


def test_a_round_by_hand() -> None:
    result = round_numbers(CASES)
    assert result["accuracy"]["coverage"] == pytest.approx(5 / 6)
    assert result["accuracy"]["bounds"] == pytest.approx([3 / 6, 4 / 6])
    assert result["macro"]["bounds"] == pytest.approx([(3 / 4 + 0) / 2, (3 / 4 + 1 / 2) / 2])
    # Five pairs are decided on both sides: 2 of 5 correct before, 3 of 5 after.
    delta = result["delta"]
    assert (delta["n"], delta["gained"]) == (5, 1)
    assert delta["value"] == pytest.approx(3 / 5 - 2 / 5)
    assert delta["macro"] == pytest.approx((1 / 4 + 0) / 2)
    moved = result["transitions"]
    assert moved["incorrect_to_correct"] == {
        "count": 2,
        "of_incorrect": pytest.approx(2 / 3),
        "of_all": pytest.approx(2 / 5),
    }
    assert moved["correct_to_incorrect"] == {
        "count": 1,
        "of_correct": pytest.approx(1 / 2),
        "of_all": pytest.approx(1 / 5),
    }
    assert moved["undecided"] == {"correct": 1, "incorrect": 0, "unknown": 0}
    # Verdicts: right, wrong, right, wrong, right; one not said.
    verdict = result["verdict"]
    assert verdict["accuracy"]["bounds"] == pytest.approx([3 / 6, 4 / 6])
    assert verdict["of_incorrect"]["value"] == pytest.approx(2 / 3)
    quality = {"n": 5, "high_right": 2, "high_wrong": 1, "low_right": 1, "low_wrong": 1}
    assert verdict["quality"] == quality
    check = result["post_check"]
    assert (check["qualified"], check["unqualified"], check["undecided"]) == (1, 2, 3)
    assert check["accuracy_without_unqualified"]["bounds"] == pytest.approx([2 / 4, 3 / 4])
    weak, strong = (result["generators"][name]["accuracy"] for name in ("weak", "strong"))
    assert weak["bounds"] == pytest.approx([1 / 3, 2 / 3])
    assert strong["value"] == pytest.approx(2 / 3)
    assert result["undecided"] == {"no box": 1}
    assert "first_error" not in result


def test_first_errors_as_processbench_scores_them() -> None:
    cases = [
        Case(marked=2, found=2),
        Case(marked=2, found=3),
        Case(marked=1, found=-1),
        Case(marked=3, found=None),
        Case(marked=-1, found=-1),
        Case(marked=-1, found=1),
    ]
    result = round_numbers(cases)["first_error"]
    assert result["erroneous"]["bounds"] == pytest.approx([1 / 4, 2 / 4])
    assert result["correct"]["value"] == pytest.approx(1 / 2)
    least = 2 * (1 / 4) * (1 / 2) / (1 / 4 + 1 / 2)
    assert (result["f1"], result["f1_bounds"]) == (None, pytest.approx([least, 1 / 2]))
    faithful = round_numbers(cases, scoring="faithful")["first_error"]
    assert faithful["erroneous"]["value"] == pytest.approx(1 / 4)
    assert harmonic_mean(0.0, 0.0) == 0.0
    assert harmonic_mean(None, 1.0) is None


@given(st.lists(st.tuples(MAYBE, MAYBE)))
def test_every_pair_is_counted_once(pairs: Sequence[tuple[bool | None, bool | None]]) -> None:
    result = transitions(pairs)
    assert result["n"] + sum(result["undecided"].values()) == len(pairs)


@given(st.lists(st.builds(Case, before=MAYBE, after=MAYBE, verdict=MAYBE), min_size=1))
def test_what_critique_gains_is_what_it_mends_less_what_it_spoils(cases: list[Case]) -> None:
    result = round_numbers(cases)
    moved, delta = result["transitions"], result["delta"]
    if delta["n"]:
        shares = (
            moved["incorrect_to_correct"]["of_all"] - moved["correct_to_incorrect"]["of_all"],
            delta["after"] - delta["before"],
        )
        assert shares == pytest.approx((delta["value"], delta["value"]))
    else:
        assert delta["value"] is None


# The paper's result table, in per cent: eight sets, then the averages that it prints.
PAPER: dict[str, dict[str, list[float]]] = {
    "LLaMA-3.1-70B-Instruct": {
        "direct": [88.6, 93.4, 65.3, 40.1, 33.7, 32.6, 63.0, 31.1],
        "self": [87.5, 91.9, 59.0, 37.3, 33.7, 22.1, 53.8, 28.5],
        "cross": [82.5, 88.6, 64.9, 49.1, 42.1, 35.3, 42.8, 40.8],
        "averages": [56.0, 51.7, 55.8, -4.3, 5.8],
    },
    "Qwen2.5-72B-Math-Instruct": {
        "direct": [94.3, 95.6, 86.9, 45.2, 42.1, 42.6, 86.3, 47.6],
        "self": [93.5, 95.2, 85.4, 45.2, 41.0, 41.6, 50.7, 47.2],
        "cross": [72.6, 86.4, 73.1, 52.0, 50.2, 43.7, 38.0, 53.9],
        "averages": [67.6, 62.5, 58.7, -5.1, 8.7],
    },
    "O1-Mini": {
        "direct": [68.1, 89.0, 81.3, 20.1, 28.4, 56.3, 81.8, 49.4],
        "self": [87.5, 93.8, 91.4, 44.1, 41.0, 33.2, 53.8, 55.8],
        "cross": [85.2, 93.8, 85.1, 52.7, 49.8, 44.7, 56.5, 57.3],
        "averages": [59.3, 62.6, 65.6, 3.3, 15.6],
    },
}
AVERAGED = ("direct", "self", "cross", "self - direct", "cross - baseline")


@pytest.mark.parametrize("model", PAPER)
def test_the_averages_of_the_papers_table_come_out_of_its_cells(model: str) -> None:
    modes = {name: PAPER[model][name] for name in ("direct", "self", "cross")}
    rows = modes | {"baseline": [50.0] * 8}
    cells = {name: [(each, each) for each in row] for name, row in rows.items()}
    result = league({name: dict(zip("abcdefgh", row, strict=True)) for name, row in cells.items()})
    for name, printed in zip(AVERAGED, PAPER[model]["averages"], strict=True):
        # What is printed is rounded to 0.1, half up or down.
        assert result[name]["average"] == pytest.approx((printed,) * 2, abs=0.05000001), name


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
