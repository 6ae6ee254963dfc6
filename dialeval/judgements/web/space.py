"""The annotation page as a Space: items from a private dataset, answers on persistent storage."""

import json
import os
from pathlib import Path

from dialeval.errors import BadInput
from dialeval.judgements.items import read_items
from dialeval.judgements.project import Project
from dialeval.judgements.store import JudgementStore

PORT = 7860
STORAGE = Path("/data")
"""Where a Space has its persistent storage."""
ITEMS, PROJECT, DATABASE = "items.jsonl", "project.json", "judgements.db"
ALLOW_EPHEMERAL = "DIALEVAL_ALLOW_EPHEMERAL"
SECRET = "DIALEVAL_SECRET"


def launch_space(dataset: str, folder: Path | None = None, storage: Path = STORAGE) -> None:
    """Serve the project of a private dataset; the `app.py` of a Space only calls this.

    The items say who wrote what, so they must not be in the Space itself, whose files everyone can
    read. The Space reads the dataset with its secret `HF_TOKEN`.

    Args:
        dataset (`str`):
            Name of the dataset with the items.
        folder (`Path`, *optional*):
            The dataset's files, where they are here already.
        storage (`Path`, *optional*):
            Folder for the answers.

    Raises:
        BadInput: There is no persistent storage, so answers would be lost.
    """
    from dialeval.judgements.web.server import serve

    store = open_project(folder or _download(dataset), storage)
    host = os.environ.get("SPACE_HOST", f"127.0.0.1:{PORT}")
    base = f"https://{host}" if "SPACE_HOST" in os.environ else f"http://{host}"
    # Only the owner of a Space sees its log.
    print(f"Invitation: {base}/join/{store.identities.invitation()}")
    print(
        f"Download of the judgements: {base}/export/{store.identities.export_token()}", flush=True
    )
    serve(store, "0.0.0.0", int(os.environ.get("PORT", PORT)), embedded=True)


def open_project(folder: Path, storage: Path) -> JudgementStore:
    """The project of a folder with its answers on the storage.

    Raises:
        BadInput: The storage does not exist, and `DIALEVAL_ALLOW_EPHEMERAL` is not set.
    """
    if not storage.is_dir():
        if not os.environ.get(ALLOW_EPHEMERAL):
            raise BadInput(
                "there is no persistent storage, so answers would be lost with every restart.",
                storage,
                hint=f"Add storage in the settings of the Space, or set {ALLOW_EPHEMERAL}=1.",
            )
        storage = Path.cwd()
    project = Project.from_dict(json.loads((folder / PROJECT).read_text("utf-8")))
    secret = os.environ.get(SECRET, "")
    return JudgementStore.create(
        storage / DATABASE, project, read_items(folder / ITEMS), secret=secret
    )


def _download(dataset: str) -> Path:
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(dataset, repo_type="dataset", allow_patterns=["*.json*"]))
