"""Policy data from judged responses: preference pairs, and the best of n.

From K responses to an instruction the best and the worst make a pair for DPO, as IF-Critic's policy
training does with its critic's reward (arXiv 2511.01014). Which responses are paired where several
have the same reward is our choice; see :func:`pair_up`. A preference is only as good as the reward
behind it, so a data set's card says whose verdicts, which reward and which choice it rests on.

The input is read twice: first for the rewards, of which it holds a few numbers a response, then for
the texts that were chosen.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.core.outputs import atomically
from heedful.core.reasoning import answered
from heedful.core.text import amount
from heedful.data import formats
from heedful.data import training_sets as dataset
from heedful.data.formats import native
from heedful.data.training_sets import Example, table
from heedful.jobs.results import check_folder, scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.judges import Recorded
from heedful.reporting.document import Document
from heedful.reporting.notation import decimal, percent
from heedful.rewards.gates import GATES
from heedful.rewards.terms import AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.rewards.terms import Terms

    Summary = Mapping[str, Any]
    from heedful.core.nouns import Critique


class PolicyOutput:
    """An output that is checked before anything is read."""

    def __init__(self, output: str | os.PathLike[str], to: str | None, data: Judged) -> None:
        self._file = Path(output)
        self._dataset: dataset.Dataset | None = None
        inputs = [data] if isinstance(data, str | os.PathLike) else data
        if to is not None:
            self._dataset = dataset.take(output, to, [Path(path) for path in inputs])
        elif self._file.is_dir():
            hint = "name a .jsonl file, or say with --to for which tool"
            raise UsageError("this is a folder", where=str(output), hint=hint)
        else:
            check_folder(self._file, inputs)

    def write(
        self, examples: Iterable[Example], sections: Callable[[], Sequence[str]], *, pairs: bool
    ) -> None:
        """Write examples, and the card of a data set with the sections that are made at the end."""
        if self._dataset is None:
            self.write_lines(map(dataset.LAYOUTS["trl"], examples))
            return
        kind = "Preference pairs of responses" if pairs else "The best responses by a reward"
        what = f"{kind}, for training a policy to meet the constraints of its instructions"
        dataset.write(self._dataset, examples, what, sections, pairs=pairs)

    def write_lines(self, records: Iterable[dict[str, Any]]) -> None:
        """Write records as JSON lines."""
        with atomically(self._file) as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def sections(data: Judged, terms: Terms, options: Mapping[str, Any], counts: Document) -> list[str]:
    """Write the sections of a card."""
    return [
        "## Verdicts",
        table(("run or file", "judge"), _judges(data)),
        "## Reward",
        table(("what", "value"), _reward(terms)),
        "## Choice",
        table(("what", "value"), [(name, _written(value)) for name, value in options.items()]),
        "## Counts",
        "\n".join(f"- {line.strip()}" for line in counts.paragraphs),
    ]


def _judges(data: Judged) -> Iterator[tuple[str, str]]:
    for path in map(Path, [data] if isinstance(data, str | os.PathLike) else data):
        name = path.resolve().name
        if path.is_dir():
            with SavedRun.open(path) as run:
                yield name, run.about.get("judge", "not known")
        else:
            yield name, "judgments in the file"


def _reward(terms: Terms) -> Iterator[tuple[str, Any]]:
    names = {function: name for name, function in AGGREGATES.items()}
    known = names.get(terms.aggregate)
    yield "aggregate", known or getattr(terms.aggregate, "__name__", "a function")
    off = [name for name in GATES if name not in terms.gates]
    yield "gates", f"all but {', '.join(off)}" if off else "all"
    if terms.length is None:
        yield "length penalty", "none"
    else:
        penalty = terms.length
        grows = f"up to {penalty.most:g} from {penalty.free:,} to {penalty.full:,}"
        yield "length penalty", grows + (" characters" if penalty.length is len else "")
    left_out = "left out" if terms.undecided is None else f"taken as {terms.undecided:g}"
    yield "undecided rewards", left_out


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


Ties = Literal["random", "length"]
"""Which of several responses with the same reward: any, or those whose lengths differ least."""


class Chosen(NamedTuple):
    """Two candidates of a group, the better one first."""

    better: ScoredResponse
    worse: ScoredResponse


def make_pairs(  # noqa: PLR0913 - the options of the command
    data: Judged,
    terms: Terms,
    *,
    output: str | os.PathLike[str],
    margin: float = 0.0,
    pairs: int = 1,
    ties: Ties = "random",
    seed: int = 0,
    to: str | None = None,
) -> dict[str, Any]:
    """Make preference pairs of judged responses, and write them."""
    _check(margin, pairs, ties)
    destination = PolicyOutput(output, to, data)
    groups = collect(data, terms)
    without: Counter[str] = Counter()
    chosen_pairs: list[Chosen] = []
    for number, group in enumerate(groups.candidates.values()):
        generator = random.Random(f"{seed}:{number}")
        chosen, reason = pair_up(group, margin=margin, pairs=pairs, ties=ties, generator=generator)
        chosen_pairs += chosen
        without.update([reason] if reason else [])
    result = {**groups.counts(), "pairs": 0, "without": without, **_means(chosen_pairs)}

    def examples() -> Iterator[Example]:
        for example in _preferences(data, chosen_pairs):
            if example.prompt:
                result["pairs"] += 1
                yield example
            else:
                without["no prompt"] += 1

    options = {"margin": margin, "pairs for an instruction": pairs, "ties": ties, "seed": seed}
    destination.write(
        examples(), lambda: sections(data, terms, options, VIEWS["pairs"](result)), pairs=True
    )
    return {**result, "without": dict(without.most_common())}


def _means(pairs: Sequence[Chosen]) -> dict[str, float | None]:
    """Average the margins of pairs, and the lengths in characters."""
    return {
        "margin_mean": _mean([_value(pair.better) - _value(pair.worse) for pair in pairs]),
        "chosen_length": _mean([pair.better.length for pair in pairs]),
        "rejected_length": _mean([pair.worse.length for pair in pairs]),
        "length_difference": _mean([abs(pair.better.length - pair.worse.length) for pair in pairs]),
    }


def pair_up(
    group: Sequence[ScoredResponse],
    *,
    margin: float,
    pairs: int,
    ties: Ties,
    generator: random.Random,
) -> tuple[list[Chosen], str | None]:
    """Pair the responses to one instruction, the best with the worst, repeatedly.

    Of responses with the same text one counts, and those without a decided reward do not. Where
    several share the best or the worst reward, ``random`` chooses, and ``length`` takes the two
    whose lengths differ least, so that a pair teaches length no more than it must.
    """
    if len(group) < 2:  # noqa: PLR2004 - a pair
        return [], "one response"
    decided = [response for response in group if response.value is not None]
    left = list({response.text: response for response in decided}.values())
    if len(left) < 2:  # noqa: PLR2004 - a pair
        return [], "fewer than two decided" if len(decided) < 2 else "all the same text"  # noqa: PLR2004
    spread = max(map(_value, left)) - min(map(_value, left))
    if not spread:
        return [], "all rewards equal"
    if _short(spread, margin):
        return [], "below the margin"
    generator.shuffle(left)
    chosen_pairs: list[Chosen] = []
    while len(left) > 1 and len(chosen_pairs) < pairs:
        values = [_value(response) for response in left]
        high, low = max(values), min(values)
        if high == low or _short(high - low, margin):
            break
        tops = [response for response in left if response.value == high]
        bottoms = [response for response in left if response.value == low]
        chosen = Chosen(tops[0], bottoms[0])
        if ties == "length":
            chosen = min(
                (Chosen(top, bottom) for top in tops for bottom in bottoms),
                key=lambda pair: abs(pair.better.length - pair.worse.length),
            )
        chosen_pairs.append(chosen)
        left = [each for each in left if each not in chosen]
    return chosen_pairs, None


def best(
    data: Judged,
    terms: Terms,
    *,
    output: str | os.PathLike[str],
    ties: Literal["random", "first", "shortest"] = "random",
    seed: int = 0,
    to: str | None = None,
) -> dict[str, Any]:
    """Keep the best response to each instruction, and write these."""
    destination = PolicyOutput(output, to, data)
    groups = collect(data, terms)
    taken, means = _best_of_each(groups.candidates.values(), ties, seed)
    result = {
        **groups.counts(),
        "written": 0,
        "undecided_groups": len(groups.candidates) - len(taken),
        "unprompted": 0,
        "best_mean": _mean(list(taken.values())),
        "all_mean": _mean(means),
    }

    def chosen_samples() -> Iterator[tuple[Sample, float]]:
        for sample, value in _taken(data, taken):
            lost = to is not None and not sample.conversation
            result["unprompted" if lost else "written"] += 1
            if not lost:
                yield sample, value

    if to is None:
        destination.write_lines(_best_sample(sample, value) for sample, value in chosen_samples())
    else:
        examples = (_demonstration(sample, value) for sample, value in chosen_samples())
        options = {"of several best": ties, "seed": seed}
        destination.write(
            examples, lambda: sections(data, terms, options, VIEWS["best"](result)), pairs=False
        )
    return result


def _best_of_each(
    groups: Iterable[Sequence[ScoredResponse]],
    ties: Literal["random", "first", "shortest"],
    seed: int,
) -> tuple[dict[int, float], list[float]]:
    """Choose the best of each group, with its reward by its position; average each group."""
    taken: dict[int, float] = {}
    means = []
    for number, group in enumerate(groups):
        known = [response for response in group if response.value is not None]
        if known:
            chosen = pick(known, ties, random.Random(f"{seed}:{number}"))
            taken[chosen.position] = _value(chosen)
            means.append(math.fsum(map(_value, known)) / len(known))
    return taken, means


def pick(
    known: Sequence[ScoredResponse],
    ties: Literal["random", "first", "shortest"],
    generator: random.Random,
) -> ScoredResponse:
    """Take the best of some candidates with decided rewards."""
    high = max(map(_value, known))
    tops = [response for response in known if response.value == high]
    if ties == "random":
        return generator.choice(tops)
    return tops[0] if ties == "first" else min(tops, key=lambda response: response.length)


def _check(margin: float, pairs: int, ties: str) -> None:
    if not 0 <= margin < math.inf:
        raise UsageError(f"the margin is {margin}", hint="give 0 or more")
    if pairs < 1:
        raise UsageError(f"pairs is {pairs}", hint="give at least 1")
    if ties not in get_args(Ties):
        raise UsageError(f"ties cannot be broken by {ties!r}", hint="random or length")


def _short(gap: float, margin: float) -> bool:
    """Whether a difference is below the margin by more than rounding: 0.8 - 0.6 is 0.2."""
    return gap < margin and not math.isclose(gap, margin, rel_tol=1e-9)


def _preferences(data: Judged, chosen_pairs: Sequence[Chosen]) -> Iterator[Example]:
    """Yield the pairs as soon as both texts were read; only those half read are held."""
    pair_of = {side.position: pair for pair in chosen_pairs for side in pair}
    waiting: dict[int, Sample] = {}
    for sample, at in _taken(data, {position: position for position in pair_of}):
        pair = pair_of[at]
        other = pair.worse.position if at == pair.better.position else pair.better.position
        if other not in waiting:
            waiting[at] = sample
            continue
        partner = waiting.pop(other)
        chosen, rejected = (sample, partner) if at == pair.better.position else (partner, sample)
        yield Example(
            chosen.id,
            chosen.conversation,
            chosen=chosen.response,
            rejected=rejected.response,
            beside={
                "rejected_id": rejected.id,
                "chosen_reward": _value(pair.better),
                "rejected_reward": _value(pair.worse),
            },
        )


def _demonstration(sample: Sample, value: float) -> Example:
    beside = {"reward": value}
    return Example(sample.id, sample.conversation, completion=sample.response, beside=beside)


def _best_sample(sample: Sample, value: float) -> dict[str, Any]:
    record = native.write(sample.model_copy(update={"recording": None}))
    return {**record, "reward": value}


def _taken(data: Judged, wanted: dict[int, Any]) -> Iterator[tuple[Sample, Any]]:
    """Read the input again for the rows at some positions, each with what is known of it."""
    for position, row in enumerate(judged(data)):
        if row.sample is not None and position in wanted:
            yield row.sample, wanted[position]


def _value(candidate: ScoredResponse) -> float:
    """Return a reward that is known to be decided."""
    return math.nan if candidate.value is None else candidate.value


def _mean(numbers: Sequence[float]) -> float | None:
    return math.fsum(numbers) / len(numbers) if numbers else None


# --- what is printed --------------------------------------------------------------------------

_COUNTED = (
    ("undecided", "reward", "undecided, which make the mean a range"),
    ("fallbacks", "reward", "undecided, replaced by the fallback"),
    ("unread", "row", "that cannot be used"),
)


def _pairs(summary: Summary) -> Document:
    lines = [
        *_read(summary),
        f"{amount(summary['pairs'], 'pair')}, mean difference {decimal(summary['margin_mean'])}",
    ]
    if summary["pairs"]:
        chosen, rejected = summary["chosen_length"], summary["rejected_length"]
        lines.append(f"mean characters: chosen {chosen:,.0f}, rejected {rejected:,.0f}")
        lines.append(f"  mean difference within a pair {summary['length_difference']:,.0f}")
    if summary["without"]:
        lines.append("without a pair:")
        lines += [f"  {count:,}: {reason}" for reason, count in summary["without"].items()]
    return Document("Pairs", lines)


def _best(summary: Summary) -> Document:
    lines = [
        *_read(summary),
        f"{summary['written']:,} written, mean reward {decimal(summary['best_mean'])}",
        f"mean reward of all {decimal(summary['all_mean'])}",
    ]
    for name, without in (("undecided_groups", "a decided reward"), ("unprompted", "a prompt")):
        if summary[name]:
            lines.append(f"{amount(summary[name], 'instruction')} without {without}")
    return Document("Best of n", lines)


def _read(summary: Summary) -> Iterator[str]:
    responses, instructions = summary["responses"], summary["instructions"]
    yield (
        f"{amount(responses, 'response')} to {amount(instructions, 'instruction')}, "
        f"{percent(summary['coverage'])} % of the verdicts decided"
    )
    for name, noun, words in _COUNTED:
        if summary[name]:
            yield f"{amount(summary[name], noun)} {words}"
    if summary["gated"]:
        gates = ", ".join(f"{name} {count:,}" for name, count in summary["gates"].items())
        yield f"{amount(summary['gated'], 'response')} stopped by a gate: {gates}"


VIEWS: dict[str, Callable[[Summary], Document]] = {"pairs": _pairs, "best": _best}
"""By the command."""


Judged: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A run's directory or a file with judgments; or several, whose responses go together."""

PROBLEMS_LISTED = 100


class JudgedRow(NamedTuple):
    """A row of a run, or of a file with judgments."""

    id: str  # the row's id, or its line where it has none
    sample: Sample | None  # the response, if it could be read
    critique: Critique | None  # the judgments on it, if any
    problem: str | None = None  # why one of them is missing


@dataclass(frozen=True, slots=True)
class ScoredResponse:
    """A judged response, without its text."""

    position: int  # its place in the input, from 0
    id: str  # the row's id
    value: float | None  # its reward; ``None`` where that is not decided
    length: int  # characters of the response
    text: bytes  # a digest of the response


@dataclass(slots=True)
class ResponseGroups:
    """The candidates by instruction."""

    # the responses to each instruction, in the order of the input
    candidates: dict[bytes, list[ScoredResponse]] = field(default_factory=dict)
    verdicts: int = 0  # verdicts of all responses, on what applies
    decided: int = 0  # how many of them were decided
    fallbacks: int = 0  # undecided rewards that the terms' fallback replaces
    # responses that a gate stopped, by the gate
    gated: Counter[str] = field(default_factory=Counter)
    unread: int = 0  # rows that cannot be read, or hold no response
    # the first of the reasons, each with the row's ``id``
    problems: list[dict[str, str]] = field(default_factory=list)

    def __iter__(self) -> Iterator[ScoredResponse]:
        """Yield all candidates, instruction by instruction."""
        for group in self.candidates.values():
            yield from group

    def reject(self, name: str, problem: str) -> None:
        """Count a row that cannot be used, and remember why."""
        self.unread += 1
        if len(self.problems) < PROBLEMS_LISTED:
            self.problems.append({"id": name, "problem": problem})

    def counts(self) -> dict[str, Any]:
        """Count rows, and how many rewards are decided."""
        candidates = list(self)
        return {
            "instructions": len(self.candidates),
            "responses": len(candidates),
            "undecided": sum(response.value is None for response in candidates),
            "fallbacks": self.fallbacks,
            "gated": self.gated.total(),
            "gates": dict(self.gated.most_common()),
            "coverage": self.decided / self.verdicts if self.verdicts else None,
            "unread": self.unread,
            "problems": self.problems,
        }


def judged(data: Judged) -> Iterator[JudgedRow]:
    """Yield the rows of runs, or of files with judgments."""
    for path in map(Path, [data] if isinstance(data, str | os.PathLike) else data):
        yield from _of_run(path) if path.is_dir() else _of_file(path)


def collect(data: Judged, terms: Terms) -> ResponseGroups:
    """Compute the reward of every judged response and group them by instruction.

    Responses belong together that have the same field ``instruction_id``, as ``heedful respond``
    writes it, or else the same conversation, and the same checklist.
    """
    groups = ResponseGroups()
    for position, (name, sample, critique, problem) in enumerate(judged(data)):
        if sample is None or critique is None:
            groups.reject(name, problem or "no judgments")
            continue
        reward = terms.judged(sample, critique)
        if reward.problem is not None:
            groups.reject(name, reward.problem)
            continue
        text = sample.response or ""
        groups.candidates.setdefault(_instruction(sample), []).append(
            ScoredResponse(position, sample.id, reward.value, len(text), _digest([text]))
        )
        groups.verdicts += sum(s is not Status.NOT_APPLICABLE for s in reward.statuses)
        groups.decided += sum(status.decided for status in reward.statuses)
        groups.fallbacks += not reward.decided and reward.value is not None
        if reward.gate is not None:
            groups.gated[reward.gate.gate] += 1
    return groups


def _of_run(path: Path) -> Iterator[JudgedRow]:
    with SavedRun.open(path) as run:
        for row in run.rows(scored_entry):
            yield JudgedRow(row.id, row.sample, row.critique, row.problem)


def _of_file(path: Path) -> Iterator[JudgedRow]:
    recorded = Recorded()
    with asyncio.Runner() as runner:
        for row in formats.open_source(path):
            name = f"line {row.line}"
            if row.sample is None:
                yield JudgedRow(name, None, None, row.problem)
            elif row.sample.recording is None:
                problem = "no judgments; judge it with heedful evaluate"
                yield JudgedRow(name, row.sample, None, problem)
            else:
                sample = answered(row.sample)
                yield JudgedRow(sample.id, sample, runner.run(recorded.judge(sample)))


def _instruction(sample: Sample) -> bytes:
    known = (sample.model_extra or {}).get("instruction_id")
    if known is not None:
        parts = [f"id {known}"]
    elif sample.conversation:
        parts = [f"{turn.role}\0{turn.content}" for turn in sample.conversation]
    else:
        parts = [f"row {sample.id}"]
    return _digest([*parts, *(constraint.text for constraint in sample.checklist)])


def _digest(texts: list[str]) -> bytes:
    return blake2b("\0\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=12).digest()
