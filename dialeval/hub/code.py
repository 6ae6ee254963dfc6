"""The code that a published model needs where dialeval is not installed."""

from pathlib import Path
from typing import TYPE_CHECKING

from dialeval.hub.kinds import BASE, CONFIG

if TYPE_CHECKING:
    from dialeval.hub.contents import Contents


def add_code(contents: "Contents") -> None:
    """Add the Python files of a dialeval architecture, and the `auto_map` that names them.

    Users without dialeval load the model with `trust_remote_code=True`; with dialeval the installed
    classes are used, and the files are never run.
    """
    for path in (CONFIG, f"{BASE}/{CONFIG}"):
        config = contents.read(path) if path in contents.files else {}
        classes = classes_of(config.get("model_type", ""))
        if classes:
            config["auto_map"] = {auto: _reference(kind) for auto, kind in classes.items()}
            contents.write(path, config)
        for file in (file for kind in classes.values() for file in files_of(kind)):
            contents.files[file.name] = file
            contents.left_out.pop(file.name, None)  # in a folder that was pulled before


def classes_of(model_type: str) -> dict[str, type]:
    """Configuration and model class of a dialeval architecture, by the auto class that loads it."""
    if not model_type.startswith("dialeval-"):
        return {}
    from dialeval import models

    for config, model in models.DISCRIMINATORS.items():
        if getattr(config, "model_type", None) != model_type:
            continue
        return {"AutoConfig": config, "AutoModelForSequenceClassification": model}
    for config, model in models.GENERATORS.items():
        if config.model_type == model_type:
            return {"AutoConfig": config, "AutoModelForSeq2SeqLM": model}
    return {}


def files_of(kind: type) -> list[Path]:
    """The file of a class, and those that it imports relatively."""
    import inspect

    from transformers.dynamic_module_utils import get_relative_import_files

    source = Path(inspect.getfile(kind))
    return [source, *(Path(path) for path in get_relative_import_files(source))]


def _reference(kind: type) -> str:
    """The name of a class in `auto_map`.

    Examples:
        >>> _reference(Path)
        'pathlib.Path'
    """
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
