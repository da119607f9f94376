"""Meta-evaluation: recorded critiques, saved runs and models, against known verdicts."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from fault_server import Answer, completion, serving
from heedful import (
    Constraint,
    InputError,
    Message,
    RunError,
    Sample,
    UsageError,
    dry_run,
    evaluate,
    judge_accuracy,
)
from heedful.analysis.meta.tables import document
from heedful.core.errors import StopRunError
from heedful.core.if_critic_blocks import write_checklist
from heedful.core.nouns import Check, Judgment, Recording, Status
from heedful.judges import Panel, prompts
from heedful.judges.model import Checklist
from heedful.judges.prompts import if_critic
from heedful.models import Price, ScriptedModel

pytestmark = pytest.mark.usefixtures("empty_folder")

NAMES = {"m": Status.MET, "u": Status.UNMET, "p": Status.UNPARSED, "f": Status.FAILED}
LABELS = {"m": True, "u": False, "-": None}


def row(key: str, labels: str, verdicts: str | None = None, **fields: Any) -> Sample:
    """A row with a letter for each label and each recorded verdict."""
    recording = None
    if verdicts is not None:
        recording = Recording(
            prompt="native",
            verdicts=tuple({"status": NAMES[item].value, "explanation": "so"} for item in verdicts),
        )
    fields.setdefault("conversation", (Message(role="user", content=f"Question {key}."),))
    return Sample(
        id=key,
        checklist=tuple(Constraint(text=f"Constraint {key}.{k}") for k in range(len(labels))),
        response="An answer.",
        labels=tuple(LABELS[label] for label in labels),
        recording=recording,
        **fields,
    )


def cells(summary: Mapping[str, Any], place: int = 0) -> list[int]:
    return list(summary["judges"][place]["pooled"]["cells"].values())


def value(judge: Mapping[str, Any], *path: str) -> Any:
    result: Any = judge
    for key in path:
        result = result[key]
    return result["value"]


def listed(messages: Sequence[Message]) -> list[tuple[int, str]]:
    """The numbered constraints in a plain prompt."""
    checklist = messages[-1].content.rsplit("CHECKLIST", 2)[1]
    return [(int(n), text) for n, text in re.findall(r"^(\d+)\. (.*)$", checklist, re.MULTILINE)]


def judging(verdict: Callable[[str, int, str], bool]) -> ScriptedModel:
    """A model that decides by a constraint's text, its place and the whole prompt."""

    def reply(messages: Sequence[Message], _: int) -> str:
        return "\n\n".join(
            f"<c{n}>\nFor {text}\nVERDICT: "
            f"{'MET' if verdict(text, n, messages[-1].content) else 'UNMET'}\n</c{n}>"
            for n, text in listed(messages)
        )

    return ScriptedModel(reply)


def checklist(verdict: Callable[[str, int, str], bool]) -> Checklist:
    return Checklist(judging(verdict), prompts.make("plain"))


# --- labels and verdicts ------------------------------------------------------------------------


def test_code_gives_the_labels() -> None:
    words = Check(
        id="length_constraints:number_words", args={"num_words": 3, "relation": "at least"}
    )
    samples = [
        row(f"{k}", "--").model_copy(
            update={"checklist": (Constraint(text="C yes", check=words),), "labels": None}
            | {"response": "Three short words." if k % 2 else "One."}
        )
        for k in range(6)
    ]
    always = checklist(lambda *_: True)
    summary = judge_accuracy(samples, judge=always, truth="rules")
    assert summary["labels"]["from"] == {"code": 6}
    assert cells(summary) == [3, 3, 0, 0]
    with pytest.raises(UsageError, match="is code"):
        judge_accuracy(samples, judge="rules", truth="rules")
    with pytest.raises(UsageError, match="isn't a judge that is code"):
        judge_accuracy(samples, judge=always, truth="recorded")


def test_verdicts_are_counted_by_label_and_what_is_undecided_is_in_no_rate() -> None:
    summary = judge_accuracy([row("1", "mmuu-", "muumm"), row("2", "mu", "pf")])
    (judge,) = summary["judges"]
    assert cells(summary) == [1, 1, 1, 1]
    assert judge["verdicts"] == {
        "met": 2,
        "unmet": 2,
        "unparsed": 1,
        "failed": 1,
        "unsupported": 0,
        "missing": 0,
    }
    assert judge["coverage"] == pytest.approx(4 / 6)
    assert value(judge, "pooled", "mean_f1") == 0.5
    # Were the two undecided wrong, or right.
    assert judge["pooled"]["accuracy"]["bounds"] == pytest.approx([2 / 6, 4 / 6])
    assert judge["disagreements"]["count"] == 2
    assert judge["disagreements"]["first"][0] == {
        "id": "1",
        "constraint": 2,
        "text": "Constraint 1.1",
        "label": "met",
        "verdict": "unmet",
        "explanation": "so",
    }


def test_types_of_tasks_and_of_constraints() -> None:
    rows = [
        row("1", "mu", "mu", tags={"task": "a"}),
        row("2", "mu", "mm", tags={"task": "a"}),
        row("3", "mm", "mu", tags={"task": "b"}),
    ]
    typed = [
        item.model_copy(
            update={
                "checklist": (
                    item.checklist[0].model_copy(update={"type": "numerical"}),
                    item.checklist[1].model_copy(update={"check": Check(id="keywords:existence")}),
                )
            }
        )
        for item in rows
    ]
    (judge,) = judge_accuracy(typed)["judges"]
    assert judge["per_type"]["types"] == ["a", "b"]
    # F1 met: (1 + 2/3) / 2 in a, 2/3 in b. F1 unmet: (1 + 0) / 2 in a, 0 in b.
    assert value(judge, "per_type", "f1_met") == pytest.approx((5 / 6 + 2 / 3) / 2)
    assert value(judge, "per_type", "f1_unmet") == pytest.approx(0.25)
    assert value(judge, "per_instruction", "f1_met") == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert set(judge["by_constraint_type"]) == {"numerical", "keywords:existence"}
    assert judge["by_constraint_type"]["numerical"]["f1_met"]["value"] == 1
    with pytest.raises(UsageError, match="no row has the tag 'domain'"):
        judge_accuracy(rows, by="domain")


def test_labels_that_name_levels(tmp_path: Path) -> None:
    asked = [{"text": "q", "scale": ["no", "some", "all"]}, {"text": "x"}]
    na = {"status": "not_applicable"}
    verdict = {
        "no": {"status": "unmet", "level": "no"},
        "all": {"status": "met", "level": "all"},
        None: {"status": "unparsed"},
    }
    rows = [
        {"prompt": f"p{at}", "response": "r", "checklist": asked, "labels": list(labels)}
        | {"judgments": [verdict[said], other]}
        for at, (labels, said, other) in enumerate(
            [
                (("some", True), "no", {"status": "met"}),
                (("All", "not_applicable"), "all", {"status": "met"}),
                (("no", "n/a"), None, na),
                (("no", False), "no", na),
            ]
        )
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, [*rows, rows[0] | {"labels": ["nope", True]}])))
    summary = judge_accuracy(file)
    assert "none of the levels no, some, all" in summary["problems"][0]["problem"]
    found = summary["judges"][0]["levels"]
    exact = found["exact"]
    assert (exact["numerator"], exact["denominator"], exact["coverage"]) == (4, 8, 7 / 8)
    # Values (.5, 0), (1, 1), (1, 1), (0, 0); of what applies 4 agree, 2 don't, and 1 n/a does.
    assert found["weighted_kappa"]["value"] == pytest.approx(1 - (0.25 / 4) / (7 / 16))
    assert found["not_applicable_kappa"]["value"] == pytest.approx((7 * 5 - 29) / (49 - 29))


ROW = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        st.text("mu", min_size=n, max_size=n), st.text("mupf", min_size=n, max_size=n)
    )
)


@pytest.mark.slow
@given(st.lists(ROW, min_size=1, max_size=8))
def test_nothing_is_lost_between_labels_and_cells(rows: list[tuple[str, str]]) -> None:
    summary = judge_accuracy(
        [row(str(k), labels, verdicts) for k, (labels, verdicts) in enumerate(rows)]
    )
    (judge,) = summary["judges"]
    decided = judge["verdicts"]["met"] + judge["verdicts"]["unmet"]
    assert sum(cells(summary)) == decided
    assert sum(judge["verdicts"].values()) == sum(len(labels) for labels, _ in rows)
    wrong = judge["disagreements"]["count"] if "disagreements" in judge else 0
    assert wrong == cells(summary)[1] + cells(summary)[2]
    for rate in judge["pooled"].values():
        if "bounds" in rate and decided == sum(judge["verdicts"].values()):
            exact = None if rate["value"] is None else [rate["value"], rate["value"]]
            assert rate["bounds"] == exact


# --- recorded critiques -------------------------------------------------------------------------


def critique(verdicts: str, texts: Sequence[str] = ("一", "二")) -> str:
    judgments = [Judgment(status=NAMES[verdict], explanation="因为") for verdict in verdicts]
    return if_critic.IFCritic().write(judgments, [Constraint(text=text) for text in texts])


def record(expert: str, *sampled: str) -> dict[str, Any]:
    return {
        "instruction": f"写诗{expert}{len(repr(sampled))}",
        "response": "诗",
        "checklist": write_checklist(["一", "二"]),
        "final_critique": critique(expert),
    } | {f"generated_critique_{k}": text for k, text in enumerate(sampled)}


def test_sampled_critiques_are_one_judge_and_the_experts_are_the_labels(tmp_path: Path) -> None:
    rows = [
        record("mu", critique("mu"), critique("mm"), critique("mu")),
        record("um", critique("mm"), "nothing to read", critique("um")),
    ]
    path = tmp_path / "dpo.json"
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    summary = judge_accuracy(path)
    assert summary["labels"]["from"] == {"recorded:if_critic": 2}
    judges = {judge["name"]: judge for judge in summary["judges"]}
    majority, draws = judges["recorded, majority of 3"], judges["recorded, each of 3"]
    # The second row's first constraint has one vote for each side: no majority.
    assert list(majority["pooled"]["cells"].values()) == [2, 0, 0, 1]
    assert majority["verdicts"]["unparsed"] == 1
    assert list(draws["pooled"]["cells"].values()) == [5, 2, 0, 3]
    assert draws["verdicts"]["unparsed"] == 2
    assert draws["alpha_of_samples"]["constraints"] == 4
    levels = [(item["high"], item["verdicts"]) for item in majority["calibration"]["bins"]]
    assert levels == [(pytest.approx(0.7), 1), (1.0, 2)]


def test_recorded_verdicts_keep_their_confidences(tmp_path: Path) -> None:
    rows = [
        {
            "prompt": f"p{at}",
            "response": "r",
            "checklist": ["x"],
            "labels": [at < 6],
            "judgments": [{"status": "met", "confidence": 0.6}],
        }
        for at in range(10)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (judge,) = judge_accuracy(file)["judges"]
    bins = [each for each in judge["calibration"]["bins"] if each["verdicts"]]
    assert [(each["verdicts"], each["confidence"], each["accuracy"]) for each in bins] == [
        (10, pytest.approx(0.6), pytest.approx(0.6))
    ]


def test_labels_are_never_measured_against_themselves(tmp_path: Path) -> None:
    path = tmp_path / "sft.json"
    path.write_text(json.dumps([record("mu")], ensure_ascii=False), encoding="utf-8")
    for judge in ("recorded", "rules,recorded"):
        with pytest.raises(InputError, match="labels"):
            judge_accuracy(path, judge=judge)
    evaluate(path, judge="recorded", run=tmp_path / "run")
    with pytest.raises(InputError, match="labels"):
        judge_accuracy(path, runs=[tmp_path / "run"])


def test_annotators_agree_among_themselves_and_their_majority_is_the_label() -> None:
    item = row("1", "---", "mmu").model_copy(update={"labels": None})
    anna, ben, cleo = [True, False, None], [True, True, False], [True, False, False]
    annotated = Sample.model_validate(
        item.model_dump() | {"annotations": {"anna": anna, "ben": ben, "cleo": cleo}}
    )
    summary = judge_accuracy([annotated])
    assert summary["labels"]["from"] == {"majority of annotations": 1}
    assert cells(summary) == [1, 1, 0, 1]
    assert summary["alpha"]["annotators"]["constraints"] == 3
    broken = annotated.model_copy(update={"annotations": {"anna": [True]}})
    result = judge_accuracy([annotated, broken.model_copy(update={"id": "2"})])
    assert result["rows"] == {"read": 1, "failed": 1}
    assert "annotations.anna " in result["problems"][0]["problem"]


def test_each_annotator_is_a_pair_as_in_healthbench_by_hand() -> None:
    given = [("1", "m", [True, True]), ("2", "m", [True, False]), ("3", "u", [False, False])]
    rows = [
        Sample.model_validate(
            row(key, "-", verdict).model_copy(update={"labels": None}).model_dump()
            | {"annotations": {str(place): [label] for place, label in enumerate(labels)}}
        )
        for key, verdict, labels in given
    ]
    summary = judge_accuracy(rows)
    found = summary["against_annotators"]
    judge, people = found["judges"]["recorded"], found["annotators"]
    # 3 tp, 1 fp, 2 tn; and of the annotators 2 tp, 1 fp, 1 fn, 2 tn.
    assert (judge["pairs"], people["pairs"]) == (6, 6)
    assert judge["mean_f1"]["value"] == pytest.approx((6 / 7 + 4 / 5) / 2)
    assert people["mean_f1"]["value"] == pytest.approx(2 / 3)
    # Where the annotators disagree evenly there is no label.
    assert summary["labels"]["met"] + summary["labels"]["unmet"] == 2
    assert "Against each annotator" in document(summary).markdown()
    assert "against_annotators" not in judge_accuracy([row("1", "m", "m")])


def expert_and_draws(data: Path) -> list[tuple[list[bool], list[list[bool]]]]:
    """Read the verdicts of the released examples without our parser."""

    def verdicts(text: str) -> list[bool]:
        result = re.findall(r"结论：\[\[人工智能助手的回复(没有)?满足了?该要求\]\]", text)
        return [negation == "" for negation in result]

    records = json.loads((data / "if_critic" / "dpo_data.json").read_text(encoding="utf-8"))
    return [
        (
            verdicts(item["final_critique"]),
            [verdicts(item[f"generated_critique_{k}"]) for k in range(10)],
        )
        for item in records
    ]


def by_hand(pairs: list[tuple[bool, bool]]) -> dict[str, float]:
    """Rates of (label, verdict) pairs, from their definitions."""
    tp, fn = pairs.count((True, True)), pairs.count((True, False))
    fp, tn = pairs.count((False, True)), pairs.count((False, False))
    n = len(pairs)
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    f1_met, f1_unmet = 2 * tp / (2 * tp + fp + fn), 2 * tn / (2 * tn + fp + fn)
    return {
        "f1_met": f1_met,
        "f1_unmet": f1_unmet,
        "mean_f1": (f1_met + f1_unmet) / 2,
        "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "kappa": ((tp + tn) / n - chance) / (1 - chance),
    }


def test_the_released_critiques_recomputed_by_hand(data: Path) -> None:
    rows = expert_and_draws(data)
    summary = judge_accuracy(data / "if_critic" / "dpo_data.json", format="if-critic")
    judges = {judge["name"]: judge for judge in summary["judges"]}
    pairs = [
        pair for expert, draws in rows for draw in draws for pair in zip(expert, draw, strict=True)
    ]
    draws = judges["recorded, each of 10"]
    assert draws["coverage"] == 1
    for rate, expected in by_hand(pairs).items():
        assert value(draws, "pooled", rate) == pytest.approx(expected)
    assert value(draws, "pooled", "mean_f1") == pytest.approx(0.8807, abs=5e-5)

    voted = []
    for expert, drawn in rows:
        for label, votes in zip(expert, zip(*drawn, strict=True), strict=True):
            if sum(votes) != 5:
                voted.append((label, sum(votes) > 5))
    majority = judges["recorded, majority of 10"]
    assert majority["verdicts"]["unparsed"] == 60 - len(voted) == 2
    for rate, expected in by_hand(voted).items():
        assert value(majority, "pooled", rate) == pytest.approx(expected)

    per_row = [
        2 * sum(a and b for a, b in zip(expert, draw, strict=True)) / (sum(expert) + sum(draw))
        for expert, drawn in rows
        for draw in drawn
    ]
    assert value(draws, "per_instruction", "f1_met") == pytest.approx(sum(per_row) / len(per_row))


# --- runs, models, pairs ------------------------------------------------------------------------


def written(path: Path, rows: Sequence[Sample]) -> Path:
    lines = (item.model_dump_json(exclude_defaults=True) for item in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_saved_runs_and_judges_are_compared_on_the_verdicts_that_both_decided(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "a.jsonl", [row("1", "mmuu", "mmmp"), row("2", "um", "uu")])
    evaluate(path, judge=checklist(lambda *_: True), run=tmp_path / "run")
    summary = judge_accuracy(path, judge="recorded", runs=[tmp_path / "run"])
    assert {judge["name"] for judge in summary["judges"]} == {"recorded", "scripted/plain"}
    (pair,) = summary["pairs"]
    assert (pair["first"], pair["compared"]) == ("recorded", 5)
    assert pair["coverage"] == pytest.approx(5 / 6)
    assert (pair["only_first_right"], pair["only_second_right"]) == (1, 1)
    assert pair["accuracy"]["p"] == pair["accuracy"]["p_holm"] == 1
    assert pair["accuracy"]["value"] == 0
    assert summary["alpha"]["judges"]["constraints"] == 5
    scripted = next(item for item in summary["judges"] if item["name"] == "scripted/plain")
    assert scripted["cost"]["calls"] == 2
    assert scripted["cost"]["per_constraint"]["calls"] == pytest.approx(2 / 6)
    assert scripted["cost"]["per_constraint"]["dollars"] is None


def test_rows_that_a_run_lacks_are_missing_and_other_checklists_are_refused(
    tmp_path: Path,
) -> None:
    rows = [row("1", "mu"), row("2", "mm")]
    path = written(tmp_path / "a.jsonl", rows)
    other = rows[0].model_copy(update={"checklist": (Constraint(text="Another."),), "labels": None})
    evaluate([rows[1]], judge=checklist(lambda *_: True), run=tmp_path / "half")
    evaluate([other], judge=checklist(lambda *_: True), run=tmp_path / "other")
    (judge,) = judge_accuracy(path, runs=[tmp_path / "half"])["judges"]
    assert judge["verdicts"]["missing"] == 2
    assert judge["coverage"] == 0.5
    faithful = judge_accuracy(path, runs=[tmp_path / "half"], scoring="faithful")
    assert cells(faithful) == [3, 1, 0, 0]
    with pytest.raises(InputError, match="checklist differs"):
        judge_accuracy(path, runs=[tmp_path / "other"])
    with pytest.raises(RunError, match="nowhere"):
        judge_accuracy(path, runs=[tmp_path / "nowhere"])
    assert not (tmp_path / "nowhere").exists()


def test_members_of_a_panel_are_measured_beside_its_majority() -> None:
    strict, lenient = checklist(lambda *_: False), checklist(lambda *_: True)
    strict.model.name = "strict"  # type: ignore[misc]
    summary = judge_accuracy(
        [row("1", "mu"), row("2", "mm")], judge=Panel(strict, lenient, lenient)
    )
    names = {judge["name"]: judge for judge in summary["judges"]}
    assert set(names) == {
        "panel(strict/plain, 2 x scripted/plain), majority of 3",
        "strict/plain",
        "scripted/plain, each of 2",
    }
    assert list(names["strict/plain"]["pooled"]["cells"].values()) == [0, 0, 3, 1]
    assert names["scripted/plain, each of 2"]["pooled"]["cells"]["tp"] == 6


# --- cost ---------------------------------------------------------------------------------------


def test_a_limit_holds_over_all_judges_and_a_plan_asks_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", [row(str(k), "mu") for k in range(4)])
    first, second = checklist(lambda *_: True), checklist(lambda *_: False)
    second.model.name = "second"  # type: ignore[misc]
    prices = {name: Price(prompt=1000, completion=1000) for name in (first.model.name, "second")}
    estimate = dry_run(judge_accuracy, path, judge=[first, second], prices=prices)
    assert [judge["calls"] for judge in estimate["judges"]] == [4, 4]
    assert estimate["calls"] == 8
    assert not first.model.calls  # type: ignore[attr-defined]
    alone = judge_accuracy(path, judge=first, prices=prices)["judges"][0]["cost"]["dollars"]
    with pytest.raises(StopRunError, match="max-cost"):
        judge_accuracy(path, judge=[first, second], prices=prices, max_cost=alone * 1.5)
    paid = judge_accuracy(path, judge=[first, second], prices=prices, max_cost=alone * 9)
    assert [judge["cost"]["calls"] for judge in paid["judges"]] == [4, 4]


# --- the command line ---------------------------------------------------------------------------


def test_the_command_prints_tables_and_writes_json_and_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a.jsonl", [row("1", "mmuu", "mmmu"), row("2", "um", "pm")])
    assert run("judge-accuracy", path, "-o", "meta.json") == 0
    shown = capsys.readouterr().out
    assert re.search(r"6 .*\(3 met, 3 unmet\).* 2 ", shown)
    assert "Leaderboard" in shown
    summary = json.loads(Path("meta.json").read_text(encoding="utf-8"))
    assert summary["judges"][0]["pooled"]["cells"] == {"tp": 3, "fp": 1, "fn": 0, "tn": 1}
    assert run("judge-accuracy", path, "-j", "recorded", "-j", "rules", "-o", "meta.md", "-q") == 1
    page = Path("meta.md").read_text(encoding="utf-8")
    assert "| recorded | " in page
    assert "6 unsupported" in page
    assert capsys.readouterr().out == ""


def test_a_judge_that_became_worse_fails_the_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(_: int, body: dict[str, Any]) -> Answer:
        number = int(re.findall(r"Say (\d+)\.", body["messages"][-1]["content"])[0])
        met = (number % 2 == 0) != (worse and number % 4 == 1)
        return completion(f"<c1>\nSo.\nVERDICT: {'MET' if met else 'UNMET'}\n</c1>")

    rows = [
        {
            "prompt": f"Say {n}.",
            "checklist": ["It is even in spirit."],
            "response": "So.",
            "labels": [n % 2 == 0],
        }
        for n in range(40)
    ]
    path = tmp_path / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    worse = False
    with serving(script=script) as server:
        flags = ["--judge", "checklist", "--model", "m", "--base-url", server.url]
        assert run("evaluate", path, *flags, "--run", "before") == 0
        since = ["judge-accuracy", path, *flags, "--since", "before", "-o", "now.json"]
        assert run(*since, "--folder", "same") == 0
        same = json.loads(Path("now.json").read_text())["since"]
        assert (same["compared"], same["changed"], same["shown"]) == (40, 0, "none")
        worse = True
        assert run(*since, "--folder", "later") == 3
        later = json.loads(Path("now.json").read_text())["since"]
        assert (later["changed"], later["only_second_right"], later["shown"]) == (10, 10, "loss")
        assert "10 verdicts changed of 40" in capsys.readouterr().err
        assert len(server.bodies) == 120  # each time all rows are judged again
        assert run(*since, "--per-call", "1") == 2
        assert "asked otherwise" in capsys.readouterr().err
