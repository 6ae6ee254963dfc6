"""Greedy responses of a generator that is being trained."""

from collections.abc import Sequence

from dialeval.responders.decoding import truncate_at_end
from dialeval.responders.generators import Generator


def greedy_responses(
    generator: Generator, prompts: Sequence[list[int]], max_new_tokens: int
) -> list[list[int]]:
    """A generator's most likely words for each prompt, without dropout, with their end.

    Args:
        generator (`Generator`):
            The generator.
        prompts (`Sequence[list[int]]`):
            Token ids.
        max_new_tokens (`int`):
            Tokens of a response at most.

    Returns:
        `list[list[int]]`: Token ids, one row per prompt.
    """
    training = generator.model.training
    generator.model.eval()
    try:
        ids = generator.generate(prompts, max_new_tokens)
    finally:
        generator.model.train(training)
    return [row for row, _ in truncate_at_end(ids, generator)]
