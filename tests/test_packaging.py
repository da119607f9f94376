"""The package as it is built and installed: the same bytes each time, tested bounds."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / ".ci" / name).read_text(encoding="utf-8").splitlines()
    found = (re.match(r"([\w.-]+)==([\w.!+-]+)", line) for line in lines)
    return {match[1].lower().replace("_", "-"): match[2] for match in found if match}


def bounds() -> dict[str, str]:
    extras = PROJECT["optional-dependencies"]
    required = [*PROJECT["dependencies"], *extras["serve"], *extras["test"]]
    found = (re.match(r"([\w.-]+)>=([\w.]+)", line) for line in required)
    return {match[1].lower().replace("_", "-"): match[2] for match in found if match}


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def padded(text: str) -> tuple[int, ...]:
    return (*version(text), 0, 0, 0)[:3]


def test_the_lowest_versions_that_are_tested_are_those_that_are_allowed() -> None:
    lowest = pins("lowest.txt")
    allowed = bounds()
    assert {name: padded(lowest[name]) for name in allowed} == {
        name: padded(bound) for name, bound in allowed.items()
    }


@pytest.mark.parametrize("name", ["lock.txt", "lowest.txt"])
def test_every_locked_package_has_its_hashes(name: str) -> None:
    text = (ROOT / ".ci" / name).read_text(encoding="utf-8")
    parts = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(parts) == len(pins(name)) > 30
    assert all("--hash=sha256:" in part for part in parts)


def test_the_lock_has_all_that_is_required_and_within_its_bounds() -> None:
    locked = pins("lock.txt")
    for name, bound in bounds().items():
        assert padded(locked[name]) >= padded(bound), name


@pytest.mark.slow
def test_sdist_and_wheel_are_the_same_bytes_from_any_copy(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a checkout of git")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = [file for file in listed.stdout.decode().split("\0") if (ROOT / file).is_file()]
    sums = []
    for number, name in enumerate(("first", "second place")):
        copy = tmp_path / name
        for file in files:
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, copy / file)
            os.utime(copy / file, (1_600_000_000 + number, 1_700_000_000 + 99 * number))
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1767225600", "TZ": f"UTC{number}"}
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / f"dist{number}")],
            cwd=copy,
            env=environment,
            check=True,
            capture_output=True,
        )
        built = sorted((tmp_path / f"dist{number}").iterdir())
        sums.append([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in built])
    assert sums[0] == sums[1]
    assert len(sums[0]) == 2
