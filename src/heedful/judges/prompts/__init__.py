"""The prompts of judges, each together with the parser of its reply.

``make`` makes a prompt by its name. ``read`` turns what a file recorded of a judge into judgments,
by the parser of the prompt that the recording names. A prompt is imported when it is needed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from heedful.core import plugins
from heedful.core.errors import UsageError
from heedful.core.lazy import exports

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.core.nouns import Constraint, Critique, Judgment, Recording, Reply, Sample, Scoring
    from heedful.judges.prompts.base import JudgePrompt
    from heedful.judges.prompts.fence import Shown, unfence

__all__ = [
    "NAMES",
    "JudgePrompt",
    "Shown",
    "declared",
    "make",
    "names",
    "parse",
    "read",
    "read_recording",
    "reply",
    "unfence",
]

_CLASSES = {
    "plain": ("plain", "Plain"),
    "short": ("plain", "Short"),
    "structured": ("structured", "Structured"),
    "structured_object": ("structured", "Structured"),
    "if_critic": ("if_critic", "IFCritic"),
    "advancedif": ("advancedif", "AdvancedIF"),
    "cfbench": ("cfbench", "CFBench"),
    "criteria": ("structured", "Criteria"),
}
"""The module and the class of each prompt."""

NAMES = tuple(_CLASSES)
"""Names that :func:`make` knows."""

_RECORDED = ("native", "sysbench", "if_rewardbench", "profbench")
"""Forms of recordings by judges that nobody can ask."""

_PLUGINS = "heedful.prompts"
_BUILT_IN = (*NAMES, *_RECORDED)

__getattr__ = exports(__name__, {"JudgePrompt": "base", "Shown": "fence", "unfence": "fence"})


def make(
    name: str,
    *,
    explain: bool = True,
    prompt_file: Path | None = None,
    system_prompt_file: Path | None = None,
) -> JudgePrompt:
    """Make a prompt.

    Args:
        name: one of :data:`NAMES`, or a text with places such as ``{{response}}``, which replaces
            that of ``plain``. ``structured`` holds the model to a JSON schema;
            ``structured_object`` only to a JSON object, for servers that know no schemas.
            ``criteria`` is for rubrics: it can ask for levels. ``short`` is ``plain`` in few words,
            for small models that are trained.
        explain: ask for explanations. The published formats are as they are: ``if_critic`` and
            ``advancedif`` always explain, ``cfbench`` never does.
        prompt_file: a file whose text replaces that of the prompt.
        system_prompt_file: for ``advancedif``, a file with the text for system steerability; by
            default that of ``prompt_file``.

    Raises:
        UsageError: no prompt has this name, it cannot leave explanations out, or a file
            isn't a prompt text or not for this prompt.
    """
    text = None
    if len(name.split()) > 1:
        from heedful.judges.prompts.template import checked

        name, text = "plain", checked(name)
    if not explain and name in ("if_critic", "advancedif"):
        hint = "use plain or structured for verdicts only"
        raise UsageError(f"the prompt {name} always explains its verdicts", hint=hint)
    if name == "advancedif":
        from heedful.judges.prompts.advancedif import own_texts

        return _built_in(name, **own_texts(prompt_file, system_prompt_file))
    if system_prompt_file is not None:
        hint = "give prompt_file (--prompt-file)"
        raise UsageError(f"the prompt {name} has no text for system steerability", hint=hint)
    if prompt_file is not None:
        from heedful.judges.prompts.template import custom

        text = custom(prompt_file)
    names()  # warns of plugins that have the name of a built-in
    if name in NAMES:
        return _built_in(name, explain=explain, text=text, schema=name == "structured")
    return _from_plugin(name, explain=explain, text=text)


def _built_in(name: str, **options: Any) -> JudgePrompt:
    """Make a built-in prompt with the options that it has."""
    module, kind = _CLASSES[name]
    made: type[Any] = getattr(_module(module), kind)
    known = made.__dataclass_fields__.keys() & options
    prompt: JudgePrompt = made(**{option: options[option] for option in known})
    return prompt


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")


def _from_plugin(name: str, *, explain: bool = True, text: str | None = None) -> JudgePrompt:
    """Make the prompt that a plugin adds."""
    needs = ("name", "version", "response_format", "render", "parse", "write")
    made: JudgePrompt | None = plugins.make(
        _PLUGINS, name, needs=needs, built_in=_BUILT_IN, explain=explain, text=text
    )
    if made is None:
        raise plugins.unknown("prompt", name, NAMES, _PLUGINS)
    if made.name != name:  # recordings are read by the prompt that they name
        raise plugins.broken(_PLUGINS, name, f"calls its prompt {made.name!r}")
    return made


def names() -> list[str]:
    """Name the prompts that :func:`make` knows: heedful's own and the plugins'."""
    return [*NAMES, *plugins.names(_PLUGINS, _BUILT_IN)]


def reply(name: str, critique: Critique, constraints: Sequence[Constraint]) -> Reply:
    """Return a judge's reply in a form that reads as the verdicts that were taken from it."""
    written: Reply = _module(name).reply(critique.text, critique.judgments, constraints)
    return written


def declared(name: str, text: str | None, constraints: Sequence[Constraint]) -> dict[str, Any]:
    """Return what a benchmark's own code makes of a reply; faithful scoring goes by it."""
    if text is None or name not in ("advancedif", "cfbench"):
        return {}
    return {name: _module(name).declared(text, constraints)}


def parse(
    prompt: JudgePrompt, text: str, constraints: Sequence[Constraint], shown: Shown
) -> list[Judgment]:
    """Read a judge's reply; what it quotes of what it was shown doesn't count."""
    if not _tells_quotations(type(prompt)):
        return prompt.parse(text, constraints)
    reader: Any = prompt
    judgments: list[Judgment] = reader.parse(text, constraints, shown)
    return judgments


@cache
def _tells_quotations(kind: type[JudgePrompt]) -> bool:
    from inspect import signature

    return "shown" in signature(kind.parse).parameters


def read_recording(
    recording: Recording, sample: Sample, scoring: Scoring = "strict"
) -> list[Judgment]:
    """Read a recording on a sample; faithful scoring doesn't look for quotations."""
    from heedful.judges.prompts.fence import Shown

    shown = None if scoring == "faithful" else Shown.of(sample)
    return read(recording, sample.checklist, scoring, shown)


def read(
    recording: Recording,
    constraints: Sequence[Constraint],
    scoring: Scoring = "strict",
    shown: Shown | None = None,
) -> list[Judgment]:
    """Read a recording: one judgment for each constraint, ``unparsed`` where it has no verdict.

    Data counts before text: SysBench's text is only the reason for its verdicts. Faithful scoring
    reads as the benchmark's code does.
    """
    from heedful.judges.prompts import recorded
    from heedful.judges.prompts.base import undecided
    from heedful.judges.prompts.fence import NOTHING

    name, text, faithful = recording.prompt, recording.text, scoring == "faithful"
    if recording.verdicts is not None and name not in (*NAMES, *recorded.TEXTS):
        return recorded.read_verdicts(name, recording.verdicts, constraints, faithful=faithful)
    if text is None or name in ("native", "sysbench"):
        reason = recording.declared.get("error", "nothing was recorded")
        return undecided(constraints, str(reason))
    if name in recorded.TEXTS:
        return recorded.read_text(name, text, constraints, shown or NOTHING, faithful=faithful)
    try:
        prompt = make(name) if name in NAMES else _from_plugin(name)
        judgments = parse(prompt, text, constraints, shown or NOTHING)
    except Exception as error:  # noqa: BLE001 - a plugin's fault must not end the reading
        return undecided(constraints, str(error))
    if len(judgments) != len(constraints):
        return undecided(constraints, f"{name} read {len(judgments)} judgments")
    return judgments
