"""The card of a critic: what it learnt from, how good it is, how to ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.core.text import markdown_cell
from heedful.critic.data.known import blind_rates, known_verdicts
from heedful.critic.training.report import RATES, tables
from heedful.reporting.notation import percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from heedful.critic.building.config import BuildConfig


@dataclass(frozen=True, slots=True)
class BuildStep:
    """What a step made, and what it took."""

    name: str
    made: str
    seconds: float  # of all sessions
    dollars: float | None = None  # of all calls; None where nothing was called
    before: bool = False  # an earlier build had done it


def card(
    config: BuildConfig,
    report: Mapping[str, Any],
    data: Path,
    test: Path,
    steps: Sequence[BuildStep],
) -> str:
    """Write the card, in Markdown with the metadata that the Hugging Face hub reads."""
    name = markdown_cell(report["model"])
    learnt, judged = (known_verdicts(each, config.export) for each in (data, test))
    parts = [
        "---\nlibrary_name: transformers\npipeline_tag: text-generation\n---",
        f"# A critic, trained from {name}",
        _ABOUT,
        "## How good it is",
        accuracy(report, learnt, judged),
        *(part.markdown() for part in tables(report) if part.title.startswith("By constraint")),
        "## How it was made",
        steps_table(steps).markdown(),
        "## How it is asked",
        _asked(report["settings"]),
        "## Limits",
        _limits(config),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


_ABOUT = """\
It judges whether a response meets each constraint of a checklist, and says why. Trained and tested
by [heedful](https://pypi.org/project/heedful/):

```sh
heedful evaluate mine.jsonl --judge checklist --model ./critic
```"""


def _asked(settings: Mapping[str, Any]) -> str:
    size = settings["per_call"] or "all"
    counts = " Counts by code stand in it." if settings["measure"] else ""
    return (
        f"With the prompt `{settings['prompt']}`, constraints per request: {size}.{counts} "
        "`heedful.json` beside the weights says so to heedful."
    )


def accuracy(report: Mapping[str, Any], learnt: Sequence[Any], judged: Sequence[Any]) -> str:
    """Compare the critic with judges that don't look at the response."""
    measured = report["test"]
    met = sum(label for _, label in judged)
    always = 2 * met / (met + len(judged))
    rivals = {
        "blind: by type, direction and text only": blind_rates(learnt, judged),
        "always met": {"f1_met": always, "f1_unmet": 0.0, "mean_f1": always / 2, "kappa": 0.0},
    }
    own = {rate: measured["pooled"][rate]["value"] for rate in (*RATES, "kappa")}
    rows = [_row("this critic", own, measured["coverage"])]
    rows += [_row(name, rates, 1.0) for name, rates in rivals.items()]
    columns = ("judge", "decided %", "F1 met", "F1 unmet", "mean F1", "kappa")
    title = f"{len(judged):,} verdicts on instructions that were not trained on"
    return Table(title, columns, rows).markdown()


def _row(name: str, rates: Mapping[str, float | None], coverage: float) -> list[str]:
    kappa = rates["kappa"]
    shown = [percent(rates[rate], 1) for rate in RATES]
    return [name, percent(coverage, 1), *shown, "–" if kappa is None else f"{kappa:.2f}"]


def steps_table(steps: Sequence[BuildStep]) -> Table:
    """Lay out what each step made, how long it took and what it cost."""
    rows = [
        [
            step.name,
            step.made,
            f"{step.seconds:,.1f}" + (" (before)" if step.before else ""),
            "–" if step.dollars is None else f"{step.dollars:.2f}",
        ]
        for step in steps
    ]
    return Table("Steps", ("step", "made", "seconds", "dollars"), rows, words=2)


def _limits(config: BuildConfig) -> str:
    source = "code, so it knows the kinds of constraints that code can check"
    if config.critiques is not None:
        source = f"critiques of {markdown_cell(config.critiques.expert)}, with its mistakes"
    return (
        f"It was trained on verdicts of {source}. On other kinds of constraints, languages and "
        "longer responses it is untested: measure it on labels of your own with `heedful "
        "judge-accuracy` before you rely on it. The weights have the licence of the model that was "
        "trained; the texts are their authors'."
    )
