"""Comparing runs: by hand, by properties, at the command line and on real data."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compared import assert_mirrored, only_pair, run, sample, value
from heedful import (
    Constraint,
    InputError,
    Message,
    Recording,
    RunError,
    Sample,
    UsageError,
    compare,
    evaluate,
)
from heedful.cli import main
from properties import of_a_hundred


def test_a_case_by_hand(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"x1": "mm", "x2": "mu", "y1": "mmm", "y2": "u?"}, "first")
    second = run(tmp_path / "b", {"x1": "mu", "x2": "um", "y1": "mmm", "y2": "mm"}, "second")
    pair = only_pair(first, second)
    # Shared: x1 mm/mu, x2 mu/um, y1 mmm/mmm, y2 u/m; the second of y2 is decided on one side only.
    assert value(pair, "infobench.drfr", "first") == 6 / 8
    assert value(pair, "infobench.drfr", "second") == 6 / 8
    assert value(pair, "infobench.drfr") == 0
    # CSR: 1, 1/2, 1, 0 against 1/2, 1/2, 1, 1.
    assert value(pair, "cfbench.csr", "first") == 2.5 / 4
    assert value(pair, "cfbench.csr", "second") == 3 / 4
    assert value(pair, "cfbench.csr") == pytest.approx(-0.125)
    # ISR: y2 fails on the first side whatever its other verdict is, so all rows are known.
    assert value(pair, "cfbench.isr") == pytest.approx(2 / 4 - 2 / 4)
    assert pair["metrics"]["cfbench"]["isr"]["compared"] == 4
    assert pair["metrics"]["infobench"]["drfr"]["coverage"] == 8 / 9
    assert pair["outcomes"] == {"wins": 1, "losses": 1, "ties": 2, "undecided": 0}
    assert pair["verdicts"]["undecided"] == {"met": 1, "unmet": 0, "undecided": 0}
    constraints = pair["mcnemar"]["constraints"]
    assert constraints == {
        "both": 4,
        "only_first": 2,
        "only_second": 2,
        "neither": 0,
        "p": 1.0,
        "p_holm": 1.0,
    }
    samples = pair["mcnemar"]["samples"]
    assert (samples["both"], samples["only_first"], samples["neither"]) == (1, 1, 1)
    assert pair["flips"]["count"] == 4
    assert pair["flips"]["listed"][0] == {
        "id": "x1",
        "second_id": "x1",
        "constraint": 2,
        "text": "Constraint 1.",
        "type": "format",
        "first": {"status": "met", "explanation": "m on first"},
        "second": {"status": "unmet", "explanation": "u on second"},
    }
    # Second constraints of x1, x2 and y1, by type: m, u, m against u, m, m.
    by_format = pair["by"]["type"]["format"]["infobench"]["drfr"]
    assert by_format["first"]["value"] == by_format["second"]["value"] == 2 / 3
    assert pair["by"]["task"]["y"]["cfbench"]["csr"]["difference"]["value"] == pytest.approx(-0.5)


verdicts = st.lists(st.text("mu?", min_size=1, max_size=3), min_size=1, max_size=6)


def pairs_of(one: Sequence[str], seed: int) -> list[str]:
    """Other verdicts on the same checklists, as the seed has it."""
    letters = "mu?"
    return [
        "".join(letters[(letters.index(x) + seed + n) % 3] for n, x in enumerate(row))
        for row in one
    ]


@pytest.mark.slow
@of_a_hundred(15)
@given(rows=verdicts, seed=st.integers(0, 5))
def test_swapping_the_sides_swaps_the_signs_and_nothing_else(
    rows: list[str], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    named = {f"{'xy'[n % 2]}{n}": row for n, row in enumerate(rows)}
    other = dict(zip(named, pairs_of(rows, seed), strict=True))
    first, second = run(folder / "a", named, "1"), run(folder / "b", other, "2")
    there, back = only_pair(first, second), only_pair(second, first)
    assert_mirrored(there, back)
    assert there["outcomes"]["wins"] == back["outcomes"]["losses"]
    assert there["flips"]["count"] == back["flips"]["count"]
    assert there["agreement"] == back["agreement"]
    total = sum(count for row in there["verdicts"].values() for count in row.values())
    assert total == sum(map(len, rows))


def test_intervals_resample_conversations_whole(tmp_path: Path) -> None:
    def rows(letters: str, response: str, tag: str) -> list[Sample]:
        return [
            sample(f"{n}", letter, response, tags={tag: n // 4 if tag == "conversation_id" else n})
            for n, letter in enumerate(letters)
        ]

    letters = {"1": "mmmmuuuummmmuuuu" * 3, "2": "u" * 48}
    widths = []
    for tag in ("conversation_id", "n"):
        runs = [run(tmp_path / f"{tag}{r}", rows(row, r, tag), r) for r, row in letters.items()]
        low, high = only_pair(*runs)["metrics"]["cfbench"]["csr"]["difference"]["interval"]
        widths.append(high - low)
    # Four samples that always go together are worth one: the interval is twice as wide.
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.2)


def test_models_are_matched_by_instruction(tmp_path: Path) -> None:
    def rows(model: str, letters: str) -> list[Sample]:
        return [
            sample(
                f"q{n}@{model}#{draw}",
                letter,
                model,
                conversation=(Message(role="user", content=f"Question {n}"),),
                tags={"model": model},
                instruction_id=f"q{n}",
            )
            for n, (letter, draw) in enumerate((x, d) for x in letters for d in (1, 2))
        ]

    first, second = run(tmp_path / "a", rows("ant", "mm")), run(tmp_path / "b", rows("bee", "mu"))
    pair = only_pair(first, second)
    assert pair["matched_by"] == "instruction"
    assert pair["samples"]["paired"] == 4
    assert value(pair, "cfbench.csr") == 0.5
    both = run(tmp_path / "both", rows("ant", "mm") + rows("bee", "mu"))
    for runs in ([both], [f"{both}@ant", f"{both}@bee"], [first, f"{both}@bee"]):
        same = only_pair(*runs)
        assert same["metrics"] == pair["metrics"]
        assert same["second"] == ("b" if runs == [first, second] else "bee")
    with pytest.raises(InputError, match=r"several models \(ant, bee\).*both@ant"):
        compare(both, first, match="instruction")
    with pytest.raises(UsageError, match=r"'cat'.*ant, bee"):
        compare(f"{both}@cat", first)
    with pytest.raises(UsageError, match="model"):
        compare(first)


def test_the_same_ids_on_other_questions_are_refused(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"x1": "m", "x2": "u"}, "1")
    swapped = [
        sample(key, "m", "2", conversation=(Message(role="user", content=f"Do {other}."),))
        for key, other in (("x1", "x2"), ("x2", "x1"))
    ]
    second = run(tmp_path / "b", swapped)
    with pytest.raises(UsageError, match=r"2 of 2.* prompts.*'x1'"):
        compare(first, second)
    assert value(only_pair(first, second, match="conversation"), "cfbench.csr") == -0.5
    note = only_pair(first, second, anyway=True)["notes"][0]
    assert "different prompts" in note


def test_other_checklists_are_refused_or_left_out(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"x1": "m", "x2": "u"}, "1")
    second = run(tmp_path / "b", {"x1": "mm", "x2": "m"}, "2")
    with pytest.raises(UsageError, match=r"1 of 2.* checklists.*'x1'"):
        compare(first, second)
    pair = only_pair(first, second, anyway=True)
    assert pair["metrics"]["cfbench"]["csr"]["compared"] == 1
    assert pair["coverage"] == 0.5


def test_judges_are_compared_on_the_same_responses_only(tmp_path: Path) -> None:
    rows = [sample("x1", "mu"), sample("x2", "mm")]
    evaluate(rows, judge="recorded", run=tmp_path / "a")
    evaluate(rows, judge="rules,recorded", run=tmp_path / "b")
    pair = only_pair(tmp_path / "a", tmp_path / "b")
    assert pair["compared"] == "judges"
    assert {"what": "judge", "first": "recorded", "second": "rules,recorded"} in pair["differs"]
    assert {"what": "judges.1.judge", "first": None, "second": "rules"} in pair["differs"]
    assert pair["agreement"]["value"] == 1
    others = [sample("x1", "mu", "2"), sample("x2", "mm", "2")]
    evaluate(others, judge="rules,recorded", run=tmp_path / "c")
    with pytest.raises(UsageError, match=r"responses.*2 of 2.*judge"):
        compare(tmp_path / "a", tmp_path / "c")
    unlike = only_pair(tmp_path / "a", tmp_path / "c", anyway=True)
    assert unlike["compared"] == "responses and judges"


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"x1": "m"}, "1")
    with pytest.raises(RunError, match="nowhere"):
        compare(first, tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"\ba\b.*\(1\).*\bb\b.*\(1\)"):
        compare(first, run(tmp_path / "b", {"y1": "m"}, "2"))
    second = run(tmp_path / "c", {"x1": "u"}, "2")
    with pytest.raises(UsageError, match=r"'psr'.*cfbench\.csr"):
        compare(first, second, metrics=["psr"])
    with pytest.raises(UsageError, match="'domain'"):
        compare(first, second, by=["domain"])
    assert list(only_pair(first, second, metrics=["isr"])["metrics"]) == ["cfbench"]
    (second / "summary.json").unlink()
    with pytest.raises(RunError, match="not finished"):
        compare(first, second)


def test_types_and_tags_are_those_of_the_first_run(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"x1": "mm"}, "1")
    bare = [
        Sample(
            id="x1",
            conversation=(Message(role="user", content="Do x1."),),
            checklist=(Constraint(text="Constraint 0."), Constraint(text="Constraint 1.")),
            response="2",
            recording=Recording(prompt="native", verdicts=({"status": "met"}, {"status": "unmet"})),
        )
    ]
    pair = only_pair(first, run(tmp_path / "b", bare))
    assert pair["by"]["type"]["format"]["infobench"]["drfr"]["difference"]["value"] == 1
    assert "task" not in pair["by"]
    asked = only_pair(first, tmp_path / "b", by=["task"])
    assert list(asked["by"]["task"]) == ["x"]


def test_what_a_comparison_leaves_out_is_noted(tmp_path: Path) -> None:
    tags = {"benchmark": "sysbench", "system_id": 1, "turn": 1}
    first = run(tmp_path / "a", [sample("x1", "m", "1", tags=tags)])
    second = run(tmp_path / "b", [sample("x1", "?", "2", tags=tags)])
    pair = only_pair(first, second)
    undecided, assumed = pair["notes"]
    assert ("decided" in undecided, "assumed" in assumed) == (True, True)
    assert pair["metrics"] == {}
    with pytest.raises(SystemExit) as done:
        main(["compare", str(first), str(second)])
    assert done.value.code == 1


HOSTILE = "<script>alert(1)</script> | `x` [red]not markup[/red] </td>\n# heading"


def test_the_command_line_writes_what_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(tmp_path / "a", {"x1": "mm", "x2": "mu"}, HOSTILE)
    second = run(tmp_path / "b", {"x1": "mu", "x2": "um"}, "2")
    for name in ("o.json", "o.md", "o.html"):
        command = ["compare", str(first), str(second), "-o", str(tmp_path / name)]
        with pytest.raises(SystemExit) as done:
            main(command)
        assert done.value.code == 0
    shown = capsys.readouterr().out
    assert "a − b: responses, 2 samples" in " ".join(shown.split())
    assert "[red]not" in shown
    result = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert result["pairs"][0]["flips"]["count"] == 3
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    for tag in ("tr", "td", "th", "table", "div"):
        assert len(re.findall(rf"<{tag}[ >]", page)) == page.count(f"</{tag}>")
    assert "http" not in page.replace("http-equiv", "")
    markdown = (tmp_path / "o.md").read_text(encoding="utf-8")
    assert r"\<script\>alert(1)\</script\> \| \`x\`" in markdown
    assert all(
        line.count("|") >= 8 for line in markdown.splitlines() if line[2:17] == "constraints met"
    )


@pytest.mark.slow
def test_three_models_on_ifeval(data: Path, tmp_path: Path) -> None:
    folder = data / "mifeval_en"
    models = ("gpt-4o-2024-08-06", "claude-3-haiku-20240307")
    for model in models:
        evaluate(
            folder / "en_input_data.jsonl",
            responses=folder / model / "eval_results_strict.jsonl",
            judge="rules",
            run=tmp_path / model,
        )
    pair = only_pair(*(tmp_path / model for model in models), by=["verifier"])
    first, second = (json.loads((tmp_path / m / "summary.json").read_text()) for m in models)
    for name, measured in pair["metrics"]["ifeval"].items():
        one, other = (summary["metrics"]["ifeval"][name]["value"] for summary in (first, second))
        assert measured["difference"]["value"] == pytest.approx(one - other)
    samples = pair["mcnemar"]["samples"]
    assert (samples["only_first"], samples["only_second"]) == (111, 26)
    assert pair["metrics"]["ifeval"]["prompt_strict"]["p"] == samples["p"]
    # The differences of the samples are 111 times 1, 26 times -1, else 0: their normal interval.
    mean, square = 85 / 541, 137 / 541
    margin = 1.96 * ((square - mean**2) / 541) ** 0.5
    interval = pair["metrics"]["ifeval"]["prompt_strict"]["difference"]["interval"]
    assert interval == pytest.approx([mean - margin, mean + margin], abs=0.008)
    assert len(pair["by"]["verifier"]) == 25
