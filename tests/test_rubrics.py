"""Rubrics: weights, must-haves, levels, dependencies, and what does not apply."""

import asyncio
import cProfile
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import UsageError, dry_run, evaluate
from heedful.core import rubric
from heedful.core.nouns import Constraint, Critique, Judgment, Message, Sample, Status
from heedful.core.scale import Level, Scale
from heedful.judges import Panel, prompts
from heedful.judges.dependencies import judge_in_order
from heedful.judges.model import Checklist
from heedful.metrics import Summary, scores
from heedful.models import ScriptedModel
from jsonl import write_rows
from told import Told

MET, UNMET, OPEN, NA = Status.MET, Status.UNMET, Status.UNPARSED, Status.NOT_APPLICABLE
POLITE = Scale(
    levels=(Level(label="rude"), Level(label="ok", value=0.5), Level(label="kind", value=1))
)
PROMPTS = itertools.count()


def weighted(*weights: float | None, **tags: str) -> Sample:
    checklist = tuple(
        Constraint.model_validate({"text": f"c{n}", "weight": weight})
        for n, weight in enumerate(weights, 1)
    )
    # Prompts of their own: rows of one prompt vary together.
    prompt = f"Q{next(PROMPTS)}"
    return Sample(id="1", prompt=prompt, checklist=checklist, response="A", tags=tags)


def said(*statuses: Status) -> Critique:
    return Critique(judgments=tuple(Judgment(status=status) for status in statuses))


def metrics(rows: Sequence[tuple[Sample, Critique]], scoring: Any = "strict") -> dict[str, Any]:
    summary = Summary(scoring)
    for row in rows:
        summary.add(*row)
    result: dict[str, Any] = summary.result()["metrics"]
    return result


def values(*rows: tuple[Sample, Critique], scoring: Any = "strict") -> dict[str, Any]:
    return {
        f"{family}.{name}": measure["value"]
        for family, rates in metrics(rows, scoring).items()
        for name, measure in rates.items()
        if family not in ("cfbench", "infobench")
    }


# --- scores by hand -----------------------------------------------------------------------------


def test_every_rule_on_one_response() -> None:
    row = weighted(7, 5, 10, -6), said(MET, UNMET, MET, MET)
    assert values(row) == {
        "rubric.score": 0.5,
        "healthbench.score": 0.5,
        "prbench.score": pytest.approx(17 / 28),
        "researchrubrics.score": 0.5,
    }
    own = weighted(7, 5, 10, -6, benchmark="ruverbench"), said(MET, UNMET, MET, MET)
    assert values(own) == {"ruverbench.recall": pytest.approx(11 / 16)}
    for each, told in ((own, 1), (row, 0)):
        summary = Summary()
        summary.add(*each)
        assert sum("above 100 %" in note for note in summary.result()["notes"]) == told


def test_a_mistake_worth_more_than_all_merits() -> None:
    result = values((weighted(5, -8), said(UNMET, MET)))
    assert result["healthbench.score"] == 0  # the mean, -1.6, is clipped
    assert result["researchrubrics.score"] == pytest.approx(-1.6)
    assert result["rubric.score"] == result["prbench.score"] == 0
    own = values((weighted(5, -8, benchmark="ruverbench"), said(UNMET, MET)))
    assert own == {"ruverbench.recall": 0}


def test_mistakes_alone() -> None:
    result = values((weighted(-4, -6), said(MET, UNMET)))
    assert result["rubric.score"] == pytest.approx(0.6)
    assert "healthbench.score" not in result
    assert result["researchrubrics.score"] == 0


def test_healthbench_clips_the_mean_and_not_the_responses() -> None:
    rows = [
        (weighted(5, 5), said(MET, UNMET)),
        (weighted(5, -8), said(UNMET, MET)),
        (weighted(5), said(MET)),
    ]
    measure = metrics(rows)["healthbench"]["score"]
    assert measure["value"] == 0
    assert measure["numerator"] == pytest.approx(0.5 - 1.6 + 1)
    assert metrics(rows)["rubric"]["score"]["value"] == pytest.approx(0.5)
    low, high = measure["interval"]
    assert 0 <= low <= high <= 1


def test_scores_by_type_are_of_the_criteria_of_that_type() -> None:
    checklist = tuple(
        Constraint(text=f"c{n}", weight=weight, type=kind)
        for n, (weight, kind) in enumerate([(5, "a"), (3, "a"), (-4, "a"), (2, "b"), (-6, "c")])
    )
    row = Sample(
        id="1", prompt="Q", checklist=checklist, response="A", tags={"benchmark": "healthbench"}
    )
    summary = Summary()
    summary.add(row, said(MET, UNMET, MET, MET, MET))
    by = summary.result()["by"]["score by type"]
    assert by["a"]["healthbench"]["score"]["value"] == pytest.approx(1 / 8)
    assert by["b"]["healthbench"]["score"]["value"] == 1
    assert "healthbench" not in by["c"]


def test_profbench_weighs_domains_equally() -> None:
    rows = [
        (weighted(4, 2, domain="Physics PhD", benchmark="profbench"), said(MET, UNMET)),
        (weighted(1, 3, domain="Finance MBA", benchmark="profbench"), said(MET, UNMET)),
        (weighted(1, 3, domain="Finance MBA", benchmark="profbench"), said(MET, UNMET)),
    ]
    result = metrics(rows)["profbench"]
    assert result["overall"]["value"] == pytest.approx((4 / 6 + 1 / 4) / 2)


def test_levels_earn_their_share() -> None:
    checklist = (
        Constraint(text="tone", weight=5, scale=POLITE),
        Constraint(text="true", weight=10),
    )
    row = Sample(id="1", prompt="Q", checklist=checklist, response="A")
    level = rubric.judgment_at(POLITE, "ok")
    assert level.status is UNMET
    critique = Critique(judgments=(level, Judgment(status=MET)))
    assert values((row, critique))["rubric.score"] == pytest.approx(12.5 / 15)
    # A verdict without a level says nothing of how much was earned.
    critique = said(MET, MET)
    measure = metrics([(row, critique)])["rubric"]["score"]
    assert measure["bounds"] == [pytest.approx(10 / 15), 1]
    assert measure["value"] is None


def test_what_does_not_apply_is_in_no_sum() -> None:
    summary = Summary()
    summary.add(weighted(6, 4, -5), said(MET, NA, NA))
    result = summary.result()
    assert result["metrics"]["rubric"]["score"]["value"] == 1
    assert result["verdicts"]["not_applicable"] == 2
    assert result["coverage"] == 1


def test_labels_may_name_levels() -> None:
    asked = [Constraint(text="a", scale={"kind": "partial"}), Constraint(text="b")]
    sample = Sample(checklist=asked, labels=["partly", "not_applicable"])
    assert sample.labels == (False, None)
    assert (sample.model_extra or {})["label_levels"] == ["partly", "not_applicable"]
    with pytest.raises(UsageError, match="none of the levels no, partly, yes"):
        Sample(checklist=asked, labels=["half", True])


@pytest.mark.parametrize(
    ("verdict", "score", "rate"), [(MET, 0.5, 1), (UNMET, 0, 0), (OPEN, None, None)]
)
def test_a_must_have(verdict: Status, score: float | None, rate: float | None) -> None:
    checklist = (Constraint(text="a", gate=True, weight=0), *weighted(1, 1).checklist)
    row = Sample(id="1", checklist=checklist, response="x")
    result = metrics([(row, said(verdict, MET, UNMET))])["rubric"]
    assert (result["score"]["value"], result["gates"]["value"]) == (score, rate)
    assert scores(row, said(verdict, MET, UNMET), "strict")["score"] == score


STATUSES = st.sampled_from([MET, UNMET, OPEN, NA])


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checklist", "problem"),
    [
        ([{"text": "a", "weight": 0}, {"text": "b", "weight": 0}], "all weights are 0"),
        ([{"text": "a", "weight": 1e12}], "constraint 1 has the weight"),
        ([{"text": "a", "weight": "heavy"}], "weight"),
        ([{"text": "a", "depends_on": [1]}], "depends on constraint 1"),
        ([{"text": "a", "depends_on": [0]}, "b"], "depends on constraint 0"),
        ([{"text": "a", "depends_on": [2]}, {"text": "b", "depends_on": [1]}], "in a circle: 1, 2"),
        ([{"text": "a", "scale": ["one"]}], "two levels"),
        ([{"text": "a", "scale": ["x", "x"]}], "'x' twice"),
        ([{"text": "a", "scale": {"levels": [{"label": "x", "value": 2}]}}], "scale"),
    ],
)
def test_a_senseless_rubric_is_refused_before_a_judge_sees_it(
    checklist: list[Any], problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "in.jsonl"
    rows = [
        {"id": "bad", "prompt": "Q", "response": "A", "checklist": checklist},
        {"id": "good", "prompt": "Q", "response": "A", "checklist": ["a"]},
    ]
    write_rows(file, rows)
    judge = Told()
    result = evaluate(file, judge=judge)
    assert [key for key, _ in judge.asked] == ["good"]
    (refused,) = result.summary["problems"]
    assert refused["id"] == "bad"
    assert problem in refused["problem"]


# --- dependencies -------------------------------------------------------------------------------


async def ordered(parents: list[list[int]], *statuses: Status) -> tuple[list[Status], list[int]]:
    checklist = tuple(
        Constraint(text=f"c{n}", depends_on=tuple(each)) for n, each in enumerate(parents, 1)
    )
    judge = Told(lambda _, place: statuses[place] if place < len(statuses) else MET)
    sample = Sample(id="1", checklist=checklist, response="x")
    critique = await judge_in_order(judge, sample)
    return [judgment.status for judgment in critique.judgments], [
        at for _, places in judge.asked for at in places
    ]


def test_what_depends_on_the_unmet_is_unmet_and_not_asked() -> None:
    result = asyncio.run(ordered([[], [1], [2], []], UNMET, MET, MET, MET))
    assert result == ([UNMET, UNMET, UNMET, MET], [0, 3])
    result = asyncio.run(ordered([[2], []], MET, MET))
    assert result == ([MET, MET], [1, 0])
    result = asyncio.run(ordered([[], [1]], OPEN, MET))
    assert result == ([OPEN, OPEN], [0])
    result = asyncio.run(ordered([[], [1]], NA, MET))
    assert result == ([NA, NA], [0])


@given(
    st.lists(st.sets(st.integers(1, 6)), min_size=1, max_size=6),
    st.lists(STATUSES, min_size=6, max_size=6),
)
def test_order_does_not_matter_to_what_follows(
    parents: list[set[int]], statuses: list[Status]
) -> None:
    # Edges only to earlier constraints: no circle.
    edges = [sorted(p for p in each if p < n) for n, each in enumerate(parents, 1)]
    found, asked = asyncio.run(ordered(edges, *statuses))
    for at, (status, each) in enumerate(zip(found, edges, strict=True)):
        above = {found[number - 1] for number in each}
        assert (at in asked) == (above <= {MET})
        if UNMET in above:
            assert status is UNMET
        elif NA in above:
            assert status is NA
        elif above <= {MET}:
            assert status is statuses[at]
        else:
            assert not status.settled


def test_an_estimate_counts_what_is_asked_if_all_are_met() -> None:
    checklist = [Constraint(text="c1")]
    checklist += [Constraint(text=f"c{n}", depends_on=(n - 1,)) for n in range(2, 5)]
    row = Sample(id="1", prompt="Q", response="A", checklist=checklist)
    model = ScriptedModel("[constraint 1]\nVERDICT: MET\n[end 1]")
    judge = Checklist(model, prompts.make("plain"), reasks=0)
    assert dry_run(evaluate, [row], judge=judge)["calls"] == 4


def test_a_chain_takes_time_that_grows_as_it_does() -> None:
    def calls(length: int, *, forward: bool) -> int:
        links = [[at] if at else [] for at in range(length)]
        if not forward:
            links = [[at + 2] if at + 1 < length else [] for at in range(length)]
        profile = cProfile.Profile()
        statuses, _ = profile.runcall(asyncio.run, ordered(links))
        assert set(statuses) == {MET}
        return sum(int(entry.callcount) for entry in profile.getstats())

    for forward in (True, False):
        assert calls(400, forward=forward) < 2.5 * calls(200, forward=forward)


# --- files --------------------------------------------------------------------------------------


def test_a_rubric_survives_a_run_and_its_results_file(tmp_path: Path) -> None:
    checklist = [
        {"text": "tone", "weight": 5, "scale": ["rude", "ok", "kind"], "source_span": "be kind"},
        {"text": "lies", "weight": -3, "gate": True},
        {"text": "cites", "scale": "partial", "depends_on": [1]},
    ]
    judgments = [
        {"status": "unmet", "level": "ok", "evidence": "fine"},
        {"status": "not_applicable"},
        {"status": "unmet", "level": "partly"},
    ]
    file = tmp_path / "in.jsonl"
    row = {
        "id": "1",
        "prompt": "Q",
        "response": "A",
        "checklist": checklist,
        "judgments": judgments,
    }
    file.write_text(json.dumps(row))
    first = evaluate(file, run=tmp_path / "a")
    again = evaluate(tmp_path / "a" / "results.jsonl", run=tmp_path / "b")
    for result in (first, again):
        (scored,) = result
        assert scored.sample is not None
        assert scored.critique is not None
        tone, lies, cites = scored.sample.checklist
        assert [level.value for level in tone.scale.answers] == [0, 0.5, 1]  # type: ignore[union-attr]
        assert (tone.weight, lies.gate, cites.depends_on) == (5, True, (1,))
        assert tone.source_span == "be kind"
        assert scored.critique.judgments[0].level == "ok"
        assert scored.critique.judgments[0].evidence == "fine"
        assert scored.critique.judgments[1].status is NA
        # What depends on an unmet criterion is unmet, whatever the file says of it.
        assert scored.critique.judgments[2].level is None
    assert first.summary["metrics"] == again.summary["metrics"]


# --- a model that judges a rubric ---------------------------------------------------------------


def rubric_sample() -> Sample:
    checklist = (
        Constraint(text="How kind is it?", scale=POLITE, weight=2),
        Constraint(text="It invents a fact.", weight=-3),
    )
    return Sample(id="1", prompt="Greet.", checklist=checklist, response="Hello.")


def asked(reply: str, prompt: str = "criteria") -> tuple[Critique, list[str]]:
    seen: list[str] = []

    def answer(messages: Sequence[Message], _: int) -> str:
        seen.append(messages[-1].content)
        return reply

    judge = Checklist(ScriptedModel(answer), prompts.make(prompt), reasks=0)
    return asyncio.run(judge.judge(rubric_sample())), seen


def verdicts(*pairs: tuple[int, str]) -> str:
    entries = [
        {"constraint": number, "evidence": "Hello.", "explanation": "I looked.", "verdict": verdict}
        for number, verdict in pairs
    ]
    return json.dumps({"judgments": entries})


def test_a_judge_chooses_among_the_levels_of_each_criterion() -> None:
    critique, (prompt,) = asked(verdicts((1, "OK"), (2, "met")))
    tone, invents = critique.judgments
    assert (tone.status, tone.level, tone.evidence) == (UNMET, "ok", "Hello.")
    assert (invents.status, invents.level) == (MET, None)
    assert '"rude", "ok", "kind"' in prompt
    assert '"met", "unmet"' in prompt


@given(st.permutations([1, 2]), st.sampled_from(["rude", "ok", "kind"]), st.booleans())
def test_what_the_criteria_prompt_writes_it_reads(
    order: list[int],
    level: str,
    invented: bool,  # noqa: FBT001 - drawn
) -> None:
    sample = rubric_sample()
    checklist = [sample.checklist[number - 1] for number in order]
    judgments = [
        rubric.judgment_at(POLITE, level, explanation="So.")
        if each.scale
        else Judgment(status=MET if invented else UNMET, explanation="So.")
        for each in checklist
    ]
    prompt = prompts.make("criteria")
    assert prompt.parse(prompt.write(judgments, checklist), checklist) == judgments


def test_a_prompt_without_levels_leaves_them_to_one_that_has_them() -> None:
    reply = "<c1>\nNo.\nVERDICT: UNMET\n</c1>"
    critique, (prompt,) = asked(reply, "plain")
    tone, invents = critique.judgments
    assert tone.status is Status.UNSUPPORTED
    assert "--prompt criteria" in tone.explanation
    assert invents.status is UNMET
    assert "How kind" not in prompt


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (["ok", "ok", "rude"], ("ok", UNMET, 2 / 3)),
        (["kind", "kind", "ok"], ("kind", MET, 2 / 3)),
        (["ok", "rude", "kind"], (None, OPEN, 1 / 3)),
        (["ok", "rude"], (None, OPEN, 1 / 2)),
    ],
)
def test_votes_on_levels_are_for_a_level(levels: list[str], expected: Any) -> None:
    said = [rubric.judgment_at(POLITE, level) for level in levels]
    members = [Told(lambda *_, judgment=each: judgment) for each in said]
    judgment = asyncio.run(Panel(*members).judge(rubric_sample(), [0])).judgments[0]
    assert (judgment.level, judgment.status) == expected[:2]
    assert judgment.confidence == pytest.approx(expected[2])
    assert [vote["level"] for vote in judgment.votes or ()] == levels


@pytest.mark.parametrize(
    ("status", "level", "read"),
    [
        ("met", "kind", "met"),
        ("unmet", "rude", "unmet"),
        ("met", "rude", "unparsed"),
        ("met", "unheard of", "unparsed"),
        ("unmet", None, "unmet"),
    ],
)
def test_a_recorded_verdict_is_the_one_of_its_level(
    status: str, level: str | None, read: str
) -> None:
    row = {
        "prompt": "Q",
        "response": "A",
        "checklist": [{"text": "How kind?", "scale": ["rude", "kind"]}],
        "judgments": [{"status": status, "level": level}],
    }
    assert evaluate([row], judge="recorded").summary["verdicts"][read] == 1
