"""Options of jobs over a data set, as Python and the command line take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.engine.options import DataOptions
from heedful.judges.options import JudgeOptions
from heedful.models.options import CallOptions

if TYPE_CHECKING:
    import os


class EvaluationOptions(DataOptions, JudgeOptions, total=False):
    """Options of an evaluation: how data is read, who judges, and how the job is run.

    Attributes:
        responses: A file with the responses, joined on key or prompt, where the data has none.
        output: Also write the results here: JSON lines, or .csv for AdvancedIF.
        replies: Write what the judge replied into results.jsonl too, as judge_reply.
    """

    responses: str | os.PathLike[str] | None
    output: str | os.PathLike[str] | None
    replies: bool


class GenerationOptions(DataOptions, CallOptions, total=False):
    """Options of jobs that call a model: the data, the run, and how models given by name answer."""


class RespondOptions(GenerationOptions, total=False):
    """Options of obtaining responses.

    Attributes:
        samples: Independent responses to each sample: a row for each, ID#1, ID#2, … Default: 1.
        models_per_sample: How many of the models answer each sample, chosen at random for it; all
            by default.
        seed: Seed of that choice. Default: 0.
        overwrite: Also replace a response that is there.
    """

    samples: int
    models_per_sample: int | None
    seed: int
    overwrite: bool
