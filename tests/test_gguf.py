"""Models as GGUF: every weight is there, read back by transformers; what cannot be said is refused.

That llama.cpp makes the same tokens and texts of such a file is tested in test_real.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from commands import run
from extras import needs
from gguf_models import MODELS, save
from heedful.core.errors import InputError, UsageError
from heedful.critic.training.gguf_file import write_gguf
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from pathlib import Path

needs("torch", "transformers", "gguf", extra="train")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def weights(folder: Path, **source: str) -> dict[str, Any]:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(folder)  # from GGUF, transformers reads no biases' flag
    model = AutoModelForCausalLM.from_pretrained(
        folder, config=config, dtype=torch.float32, **source
    )
    return dict(model.state_dict())


@pytest.mark.parametrize("dtype", [None, "float16", "bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_every_weight_is_read_back(name: str, dtype: str | None, tmp_path: Path) -> None:
    import torch

    folder = save(tmp_path / "model", name)
    written = write_gguf(find_folder(str(folder)), folder / "model.gguf", dtype)
    assert (written.architecture, written.cut) == MODELS[name][:2]
    before, after = weights(folder), weights(folder, gguf_file="model.gguf")
    assert before.keys() == after.keys()
    for key, each in before.items():
        rounded = each if dtype is None or each.ndim == 1 else each.to(getattr(torch, dtype))
        assert torch.equal(rounded.float(), after[key]), key


REFUSED: dict[str, dict[str, Any]] = {
    "activation is .gelu.": {"hidden_act": "gelu"},
    "RoPE is scaled by 'yarn'": {
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 2.0}
    },
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_model_that_llama_cpp_would_compute_otherwise_is_refused(
    why: str, tmp_path: Path
) -> None:
    folder = save(tmp_path / "model", "llama", **REFUSED[why])
    refuses(folder, why)


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    size = {"n_embd": 8, "n_layer": 1, "n_head": 2}
    GPT2LMHeadModel(GPT2Config(vocab_size=10, **size)).save_pretrained(tmp_path / "model")
    refuses(tmp_path / "model", "architecture is 'gpt2'")


@pytest.mark.parametrize("name", ["qwen2", "qwen3 with wide heads"])
def test_windows_and_scalings_that_the_architecture_lacks_are_refused(
    name: str, tmp_path: Path
) -> None:
    refuses(save(tmp_path / "window", name, use_sliding_window=True), "sliding window")
    linear = {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 2.0}
    refuses(save(tmp_path / "scaled", name, rope_parameters=linear), "scaled by 'linear'")


def test_a_tokenizer_that_llama_cpp_does_not_know_is_refused(tmp_path: Path) -> None:
    from tokenizers import normalizers, pre_tokenizers
    from transformers import AutoTokenizer

    changes: dict[str, dict[str, Any]] = {
        "changes texts first": {"normalizer": normalizers.Lowercase()},
        "cuts texts otherwise": {"pre_tokenizer": pre_tokenizers.Whitespace()},
    }
    for why, change in changes.items():
        folder = save(tmp_path / "model", "llama")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        for part, value in change.items():
            setattr(tokenizer.backend_tokenizer, part, value)
        tokenizer.save_pretrained(folder)
        refuses(folder, why)
    save(folder, "llama")
    (folder / "chat_template.jinja").unlink()
    refuses(folder, "no chat template")


def test_weights_that_float16_cannot_hold_are_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", "qwen2", initializer_range=1e5)
    write_gguf(find_folder(str(folder)), tmp_path / "wide.gguf", "bfloat16")
    refuses(folder, "not finite in F16", "float16")


def test_weights_that_are_missing_or_damaged_are_refused(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    folder = save(tmp_path / "model", "llama")
    config = folder / "config.json"
    said = config.read_text()
    layers = json.loads(said)["num_hidden_layers"]
    config.write_text(json.dumps(json.loads(said) | {"num_hidden_layers": layers + 1}))
    refuses(folder, f"such as model.layers.{layers}.")
    config.write_text(said)
    whole = folder / "model.safetensors"
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder, max_shard_size="100KB")
    whole.unlink()
    output = tmp_path / "sharded.gguf"
    write_gguf(find_folder(str(folder)), output)
    output.unlink()
    sorted(folder.glob("*-of-*.safetensors"))[1].unlink()
    refuses(folder, "which its index names")
    whole.write_bytes(b"\x10" + bytes(7) + b"{}")
    refuses(folder, "cannot be read")


def refuses(folder: Path, why: str, dtype: str | None = None) -> None:
    """A refusal says why, and leaves no file."""
    output = folder.parent / "refused.gguf"
    before = set(folder.parent.iterdir())
    with pytest.raises((InputError, UsageError), match=why):
        write_gguf(find_folder(str(folder)), output, dtype)
    assert set(folder.parent.iterdir()) == before


def test_the_command_says_how_to_ask_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save(tmp_path / "critic", "llama")
    (folder / "heedful.json").write_text('{"prompt": "short", "per_call": 2, "measure": true}')
    assert run("critic", "gguf", folder, "-o", tmp_path / "critic.gguf") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "--model critic --base-url" in said
    assert "--prompt short --per-call 2 --measure" in said
