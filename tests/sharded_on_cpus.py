"""Runs heedful's command line with weights sharded over processes on CPUs.

accelerate shards on GPUs and other accelerators only, and silently doesn't on CPUs; torch's
``fully_shard`` and DeepSpeed work on both. What accelerate does for GPUs is done here for CPUs.
"""

import os
from typing import Any

from accelerate import Accelerator
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType
from torch.distributed._functional_collectives import AsyncCollectiveTensor

from heedful.__main__ import main

_begin, _gather = AcceleratorState.__init__, Accelerator.get_state_dict


def _sharding(self: Any, *args: Any, **options: Any) -> None:
    plugin = options.get("fsdp_plugin")
    if options.get("deepspeed_plugin") is not None and not AcceleratorState._shared_state:  # noqa: SLF001
        _use_deepspeed()
        options["cpu"] = False  # only so it makes use of the plugin
    _begin(self, *args, **options)
    if plugin is not None:
        kind = PartialState._shared_state["distributed_type"] = DistributedType.FSDP  # noqa: SLF001
        self.distributed_type = kind
        self.fsdp_plugin = plugin


def _use_deepspeed() -> None:
    """Begin DeepSpeed's communication, without its C++ for shared memory, which takes minutes."""
    import deepspeed
    from deepspeed.ops.op_builder import ShareMemCommBuilder

    deepspeed.ops.__compatible_ops__[ShareMemCommBuilder.NAME] = False
    deepspeed.comm.init_distributed(dist_backend="gloo", auto_mpi_discovery=False)
    PartialState()
    PartialState._shared_state["distributed_type"] = DistributedType.DEEPSPEED  # noqa: SLF001
    os.environ.pop("ACCELERATE_USE_CPU", None)


def _arrived(self: Any, *args: Any, **options: Any) -> dict[str, Any]:
    """Wait for gathered weights: those of a GPU have arrived when they are in memory."""
    return {
        name: weight.wait() if isinstance(weight, AsyncCollectiveTensor) else weight
        for name, weight in (_gather(self, *args, **options) or {}).items()  # of ZeRO: in the first
    }


if __name__ == "__main__":
    AcceleratorState.__init__, Accelerator.get_state_dict = _sharding, _arrived
    main()
