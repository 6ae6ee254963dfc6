"""A cache with room for the tokens to come, so that none is copied for each new one."""

from torch import Tensor
from transformers import Cache
from transformers.cache_utils import DynamicLayer


class PreallocatedLayer(DynamicLayer):
    """Keys and values at the front of larger tensors, into which new ones are written.

    transformers' own layer joins old and new at every token, which copies the whole cache: nearly
    half of the time that drawing took (160 rows of 80 tokens). Where tensors were exchanged or are
    full, this one does the same.

    Args:
        keys, values (`Tensor`):
            What is known, shape `(rows, heads, time, size)`.
        copies (`int`):
            How often each row is repeated.
        ahead (`int`):
            Tokens to come.
    """

    def __init__(self, keys: Tensor, values: Tensor, copies: int, ahead: int):
        super().__init__()
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
        self._room = [_repeated(each, copies, ahead) for each in (keys, values)]
        self._show(keys.shape[-2])

    def update(
        self, key_states: Tensor, value_states: Tensor, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        """Add the states of new tokens; gives all."""
        start = self.keys.shape[-2]
        end = start + key_states.shape[-2]
        if not self._fits(end):
            return super().update(key_states, value_states, *args, **kwargs)
        for room, new in zip(self._room, (key_states, value_states), strict=True):
            room[:, :, start:end] = new
        return self._show(end)

    def _fits(self, end: int) -> bool:
        """Whether the tensors are still those with room, and it is enough."""
        room, keys = self._room[0], self.keys
        same = keys.data_ptr() == room.data_ptr() and len(keys) == len(room)
        return same and end <= room.shape[-2]

    def _show(self, end: int) -> tuple[Tensor, Tensor]:
        self.keys, self.values = (each[:, :, :end] for each in self._room)
        return self.keys, self.values


def repeat_preallocated(cache: Cache, copies: int, ahead: int) -> None:
    """Repeat each row of a cache, as `batch_repeat_interleave` does, with room for more tokens."""
    for place, layer in enumerate(cache.layers):
        if type(layer) is DynamicLayer and layer.get_seq_length():
            cache.layers[place] = PreallocatedLayer(layer.keys, layer.values, copies, ahead)
        else:
            layer.batch_repeat_interleave(copies)


def _repeated(states: Tensor, copies: int, ahead: int) -> Tensor:
    rows, heads, time, size = states.shape
    room = states.new_empty(rows, copies, heads, time + ahead, size)
    room[..., :time, :] = states[:, None]
    return room.view(rows * copies, heads, time + ahead, size)
