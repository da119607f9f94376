"""The rules of the prompt, rewritten by GEPA on the instructions that choose.

GEPA (arXiv 2507.19457) is the package ``gepa``. It judges small batches, shows a model the errors,
and keeps the rewrites that err less; whether the best of them is better is tried like any change.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from heedful.analysis.align.proposals import Change, ask
from heedful.analysis.align.trials import LabelledPart
from heedful.analysis.meta.labels import MET, UNMET, Labelled
from heedful.core.errors import UsageError
from heedful.data.formats.memory import rows
from heedful.judges.making import PROMPT
from heedful.judges.prompts.template import shipped
from heedful.judges.protocol import AskingProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.analysis.align.trials import Trials
    from heedful.core.nouns import Sample
    from heedful.judges import Judge
    from heedful.models.base import AnyModel

RULES = "rules"
REST = "\n\n{{format}}"
"""Where the rules end, in the text of the prompt."""


def rewritten(
    trials: Trials,
    judge: Callable[[Change], Judge],
    present: AskingProtocol,
    calls: int,
    writer: AnyModel,
    connection: Mapping[str, Any],
) -> list[Change]:
    """Have GEPA rewrite the rules of the prompt, judging so many rows at most."""
    try:
        gepa: Any = import_module("gepa")
    except ImportError as error:
        hint = 'pip install "heedful[optimize]"'
        raise UsageError("rewriting the prompt needs GEPA", hint=hint) from error
    if present.options.get("prompt", PROMPT) != PROMPT:
        raise UsageError("only the prompt plain is rewritten", hint="leave --optimize out")
    rules, rest = shipped(f"{PROMPT}.en.txt").split(REST, 1)

    def change(text: str) -> Change:
        safe = text.replace("{{", "{ {")  # it has no places
        options = {"prompt": f"{safe}{REST}{rest}"}
        return Change("rules rewritten by GEPA", ("prompt",), AskingProtocol(options=options))

    samples = [sample for part in trials.rungs for sample in part.samples]
    found = gepa.optimize(
        {RULES: rules},
        trainset=samples,
        valset=samples,
        adapter=_Adapter(trials, lambda text: judge(change(text)), gepa.EvaluationBatch),
        reflection_lm=lambda prompt: ask(trials.bench, [str(prompt)], writer, connection)[0],
        max_metric_calls=calls,
        seed=trials.bench.seed,
        logger=_Quiet(),
    )
    best = str(found.best_candidate[RULES])
    return [] if best == rules else [change(best)]


@dataclass
class _Adapter:
    """Judges batches of rows by other rules, as GEPA calls it."""

    trials: Trials
    judge: Callable[[str], Judge]  # by its rules
    batch: Callable[..., Any]  # GEPA's result of one
    propose_new_texts: None = None

    def evaluate(
        self,
        batch: list[Sample],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: FBT001, FBT002 - as GEPA calls it
    ) -> Any:
        """Judge a batch; a row's score is the share of its labels that the judge agrees with."""
        labelled = Labelled.of(rows(batch), self.trials.bench.options["by"])
        judge = self.judge(candidate[RULES])
        entry = self.trials.judged(judge, LabelledPart(batch, labelled))
        states = [entry.verdicts.get(sample.id, [""])[0] for sample in batch]
        labels = [labelled.targets[sample.id].labels for sample in batch]
        wrong: dict[str, list[str]] = {}
        for each in entry.disagreements:
            said = f"People say {each['label']} of {each['text']!r}: {each['explanation']}"
            wrong.setdefault(each["id"], []).append(said)
        traces = [
            {
                "Inputs": {"response": sample.response},
                "Generated Outputs": [each.text for each in sample.checklist],
                "Feedback": "; ".join(wrong.get(sample.id, ["all verdicts are right"])),
            }
            for sample in batch
        ]
        return self.batch(
            states, [*map(_right, labels, states)], traces if capture_traces else None
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> dict[str, list[Any]]:
        """Show the model that rewrites what was judged, and what people say."""
        del candidate
        return {name: list(eval_batch.trajectories or ()) for name in components_to_update}


def _right(labels: str, states: Sequence[str]) -> float:
    known = [
        label == state
        for label, state in zip(labels, states, strict=False)
        if label in (MET, UNMET)
    ]
    return sum(known) / len(known) if known else 0.0


class _Quiet:
    def log(self, message: str) -> None:
        """Say nothing: progress is shown elsewhere."""
