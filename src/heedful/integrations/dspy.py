"""DSPy: a metric with feedback, for evaluation and for optimisers such as GEPA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dspy import Prediction

from heedful.integrations.following import Follower, constraints_of

if TYPE_CHECKING:
    from dspy import Example


class ConstraintsMet:
    """The share of constraints that a prediction meets, with what it fails as feedback.

    Undecided constraints count as unmet in the score, because an optimiser needs a number; the
    feedback names them.
    """

    def __init__(
        self,
        response: str = "response",
        checklist: str = "checklist",
        prompt: str | None = None,
        **judging: Any,
    ) -> None:
        """Name the fields.

        Args:
            response: the prediction's field that is judged.
            checklist: the example's field with the constraints: a list, or lines.
            prompt: the example's field with the instruction, for a model that judges.
            judging: as for :func:`heedful.evaluate`: ``judge``, ``model``, ``base_url``, ….
        """
        self._fields = response, checklist, prompt
        self._follower = Follower(judging.pop("judge", None), **judging)

    def __call__(
        self,
        gold: Example,
        pred: Prediction,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> Any:
        """Score a prediction: for GEPA, which names a predictor, with feedback."""
        del pred_trace
        response, checklist, prompt = self._fields
        row = {
            "prompt": str(gold[prompt]) if prompt else "",
            "checklist": constraints_of(gold[checklist]),
            "response": str(pred[response]),
        }
        following = self._follower.judge(row)
        counts = following.counts()
        score = counts["met"] / max(1, sum(counts.values()))
        if pred_name is None and trace is None:
            return score
        if pred_name is None:  # a bootstrapping optimiser keeps what is wholly right
            return score == 1
        return Prediction(score=score, feedback=following.text(only_problems=True) or "All met.")
