"""Verdicts as OpenTelemetry's events, seen by the SDK's own exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from commands import run
from extras import needs
from heedful import Check, Constraint, Sample, UsageError, emit_events, evaluate
from heedful.judges import Rules

needs("opentelemetry.sdk", extra="otel")

if TYPE_CHECKING:
    from pathlib import Path

NO_COMMA = Check(id="punctuation:no_comma")


@pytest.fixture
def events(tmp_path: Path) -> list[Any]:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

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
    evaluate(rows, judge=Rules(), run=tmp_path / "run")
    exporter: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    assert emit_events(tmp_path / "run", provider=provider).judgments == 3
    return [each.log_record for each in exporter.get_finished_logs()]


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


def test_an_event_belongs_to_the_span_that_made_the_response(events: list[Any]) -> None:
    spans = {(e.attributes["heedful.sample"], e.trace_id or 0, e.span_id or 0) for e in events}
    assert spans == {("a", 0xF, 0xE), ("b", 0, 0)}


def test_scores_of_rows_are_events_too(events: list[Any]) -> None:
    scores = [each.attributes for each in events if "heedful.status" not in each.attributes]
    named = {(e["heedful.sample"], e["gen_ai.evaluation.name"]) for e in scores}
    assert {sample for sample, _ in named} >= {"b"}
    assert all(0 <= each["gen_ai.evaluation.score.value"] <= 1 for each in scores)


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
