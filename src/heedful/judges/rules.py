"""The judge that is code: verifiers decide, exactly and for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.schema import Critique, Judgment, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from heedful.schema import Sample, Scoring

__all__ = ["Rules"]
