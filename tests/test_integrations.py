"""heedful inside other tools, each with the real library."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from heedful import evaluate
from heedful.integrations.testing import assert_follows

pytest_plugins = ["pytester"]

needs_frameworks = [
    pytest.mark.heavy,
    pytest.mark.integrations,
    pytest.mark.filterwarnings("default"),
]

ROWS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "Greet.", "checklist": ["No commas.", "At most 5 words."]},
    {"id": "b", "prompt": "Say.", "checklist": ["No commas."]},
    {"id": "c", "prompt": "Help.", "checklist": ["Be kind."]},  # code can't decide it
]
RESPONSES = ["Hi, there", "Fine.", "Of course."]


def test_an_assertion_names_each_constraint_and_why() -> None:
    assert_follows("Good morning.", "At most 5 words.", "No commas.")
    with pytest.raises(AssertionError) as raised:
        assert_follows("Good morning, all.", "At most 5 words.", "No commas.", "Be kind.")
    head, *lines = str(raised.value).splitlines()
    assert "1 of 3" in head
    assert "model=" in head
    assert [line.split()[0] for line in lines] == ["met", "unmet", "undecided"]
    assert "1 comma" in lines[1]


@pytest.mark.slow
def test_pytest_has_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_good(follows):
            follows("Good morning.", "At most 5 words.")

        def test_bad(follows):
            follows("One, two.", "No commas.")
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*follows 0 of 1 constraints*", "*unmet*No commas.*1 comma*"])


class TestFrameworks:
    pytestmark = needs_frameworks

    def test_inspect_scores_and_leaves_the_undecided_unscored(self, tmp_path: Path) -> None:
        pytest.importorskip("inspect_ai")
        from inspect_ai import eval as run
        from inspect_ai.model import ModelOutput, ModelUsage, get_model

        from heedful.integrations.inspect_ai import instruction_following

        outputs = [ModelOutput.from_content("mockllm/model", text) for text in RESPONSES]
        for output in outputs:  # without it, Inspect fetches a tokenizer
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        model = get_model("mockllm/model", custom_outputs=outputs)
        (log,) = run(
            instruction_following(ROWS), model=model, display="none", log_dir=str(tmp_path)
        )
        assert log.status == "success"
        assert log.results is not None
        means = {score.name: score.metrics["mean"].value for score in log.results.scores}
        assert means == {"constraints_met": 0.75, "responses_fully_met": 0.5}
        undecided = (log.samples or [])[2].scores or {}
        assert math.isnan(undecided["heedful"].value["constraints_met"])

    def test_lm_eval_runs_a_task(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("lm_eval")
        monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
        from lm_eval import simple_evaluate
        from lm_eval.api.model import LM
        from lm_eval.tasks import TaskManager

        data = tmp_path / "rows.jsonl"
        data.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
        (tmp_path / "utils.py").write_text(
            "from heedful.integrations.lm_eval import mean_decided, process_results\n",
            encoding="utf-8",
        )
        metric = "aggregation: !function utils.mean_decided, higher_is_better: true"
        (tmp_path / "mine.yaml").write_text(
            f"""
task: mine
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
output_type: generate_until
test_split: test
doc_to_text: prompt
doc_to_target: 0
process_results: !function utils.process_results
filter_list:
  - name: answer
    filter: [{{function: strip_reasoning}}, {{function: take_first}}]
metric_list:
  - {{metric: constraints_met, {metric}}}
  - {{metric: responses_fully_met, {metric}}}
""",
            encoding="utf-8",
        )

        class Scripted(LM):  # type: ignore[misc]
            def generate_until(self, requests: list[Any]) -> list[str]:
                known = {row["prompt"]: text for row, text in zip(ROWS, RESPONSES, strict=True)}
                return [f"<think>Well, well</think>{known[each.args[0]]}" for each in requests]

            def loglikelihood(self, requests: list[Any]) -> list[Any]:
                raise NotImplementedError

            def loglikelihood_rolling(self, requests: list[Any]) -> list[Any]:
                raise NotImplementedError

        import heedful.integrations.lm_eval  # noqa: F401 - registers the filter

        result = simple_evaluate(
            Scripted(),
            tasks=["mine"],
            task_manager=TaskManager(include_path=str(tmp_path)),
            bootstrap_iters=0,
        )
        assert result is not None
        metrics = result["results"]["mine"]
        assert metrics["constraints_met,answer"] == 0.75
        assert metrics["responses_fully_met,answer"] == 0.5

    def test_dspy_scores_and_gives_feedback(self) -> None:
        dspy = pytest.importorskip("dspy")
        from heedful.integrations.dspy import ConstraintsMet

        class Program(dspy.Module):  # type: ignore[misc,name-defined]
            def forward(self, prompt: str) -> Any:
                place = [row["prompt"] for row in ROWS].index(prompt)
                return dspy.Prediction(response=RESPONSES[place])

        metric = ConstraintsMet(prompt="prompt")
        examples = [dspy.Example(**row).with_inputs("prompt") for row in ROWS]
        scored = dspy.Evaluate(devset=examples, metric=metric, display_progress=False)(Program())
        assert scored.score == 50.0  # an undecided constraint isn't met
        asked = metric(examples[0], dspy.Prediction(response="One, two"), None, "predictor")
        assert asked.score == 0.5
        assert asked.feedback.startswith("unmet")
        assert "At most" not in asked.feedback

    def test_hugging_face_evaluate_loads_the_metric(self, tmp_path: Path) -> None:
        loader = pytest.importorskip("evaluate")
        from heedful.integrations.hf_evaluate import PATH

        metric = loader.load(PATH, cache_dir=str(tmp_path))
        result = metric.compute(
            predictions=RESPONSES[:2],
            references=["\n".join(row["checklist"]) for row in ROWS[:2]],
        )
        assert result["constraints met"]["value"] == 0.75
        assert result["responses fully met"]["value"] == 0.5

    def test_mlflow_gets_rates_and_verdicts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mlflow = pytest.importorskip("mlflow")
        from heedful.integrations.tracking import log_to_mlflow

        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        mlflow.set_tracking_uri(tmp_path.as_uri())
        mlflow.set_experiment("mine")
        rows = [{**row, "response": text} for row, text in zip(ROWS, RESPONSES, strict=True)]
        with mlflow.start_run() as run:
            log_to_mlflow(evaluate(rows))
        logged = mlflow.get_run(run.info.run_id).data.metrics
        assert logged["responses_fully_met_low"] == pytest.approx(1 / 3)
        assert logged["responses_fully_met_high"] == pytest.approx(2 / 3)
        assert logged["coverage"] == pytest.approx(3 / 4)
        (table,) = tmp_path.rglob("heedful_verdicts.json")
        assert "1 comma" in table.read_text(encoding="utf-8")

    def test_wandb_gets_rates_and_verdicts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wandb = pytest.importorskip("wandb")
        from heedful.integrations.tracking import log_to_wandb

        monkeypatch.setenv("WANDB_MODE", "offline")
        with wandb.init(dir=str(tmp_path), project="mine") as run:
            log_to_wandb(evaluate([{**ROWS[0], "response": RESPONSES[0]}]))
            assert run.summary["heedful/constraints_met"] == 0.5
            assert run.config["judge"] == "rules,recorded,compiled"
