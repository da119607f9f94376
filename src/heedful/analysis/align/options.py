"""The options of an alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from heedful.analysis.meta.options import MetaOptions
from heedful.judges.options import JudgeOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.models.base import AnyModel


class Trying(TypedDict, total=False):
    """What is tried.

    Attributes:
        alternatives: Further models that are tried as the judge.
        proposer: The model that proposes causes and words. Default: the judge's.
        optimize: Rows that GEPA may judge while it rewrites the prompt's rules (pip install
            "heedful[optimize]"). Default: 0, it doesn't.
    """

    alternatives: Sequence[AnyModel]
    proposer: AnyModel
    optimize: int


class AlignOptions(MetaOptions, JudgeOptions, Trying, total=False):
    """What is tried, and how judges are asked and run."""
