import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from spanlore.settings import Paths
from spanlore_proxy.capture.wire_log import LoggedInsertion, LoggedRequest, WireLog
from spanlore_proxy.cli import explain

BODY = b'{"system":[{"type":"text","text":"guide"}],"messages":[]}'
ADDED = b',{"type":"text","text":"<spanlore-memory>\\nx</spanlore-memory>"}'
OFFSET = BODY.index(b"]")


def logged(identity: str, insertions: tuple[LoggedInsertion, ...] = ()) -> LoggedRequest:
    data = b"".join(item.data.encode() for item in insertions)
    forwarded = BODY[:OFFSET] + data + BODY[OFFSET:]
    return LoggedRequest(
        id=identity,
        time_ns=1_700_000_000 * 10**9,
        method="POST",
        url="https://api.anthropic.com/v1/messages?beta=true",
        upstream="http://127.0.0.1:9100",
        content_encoding="",
        client_bytes=len(BODY),
        client_sha256=hashlib.sha256(BODY).hexdigest(),
        forwarded_bytes=len(forwarded),
        forwarded_sha256=hashlib.sha256(forwarded).hexdigest(),
        skipped="" if insertions else "nothing",
        redactions=0,
        insertions=insertions,
    )


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path / "config"))
    app = typer.Typer()
    explain.register(app)
    app.command("other")(lambda: None)  # one command alone would lose its name
    return app


@pytest.fixture
def log(app: typer.Typer, tmp_path: Path) -> None:
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.ensure()
    log = WireLog(paths.wire_log, max_bytes=10**7, redact=lambda text: (text, 0))
    log.write(logged("aaaa000000000001"), BODY, json.loads(BODY))
    log.write(logged("bbbb000000000002", (LoggedInsertion(OFFSET, ADDED.decode()),)), BODY, json.loads(BODY))
    log.close()


@pytest.mark.usefixtures("log")
def test_untouched_request_is_identical(app: typer.Typer) -> None:
    """Where nothing was added both hashes are the same, and the reason is told."""
    done = CliRunner().invoke(app, ["explain", "aaaa"])

    assert done.exit_code == 0
    assert "identical: nothing was added: no memory for this repository" in done.output
    assert "(nothing)" in done.output


@pytest.mark.usefixtures("log")
def test_insertion_is_shown_where_it_stands(app: typer.Typer) -> None:
    """The difference is shown with its offset and the bytes around it."""
    done = CliRunner().invoke(app, ["explain", "bbbb000000000002"])

    assert f"+ {len(ADDED)} bytes at byte {OFFSET} of the client's body" in done.output
    assert '+ ,{"type":"text","text":"<spanlore-memory>' in done.output
    assert '"guide"}' in done.output


@pytest.mark.usefixtures("log")
def test_json_holds_both_bodies(app: typer.Typer) -> None:
    """A script can check for itself that the forwarded body is the client's with the insertions."""
    data = json.loads(CliRunner().invoke(app, ["explain", "bbbb", "--json"]).output)

    assert data["body"].encode() == BODY
    assert hashlib.sha256(data["forwarded_body"].encode()).hexdigest() == data["forwarded_sha256"]
    assert data["identical"] is False


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("request_id", ["cccc", "a"])
def test_unknown_and_too_short_ids_are_refused(app: typer.Typer, request_id: str) -> None:
    """An id that is not in the log, or too short to mean one, is exit code 1."""
    assert CliRunner().invoke(app, ["explain", request_id]).exit_code == 1


def test_no_log_yet(app: typer.Typer) -> None:
    """Before the first request there is nothing to explain, and the message says how to begin."""
    done = CliRunner().invoke(app, ["explain", "aaaa"])

    assert done.exit_code == 1
    assert "spanlore run" in done.stderr


def test_what_was_decided_is_told_with_its_reason() -> None:
    """Shown, withheld and skipped, each memory by itself; nothing where nothing was to be decided."""
    decisions = [
        {"kind": "session_block", "state": "shown", "first": True, "memory_ids": ["m-a", "m-b"]},
        {"kind": "task_hint", "state": "withheld", "first": True, "memory_ids": ["m-c"]},
        {"kind": "failure_hint", "state": "skipped", "reason": "contradicted", "memory_ids": ["m-d"]},
    ]
    told = list(explain.lines(dataclasses.replace(logged("aaaa000000000001"), decisions=json.dumps(decisions))))

    assert told[-5:] == [
        "\ndecided, for each memory that could have been shown",
        "  m-a  session block: shown, new",
        "  m-b  session block: shown, new",
        "  m-c  task hint: withheld, to measure the effect",
        "  m-d  failure hint: skipped, the user's own files or words say otherwise",
    ]
    assert "decided" not in "".join(explain.lines(logged("aaaa000000000001")))


@pytest.mark.parametrize("skipped", [*explain.SKIPPED, "error:ValueError"])
def test_it_reads_at_80_columns(skipped: str) -> None:
    """Whatever the reason and however long a memory; `--json` has the bytes as they are."""
    long = LoggedInsertion(OFFSET, '{"text":"' + "one of many words " * 40 + '\\nx"}')
    for request in (dataclasses.replace(logged("a" * 16), skipped=skipped), logged("b" * 16, (long,))):
        text = "\n".join(explain.lines(request))
        assert max(map(len, text.splitlines())) <= explain.WIDTH
    assert explain.to_json(logged("b" * 16, (long,)))["insertions"][0]["data"] == long.data
