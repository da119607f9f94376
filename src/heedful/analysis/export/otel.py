"""Verdicts and scores as OpenTelemetry's ``gen_ai.evaluation.result`` events (``heedful[otel]``).

The conventions (Semantic conventions for generative AI, in development) ask for a name, and have a
score, a label, an explanation and the id of the response that was evaluated. Ours are attributes
that begin with ``heedful.``. A verdict that isn't decided has a label and ``error.type``, and no
score. A mistake (of negative points) has the share of it that was not made, so that more is better.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.core.rubric import value
from heedful.core.version import __version__
from heedful.jobs.results import scored_entry
from heedful.metrics import scores as scores_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk._logs import LoggerProvider

    from heedful.core.nouns import Sample
    from heedful.jobs.results import Scored
    from heedful.jobs.saved_run import SavedRun

EVENT = "gen_ai.evaluation.result"
_BATCH = 512
_PREFIX = "gen_ai.evaluation."
_HEX = {"trace_id": r"[0-9a-f]{32}", "span_id": r"[0-9a-f]{16}"}
"""Fields of a sample that name the span which made its response."""


class EventLog:
    """Finished runs, to be emitted as events."""

    def __init__(self, runs: Sequence[SavedRun]) -> None:
        """Take finished runs."""
        self._runs = runs
        self.judgments = self.unread = 0

    def emit(self, provider: LoggerProvider | None = None) -> None:
        """Emit all events: one for each verdict, and one for each score of a row."""
        if provider is not None:
            self._emit(provider)
            return
        own, exporter = _collector()
        self._emit(own)
        own.shutdown()
        if exporter.failed:
            raise UsageError(
                "the collector did not take all events",
                hint="name a running one in OTEL_EXPORTER_OTLP_ENDPOINT",
            )

    def _emit(self, provider: LoggerProvider) -> None:
        from opentelemetry._logs import LogRecord

        logger = provider.get_logger("heedful", __version__)
        waiting = 0
        for run in self._runs:
            name = run.directory.resolve().name
            for row in run.rows(scored_entry):
                for attributes in self._events(row, run.summary["scoring"]):
                    logger.emit(
                        LogRecord(
                            timestamp=time.time_ns(),
                            event_name=EVENT,
                            attributes={"heedful.run": name, **attributes},
                            context=_span(row.sample),
                        )
                    )
                    waiting += 1
                    if waiting % _BATCH == 0:  # the queue drops what it has no room for
                        provider.force_flush()

    def _events(self, row: Scored, scoring: Any) -> Iterator[dict[str, Any]]:
        if row.sample is None or row.critique is None:
            self.unread += 1
            return
        about = _about(row.sample, row.id)
        for constraint, judgment in zip(row.sample.checklist, row.critique.judgments, strict=True):
            self.judgments += 1
            share = value(constraint, judgment)
            score = share if share is None or not constraint.is_penalty else 1 - share
            unknown = not judgment.status.settled
            yield about | {
                f"{_PREFIX}name": constraint.type or "constraint",
                f"{_PREFIX}score.label": judgment.level or judgment.status.value,
                **({} if score is None else {f"{_PREFIX}score.value": score}),
                **({f"{_PREFIX}explanation": judgment.explanation} if judgment.explanation else {}),
                **({"error.type": judgment.status.value} if unknown else {}),
                "heedful.constraint": constraint.text,
                "heedful.judge": judgment.judge,
                "heedful.status": judgment.status.value,
                **({} if constraint.weight is None else {"heedful.weight": constraint.weight}),
                **({"heedful.gate": True} if constraint.gate else {}),
            }
        scores = scores_of(row.sample, row.critique, scoring)
        for name, score in scores.items():
            if score is None and name != "score" and "score" in scores:
                continue  # a rubric's: mistakes leave the rates of what is met undefined
            known = (
                {"error.type": "undecided"}
                if score is None
                else {f"{_PREFIX}score.value": float(score)}
            )
            yield about | {f"{_PREFIX}name": name, **known}


def _about(sample: Sample, key: str) -> dict[str, Any]:
    """Say which response was evaluated."""
    extra = sample.model_extra or {}
    completion = extra.get("completion")
    answer = extra.get("response_id") or (isinstance(completion, dict) and completion.get("id"))
    model = sample.tags.get("model")
    return {
        "heedful.sample": key,
        **({"gen_ai.response.id": answer} if isinstance(answer, str) and answer else {}),
        **({} if model is None else {"gen_ai.request.model": str(model)}),
    }


def _span(sample: Sample | None) -> Context | None:
    """Return the span that made the response, where the sample says which that is."""
    from opentelemetry import trace

    extra = (sample.model_extra or {}) if sample is not None else {}
    written = [str(extra.get(name, "")) for name in _HEX]
    if not all(map(re.fullmatch, _HEX.values(), written)):
        return None
    trace_id, span_id = (int(digits, 16) for digits in written)
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    span = trace.SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(trace.NonRecordingSpan(span)) if span.is_valid else None


def _collector() -> tuple[LoggerProvider, Any]:
    """Make a provider and its exporter, which records whether the collector refused anything."""
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExportResult
    except ImportError as error:
        raise UsageError(
            f"OpenTelemetry's packages cannot be imported ({error})",
            hint="pip install 'heedful[otel]'",
        ) from error

    class Watched(OTLPLogExporter):
        failed = False

        def export(self, batch: Any) -> LogRecordExportResult:
            result = super().export(batch)
            self.failed = self.failed or result is not LogRecordExportResult.SUCCESS
            return result

    exporter = Watched()
    provider = LoggerProvider()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    return provider, exporter
