"""How like two paths are, for telling a misplaced file from another file."""

from __future__ import annotations

import difflib
import posixpath
import re
from typing import Final

_PATH: Final = re.compile(r"^(?:~|\.{1,2})?/|/|\.[A-Za-z]\w{0,7}$")
_WORD: Final = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|\d+")

_EVERYWHERE: Final = frozenset(
    {"readme.md", "changelog.md", "license", "package.json", "index.ts", "index.js", "index.tsx", "index.html",
     "__init__.py", "mod.rs", "lib.rs", "main.go", "main.py", "main.rs", "makefile", "dockerfile", "cargo.toml",
     "go.mod", "pyproject.toml", "tsconfig.json", "utils.py", "utils.ts", "types.ts", "config.json", "conftest.py"}
)  # fmt: skip
"""Names that every folder may have: the same name elsewhere is another file."""
_TEMPLATES: Final = frozenset({"example", "sample", "template", "tmpl", "dist", "default", "bak", "orig", "local"})
SAME_FILE: Final = 0.75
"""Similarity from which two paths mean the same file, misplaced or misspelled."""


def is_everywhere(path: str) -> bool:
    """Whether every folder may have a file of that name."""
    return posixpath.basename(path.rstrip("/")).lower() in _EVERYWHERE


def looks_like_path(word: str) -> bool:
    """Whether a word of a command is a path rather than an option or a pattern."""
    return bool(_PATH.search(word)) and not word.startswith("-") and "://" not in word and " " not in word


def similarity(one: str, other: str) -> float:
    """0 to 1. 0.9 and more: same base name; the stem misspelled counts less, the folder little."""
    if one == other:
        return 1.0
    name, other_name = posixpath.basename(one.rstrip("/")), posixpath.basename(other.rstrip("/"))
    if not name or not other_name:
        return 0.0
    if _is_template(name, other_name):
        return 0.0
    if name == other_name:
        return 0.9 if name.lower() not in _EVERYWHERE or _is_below(one, other) else 0.6
    folder = same_folder(one, other)
    stem, other_stem = _stem(name), _stem(other_name)
    if stem.lower() == other_stem.lower():
        return 0.85 if folder else 0.6
    ratio = difflib.SequenceMatcher(None, stem.lower(), other_stem.lower(), autojunk=False).ratio()
    shared = len(set(_words(stem)) & set(_words(other_stem)))
    if folder and (ratio >= 0.8 or shared >= 2):
        return 0.8
    return 0.5 * ratio if folder else 0.3 * ratio


def _is_template(name: str, other: str) -> bool:
    """Whether one is made of the other by hand: `.env` and `.env.example`."""
    shorter, longer = sorted((name.lower(), other.lower()), key=len)
    return longer.startswith(shorter + ".") and longer.rpartition(".")[2] in _TEMPLATES


def _is_below(one: str, other: str) -> bool:
    """Whether one folder's path ends with the other's: the same file, told from elsewhere."""
    shorter, longer = sorted((posixpath.dirname(path).strip("./") for path in (one, other)), key=len)
    is_told_from_elsewhere = not shorter and one.startswith("/") != other.startswith("/")
    return longer == shorter or is_told_from_elsewhere or (bool(shorter) and longer.endswith("/" + shorter))


def same_folder(one: str, other: str) -> bool:
    """Whether two files lie in one folder, where one path may be relative."""
    folder, other_folder = posixpath.dirname(one), posixpath.dirname(other)
    if folder == other_folder:
        return True
    shorter, longer = sorted((folder, other_folder), key=len)
    return bool(shorter) and (longer == shorter or longer.endswith("/" + shorter.lstrip("./")))


def shares_word(one: str, other: str) -> bool:
    """Whether the base names have a word of four letters or more in common."""
    names = (_words(_stem(posixpath.basename(path))) for path in (one, other))
    first, second = ({word for word in words if len(word) >= 4} for words in names)
    return bool(first & second)


def _stem(name: str) -> str:
    return name.lstrip(".").split(".", 1)[0]


def _words(stem: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(stem)]
