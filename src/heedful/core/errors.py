"""Everything that heedful raises on purpose: what is wrong, where, and what to do about it."""

from __future__ import annotations


class HeedfulError(Exception):
    """Base of all errors that heedful raises on purpose.

    Attributes:
        what: what is wrong, one sentence without the place.
        where: the place, such as ``data.jsonl:17``, or ``""``.
        hint: what to do about it, or ``""``.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        """Read as ``where: what (hint)``."""
        place = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.what}{hint}"


class HeedfulWarning(UserWarning):
    """Something is probably a mistake; the work goes on."""


class UsageError(HeedfulError):
    """The command or the call does not make sense as given."""


class InputError(HeedfulError):
    """A file is missing, empty, unreadable, or not in the format it was said to be."""


class RowError(InputError):
    """One row cannot be read. Readers report it as a failed row and go on with the next."""


class RunError(HeedfulError):
    """A run cannot be started or resumed as requested."""


class ModelError(HeedfulError):
    """One call to a model failed for good. Its constraints are ``failed``; the others go on."""


class StopRunError(HeedfulError):
    """No further call can succeed, as with a wrong key or an unknown model: the run stops.

    It isn't a :class:`ModelError`, so that whoever catches that for one row lets this pass.
    """


class VerifierError(HeedfulError):
    """A check names no known verifier, or its arguments do not fit the verifier."""


class UndecidedError(VerifierError):
    """Whether a response meets a check depends on how the constraint is read: no verdict."""
