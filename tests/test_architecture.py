"""Packages import only the packages below them, names say what values are, files stay short."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dialeval

PACKAGE = Path(dialeval.__file__).parent
MAY_IMPORT = {
    "dialogues": set(),
    "metrics": set(),
    "judgements": {"metrics"},
    "perturbations": {"dialogues"},
    "models": {"dialogues"},
    "responders": {"dialogues", "models"},
    "scorers": {"dialogues", "models", "metrics"},
    "training": {"dialogues", "models", "metrics", "perturbations", "responders", "scorers"},
    "protocols": {
        "dialogues", "metrics", "judgements", "perturbations", "models", "responders", "scorers",
        "training",
    },
    "reports": {"metrics", "judgements"},
    "hub": {"models", "scorers", "metrics", "cards"},
}  # fmt: skip
TOP = {"commands"}  # imports anything, and nothing imports it
SHARED = {"settings"}  # settings without heavy imports; every package may import them
FOLDERS = sorted(path for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] not in "_.")
PACKAGES = [path.name for path in FOLDERS if path.name in MAY_IMPORT]
METRICS = [path for path in FOLDERS if path.name not in MAY_IMPORT.keys() | TOP | SHARED]
BANNED = set(
    [
        "told",
        "tell",
        "found",
        "each",
        "said",
        "place",
        "own",
        "ours",
        "theirs",
        "asked",
        "mine",
        "whose",
        "who",
        "ends",
    ]
)
"""Names that do not say what a value is."""
SOURCES = sorted(
    path
    for folder in ("dialeval", "tests", "recipes", "benchmarks")
    for path in (PACKAGE.parent / folder).rglob("*.py")
)
MAX_LINES, MAX_FUNCTION = 400, 60


def imported_by(file: Path) -> set[str]:
    """Packages that a file imports, at the top or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0 or "models" in file.parts, f"relative import in {file}"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    packages = {name.split(".")[1] for name in names if name.startswith("dialeval.")}
    return packages & (MAY_IMPORT.keys() | TOP | {"cards"})


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_packages_below(package):
    for file in (PACKAGE / package).rglob("*.py"):
        assert imported_by(file) <= MAY_IMPORT[package] | {package}, file


def test_shared_modules_import_nothing_of_ours_but_each_other():
    for name in ("errors.py", "files.py", "registry.py", "settings"):
        path = PACKAGE / name
        for file in [path] if path.is_file() else path.rglob("*.py"):
            assert imported_by(file) == set(), file


def bindings(tree: ast.AST):
    """Every name that a module binds: variables, parameters, functions, classes, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def test_names_say_what_a_value_is():
    banned = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {name}"
        for path in SOURCES
        for name, line in bindings(ast.parse(path.read_text(encoding="utf-8")))
        if name.lstrip("_") in BANNED
    ]
    assert not banned, banned[:20]


def test_files_and_functions_fit_on_a_screen_or_two():
    long = []
    for path in (path for path in SOURCES if PACKAGE in path.parents):
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > MAX_LINES:
            long.append(f"{path.relative_to(PACKAGE)}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                start = body_start(node)
                if node.end_lineno - start + 1 > MAX_FUNCTION:
                    long.append(f"{path.relative_to(PACKAGE)}: {node.name}")
    assert not long, long


def undocumented(tree: ast.Module) -> list[str]:
    """Public functions with three or more parameters but no `Args:` or no `Returns:`."""
    names = []
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    for node in (*tree.body, *(member for owner in classes for member in owner.body)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name[0] == "_":
            continue
        parameters = [item.arg for item in (*node.args.args, *node.args.kwonlyargs)]
        if len([name for name in parameters if name not in ("self", "cls")]) < 3:
            continue
        text = ast.get_docstring(node) or ""
        nothing = node.returns is not None and ast.unparse(node.returns) == "None"
        if "Args:" not in text or not (nothing or re.search("Returns:|Yields:", text)):
            names.append(node.name)
    return names


def test_public_functions_describe_their_parameters_and_what_they_return():
    commands = PACKAGE / "commands"  # their docstrings are what --help prints
    missing = {
        str(path.relative_to(PACKAGE)): names
        for path in SOURCES
        if PACKAGE in path.parents and commands not in path.parents
        if (names := undocumented(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert not missing


def body_start(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """First line after the signature and the docstring, which may be long."""
    statements = node.body[1:] if ast.get_docstring(node) else node.body
    return statements[0].lineno if statements else node.end_lineno


def test_the_checker_sees_a_forbidden_import(tmp_path):
    for line in ("import dialeval.commands", "from dialeval import commands"):
        file = tmp_path / "x.py"
        file.write_text(f"def f():\n    {line}\n")
        assert imported_by(file) == {"commands"}


def test_every_metric_folder_is_a_complete_space():
    for folder in METRICS:
        files = {path.name for path in folder.iterdir() if path.is_file()}
        assert files == {f"{folder.name}.py", "README.md", "app.py", "requirements.txt"}, folder


def test_the_architecture_page_names_every_package_and_metric_folder():
    page = (PACKAGE / "README.md").read_text(encoding="utf-8")
    for folder in FOLDERS:
        assert f"`{folder.name}/`" in page, f"dialeval/README.md does not mention {folder.name}"


def test_no_module_is_called_utils():
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in ("utils", "helpers", "misc")]


@pytest.mark.parametrize("statement", ["import dialeval", "import dialeval.commands"])
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    code = f"{statement}; import sys; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"torch", "transformers", "evaluate", "datasets", "numpy", "pyarrow", "matplotlib"}
    assert not heavy & set(modules.stdout.split())


def test_every_public_name_can_be_imported_and_is_known_to_editors():
    assert set(dialeval.__all__) == {"__version__", *dialeval._MODULE_OF}
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    [typed] = [node for node in tree.body if isinstance(node, ast.If)]
    names = {alias.name for node in typed.body for alias in node.names}
    assert names == set(dialeval._MODULE_OF)
    for name in dialeval.__all__:
        assert getattr(dialeval, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'read_mind'"):
        dialeval.read_mind  # noqa: B018
