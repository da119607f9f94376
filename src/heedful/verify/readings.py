"""IFEval's two readings of a response: strict as it stands, loose with its trimmings removed.

Source: Zhou et al. 2023 (arXiv 2311.07911), section 3: a constraint is met loosely if any of eight
variants of the response meets it: with and without the first line, the last line, both; each of
these as it is and without asterisks.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.errors import UndecidedError
from heedful.verify.base import Finding, check
from heedful.verify.text.prepared import Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Check
    from heedful.core.turns import ToolCall


class StrictAndLoose(NamedTuple):
    """Result of a check on a response: the strict finding and the loose verdict."""

    strict: Finding
    loose: bool


def _surely(requirement: Check, response: Response) -> bool:
    """Check whether a variant meets a check; one on which it is undecided does not."""
    try:
        return check(requirement, response).met
    except UndecidedError:
        return False


class Readings:
    """One response, prepared once for all the checks on it."""

    def __init__(
        self,
        text: str,
        *,
        seed: int | None = None,
        sample: str = "",
        calls: Sequence[Sequence[ToolCall]] | None = None,
    ) -> None:
        self._seed = None if seed is None else f"{seed}/{sample}"
        self._whole = Response(text, calls=calls)
        self._variants: list[Response] | None = None

    def read(self, requirement: Check, position: int = 0) -> StrictAndLoose:
        """Decide a check in both readings."""
        strict = self._decide(requirement, self._whole, f"{position}/strict")
        if self._seed is None:
            loose = strict.met or any(_surely(requirement, each) for each in self._others())
        else:
            # The published code takes one random number a reading, the same for all variants.
            loose = any(
                self._decide(requirement, each, f"{position}/loose").met
                for each in (self._whole, *self._others())
            )
        return StrictAndLoose(strict, loose)

    def _decide(self, requirement: Check, response: Response, place: str) -> Finding:
        if self._seed is not None:
            response.faithful = random.Random(f"{self._seed}/{place}")
        return check(requirement, response)

    def _others(self) -> list[Response]:
        """Make the variants that differ from the response, each text once."""
        if self._variants is None:
            text = self._whole.text
            # IFEval strips the shortened variants, and only those.
            lines = text.split("\n")
            shortened = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
            variants = (text, *shortened)
            texts = dict.fromkeys([*variants, *(each.replace("*", "") for each in variants)])
            others = [each for each in texts if each != text and each.strip()]
            self._variants = [Response(each, calls=self._whole.calls) for each in others]
        return self._variants
