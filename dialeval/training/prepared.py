"""A model as Accelerate trains it: alone, copied to every process (DDP), or divided (FSDP2)."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
from torch import Tensor

from dialeval.errors import BadInput


def is_sharded(accelerator: Accelerator) -> bool:
    """Whether weights of prepared models are divided between processes."""
    if accelerator.distributed_type != DistributedType.FSDP:
        return False
    if not getattr(accelerator, "is_fsdp2", False):
        hint = "Set `fsdp_version: 2` in the launch config, as in recipes/accelerate/fsdp.yaml."
        raise BadInput("weights are divided by FSDP2 only, not by the first FSDP.", hint=hint)
    return True


def refuse_sharding(accelerator: Accelerator, training: str) -> None:
    """Refuse an FSDP launch for a training that keeps all weights in every process."""
    if accelerator.distributed_type == DistributedType.FSDP:
        raise BadInput(
            f"{training} does not divide weights between processes.",
            hint="Launch it with recipes/accelerate/ddp.yaml; --tune lora saves memory.",
        )


class PreparedModel:
    """A model and its optimizer, prepared by Accelerate, and the same model in one piece.

    Training uses `model`. Validation, sampling and saving use `whole`, an ordinary model whose
    forward passes wait for no other process, so that their number may differ between processes.
    With FSDP2 it is a second model that has weights only between [`gather`] and [`release`];
    otherwise it is `model` itself without its wrapper, and both methods do nothing.

    Args:
        accelerator (`Accelerator`):
            Where and how to run.
        model (`Module`):
            The model, on any device.
        optimizer (`Optimizer`):
            Its optimizer.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ):
        self.accelerator, self.is_sharded = accelerator, is_sharded(accelerator)
        empty = _without_weights(model, accelerator.device) if self.is_sharded else None
        with _own_layers(accelerator, model) if self.is_sharded else nullcontext():
            self.model, self.optimizer = accelerator.prepare(model, optimizer)
        self.unwrapped: Any = accelerator.unwrap_model(self.model)
        self.whole: Any = self.unwrapped if empty is None else empty
        self._is_gathered = False

    @property
    def trainable(self) -> list[torch.nn.Parameter]:
        """The parameters that the optimizer updates."""
        return [value for value in self.unwrapped.parameters() if value.requires_grad]

    def gather(self) -> None:
        """Copy all weights to `whole`, in every process; all of them call it together."""
        if self.is_sharded and not self._is_gathered:
            state = self.unwrapped.state_dict()
            full = {
                k: v.full_tensor() if hasattr(v, "full_tensor") else v for k, v in state.items()
            }
            _assign(self.whole, full)
            self._is_gathered = True

    def release(self) -> None:
        """Free the weights of `whole`, which the next update makes outdated."""
        if self._is_gathered:
            state = self.whole.state_dict()
            _assign(self.whole, {name: tensor.to("meta") for name, tensor in state.items()})
            self._is_gathered = False

    def finish(self) -> None:
        """End the training: from now on `model` is `whole`."""
        if not self.is_sharded:
            return
        self.release()
        self.gather()
        self.model = self.unwrapped = self.whole
        self.is_sharded = self._is_gathered = False
        self.accelerator.free_memory()


def full_tensors(tensors: Mapping[str, Tensor], keep: bool = True) -> dict[str, Tensor]:
    """Tensors with the parts of all processes, which call it together.

    Args:
        tensors (`dict[str, Tensor]`):
            Divided between processes, or not.
        keep (`bool`, *optional*, defaults to `True`):
            Whether this process needs them; without it the result is empty.

    Returns:
        `dict[str, Tensor]`: Those that were divided are on the CPU, one after the other.
    """
    kept = {}
    for name, tensor in tensors.items():
        full = tensor.full_tensor().cpu() if hasattr(tensor, "full_tensor") else tensor
        if keep:
            kept[name] = full
    return kept


def divided_like(
    tensors: Mapping[str, Tensor], references: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """This process's parts of tensors that every process has.

    Args:
        tensors (`dict[str, Tensor]`):
            The whole tensors.
        references (`dict[str, Tensor]`):
            Parameters of the same names, divided or not.

    Returns:
        `dict[str, Tensor]`: Parts of those whose parameter is divided and of their shape.
    """
    parts = dict(tensors)
    for name, tensor in tensors.items():
        reference: Any = references.get(name)
        if hasattr(reference, "full_tensor") and tensor.shape == reference.shape:
            from torch.distributed.tensor import distribute_tensor

            local, mesh = tensor.to(reference.device), reference.device_mesh
            # Without a source no process sends it.
            parts[name] = distribute_tensor(local, mesh, reference.placements, src_data_rank=None)
    return parts


@contextmanager
def _own_layers(accelerator: Accelerator, model: Any) -> Iterator[None]:
    """A context in which a model is divided by its own layers, and each weight once.

    Accelerate 1.15 keeps the names of the first model's layers, and a later model may have others.
    It also divides the embeddings by themselves, which torch refuses where they are inside a layer
    (BERT) or an encoder and a decoder share them (T5); these are divided with what is around them.
    """
    state: Any = accelerator.state
    plugin, getters = state.fsdp_plugin, ("get_input_embeddings", "get_output_embeddings")
    state.fsdp_plugin = copy.copy(plugin)
    if _are_embeddings_shared(model):
        for name in getters:
            setattr(model, name, lambda: None)
    try:
        yield
    finally:
        state.fsdp_plugin = plugin
        for name in getters:
            vars(model).pop(name, None)


def _are_embeddings_shared(model: Any) -> bool:
    """Whether the input embeddings are inside a layer, or more than input and output have them."""
    embeddings = model.get_input_embeddings()
    layers = set(getattr(model, "_no_split_modules", None) or ())
    owners = around = 0
    for module in model.modules():
        owners += any(value is embeddings.weight for value in module.parameters(recurse=False))
        is_layer = type(module).__name__ in layers
        around += is_layer and any(inner is embeddings for inner in module.modules())
    return owners > 2 or around > 0


def _without_weights(model: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """A copy of a model whose parameters have shapes, but no memory."""
    shapes: dict[int, Any] = {
        id(value): torch.nn.Parameter(value.detach().to("meta"), value.requires_grad)
        for value in model.parameters()
    }
    empty = copy.deepcopy(model, shapes)
    return empty._apply(lambda tensor: tensor if tensor.is_meta else tensor.to(device))


def _assign(model: Any, state: Mapping[str, Tensor]) -> None:
    """Replace the weights of a model; weights that layers share stay shared."""
    model.load_state_dict(state, assign=True)
    model.tie_weights()
