"""Metric folders as Spaces: the page that a folder's `app.py` serves, and the upload."""

import json
import os
from collections.abc import Iterator
from typing import Any

from dialeval._version import __version__
from dialeval.downloads import BadInput, hub_error
from dialeval.metrics.registry import available, load, script


def launch(name: str, **options: Any) -> Any:
    """Serve a metric's page; its `app.py` only calls this.

    Args:
        options:
            Options of gradio's `launch`, such as `server_port`.
    """
    return page(name).launch(**options)


def page(name: str) -> Any:
    """A gradio page with the metric's example as input."""
    gradio, metric = _gradio(), load(name)
    example = metric.example

    def compute(*boxes: str) -> dict[str, Any]:
        return compute_boxes(metric, dict(zip(example, boxes, strict=True)))

    return gradio.Interface(
        fn=compute,
        inputs=[
            gradio.Textbox(to_json(value), label=key, lines=2 if isinstance(value, list) else 1)
            for key, value in example.items()
        ],
        outputs=gradio.JSON(label=name, open=True),
        title=f"dialeval/{name}",
        description=metric.description,
        article=f"All boxes take JSON. dialeval {__version__}",
        submit_btn="Compute",
        flagging_mode="never",
        deep_link=False,
        api_name="compute",
    )


def compute_boxes(metric: Any, boxes: dict[str, str | None]) -> dict[str, Any]:
    """Compute the metric from the boxes, or return the error.

    An error message contains what the user typed. It is returned as data, because gradio shows its
    own error messages as HTML.
    """
    fresh = type(metric)(keep_in_memory=True)  # a module that failed keeps its inputs
    try:
        inputs = {key: parse_box(key, box) for key, box in boxes.items() if box and box.strip()}
        if "predictions" not in inputs:
            raise ValueError("predictions: expected a JSON list, but the box is empty.")
        return fresh.compute(**inputs)
    except (ValueError, TypeError, OverflowError) as error:
        return {"error": str(error)}


def parse_box(key: str, box: str) -> Any:
    """Parse the JSON of a box.

    Examples:
        >>> parse_box("predictions", "[0.9, 0.2]")
        [0.9, 0.2]
    """
    try:
        return json.loads(box)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f'{key}: expected JSON, such as [1, 0] or ["a", "b"], but: {error}.'
        ) from None


def to_json(value: Any) -> str:
    """The text of a box for a value."""
    return json.dumps(value, ensure_ascii=False)


def push_all(names: list[str] | None = None, namespace: str = "dialeval") -> Iterator[str]:
    """Upload metrics, all of them by default; yields the name of each Space when it is done."""
    for name in check_names(names):
        try:
            yield push(name, namespace)
        except Exception as error:
            raise hub_error(error, f"{namespace}/{name}") from None


def check_names(names: list[str] | None = None) -> list[str]:
    """Names of metrics, all by default; an unknown one is an error."""
    try:
        return [script(name).stem for name in names or available()]
    except ValueError as error:
        raise BadInput(str(error)) from None


def push(name: str, namespace: str = "dialeval", api: Any = None) -> str:
    """Upload a metric's folder to its Space and tag it with this version.

    Args:
        name (`str`):
            The metric.
        namespace (`str`, *optional*, defaults to `"dialeval"`):
            Owner of the Space.
        api (`HfApi`, *optional*):
            Client of the Hub.

    Returns:
        `str`: Name to pass to `evaluate.load`.
    """
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
        import gradio  # an optional dependency
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"A page needs gradio, but {error}. Install it: pip install 'dialeval[app]'"
        ) from None
    return gradio
