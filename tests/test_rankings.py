"""Judges as rankers: IF-RewardBench, LLMBar, RewardBench 2, and rows of one's own."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import judge_accuracy
from heedful.analysis.meta.tables import document
from heedful.core.nouns import Scoring
from heedful.metrics.ranking import Choice, Edges, choices, elo, ranking
from jsonl import write_rows

MET, UNMET = "[[人工智能助手的回复满足了该要求]]", "[[人工智能助手的回复没有满足该要求]]"


def critique(verdicts: str, thought: str = "") -> str:
    blocks = [
        f"[检查项{n}-开始]\n要求：c{n}\n分析：看了。\n"
        f"结论：{MET if sign == '+' else UNMET}\n[检查项{n}-结束]"
        for n, sign in enumerate(verdicts, 1)
    ]
    return thought + "\n\n".join(blocks)


def item(
    number: int, kind: str, *responses: tuple[str, str], edges: Sequence[tuple[int, int]]
) -> dict[str, Any]:
    """Write an item: for each response its labels and what the judge said, as signs."""
    count = len(responses[0][0])
    return {
        "id": number,
        "instruction_type": kind,
        "messages": [{"role": "user", "content": f"Do {number}."}],
        "checklist": [f"c{n}" for n in range(1, count + 1)],
        "constraint_type": [{"constraint_categories": ["Content"]}] * count,
        "responses": [
            {
                "response_id": place,
                "response": "So.",
                "labels": [int(sign == "+") for sign in labels],
                "critique": said if "检" in said or not said else critique(said),
            }
            for place, (labels, said) in enumerate(responses)
        ],
        "preference_graph": [
            {"pair_id": n, "chosen": {"response_id": a}, "rejected": {"response_id": b}}
            for n, (a, b) in enumerate(edges)
        ],
    }


def measured(path: Path, *items: dict[str, Any], scoring: Scoring = "faithful") -> dict[str, Any]:
    file = path / "items.json"
    file.write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")
    (judge,) = judge_accuracy(file, scoring=scoring)["judges"]
    return dict(judge)


# --- IF-RewardBench -----------------------------------------------------------------------------


def test_if_rewardbench_by_hand(tmp_path: Path) -> None:
    judge = measured(
        tmp_path,
        # Ranked rightly, and tied.
        item(1, "Single_Turn", ("++", "++"), ("+-", "+-"), ("-+", "++"), edges=[(0, 1), (0, 2)]),
        # Ranked the wrong way round.
        item(2, "Multi_Turn", ("++", "--"), ("-+", "++"), edges=[(0, 1)]),
    )
    cells = judge["pooled"]["cells"]
    assert (cells["tp"], cells["fp"], cells["fn"], cells["tn"]) == (5, 2, 2, 1)
    per_type = judge["per_type"]
    first_met, first_unmet = 2 * 4 / (2 * 4 + 1), 2 * 1 / (2 * 1 + 1)
    second_met, second_unmet = 2 * 1 / (2 * 1 + 1 + 2), 0.0
    assert per_type["f1_met"]["value"] == pytest.approx((first_met + second_met) / 2)
    assert per_type["f1_unmet"]["value"] == pytest.approx((first_unmet + second_unmet) / 2)
    ranks = judge["ranking"]
    assert ranks["pairs"] == {"concordant": 1, "discordant": 1, "tied": 1, "undecided": 0}
    assert ranks["mean_of_types"]["pair_accuracy"]["value"] == pytest.approx((0.5 + 0) / 2)
    expected = (1 / math.sqrt(1 * 2) - 1) / 2
    assert ranks["mean_of_types"]["tau_b"]["value"] == pytest.approx(expected)


def test_an_unreadable_critique_is_met_only_in_faithful_scoring(tmp_path: Path) -> None:
    broken = critique("--").replace("[检查项2-结束]", "[檢查項2-结束]")
    entry = item(1, "Single_Turn", ("++", "+-"), ("--", broken), edges=[(0, 1)])
    judge = measured(tmp_path, entry)
    assert judge["pooled"]["cells"]["fp"] == 2
    assert judge["ranking"]["pairs"]["discordant"] == 1
    judge = measured(tmp_path, entry, scoring="strict")
    assert judge["pooled"]["cells"]["fp"] == 0
    assert judge["verdicts"]["unparsed"] == 2
    ranks = judge["ranking"]
    assert ranks["pairs"]["undecided"] == 1
    assert ranks["coverage"] == 0
    assert ranks["pair_accuracy"] == {"value": None, "interval": None, "bounds": [0, 1]}


def compared(number: int, kind: str, said: dict[str, str], *edges: tuple[int, int]) -> Any:
    """Write an item of three responses with what a judge said of pairs, by their places."""
    entry = item(number, kind, *[("+", "")] * 3, edges=edges)
    for response in entry["responses"]:
        del response["critique"]
    return entry | {"pairwise_evaluation_results": said}


def elo_of(path: Path, *items: Any, scoring: Scoring = "faithful") -> dict[str, Any]:
    file = path / "items.json"
    file.write_text(json.dumps(items))
    summary = judge_accuracy(file, scoring=scoring)
    assert summary["judges"] == []
    assert "Elo of the comparisons" in document(summary).markdown()
    return dict(summary["elo"]["ranking"])


@pytest.mark.parametrize("scoring", ["strict", "faithful"])
def test_comparisons_rank_responses_by_elo(tmp_path: Path, scoring: Scoring) -> None:
    a, b = "Better: [[A]]", "Better: [[B]]"
    ranks = elo_of(
        tmp_path,
        # 0 before 1 before 2, the second pair shown as 2, 1.
        compared(1, "Single_Turn", {"0_1": a, "2_1": b}, (0, 2), (1, 2)),
        # 1 before 0; the tie says nothing of 2, which stays between them.
        compared(2, "Multi_Turn", {"0_1": b, "0_2": f"{a} {b}"}, (0, 1), (0, 2)),
        # None of them was compared.
        compared(3, "Multi_Turn", {}, (0, 1)),
        scoring=scoring,
    )
    assert ranks["pairs"] == {"concordant": 2, "discordant": 2, "tied": 1, "undecided": 0}
    per_type = ranks["mean_of_types"]
    assert per_type["pair_accuracy"]["value"] == pytest.approx((1 + (0 + 0) / 2) / 2)
    assert per_type["tau_b"]["value"] == pytest.approx((1 + (-1 + 0) / 2) / 2)


def test_elo_of_one_comparison_by_hand() -> None:
    ahead = 0.0
    for epoch in range(100):
        step = 32 if epoch <= 20 else max(1, 32 * (100 - epoch) / 80)
        ahead += 2 * step / (1 + 10 ** (ahead / 400))
    assert elo(2, [(1, 0)], Random(0)) == pytest.approx([1200 - ahead / 2, 1200 + ahead / 2])


def test_a_comparison_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    row = {"id": "a", "prompt": "Q", "response": "A", "checklist": ["c"], "labels": [True]}
    file = write_rows(tmp_path / "rows.jsonl", [row | {"compared_to": ["b"]}, row | {"id": "b"}])
    (problem,) = judge_accuracy(file)["problems"]
    assert "compared_to" in problem["problem"]


# --- numbers ------------------------------------------------------------------------------------

COUNTS = st.integers(0, 5)


@given(st.lists(st.builds(Edges, COUNTS, COUNTS, COUNTS, COUNTS), min_size=1, max_size=6))
def test_bounds_hold_every_completion(instructions: list[Edges]) -> None:
    result = ranking([(None, edges) for edges in instructions])
    if result is None:
        assert not any(map(any, instructions))
        return
    for moved in (0, 1):
        settled = [
            edges._replace(
                undecided=0,
                concordant=edges.concordant + edges.undecided * moved,
                discordant=edges.discordant + edges.undecided * (1 - moved),
            )
            for edges in instructions
        ]
        other = ranking([(None, edges) for edges in settled])
        assert other is not None
        for name in ("pair_accuracy", "tau_b"):
            before, after = dict(result)[name], dict(other)[name]
            assert isinstance(before, dict)
            assert isinstance(after, dict)
            assert after["value"] == pytest.approx(before["bounds"][moved])


# --- rows of one's own --------------------------------------------------------------------------


def test_checklists_become_scores_with_their_weights(tmp_path: Path) -> None:
    rows = [
        {
            "id": name,
            "prompt": "Q",
            "response": "A",
            "checklist": [{"text": "a", "weight": 3}, {"text": "b", "weight": -2}],
            "labels": labels,
            "judgments": judged,
            "preferred_to": worse,
        }
        for name, labels, judged, worse in (
            ("good", [True, False], ["met", "unmet"], ["bad", "middle"]),
            ("middle", [True, True], ["met", "met"], ["bad"]),
            ("bad", [False, True], ["unmet", "met"], []),
        )
    ]
    file = tmp_path / "rows.jsonl"
    write_rows(file, rows)
    (judge,) = judge_accuracy(file)["judges"]
    assert judge["ranking"]["pairs"]["concordant"] == 3
    assert judge["ranking"]["pair_accuracy"]["value"] == 1


# --- pairwise judges ----------------------------------------------------------------------------

SIDES = st.sampled_from([1, 2, 0, None])


@given(st.lists(st.builds(Choice, st.sampled_from([1, 2]), SIDES, SIDES), min_size=1))
def test_choices_by_counting(given_choices: list[Choice]) -> None:
    n = len(given_choices)
    right = [[winner == c.label for winner in c.winners] for c in given_choices]
    faithful = choices(given_choices, "faithful")
    assert faithful["accuracy"]["value"] == pytest.approx(sum(map(sum, right)) / (2 * n))
    assert faithful["correct_both"]["value"] == pytest.approx(sum(map(all, right)) / n)
    same = sum(c.unswapped == c.swapped for c in given_choices) / n
    assert faithful["positional_agreement"]["value"] == pytest.approx(same)
    strict = choices(given_choices, "strict")
    hits, left = sum(map(sum, right)), sum(c.winners.count(None) for c in given_choices)
    assert strict["accuracy"]["bounds"] == pytest.approx([hits / (2 * n), (hits + left) / (2 * n)])
    assert (strict["accuracy"]["value"] is None) == (left > 0)
    assert strict["ties"] == sum(c.winners.count(0) for c in given_choices)
    clear = [w == at for c in given_choices for at, w in enumerate(c.winners, 1) if w]
    counted = strict["first_shown"]
    assert (counted["numerator"], counted["undecided"]) == (sum(clear), left)
    assert counted["denominator"] == len(clear) + left


def test_llmbars_shipped_runs_to_the_digit(data: Path) -> None:
    names = {
        "correct_False": "accuracy_unswapped",
        "correct_True": "accuracy_swapped",
        "correct_average": "accuracy",
        "correct_both": "correct_both",
        "equal": "positional_agreement",
    }
    runs = sorted((data / "llmbar").rglob("result.json"))
    assert len(runs) == 15
    for run in runs:
        shipped = json.loads((run.parent / "statistics.json").read_text())
        result = judge_accuracy(run, scoring="faithful")["choices"]
        for theirs, ours in names.items():
            percent = float(shipped[theirs].rpartition("=")[2].strip(" %"))
            assert 100 * result[ours]["value"] == pytest.approx(percent, abs=1e-9)


def test_llmbars_kappa_is_that_of_choices_and_labels(data: Path) -> None:
    run = data / "llmbar" / "Natural" / "evaluators" / "GPT-4" / "Vanilla" / "result.json"
    kappas = judge_accuracy(run)["choices"]["kappa"]
    assert sum(kappas.values()) / 2 == pytest.approx(0.9078, abs=5e-5)


def rated(name: str, verdicts: str, *worse: str) -> dict[str, Any]:
    """Write a response to an instruction, with recorded verdicts as signs."""
    status = {"+": "met", "-": "unmet", "?": "unparsed"}
    return {
        "id": name,
        "instruction_id": name[0],
        "prompt": f"Do {name[0]}.",
        "response": f"So {name}.",
        "checklist": [f"c{place}" for place in range(len(verdicts))],
        "labels": [True] * len(verdicts),
        "preferred_to": list(worse),
        "recording": {
            "prompt": "native",
            "verdicts": [{"status": status[sign], "explanation": ""} for sign in verdicts],
        },
    }


def test_levels_are_points_of_a_ranking(tmp_path: Path) -> None:
    scale = ["no", "some", "all"]
    rows = [
        {
            "id": f"{group}{level}",
            "instruction_id": group,
            "prompt": f"Do {group}.",
            "response": level,
            "checklist": [{"text": "c", "scale": scale}],
            "labels": [level == "all"],
            "preferred_to": [f"{group}{worse}" for worse in scale[: scale.index(level)]],
            "judgments": [{"status": level == "all", "level": level}],
        }
        for group in "ab"
        for level in scale
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (judge,) = judge_accuracy(file)["judges"]
    assert judge["ranking"]["pairs"]["concordant"] == 6


def test_the_best_response_first_by_hand(tmp_path: Path) -> None:
    rows = [
        *(rated("a1", "++", "a2", "a3"), rated("a2", "+-"), rated("a3", "--")),  # alone: 1
        *(rated("b1", "+-", "b2", "b3"), rated("b2", "-+"), rated("b3", "--")),  # one of two: 1/2
        *(rated("c1", "+-", "c2"), rated("c2", "++")),  # behind: 0
        *(rated("d1", "++", "d2"), rated("d2", "+?")),  # 1, or 1/2: open
        *(rated("e1", "?+", "e2"), rated("e2", "--")),  # 1 either way
        *(rated("f1", "++", "f3"), rated("f2", "++", "f3"), rated("f3", "--")),  # no best one
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (judge,) = judge_accuracy(file)["judges"]
    best = judge["best_of"]
    assert (best["instructions"], best["coverage"]) == (5, 0.8)
    assert best["value"] == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert best["bounds"] == pytest.approx([3 / 5, 3.5 / 5])
    assert best["interval"][0] < best["value"] < best["interval"][1]
    assert "Best response first" in document(judge_accuracy(file)).markdown()
