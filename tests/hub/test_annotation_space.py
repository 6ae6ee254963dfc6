"""The annotation page as a Space: nothing secret in it, and its `app.py` serves."""

import json
import os
import re
import subprocess
import sys
import time
from configparser import ConfigParser
from importlib import metadata
from pathlib import Path
from unittest.mock import create_autospec

import pytest
import yaml
from huggingface_hub import HfApi
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dialeval.errors import BadInput
from dialeval.hub.annotation_space import push_annotation, space_files, write_space
from dialeval.judgements.items import write_items
from dialeval.judgements.project import Project
from dialeval.judgements.web.space import open_project
from tests.judgements.annotation import Client, free_port, make_items

pytest.importorskip("uvicorn", reason="install the extra `annotate`")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    write_items(make_items("human", 6), folder / "items.jsonl")
    (folder / "project.json").write_text(json.dumps(Project("human").to_dict()))
    return folder


def test_items_go_to_a_private_dataset_and_not_to_the_space(project):
    api = create_autospec(HfApi, instance=True)
    uploaded = {}
    api.upload_folder.side_effect = lambda **given: uploaded.update(
        {given["repo_id"]: (given, sorted(os.listdir(given["folder_path"])))}
    )
    assert push_annotation(project, "me/turing", "A test: really", api=api) == "me/turing"
    created = {call.args[0]: call.kwargs for call in api.create_repo.call_args_list}
    assert created["me/turing-items"]["private"] is True
    assert created["me/turing"]["space_sdk"] == "docker"
    assert uploaded["me/turing-items"][0]["allow_patterns"] == ["items.jsonl", "project.json"]
    assert uploaded["me/turing"][1] == ["Dockerfile", "README.md", "app.py", "requirements.txt"]
    with pytest.raises(BadInput, match="expected owner/name"):
        push_annotation(project, "turing", api=api)
    (project / "items.jsonl").unlink()
    with pytest.raises(BadInput, match="no items.jsonl here"):
        push_annotation(project, "me/turing", api=api)


def test_items_do_not_go_to_a_public_dataset(project):
    api = create_autospec(HfApi, instance=True)
    api.repo_info.return_value.private = False
    with pytest.raises(BadInput, match="me/turing-items: it already exists and is public"):
        push_annotation(project, "me/turing", api=api)
    api.upload_folder.assert_not_called()


@pytest.mark.parametrize(
    "title", ["# One: two", "[x](y) *z*", "'q", "- a", "null", "Who wrote it?"]
)
def test_any_title_is_the_title_of_the_space(title):
    _, head, body = space_files("me/x", title)["README.md"].split("---\n", 2)
    assert yaml.safe_load(head)["title"] == title
    first = MarkdownIt().parse(body)[1]  # the content of the heading
    assert first.type == "inline" and [part.type for part in first.children] == ["text"]
    assert first.children[0].content == title


def test_answers_need_persistent_storage(project, tmp_path, monkeypatch):
    with pytest.raises(BadInput, match="answers would be lost"):
        open_project(project, tmp_path / "none")
    monkeypatch.setenv("DIALEVAL_ALLOW_EPHEMERAL", "1")
    monkeypatch.setenv("DIALEVAL_SECRET", "of the Space")
    (tmp_path / "one").mkdir(), (tmp_path / "two").mkdir()
    first, second = (open_project(project, tmp_path / name) for name in ("one", "two"))
    assert first.identities.invitation() == second.identities.invitation()  # links stay valid
    assert "human" not in space_files("me/x", "x")["app.py"]


def test_the_app_of_a_space_serves_and_the_owner_can_download(project, tmp_path):
    space = write_space(tmp_path / "space", "me/turing-items", "Turing")
    (tmp_path / "data").mkdir()
    app = (space / "app.py").read_text()
    assert 'launch_space("me/turing-items")' in app
    call = (
        f'launch_space("me/turing-items", Path({str(project)!r}), Path({str(tmp_path / "data")!r}))'
    )
    app = "from pathlib import Path\n" + re.sub(r"launch_space\(\".*\"\)", call, app)
    (space / "app.py").write_text(app)
    port = free_port()
    environment = os.environ | {"PORT": str(port)}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=space, env=environment, stdout=log
        )
    try:
        client, server = None, type("Server", (), {"port": port})
        for _ in range(300):
            assert process.poll() is None
            try:
                client = Client(server).get("/healthz")
                break
            except OSError:
                time.sleep(0.1)
        assert client.page == "ok"
        links = re.findall(r"http://\S+?(/(?:join|export)/\w+)", (tmp_path / "log").read_text())
        assert Client(server).get("/").status == 403
        visitor = Client(server).get(links[0])
        assert "SameSite=None; Secure; Partitioned" in visitor.headers["set-cookie"]
        annotator = Client(server).join("ann", links[0])
        annotator.answer("left")
        assert "huggingface.co" in annotator.headers["content-security-policy"]
        [row] = Client(server).get(links[1]).page.splitlines()
        assert json.loads(row)["answer"] in ("win", "lose")
        assert Client(server).get("/export/guess").status == 403
    finally:
        process.kill()
        process.wait(20)


def test_a_project_is_uploaded_to_a_hub_and_opened_by_its_space(project, hub, commands, fresh):
    [[code, printed, errors]] = commands(("spaces", "annotate", project, "me/turing"))
    assert code == 0 and "me/turing" in printed + errors
    assert hub.repos["datasets/me/turing-items"].private
    assert {"items.jsonl", "project.json"} <= set(hub.files("datasets/me/turing-items"))
    space = hub.files("spaces/me/turing")
    assert {"Dockerfile", "README.md", "app.py", "requirements.txt"} <= set(space)
    assert b"person" not in b"".join(space.values())  # no reply, so no author either
    code = """
import json
from dialeval.judgements.web.space import _download, open_project
from pathlib import Path
Path("data").mkdir()
print(json.dumps(len(open_project(_download("me/turing-items"), Path("data")).items)))
"""
    assert fresh(code) == 6
    refused = """
import json
from dialeval.judgements.web.space import _download
try:
    _download("me/turing-items")
except Exception as error:
    print(json.dumps(type(error).__name__))
"""
    assert fresh(refused, token=None) in ("RepositoryNotFoundError", "LocalEntryNotFoundError")


def test_the_dockerfile_copies_what_is_there_and_runs_without_root():
    files = space_files("me/turing-items", "Turing")
    steps = [line.split() for line in files["Dockerfile"].splitlines()]
    names = [step[0] for step in steps]
    assert names.index("USER") < names.index("RUN", names.index("USER")) < names.index("CMD")
    copied = [step[2] for step in steps if step[0] == "COPY"]
    assert all(name == "." or name in files for name in copied)
    assert "app_port: 7860" in files["README.md"]  # the port that the app listens on
    extras = Path(__file__).resolve().parents[2] / "setup.cfg"
    assert files["requirements.txt"].startswith("dialeval[annotate]")
    assert "\nannotate =" in extras.read_text("utf-8")


def closure(names: list[str]) -> set[str]:
    """The distributions that `pip install` of these requirements would install, as far as known."""
    left, installed = [Requirement(name) for name in names], set()
    while left:
        wanted = left.pop()
        name = canonicalize_name(wanted.name)
        if name in installed or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        installed.add(name)
        needed = metadata.requires(name) if name != "dialeval" else []
        for line in needed or []:
            requirement = Requirement(line)
            extras = ["", *wanted.extras]
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                left.append(replace_marker(requirement))
    return installed


def replace_marker(requirement: Requirement) -> Requirement:
    """The same without its marker, which was evaluated."""
    requirement.marker = None
    return requirement


ONLY = """
import sys
allowed = set(sys.argv[1].split(","))

class Refuse:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first in sys.argv[2].split(",") and first not in allowed:
            raise ModuleNotFoundError(f"{name} is not in requirements.txt", name=name)

sys.meta_path.insert(0, Refuse())
from pathlib import Path
from dialeval.judgements.web.app import WebSettings, build_app
from dialeval.judgements.web.server import check_installed
from dialeval.judgements.web.space import _download, open_project
import huggingface_hub, uvicorn
check_installed()
store = open_project(Path(sys.argv[3]), Path(sys.argv[4]))
build_app(store, WebSettings(open_door=False, hosts=("*",), embedded=True))
print("served")
"""


def test_the_requirements_of_the_space_are_all_that_it_imports(project, tmp_path):
    """What a Docker build would install is enough: every other module is refused."""
    options = ConfigParser()
    options.read(Path(__file__).resolve().parents[2] / "setup.cfg")
    lines = options["options"]["install_requires"], options["options.extras_require"]["annotate"]
    installed = closure([line for text in lines for line in text.split("\n") if line])
    modules = metadata.packages_distributions()
    allowed = {
        module for module, names in modules.items()
        if any(canonicalize_name(name) in installed | {"dialeval"} for name in names)
    }  # fmt: skip
    assert {"starlette", "uvicorn", "huggingface_hub"} <= allowed and "torch" not in allowed
    (tmp_path / "data").mkdir()
    known = ",".join(modules)
    arguments = [",".join(allowed), known, str(project), str(tmp_path / "data")]
    done = subprocess.run(
        [sys.executable, "-c", ONLY, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "served", done.stderr
