"""Systems that lack what POSIX has: everything is imported, and a run runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import importlib, os, pkgutil, signal, sys
for name in ("resource", "fcntl", "pwd", "grp", "termios", "tty", "uvloop"):
    sys.modules[name] = None
for name in ("fork", "killpg", "getuid", "geteuid", "setsid", "sched_getaffinity", "mkfifo"):
    delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGCHLD"):
    delattr(signal, name)
"""
"""A process in which they are missing, as on Windows or in a browser."""

IMPORTS = """
import heedful
missing = []
for module in pkgutil.walk_packages(heedful.__path__, "heedful."):
    if module.name.startswith("heedful.integrations."):
        continue  # what other frameworks need is theirs
    try:
        importlib.import_module(module.name) if module.name != "heedful.__main__" else None
    except ModuleNotFoundError as error:  # an extra that is not installed is another matter
        if sys.modules.get(error.name, 1) is None:
            missing.append(module.name)
assert not missing, missing
assert "heedful.engine.job" in sys.modules
"""

RUNS = """
from heedful import evaluate
rows = [{"id": "1", "prompt": "Greet.", "checklist": ["No commas."], "response": "Hi."}]
for _ in range(2):
    assert evaluate(rows, run="run").summary["verdicts"]["met"] == 1
from heedful.cli import main
try:
    main(["evaluate", "rows.jsonl", "--judge", "checklist", "-m", "x", "-k", "none",
          "--base-url", "http://127.0.0.1:9", "--executor", "processes"])
except SystemExit as stopped:
    assert stopped.code == 2, stopped.code
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", [IMPORTS, RUNS], ids=["imports", "runs"])
def test_what_posix_has_is_not_needed(what: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"prompt": "p", "checklist": ["c"], "response": "r"}\n')
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + what],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
