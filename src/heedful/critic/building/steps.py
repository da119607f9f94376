"""The steps of a build, each in a folder that is named after all that its output depends on.

So a step whose inputs and settings are the same is done already, one that was interrupted resumes,
and one that changed is done again, with everything that depends on it; what was paid for stays.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from heedful.core.outputs import make_folder, write_json
from heedful.critic.building.card import card
from heedful.critic.data.known import write_critiques, write_labelled
from heedful.engine.inputs import fingerprint
from heedful.models.folder import find_folder
from heedful.models.options import CallOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.critic.building.config import BuildConfig, Critiques, Preferences
    from heedful.critic.data.options import ExportSettings
    from heedful.critic.training import Step, TrainingResult
    from heedful.jobs.rows import Generation

_DONE = "done.json"
_CALLS = CallOptions.__annotations__
_ANSWERS = ("base_url", "body", "temperature", "top_p", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class BuildStep:
    """What a step made, and what it took."""

    name: str
    made: str
    seconds: float  # of all sessions
    dollars: float | None = None  # of all calls; None where nothing was called
    before: bool = False  # an earlier build had done it


@dataclass
class BuildResult:
    """A critic, and the steps that made it."""

    folder: Path  # the critic's, with its card (README.md) and its report (training.md)
    steps: list[BuildStep] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)  # as in ``training.json``


class _Made:
    """The output of a step: its folder, and the digest of all that went into it."""

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder = folder
        self.digest = digest


def build(
    config: BuildConfig,
    output: str | os.PathLike[str],
    *,
    push_to_hub: str | None = None,
    on_step: Callable[[str], None] = lambda _: None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> BuildResult:
    """Build a critic: responses, verdicts or critiques, fine-tuning, preferences, test, card.

    The same call resumes where an earlier one stopped. Only steps whose inputs or settings changed
    are done again.

    Args:
        config: what :func:`load_config` reads from a file.
        output: the folder for all steps; the critic is in its folder ``critic``.
        push_to_hub: the name of a repository on the Hugging Face Hub for the critic.
        on_step: called with the name of each step that is begun.
        on_progress: called with the progress of a training.

    Raises:
        InputError: a file is missing, or nothing in it can be used.
        RunError: a training failed; the same call resumes it.
        UsageError: a setting makes no sense.
    """
    return _Build(config, Path(output), on_step, on_progress).run(push_to_hub)


class _Build:
    def __init__(
        self,
        config: BuildConfig,
        output: Path,
        on_step: Callable[[str], None],
        on_progress: Callable[[Step], None],
    ) -> None:
        self._config = config
        self._output = output
        self._on_step = on_step
        self._on_progress = on_progress
        self._steps: list[BuildStep] = []
        given = config.calls.items()
        self._calls: Any = {name: each for name, each in given if name in _CALLS}
        self._running: Any = {name: each for name, each in given if name not in _CALLS}
        self._how = {name: each for name, each in given if name in _ANSWERS}  # answers depend on it

    def run(self, push_to_hub: str | None) -> BuildResult:
        config = self._config
        make_folder(self._output)
        known = self._known(self._responses())
        parts = self._divided(known)
        data = parts.folder / "train" / "sft.jsonl"
        export = self._exported("export", data, parts.digest)
        critic, trained = self._sft(export, parts)
        if config.dpo is not None:
            critic, trained = self._dpo(critic, parts, config.dpo)
        folder = self._published(critic.folder)
        text = card(config, trained, data, parts.folder / "test.jsonl", self._steps)
        (folder / "README.md").write_text(text, encoding="utf-8")
        if push_to_hub is not None:
            self._push(folder, push_to_hub)
        return BuildResult(folder, self._steps, trained)

    def _step(
        self,
        name: str,
        depends: list[Any],
        make: Callable[[Path], tuple[str, float | None]],
    ) -> _Made:
        """Do a step, unless it is done; ``make`` says what it made, and its cost."""
        digest = blake2b(json.dumps([name, *depends], default=_plain).encode(), digest_size=5)
        made = _Made(self._output / "steps" / f"{name}-{digest.hexdigest()}", digest.hexdigest())
        done = made.folder / _DONE
        if done.is_file():
            self._steps.append(BuildStep(**json.loads(done.read_text("utf-8")), before=True))
            return made
        self._on_step(name)
        make_folder(made.folder.parent)
        make_folder(made.folder)
        started = time.monotonic()
        said, dollars = make(made.folder)
        step = BuildStep(name, said, time.monotonic() - started, dollars)
        written = asdict(step)
        del written["before"]
        write_json(done, written)
        self._steps.append(step)
        return made

    def _responses(self) -> tuple[Path, Any]:
        """Return the rows with responses, and what they depend on."""
        from heedful.jobs.respond import respond

        config = self._config
        start = fingerprint(config.data)
        if not config.responses:
            return config.data, start

        def make(folder: Path) -> tuple[str, float | None]:
            result = respond(
                config.data,
                models=list(config.responses),
                run=folder / "run",
                output=folder / "rows.jsonl",
                **config.calls,
            )
            return _rows(result, "responses"), _dollars(result.summary)

        made = self._step("responses", [start, config.responses, self._how], make)
        return made.folder / "rows.jsonl", made.digest

    def _known(self, rows: tuple[Path, Any]) -> _Made:
        """Return the rows with verdicts: by code, or by an expert whose critiques are filtered."""
        if self._config.critiques is not None:
            return self._critiques(*rows, self._config.critiques)
        from heedful.jobs.evaluate import evaluate

        data, digest = rows
        responses = self._config.responses_file

        def make(folder: Path) -> tuple[str, float | None]:
            run = folder / "run"
            summary = evaluate(data, judge="rules,compiled", responses=responses, run=run).summary
            shutil.copyfile(run / "results.jsonl", folder / "rows.jsonl")
            verdicts = summary["verdicts"]
            return f"{verdicts['met']:,} met and {verdicts['unmet']:,} unmet verdicts", None

        depends = [digest, None if responses is None else fingerprint(responses)]
        return self._step("verdicts", depends, make)

    def _critiques(self, data: Path, digest: Any, how: Critiques) -> _Made:
        from heedful.critic import data as critic
        from heedful.critic.data.options import FilterSettings
        from heedful.judges import prompts
        from heedful.models.base import Sampling
        from heedful.models.named import connect

        def sample(folder: Path) -> tuple[str, float | None]:
            (model,) = connect([how.expert], **self._calls)
            hot = Sampling(temperature=1.0 if how.samples > 1 else 0.0)
            expert = critic.Expert(model, prompts.make(how.prompt), hot)
            result = critic.sample_critiques(
                data,
                expert=expert,
                samples=how.samples,
                run=folder / "run",
                output=folder / "rows.jsonl",
                **self._running,
            )
            return _rows(result, "rows with critiques"), _dollars(result.summary)

        sampled = self._step(
            "critiques", [digest, how.expert, how.samples, how.prompt, self._how], sample
        )

        def filtered(folder: Path) -> tuple[str, float | None]:
            (expert, *verifiers) = connect([how.expert, *how.verifiers], **self._calls)
            result = critic.filter_critiques(
                sampled.folder / "rows.jsonl",
                verifiers=verifiers,
                expert=expert,
                settings=FilterSettings(**how.filter),
                run=folder / "run",
                output=folder / "rows.jsonl",
                **self._running,
            )
            kept = result.summary["funnel"]["rows"]["kept"]
            return f"{kept:,} critiques kept", _dollars(result.summary)

        return self._step("filter", [sampled.digest, how.verifiers, how.filter], filtered)

    def _divided(self, known: _Made) -> _Made:
        """Divide the instructions into those to learn from, to choose weights by, and to test."""
        from heedful.critic.data.split import InstructionSplit

        config = self._config

        def make(folder: Path) -> tuple[str, float | None]:
            def part(data: Path, name: str, share: float) -> Path:
                InstructionSplit(data, share=1 - share, seed=config.seed).write(folder / name)
                return folder / name

            whole = part(known.folder / "rows.jsonl", "whole", config.test_share)
            train = part(whole / "sft.jsonl", "train", config.evaluation_share)
            counts = {
                name: write_labelled(rows, folder / f"{name}.jsonl", config.export)
                for name, rows in (
                    ("evaluation", train / "preference.jsonl"),
                    ("test", whole / "preference.jsonl"),
                )
            }
            if config.dpo is not None:
                part(train / "sft.jsonl", "dpo", config.dpo.share)
                shutil.copyfile(folder / "dpo" / "sft.jsonl", train / "sft.jsonl")
            said = ", ".join(f"{count:,} verdicts for {name}" for name, count in counts.items())
            return said, None

        share = None if config.dpo is None else config.dpo.share
        shares = [config.test_share, config.evaluation_share, share, config.seed]
        return self._step("divide", [known.digest, *shares, config.export], make)

    def _exported(self, name: str, data: Path, digest: str) -> _Made:
        from heedful.critic.data.export import export

        settings: ExportSettings = self._config.export

        def make(folder: Path) -> tuple[str, float | None]:
            counts = export(data, folder / "data", settings=settings)["counts"]
            return f"{counts['examples']:,} examples", None

        return self._step(name, [digest, settings], make)

    def _sft(self, export: _Made, parts: _Made) -> tuple[_Made, dict[str, Any]]:
        from heedful.critic.training import train_sft

        def make(folder: Path) -> TrainingResult:
            return train_sft(
                export.folder / "data",
                folder,
                model=self._config.model,
                settings=self._config.sft,
                evaluation=parts.folder / "evaluation.jsonl",
                test=parts.folder / "test.jsonl",
                on_progress=self._on_progress,
            )

        depends = [export.digest, parts.digest, find_folder(self._config.model).digest]
        return self._trained("sft", [*depends, self._config.sft], make)

    def _dpo(self, critic: _Made, parts: _Made, how: Preferences) -> tuple[_Made, dict[str, Any]]:
        """Sample the fine-tuned critic, make pairs of what it gets right and wrong, and train."""
        from heedful.critic import data as making
        from heedful.critic.data.pairs import Pairs
        from heedful.critic.training import train_dpo
        from heedful.judges.making import limited, prompt_for
        from heedful.models.base import Sampling
        from heedful.models.local import LocalModel

        config = self._config

        def sample(folder: Path) -> tuple[str, float | None]:
            known = folder / "known.jsonl"
            write_critiques(parts.folder / "dpo" / "preference.jsonl", known, config.export)
            model = LocalModel(str(critic.folder))
            sampling = limited(Sampling(temperature=1.0, seed=config.seed), model, None, None)
            expert = making.Expert(model, prompt_for(model, None), sampling)
            making.sample_critiques(
                known,
                expert=expert,
                samples=how.samples,
                run=folder / "run",
                output=folder / "rows.jsonl",
            )
            Pairs(folder / "rows.jsonl", method=how.method).write(folder / "pairs.jsonl")
            with (folder / "pairs.jsonl").open(encoding="utf-8") as pairs:
                return f"{sum(1 for _ in pairs):,} pairs", None

        sampled = self._step("pairs", [critic.digest, parts.digest, how], sample)

        def make(folder: Path) -> TrainingResult:
            return train_dpo(
                sampled.folder / "pairs.jsonl",
                folder,
                model=str(critic.folder),
                settings=how.settings,
                evaluation=parts.folder / "evaluation.jsonl",
                test=parts.folder / "test.jsonl",
                on_progress=self._on_progress,
            )

        return self._trained("dpo", [sampled.digest, how.settings], make)

    def _trained(
        self, name: str, depends: list[Any], train: Callable[[Path], TrainingResult]
    ) -> tuple[_Made, dict[str, Any]]:
        def make(folder: Path) -> tuple[str, float | None]:
            f1 = train(folder).mean_f1
            return f"mean F1 {100 * f1:.1f} on the test" if f1 is not None else "a model", None

        made = self._step(name, depends, make)
        report: dict[str, Any] = json.loads((made.folder / "training.json").read_text("utf-8"))
        return made, report

    def _published(self, critic: Path) -> Path:
        """Put the finished critic where it's easily found, without copying its weights."""
        folder = self._output / "critic"
        shutil.rmtree(folder, ignore_errors=True)
        without = shutil.ignore_patterns("checkpoints", _DONE)
        shutil.copytree(critic, folder, copy_function=_linked, ignore=without)
        return folder

    def _push(self, folder: Path, name: str) -> None:
        from huggingface_hub import HfApi

        self._on_step("push")
        started = time.monotonic()
        hub = HfApi()
        hub.create_repo(name, exist_ok=True, private=True)
        hub.upload_folder(repo_id=name, folder_path=folder)
        self._steps.append(BuildStep("push", name, time.monotonic() - started))


def _plain(value: Any) -> Any:
    """Lay out settings for a digest."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return str(value)


def _rows(result: Generation, what: str) -> str:
    rows = result.summary["rows"]
    failed = f", {rows['failed']:,} failed" if rows["failed"] else ""
    return f"{rows['completed'] + rows['unchanged']:,} {what}{failed}"


def _dollars(summary: Mapping[str, Any]) -> float | None:
    cost = summary.get("cost") or {}
    dollars: float | None = cost.get("dollars")
    return dollars


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        return str(shutil.copy2(source, target))
    return target
