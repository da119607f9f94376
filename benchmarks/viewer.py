"""How long ``heedful view`` takes on a run of many judgments, and how much memory.

python benchmarks/viewer.py [SAMPLES] [--run DIRECTORY]

Each address is asked for cold (the files of the run and of the index are taken out of the
system's cache before) and warm, in a new server each time, so that no answer is one kept by it.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from viewer_run import RARE, fill

if TYPE_CHECKING:
    from collections.abc import Iterator

FILTERS = {
    "all samples": "",
    "the last page of all": "page=1000000",
    "unmet": "status=unmet",
    "undecided": "status=undecided",
    "unmet and of a type": "status=unmet&type=format",
    "judges disagree": "disagreement=votes",
    "confidence below 0.9": "high=0.9",
    "decided by rules, unmet": "judge=rules&status=unmet",
    "a tag": "tag=task%3Atask-3",
    "a rare word": f"q={RARE}",
    "a frequent trigram": "q=the",
    "two letters": "q=an",
    "one Chinese character": "q=%E4%B8%AD",
    "two Chinese characters": "q=%E4%B8%AD%E5%9B%BD",
    "text, unmet, type, tag, judge": "q=the&status=unmet&type=format&tag=task%3Atask-3&judge=rules",
}


class Server:
    """``heedful view`` of a folder.

    Args:
        folder: the folder.
        cache: where indexes go.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        command = [sys.executable, "-m", "heedful", "view", str(folder)]
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None  # noqa: S101 - as asked for above
        said = "".join(self.process.stdout.readline() for _ in range(3))
        match = re.search(r"http://([^/]+)/\?token=(\S+)", said)
        assert match is not None, said  # noqa: S101 - it says so first
        self.host, self.token = match.groups()
        self.cookie = f"heedful_view_{self.host.rpartition(':')[2]}={self.token}"

    def get(self, path: str) -> tuple[float, str]:
        """Ask for a page; return how many seconds that took, and the page."""
        begun = time.perf_counter()
        connection = http.client.HTTPConnection(self.host, timeout=120)
        connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == http.HTTPStatus.OK, text  # noqa: S101 - or nothing is measured
        return time.perf_counter() - begun, text

    def memory(self) -> tuple[float, float]:
        """Return the memory of the server in MB: now, and at most."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        memory = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+)", status))
        return int(memory["VmRSS"]) / 1024, int(memory["VmHWM"]) / 1024


@contextmanager
def serving(folder: Path, cache: Path) -> Iterator[Server]:
    """Serve a folder for a while."""
    server = Server(folder, cache)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


def cool(*folders: Path) -> None:
    """Take the files of folders out of the system's cache."""
    for folder in folders:
        for path in folder.rglob("*.sqlite*"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def counted(text: str) -> str:
    """Return what a page says of how many samples there are."""
    match = re.search(r'<p class="count".*?>(.*?)</p>', text, re.DOTALL)
    words = re.sub(r"<[^>]+>|·.*", "", match[1] if match else "", flags=re.DOTALL)
    return " ".join(words.split())


def first_pages(folder: Path, cache: Path) -> tuple[Path, str]:
    """Measure the first pages, with no index there; wait for the index; return its address."""
    with serving(folder, cache) as server:
        cool(folder)
        seconds, text = server.get("/")
        match = re.search(r'href="(/run/[^"]+)"', text)
        assert match is not None  # noqa: S101 - there is a run
        base = f"{match[1]}/samples"
        print(f"| the list of runs, cold | | {seconds:.2f} | |")
        cool(folder)
        seconds, _ = server.get(base)
        print(f"| samples, the first time, no index, cold | | {seconds:.2f} | |")
        begun = time.perf_counter()
        for name in ("a rare word", "unmet"):
            seconds, text = server.get(f"{base}?{FILTERS[name]}")
            print(f"| {name}, while the index begins | {counted(text)} | {seconds:.2f} | |")
        columns = 0.0
        while "the index is being made" in (text := server.get(base)[1]):
            columns = columns or (time.perf_counter() - begun) * ("filters 100%" in text)
            time.sleep(0.5)
        print(
            f"| index made, columns after {columns:.0f} s | | {time.perf_counter() - begun:.0f} | |"
        )
        now, most = server.memory()
        print(f"\nserver while the index was made: {now:.0f} MB, at most {most:.0f} MB\n")
    return folder, base


def filters(folder: Path, cache: Path, base: str) -> None:
    """Measure each filter cold and warm."""
    for name, query in FILTERS.items():
        with serving(folder, cache) as server:
            server.get("/")
            cool(folder, cache)
            cold, text = server.get(f"{base}?{query}")
        with serving(folder, cache) as server:
            server.get("/")
            warm, _ = server.get(f"{base}?{query}")
        print(f"| {name} | {counted(text)} | {cold:.2f} | {warm:.2f} |", flush=True)
    with serving(folder, cache) as server:
        for query in FILTERS.values():
            _, text = server.get(f"{base}?{query}")
            match = re.search(r'data-open href="([^"]+)"', text)
            if match:
                server.get(match[1].replace("&amp;", "&"))
        now, most = server.memory()
        print(
            f"\nserver after all of these, one after another: {now:.0f} MB, at most {most:.0f} MB"
        )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=int, nargs="?", default=200_000)
    parser.add_argument("--run", type=Path, help="a folder to make the run in, or to find it in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.run or Path(temporary) / "runs"
        if not (folder / "million" / "run.sqlite").exists():
            fill(folder / "million", options.samples)
        cache = Path(temporary) / "cache"
        print("| page | samples | cold, s | warm, s |\n| --- | --- | ---: | ---: |")
        _, base = first_pages(folder, cache)
        print("| page | samples | cold, s | warm, s |\n| --- | --- | ---: | ---: |")
        filters(folder, cache, base)
        size = sum(path.stat().st_size for path in cache.rglob("*.sqlite"))
        run = (folder / "million" / "run.sqlite").stat().st_size
        print(f"run.sqlite {run / 1e6:,.0f} MB, index {size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
