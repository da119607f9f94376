"""Hugging Face ``evaluate``: ``evaluate.load(heedful.integrations.hf_evaluate.PATH)``."""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from heedful import evaluate as judge_rows

PATH = __file__
"""What ``evaluate.load`` takes."""

_ABOUT = """Shares of constraints met and of responses that meet all, with 95 % intervals."""


class ConstraintMetric(evaluate.Metric):
    """Predictions are responses; references are their constraints, one on each line."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_ABOUT,
            citation="",
            inputs_description=_ABOUT,
            features=datasets.Features({"predictions": text, "references": text}),
        )

    def _compute(
        self, predictions: list[str], references: list[str], **options: Any
    ) -> dict[str, Any]:
        """Judge the responses; options are those of :func:`heedful.evaluate`."""
        pairs = zip(predictions, references, strict=True)
        rows = [
            {"checklist": lines.splitlines(), "response": response} for response, lines in pairs
        ]
        return dict(judge_rows(rows, **options).rates())
