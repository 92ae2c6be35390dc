from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from spanlore.memory.memory import Status
from spanlore.memory.operations import Operation, Verb
from spanlore_extractor.cli.app import commands
from support.collecting import Collecting
from support.memory_commands import data, spanlore
from support.told import START_NS, corrected, failing_tests


def test_mine_list_why_forget(collector: Collecting, checkout: str) -> None:
    """The way of a memory through the commands, evidence opened."""
    for number in (1, 2):
        told = failing_tests(f"{checkout}-{number}", START_NS + number * 10**12, repository=checkout)
        collector.send(told.spans())
    assert spanlore(collector, "mine").exit_code == 0
    [memory] = data(collector, "memories", "--scope", "repo")["memories"]
    why = data(collector, "why", memory["id"][:10])
    shown = spanlore(collector, "why", memory["id"]).stdout
    listed = spanlore(collector, "memories").stdout

    assert memory["status"] == "active"
    assert [event["verb"] for event in why["events"]] == ["added", "reinforced"]
    assert {item["role"] for item in why["evidence"]} == {"failure", "fix"}
    assert why["evidence"][0]["call"]["exit_code"] == 2
    assert "unrecognized subcommand 'bun'" in shown
    assert why["evidence"][0]["trace_id"] in shown
    assert max(map(len, [*shown.splitlines(), *listed.splitlines()])) <= 80
    assert data(collector, "forget", memory["id"])["memory"]["status"] == "forgotten"
    assert data(collector, "memories", "--scope", "repo")["memories"] == []
    assert checkout in [item["scope"] for item in data(collector, "memories", "--all")["memories"]]


def test_a_dry_run_tells_what_was_not_taken(collector: Collecting, checkout: str) -> None:
    """And why."""
    collector.send(corrected(f"{checkout}-dry", "no problem", repository=checkout).spans())
    report = data(collector, "mine", "--dry-run", "--all")

    assert report["dry_run"] is True
    assert "a polite no" in [item["reason"] for item in report["dropped"]]
    assert "not taken" in spanlore(collector, "mine", "--dry-run", "--all").stdout


def test_only_recent_sessions(collector: Collecting, checkout: str) -> None:
    """What --since leaves out stays due."""
    collector.send(corrected(f"{checkout}-old", "never use globals", repository=checkout).spans())
    assert data(collector, "mine", "--since", "2100-01-01")["sessions"] == 0
    assert spanlore(collector, "mine", "--since", "soon").exit_code == 2
    assert data(collector, "mine")["sessions"] >= 1
    assert len(data(collector, "memories", "--scope", "repo")["memories"]) == 1


def test_a_diff_of_two_miners(collector: Collecting, checkout: str) -> None:
    """A memory that another miner made differently shows as changed, one that it made up as dropped; --apply makes it
    so, and undo takes that back."""
    told = corrected(f"{checkout}-diff", "never use globals in this code base", repository=checkout)
    collector.send(told.spans())
    spanlore(collector, "mine")
    [mined] = collector.client.memories(scope=checkout)
    older = replace(mined, text="an older wording", version=mined.version + 1)
    odd = replace(mined, id="m-0dd", version=1)
    collector.client.apply([Operation(Verb.UPDATED, older), Operation(Verb.ADDED, odd)])
    found = data(collector, "mine", "--diff")
    shown = spanlore(collector, "mine", "--diff").stdout
    spanlore(collector, "mine", "--diff", "--apply")
    after = {memory.id: memory for memory in collector.client.memories(scope=checkout)}
    again = data(collector, "mine", "--diff")
    spanlore(collector, "undo")

    assert {"id": mined.id, "fields": ["text"]} in [
        {"id": item["id"], "fields": item["fields"]} for item in found["changed"]
    ]
    assert "m-0dd" in [item["id"] for item in found["dropped"]]
    assert "an older wording" in shown and max(map(len, shown.splitlines())) <= 80
    assert (after[mined.id].text, after["m-0dd"].status) == (mined.text, Status.RETIRED)
    assert checkout not in [item["scope"] for item in [*again["added"], *again["dropped"]]]
    assert {item.id: item.text for item in collector.client.memories(scope=checkout)}[mined.id] == older.text


@pytest.mark.parametrize(
    "command",
    [
        ("mine",),
        ("mine", "--diff"),
        ("memories",),
        ("memories", "check"),
        ("memories", "export"),
        ("why", "m-1"),
        ("remember", "x"),
        ("forget", "m-1"),
        ("edit", "m-1", "--text", "x"),
        ("pin", "m-1"),
        ("unpin", "m-1"),
        ("confirm", "m-1"),
        ("review",),
        ("undo",),
    ],
)
def test_without_a_daemon(command: tuple[str, ...], tmp_path: Path, checkout: str) -> None:
    """Exit code 3, and how to start it."""
    app = typer.Typer()
    commands(app)
    environment = {"SPANLORE_STATE_DIR": str(tmp_path / "state"), "SPANLORE_CONFIG_DIR": str(tmp_path / "config")}
    result = CliRunner().invoke(app, list(command), env=environment)

    assert result.exit_code == 3
    assert "spanlore up" in result.stderr
