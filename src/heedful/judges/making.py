"""Make judges from their names and the options of their models, or from users' functions."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from heedful.core import plugins
from heedful.core.errors import HeedfulWarning, UsageError
from heedful.core.nouns import Critique, Judgment, Scoring, Status
from heedful.core.text import amount
from heedful.judges.code import Compiled, Measurement, Recorded, Rules
from heedful.judges.compose import Cascade, Panel
from heedful.judges.options import CHECKLIST, WITH_MODEL
from heedful.judges.protocol import AskingProtocol, Reworded
from heedful.models.options import CONNECTION, CallOptions, flag, sampling

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from heedful.core.nouns import Sample
    from heedful.judges.base import AnyJudge, Judge
    from heedful.judges.options import JudgeOptions
    from heedful.judges.prompts import JudgePrompt
    from heedful.models.base import Model, Sampling
    from heedful.models.folder import Protocol

_OF_CONSTRAINT = 2
"""Parameters of a function that decides one constraint."""


def as_judge(given: object) -> Judge:
    """Take what a user calls a judge for one: an object with ``judge``, or a function.

    Raises:
        UsageError: it is neither.
    """
    if callable(getattr(given, "judge", None)) and not isinstance(given, type):
        if not hasattr(given, "config") or not hasattr(given, "name"):
            raise UsageError(
                f"the judge {type(given).__name__} has no name or no config",
                hint="give both: config is all that its verdicts depend on, as JSON",
            )
        return cast("Judge", given)
    if callable(given) and not isinstance(given, type):
        return FunctionJudge(given)
    raise UsageError(
        f"the judge is {given!r:.80}, which has no method judge",
        hint="give names, such as 'rules,compiled', a judge, such as Cascade(Rules(), …), or a "
        "function (sample, constraint) that returns whether it is met",
    )


class FunctionJudge:
    """Judges by a function, sync or async.

    With one parameter it gets the sample and returns a list with a verdict on each constraint; with
    two it gets the sample and a constraint and returns one verdict. A verdict is ``True``,
    ``False``, ``None`` for undecided, a ``Judgment``, or a pair of a verdict and its explanation.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        from heedful.models.functions import identity

        self._function = function
        self._each = len(inspect.signature(function).parameters) == _OF_CONSTRAINT
        self.config: Mapping[str, Any] = {"judge": identity(function)}
        self.name: str = self.config["judge"]["name"]

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Call the function; an exception leaves what it was called for undecided."""
        places = range(len(sample.checklist)) if requested is None else requested
        if self._each:
            calls = (self._call(sample, sample.checklist[place]) for place in places)
            return Critique(judgments=tuple([self._judgment(await call) for call in calls]))
        verdicts = await self._call(sample)
        count = len(sample.checklist)
        if isinstance(verdicts, Exception):
            verdicts = [verdicts] * count
        elif not isinstance(verdicts, list):
            verdicts = [verdicts]  # a checklist of one
        if len(verdicts) != count:
            given = f"{amount(len(verdicts), 'verdict')} on {amount(count, 'constraint')}"
            verdicts = [ValueError(f"it returned {given}; give a list")] * count
        return Critique(judgments=tuple(self._judgment(verdicts[place]) for place in places))

    async def _call(self, *arguments: Any) -> Any:
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(*arguments)
            result = await asyncio.to_thread(self._function, *arguments)
            return await result if inspect.isawaitable(result) else result
        except Exception as error:  # noqa: BLE001 - any of the user's own
            return error

    def _judgment(self, verdict: Any) -> Judgment:
        explanation = ""
        if isinstance(verdict, tuple) and len(verdict) == len(("verdict", "explanation")):
            verdict, explanation = verdict[0], str(verdict[1])
        if isinstance(verdict, Judgment):
            return verdict
        if isinstance(verdict, Exception):
            explanation = f"{type(verdict).__name__}: {verdict}"
            return Judgment(status=Status.FAILED, explanation=explanation, judge=self.name)
        if hasattr(verdict, "item"):  # a boolean of numpy
            verdict = verdict.item()
        if not isinstance(verdict, bool | None):
            explanation = f"the judge returned {verdict!r:.60}; give True, False or None"
            return Judgment(status=Status.FAILED, explanation=explanation, judge=self.name)
        status = {True: Status.MET, False: Status.UNMET, None: Status.UNPARSED}[verdict]
        return Judgment(status=status, explanation=explanation, judge=self.name)


LIKELIHOOD = "likelihood"
"""The name of the judge that reads a model's log-probabilities."""

PUBLISHED = "rules,recorded"
"""The default judge of faithful scoring: no published code compiles constraints."""

DEFAULT = f"{PUBLISHED},compiled"
"""The verdicts that a file holds count before what code reads into words."""

PROMPT = "plain"
"""The prompt, unless the options or the model's folder name another."""

PROPOSED = "proposed"
"""The name of the judge by code whose checks a model proposes."""

_NAMES = ("rules", "compiled", "recorded", CHECKLIST, LIKELIHOOD, PROPOSED)
_DEFAULTS = (DEFAULT, PUBLISHED, WITH_MODEL)
_PLUGINS = "heedful.judges"
_CALLS = CallOptions.__annotations__

_ASKS = {"model", "min_confidence", "images", "proposals"}
"""The options of the protocol that apply where log-probabilities are read."""


def default_names(scoring: str, options: JudgeOptions) -> str:
    """Return the default judges: code first, then the model or the file."""
    if options.get("model"):
        return WITH_MODEL
    return PUBLISHED if scoring == "faithful" else DEFAULT


def check_names(names: str, known: Sequence[str] = _NAMES) -> None:
    """Refuse a name that neither heedful nor a plugin knows."""
    added = plugins.names(_PLUGINS, _NAMES)  # warns of those that would replace one of ours
    for name in map(str.strip, names.split(",")):
        if name not in known and name not in added:
            error = plugins.unknown("judge", name, known, _PLUGINS)
            error.hint += "; a model's name is given as model, beside or without a judge"
            raise error


def make_judge(
    names: AnyJudge | None,
    *,
    scoring: Scoring = "strict",
    seed: int = 0,
    **options: Unpack[JudgeOptions],
) -> Judge:
    """Make a judge from its name, or a cascade from names separated by commas.

    A judge is returned as it is, and a function becomes one; ``None`` stands for the default,
    see :func:`default_names`. ``scoring`` and ``seed`` are those of ``rules``.

    Raises:
        UsageError: a name, the scoring or an option is unknown, or options do not go together.
    """
    if scoring not in get_args(Scoring):
        raise UsageError(f"no such scoring: {scoring!r}", hint=" or ".join(get_args(Scoring)))
    protocol = as_protocol(options.pop("protocol", None))
    names = names or protocol.judge
    options = cast("JudgeOptions", {**protocol.options, **options})
    if names is None:
        names = default_names(scoring, options)
    if not isinstance(names, str):
        _refuse_unused(options, "the judge is an object, which has its own")
        return as_judge(names)
    if names not in _DEFAULTS:  # a look for plugins would take 12 ms
        check_names(names)
    asks = [name.strip() for name in names.split(",")]
    if options.get("proposals"):
        _add_proposals(asks)
    own = [name for name in asks if name in (LIKELIHOOD, PROPOSED)]
    if own and CHECKLIST not in asks:
        given = {name: each for name, each in options.items() if name not in _ASKS}
        _refuse_unused(cast("JudgeOptions", given), f"{own[0]} asks with a prompt of its own")
    elif CHECKLIST not in asks:
        _refuse_unused(options, f"no judge uses it: the judge is {names}")
    judges = [_make(name, scoring, seed, options) for name in asks]
    if protocol.criteria or protocol.notes:
        judges = [
            Reworded(judge, protocol) if name in (CHECKLIST, LIKELIHOOD) else judge
            for name, judge in zip(asks, judges, strict=True)
        ]
    return judges[0] if len(judges) == 1 else Cascade(*judges)


def _add_proposals(asks: list[str]) -> None:
    """Add the judge by proposed checks before the first that would ask a model each time."""
    asking = [place for place, name in enumerate(asks) if name in (CHECKLIST, LIKELIHOOD)]
    if asking and PROPOSED not in asks:
        asks.insert(asking[0], PROPOSED)


def as_protocol(given: str | os.PathLike[str] | AskingProtocol | None) -> AskingProtocol:
    """Read a protocol, unless it is one; without any, nothing is changed."""
    if given is None:
        return AskingProtocol()
    return given if isinstance(given, AskingProtocol) else AskingProtocol.read(given)


def _make(name: str, scoring: Scoring, seed: int, options: JudgeOptions) -> Judge:
    if name == "rules":
        return Rules(scoring=scoring, seed=seed)
    if name == "recorded":
        return Recorded(scoring)
    if name == "compiled":
        return Compiled()
    if name in (CHECKLIST, LIKELIHOOD, PROPOSED):
        return _asking(name, options)
    needs = ("name", "config", "judge")
    made: Judge = plugins.make(
        _PLUGINS, name, needs=needs, built_in=_NAMES, scoring=scoring, seed=seed
    )
    return made


def _refuse_unused(options: JudgeOptions, why: str) -> None:
    """Refuse options of a model's protocol where no model is called."""
    for name in options:
        if name not in CONNECTION and options.get(name) not in (None, [], ()):
            raise UsageError(
                f"{flag(f'no_{name}' if options.get(name) is False else name)} is given, and {why}",
                hint=f"{flag('judge')} rules,compiled,{CHECKLIST} has the model judge",
            )


def _asking(name: str, options: JudgeOptions) -> Judge:
    """Make the judge that calls models: one, or a panel of models and of samples."""
    if not options.get("model"):
        raise UsageError("the judge has no model", hint="name one: --model, or model= in Python")
    _check_numbers(options)
    votes = options.get("votes", 1) if name == CHECKLIST else 1
    calls = cast("CallOptions", {name: each for name, each in options.items() if name in _CALLS})
    how = sampling(1.0 if votes > 1 else 0.0, **calls)
    from heedful.models.named import connect

    models = connect(options["model"], **calls)
    if name == PROPOSED:
        from heedful.judges.proposed import Proposed

        return Proposed(models[0], how)
    least = options.get("min_confidence", 0.0)
    members: list[Judge] = []
    if name == LIKELIHOOD:
        from heedful.judges.likelihood import Likelihood

        alone = least if len(models) == 1 else 0.0
        members += [Likelihood(model, sampling=how, min_confidence=alone) for model in models]
    else:
        for model in models:
            members += _samples(model, votes, how, options)
    judge = members[0] if len(members) == 1 else Panel(*members, min_confidence=least)
    folder = options.get("images")
    if folder is None:
        return judge
    from heedful.judges.images import WithImages

    return WithImages(judge, Path(folder))


def _samples(model: Model, votes: int, how: Sampling, options: JudgeOptions) -> list[Judge]:
    """Make the judges of a model's independent samples."""
    from heedful.judges.compose import Consistent
    from heedful.judges.model import Checklist

    protocol = protocol_of(model)
    measure = options.get("measure")
    texts = (options.get("prompt_file"), options.get("system_prompt_file"))
    prompt_file, system_prompt_file = (None if path is None else Path(path) for path in texts)
    prompt = prompt_for(
        model,
        options.get("prompt"),
        explain=options.get("explain", True),
        prompt_file=prompt_file,
        system_prompt_file=system_prompt_file,
    )
    per_call = options.get("per_call") or protocol.per_call
    judges = [
        Checklist(
            model,
            prompt,
            per_call=per_call,
            sampling=limited(how, model, options.get("prompt"), per_call),
            reasks=options.get("reasks", 1),
            sample_index=index,
            measure=Measurement() if (protocol.measure if measure is None else measure) else None,
        )
        for index in range(votes)
    ]
    return [*map(Consistent, judges)] if options.get("reject_contradictions") else [*judges]


def protocol_of(model: Model) -> Protocol:
    """Return how a model wants to be asked; folders that heedful writes say so."""
    from heedful.models.folder import Protocol

    return getattr(model, "protocol", None) or Protocol(PROMPT)


def limited(how: Sampling, model: Model, prompt: str | None, per_call: int | None) -> Sampling:
    """Limit a trained critic's replies to what it was trained on, if it is asked as it was then."""
    protocol = protocol_of(model)
    as_trained = prompt in (None, protocol.prompt) and per_call == protocol.per_call
    if how.max_tokens is not None or not as_trained:
        return how
    return how.model_copy(update={"max_tokens": protocol.max_tokens})


def prompt_for(
    model: Model,
    name: str | None,
    *,
    explain: bool = True,
    prompt_file: Path | None = None,
    system_prompt_file: Path | None = None,
) -> JudgePrompt:
    """Make the prompt for a model: the one the user names, or the one it was trained with."""
    from heedful.judges import prompts

    protocol = protocol_of(model)
    if not explain and getattr(model, "protocol", None) is not None:
        warnings.warn(
            f"{model.name} was trained to explain its verdicts, and is asked for verdicts only",
            HeedfulWarning,
            stacklevel=3,
        )
    if prompt_file is None and system_prompt_file is None and name in (None, protocol.prompt):
        prompt_file = protocol.prompt_file
    return prompts.make(
        name or protocol.prompt,
        explain=explain,
        prompt_file=prompt_file,
        system_prompt_file=system_prompt_file,
    )


def _check_numbers(options: JudgeOptions) -> None:
    """Refuse numbers out of range, and warn of votes that would all be the same."""
    votes = options.get("votes", 1)
    if votes < 1:
        raise UsageError(f"--votes is {votes}", hint="give at least 1")
    confidence = options.get("min_confidence", 0.0)
    if not 0 <= confidence <= 1:
        raise UsageError(
            f"--min-confidence is {confidence:g}", hint="give a share from 0 to 1, such as 0.6"
        )
    if votes > 1 and options.get("temperature") == 0:
        warnings.warn(
            f"{votes} votes at temperature 0 are mostly the same answer {votes} times: leave "
            "--temperature out, or raise it",
            HeedfulWarning,
            stacklevel=4,
        )
