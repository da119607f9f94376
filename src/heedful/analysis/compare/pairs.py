"""Two sides compared: one pass over the samples that both have."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.conversations import LANGUAGE_AND_TURN, SSR, Systems, Turns
from heedful.analysis.compare.differences import Clusters, Differences, joint, parts, pooled_part
from heedful.core.nouns import Critique, Judgment, Status
from heedful.metrics.agreement import RATES, estimates, holm, mcnemar
from heedful.metrics.gathering import GROUPS, agreement
from heedful.metrics.multiif import ACCURACIES
from heedful.metrics.outcomes import MET, UNDECIDED, UNMET, outcome, sort_verdicts
from heedful.metrics.satisfaction import advancedif

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.analysis.compare.differences import Difference, Part, Rate
    from heedful.core.nouns import Sample, Scoring
    from heedful.jobs.results import Scored
    from heedful.metrics.outcomes import RowOutcome, Verdicts

DIMENSIONS = {
    "type": "types",
    "subtype": "subtypes",
    "priority": "priorities",
    "verifier": "verifiers",
}
"""Breakdowns by what a constraint is, and where sorted verdicts hold them."""

CONSTRAINTS = ("infobench", "drfr")
"""The rate over constraints, which every row has a part in."""

FLIPS_LISTED = 1000

OUTCOMES = ("wins", "losses", "ties", "undecided")
"""Of a sample: the first side met more of its constraints, or fewer, or as many."""

LABELS = ("labels", "agreement")
"""How often verdicts are as the known ones, which are of one response."""

OVERALL, MACRO = ("advancedif", "overall"), ("advancedif", "macro_overall")
SUCCESS = ("advancedif", "success")

TASKS = "tasks of advancedif"
"""Under which AdvancedIF's rows are kept for the mean over its tasks."""

STATES = {MET: "met", UNMET: "unmet", UNDECIDED: "undecided"}

VERDICTS = ("", "", "", "verdicts")

_NONE = Judgment(status=Status.UNPARSED)
_BARE = {status: Judgment(status=status) for status in (Status.MET, Status.UNMET)}


class RunComparison:
    """Takes in pairs of judged rows, and says at the end how the sides differ.

    Strict scoring compares the constraints that both sides decided: what one side did not decide
    is taken as undecided on both. Faithful scoring takes each side as the published code does.

    Args:
        scorings: of both sides.
        by: dimensions and tags to break down by.
        mirrored: as for :class:`heedful.analysis.compare.differences.Differences`.
    """

    def __init__(
        self, scorings: tuple[Scoring, Scoring], by: Sequence[str], *, mirrored: bool
    ) -> None:
        self._mirrored = mirrored
        self._scorings = scorings
        self._by = by
        self._clusters = Clusters()
        self._differences = Differences(self._clusters, mirrored=mirrored)
        self._systems = Systems(scorings, mirrored=mirrored)
        self._turns = Turns(mirrored=mirrored)
        self._transitions: Counter[tuple[int, int]] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._passes: Counter[tuple[bool, bool]] = Counter()
        self._loose = [False, False]
        self._flips: list[dict[str, Any]] = []

    def add(self, cluster: int, one: Scored, other: Scored) -> None:
        """Take in a pair of rows with the same checklist; types and tags are the first one's."""
        if one.sample is None or one.critique is None or other.critique is None:
            return
        self._clusters.begin(cluster)
        # The checklists are the same; types and tags may not be, and one side's must hold for both.
        samples, critiques = (one.sample, one.sample), (one.critique, other.critique)
        verdicts = tuple(map(sort_verdicts, samples, critiques))
        states = verdicts[0].states, verdicts[1].states
        self._count(*states)
        for place, (a, b) in enumerate(zip(*states, strict=True)):
            if a != b and UNDECIDED not in (a, b):
                self._flip(one, other, place)
        asked = tuple(map(outcome, samples, critiques, verdicts, self._scorings))
        rows = asked
        if self._scorings == ("strict", "strict"):
            shared = _shared(*critiques, len(states[0]))
            if shared is not None:
                critiques, verdicts = shared, tuple(map(sort_verdicts, samples, shared))
                rows = tuple(map(outcome, samples, critiques, verdicts, self._scorings))
        for side, row in enumerate(rows):
            self._loose[side] |= row.loose.decided > 0
        found = dict(parts(rows[0], rows[1], self._scorings))
        if rows[0].benchmark == "advancedif":
            found |= self._advancedif(asked, one.sample, found)
        found |= _labelled(one.sample, verdicts)
        self._gather(cluster, one.sample, rows, verdicts, found)

    def _gather(
        self,
        cluster: int,
        sample: Sample,
        rows: Sequence[RowOutcome],
        verdicts: Sequence[Verdicts],
        found: Mapping[Rate, Part],
    ) -> None:
        """Add what a pair contributes to every rate, of all pairs, conversations and groups."""
        tags = sample.tags
        multiif = rows[0].benchmark == "multiif"
        if rows[0].benchmark == "sysbench":
            flags = rows[0].all_ok, rows[1].all_ok
            self._systems.add(sample, (verdicts[0].states, verdicts[1].states), flags)
        if multiif:
            tags = {**tags, **self._turns.add(cluster, sample, found)}
        for rate, part in found.items():
            if not (multiif and rate[0] == "ifeval"):  # these stand by turn
                self._differences.add(rate, part)
        self._group(tags, verdicts[0], verdicts[1], found)

    def _advancedif(
        self, asked: Sequence[RowOutcome], sample: Sample, found: Mapping[Rate, Part]
    ) -> dict[Rate, Part]:
        """Keep the overall rate by task; return how often the judges' results were usable."""
        if OVERALL in found and "task" in sample.tags:
            self._differences.add(OVERALL, found[OVERALL], TASKS, str(sample.tags["task"]))
        shares = [
            advancedif(row, scoring).get("success")
            for row, scoring in zip(asked, self._scorings, strict=True)
        ]
        one, other = shares
        return {} if one is None or other is None else {SUCCESS: joint(one, other)}

    def _count(self, one: Sequence[int], other: Sequence[int]) -> None:
        """Count verdicts and samples by how the sides saw them."""
        pairs = list(zip(one, other, strict=True))
        self._transitions.update(pairs)
        shared = [(a, b) for a, b in pairs if UNDECIDED not in (a, b)]
        won = sum(a == MET for a, _ in shared) - sum(b == MET for _, b in shared)
        result = (
            "undecided" if not shared else "ties" if not won else "wins" if won > 0 else "losses"
        )
        self._outcomes[result] += 1
        whole = len(shared) == len(pairs)
        first, second = (_passes([p[side] for p in shared], complete=whole) for side in (0, 1))
        if shared and first is not None and second is not None:
            self._passes[first, second] += 1
        if shared:
            cells = Counter(shared)
            self._clusters.add(
                VERDICTS,
                (cells[MET, MET], cells[MET, UNMET], cells[UNMET, MET], cells[UNMET, UNMET]),
            )

    def _flip(self, one: Scored, other: Scored, place: int) -> None:
        if len(self._flips) == FLIPS_LISTED:
            return
        if one.sample is None or one.critique is None or other.critique is None:
            return
        constraint = one.sample.checklist[place]
        judgments = [critique.judgments[place] for critique in (one.critique, other.critique)]
        first, second = (
            {"status": judgment.status.value, "explanation": judgment.explanation}
            for judgment in judgments
        )
        self._flips.append(
            {
                "id": one.id,
                "second_id": other.id,
                "constraint": place + 1,
                "text": constraint.text,
                "type": constraint.type,
                "first": first,
                "second": second,
            }
        )

    def _group(
        self,
        tags: Mapping[str, Any],
        one: Verdicts,
        other: Verdicts,
        found: Mapping[Rate, Part],
    ) -> None:
        for dimension in self._by:
            if dimension in DIMENSIONS:
                theirs = getattr(other, DIMENSIONS[dimension])
                for value, packed in getattr(one, DIMENSIONS[dimension]).items():
                    pair = pooled_part(packed, theirs.get(value, 0))
                    self._differences.add(CONSTRAINTS, pair, dimension, value)
            elif dimension in tags:
                for rate, part in found.items():
                    self._differences.add(rate, part, dimension, str(tags[dimension]))

    def rates(self) -> list[Rate]:
        """Return the rates that both sides have.

        As in a summary, IFEval's are for verifiers: they need loose verdicts on both sides.
        """
        found = [
            rate for rate in self._differences.rates() if rate[0] != "ifeval" or all(self._loose)
        ]
        if self._differences.groups(TASKS):
            found.append(MACRO)
        return found + self._turns.rates() + [SSR] * bool(self._systems)

    def result(self, rates: Iterable[Rate], seed: int) -> dict[str, Any]:
        """Sum up.

        Args:
            rates: those to compute.
            seed: of the bootstrap.

        Returns:
            Ready for JSON: what the sides came to, see docs/compare.md.
        """
        wanted = list(rates)
        metrics: dict[str, dict[str, Any]] = {}
        for rate in wanted:
            metrics.setdefault(rate[0], {})[rate[1]] = self._difference(rate, seed)
        constraints = {
            (a == MET, b == MET): count
            for (a, b), count in self._transitions.items()
            if UNDECIDED not in (a, b)
        }
        flips = self._transitions[MET, UNMET] + self._transitions[UNMET, MET]
        return {
            "verdicts": {
                one: {other: self._transitions[a, b] for b, other in STATES.items()}
                for a, one in STATES.items()
            },
            "metrics": metrics,
            "outcomes": {name: self._outcomes[name] for name in OUTCOMES},
            "mcnemar": {
                "constraints": _mcnemar(constraints),
                "samples": _mcnemar(self._passes),
            },
            **self._agreement(seed),
            "by": {
                dimension: self._breakdown(dimension, wanted, seed)
                for dimension in self._by
                if self._differences.groups(dimension)
            },
            "flips": {"count": flips, "listed": self._flips},
            "notes": self._notes(),
        }

    def _difference(self, rate: Rate, seed: int) -> Difference:
        """Compute the difference of a rate over all pairs."""
        if rate == SSR:
            return self._systems.result(seed=seed)
        if rate == MACRO:
            return self._differences.macro(OVERALL, TASKS, name=".".join(MACRO), seed=seed)
        if rate in self._turns.rates():
            return self._turns.result(rate[1], seed=seed)
        return self._differences.result(rate, seed=seed)

    def _agreement(self, seed: int) -> dict[str, Any]:
        cells = self._clusters.counted(VERDICTS)
        if self._mirrored:
            cells = Counter({(a, c, b, d): n for (a, b, c, d), n in cells.items()})
        formulas = {"agreement": RATES["accuracy"], "kappa": RATES["kappa"]}
        return {**estimates(cells, formulas, name="compare.agreement", seed=seed)}

    def _notes(self) -> list[str]:
        notes = [
            f"no breakdown by {dimension}: more than {GROUPS} values"
            for dimension in sorted(self._differences.dropped - {TASKS})
        ]
        notes += self._systems.notes()
        if not self._clusters.counted(VERDICTS):
            notes.append("no constraint was decided on both sides")
        return notes

    def _breakdown(self, dimension: str, wanted: Sequence[Rate], seed: int) -> dict[str, Any]:
        """Compute the rates by group; a rate's p-values are adjusted for the number of groups."""
        found: dict[str, Any] = {}
        for group in self._differences.groups(dimension):
            for (family, name), measured in self._of_group(dimension, group, wanted, seed):
                found.setdefault(group, {}).setdefault(family, {})[name] = measured
        cells: dict[Rate, list[dict[str, Any]]] = {}
        for families in found.values():
            for family, rates in families.items():
                for name, measured in rates.items():
                    cells.setdefault((family, name), []).append(measured)
        for measures in cells.values():
            adjust_p(measures)
        return found

    def _of_group(
        self, dimension: str, group: str, wanted: Sequence[Rate], seed: int
    ) -> Iterator[tuple[Rate, Any]]:
        if dimension in DIMENSIONS:
            yield CONSTRAINTS, self._differences.result(CONSTRAINTS, dimension, group, seed=seed)
            return
        there = set(self._differences.rates(dimension, group))
        mean = self._turns.mean(dimension, group, seed=seed)
        if mean is not None and any(family == "multiif" for family, _ in wanted):
            yield ("multiif", "mean"), mean
            others = [] if dimension == LANGUAGE_AND_TURN else wanted
            wanted = [*(("ifeval", name) for name in ACCURACIES), *others]
        for rate in wanted:
            if rate in there:
                yield rate, self._differences.result(rate, dimension, group, seed=seed)


def adjust_p(measures: Sequence[dict[str, Any]]) -> None:
    """Adjust the p-values of differences that are read together for their number (Holm)."""
    tested = [measured for measured in measures if measured["p"] is not None]
    adjusted = holm([measured["p"] for measured in tested])
    for measured in measures:
        measured["p_holm"] = None
    for measured, p in zip(tested, adjusted, strict=True):
        measured["p_holm"] = p


def _passes(states: Sequence[int], *, complete: bool) -> bool | None:
    """Say whether a side meets everything, as far as it is known."""
    if UNMET in states:
        return False
    return True if complete else None


def _labelled(sample: Sample, verdicts: Sequence[Verdicts]) -> dict[Rate, Part]:
    """Compare both sides' verdicts with the first one's labels."""
    known = [
        (place, MET if label else UNMET)
        for place, label in enumerate((sample.labels or ())[: len(verdicts[0].states)])
        if label is not None
    ]
    if not known:
        return {}
    one, other = (
        agreement(
            [side.states[place] == label for place, label in known],
            [side.states[place] != UNDECIDED for place, _ in known],
        )
        for side in verdicts
    )
    return {LABELS: joint(one, other)}


def _mcnemar(met: Mapping[tuple[bool, bool], int]) -> dict[str, Any]:
    """Lay out what was met on which side, with the test of what was met on one side only."""
    first, second = met.get((True, False), 0), met.get((False, True), 0)
    return {
        "both": met.get((True, True), 0),
        "only_first": first,
        "only_second": second,
        "neither": met.get((False, False), 0),
        "p": mcnemar(first, second),
    }


def _shared(one: Critique, other: Critique, length: int) -> tuple[Critique, Critique] | None:
    """Take as undecided on both sides what one of them did not decide, loose readings likewise.

    Returns:
        The critiques so changed; ``None`` where there is nothing to change.
    """
    firsts, seconds = (
        critique.judgments[:length] + (_NONE,) * (length - len(critique.judgments))
        for critique in (one, other)
    )
    pairs = list(zip(firsts, seconds, strict=True))
    if all(
        a.status.decided and b.status.decided and (a.loose is None) == (b.loose is None)
        for a, b in pairs
    ):
        return None
    kept = [_both(a, b) for a, b in pairs]
    return (
        one.model_copy(update={"judgments": tuple(a for a, _ in kept)}),
        other.model_copy(update={"judgments": tuple(b for _, b in kept)}),
    )


def _both(one: Judgment, other: Judgment) -> tuple[Judgment, Judgment]:
    if not (one.status.decided and other.status.decided):
        return _NONE, _NONE
    if one.loose is None or other.loose is None:
        return _BARE[one.status], _BARE[other.status]
    return one, other
