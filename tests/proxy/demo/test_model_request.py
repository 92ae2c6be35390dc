import gzip
import json
from typing import Any

import zstandard

from spanlore_proxy.demo.model_request import ReceivedRequest


def received(document: dict[str, Any] | bytes, **headers: str) -> ReceivedRequest:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    names = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    return ReceivedRequest("POST", "/v1/messages?beta=true", names, body, 0, "req_1")


RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "Exit code 1\nno", "is_error": True}
HINT = {"type": "text", "text": "hint"}
HISTORY = {
    "system": [{"type": "text", "text": "guide"}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
                {"type": "text", "text": "do it"},
            ],
        },
        {"role": "system", "content": "# Environment"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
        },
        {"role": "user", "content": [RESULT, HINT]},
    ],
}


def test_prompt_and_results_of_the_turn() -> None:
    """The newest prompt leaves reminders out, and the results are those since it."""
    request = received(HISTORY)

    assert request.newest_prompt == "do it"
    assert request.results_since_prompt == (RESULT,)


def test_mentions_looks_everywhere_the_model_reads() -> None:
    """System prompt, texts, tool arguments, results and hints are all read."""
    request = received(HISTORY)

    assert all(request.mentions(text) for text in ("guide", "do it", "ls", "Exit code 1", "hint"))
    assert not request.mentions("else")


def test_compressed_and_invalid_bodies() -> None:
    """gzip and zstd bodies are read; what is no JSON object has no document."""
    assert received(gzip.compress(b'{"a": 1}'), content_encoding="gzip").document == {"a": 1}
    assert received(zstandard.compress(b'{"a": 1}'), content_encoding="zstd").document == {"a": 1}
    assert received(b"\x00not gzip", content_encoding="gzip").document is None
    assert received(b'{"messages": [').document is None


def test_session_is_claude_codes_header() -> None:
    """The session is what Claude Code's header says, '' without it."""
    assert received({"messages": []}, x_claude_code_session_id="s1").session_id == "s1"
    assert received({"messages": []}).session_id == ""
