"""The rules of the house that a linter doesn't know: what DESIGN.md says of the layout, checked on the files."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from spanlore.settings.table import with_table

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "spanlore": ROOT / "spanlore",
    "proxy": ROOT / "proxy" / "spanlore_proxy",
    "collector": ROOT / "collector" / "spanlore_collector",
    "extractor": ROOT / "extractor" / "spanlore_extractor",
    "dashboards": ROOT / "dashboards" / "spanlore_dashboards",
}
"""Folder under tests/ → package it mirrors."""
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
NAMELESS = {"utils", "util", "common", "helpers", "helper", "core", "models", "manager", "misc"}


@cache
def modules() -> tuple[Path, ...]:
    """All modules of the five packages."""
    return tuple(sorted(file for package in PACKAGES.values() for file in package.rglob("*.py")))


@cache
def files_with_tests() -> tuple[Path, ...]:
    """All files with tests."""
    return tuple(sorted((ROOT / "tests").rglob("test_*.py")))


@cache
def tree(file: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(file.read_text(), str(file))


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that is in the repository or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return tuple(ROOT / name for name in listed if name and (ROOT / name).is_file())


def named(files: list[Path] | list[str]) -> str:
    """For a failure's message: one a line, below the root."""
    return "\n".join(str(file.relative_to(ROOT)) if isinstance(file, Path) else file for file in files)


def mirror(folder: str, module: Path) -> Path:
    """Where the tests of a module lie."""
    inside = module.relative_to(PACKAGES[folder])
    return ROOT / "tests" / folder / inside.with_name(f"test_{inside.name}")


def test_every_module_has_its_mirror() -> None:
    """`proxy/spanlore_proxy/wire/sse.py` is tested in `tests/proxy/wire/test_sse.py`."""
    missing = [
        mirror(folder, module)
        for folder, package in PACKAGES.items()
        for module in package.rglob("*.py")
        if module.name not in ("__init__.py", "__main__.py") and not mirror(folder, module).exists()
    ]

    assert not missing, f"no such test file:\n{named(sorted(missing))}"


def test_no_stray_mirrors() -> None:
    """A test file below a package's folder tests a module that exists."""
    known = {mirror(folder, module) for folder, package in PACKAGES.items() for module in package.rglob("*.py")}
    stray = [file for file in files_with_tests() if file.relative_to(ROOT / "tests").parts[0] in PACKAGES]

    assert not [file for file in stray if file not in known], named([file for file in stray if file not in known])


def test_tests_are_no_packages() -> None:
    """No `__init__.py` under tests: with import mode importlib it would make `tests.x` shadow `x`."""
    assert not list((ROOT / "tests").rglob("__init__.py"))


def _reads_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
        return node.attr in ("environ", "environb", "getenv", "getenvb", "putenv", "unsetenv")
    if isinstance(node, ast.ImportFrom) and node.module == "os":
        return any(name.name in ("environ", "environb", "getenv", "getenvb") for name in node.names)
    return isinstance(node, ast.Attribute) and node.attr == "expandvars"


def test_only_settings_reads_the_environment() -> None:
    """Whoever needs a value of the environment gets it as an argument."""
    readers = [
        file
        for file in modules()
        if not file.is_relative_to(ROOT / "spanlore" / "settings")
        and any(map(_reads_environment, ast.walk(tree(file))))
    ]

    assert not readers, named(readers)


def test_the_settings_are_told() -> None:
    """The table in docs/settings.md is what `describe()` says; `make settings` renews it."""
    text = (ROOT / "docs" / "settings.md").read_text()

    assert with_table(text) == text


def _functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_every_test_states_its_rule() -> None:
    """A test function has a docstring: one sentence, the rule it checks."""
    silent = [
        f"{file.relative_to(ROOT)}::{node.name}"
        for file in files_with_tests()
        for node in _functions(file)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert not silent, named(silent)


def test_every_module_says_what_it_is() -> None:
    """A module opens with a docstring, and so does a public class."""
    silent = [
        str(file.relative_to(ROOT)) for file in modules() if tree(file).body and not ast.get_docstring(tree(file))
    ]
    silent += [
        f"{file.relative_to(ROOT)}: class {node.name}"
        for file in modules()
        for node in tree(file).body
        if isinstance(node, ast.ClassDef) and node.name[0] != "_" and not ast.get_docstring(node)
    ]

    assert not silent, named(silent)


def test_modules_are_small() -> None:
    """No module over 600 lines, tests included."""
    large = [file for file in (*modules(), *files_with_tests()) if file.read_text().count("\n") > MAX_MODULE_LINES]

    assert not large, named(large)


def test_functions_are_short() -> None:
    """No function's body is over 60 lines, its docstring not counted."""
    long = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in modules()
        for node in _functions(file)
        if _lines_of_body(node) > MAX_FUNCTION_LINES
    ]

    assert not long, named(long)


def _lines_of_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_names_mean_something() -> None:
    """No module or package is called after nothing in particular."""
    named_badly = [file for file in modules() if NAMELESS & {file.stem, *file.relative_to(ROOT).parts}]

    assert not named_badly, named(named_badly)


def test_broad_excepts_say_why() -> None:
    """`except Exception` stands only at a process's shell, with a comment that says why, or raises what it caught."""
    unexplained = []
    for file in modules():
        lines = file.read_text().splitlines()
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ExceptHandler) and _is_broad(node.type):
                window = lines[max(0, node.lineno - 5) : node.body[0].lineno + 1]
                again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                if not again and not any("#" in line for line in window):
                    unexplained.append(f"{file.relative_to(ROOT)}:{node.lineno}")

    assert not unexplained, named(unexplained)


def test_what_is_silenced_says_why() -> None:
    """Behind a `type: ignore` and a `noqa` of the packages stands the reason."""
    silenced = re.compile(r"# (?:type: ignore\[[^\]]+\]|noqa: [A-Z]+\d+\b)(?!,|\s*(?:#|-) )")
    unexplained = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in modules()
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if silenced.search(line)
    ]

    assert not unexplained, named(unexplained)


def _is_broad(caught: ast.expr | None) -> bool:
    return caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))


REGISTRIES = re.compile(
    "|".join(re.escape(host) for host in ("pypi" + ".org", "python" + "hosted.org", "npmjs" + ".org", "npmjs" + ".com"))
)
MACHINE_PATHS = re.compile(r"(?<![\w.~*-])/(?:ro" + r"ot|wo" + r"rk)/|/tm" + r"p/w/")


@pytest.mark.parametrize("pattern", [REGISTRIES, MACHINE_PATHS], ids=["registry hosts", "paths of one machine"])
def test_no_file_knows_where_it_was_written(pattern: re.Pattern[str]) -> None:
    """No file names a package registry's host or a path of the machine it was written on."""
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in tracked()
        for number, line in enumerate(file.read_text(errors="ignore").splitlines(), 1)
        if pattern.search(line)
    ]

    assert not found, named(found)


def test_features_name_tests_that_exist() -> None:
    """A feature's proof is a test that is there, and a row that works has one."""
    text = (ROOT / "FEATURES.md").read_text()
    cited = set(re.findall(r"`((?:tests/)?[\w/]*test_\w+\.py)`", text))
    rows = [line.split(" | ") for line in text.splitlines() if re.match(r"\| [A-H]\d+ \|", line)]
    unproven = [row[0].strip("| ") for row in rows if row[2] == "works" and "`" not in row[3]]

    assert not [name for name in cited if not (ROOT / name).exists() and not list(ROOT.glob(f"tests/**/{name}"))]
    assert len(rows) == FEATURE_ROWS
    assert not unproven


FEATURE_ROWS = 81
"""Of the list that nothing may fall off."""


def test_requirements_are_pinned_hashed_and_complete() -> None:
    """Every dependency stands in the requirements with a version and hashes, and no address."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    locked = (ROOT / "requirements-dev.txt").read_text()
    pins = re.findall(r"^([a-z0-9.-]+)(?:\[[^\]]*\])?==\S+[^\n]*\\\n    --hash=sha256:", locked, re.MULTILINE)
    names = {re.sub(r"[-_.]+", "-", re.split(r"[<>=!~\[; ]", name)[0]).lower() for name in asked}

    assert names <= set(pins), f"run `make lock`: {sorted(names - set(pins))}"
    assert len(pins) == len(re.findall(r"^[^ #\n]", locked, re.MULTILINE))
    for name in ("requirements.txt", "requirements-dev.txt", "tools/requirements-uv.txt"):
        assert "://" not in (ROOT / name).read_text()


def test_imports_go_one_way() -> None:
    """The import contracts of pyproject.toml are kept."""
    command = [str(Path(sys.executable).with_name("lint-imports"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
