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
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from heedful.core.outputs import make_folder, write_json
from heedful.critic.building.card import BuildStep, card
from heedful.critic.data.known import write_critiques, write_labelled
from heedful.engine.inputs import fingerprint
from heedful.models.base import Sampling
from heedful.models.folder import find_folder
from heedful.models.named import connect
from heedful.models.options import CallOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heedful.critic.building.config import BuildConfig, ExpertCritiques, Preferences
    from heedful.critic.training import Step, TrainingResult
    from heedful.models.base import Model

_DONE = "done.json"
_CALLS = CallOptions.__annotations__
_ANSWERS = ("base_url", "body", "temperature", "top_p", "max_completion_tokens")


@dataclass
class BuildResult:
    """A critic, and the steps that made it."""

    folder: Path  # the critic's, with its card (README.md) and its report (training.md)
    steps: list[BuildStep]
    report: dict[str, Any]  # as in ``training.json``


class _Made(NamedTuple):
    """The output of a step, and the digest of all that went into it."""

    folder: Path
    digest: str

    @property
    def rows(self) -> Path:
        """The rows that it made, where it made some."""
        return self.folder / "rows.jsonl"


_Said = tuple[str, float | None]
"""What a step made, and what it cost."""


def build(
    config: BuildConfig,
    output: str | os.PathLike[str],
    *,
    push_to_hub: str | None = None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> BuildResult:
    """Build a critic: responses, verdicts or critiques, fine-tuning, preferences, test, card.

    The same call resumes where an earlier one stopped. Only steps whose inputs or settings changed
    are done again.

    Args:
        config: what :func:`load_config` reads from a file.
        output: the folder for all steps; the critic is in its folder ``critic``.
        push_to_hub: the name of a repository on the Hugging Face Hub for the critic.
        on_progress: called with the progress of a training, and with each step as its note.

    Raises:
        InputError: a file is missing, or nothing in it can be used.
        RunError: a training failed; the same call resumes it.
        UsageError: a setting makes no sense.
    """
    made = _Build(config, Path(output), on_progress)
    result = made.run()
    if push_to_hub is not None:
        made.push(result.folder, push_to_hub)
    return result


@dataclass
class _Build:
    config: BuildConfig
    output: Path
    on_progress: Callable[[Step], None]
    steps: list[BuildStep] = field(default_factory=list)

    def run(self) -> BuildResult:
        config = self.config
        make_folder(self.output / "steps")
        known = self._known(*self._responses())
        parts = self._divided(known)
        data = parts.folder / "train" / "sft.jsonl"
        critic = self._sft(parts, data)
        if config.dpo is not None:
            critic = self._dpo(critic, parts, config.dpo) or critic
        report: dict[str, Any] = json.loads((critic.folder / "training.json").read_text("utf-8"))
        folder = self.output / "critic"
        shutil.rmtree(folder, ignore_errors=True)
        without = shutil.ignore_patterns("checkpoints", _DONE)
        shutil.copytree(critic.folder, folder, copy_function=_linked, ignore=without)
        text = card(config, report, data, parts.folder / "test.jsonl", self.steps)
        (folder / "README.md").write_text(text, encoding="utf-8")
        return BuildResult(folder, self.steps, report)

    def push(self, folder: Path, name: str) -> None:
        from huggingface_hub import HfApi

        hub = HfApi()
        hub.create_repo(name, exist_ok=True, private=True)
        hub.upload_folder(repo_id=name, folder_path=folder)

    def _step(self, name: str, depends: list[Any], make: Callable[[Path], _Said]) -> _Made:
        """Do a step, unless it is done."""
        from heedful.critic.training import Step

        content = json.dumps([name, *depends], default=_plain).encode()
        digest = blake2b(content, digest_size=5).hexdigest()
        made = _Made(self.output / "steps" / f"{name}-{digest}", digest)
        done = made.folder / _DONE
        if done.is_file():
            self.steps.append(BuildStep(**json.loads(done.read_text("utf-8")), before=True))
            return made
        started = time.monotonic()
        self.on_progress(Step(0, 0, started, note=f"{name} …"))
        make_folder(made.folder)
        said, dollars = make(made.folder)
        step = BuildStep(name, said, time.monotonic() - started, dollars)
        write_json(done, {each: value for each, value in asdict(step).items() if each != "before"})
        self.steps.append(step)
        return made

    def _job(self, name: str, depends: list[Any], job: Callable[..., Any]) -> _Made:
        """Do a step that calls models for each row; its run resumes by itself."""

        def make(folder: Path) -> _Said:
            running = {name: each for name, each in self.config.calls.items() if name not in _CALLS}
            result = job(run=folder / "run", output=folder / "rows.jsonl", **running)
            rows = result.summary["rows"]
            failed = f", {rows['failed']:,} failed" if rows["failed"] else ""
            dollars = (result.summary.get("cost") or {}).get("dollars")
            return f"{rows['completed'] + rows['unchanged']:,} rows{failed}", dollars

        how = [self.config.calls.get(name) for name in _ANSWERS]
        return self._step(name, [*depends, how], make)

    def _models(self, names: Sequence[str]) -> list[Model]:
        calls: Any = {name: each for name, each in self.config.calls.items() if name in _CALLS}
        return connect(names, **calls)

    def _responses(self) -> tuple[Path, Any]:
        """Return the rows with responses, and what they depend on."""
        from heedful.jobs.respond import respond

        config = self.config
        start = fingerprint(config.data)
        if not config.responses:
            return config.data, start
        models = self._models(config.responses)
        job = partial(respond, config.data, models=models)
        made = self._job("responses", [start, config.responses], job)
        return made.rows, made.digest

    def _known(self, data: Path, digest: Any) -> _Made:
        """Return the rows with verdicts: by code, or by an expert whose critiques are filtered."""
        from heedful.jobs.evaluate import evaluate

        if self.config.critiques is not None:
            return self._critiques(data, digest, self.config.critiques)
        responses = self.config.responses_file

        def make(folder: Path) -> _Said:
            run = folder / "run"
            summary = evaluate(data, judge="rules,compiled", responses=responses, run=run).summary
            shutil.copyfile(run / "results.jsonl", folder / "rows.jsonl")
            verdicts = summary["verdicts"]
            return f"{verdicts['met']:,} met and {verdicts['unmet']:,} unmet verdicts", None

        depends = [digest, None if responses is None else fingerprint(responses)]
        return self._step("verdicts", depends, make)

    def _critiques(self, data: Path, digest: Any, how: ExpertCritiques) -> _Made:
        from heedful.critic import data as critic
        from heedful.critic.data.options import FilterSettings
        from heedful.judges import prompts

        model, *verifiers = self._models([how.expert, *how.verifiers])
        hot = Sampling(temperature=1.0 if how.samples > 1 else 0.0)
        expert = critic.Expert(model, prompts.make(how.prompt), hot)
        job = partial(critic.sample_critiques, data, expert=expert, samples=how.samples)
        sampled = self._job("critiques", [digest, how.expert, how.samples, how.prompt], job)
        settings = FilterSettings(**how.filter)
        filtered = partial(critic.filter_critiques, sampled.rows, verifiers=verifiers)
        depends = [sampled.digest, how.verifiers, how.filter]
        return self._job("filter", depends, partial(filtered, expert=model, settings=settings))

    def _divided(self, known: _Made) -> _Made:
        """Divide the instructions into those to learn from, to choose weights by, and to test."""
        from heedful.critic.data.split import InstructionSplit

        config = self.config

        def make(folder: Path) -> _Said:
            def part(data: Path, name: str, share: float) -> Path:
                InstructionSplit(data, share=1 - share, seed=config.seed).write(folder / name)
                return folder / name

            whole = part(known.rows, "whole", config.test_share)
            train = part(whole / "sft.jsonl", "train", config.evaluation_share)
            kept = {"evaluation": train / "preference.jsonl", "test": whole / "preference.jsonl"}
            counts = [
                f"{write_labelled(rows, folder / f'{name}.jsonl', config.export):,} for {name}"
                for name, rows in kept.items()
            ]
            if config.dpo is not None:
                dpo = part(train / "sft.jsonl", "dpo", config.dpo.share)
                shutil.copyfile(dpo / "sft.jsonl", train / "sft.jsonl")
            return f"verdicts: {', '.join(counts)}", None

        share = None if config.dpo is None else config.dpo.share
        shares = [config.test_share, config.evaluation_share, share, config.seed]
        return self._step("divide", [known.digest, *shares, config.export], make)

    def _sft(self, parts: _Made, data: Path) -> _Made:
        from heedful.critic.data.export import export
        from heedful.critic.training import train_sft

        config = self.config

        def make(folder: Path) -> _Said:
            counts = export(data, folder / "data", settings=config.export)["counts"]
            return f"{counts['examples']:,} examples", None

        exported = self._step("export", [parts.digest, config.export], make)
        train = partial(train_sft, exported.folder / "data", settings=config.sft)
        depends = [exported.digest, find_folder(config.model).digest, config.sft]
        return self._trained("sft", depends, parts, partial(train, model=config.model))

    def _dpo(self, critic: _Made, parts: _Made, how: Preferences) -> _Made | None:
        """Sample the fine-tuned critic, and train on pairs of what it gets right and wrong."""
        from heedful.critic import data as making
        from heedful.critic.data.pairs import Pairs
        from heedful.critic.training import train_dpo
        from heedful.judges import Measurement
        from heedful.judges.making import limited, prompt_for
        from heedful.models.local import LocalModel

        config = self.config

        def sample(folder: Path) -> _Said:
            known, pairs = folder / "known.jsonl", folder / "pairs.jsonl"
            write_critiques(parts.folder / "dpo" / "preference.jsonl", known, config.export)
            model = LocalModel(str(critic.folder))
            sampling = limited(Sampling(temperature=1.0, seed=config.seed), model, None, None)
            measured = Measurement() if config.export.measure else None
            expert = making.Expert(model, prompt_for(model, None), sampling, measured)
            rows, run = folder / "rows.jsonl", folder / "run"
            making.sample_critiques(known, expert=expert, samples=how.samples, run=run, output=rows)
            Pairs(rows, method=how.method, prompt_file=config.export.prompt_file).write(pairs)
            return f"{pairs.read_text('utf-8').count(chr(10)):,} pairs", None

        sampled = self._step("pairs", [critic.digest, parts.digest, how], sample)
        pairs = sampled.folder / "pairs.jsonl"
        if not pairs.stat().st_size:
            return None
        asked = {"prompt_file": config.export.prompt_file, "per_call": config.export.per_call}
        settings = how.settings.model_copy(update=asked)
        train = partial(train_dpo, pairs, model=str(critic.folder), settings=settings)
        return self._trained("dpo", [sampled.digest, how.settings], parts, train)

    def _trained(
        self, name: str, depends: list[Any], parts: _Made, train: Callable[..., TrainingResult]
    ) -> _Made:
        def make(folder: Path) -> _Said:
            f1 = train(
                folder,
                evaluation=parts.folder / "evaluation.jsonl",
                test=parts.folder / "test.jsonl",
                on_progress=self.on_progress,
            ).mean_f1
            return f"mean F1 {100 * f1:.1f} on the test" if f1 is not None else "a model", None

        return self._step(name, [*depends, parts.digest], make)


def _plain(value: Any) -> Any:
    """Lay out settings for a digest."""
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        return str(shutil.copy2(source, target))
    return target
