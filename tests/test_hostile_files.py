"""Files that are damaged or hostile: each row that can be read is, and the others say why not."""

import gzip
import json
import random
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heedful import Sample
from heedful.core.errors import InputError
from heedful.data.formats import files, open_source
from heedful.data.formats.files import records
from heedful.data.formats.raw import UNPACKED
from heedful.data.formats.source import FORMATS


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


def test_memory_grows_with_the_rows_in_work_and_not_with_those_of_a_file(tmp_path: Path) -> None:
    """A value that a file holds once is unpacked for the rows that are read, not for all."""
    pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    held = []
    for count in (64, 512):
        same = pa.DictionaryArray.from_arrays(pa.array([0] * count), pa.array(["x" * 90_000]))
        pq.write_table(pa.table({"response": same}), tmp_path / "rows.parquet")
        rows = records(tmp_path / "rows.parquet")
        assert len(next(rows).data["response"]) == 90_000
        held.append(pa.total_allocated_bytes())
        assert sum(row.problem is None for row in rows) == count - 1
    assert held[1] < 1.2 * held[0] < 4_000_000


@pytest.mark.parametrize("options", [{"use_dictionary": False}, {"use_dictionary": True}])
def test_a_small_parquet_file_that_unpacks_to_a_lot_is_refused(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"response": ["x" * UNPACKED, "short"]})
    pq.write_table(table, tmp_path / "rows.parquet", compression="brotli", **options)
    with pytest.raises(InputError, match=r"bytes of the file unpack to 16,7.*JSON Lines"):
        next(records(tmp_path / "rows.parquet"))


@pytest.mark.slow
def test_a_row_that_is_too_long_costs_itself_only(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    openpyxl = pytest.importorskip("openpyxl", reason="the extra 'xlsx' is not installed")
    long = random.Random(0).randbytes(UNPACKED // 2 + 1).hex()
    pq.write_table(pa.table({"response": ["a", long, "b"]}), tmp_path / "rows.parquet")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    parts = [long[at : at + 32_000] for at in range(0, len(long), 32_000)]
    for cells in (map(str, range(len(parts))), "a", parts, "b"):
        sheet.append(list(cells))
    book.save(tmp_path / "rows.xlsx")
    for name in ("rows.parquet", "rows.xlsx"):
        rows = list(records(tmp_path / name))
        assert [row.problem is None for row in rows] == [True, False, True]
        assert "more than 16,777,216" in str(rows[1].problem)


def test_a_small_workbook_that_unpacks_to_a_lot_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/sharedStrings.xml", "<si/>" * (UNPACKED // 4))
    with pytest.raises(InputError, match="bytes of the file unpack to 20,9"):
        next(records(path))


def test_a_compressed_array_is_given_up_at_an_element_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CELL_LIMIT", files.CHUNK)
    path = tmp_path / "rows.json.gz"
    texts = ["a", "x" * 8 * files.CHUNK, "b"]
    path.write_bytes(gzip.compress(json.dumps([{"response": text} for text in texts]).encode()))
    first, broken = records(path)
    assert (first.data, broken.data) == ({"response": "a"}, {})
    assert "longer than" in str(broken.problem)


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


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_gigabytes_is_refused_within_bounded_memory(
    tmp_path: Path,
) -> None:
    resource = pytest.importorskip("resource", reason="no limits on memory here")
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"prompt": "')
        for _ in range(300):
            file.write(bytes(b"x" * (1 << 20)))
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({2 << 30}, {2 << 30}))\n"
        f"from heedful.cli import main; main(['evaluate', {str(path)!r}, '--judge', 'compiled'])"
    )
    assert resource
    done = subprocess.run(
        [sys.executable, "-c", limited], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "longer than" in done.stderr
    assert "Traceback" not in done.stderr
