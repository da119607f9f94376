"""What is printed, in a narrow terminal, in ASCII, and where texts look like markup."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from heedful.cli import main
from jsonl import write_rows

pytestmark = pytest.mark.usefixtures("empty_folder")

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "quickstart.jsonl"


def evaluate(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", *map(str, words)])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.mark.slow
def test_a_narrow_terminal_loses_no_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = {}
    for columns in (40, 60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert evaluate(EXAMPLE, "--run", f"run-{columns}") == 0
        lines = capsys.readouterr().out.splitlines()
        assert all(len(line.rstrip()) <= columns for line in lines if "→" not in line)
        shown[columns] = Counter(re.findall(r"\d+\.\d+", "\n".join(lines).rpartition("Unmet")[0]))
    assert shown[40] == shown[60] == shown[200]
    assert len(shown[40]) > 5


def test_texts_that_look_like_markup_are_texts(capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "id": "1",
        "prompt": "p",
        "checklist": [{"text": "No commas.", "type": "[/red] :smile:"}],
        "response": "none",
    }
    write_rows("rows.jsonl", [row])
    assert evaluate("rows.jsonl", "--judge", "compiled", "--run", "run[/x]") == 0
    shown = capsys.readouterr().out
    assert "[/red] :smile:" in shown
    assert "→ run[/x]/results.jsonl" in shown


@pytest.mark.slow
def test_what_cannot_write_our_signs_gets_them_in_ascii() -> None:
    command = [sys.executable, "-m", "heedful", "evaluate", str(EXAMPLE), "--run", "run"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    shown = done.stdout.decode("ascii")
    assert re.search(r"\d\d\.\d to \d\d\.\d", shown)
    assert "-> run/results.jsonl" in shown
