"""Training: rows to tokens, TRL's trainer, the best weights, the model's folder.

``rows → tokens → trainer ⇄ held-out evaluation → best weights → model folder → report``
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heedful.errors import HeedfulError, RunError, UsageError
from heedful.inputs import fingerprint
from heedful.models.folder import find_folder
from heedful.training.folder import Folder
from heedful.training.rows import Rows, data_file, one_wire
from heedful.training.settings import DpoSettings, SftSettings
from heedful.training.steps import TrainingResult
from heedful.words import amount

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from heedful.models.folder import ModelFolder
    from heedful.schema import Sample
    from heedful.training.chat import Chat
    from heedful.training.held_out import HeldOut
    from heedful.training.settings import Settings
    from heedful.training.steps import Step
    from heedful.training.tokens import Tokens
    from heedful.training.watch import Watch

    Name = str | os.PathLike[str]

__all__ = ["train_dpo", "train_sft"]

_NEEDED = ("torch", "transformers", "trl", "datasets", "accelerate")

_EVALUATED_TOKENS = 8192
"""Generated at most in an evaluation: IF-Critic's limit (arXiv 2511.01014)."""

_FREE = {"keep", "keep_adapter", "eval_batch_size", "prompt", "chat_template", "dtype"}
"""Settings that may change from session to session, or that are recorded by what they come to."""


def train_sft(  # noqa: PLR0913 - the options of the job
    data: Name,
    output: Name,
    *,
    model: Name,
    settings: SftSettings | None = None,
    evaluation: Name | Iterable[Sample] | None = None,
    tick: Callable[[Step], None] = lambda _: None,
) -> TrainingResult:
    """Fine-tune a model on critiques, or on checklists: on what it answers, given the prompt.

    The same call goes on where an earlier one stopped, from its last checkpoint.

    Args:
        data: the folder that ``heedful critic export --to trl`` wrote, or a file: its rows, or the
            output of ``heedful critic filter`` or ``heedful critic checklists``.
        output: the folder for the model.
        model: a model's folder, or its name on the Hugging Face Hub.
        settings: see :class:`SftSettings`.
        evaluation: samples with known verdicts, to judge while training; a file, or samples.
        tick: called as the training goes on.

    Raises:
        InputError: the data cannot be read, or no row can be used.
        UsageError: the model cannot be trained, or something is missing for it.
        RunError: the folder is another training's, or the training failed; its last checkpoint
            stays.
        KeyboardInterrupt: it was asked to stop; a checkpoint is written.
    """
    settings = settings or SftSettings()
    return _train("sft", Path(data), Path(output), str(model), settings, evaluation, tick)


def train_dpo(  # noqa: PLR0913 - as above
    data: Name,
    output: Name,
    *,
    model: Name,
    settings: DpoSettings | None = None,
    evaluation: Name | Iterable[Sample] | None = None,
    tick: Callable[[Step], None] = lambda _: None,
) -> TrainingResult:
    """Train a critic to prefer one critique of a pair to the other (DPO).

    Args:
        data: the folder that ``heedful critic export --to trl`` wrote, or a file: its rows, or the
            output of ``heedful critic pairs``.
        output: the folder for the model.
        model: the fine-tuned critic's folder; it is also the reference.
        settings: see :class:`DpoSettings`.
        evaluation: as for :func:`train_sft`.
        tick: likewise.

    Raises:
        InputError: as for :func:`train_sft`.
        UsageError: likewise.
        RunError: likewise.
        KeyboardInterrupt: likewise.
    """
    settings = settings or DpoSettings()
    return _train("dpo", Path(data), Path(output), str(model), settings, evaluation, tick)


@dataclass
class Job:
    """What a training is made of."""

    stage: Literal["sft", "dpo"]
    settings: Settings
    model: ModelFolder
    chat: Chat
    rows: Rows
    tokens: Tokens
    wire: str
    held_out: HeldOut | None
    folder: Folder

    @property
    def limit(self) -> int:
        """Tokens of an answer in an evaluation at most."""
        usual = min(_EVALUATED_TOKENS, 2 * self.tokens.longest_answer)
        return self.settings.max_completion_tokens or usual

    def configuration(self, processes: int) -> dict[str, Any]:
        """Name all that the weights depend on."""
        from hashlib import blake2b

        from heedful.training.trainer import computing_dtype

        settings = self.settings.model_dump(mode="json", exclude=_FREE)
        template = self.chat.tokenizer.chat_template.encode()
        prompt = self.settings.prompt
        return {
            "stage": self.stage,
            "content of the data": fingerprint(self.rows.path),
            "content of the model": self.model.digest,
            "held-out samples": self.held_out.digest if self.held_out else None,
            "chat template": blake2b(template, digest_size=8).hexdigest(),
            "prompt": None if prompt is None else fingerprint(prompt),
            "dtype": computing_dtype(self.settings),
            "processes": processes,
            **settings,
        }


def _train(  # noqa: PLR0913, PLR0917 - the options of the job
    stage: Literal["sft", "dpo"],
    data: Path,
    output: Path,
    model: str,
    settings: Settings,
    evaluation: Name | Iterable[Sample] | None,
    tick: Callable[[Step], None],
) -> TrainingResult:
    _check_packages(settings)
    from heedful.training.trainer import quiet

    with quiet():
        job = _prepared(stage, data, output, model, settings, evaluation)
        return _Training(job, tick).run()


def _prepared(  # noqa: PLR0913, PLR0917 - as above
    stage: Literal["sft", "dpo"],
    data: Path,
    output: Path,
    model: str,
    settings: Settings,
    evaluation: Name | Iterable[Sample] | None,
) -> Job:
    """Read and check all that there is before anything is computed.

    Raises:
        HeedfulError: something is wrong with it.
    """
    from heedful.training.tokens import open_chat, tokenised

    rows = Rows(data_file(data), pairs=stage == "dpo", prompt=settings.prompt)
    found = find_folder(model)
    if found.path.resolve() == output.resolve():
        raise UsageError("the output is the model", where=str(output), mend="name another folder")
    chat, context = open_chat(found, settings)
    segments = isinstance(settings, DpoSettings) and settings.loss == "segments"
    tokens = tokenised(rows, chat, settings.max_length or context, segments=segments)
    wire = one_wire(rows, settings.wire)
    held_out = None
    if evaluation is not None:
        from heedful.training.held_out import HeldOut

        if rows.task == "checklist":
            raise UsageError(
                "checklists cannot be evaluated: no published measure compares two of them",
                mend="leave --evaluation out, and look at what heedful checklist makes with it",
            )
        held_out = HeldOut(evaluation, wire, settings)
    return Job(stage, settings, found, chat, rows, tokens, wire, held_out, Folder(output))


class _Training:
    """A training under way, in this process and perhaps in others beside it."""

    def __init__(self, job: Job, tick: Callable[[Step], None]) -> None:
        import torch
        from accelerate import PartialState

        from heedful.training.watch import Watch

        self._job = job
        self._state = PartialState(cpu=not torch.cuda.is_available())
        self._main: bool = self._state.is_main_process
        self._watch: Watch = Watch(tick, main=self._main)
        self._trainer: Any = None

    def run(self) -> TrainingResult:
        """Train from the last checkpoint, if any, to the model's folder."""
        job, folder = self._job, self._job.folder
        configuration = job.configuration(self._state.num_processes)
        folder.check(configuration)
        report = folder.finished()
        if report is not None:
            return TrainingResult(folder.path, report, finished_before=True)
        if self._main:
            folder.begin(configuration)
            if job.rows.dropped:
                said = f"{amount(job.rows.dropped, 'row')} of {job.rows.counts['rows']:,} left out"
                first = job.rows.problems[0]
                where = f"line {first['line']}, {first['id']}"
                self._watch.note(f"{said}; the first, {where}: {first['problem']}")
        self._state.wait_for_everyone()
        history = self._weights()
        return self._published(configuration, history)

    def _weights(self) -> list[dict[str, Any]]:
        """Train; return the trainer's log.

        Raises:
            RunError: it failed; the message names the checkpoint that is left.
            KeyboardInterrupt: it was asked to stop.
        """
        from heedful.training.trainer import memory

        job = self._job
        checkpoint = job.folder.last_checkpoint(self._state.num_processes)
        try:
            with memory(job.settings), self._watch.interruptible():
                self._trainer = self._made()
                self._trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
        except HeedfulError as error:
            left = job.folder.last_checkpoint(self._state.num_processes)
            kept = f"the last checkpoint is {left}" if left else "there was no checkpoint yet"
            raise RunError(
                f"{error.what}; {kept}", where=str(job.folder.path), mend=error.mend
            ) from error
        if self._watch.interrupted:
            raise KeyboardInterrupt
        if job.settings.select == "last" or job.held_out is None:
            self._trainer.save_model(str(job.folder.last))
        self._state.wait_for_everyone()
        history: list[dict[str, Any]] = self._trainer.state.log_history
        return history

    def _made(self) -> Any:
        from transformers import PrinterCallback

        from heedful.training import trainer
        from heedful.training.watch import callback

        job = self._job
        make: Any = trainer.dpo_trainer if job.stage == "dpo" else trainer.sft_trainer
        made = make(job.model.path, job.chat, job.tokens.rows, job.folder.checkpoints, job.settings)
        made.remove_callback(PrinterCallback)
        every = job.settings.eval_every
        made.add_callback(
            callback(
                self._watch,
                self._evaluate if job.held_out is not None else None,
                lambda steps: every or trainer.a_tenth(steps),
            )
        )
        return made

    def _evaluate(self, state: Any) -> dict[str, Any]:
        """Judge the held-out samples with the weights as they are, and keep the best."""
        from heedful.models.engine import Engine
        from heedful.training.held_out import score

        trainer, folder = self._trainer, self._job.folder
        model = trainer.accelerator.unwrap_model(trainer.model)
        model.eval()
        engine = Engine(self._job.model.name, self._job.chat.tokenizer, model)
        with trainer.accelerator.autocast():
            found = self._measured(engine)
        model.train()
        best = folder.best()
        if self._job.settings.select == "best" and (
            best is None or score(found) >= best[1]["score"]
        ):
            weights = folder.checkpoints / f"best-{state.global_step}"
            trainer.save_model(str(weights))
            if self._main:
                folder.keep_best(weights, {"step": state.global_step, "score": score(found)})
        self._state.wait_for_everyone()
        return found

    def _measured(self, engine: Any) -> dict[str, Any]:
        """Measure a critic; each process judges its part of the samples."""
        from accelerate.utils import gather_object

        held_out = self._job.held_out
        if held_out is None:
            return {}
        processes, own = self._state.num_processes, self._state.process_index
        share = held_out.samples[own::processes]

        def tick(answered: int) -> None:
            self._watch.show(evaluating=(answered * processes, len(held_out.samples)))

        said = held_out.judge(engine, share, self._job.limit, tick)
        parts = list(zip(range(own, len(held_out.samples), processes), said, strict=True))
        if processes > 1:
            parts = sorted(gather_object(parts), key=lambda part: part[0])
        return held_out.measure([critique for _, critique in parts], self._job.model.name)

    def _published(
        self, configuration: dict[str, Any], history: list[dict[str, Any]]
    ) -> TrainingResult:
        """Write the model's folder, measure what is in it, and write the report."""
        from heedful.training import report
        from heedful.training.publishing import publish

        job, folder = self._job, self._job.folder
        seconds = self._watch.seconds
        self._trainer = None  # its weights would stand beside those that are measured
        best = folder.best() if job.settings.select == "best" else None
        weights = best[0] if best else folder.last
        if self._main:
            about = {"wire": job.wire, "task": job.rows.task, "stage": job.stage}
            publish(
                weights,
                job.model.path,
                job.chat,
                folder.path,
                about,
                keep_adapter=job.settings.keep_adapter,
            )
        self._state.wait_for_everyone()
        held_out = None
        if job.held_out is not None:
            from heedful.models.engine import Engine

            held_out = self._measured(Engine.load(find_folder(str(folder.path)), None))
        found = report.collected(
            job,
            configuration,
            history,
            held_out=held_out,
            kept=best[1] if best else None,
            seconds=seconds,
        )
        if self._main:
            report.write(found, folder)
        self._state.wait_for_everyone()
        return TrainingResult(folder.path, found)


def _check_packages(settings: Settings) -> None:
    """Hold that all is installed.

    Raises:
        UsageError: it is not.
    """
    needed = (*_NEEDED, "peft") if settings.lora_rank else _NEEDED
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise UsageError(f"training needs {names}", mend="pip install 'heedful[train]'")
