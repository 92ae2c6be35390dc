import io
import json
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from spanlore_collector.cli.app import _deliver
from spanlore_collector.store.api_client import MemoryClient
from support.collector_process import CollectorProcess
from support.stored_session import store_session


def test_sessions_as_table_and_as_json(app: typer.Typer, played: str) -> None:
    """A line for people, an object for scripts."""
    shown = CliRunner().invoke(app, ["sessions", "--repository", played])
    data = json.loads(CliRunner().invoke(app, ["sessions", "--repository", played, "--json"]).output)

    assert shown.exit_code == 0
    assert played[:8] in shown.output
    assert [row["session_id"] for row in data] == [played]


def test_session_by_prefix(app: typer.Typer, played: str) -> None:
    """The tree of the one session whose id begins so."""
    shown = CliRunner().invoke(app, ["session", played[:13]])
    data = json.loads(CliRunner().invoke(app, ["session", played[:13], "--json"]).output)

    assert "✗ Bash" in shown.output
    assert "boom" in shown.output
    assert [tool["outcome"] for tool in data["turns"][0]["chats"][0]["tools"]] == ["failure", "success"]


@pytest.mark.usefixtures("played")
def test_unknown_session_is_refused(app: typer.Typer) -> None:
    """An id that begins no session is exit code 1 with a way on."""
    done = CliRunner().invoke(app, ["session", "no-such-session"])

    assert done.exit_code == 1
    assert "spanlore sessions" in done.stderr


def test_ambiguous_prefix_names_its_sessions(app: typer.Typer, collector: CollectorProcess) -> None:
    """An id that begins several sessions names them."""
    prefix = str(uuid.uuid4())
    ids = {store_session(collector, f"{prefix}-{number}") for number in (1, 2)}
    done = CliRunner().invoke(app, ["session", prefix])

    assert done.exit_code == 1
    assert all(session in done.stderr for session in ids)


def test_no_sessions_of_that_kind(app: typer.Typer, played: str) -> None:
    """Nothing found is no error; it says how to see all."""
    done = CliRunner().invoke(app, ["sessions", "--repository", f"no/{played}"])

    assert done.exit_code == 0
    assert "`spanlore sessions` shows all" in done.stderr


def test_daemon_that_is_down_is_exit_code_3(app: typer.Typer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a daemon there is nothing to read, and the message says how to start it."""
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path))
    done = CliRunner().invoke(app, ["sessions"])

    assert done.exit_code == 3
    assert "spanlore up" in done.stderr


def test_sessions_are_filtered(app: typer.Typer, played: str) -> None:
    """By agent, time and failures; what cannot be read as a time is told."""
    run = CliRunner().invoke
    mine = ["sessions", "--repo", played, "--json"]

    assert len(json.loads(run(app, [*mine, "--agent", "claude-code", "--failed", "--since", "2020-01-01"]).output)) == 1
    assert json.loads(run(app, [*mine, "--agent", "codex"]).output) == []
    assert json.loads(run(app, [*mine, "--since", "2100-01-01"]).output) == []
    assert run(app, [*mine, "--since", "soon"]).exit_code == 2


def test_session_is_filtered(app: typer.Typer, played: str) -> None:
    """Only what failed, only a tool, only a turn."""

    def outcomes(*words: str) -> list[str]:
        data = json.loads(CliRunner().invoke(app, ["session", played, "--json", *words]).output)
        return [tool["outcome"] for turn in data["turns"] for chat in turn["chats"] for tool in chat["tools"]]

    assert outcomes() == ["failure", "success"]
    assert outcomes("--failed") == outcomes("--tool", "pytest") == ["failure"]
    assert outcomes("--turn", "7") == []
    assert outcomes("--turn", "1") == outcomes()


def test_session_is_exported(app: typer.Typer, played: str, collector: CollectorProcess, tmp_path: Path) -> None:
    """As Markdown, and as OTLP that a collector takes again without storing anything twice."""
    run = CliRunner().invoke
    shown = run(app, ["session", played, "--export", "md"]).output
    file = tmp_path / "session.json"
    done = run(app, ["session", played, "--export", "otlp", "-o", str(file)])
    count = f"SELECT count() FROM otel_traces WHERE SpanAttributes['gen_ai.conversation.id'] = '{played}'"
    before = collector.query(count).body
    answer = collector.post_body(file.read_bytes(), **{"Content-Type": "application/json"})
    wrong = run(app, ["session", played, "--export", "otlp", "-o", str(tmp_path / "no" / "file")])

    assert "run the tests" in shown
    assert "Result: failure" in shown
    assert (done.exit_code, done.output) == (0, "")
    assert answer.status == 200
    assert collector.query(count).body == before
    assert (wrong.exit_code, "can't be written" in wrong.stderr) == (1, True)


def test_search(app: typer.Typer, played: str) -> None:
    """Words in what was said, with where and when; nothing found is no error."""
    run = CliRunner().invoke
    shown = run(app, ["search", "--repo", played, "no such table"])
    rows = json.loads(run(app, ["search", "--repo", played, "boom", "--by", "tool", "--json"]).output)
    wrong = run(app, ["search", "x", "--by", "nobody"])

    assert (shown.exit_code, played[:8] in shown.output, "no such table" in shown.output) == (0, True, True)
    assert max(map(len, shown.output.splitlines())) <= 80
    assert [row["session_id"] for row in rows] == [played]
    assert "Nothing like that" in run(app, ["search", "--repo", played, "nowhere-to-be-found"]).stderr
    assert (wrong.exit_code, "user, model, tool" in wrong.stderr) == (2, True)


@pytest.mark.usefixtures("played")
def test_watch_once(app: typer.Typer) -> None:
    """One look, as text and as a line of JSON."""
    shown = CliRunner().invoke(app, ["watch", "--once"])
    data = json.loads(CliRunner().invoke(app, ["watch", "--once", "--json"]).output)

    assert shown.exit_code == 0
    assert set(data) == {"now_ns", "sessions", "events"}


def test_ids_are_completed(app: typer.Typer, played: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From the running daemon's store; without one there is nothing, and no error."""
    environment = {
        "_SPANLORE_COMPLETE": "complete_bash",
        "COMP_WORDS": f"spanlore session {played[:6]}",
        "COMP_CWORD": "2",
    }
    done = CliRunner().invoke(app, [], prog_name="spanlore", env=environment)
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path))
    without = CliRunner().invoke(app, [], prog_name="spanlore", env=environment)

    assert played in done.output
    assert (without.exit_code, without.output.strip()) == (0, "")


def test_a_session_past_its_days_is_its_summary(app: typer.Typer, collector: CollectorProcess) -> None:
    """`session` says so and shows it, `search` finds it, an export is refused."""
    mark = uuid.uuid4().hex
    text = f"Goal: feed the ibex of {mark}\n\nDecisions:\n- never at night"
    times = {"start_time_ns": 10**18, "end_time_ns": 10**18 + 10**10}
    row = {"session_id": f"past-{mark}", **times, "steps": 9, "text": text, "json": '{"goal": "x"}'}
    MemoryClient(collector.url, collector.token).keep_summaries([row])
    shown = CliRunner().invoke(app, ["session", f"past-{mark[:8]}"])
    data = json.loads(CliRunner().invoke(app, ["session", f"past-{mark}", "--json"]).output)
    found = json.loads(CliRunner().invoke(app, ["search", mark, "ibex", "--json"]).output)
    by_summary = json.loads(CliRunner().invoke(app, ["search", mark, "--by", "summary", "--json"]).output)
    exported = CliRunner().invoke(app, ["session", f"past-{mark}", "--export", "md"])

    assert shown.exit_code == 0, shown.stderr
    assert "not in the store any more" in shown.output and "- never at night" in shown.output
    assert (data["session"], data["turns"], data["summary"]["parts"]) == (None, [], {"goal": "x"})
    assert (
        [(hit["session_id"], hit["direction"]) for hit in found]
        == [(f"past-{mark}", "summary")]
        == [(hit["session_id"], hit["direction"]) for hit in by_summary]
    )
    assert "feed the ibex" in CliRunner().invoke(app, ["search", mark]).output
    assert exported.exit_code == 1 and "only its summary is left" in exported.stderr


def test_sessions_past_their_days_are_listed(app: typer.Typer, collector: CollectorProcess) -> None:
    """Said to be past, behind those that are not; none of them failed, as far as anybody knows."""
    repository = f"example.org/{uuid.uuid4().hex}"
    times = {"start_time_ns": 10**18, "end_time_ns": 10**18 + 10**10}
    rows = [
        {"session_id": f"listed-{number}", **times, "steps": 9, "text": "x", "json": "{}", "goal": "feed the gnu"}
        | {"repository": repository, "harness": "codex"}
        for number in range(2)
    ]
    MemoryClient(collector.url, collector.token).keep_summaries(rows)

    def listed(*words: str) -> list[dict[str, Any]]:
        found = CliRunner().invoke(app, ["sessions", "--repo", repository, *words, "--json"])
        return list(json.loads(found.output))

    assert [(row["session_id"], row["title"], row["is_past"]) for row in listed()] == [
        ("listed-0", "feed the gnu", True),
        ("listed-1", "feed the gnu", True),
    ]
    assert len(listed("--limit", "1")) == 1
    assert listed("--failed") == listed("--agent", "pi") == listed("--since", "7d") == []
    shown = CliRunner().invoke(app, ["sessions", "--repo", repository]).output
    assert " past " in shown and "feed the gnu" in shown


@pytest.mark.parametrize(
    ("is_terminal", "shown"), [(True, "\ufffd]52;c;cGF5\ufffd \ufffd[1m"), (False, "\x1b]52;c;cGF5\x07 \x1b[1m")]
)
def test_an_export_does_nothing_to_a_terminal(monkeypatch: pytest.MonkeyPatch, is_terminal: bool, shown: str) -> None:
    """A tool's output may hold what fills the clipboard (OSC 52); a file gets it as it was."""
    out = io.StringIO()
    out.isatty = lambda: is_terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdout", out)
    _deliver("\x1b]52;c;cGF5\x07 \x1b[1m\n", None)

    assert out.getvalue() == f"{shown}\n"
