"""Updates that several processes share."""

import pytest
import torch

from dialeval.training.updates import reduced_step


class TwoAlike:
    """An accelerator of two processes with equal gradients."""

    num_processes = 2

    def __init__(self):
        self.messages = []

    def reduce(self, tensor, how):
        assert how == "sum"
        self.messages.append(tensor.dtype)
        return 2 * tensor


class Alone:
    """An accelerator of one process."""

    num_processes = 1


def parameters():
    generator = torch.Generator().manual_seed(0)
    values = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in (3, (2, 4))]
    return [*values, torch.nn.Parameter(torch.ones((), dtype=torch.float64))]


def test_gradients_of_all_processes_are_summed_in_one_message_per_type():
    shared, alone, processes = parameters(), parameters(), TwoAlike()
    for values, factor in ((shared, 1.0), (alone, 2.0)):
        for value in values[1:]:  # the first one has no gradient in this batch
            value.grad = factor * torch.arange(value.numel(), dtype=value.dtype).view_as(value)
    norms = [
        reduced_step(accelerator, values, torch.optim.SGD(values, 0.1), max_norm=1.0)
        for accelerator, values in ((processes, shared), (Alone(), alone))
    ]
    assert processes.messages == [torch.float32, torch.float64]
    assert norms[0] == pytest.approx(norms[1])
    for value, expected in zip(shared, alone, strict=True):
        torch.testing.assert_close(value, expected)
