"""Session files and cassettes as requests: histories that grow as an agent's do, on both APIs, with nothing lost."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from spanlore.genai.inference import Dialect
from spanlore_proxy.bench import cache
from spanlore_proxy.bench.cache_recordings import MIN_REQUESTS, cassettes_below, transcripts_below

STEPS = MIN_REQUESTS + 5


def line(number: int, kind: str, message: dict[str, Any]) -> str:
    """A line of one of Claude Code's session files."""
    stamp = f"2026-11-30T10:{number // 60:02}:{number % 60:02}.000Z"
    about = {"type": kind, "uuid": f"u{number}", "sessionId": "s", "timestamp": stamp, "version": "2.1.332"}
    return json.dumps({**about, "message": message})


def session(folder: Path) -> Path:
    """A session of many commands, some of which fail."""
    lines = [line(0, "user", {"role": "user", "content": "Mend the tests of the shop package, please."})]
    for step in range(STEPS):
        call = {"type": "tool_use", "id": f"t{step}", "name": "Bash", "input": {"command": f"pytest -q tests/{step}"}}
        failed = step % 9 == 3
        output = f"Exit code 4\nImportError: No module named 'shop{step}'" if failed else f"{step} passed " + "x" * 900
        result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": output, "is_error": failed}
        answer = {"role": "assistant", "id": f"msg_{step}", "model": "claude-x", "content": [call]}
        lines.append(line(2 * step + 1, "assistant", answer))
        lines.append(line(2 * step + 2, "user", {"role": "user", "content": [result]}))
    path = folder / "session.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def cassette(folder: Path) -> None:
    """Two calls of the Messages API, as pytest's VCR records them."""
    body = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    more = [*body["messages"], {"role": "assistant", "content": "yes"}, {"role": "user", "content": "go"}]  # type: ignore[misc]
    interactions = [
        {
            "request": {
                "method": "POST",
                "uri": "https://api.anthropic.com/v1/messages",
                "body": json.dumps({**body, "messages": messages}),
                "headers": {"content-type": ["application/json"]},
            },
            "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}},
        }
        for messages in (body["messages"], more)
    ]
    (folder / "calls.yaml").write_text(json.dumps({"interactions": interactions, "version": 1}))


def test_a_session_file_is_requests_of_both_apis(tmp_path: Path) -> None:
    """Each begins as the one before ended; the failures have memories that answer them."""
    session(tmp_path)
    (tmp_path / "other.json").write_text("{}")
    messages, chat = transcripts_below(tmp_path)
    histories = [orjson.loads(body)["messages"] for body in chat.bodies]

    assert (messages.dialect, chat.dialect) == (Dialect.ANTHROPIC_MESSAGES, Dialect.OPENAI_CHAT)
    assert len(messages.bodies) == len(chat.bodies) == STEPS
    assert all(after[: len(before)] == before for before, after in itertools.pairwise(histories))
    assert 1 <= len(messages.memories) <= 6


def test_recorded_sessions_lose_nothing(tmp_path: Path) -> None:
    """All of it, rewritten by the proxy's own code: block and hints in it, nothing out of the cache, no alarm."""
    session(tmp_path)
    cassette(tmp_path)
    ledgers = tmp_path / "ledgers"
    ledgers.mkdir()
    rows = cache.measure_recordings(ledgers, tmp_path, sessions=4)
    [cassettes] = cassettes_below(tmp_path)

    assert [row["what"] for row in rows] == [
        "breakpoints, 1 session files",
        "automatic prefix, 1 session files",
        "breakpoints, 1 cassettes",
    ]
    assert len(cassettes.bodies) == 2
    assert cache.judge(rows[:2])["within_budget"]
    assert [row["requests injected count"] for row in rows[:2]] == [STEPS, STEPS]
    assert rows[0]["direct read_share"] == pytest.approx(rows[0]["injected read_share"], abs=0.001)
