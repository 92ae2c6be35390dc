"""Messages requests."""

from __future__ import annotations

import pytest

from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire.anthropic.request import parse_request
from spanlore_proxy.wire.request import MalformedRequestError
from support import recordings


def test_a_recorded_request() -> None:
    """Model, streaming, parameters, messages and tools are found; messages stay as they came."""
    request = parse_request(recordings.anthropic_request("sse_parallel_tools"))

    assert (request.dialect, request.model) == (Dialect.ANTHROPIC_MESSAGES, "claude-haiku-4-5-20251001")
    assert request.is_streaming
    assert request.parameters == RequestParameters(max_tokens=8192, temperature=1.0)
    assert [message["role"] for message in request.raw_messages] == ["user"]
    assert [tool["name"] for tool in request.raw_tools] == ["pelican_name_generator"]
    assert request.raw_messages is request.document["messages"]


def test_parameters() -> None:
    """Every sampling parameter, and none made up where the type is wrong."""
    body = b"""{"messages": [], "max_tokens": 5, "temperature": 0, "top_p": 0.5, "top_k": 3, "stream": false,
        "stop_sequences": ["a", 1], "output_config": {"effort": "high"}, "system": "be brief"}"""
    wrong = b'{"messages": [], "max_tokens": "5", "temperature": true, "top_k": 1.5, "tools": {}, "model": 7}'

    assert parse_request(body).parameters == RequestParameters(5, 0.0, 0.5, 3, ("a",), "high")
    assert parse_request(body).raw_system == "be brief"
    assert not parse_request(body).is_streaming
    assert parse_request(wrong).parameters == RequestParameters()
    assert (parse_request(wrong).raw_tools, parse_request(wrong).model) == ([], None)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"{}", b'{"messages": {}}', b'{"messages": ["hi"]}', b"\x1f\x8b\x08", b"[" * 100_000],
)
def test_what_is_no_request(body: bytes) -> None:
    """A body that is not a request is the client's fault, by name."""
    with pytest.raises(MalformedRequestError):
        parse_request(body)


def test_half_an_emoji() -> None:
    """A tool's output that was cut inside an emoji does not cost the request."""
    body = rb'{"messages": [{"role": "user", "content": "cut \ud83d"}]}'

    assert parse_request(body).raw_messages[0]["content"] == "cut \ufffd"
