"""Which paths, symbols and commands of the repository a memory names, and what a working tree says of them. Pure: the
tree is asked through `Tree`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from spanlore.memory.anchor import Anchor, AnchorKind, AnchorState
from spanlore.memory.memory import USER_SCOPE, Kind, Memory
from spanlore.memory.operations import Operation, Verb
from spanlore_extractor.memories.wording import code_parts
from spanlore_extractor.mining.paths import looks_like_path
from spanlore_extractor.mining.shell import take_apart

MAX_ANCHORS: Final = 8

_SCRIPTED: Final = {"npm": "package.json", "pnpm": "package.json", "yarn": "package.json", "bun": "package.json"}
_TARGETED: Final = {"make": ("Makefile", "makefile", "GNUmakefile"), "just": ("justfile", "Justfile")}
_PATH: Final = re.compile(r"[\w@.+-]+(?:/[\w@.+-]+)*/?")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_WORD: Final = re.compile(r"[A-Za-z][\w:.-]*")


class Tree(Protocol):
    """A working tree of the memory's repository."""

    def digest(self, path: str) -> str | None:
        """16 hex digits of a file's content, '' for a directory, None when there is nothing."""
        ...

    def defines(self, file: str, name: str) -> bool:
        """Whether a build file defines that target or script."""
        ...

    def mentions(self, file: str, word: str) -> bool:
        """Whether the file holds that identifier."""
        ...


def anchors_of(memory: Memory) -> tuple[Anchor, ...]:
    """What it names that could be gone one day, unchecked. Only what worked is looked at: what failed may be gone."""
    if memory.scope == USER_SCOPE:
        return ()
    parts = code_parts(memory.text)
    if memory.kind.is_stated:
        named = _paths(memory.why.split())
    elif memory.kind.recommends:
        named = _named_in(parts[-1]) if parts else []
    elif memory.kind is Kind.TRAP:
        named = [anchor for part in parts for anchor in _named_in(part)]
    else:
        return ()
    found: dict[tuple[AnchorKind, str], Anchor] = {}
    for anchor in named:
        found.setdefault((anchor.kind, anchor.name), anchor)
    return tuple(found.values())[:MAX_ANCHORS]


def check(memory: Memory, tree: Tree) -> Operation | None:
    """What the tree changes of the memory's anchors; None when nothing. A thing never seen there is not anchored:
    what a command makes (`dist/`), or what was told of another place, can't be told from what was removed."""
    before = memory.anchors or anchors_of(memory)
    after = tuple(checked for anchor in before if (checked := _checked(anchor, tree)) is not None)
    if after == memory.anchors:
        return None
    changed = replace(memory, anchors=after, version=memory.version + 1)
    return Operation(Verb.CHECKED, changed, _told(after))


def _named_in(command: str) -> list[Anchor]:
    if "…" in command:
        return []
    if _PATH.fullmatch(command) and "/" in command and " " not in command:
        return [Anchor(AnchorKind.PATH, command.rstrip("/"), command.rstrip("/"))]
    out: list[Anchor] = []
    line = take_apart(command)
    here = line.directory.strip("/") if line.directory else ""
    if here.startswith(("..", "~", "$")) or line.directory.startswith("/"):
        return []
    for argv in line.commands:
        out += _command(argv, here)
        out += _paths(argv, here)
    return out


def _paths(words: Sequence[str], here: str = "") -> list[Anchor]:
    """Paths among words, and the symbols of `file::name`."""
    out: list[Anchor] = []
    for word in words:
        file, _, symbol = word.strip("`'\"(),;").rstrip(".:!?").partition("::")
        if ("/" not in file and not symbol) or not _is_path(file):
            continue
        path = _below(here, file.removeprefix("./"))
        out.append(Anchor(AnchorKind.PATH, path, path))
        name = symbol.rpartition("::")[2].partition("[")[0]
        if _NAME.fullmatch(name):
            out.append(Anchor(AnchorKind.SYMBOL, name, path))
    return out


def _command(argv: Sequence[str], here: str) -> list[Anchor]:
    words = [word for word in argv[1:] if not word.startswith("-")]
    if argv[0] in _SCRIPTED and words:
        name = words[1] if words[0] in ("run", "run-script") and len(words) > 1 else words[0]
        is_named = words[0] in ("run", "run-script") and len(words) > 1
        if is_named and _WORD.fullmatch(name):
            return [Anchor(AnchorKind.COMMAND, name, _below(here, _SCRIPTED[argv[0]]))]
    if argv[0] in _TARGETED and words and _WORD.fullmatch(words[0]) and "=" not in words[0]:
        return [Anchor(AnchorKind.COMMAND, words[0], _below(here, _TARGETED[argv[0]][0]))]
    return []


def _is_path(word: str) -> bool:
    return bool(_PATH.fullmatch(word)) and looks_like_path(word) and not word.startswith(("-", "..", "@"))


def _below(here: str, path: str) -> str:
    return f"{here}/{path}".strip("/") if here not in ("", ".") else path.rstrip("/")


def _checked(anchor: Anchor, tree: Tree) -> Anchor | None:
    digest = tree.digest(anchor.file)
    is_there = digest is not None and _holds(anchor, tree)
    if not is_there:
        return replace(anchor, state=AnchorState.ORPHANED) if anchor.state is not AnchorState.UNKNOWN else None
    is_first = anchor.state is AnchorState.UNKNOWN
    has_changed = not is_first and anchor.kind is AnchorKind.PATH and digest != anchor.digest
    return replace(
        anchor,
        digest=(digest or "") if is_first else anchor.digest,
        state=AnchorState.DRIFTED if has_changed else AnchorState.FRESH,
    )


def _holds(anchor: Anchor, tree: Tree) -> bool:
    if anchor.kind is AnchorKind.COMMAND:
        return tree.defines(anchor.file, anchor.name)
    return anchor.kind is not AnchorKind.SYMBOL or tree.mentions(anchor.file, anchor.name)


def _told(anchors: Sequence[Anchor]) -> str:
    gone = [anchor.name for anchor in anchors if anchor.state is AnchorState.ORPHANED]
    drifted = [anchor.name for anchor in anchors if anchor.state is AnchorState.DRIFTED]
    if gone:
        return f"not in the working tree any more: {', '.join(gone)}"
    return f"changed since: {', '.join(drifted)}" if drifted else "what it names is there"
