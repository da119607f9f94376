"""The metrics of a server, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from heedful.core.nouns import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client.core import Metric

    from heedful.core.nouns import Critique
    from heedful.models import Price
    from heedful.rewards import Reward, Rewarded
    from heedful.rewards.server.admission import Admission

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the histogram's buckets."""

TOKENS = ("prompt", "cached", "completion")


class Metrics:
    """Counts what a server does; the registry is its own, and there may be several."""

    def __init__(
        self, reward: Reward, admission: Admission, prices: Mapping[str, Price] | None = None
    ) -> None:
        self.registry = own = CollectorRegistry()
        self._requests = Counter(
            "heedful_requests", "Requests answered.", ["endpoint", "status"], registry=own
        )
        self._seconds = Histogram(
            "heedful_request_seconds",
            "From the first byte of a request's header to its answer.",
            ["endpoint"],
            registry=own,
            buckets=SECONDS,
        )
        self.open = Gauge("heedful_requests_in_flight", "Requests not answered yet.", registry=own)
        self._shed = Counter(
            "heedful_shed_requests", "Requests refused with 429: the server was full.", registry=own
        )
        rewards = Counter(
            "heedful_rewards",
            "Rewards computed, by whether they rest on verdicts.",
            ["decided"],
            registry=own,
        )
        self._rewards = {True: rewards.labels("true"), False: rewards.labels("false")}
        verdicts = Counter("heedful_verdicts", "Verdicts, by status.", ["status"], registry=own)
        self._verdicts = {status: verdicts.labels(status.value) for status in Status}
        self._errors = Counter("heedful_row_errors", "Rows that could not be judged.", registry=own)
        self._reused = Counter(
            "heedful_model_answers_reused",
            "Requests that cost no call: answered before, or shared with one in flight.",
            registry=own,
        )
        ProcessCollector(registry=own)
        own.register(_UsageCollector(reward, admission, prices))

    def answered(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)
        if status == 429:  # noqa: PLR2004 - HTTP's number for it
            self._shed.inc()

    def rewarded(self, reward: Rewarded) -> None:
        """Count a reward."""
        self._rewards[reward.decided].inc()
        self.judged(reward.critique)

    def judged(self, critique: Critique) -> None:
        """Count verdicts and the calls that they reused."""
        for judgment in critique.judgments:
            self._verdicts[judgment.status].inc()
        reused = sum(expense.reused for expense in critique.expenses)
        if reused:
            self._reused.inc(reused)

    def failed(self) -> None:
        """Count a row that could not be judged."""
        self._errors.inc()

    def text(self) -> bytes:
        """Write all in Prometheus' text format."""
        return generate_latest(self.registry)


SHARED = ("heedful_model_calls", "heedful_model_tokens", "heedful_model_cost_dollars")
"""What is counted in the cache, which all workers share."""


class _Merged(Collector):
    """The metrics of several workers, by their numbers, which become a label."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._families: dict[str, Metric] = {}
        for number, text in texts.items():
            for family in text_string_to_metric_families(text):
                known = self._families.get(family.name)
                samples, family.samples = family.samples, [] if known is None else known.samples
                if family.name not in SHARED:
                    family.samples += [
                        each._replace(labels={"worker": str(number), **each.labels})
                        for each in samples
                    ]
                elif known is None:
                    family.samples = samples
                self._families[family.name] = family

    def collect(self) -> Iterator[Metric]:
        yield from self._families.values()


def merged(texts: Mapping[int, str]) -> bytes:
    """Write the metrics of several workers as one text."""
    registry = CollectorRegistry()
    registry.register(_Merged(texts))
    return generate_latest(registry)


class _UsageCollector:
    """Collects at each scrape: samples in work, and usage of models."""

    def __init__(
        self, reward: Reward, admission: Admission, prices: Mapping[str, Price] | None
    ) -> None:
        self._reward = reward
        self._admission = admission
        self._prices = prices

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "heedful_samples_in_flight",
            "Samples accepted and not judged yet.",
            value=self._admission.held,
        )
        yield GaugeMetricFamily(
            "heedful_samples_capacity",
            "Samples that are accepted at a time.",
            value=self._admission.capacity,
        )
        summary = self._reward.summary(self._prices)
        rate = summary["undecided_rate"]
        if rate is not None:
            help_text = "Share of all rewards so far that are not decided."
            yield GaugeMetricFamily("heedful_undecided_ratio", help_text, value=rate)
        judges = summary.get("cost", {"judges": []})["judges"]
        labels = ["judge", "model"]
        calls = CounterMetricFamily(
            "heedful_model_calls",
            "Calls answered by models, those before a restart too.",
            labels=labels,
        )
        tokens = CounterMetricFamily(
            "heedful_model_tokens",
            "Tokens of these calls, where counted.",
            labels=[*labels, "kind"],
        )
        dollars = CounterMetricFamily(
            "heedful_model_cost_dollars", "Their cost; absent where unknown.", labels=labels
        )
        for row in judges:
            who = [row["judge"], row["model"]]
            calls.add_metric(who, row["calls"])
            for kind in TOKENS:
                if row[f"{kind}_tokens"] is not None:
                    tokens.add_metric([*who, kind], row[f"{kind}_tokens"])
            if row["dollars"] is not None:
                dollars.add_metric(who, row["dollars"])
        yield from (calls, tokens, dollars)
