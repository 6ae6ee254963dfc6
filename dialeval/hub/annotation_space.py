"""Upload an annotation project: items to a private dataset, the page to a Space."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dialeval._version import __version__
from dialeval.errors import BadInput
from dialeval.files import atomic_write_text
from dialeval.hub.cards import escape_md
from dialeval.hub.repositories import refuse_public

_README = """---
title: {quoted}
emoji: 🧑‍⚖️
colorFrom: blue
colorTo: indigo
sdk: docker
app_port: 7860
pinned: false
license: apache-2.0
tags:
- dialogue
- annotation
short_description: Can you tell what a human wrote?
---

# {title}

An annotation page made with `dialeval annotate`. Its items are in the private dataset `{dataset}`,
which the Space reads with its secret `HF_TOKEN`; answers are on its persistent storage. The log of
the Space has the invitation for annotators and the address for downloading the judgements.
"""
_APP = """from dialeval.judgements.web.space import launch_space

if __name__ == "__main__":
    launch_space("{dataset}")
"""
_DOCKERFILE = """FROM python:3.11-slim
RUN useradd -m -u 1000 user
USER user
ENV HOME=/home/user PATH=/home/user/.local/bin:$PATH
WORKDIR /home/user/app
COPY --chown=user requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY --chown=user . .
CMD ["python", "app.py"]
"""


def space_files(dataset: str, title: str) -> dict[str, str]:
    """The files of the Space, by name; none of them says who wrote what."""
    clean = " ".join(title.split())[:60] or "Annotation"
    quoted = json.dumps(clean, ensure_ascii=False)  # any text is one value in YAML
    return {
        "README.md": _README.format(title=escape_md(clean), quoted=quoted, dataset=dataset),
        "app.py": _APP.format(dataset=dataset),
        "Dockerfile": _DOCKERFILE,
        "requirements.txt": f"dialeval[annotate]>={__version__}\n",
    }


def write_space(folder: Path | str, dataset: str, title: str = "") -> Path:
    """Write the files of the Space into a folder.

    Args:
        folder (`Path` or `str`):
            Where to write them.
        dataset (`str`):
            Name of the private dataset with the items.
        title (`str`, *optional*):
            Heading of the Space.

    Returns:
        `Path`: The folder.
    """
    for name, text in space_files(dataset, title).items():
        atomic_write_text(Path(folder) / name, text)
    return Path(folder)


def push_annotation(project: Path | str, name: str, title: str = "", api: Any = None) -> str:
    """Upload a project of `dialeval annotate`.

    Args:
        project (`Path` or `str`):
            Its output folder.
        name (`str`):
            `owner/name` of the Space; the private dataset is called `owner/name-items`.
        title (`str`, *optional*):
            Heading of the Space.
        api (`HfApi`, *optional*):
            Client of the Hub.

    Returns:
        `str`: Name of the Space.

    Raises:
        BadInput: The folder is no project, the name is not complete, or there is a public
            dataset of that name: the items say who wrote what.
    """
    from huggingface_hub import HfApi

    folder = Path(project)
    missing = [file for file in ("items.jsonl", "project.json") if not (folder / file).is_file()]
    if missing:
        hint = "Make a project first: dialeval annotate ITEMS --prepare"
        raise BadInput(f"no {missing[0]} here.", folder, hint=hint)
    if name.count("/") != 1:
        raise BadInput(f"expected owner/name, but got {name!r}.", hint="Name the owner, too.")
    api, dataset = api or HfApi(), f"{name}-items"
    api.create_repo(dataset, repo_type="dataset", private=True, exist_ok=True)
    refuse_public(dataset, api.repo_info(dataset, repo_type="dataset"))  # it may be an old one
    api.upload_folder(
        repo_id=dataset,
        repo_type="dataset",
        folder_path=folder,
        allow_patterns=["items.jsonl", "project.json"],
        commit_message=f"dialeval {__version__}",
    )
    api.create_repo(name, repo_type="space", space_sdk="docker", exist_ok=True)
    with TemporaryDirectory() as temporary:
        api.upload_folder(
            repo_id=name,
            repo_type="space",
            folder_path=write_space(temporary, dataset, title),
            commit_message=f"dialeval {__version__}",
        )
    return name
