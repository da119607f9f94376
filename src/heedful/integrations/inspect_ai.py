"""Inspect AI: a scorer of constraints, and a task from any file that heedful reads.

Needs ``inspect_ai``. A sample's constraints are in its metadata, under ``checklist``.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from heedful import read
from heedful.integrations.following import Follower, constraints_of

_MESSAGES = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant}


@scorer(
    metrics={"constraints_met": [mean(), stderr()], "responses_fully_met": [mean(), stderr()]},
    name="heedful",
)
def constraints_met(checklist: str = "checklist", **judging: Any) -> Scorer:
    """Score a response by its constraints; one with an undecided verdict is left unscored.

    Args:
        checklist: where a sample's metadata holds its constraints; else the target's lines are.
        judging: as for :func:`heedful.evaluate`: ``judge``, ``model``, ``base_url``, ….
    """
    follower = Follower(judging.pop("judge", None), **judging)

    async def score(state: TaskState, target: Target) -> Score:
        constraints = constraints_of((state.metadata or {}).get(checklist) or target.text)
        row = {
            "prompt": [
                {"role": each.role, "content": each.text}
                for each in state.messages[:-1] or state.messages
                if each.role in {"system", "user", "assistant"}
            ],
            "checklist": constraints,
            "response": state.output.completion,
        }
        following = await follower.judge_async(row)
        nan = float("nan")
        fraction, followed = following.fraction, following.followed
        return Score(
            value={
                "constraints_met": nan if fraction is None else fraction,
                "responses_fully_met": nan if followed is None else float(followed),
            },
            answer=state.output.completion,
            explanation=following.text(),
            metadata=following.counts(),
        )

    return score


def instruction_following(data: Any, **judging: Any) -> Task:
    """Make a task of a file, or of rows: the model answers, its constraints are the score.

    Args:
        data: as for :func:`heedful.evaluate`; responses in it aren't used.
        judging: as for :func:`constraints_met`.
    """
    samples = [
        Sample(
            id=each.id,
            input=[_message(turn.role, turn.content) for turn in each.conversation],
            metadata={"checklist": [_plain(constraint) for constraint in each.checklist]},
        )
        for each in read(data)
    ]
    return Task(
        dataset=MemoryDataset(samples, name="heedful"),
        solver=generate(),
        scorer=constraints_met(**judging),
    )


def _message(role: str, content: str) -> ChatMessage:
    message: ChatMessage = _MESSAGES.get(role, ChatMessageUser)(content=content)
    return message


def _plain(constraint: Any) -> dict[str, Any]:
    plain: dict[str, Any] = constraint.model_dump(mode="json", exclude_defaults=True)
    return plain
