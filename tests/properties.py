"""How many examples a property is tried on, where each of them takes long."""

from typing import Any

from hypothesis import settings

USUAL = 100
"""Examples of other properties, where no profile says otherwise."""


def of_a_hundred(examples: int, **more: Any) -> settings:
    """Try so many examples where other properties try a hundred, and fewer in the unit suite."""
    number = examples * settings().max_examples // USUAL
    return settings(max_examples=max(2, number), **more)
