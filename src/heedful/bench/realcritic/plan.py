"""The plan of a RealCritic run: its files, critics, modes and rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from heedful.bench.grading.grading import named_sets
from heedful.bench.realcritic.critic import Critic, Mode, Solver
from heedful.bench.realcritic.prompts import Prompts
from heedful.core.errors import UsageError
from heedful.core.version import __version__
from heedful.engine.inputs import fingerprint, unnamed
from heedful.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.bench.realcritic.critic import Grades
    from heedful.models import Model

__all__ = ["Grading", "RealCriticPlan"]

STORE_VERSION = 2
"""Raised when a run made by an older heedful can no longer be resumed."""

COMMAND = "bench realcritic run"

MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Grading:
    """How answers are compared.

    Attributes:
        timeout_s: seconds that comparing one answer may take.
        workers: processes that compare; by default one a core.
        accept_choice_text: see :class:`~heedful.bench.grading.graders.Grader`.
    """

    timeout_s: float = 5.0
    workers: int | None = None
    accept_choice_text: bool = False

    def config(self) -> dict[str, Any]:
        """All that a grade depends on."""
        return {"timeout_s": self.timeout_s, "accept_choice_text": self.accept_choice_text}


@dataclass(frozen=True)
class RealCriticPlan:
    """Files, critics and settings of a run.

    Attributes:
        files: RealCritic's files, one a set.
        critics: the models, each under its own name.
        modes: of :data:`MODES`; ``self`` includes ``direct``.
        rounds: critiques of each solution; from 2 on, iterative critique.
        checker: a model that marks critiques which took a shortcut.
        sampling: temperature and so on; by default temperature 0.
        grading: how answers are compared.
        prompts: ours, or a user's own.
    """

    files: Sequence[Path]
    critics: Sequence[Model]
    modes: Sequence[Mode] = MODES
    rounds: int = 1
    checker: Model | None = None
    sampling: Sampling = field(default_factory=Sampling)
    grading: Grading = Grading()
    prompts: Prompts = field(default_factory=Prompts.ours)

    def __post_init__(self) -> None:
        """Refuse what makes no sense, before anything is opened."""
        names = [model.name for model in self.critics]
        if not self.files:
            raise UsageError("no file to run on", hint="name RealCritic's files, one a set")
        if not names:
            raise UsageError("no critic", hint="name one with --model")
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"the critic {name!r} is named twice", hint="name each once")
        if self.rounds < 1:
            raise UsageError(f"there are {self.rounds} rounds", hint="give at least 1")
        if not self.modes or not set(self.modes) <= set(MODES):
            shown = ",".join(self.modes)
            raise UsageError(f"the modes are {shown!r}", hint=f"name some of {', '.join(MODES)}")

    def config(self) -> dict[str, Any]:
        """All that the replies depend on, as JSON: a run goes on only under the same."""
        sets = named_sets(self.files)
        return {
            "store": STORE_VERSION,
            "command": COMMAND,
            "input": {name: fingerprint(path) for path, name in sets.items()},
            "critics": [dict(model.config) for model in self.critics],
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
            "prompts": self.prompts.version(),
        }

    def extent(self) -> dict[str, Any]:
        """How much is done with the replies: this may change within a run."""
        return {
            "modes": [mode for mode in MODES if mode in self.modes],
            "rounds": self.rounds,
            "checker": None if self.checker is None else dict(self.checker.config),
            "grading": self.grading.config(),
        }

    def about(self) -> dict[str, Any]:
        """How the numbers come about, for people."""
        return {
            "heedful": __version__,
            "input": [str(path) for path in self.files],
            "sets": list(named_sets(self.files).values()),
            "critics": [model.name for model in self.critics],
            **self.extent(),
            "checker": None if self.checker is None else self.checker.name,
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
        }

    def default_run(self) -> Path:
        """Name a run that the user has not named; a larger extent finds the same run."""
        return unnamed("realcritic", self.config())

    def critic(self, model: Model, grader: Grades, *, estimating: bool = False) -> Critic:
        """Put a critic together."""
        made = Solver(model, self.sampling, grader, estimating, self.prompts)
        checker = None
        if self.checker is not None:
            checker = Solver(self.checker, self.sampling, grader, estimating, self.prompts)
        return Critic(made, frozenset(self.modes), self.rounds, checker)
