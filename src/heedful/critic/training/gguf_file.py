"""A model's folder as a GGUF file, which llama.cpp and what is built on it serve."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, UsageError
from heedful.critic.training.gguf_tokens import add_tokenizer
from heedful.data.formats.base import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from heedful.models.folder import ModelFolder

__all__ = ["write_gguf"]

_TYPES: Mapping[str, str] = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
"""GGUF's names for the dtypes that are written."""

_BYTES = {"F32": 4, "F16": 2, "BF16": 2}
_ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Those whose computation a test compares with llama.cpp's; transformers and GGUF name them so."""

_CONSTANT_SCALING = ("linear", "llama3")
"""Scalings of RoPE that divide each frequency by a number, whatever the length of the text."""

_HINT = "serve the folder itself (heedful takes it as --model, vLLM too)"


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF file that was written.

    Attributes:
        path: where it is.
        architecture: GGUF's name.
        dtype: of the matrices, GGUF's name; vectors are always F32.
        tensors: how many.
        cut: llama.cpp's name for how the tokenizer cuts texts.
        context: tokens that the model reads at most.
    """

    path: Path
    architecture: str
    dtype: str
    tensors: int
    cut: str
    context: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor in a file of the folder, under its name in GGUF."""

    name: str
    file: Path
    key: str
    shape: tuple[int, ...]
    heads: int
    """Attention heads whose rows change places; 0 for none."""

    def read(self) -> Any:
        """Read it, in float32."""
        import torch
        from safetensors import safe_open

        with safe_open(self.file, framework="pt") as content:
            array = content.get_tensor(self.key).to(torch.float32).numpy()
        if not self.heads:
            return array
        # RoPE turns pairs of rows: halves of a head in transformers, neighbours in GGUF's llama.
        halves = array.reshape(self.heads, 2, array.shape[0] // self.heads // 2, *self.shape[1:])
        return halves.swapaxes(1, 2).reshape(self.shape)


def write_gguf(folder: ModelFolder, output: Path, dtype: str | None = None) -> GgufFile:
    """Write a model's folder as a GGUF file: weights, tokenizer and chat template.

    Weights are read one at a time, so a model larger than the memory can be written.
    """
    missing = [name for name in ("gguf", "torch", "transformers") if find_spec(name) is None]
    if missing:
        raise UsageError(f"GGUF needs {', '.join(missing)}", hint="pip install 'heedful[train]'")
    from gguf import GGUFWriter
    from transformers import AutoConfig, AutoTokenizer

    config = AutoConfig.from_pretrained(folder.path)
    _check(config, folder)
    kind = _TYPES[dtype or str(config.dtype or "float32").removeprefix("torch.")]
    tensors = list(_tensors(config, folder))
    _check_whole(config, folder, {tensor.key for tensor in tensors})
    rows = next(tensor.shape[0] for tensor in tensors if tensor.name == "token_embd.weight")
    tokenizer = AutoTokenizer.from_pretrained(folder.path)
    with replacing(output) as part:
        writer = GGUFWriter(part, config.model_type)
        try:
            _add_configuration(writer, config, folder.name, kind)
            cut = add_tokenizer(writer, tokenizer, _ends(config, folder), rows)
            _write(writer, tensors, _factors(config, folder), kind)
        finally:
            writer.close()
    return GgufFile(
        output, config.model_type, kind, len(tensors), cut, config.max_position_embeddings
    )


def _check(config: Any, folder: ModelFolder) -> None:
    """Refuse what llama.cpp would compute otherwise."""
    rope = getattr(config, "rope_parameters", None) or {}
    scaling = rope.get("rope_type", "default")
    own = str(config.dtype or "float32").removeprefix("torch.")
    checks = {
        f"its architecture is {config.model_type!r}; {', '.join(_ARCHITECTURES)} can be written": (
            config.model_type not in _ARCHITECTURES
        ),
        f"its activation is {getattr(config, 'hidden_act', None)!r}, not 'silu'": (
            getattr(config, "hidden_act", None) != "silu"
        ),
        "its attention sees a sliding window": bool(getattr(config, "use_sliding_window", False)),
        f"its RoPE is scaled by {scaling!r}": (
            scaling != "default"
            and (scaling not in _CONSTANT_SCALING or config.model_type != "llama")
        ),
        f"its weights are {own}": own not in _TYPES,
    }
    for why, refused in checks.items():
        if refused:
            what = f"the model cannot be written as GGUF: {why}"
            raise UsageError(what, where=str(folder.path), hint=_HINT)


def _tensors(config: Any, folder: ModelFolder) -> Iterator[_Tensor]:
    """Yield the folder's tensors, in the order of the files."""
    from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map
    from safetensors import SafetensorError, safe_open

    archs = {name: arch for arch, name in MODEL_ARCH_NAMES.items()}
    arch: MODEL_ARCH = archs[config.model_type]
    names = get_tensor_name_map(arch, config.num_hidden_layers)
    heads = {}
    if config.model_type == "llama":
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for file in _files(folder):
        try:
            opened = safe_open(file, framework="pt")
        except (OSError, SafetensorError) as error:
            what = f"the weights cannot be read: {error}"
            raise InputError(what, where=str(file), hint="copy the folder again") from error
        with opened as content:
            for key in content.keys():  # noqa: SIM118 - no mapping, only these methods
                name = names.get_name(key, try_suffixes=(".weight", ".bias"))
                if name is None:
                    what = f"GGUF's {config.model_type} has no tensor {key!r}"
                    raise UsageError(what, where=str(file), hint=_HINT)
                shape = tuple(content.get_slice(key).get_shape())
                layer = key.split(".")[-2]
                yield _Tensor(name, file, key, shape, heads.get(layer, 0))


def _files(folder: ModelFolder) -> list[Path]:
    """Return the files of the weights, as transformers chooses: one file before several."""
    whole, index = (folder.path / f"model.safetensors{end}" for end in ("", ".index.json"))
    if whole.is_file():
        return [whole]
    if not index.is_file():
        files = sorted(folder.path.glob("*.safetensors"))
        if not files:
            what, hint = "the folder has no .safetensors", "save it again with save_pretrained"
            raise UsageError(what, where=str(folder.path), hint=hint)
        return files
    try:
        named = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the index of the weights cannot be read: {error}"
        raise InputError(what, where=str(index), hint="copy the folder again") from error
    for name in named:
        if not (folder.path / name).is_file():
            what = f"the folder has no {name}, which its index names"
            raise InputError(what, where=str(folder.path), hint="copy the folder again")
    return [folder.path / name for name in named]


def _check_whole(config: Any, folder: ModelFolder, keys: set[str]) -> None:
    """Hold that the weights are those of the configuration, tied ones left out."""
    from accelerate import init_empty_weights
    from transformers import AutoModelForCausalLM

    with init_empty_weights():
        model = AutoModelForCausalLM.from_config(config)
    wanted = {name for name, _ in model.named_parameters()}
    if config.tie_word_embeddings:
        wanted.discard("lm_head.weight")
    if missing := sorted(wanted - keys):
        what = f"the weights lack {len(missing)} that config.json calls for, such as {missing[0]}"
        raise InputError(what, where=str(folder.path), hint="copy the folder again")


def _add_configuration(writer: Any, config: Any, name: str, kind: str) -> None:
    """Write what the model computes."""
    from gguf import LlamaFileType

    head = _head(config)
    writer.add_name(name)
    writer.add_file_type(LlamaFileType[f"MOSTLY_{kind}" if kind != "F32" else "ALL_F32"])
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)


def _head(config: Any) -> int:
    size: int | None = getattr(config, "head_dim", None)
    return size or config.hidden_size // config.num_attention_heads


def _factors(config: Any, folder: ModelFolder) -> Any:
    """Return what each of RoPE's frequencies is divided by; ``None`` where by nothing."""
    import torch
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = config.rope_parameters
    if rope.get("rope_type", "default") == "default":
        return None
    scaled, attention = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu")
    if not math.isclose(attention, 1.0):
        what = f"its RoPE scales attention by {attention}, which GGUF cannot say"
        raise UsageError(what, where=str(folder.path), hint=_HINT)
    head = _head(config)
    plain = 1.0 / rope["rope_theta"] ** (torch.arange(0, head, 2, dtype=torch.float) / head)
    return (plain / scaled).numpy()


def _ends(config: Any, folder: ModelFolder) -> set[int]:
    """Return the tokens on which the model stops, as the engine in this process finds them."""
    from transformers import GenerationConfig

    try:
        ends = GenerationConfig.from_pretrained(folder.path).eos_token_id
    except OSError:  # the folder has none
        ends = config.eos_token_id
    return {ends} if isinstance(ends, int) else set(ends or ())


def _write(writer: Any, tensors: Sequence[_Tensor], factors: Any, kind: str) -> None:
    """Write the file: what tensors there are, then each tensor."""
    import numpy as np
    from gguf import GGMLQuantizationType, quantize

    # Vectors are norms and biases, which llama.cpp computes in float32.
    kinds = [kind if len(tensor.shape) > 1 else "F32" for tensor in tensors]
    if factors is not None:
        writer.add_tensor_info("rope_freqs.weight", factors.shape, factors.dtype, factors.nbytes)
    for tensor, stored in zip(tensors, kinds, strict=True):
        size = math.prod(tensor.shape) * _BYTES[stored]
        raw = GGMLQuantizationType[stored]
        writer.add_tensor_info(tensor.name, tensor.shape, np.dtype(np.float32), size, raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    if factors is not None:
        writer.write_tensor_data(factors)
    for tensor, stored in zip(tensors, kinds, strict=True):
        array = np.ascontiguousarray(tensor.read())
        most = np.finfo(np.float16).max if stored == "F16" else np.finfo(np.float32).max
        if not bool((np.abs(array) <= most).all()):
            what = f"weights of {tensor.key} are not finite in {stored}"
            raise UsageError(what, where=str(tensor.file), hint="write another --dtype")
        writer.write_tensor_data(quantize(array, GGMLQuantizationType[stored]))
