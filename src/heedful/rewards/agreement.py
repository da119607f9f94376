"""The reward of a critic in training: how far its verdicts agree with people's.

RIFL (arXiv 2511.10507) trains its verifier first on critiques and then by reinforcement, with the
agreement with human labels as the reward. Here the completion *is* the critique: a verdict that it
doesn't state, or that can't be read, is its own failing and doesn't agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Status
from heedful.judges import prompts
from heedful.judges.prompts.base import lacking
from heedful.rewards import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from heedful.core.nouns import Judgment, Sample
    from heedful.judges.prompts import JudgePrompt


def critic_rows(
    samples: Iterable[Sample], prompt: JudgePrompt | str = "plain"
) -> Iterator[dict[str, Any]]:
    """Yield the rows that a critic is trained on: ``prompt``, ``checklist`` and ``labels``.

    The samples are labelled responses, as ``heedful meta`` takes them; those without a response, an
    instruction or a label are left out. ``prompt`` is the critic's, or its name.
    """
    contract = prompts.make(prompt) if isinstance(prompt, str) else prompt
    for sample in samples:
        labels = sample.labels or ()
        if all(label is None for label in labels) or lacking(sample, contract) is not None:
            continue
        messages = contract.render(sample, sample.checklist)
        yield {
            "prompt": [{"role": each.role, "content": each.content} for each in messages],
            "checklist": [{"text": constraint.text} for constraint in sample.checklist],
            "labels": list(labels),
        }


def for_trl_critic(
    prompt: JudgePrompt | str = "plain", *, name: str = "agreement"
) -> Callable[..., list[float | None]]:
    """Make a reward function that trains a critic with TRL's ``GRPOTrainer`` (1.16).

    The data set has the critic's ``prompt``, the ``checklist`` that it judges, and ``labels``, for
    each constraint true (met), false or null: the rows of :func:`critic_rows`. The reward is the
    share of the labelled constraints whose verdict in the completion agrees. A row without labels
    has none.

    The parser of ``prompt`` reads the completions. The trainer logs ``NAME/parsed``: the share of
    the labelled constraints with a verdict at all.
    """
    contract = prompts.make(prompt) if isinstance(prompt, str) else prompt

    def agreement(
        completions: Sequence[Any],
        **columns: Any,  # TRL passes all by name
    ) -> list[float | None]:
        labels = columns.get("labels")
        if labels is None:
            raise UsageError(
                "the data set has no column labels",
                hint="make its rows with critic_rows",
            )
        names = [key for key in rows.CHECKLISTS if key in columns]
        values: list[float | None] = []
        parsed = labelled = 0
        for at, completion in enumerate(completions):
            row = {key: columns[key][at] for key in names}
            judged = _labelled(contract, row, completion, labels[at])
            agreed = sum(judgment.status == label for judgment, label in judged)
            values.append(agreed / len(judged) if judged else None)
            parsed += sum(judgment.status.decided for judgment, _ in judged)
            labelled += len(judged)
        metric = columns.get("log_metric")
        if metric is not None and labelled:
            metric(f"{name}/parsed", parsed / labelled)
        return values

    agreement.__name__ = name
    return agreement


def _labelled(
    prompt: JudgePrompt, row: dict[str, Any], completion: Any, labels: Any
) -> list[tuple[Judgment, Status]]:
    """Read a critique; return its judgments on the labelled constraints, with their labels."""
    try:
        checklist = rows.read({**row, "response": ""}).checklist
        text = rows.reply_text(completion)
    except RowError:
        return []
    if labels is None or len(labels) != len(checklist):
        return []
    pairs = zip(prompt.parse(text, checklist), labels, strict=True)
    return [
        (judgment, Status.MET if label else Status.UNMET)
        for judgment, label in pairs
        if label is not None
    ]
