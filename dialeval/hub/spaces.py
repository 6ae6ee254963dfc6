"""Metric folders as Spaces: the page that a folder's `app.py` serves, and the upload."""

import json
import os
from collections.abc import Iterator
from typing import Any

from dialeval._version import __version__
from dialeval.downloads import BadInput, in_plain_words
from dialeval.metrics.registry import available, load, script


def launch(name: str, **options: Any) -> Any:
    """Serve a metric's page; this is all that its `app.py` does.

    Args:
        options:
            What gradio's `launch` takes, such as `server_port`.
    """
    return page(name).launch(**options)


def page(name: str) -> Any:
    """A gradio page with the metric's example filled in, to change and compute."""
    gradio, metric = _gradio(), load(name)
    example = metric.example

    def compute(*boxes: str) -> dict[str, Any]:
        return computed(metric, dict(zip(example, boxes, strict=True)))

    return gradio.Interface(
        fn=compute,
        inputs=[
            gradio.Textbox(shown(value), label=key, lines=2 if isinstance(value, list) else 1)
            for key, value in example.items()
        ],
        outputs=gradio.JSON(label=name, open=True),
        title=f"dialeval/{name}",
        description=metric.description,
        article=f"Each box holds JSON. dialeval {__version__}",
        submit_btn="Compute",
        flagging_mode="never",
        deep_link=False,
        api_name="compute",
    )


def computed(metric: Any, boxes: dict[str, str | None]) -> dict[str, Any]:
    """The metric of what stands in the boxes, or what is wrong with it.

    The words about an error hold what the user typed. They are handed on as data, because gradio's
    own error messages are shown as HTML.
    """
    fresh = type(metric)(keep_in_memory=True)  # a module that failed remembers what it was given
    try:
        inputs = {key: parsed(key, box) for key, box in boxes.items() if box and box.strip()}
        if "predictions" not in inputs:
            raise ValueError("predictions: expected a JSON list, but the box is empty.")
        return fresh.compute(**inputs)
    except (ValueError, TypeError, OverflowError) as error:
        return {"error": str(error)}


def parsed(key: str, box: str) -> Any:
    """The value of a box.

    Example:
        >>> parsed("predictions", "[0.9, 0.2]")
        [0.9, 0.2]
    """
    try:
        return json.loads(box)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f'{key}: expected JSON, such as [1, 0] or ["a", "b"], but: {error}.'
        ) from None


def shown(value: Any) -> str:
    """A value as it stands in a box."""
    return json.dumps(value, ensure_ascii=False)


def push_all(names: list[str] | None = None, namespace: str = "dialeval") -> Iterator[str]:
    """Upload metrics one by one, all of them by default; gives the name of each when it is done."""
    for name in checked(names):
        try:
            yield push(name, namespace)
        except Exception as error:
            raise in_plain_words(error, f"{namespace}/{name}") from None


def checked(names: list[str] | None = None) -> list[str]:
    """Names of metrics, all by default; an unknown one is said before anything is done."""
    try:
        return [script(name).stem for name in names or available()]
    except ValueError as error:
        raise BadInput(str(error)) from None


def push(name: str, namespace: str = "dialeval", api: Any = None) -> str:
    """Upload a metric's folder to its Space, and give the name to pass to `evaluate.load`."""
    from huggingface_hub import HfApi

    api = api or HfApi()
    folder, space = script(name).parent, f"{namespace}/{name}"
    api.create_repo(space, repo_type="space", space_sdk="gradio", exist_ok=True)
    api.upload_folder(
        repo_id=space,
        repo_type="space",
        folder_path=folder,
        ignore_patterns=["__pycache__/*"],
        commit_message=f"dialeval {__version__}",
    )
    # Not `v...`: `evaluate` asks a Space for a tag with its own version number first.
    api.create_tag(space, tag=f"dialeval-{__version__}", repo_type="space", exist_ok=True)
    return space


def _gradio() -> Any:
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported
    try:
        import gradio  # only those who serve a page have it
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"A page needs gradio, but {error}. Install it: pip install 'dialeval[app]'"
        ) from None
    return gradio
