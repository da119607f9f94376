"""Reward functions as trainers call them, each a few lines over :class:`Reward`.

Nothing of the trainers is imported here but torch, in the one function whose trainer wants
tensors. A reward function never raises for a row, for that would end the training: such a row is
undecided. The trainers here take numbers only, so the reward must state a fallback; TRL, which
takes ``None``, is in :mod:`heedful.rewards.trl_functions`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from heedful.core.errors import InputError, RowError, UsageError
from heedful.data.formats import files
from heedful.data.formats.files import shown
from heedful.rewards import rows
from heedful.rewards.gates import CONTROLS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from heedful.core.nouns import Sample
    from heedful.rewards.divergence import Divergence
    from heedful.rewards.reward import Reward
    from heedful.rewards.terms import Rewarded

Data: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A file of a data set, or several."""

Prompts: TypeAlias = "Mapping[bytes, Any]"
"""Prompts by the digest of their ground truth; ``None`` where two prompts have the same."""


def read_prompts(data: Data) -> Prompts:
    """Read the prompts of files."""
    prompts: dict[bytes, Any] = {}
    for path in map(Path, [data] if isinstance(data, str | os.PathLike) else data):
        any_row = False
        for record in files.records(path):
            about = record.data.get("reward_model")
            prompt = rows.prompt_of({"prompt": record.data.get("prompt")}).get("prompt")
            if not isinstance(about, dict) or "ground_truth" not in about or prompt is None:
                continue
            any_row = True
            key = _digest(about["ground_truth"])
            prompts[key] = prompt if prompts.setdefault(key, prompt) == prompt else None
        if not any_row:
            raise InputError(
                "no row has both a prompt and a reward_model with a ground_truth",
                where=str(path),
                hint="name the files that verl trains on (data.train_files)",
            )
    return prompts


def look_up_prompt(prompts: Prompts, truth: Any) -> dict[str, Any]:
    """Look up the prompt of a ground truth; empty where there is none, or more than one."""
    prompt = prompts.get(_digest(truth)) if prompts else None
    return {} if prompt is None else {"prompt": prompt}


def _digest(truth: Any) -> bytes:
    try:
        text = truth if isinstance(truth, str) else json.dumps(truth, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of several kinds, or a circle
        text = repr(truth)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def for_rows(
    reward: Reward, *, divergence: Divergence | None = None
) -> Callable[..., Coroutine[Any, Any, dict[str, float]]]:
    """Make what the recipes of other trainers await: ``score(label, response)``.

    ``label`` holds the checklist, as JSON or as an object. The prompt is in it or given, as text or
    messages, as ``prompt=``; ``finish_reason="length"`` says that the response was cut off. The
    result holds ``score`` and :meth:`~heedful.rewards.Rewarded.measures`; with ``divergence`` also
    what its :meth:`~heedful.rewards.Divergence.watch` says of this response.
    """
    _refuse_undecided(reward, "the trainer")

    async def score(label: Any, response: Any, **about: Any) -> dict[str, float]:
        sample = rows.labelled(label, response, about)
        (scored,) = await reward.score([sample])
        result = {"score": _number(scored), **scored.measures()}
        return result if divergence is None else result | await divergence.watch(sample, scored)

    return score


_SPECIAL = re.compile(CONTROLS)

_LEAST = 16
"""Characters of a cut prompt that must be there, or the match may be chance."""


def for_verl(
    reward: Reward, *, data: Data = (), divergence: Divergence | None = None
) -> Callable[..., Coroutine[Any, Any, dict[str, float]]]:
    """Make a ``compute_score`` of verl (0.9), for ``reward.custom_reward_function``.

    ``ground_truth`` holds the checklist, as JSON or as an object, such as IF-Critic's
    ``{"prompt_id", "checklist", "checklist_struct"}``; the prompt is in it or in ``extra_info``,
    as ``prompt``, ``instruction``, ``question`` or ``raw_prompt``. verl does not hand over the
    column ``prompt`` itself, and the rows that IF-Critic's authors write (``if_prompts.py``) have
    the prompt nowhere else: name the files with ``data``, and it is looked up there. A judge that
    is a model refuses a row without an instruction, whose reward is then the fallback. A
    ``finish_reason`` in ``extra_info`` says whether the response was cut off.

    The result holds ``score`` and :meth:`~heedful.rewards.Rewarded.measures`, which verl keeps as
    the reward's extra information; with ``divergence`` also the alarm. ``data`` is files as verl
    reads them (``data.train_files`` and ``data.val_files``), Parquet or JSON.
    """
    _refuse_undecided(reward, "verl")
    prompts, score = read_prompts(data), for_rows(reward, divergence=divergence)

    async def compute_score(
        data_source: str,  # noqa: ARG001 - verl's signature
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, float]:
        # Data sets fill the column with what they like.
        extra = extra_info if isinstance(extra_info, Mapping) else {}
        about = look_up_prompt(prompts, ground_truth) | rows.prompt_of(extra)
        about[rows.FINISH] = extra.get(rows.FINISH)
        return await score(ground_truth, solution_str, **about)

    return compute_score


def for_openrlhf(reward: Reward) -> Callable[..., dict[str, Any]]:
    """Make a ``reward_func`` of OpenRLHF (0.11), for the file that ``--remote_rm_url`` names.

    A label holds the checklist, as JSON or as an object. The response is what follows the prompt in
    the query, without special tokens at its end; where the prompt, or the end that OpenRLHF left of
    it, is not at the beginning, the reward is undecided. The judge is shown the prompt as the label
    has it (``prompt``, ``instruction``, …), or else as the trainer templated it.
    """
    _refuse_undecided(reward, "OpenRLHF")

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any
    ) -> dict[str, Any]:
        import torch

        rows_of_batch = zip(queries, prompts, labels, range(1, len(queries) + 1), strict=True)
        scored = reward.score_sync([openrlhf_sample(*row) for row in rows_of_batch])
        rewards = torch.tensor([_number(each) for each in scored])
        logs = {name: torch.tensor(values) for name, values in logged(scored).items()}
        return {"rewards": rewards, "scores": rewards, "extra_logs": logs}

    return reward_func


def logged(scored: Sequence[Rewarded]) -> dict[str, list[float]]:
    """Lay out what is logged of a batch, by name."""
    measures = [each.measures() for each in scored]
    return {name: [each[name] for each in measures] for name in (measures[0] if scored else ())}


def for_verifiers(
    reward: Reward, *, divergence: Divergence | None = None
) -> Callable[..., Coroutine[Any, Any, float]]:
    """Make what a ``@vf.reward`` method of a ``verifiers.v1.Task`` (0.4) awaits.

    ::

        checklist_met = for_verifiers(Reward(judge, undecided=0.0))

        class MyTask(vf.Task):
            @vf.reward(weight=1.0)
            async def checklist_met(self, task, trace) -> float:
                return await checklist_met(task, trace)

    The task's data has ``prompt`` and a field of its own, ``checklist``, ``constraints`` or
    ``checklist_struct``; the response is the trace's last reply. What
    :meth:`~heedful.rewards.Rewarded.measures` returns becomes metrics of the trace, with
    ``divergence`` also the alarm.
    """
    score = for_rows(reward, divergence=divergence)

    async def checklist_met(task: Any, trace: Any) -> float:
        row = task.model_dump(mode="json", exclude_none=True)
        system, prompt = row.pop("system_prompt", None), row.get("prompt")
        if system is not None and isinstance(prompt, str):
            turns = (("system", system), ("user", prompt))
            row["prompt"] = [{"role": role, "content": content} for role, content in turns]
        finish = "length" if getattr(trace, "is_truncated", False) is True else None
        measures = await score(row, trace.last_reply, **{rows.FINISH: finish})
        value = measures.pop("score")
        trace.record_metrics({f"heedful_{name}": number for name, number in measures.items()})
        return value

    return checklist_met


def openrlhf_sample(query: str, prompt: str, label: Any, number: int) -> Sample:
    """Read a row as OpenRLHF sends it, to a function or to a server.

    A row that cannot be read is a sample whose field ``problem`` says why; it has no reward.
    """
    try:
        reply = _reply(query, prompt)
    except RowError as error:
        return rows.unread(error, number)
    return rows.labelled(label, reply, {"prompt": prompt}, number)


def _reply(query: str, prompt: str) -> str:
    """Cut the response out of a query, which is the prompt and the response as tokens gave them."""
    if not isinstance(query, str) or not isinstance(prompt, str):
        raise RowError(f"the query is {shown(query)} and the prompt {shown(prompt)}, not texts")
    if query.startswith(prompt):
        return _without_special(query.removeprefix(prompt))
    places = [at for at, character in enumerate(query) if not character.isspace()]
    whole, read = ("".join(text.split()) for text in (prompt, query))
    least = min(_LEAST, len(whole))
    head = read[:least]
    start = whole.find(head) if 0 < least == len(head) else -1
    while start >= 0:
        if read.startswith(whole[start:]):
            end = places[len(whole) - start - 1]
            return _without_special(query[end + 1 :])
        start = whole.find(head, start + 1)
    raise RowError("the query does not begin with its prompt, so the response cannot be identified")


def _without_special(text: str) -> str:
    """Drop the special tokens that end a text, and the white space around them."""
    start = end = -1
    for token in _SPECIAL.finditer(text):
        if start < 0 or text[end : token.start()].strip():
            start = token.start()
        end = token.end()
    return text if start < 0 or text[end:].strip() else text[:start].rstrip()


def _number(scored: Rewarded) -> float:
    if scored.value is None:  # a reward whose fallback was taken away after the adapter was made
        raise UsageError("the reward is not decided and states no fallback")
    return scored.value


def _refuse_undecided(reward: Reward, trainer: str) -> None:
    if reward.terms.undecided is None:
        raise UsageError(
            f"{trainer} takes numbers only, and the reward may be undecided",
            hint="state a fallback: Reward(…, undecided=0.0); its rate is reported",
        )
