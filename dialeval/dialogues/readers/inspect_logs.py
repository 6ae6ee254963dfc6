"""Logs of inspect_ai, read with its own package (extra `inspect`)."""

from collections.abc import Iterator
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.messages import conversation
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue


def _recognise(head: Head) -> bool:
    is_json = {"eval", "status", "version"} <= head.keys and "samples" in head.keys | head.fields
    return head.suffix == ".eval" or (is_json and head.suffix == ".json")


@reader(
    "inspect",
    example="(binary .eval, or .json, as inspect_ai writes them to `logs/`)",
    recognise=_recognise,
)
def read_inspect(source: Source) -> Iterator[Dialogue]:
    """Logs of inspect_ai: the messages of each sample, one sample at a time."""
    from inspect_ai.log import read_eval_log, read_eval_log_samples

    path = str(source.path)
    try:
        header = read_eval_log(path, header_only=True)
        samples = read_eval_log_samples(path, all_samples_required=False)
    except Exception as error:  # the package raises anything about a damaged file
        message = f"inspect_ai cannot read it: {str(error).strip() or type(error).__name__}."
        raise BadInput(message, source.path, hint="Copy the log again.") from None
    for number, sample in enumerate(samples, 1):
        with source.record(number):
            yield conversation(
                [_message(message) for message in sample.messages],
                source,
                id=f"{sample.id}-{sample.epoch}",
                machine=str(header.eval.model),
                corpus=str(header.eval.task),
                extra={"task": str(header.eval.task)},
            )


def _message(message: Any) -> dict[str, Any]:
    calls = getattr(message, "tool_calls", None)
    return {"role": message.role, "content": message.text, "tool_calls": bool(calls)}
