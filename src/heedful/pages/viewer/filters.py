"""Filters of samples, as they stand in the address of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.pages.viewer.building import LABEL, STATUSES, VOTES

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from heedful.pages.viewer.building import Fact, Facts

GROUPS = {"undecided": tuple(status.value for status in Status if not status.settled)}
"""Words for several statuses."""

PROBLEM = "problem"
"""Chosen as a status: rows that could not be judged."""

ORDERS = {"unmet": "most unmet first", "undecided": "most undecided first"}
"""Orders of samples, beside that of the file."""

DISAGREEMENTS = {"votes": VOTES, "label": LABEL}


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on samples.

    One constraint must fulfil all conditions on constraints: status, type, judge, disagreement
    and confidence.
    """

    # stands in the conversation, the response, a constraint or an explanation, whatever the case
    text: str = ""
    # of a constraint; undecided is any that is not decided; problem asks for rows that came to
    # nothing
    status: str = ""
    type: str = ""  # of a constraint
    judge: str = ""  # who decided
    disagreement: str = ""  # votes, of a panel's members; label, with the label
    low: float | None = None  # the least confidence
    high: float | None = None  # the largest confidence
    tags: tuple[str, ...] = ()  # as name:value; all of them
    sort: str = ""  # one of :data:`ORDERS`, or the order of the file

    @classmethod
    def of(cls, query: QueryParams) -> Filter:
        """Read a filter from the query of an address."""
        status, disagreement = query.get("status", ""), query.get("disagreement", "")
        if status and status not in (*STATUSES, *GROUPS, PROBLEM):
            raise UsageError(f"no such status: {status!r}", hint="choose one of the list")
        if disagreement and disagreement not in DISAGREEMENTS:
            raise UsageError(f"no disagreement is {disagreement!r}", hint="choose votes or label")
        sort = query.get("sort", "")
        if sort and sort not in ORDERS:
            raise UsageError(f"no order is {sort!r}", hint=f"choose {' or '.join(ORDERS)}")
        return cls(
            text=query.get("q", "").strip(),
            status=status,
            type=query.get("type", ""),
            judge=query.get("judge", ""),
            disagreement=disagreement,
            low=_share(query.get("low", ""), "least confidence"),
            high=_share(query.get("high", ""), "largest confidence"),
            tags=tuple(dict.fromkeys(filter(None, query.getlist("tag")))),
            sort=sort,
        )

    def query(self) -> str:
        """Write it as the query of an address; empty where it asks for nothing."""
        fields: list[tuple[str, str]] = [
            ("q", self.text),
            ("status", self.status),
            ("type", self.type),
            ("judge", self.judge),
            ("disagreement", self.disagreement),
            ("low", "" if self.low is None else f"{self.low:g}"),
            ("high", "" if self.high is None else f"{self.high:g}"),
            *(("tag", tag) for tag in self.tags),
            ("sort", self.sort),
        ]
        return urlencode([(name, value) for name, value in fields if value])

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return self != Filter(sort=self.sort)

    @property
    def statuses(self) -> tuple[str, ...]:
        """The statuses that are wanted of a constraint; none where all are."""
        if self.status in GROUPS:
            return GROUPS[self.status]
        return (self.status,) if self.status and self.status != PROBLEM else ()

    @property
    def of_constraint(self) -> bool:
        """Whether there is a condition on constraints."""
        conditions = (self.statuses, self.type, self.judge, self.disagreement)
        return any(conditions) or self.low is not None or self.high is not None

    def matches(self, row: Facts) -> bool:
        """Say whether a row fulfils all conditions."""
        if self.status == PROBLEM and not row.problem:
            return False
        if self.text and self.text.lower() not in row.text.lower():
            return False
        there = {f"{name}:{value}" for name, value in row.tags.items()} if self.tags else set()
        if not there >= set(self.tags):
            return False
        return not self.of_constraint or any(map(self.wants, row.judgments))

    def wants(self, judgment: Fact) -> bool:
        """Say whether a judgment fulfils the conditions on constraints."""
        if self.low is not None and (judgment.confidence is None or judgment.confidence < self.low):
            return False
        if self.high is not None and (
            judgment.confidence is None or judgment.confidence > self.high
        ):
            return False
        return (
            (not self.statuses or judgment.status in self.statuses)
            and (not self.type or judgment.type == self.type)
            and (not self.judge or judgment.judge == self.judge)
            and (
                not self.disagreement
                or bool(judgment.disagreement & DISAGREEMENTS[self.disagreement])
            )
        )


def _share(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"the {name} is {text[:20]!r}", hint="give a number from 0 to 1")
    return value
