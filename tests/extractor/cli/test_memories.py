import json
from pathlib import Path

from support.collecting import Collecting
from support.memory_commands import data, spanlore


def test_filters(collector: Collecting, checkout: str) -> None:
    """By kind, status and category; ended ones are listed when they are asked for."""
    kept, gone = (data(collector, "remember", f"run {name} with x")["memory"]["id"] for name in ("one", "two"))
    data(collector, "forget", gone)

    def ids(*words: str) -> list[str]:
        return [item["id"] for item in data(collector, "memories", "--scope", "repo", *words)["memories"]]

    assert ids() == ids("--kind", "explicit") == ids("--status", "active") == [kept]
    assert ids("--kind", "usage") == []
    assert (ids("--category", "convention"), ids("--category", "bugfix")) == ([kept], [])
    assert data(collector, "why", kept)["memory"]["category"] == "convention"
    assert "explicit · convention" in spanlore(collector, "why", kept).stdout
    assert spanlore(collector, "memories", "--category", "x").exit_code == 2
    assert ids("--status", "forgotten") == [gone]
    assert sorted(ids("--all")) == sorted([kept, gone])


def test_out_and_in_again(collector: Collecting, checkout: str, tmp_path: Path) -> None:
    """A file of one's own comes back whole; what was forged is refused."""
    memory = data(collector, "remember", "deploy with make ship")["memory"]
    told = data(collector, "memories", "export", "out.jsonl", "--scope", "repo")
    text = (tmp_path / "out.jsonl").read_text()
    known = data(collector, "memories", "import", "out.jsonl")
    forged = text.replace(memory["id"], "m-000000000000")
    refused = data(collector, "memories", "import", "-", typed=forged)

    assert (told["memories"], (tmp_path / "out.jsonl").stat().st_mode & 0o777) == (1, 0o600)
    assert json.loads(text.splitlines()[1])["id"] == memory["id"]
    assert (known["taken_in"], known["known"]) == (0, 1)
    assert refused["refused"][0]["reason"] == "its id is not that of what it says"
    assert spanlore(collector, "memories", "export", "--scope", "repo").stdout == text
    assert "line 1 is not JSON" in spanlore(collector, "memories", "import", "-", typed="x").stderr


def test_what_a_memory_names_is_looked_for(collector: Collecting, checkout: str, tmp_path: Path) -> None:
    """In this tree: listed as gone at once, kept from agents once checked."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rules.md").write_text("x")
    memory_id = data(collector, "remember", "keep docs/rules.md short")["memory"]["id"]
    fresh = data(collector, "memories", "check")["changed"]
    (tmp_path / "docs" / "rules.md").unlink()
    listed = spanlore(collector, "memories", "--scope", "repo").stdout
    gone = spanlore(collector, "memories", "check").stdout

    assert [item["reason"] for item in fresh] == ["what it names is there"]
    assert "docs/rules.md is gone" in " ".join(listed.split())
    assert "not in the working tree any more: docs/rules.md" in gone
    assert memory_id not in [memory.id for memory in collector.client.snapshot()]
