"""A real model behind transformers' own server."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["ALONE", "serving_model"]

# One thread: with more, a busy neighbour on the machine makes everything twenty times slower.
ALONE = os.environ | {"OMP_NUM_THREADS": "1", "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1"}
STARTING_S = 120


@contextmanager
def serving_model(folder: Path, log: Path) -> Iterator[str]:
    """Serve a model's folder, and yield the base URL; the server's output goes into the log."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = Path(sys.executable).with_name("transformers")
    command = [str(script), "serve", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--device", "cpu", "--dtype", "float32"]
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=ALONE, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + STARTING_S
            while not _healthy(port):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait(timeout=30)


def _healthy(port: int) -> bool:
    address = f"http://127.0.0.1:{port}/health"
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
