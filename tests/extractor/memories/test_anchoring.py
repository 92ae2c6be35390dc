from dataclasses import dataclass, field, replace

import pytest

from spanlore.memory.anchor import AnchorKind, AnchorState
from spanlore.memory.memory import USER_SCOPE, Kind, Memory, Source, Status
from spanlore_extractor.memories.anchoring import anchors_of, check

USAGE = Memory(
    "m-1", Kind.USAGE, Source.FAILURE_DELTA, Status.ACTIVE, "github.com/a/b",
    "`pytest test/a.py` failed with “no file”; `pytest tests/a.py::TestX::test_sum` worked instead.",
)  # fmt: skip


@dataclass
class Files:
    """A tree of files by name."""

    files: dict[str, str] = field(default_factory=dict)

    def digest(self, path: str) -> str | None:
        return str(hash(self.files[path])) if path in self.files else None

    def defines(self, file: str, name: str) -> bool:
        return f"{name}:" in self.files.get(file, "")

    def mentions(self, file: str, word: str) -> bool:
        return word in self.files.get(file, "")


def named(text: str, kind: Kind = Kind.USAGE, why: str = "") -> list[tuple[str, str, str]]:
    memory = replace(USAGE, kind=kind, text=text, why=why)
    return [(anchor.kind.value, anchor.name, anchor.file) for anchor in anchors_of(memory)]


def test_what_worked_is_named() -> None:
    """Paths, symbols, targets and scripts of the form that works; what failed may be gone."""
    assert [(a.kind, a.name) for a in anchors_of(USAGE)] == [
        (AnchorKind.PATH, "tests/a.py"), (AnchorKind.SYMBOL, "test_sum"),
    ]  # fmt: skip
    assert named("`x` failed; `cd web && npm run lint:fix` worked instead.") == [
        ("command", "lint:fix", "web/package.json")
    ]
    assert named("`x` failed; `make check` worked instead.") == [("command", "check", "Makefile")]
    assert named("`a` does not exist; `src/lib/b.py` does.", Kind.LOCATION) == [
        ("path", "src/lib/b.py", "src/lib/b.py")
    ]
    assert named("said", Kind.EXPLICIT, 'keep "docs/adr/index.md" up to date.') == [
        ("path", "docs/adr/index.md", "docs/adr/index.md")
    ]


@pytest.mark.parametrize(
    "text",
    ["`x` failed; `git push -u origin main` worked.", "`x` failed; `/usr/bin/make -v` worked.",
     "`x` failed; `cd /opt/x && make all` worked.", "`x` failed; `curl http://localhost/a/b` worked.",
     "`x` failed; `pytest tests/very… ` worked."],
)  # fmt: skip
def test_what_is_not_of_the_tree_is_no_anchor(text: str) -> None:
    """Remotes, absolute paths, addresses, and what was cut."""
    assert named(text) == []


def test_the_users_own_have_none() -> None:
    """They hold in every repository, so no tree can tell."""
    assert anchors_of(replace(USAGE, scope=USER_SCOPE)) == ()


def test_fresh_drifted_orphaned_and_back() -> None:
    """A file that changed is drift, one that is gone hides the memory, and it comes back with the file."""
    tree = Files({"tests/a.py": "def test_sum(): 1"})
    fresh = check(USAGE, tree)
    assert fresh is not None and fresh.memory.anchor_state is AnchorState.FRESH
    assert check(fresh.memory, tree) is None
    tree.files["tests/a.py"] = "def test_sum(): 2"
    drifted = check(fresh.memory, tree)
    assert drifted is not None and drifted.memory.anchor_state is AnchorState.DRIFTED and drifted.memory.is_shown
    tree.files["tests/a.py"] = "def test_other(): 2"
    renamed = check(drifted.memory, tree)
    assert renamed is not None and not renamed.memory.is_shown
    assert replace(renamed.memory, pinned=True).is_shown
    tree.files["tests/a.py"] = "def test_sum(): 1"
    back = check(renamed.memory, tree)
    assert back is not None and back.memory.anchors == fresh.memory.anchors and back.memory.version == 5


def test_what_was_never_there_is_not_anchored() -> None:
    """A build's output, or another place's path, can't be told from what was removed."""
    assert check(USAGE, Files()) is None
