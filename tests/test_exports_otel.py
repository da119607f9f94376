"""Verdicts as OpenTelemetry's events, seen by the SDK's own exporter."""

from pathlib import Path
from typing import Any

import pytest

from commands import run
from extras import needs
from heedful import Check, Constraint, Sample, UsageError, emit_events, evaluate
from heedful.judges import Rules

needs("opentelemetry.sdk", extra="otel")

NO_COMMA = Check(id="punctuation:no_comma")


def emitted(rows: list[Sample], path: Path) -> list[Any]:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    evaluate(rows, judge=Rules(), run=path / "run")
    exporter: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    count = sum(len(row.checklist) for row in rows)
    assert emit_events(path / "run", provider=provider).judgments == count
    return [each.log_record for each in exporter.get_finished_logs()]


@pytest.fixture
def events(tmp_path: Path) -> list[Any]:
    rows = [
        Sample(
            id="a",
            prompt="Greet.",
            checklist=[
                Constraint(text="No commas.", type="format", check=NO_COMMA),
                Constraint(text="It is kind."),
            ],
            response="Hello, you",
            tags={"model": "m1"},
            response_id="resp-1",
            trace_id="0" * 31 + "f",
            span_id="0" * 15 + "e",
        ),
        Sample(id="b", checklist=[Constraint(text="No commas.", check=NO_COMMA)], response="Hi"),
    ]
    return emitted(rows, tmp_path)


def test_each_verdict_is_an_event_by_the_conventions(events: list[Any]) -> None:
    assert {each.event_name for each in events} == {"gen_ai.evaluation.result"}
    verdicts = [each for each in events if "heedful.status" in each.attributes]
    unmet, undecided, met = (dict(each.attributes) for each in verdicts)
    assert unmet == {
        "heedful.run": "run",
        "heedful.sample": "a",
        "gen_ai.response.id": "resp-1",
        "gen_ai.request.model": "m1",
        "gen_ai.evaluation.name": "format",
        "gen_ai.evaluation.score.label": "unmet",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.evaluation.explanation": unmet["gen_ai.evaluation.explanation"],
        "heedful.constraint": "No commas.",
        "heedful.judge": "rules",
        "heedful.status": "unmet",
    }
    assert unmet["gen_ai.evaluation.explanation"]
    assert "gen_ai.evaluation.score.value" not in undecided
    assert undecided["error.type"] == undecided["gen_ai.evaluation.score.label"] == "unsupported"
    assert met["gen_ai.evaluation.score.value"] == 1.0
    assert "gen_ai.response.id" not in met


def test_a_mistake_scores_what_was_not_made_of_it(tmp_path: Path) -> None:
    rows = [
        Sample(
            id=said,
            checklist=[Constraint(text="No commas.", check=NO_COMMA, weight=-5, gate=True)],
            response=said,
        )
        for said in ("Hello, you", "Hi")
    ]
    made, avoided = (
        each.attributes for each in emitted(rows, tmp_path) if "heedful.weight" in each.attributes
    )
    assert (avoided["heedful.status"], avoided["gen_ai.evaluation.score.value"]) == ("met", 0)
    assert (made["heedful.status"], made["gen_ai.evaluation.score.value"]) == ("unmet", 1)
    undecided = [Sample(checklist=[Constraint(text="Kind.")], response="Hi")]
    names = [each.attributes for each in emitted(undecided, tmp_path / "other")][1:]
    assert {each["error.type"] for each in names} == {"undecided"}
    assert (made["heedful.weight"], made["heedful.gate"]) == (-5, True)


def test_an_event_belongs_to_the_span_that_made_the_response(events: list[Any]) -> None:
    spans = {(e.attributes["heedful.sample"], e.trace_id or 0, e.span_id or 0) for e in events}
    assert spans == {("a", 0xF, 0xE), ("b", 0, 0)}


def test_scores_of_rows_are_events_too(events: list[Any]) -> None:
    scores = [each.attributes for each in events if "heedful.status" not in each.attributes]
    named = {(e["heedful.sample"], e["gen_ai.evaluation.name"]) for e in scores}
    assert {sample for sample, _ in named} >= {"b"}
    known = [each for each in scores if "error.type" not in each]
    assert all(0 <= each["gen_ai.evaluation.score.value"] <= 1 for each in known)


@pytest.mark.slow
def test_a_collector_that_takes_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Sample(checklist=[Constraint(text="No commas.", check=NO_COMMA)], response="Hi")
    evaluate([row], judge=Rules(), run=tmp_path / "run")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with pytest.raises(UsageError, match="collector"):
        emit_events(tmp_path / "run")


def test_the_command_wants_one_of_both(tmp_path: Path) -> None:
    assert run("export", tmp_path) == 2
    assert run("export", tmp_path, "--otel", "-o", tmp_path / "x.csv") == 2
