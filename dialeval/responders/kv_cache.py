"""A key-value cache with preallocated space, so that a new token does not copy the old ones."""

from typing import Any

from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer


class PreallocatedLayer(DynamicLayer):
    """Keys and values at the front of larger tensors, into which new ones are written.

    The layer of transformers concatenates old and new at every token, which copies the whole cache:
    nearly half of the time of sampling (160 rows of 80 tokens). If the tensors were replaced or are
    full, this layer does the same.

    Args:
        keys, values (`Tensor`):
            States so far, shape `(rows, heads, time, size)`.
        copies (`int`):
            How often each row is repeated.
        ahead (`int`):
            Number of new tokens to allocate space for.
    """

    keys: Tensor
    values: Tensor

    def __init__(self, keys: Tensor, values: Tensor, copies: int, ahead: int):
        super().__init__()
        self._allocate(
            [_repeat(states, copies, ahead) for states in (keys, values)], keys.shape[-2]
        )

    @classmethod
    def gathered(
        cls, keys: Tensor, values: Tensor, rows: Tensor, width: int, ahead: int
    ) -> "PreallocatedLayer":
        """A layer of some rows, each any number of times, and of their first tokens.

        Args:
            keys, values (`Tensor`):
                States, shape `(rows, heads, time, size)`.
            rows (`Tensor`):
                Which rows, in the order of the new layer.
            width (`int`):
                Number of tokens to keep.
            ahead (`int`):
                Number of new tokens to allocate space for.

        Returns:
            `PreallocatedLayer`: The layer.
        """
        layer = cls.__new__(cls)
        DynamicLayer.__init__(layer)
        layer._allocate([_gather(states, rows, width, ahead) for states in (keys, values)], width)
        return layer

    def _allocate(self, buffers: list[Tensor], width: int) -> None:
        self.dtype, self.device, self.is_initialized = buffers[0].dtype, buffers[0].device, True
        self._buffers = buffers
        self._show(width)

    @property
    def room(self) -> int:
        """Number of tokens for which there is still space."""
        return self._buffers[0].shape[-2] - self.keys.shape[-2]

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Add the states of new tokens; returns all keys and values."""
        start = self.keys.shape[-2]
        end = start + key_states.shape[-2]
        if not self._fits(end):
            return super().update(key_states, value_states, *args, **kwargs)
        for buffer, new in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, start:end] = new
        return self._show(end)

    def _fits(self, end: int) -> bool:
        """Whether the tensors are still views of the buffers, and these are large enough."""
        buffer, keys = self._buffers[0], self.keys
        same = keys.data_ptr() == buffer.data_ptr() and len(keys) == len(buffer)
        return same and end <= buffer.shape[-2]

    def _show(self, end: int) -> tuple[Tensor, Tensor]:
        self.keys, self.values = (buffer[:, :, :end] for buffer in self._buffers)
        return self.keys, self.values


def repeat_preallocated(cache: Cache, copies: int, ahead: int) -> None:
    """Repeat each row of a cache, as `batch_repeat_interleave` does, with space for new tokens.

    Args:
        cache (`Cache`):
            Changed in place.
        copies (`int`):
            How often each row is repeated.
        ahead (`int`):
            Number of new tokens to allocate space for.

    Returns:
        `None`: The cache itself is changed.
    """
    for index, layer in enumerate(cache.layers):
        state: Any = layer  # the layers of transformers do not all declare what is used here
        if type(layer) is DynamicLayer and layer.get_seq_length():
            cache.layers[index] = PreallocatedLayer(state.keys, state.values, copies, ahead)
        else:
            state.batch_repeat_interleave(copies)


def gather_preallocated(cache: Cache, rows: Tensor, width: int, ahead: int) -> DynamicCache:
    """A new cache with some rows of another, cut to their first tokens, with space for new ones.

    Args:
        cache (`Cache`):
            Left as it is.
        rows (`Tensor`):
            Which rows, each any number of times.
        width (`int`):
            Number of tokens to keep.
        ahead (`int`):
            Number of new tokens to allocate space for.

    Returns:
        `DynamicCache`: The new cache.
    """
    gathered = DynamicCache()
    states: list[Any] = list(cache.layers)
    gathered.layers = [
        PreallocatedLayer.gathered(layer.keys, layer.values, rows, width, ahead) for layer in states
    ]
    return gathered


def _gather(states: Tensor, rows: Tensor, width: int, ahead: int) -> Tensor:
    _, heads, _, size = states.shape
    buffer = states.new_empty(len(rows), heads, width + ahead, size)
    buffer[:, :, :width] = states[:, :, :width].index_select(0, rows)
    return buffer


def _repeat(states: Tensor, copies: int, ahead: int) -> Tensor:
    rows, heads, time, size = states.shape
    buffer = states.new_empty(rows, copies, heads, time + ahead, size)
    buffer[..., :time, :] = states[:, None]
    return buffer.view(rows * copies, heads, time + ahead, size)
