"""Files that are damaged or hostile: each row that can be read is, and the others say why not."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from heedful.core.errors import InputError
from heedful.data.formats import open_source
from heedful.data.formats.files import records
from heedful.data.formats.source import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from heedful import Sample


def test_text_of_parquet_that_is_not_utf_8_costs_its_row_only(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    texts = [b"first", b"\xff\xfe", b"", b"\xed\xa0\x80", b"last"]
    places = [0]
    for text in texts:
        places.append(places[-1] + len(text))
    offsets = pa.py_buffer(struct.pack(f"<{len(places)}i", *places))
    column = pa.StringArray.from_buffers(len(texts), offsets, pa.py_buffer(b"".join(texts)))
    pq.write_table(pa.table({"response": column}), tmp_path / "rows.parquet")
    rows = list(records(tmp_path / "rows.parquet"))
    assert [row.data.get("response") for row in rows] == ["first", None, "", None, "last"]
    assert [row.problem is not None for row in rows] == [False, True, False, True, False]
    assert [row.line for row in rows] == [1, 2, 3, 4, 5]


def test_a_date_that_python_does_not_have_costs_its_row_only(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    dates = pa.array([0, 2**62, 1], pa.timestamp("us"))
    pq.write_table(pa.table({"date": dates}), tmp_path / "rows.parquet")
    rows = list(records(tmp_path / "rows.parquet"))
    assert [row.problem is not None for row in rows] == [False, True, False]


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "p", "chosen": ["a"], "rejected": ["b"], "num_correct": 1, "checklist": 7},
        {"rubrics": [{"criterion_description": "x", "criterion_weight": ["Major"]}]},
    ],
)
def test_a_value_that_a_format_did_not_expect_costs_its_row_only(
    record: dict[str, Any], tmp_path: Path
) -> None:
    whole = {"prompt": "p", "checklist": ["No commas."], "response": "r"}
    for name in FORMATS:
        path = tmp_path / f"{name}.jsonl"
        lines = (json.dumps(each) + "\n" for each in (record, whole))
        path.write_text("".join(lines), encoding="utf-8")
        with suppress(InputError):  # the file is in no way of the format
            assert {row.line for row in open_source(path, format=name)} == {1, 2}


def test_a_defect_of_a_plugin_s_format_costs_the_row_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = FORMATS["native"]

    def odd(record: dict[str, Any], number: int) -> Sample:
        assert 1 // (number - 1) >= 0
        return native.sample(record, number)

    monkeypatch.setitem(FORMATS, "native", replace(native, sample=odd))
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "p", "checklist": ["x"], "response": "r"}\n' * 3, encoding="utf-8")
    rows = list(open_source(path, format="native"))
    assert [row.problem is None for row in rows] == [False, True, True]
    assert "ZeroDivisionError" in str(rows[0].problem)
