"""The code that a published model needs where dialeval is not installed."""

from pathlib import Path
from typing import Any

from dialeval.hub.kinds import BASE, CONFIG


def with_code(found: Any) -> None:
    """Add the files of an architecture of ours, and the map that transformers finds them by.

    People without dialeval load it with `trust_remote_code=True`; with dialeval the installed
    classes are taken, and the files are never run.
    """
    for path in (CONFIG, f"{BASE}/{CONFIG}"):
        config = found.read(path) if path in found.files else {}
        classes = classes_of(config.get("model_type", ""))
        if classes:
            config["auto_map"] = {auto: _reference(kind) for auto, kind in classes.items()}
            found.write(path, config)
        for file in (file for kind in classes.values() for file in files_of(kind)):
            found.files[file.name] = file
            found.left_out.pop(file.name, None)  # of a folder that was pulled before


def classes_of(model_type: str) -> dict[str, type]:
    """Configuration and model of an architecture of ours, by the class that loads it."""
    if not model_type.startswith("dialeval-"):
        return {}
    from dialeval import models

    known = {config.model_type: (config, model) for config, model in models.DISCRIMINATORS.items()}
    if model_type in known:
        config, model = known[model_type]
        return {"AutoConfig": config, "AutoModelForSequenceClassification": model}
    if model_type == models.Seq2SeqConfig.model_type:
        return {
            "AutoConfig": models.Seq2SeqConfig,
            "AutoModelForSeq2SeqLM": models.Seq2SeqGenerator,
        }
    return {}


def files_of(kind: type) -> list[Path]:
    """The file of a class, and those it imports from beside it."""
    import inspect

    from transformers.dynamic_module_utils import get_relative_import_files

    own = Path(inspect.getfile(kind))
    return [own, *(Path(path) for path in get_relative_import_files(own))]


def _reference(kind: type) -> str:
    """A class as the map names it.

    Example:
        >>> _reference(Path)
        'pathlib.Path'
    """
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
