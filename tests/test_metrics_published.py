"""Published numbers, recomputed from the benchmarks' own recorded judgments."""

import json
from pathlib import Path
from typing import Any

import pytest

from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Scoring, Status
from heedful.metrics import Summary, scores

SYSBENCH = {"是": Status.MET, "否": Status.UNMET}


def cfbench_row(record: dict[str, Any]) -> tuple[Sample, Critique]:
    checklist = tuple(
        Constraint(text=text, priority="primary" if priority == "主需" else "secondary")
        for text, priority, *_ in record["criteria"]
    )
    declared = {"scores": record["judge_score"], "parsing": record["judge_parsing"]}
    judgments = tuple(
        Judgment(status=Status.MET if point == "1" else Status.UNMET)
        for point in record["judge_score"]
    )
    if record["judge_parsing"] != "1":
        judgments = (Judgment(status=Status.UNPARSED),) * len(checklist)
    sample = Sample(id=str(record["idx"]), checklist=checklist, tags={"split": record["split"]})
    return sample, Critique(judgments=judgments, declared={"cfbench": declared})


def cfbench_records(data: Path) -> list[dict[str, Any]]:
    files = sorted((data / "cfbench" / "judge").glob("*.json"))
    return [record for file in files for record in json.loads(file.read_text(encoding="utf-8"))]


def sysbench_row(record: dict[str, Any]) -> tuple[Sample, Critique]:
    sample = Sample(
        id=f"{record['system_id']}-{record['turn']}",
        checklist=tuple(Constraint(text=text) for text in record["criteria"]),
        tags={"benchmark": "sysbench"}
        | {key: record[key] for key in ("model", "system_id", "turn")},
    )
    judgments = tuple(
        Judgment(status=SYSBENCH.get(verdict["v"], Status.UNPARSED))
        for verdict in record["verdicts"]
    )
    return sample, Critique(judgments=judgments, declared={"all_ok": record["all_ok"]})


def sysbench(data: Path, scoring: Scoring) -> dict[str, Any]:
    summary = Summary(scoring)
    with (data / "sysbench" / "gpt35.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            summary.add(*sysbench_row(json.loads(line)))
    return summary.result()


def test_every_shipped_cfbench_score_is_reproduced(data: Path) -> None:
    records = cfbench_records(data)
    assert len(records) == 24
    for record in records:
        result = scores(*cfbench_row(record), "faithful")
        assert {name.upper(): value for name, value in result.items()} == record["judge_metric"]


def test_strict_differs_only_where_the_published_parse_fell_back(data: Path) -> None:
    for record in cfbench_records(data):
        result = scores(*cfbench_row(record), "strict")
        if record["judge_parsing"] == "1":
            assert result["csr"] == pytest.approx(record["judge_metric"]["CSR"], abs=0.005)
            assert result["psr"] == record["judge_metric"]["PSR"]
        else:
            assert result == {"csr": None, "isr": None, "psr": None}


def test_sysbench_faithful_gives_the_published_rates(data: Path) -> None:
    result = sysbench(data, "faithful")
    measured = result["metrics"]["sysbench"]
    assert {name: round(100 * one["value"], 1) for name, one in measured.items()} == {
        "csr": 61.6,
        "isr": 43.2,
        "ssr": 20.8,
    }
    assert (measured["csr"]["numerator"], measured["csr"]["denominator"]) == (3668, 5952)
    assert (measured["isr"]["numerator"], measured["isr"]["denominator"]) == (1079, 2500)
    assert result["contradictions"]["count"] == len(result["contradictions"]["turns"]) == 7
