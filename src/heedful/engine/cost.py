"""The cost of a run: the sums over all its calls, by judge and model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.engine.schema import CACHE_WRITE, LOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from heedful.core.nouns import Expense
    from heedful.engine.store import UsageRecord
    from heedful.models import Price

__all__ = ["CostSummary"]

CALLS = ("calls", "batched", "reused", "reasks", "uncounted", LOST)
SHOWN_IF_ANY = ("batched", "uncounted", LOST)
WRITES = "cache_write_tokens"
TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens")
REPORTED = ("calls", "reused", "reasks", *TOKENS)


class CostSummary:
    """Cost of the model calls of a run, by judge and the model that answered.

    The store's records count all calls, whether their answers are in use or not: a row that was
    judged again, or was interrupted, has cost what it cost. Critiques count how many answers came
    from the cache; for a judge that calls a model by itself, past the store, they count the rest
    too.
    """

    def __init__(
        self, records: Iterable[UsageRecord] = (), prices: Mapping[str, Price] | None = None
    ) -> None:
        self._prices = prices
        self._requested: dict[tuple[str, str], str] = {}
        self._recorded: dict[tuple[str, str], Counter[str]] = {}
        self._batched: dict[tuple[str, str], Counter[str]] = {}
        self._reported: dict[tuple[str, str], Counter[str]] = {}
        self.record(records)

    def record(self, records: Iterable[UsageRecord]) -> None:
        """Add what was recorded."""
        for record in records:
            key = record.caller, record.model
            self._requested[key] = record.requested
            recorded = self._recorded.setdefault(key, Counter())
            if record.tier == LOST:
                recorded[LOST] += record.calls
                continue
            if record.tier == CACHE_WRITE:
                recorded[WRITES] += record.prompt_tokens
                continue
            tokens = {name: getattr(record, name) for name in TOKENS}
            recorded.update(tokens)
            recorded.update(calls=record.calls, reasks=record.reasks, uncounted=record.uncounted)
            if record.tier == "batch":
                self._batched.setdefault(key, Counter()).update(tokens)
                recorded["batched"] += record.calls

    def __bool__(self) -> bool:
        """Whether there was any call."""
        return bool(self._recorded or self._reported)

    def add(self, expenses: Iterable[Expense]) -> None:
        """Add expenses that were reported."""
        for expense in expenses:
            who = expense.judge, expense.model
            reported = self._reported.get(who)
            if reported is None:
                reported = self._reported[who] = Counter(dict.fromkeys(REPORTED, 0))
            for name in REPORTED:
                amount = getattr(expense, name)
                if amount:
                    reported[name] += amount
            if not expense.prompt_tokens:
                reported["uncounted"] += expense.calls

    def merge(self, other: CostSummary) -> None:
        """Add another's reported expenses."""
        for who, reported in other._reported.items():
            self._reported.setdefault(who, Counter(dict.fromkeys(REPORTED, 0))).update(reported)

    def judges(self) -> set[str]:
        """Return the names of the judges that called a model."""
        return {judge for judge, _ in (*self._recorded, *self._reported)}

    def result(self) -> dict[str, Any]:
        """Sum up: counts in all, and by judge with the model that answered.

        ``batched`` counts the calls through a batch endpoint, where there are any; they cost half.
        ``cache_write_tokens`` are those of the prompts' that the provider put into its cache, where
        that has a price. ``lost`` counts calls whose answers a provider has deleted; what it billed
        for them is in no other number.
        ``dollars`` is ``None`` where the price of a model is not known or calls were not counted
        by the server, and tokens are ``None`` where no call was counted; neither is taken as 0.
        """
        total: Counter[str] = Counter()
        whole: float | None = 0.0
        judges = []
        for judge, model in sorted({*self._recorded, *self._reported}):
            reported = self._reported.get((judge, model), Counter())
            counts = self._recorded.get((judge, model), reported)
            counts |= Counter(reused=reported["reused"])
            total.update(counts)
            dollars = self._dollars(counts, judge, model)
            whole = None if whole is None or dollars is None else whole + dollars
            judges.append({"judge": judge, "model": model, **_laid_out(counts), "dollars": dollars})
        return {**_laid_out(total), "dollars": whole, "judges": judges}

    def _dollars(self, counts: Counter[str], judge: str, model: str) -> float | None:
        """Price the calls, under the name of the model that answered, else of the one requested."""
        from heedful.models import Usage, cost
        from heedful.models.pricing import PRICES

        if not counts["calls"]:
            return 0.0
        if counts["uncounted"]:
            return None
        prices = PRICES if self._prices is None else self._prices
        batched = self._batched.get((judge, model), Counter())
        usual = Usage(**{name: counts[name] - batched[name] for name in (*TOKENS, WRITES)})
        halved = Usage(**{name: batched[name] for name in TOKENS})
        for name in (model, self._requested.get((judge, model), "")):
            dollars = cost(usual, name, prices)
            discounted = cost(halved, name, prices, "batch")
            if dollars is not None and discounted is not None:
                return dollars + discounted
        return None


def dollars_of(records: Iterable[UsageRecord], prices: Mapping[str, Price] | None) -> float | None:
    """Price recorded calls; ``None`` where there are none, or a price is not known."""
    costs = CostSummary(records, prices)
    dollars: float | None = costs.result()["dollars"] if costs else None
    return dollars


def _laid_out(counts: Counter[str]) -> dict[str, int | None]:
    unknown = counts["uncounted"] and counts["uncounted"] == counts["calls"]
    tokens = {name: None if unknown else counts[name] for name in TOKENS}
    tokens |= {WRITES: counts[WRITES]} if counts[WRITES] else {}
    calls = {name: counts[name] for name in CALLS if name not in SHOWN_IF_ANY or counts[name]}
    return {**calls, **tokens}
