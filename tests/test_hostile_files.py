"""Files that are damaged or hostile: each row that can be read is, and the others say why not."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from heedful.data.formats.files import records

if TYPE_CHECKING:
    from pathlib import Path


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
