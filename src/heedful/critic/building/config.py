"""The one file that says how a critic is built."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from heedful.core.errors import InputError, UsageError
from heedful.core.files import contents
from heedful.critic.data.options import ExportSettings, FilterSettings
from heedful.critic.data.pairs import Method  # noqa: TC001 - pydantic reads it
from heedful.critic.training.settings import DpoSettings, SftSettings
from heedful.data.formats.fields import explain

if TYPE_CHECKING:
    import os

EXPORT: dict[str, Any] = {"prompt": "short", "per_call": 1, "cross": 8}
"""What an export is made by unless the file says otherwise."""

_STRICT = ConfigDict(frozen=True, extra="forbid")


class ExpertCritiques(BaseModel):
    """ExpertCritiques of an expert, in the place of code's verdicts.

    Attributes:
        expert: The model that writes critiques.
        samples: ExpertCritiques of each response.
        prompt: The prompt that they answer.
        verifiers: Models that verify the judgments.
        filter: Settings of heedful critic filter.
    """

    model_config = _STRICT

    expert: str
    samples: int = Field(default=5, ge=1)
    prompt: str = "plain"
    verifiers: tuple[str, ...] = ()
    filter: dict[str, Any] = {}

    @field_validator("filter")
    @classmethod
    def _known(cls, values: dict[str, Any]) -> dict[str, Any]:
        known = {each.name for each in fields(FilterSettings)} - {"sampling"}
        if unknown := sorted(values.keys() - known):
            message = f"no such setting: {unknown[0]!r}"
            raise ValueError(message)
        FilterSettings(**values)
        return values


class Preferences(BaseModel):
    """What preference training learns from: critiques sampled from the fine-tuned critic.

    Attributes:
        samples: ExpertCritiques of each response.
        share: The share of the instructions that is kept for it.
        method: How pairs are made, as in heedful critic pairs.
        settings: Settings of heedful critic train dpo.
    """

    model_config = _STRICT

    samples: int = Field(default=10, ge=2)
    share: float = Field(default=0.4, gt=0, lt=1)
    method: Method = "constraint-level"
    settings: DpoSettings = DpoSettings()


class BuildConfig(BaseModel):
    """How a critic is built: its data, its model, and the settings of each step.

    Attributes:
        data: Instructions with checklists, or responses to them as well.
        model: The model to train: its folder, or its name on the Hugging Face Hub.
        responses: Models that respond. None where the data has responses.
        responses_file: A file with responses to the instructions.
        critiques: The expert. By default code judges what it can.
        export: Settings of heedful critic export.
        sft: Settings of heedful critic train sft.
        dpo: Preferences, if they are wanted.
        evaluation_share: Share of the instructions that choose the weights.
        test_share: Share of the instructions that only the finished critic judges.
        calls: How models are called: base_url, api_key_env, max_cost and such.
        seed: Seed of the divisions.
    """

    model_config = _STRICT

    data: Path
    model: str
    responses: tuple[str, ...] = ()
    responses_file: Path | None = None
    critiques: ExpertCritiques | None = None
    export: ExportSettings = ExportSettings(**EXPORT)
    sft: SftSettings = SftSettings()
    dpo: Preferences | None = None
    evaluation_share: float = Field(default=0.1, gt=0, lt=1)
    test_share: float = Field(default=0.2, gt=0, lt=1)
    calls: dict[str, Any] = {}
    seed: int = 42


def load_config(file: str | os.PathLike[str]) -> BuildConfig:
    """Read a configuration; its paths are relative to its own folder.

    Raises:
        InputError: the file cannot be read.
        UsageError: a key or a value in it makes no sense.
    """
    path = Path(file)
    try:
        values = tomllib.loads(contents(path).decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise InputError(f"not TOML: {error}", where=str(path)) from None
    try:
        values["export"] = EXPORT | values.get("export", {})
        config = BuildConfig.model_validate(values)
    except ValidationError as error:
        hint = "docs/training.md shows a configuration"
        raise UsageError(explain(error), where=str(path), hint=hint) from None
    placed: dict[str, Any] = {"data": path.parent / config.data}
    if config.responses_file is not None:
        placed["responses_file"] = path.parent / config.responses_file
    if config.export.prompt_file is not None:
        own = path.parent / config.export.prompt_file
        placed["export"] = replace(config.export, prompt_file=own)
    if (path.parent / config.model).is_dir():
        placed["model"] = str(path.parent / config.model)
    return config.model_copy(update=placed)
