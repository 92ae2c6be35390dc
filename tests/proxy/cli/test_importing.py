"""`spanlore import` against a real collector."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanlore.spans.place import Workplace
from spanlore.transcripts.reading import read_transcript
from spanlore_proxy.cli.importing import run
from spanlore_proxy.demo.store_view import wait_until
from spanlore_proxy.importers.collecting import CollectorLink
from spanlore_proxy.importers.replay import spans_of
from support.collecting import Collecting, collecting


def claude_session(folder: Path) -> Path:
    """A failing command, its fix, and what the person said of it."""
    lines: list[dict[str, object]] = []

    def add(kind: str, content: object, **message: object) -> None:
        second = len(lines)
        lines.append(
            {
                "type": kind,
                "sessionId": "11111111-2222-3333-4444-555555555555",
                "timestamp": f"2026-01-01T00:00:{second:02}Z",
                "cwd": str(folder),
                "message": {"role": kind, "content": content} | message,
            }
        )

    def ask(id_: str, command: str) -> None:
        use = {"type": "tool_use", "id": f"toolu_{id_}", "name": "Bash", "input": {"command": command}}
        add(
            "assistant",
            [use],
            id=f"msg_{id_}",
            model="claude-sonnet-4-5",
            usage={"input_tokens": 5, "output_tokens": 1},
        )

    def answer(id_: str, text: str, *, fails: bool = False) -> None:
        block = {"type": "tool_result", "tool_use_id": f"toolu_{id_}", "content": text, "is_error": fails}
        add("user", [block])

    add("user", "run the tests")
    ask("1", "rtk bun test")
    answer("1", "Exit code 2\nerror: unrecognized subcommand 'bun'", fails=True)
    ask("2", "bun test")
    answer("2", "3 pass")
    add("assistant", [{"type": "text", "text": "They pass."}], id="msg_3", model="claude-sonnet-4-5")
    path = folder / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{torn\n")
    os.utime(path, (time.time() - 3600,) * 2)
    return path


def test_import_then_look_and_learn(tmp_path: Path) -> None:
    """Twice changes nothing; sessions, session and mine work on it."""
    file = claude_session(tmp_path)
    with collecting(tmp_path / "daemon") as collector:
        first = collector.spanlore("import", "claude", str(file), "--repository", "github.com/a/b", "--json")
        (tmp_path / "daemon" / "state" / "imports.json").unlink()
        again = collector.spanlore("import", "claude", str(file), "--repository", "github.com/a/b", "--json")
        sessions = collector.spanlore("sessions", "--json")
        session = collector.spanlore("session", "11111111", "--json")
        mined = collector.spanlore("mine", "--dry-run", "--json")

    told = [json.loads(run.stdout.splitlines()[-1]) for run in (first, again)]
    assert [(one["spans"], one["new_spans"], one["malformed_lines"]) for one in told] == [(6, 6, 1), (6, 0, 1)]
    assert "11111111-2222-3333-4444-555555555555" in sessions.stdout
    assert "rtk bun test" in session.stdout
    assert "unrecognized subcommand" in mined.stdout
    assert max(map(len, first.stdout.splitlines()[:-1])) <= 80


def test_follow_takes_what_is_written_later(tmp_path: Path) -> None:
    """A file that grows is taken up without being asked again, until the command is stopped."""
    file, whole = tmp_path / "s.jsonl", claude_session(tmp_path).read_text().splitlines()
    file.write_text("\n".join(whole[:4]) + "\n")
    with collecting(tmp_path / "daemon") as collector:
        command = [sys.executable, "-m", "spanlore", "import", "claude", str(file), "--follow", "--json"]
        with subprocess.Popen(command, env=collector.environment, stdout=subprocess.PIPE, text=True) as following:
            assert wait_until(lambda: bool(spans_in(collector)), 240)
            file.write_text("\n".join(whole[:6]) + "\n")
            assert wait_until(lambda: len(spans_in(collector)) >= 3, 240)
            following.send_signal(signal.SIGINT)
            told, _ = following.communicate(timeout=300)

    assert following.returncode == 0
    assert json.loads(told.splitlines()[-1])["new_spans"] == 3  # two answers, one tool


def spans_in(collector: Collecting) -> list[Any]:
    sql = "SELECT span_id FROM inferences UNION ALL SELECT span_id FROM tool_calls"
    return collector.reader.rows(sql)


@pytest.mark.parametrize(
    ("agent", "path", "code", "words"),
    [
        ("emacs", ".", 2, "no importer for 'emacs'"),
        ("pi", "missing.jsonl", 2, "there is no missing.jsonl"),
        ("pi", ".", 3, "the daemon is not running"),
    ],
)
def test_what_can_go_wrong(
    agent: str,
    path: str,
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each is said with what to do."""
    (tmp_path / "s.jsonl").write_text("x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path / "config"))

    assert run(agent, [Path(path)], dry_run=False, follow=False, repository="", as_json=False) == code
    assert words in capsys.readouterr().err


def nameless(folder: Path, turns: int) -> Path:
    """pi's: each turn runs one command; the answers have the API's ids."""
    lines: list[object] = [{"type": "session", "id": "pi-orders", "cwd": str(folder), "version": 3}]
    for turn in range(turns):
        call = {"type": "toolCall", "id": f"call_orders{turn}", "name": "bash", "arguments": {"command": "ls"}}
        messages: list[dict[str, object]] = [
            {"role": "user", "content": f"look {turn}"},
            {"role": "assistant", "content": [call], "responseId": f"resp_orders{turn}a"},
            {"role": "toolResult", "toolCallId": f"call_orders{turn}", "content": [{"text": "a"}], "isError": False},
            {"role": "assistant", "content": [{"type": "text", "text": "x"}], "responseId": f"resp_orders{turn}b"},
        ]
        stamp = f"2026-01-01T0{turn}:00:00Z"
        lines += [{"type": "message", "timestamp": stamp, "message": message} for message in messages]
    path = folder / f"orders-{turns}.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    os.utime(path, (time.time() - 3600,) * 2)
    return path


def test_wire_and_file_in_either_order(tmp_path: Path) -> None:
    """pi names no session to the API, so the wire has one of its own: a turn that was captured is not imported, one
    that was imported is not imported again when later ones were captured."""
    one, two = nameless(tmp_path, 1), nameless(tmp_path, 2)
    whole = read_transcript(two.read_bytes())
    groups = spans_of(
        whole, Workplace(harness="pi"), lambda text: (text, 0), session_id="w-orders", is_over=True, start_ns=1
    )
    of_wire = [
        replace(record, attributes={**record.attributes, "spanlore.source": "wire"})
        for group in groups
        for record in group
    ]
    noon_ns = 1767227400 * 10**9  # half past the first turn
    with collecting(tmp_path / "daemon") as collector:
        first = collector.spanlore("import", "pi", str(one), "--json")
        collector.send([record for record in of_wire if record.start_time_ns >= noon_ns])
        again = collector.spanlore("import", "pi", str(two), "--json")
        rows = collector.reader.rows("SELECT count() AS n, uniqExact(response_id) AS ids FROM inferences FINAL")
        ports = json.loads(collector.paths.daemon_file.read_bytes())
        link = CollectorLink(ports["collector_port"], ports["clickhouse_port"], collector.paths.token())
        typed = link.prompts("pi", noon_ns, noon_ns + 10**14)

    found = [json.loads(done.stdout.splitlines()[-1])["new_spans"] for done in (first, again)]
    assert found == [4, 0]
    assert [(prompt.text, prompt.session_id) for prompt in typed] == [("look 1", "w-orders")]
    assert rows == [{"n": 4, "ids": 4}]
