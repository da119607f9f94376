"""Each benchmark's format: hand-written records here, the real files where they are at hand."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from heedful.core.errors import InputError, RowError
from heedful.core.nouns import Constraint, Recording, Status
from heedful.data import formats
from heedful.data.formats import advancedif, cfbench, if_critic, ifeval, sysbench
from heedful.judges import prompts

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' data is not here")


def read(name: str, **options: Any) -> list[formats.Row]:
    return list(formats.read(DATA / name, **options))


# --- ifeval ---------------------------------------------------------------------------------

IFEVAL: dict[str, Any] = {
    "key": 1000,
    "prompt": "Write without commas.",
    "instruction_id_list": ["en:punctuation:no_comma", "en:length_constraints:number_words"],
    "kwargs": [None, {"relation": "at least", "num_words": 3, "letter": None}],
}


def test_ifeval_ids_lose_their_language_and_arguments_their_nulls() -> None:
    sample = ifeval.sample(IFEVAL | {"response": "One two", "extra": 1}, 1)
    checks = [constraint.check for constraint in sample.checklist]
    assert [check.id for check in checks if check] == [
        "punctuation:no_comma",
        "length_constraints:number_words",
    ]
    assert [check.args for check in checks if check] == [
        {},
        {"relation": "at least", "num_words": 3},
    ]
    first = sample.checklist[0]
    assert (first.type, first.subtype) == ("punctuation", "punctuation:no_comma")
    assert all(constraint.text for constraint in sample.checklist)
    assert (sample.id, sample.response) == ("1000", "One two")
    assert sample.tags == {"benchmark": "ifeval", "language": "en"}
    assert sample.source["extra"] == 1


@needs_data
def test_ifeval_joins_stored_verdicts() -> None:
    strict = next((DATA / "mifeval_en").glob("gpt-4o*/eval_results_strict.jsonl"))
    labelled = read("mifeval_en/en_input_data.jsonl", responses=strict)
    assert sum(row.sample.labels is not None for row in labelled if row.sample) == 541


# --- cfbench --------------------------------------------------------------------------------

CFBENCH: dict[str, Any] = {
    "idx": 4,
    "prompt": "写一首诗",
    "isanswer": "否",
    "gold": "",
    "doamin": "文学",
    "scenario": "",
    "source": "tob",
    "split": "hard",
    "criteria": [["是诗\n四行", "主需", "数值约束", "句子数值约束"], ["好", "次需", "", ""]],
}


def test_cfbench_maps_what_it_knows() -> None:
    judged = CFBENCH | {"response": "床前", "infer_model": "m", "judge_response": "x", "own": 1}
    sample = cfbench.sample(judged, 1)
    assert sample.id == "m/4"
    assert cfbench.sample(CFBENCH, 1).id == "4"
    assert sample.checklist == (
        Constraint(
            text="是诗\n四行", type="numerical", subtype="numerical/sentence", priority="primary"
        ),
        Constraint(text="好", priority="secondary"),
    )
    assert sample.tags == {
        "benchmark": "cfbench",
        "domain": "文学",
        "source": "tob",
        "split": "hard",
        "model": "m",
    }
    assert sample.reference is None
    assert sample.recording == Recording(prompt="cfbench", text="x")
    assert sample.source["own"] == 1


# --- advancedif -----------------------------------------------------------------------------

HISTORY = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
ADVANCEDIF: dict[str, Any] = {
    "conversation_history": HISTORY,
    "response": "Hello",
    "prompt_metadata": {"rubrics": ["Is it brief?", "Is it polite?"]},
    "benchmark_name": "carried_context_multi_turn_eval_v5",
}


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_advancedif_fields_may_be_encoded_at_any_level(depth: int) -> None:
    def encoded(value: Any) -> Any:
        for _ in range(depth):
            value = json.dumps(value)
        return value

    record = ADVANCEDIF | {
        "conversation_history": encoded(HISTORY),
        "prompt_metadata": encoded({"rubrics": encoded(["Is it brief?", "Is it polite?"])}),
    }
    sample = advancedif.sample(record, 3)
    assert [constraint.text for constraint in sample.checklist] == ["Is it brief?", "Is it polite?"]
    assert [turn.role for turn in sample.conversation] == ["system", "user"]
    assert sample.tags == {"benchmark": "advancedif", "task": "carried_context"}
    assert (sample.id, sample.response) == ("row-3", record.pop("response"))
    assert sample.source == record


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("42", "42"),
        ("true", "true"),
        ("[]", "[]"),
        ('{"a": 1}', '{"a": 1}'),
        ("[1, 2]", "[1, 2]"),
        ('[{"role": "assistant", "content": "said"}]', "said"),
        ([{"role": "assistant", "content": "said"}], "said"),
        (None, None),
    ],
)
def test_advancedif_text_is_literal_unless_it_encodes_messages(
    response: Any, text: str | None
) -> None:
    assert advancedif.sample(ADVANCEDIF | {"response": response}, 1).response == text


def test_advancedif_tasks_go_by_all_their_names(tmp_path: Path) -> None:
    names = ["if_complex_if_oss", "complex_if_single_turn_v5", "my_own", None]
    path = tmp_path / "data.jsonl"
    records = [ADVANCEDIF | {"benchmark_name": name} for name in names]
    path.write_text("\n".join(map(json.dumps, records)))
    for task in ("complex_if", *names[:2]):
        source = formats.open_source(path, task=task)
        assert [row.line for row in source] == [1, 2]
    assert [row.line for row in formats.read(path, task="my_own")] == [3]
    with pytest.raises(InputError, match="complex_if, my_own"):
        formats.open_source(path, task="typo")


# --- if-critic ------------------------------------------------------------------------------

CHECKLIST = "[要求1-开始]\n要求：押韵\n[要求1-结束]\n\n[要求2-开始]\n要求：四行\n[要求2-结束]"


def test_if_critic_critiques_become_recordings_in_numeric_order() -> None:
    sampled = {f"generated_critique_{k}": f"critique {k}" for k in (10, 2, 0)}
    record = {"instruction": "写诗", "checklist": CHECKLIST, "final_critique": "f"} | sampled
    sample = if_critic.sample(record | {"own": 1}, 2)
    assert [constraint.text for constraint in sample.checklist] == ["押韵", "四行"]
    assert sample.recording
    assert sample.recording.text == "f"
    assert sample.recording.others == ("critique 0", "critique 2", "critique 10")
    assert (sample.id, sample.response) == ("row-2", None)
    assert sample.source == {"checklist": CHECKLIST, "own": 1}


# --- sysbench -------------------------------------------------------------------------------

SYSBENCH: dict[str, Any] = {
    "model": "m",
    "system_id": 7,
    "turn": 2,
    "multi_turn_dependent": True,
    "alignment": "align",
    "domain": "旅游",
    "scenario": float("nan"),
    "system_prompt": "你是导游",
    "prompt": "去哪？",
    "response": "武汉",
    "criteria": ["1. 介绍 | 价格 | 内容约束", "2. 语气亲切 | 其他"],
    "verdicts": [{"crit": "1. 内容约束", "v": "是"}, {"crit": "2. 其他", "v": "否"}],
    "reason": "因为",
    "all_ok": 0,
}


def test_sysbench_turns_become_samples() -> None:
    sample = sysbench.sample(SYSBENCH | {"own": 1}, 1)
    assert sample.id == "m-7-2"
    assert sysbench.sample(SYSBENCH | {"model": None}, 1).id == "7-2"
    assert [turn.role for turn in sample.conversation] == ["system", "user"]
    assert sample.checklist == (
        Constraint(text="介绍 | 价格", type="content"),
        Constraint(text="语气亲切", type="其他"),
    )
    assert "scenario" not in sample.tags
    assert (sample.tags["turn"], sample.tags["multi_turn_dependent"]) == (2, True)
    assert sample.recording
    assert sample.recording.declared == {"all_ok": 0}
    assert sample.source == {"own": 1}


CRITERIA = "1. 回复不超过100字\n也不少于2. 个字 | 格式约束\n2. 语气友好 | 风格约束"
WORKBOOK = {
    "system_id": 3,
    "领域": "旅游",
    "场景": None,
    "multi_rounds_related": True,
    "alignment": "align",
    "round_index": 2,
    "system_prompt": "You answer briefly.",
    "prompt": "How many?",
    "referrence": "Forty-two.",
    "answer": 42,
    "infer_model": "gpt35",
    "评判细则": CRITERIA,
    "评判理由": "Fine.",
    "评判结果": "1. 格式约束 | 是\n2. 风格约束 | 不确定",
    "是否可用": 1,
    "extra": "kept",
}


def test_sysbench_workbooks_are_read_as_released(tmp_path: Path) -> None:
    """As pandas writes them: the rows on the first sheet, a number where the answer is one."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(list(WORKBOOK))
    book.active.append(list(WORKBOOK.values()))
    book.active.append([None] * len(WORKBOOK))
    book.create_sheet("totals").append(["x"])
    path = tmp_path / "gpt35_analysis.xlsx"
    book.save(path)
    assert formats.detect(path).name == "sysbench"
    (row,) = formats.read(path)
    assert row.problem is None
    assert row.sample
    sample = row.sample
    assert (sample.id, sample.response, sample.reference) == ("gpt35-3-2", "42", "Forty-two.")
    assert [constraint.type for constraint in sample.checklist] == ["format", "style"]
    assert sample.checklist[0].text == "回复不超过100字\n也不少于2. 个字"
    assert sample.source == {"extra": "kept"}
    assert "scenario" not in sample.tags
    assert sample.tags["multi_turn_dependent"] is True
    assert sample.recording
    assert sample.recording.declared == {"all_ok": True}
    verdicts = prompts.read(sample.recording, sample.checklist)
    assert [verdict.status for verdict in verdicts] == [Status.MET, Status.UNPARSED]


def test_trace_is_read_with_its_constraints_one_by_one(tmp_path: Path) -> None:
    record = {
        "id": "5",
        "messages": [{"role": "system", "content": "Help."}, {"role": "user", "content": "写诗"}],
        "constraints": "1. 四句\n2. 押韵\n也要有春",
        "constraints_splits": ["1. 四句", "2. 押韵\n也要有春"],
        "levels2": ["句子数约束", "韵律约束"],
        "category": "trace1.0",
    }
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(record))
    (row,) = formats.read(path)
    assert row.sample
    assert [c.text for c in row.sample.checklist] == record["constraints_splits"]
    assert [c.type for c in row.sample.checklist] == record["levels2"]
    assert row.sample.source == {"constraints": record["constraints"]}
    path.write_text(json.dumps(record | {"levels2": ["x"]}))
    (row,) = formats.read(path)
    assert "levels2" in (row.problem or "")


@pytest.mark.slow
def test_no_row_of_the_real_files_is_lost(data: Path) -> None:
    """Rows in are rows out, and none is a problem."""
    files = [
        *("cfbench/cfbench_data.json", "if_critic/checklists.json", "if_critic/critiques.json"),
        *("if_critic/dpo_data.json", "if_critic/sft_data.json", "ifbench/IFBench_test.jsonl"),
        *("ifeval/input_data.jsonl", "mifeval_en/en_input_data.jsonl", "sysbench/gpt35.jsonl"),
        *("trace/2024_trace_evaluation.jsonl", "followbench/content_constraints.json"),
    ]
    for name in files:
        text = (data / name).read_text(encoding="utf-8")
        array = text.lstrip().startswith("[")
        count = len(json.loads(text)) if array else sum(map(bool, map(str.strip, text.split("\n"))))
        rows = list(formats.read(data / name))
        assert len(rows) == count, name
        assert not [row.problem for row in rows if row.problem], name


def test_real_checklists_are_read_whole(data: Path) -> None:
    sizes = {"cfbench/cfbench_data.json": 4237, "sysbench/gpt35.jsonl": 5952}
    for name, size in sizes.items():
        samples = [row.sample for row in formats.read(data / name) if row.sample]
        assert sum(len(sample.checklist) for sample in samples) == size
        assert len({sample.id for sample in samples}) == len(samples)
    types = Counter(
        constraint.type
        for row in formats.read(data / "cfbench/cfbench_data.json")
        for constraint in (row.sample.checklist if row.sample else ())
    )
    assert (types["content"], types["rule"], types[None]) == (1385, 160, 129)


@pytest.mark.parametrize(
    ("read", "record", "said"),
    [
        (ifeval, IFEVAL | {"kwargs": [{}]}, "kwargs has 1 entry for 2 ids"),
        (ifeval, IFEVAL | {"instruction_id_list": ["en:a:b", "de:a:b"]}, "languages: de, en"),
        (cfbench, CFBENCH | {"criteria": [["a", "必须", "", ""]]}, "criteria[0] has the priority"),
        (advancedif, ADVANCEDIF | {"response": {"a": 1}}, "response[0].role is missing"),
        (advancedif, ADVANCEDIF | {"prompt_metadata": "{"}, "prompt_metadata is text"),
        (if_critic, {"instruction": "写诗", "checklist": CHECKLIST[:-3]}, "is not closed"),
        (sysbench, SYSBENCH | {"criteria": ["3. 介绍 | 内容约束"]}, "criterion 1"),
    ],
)
def test_what_is_wrong_with_a_record_is_named(read: Any, record: Any, said: str) -> None:
    with pytest.raises(RowError, match=re.escape(said)):
        read.sample(record, 1)
