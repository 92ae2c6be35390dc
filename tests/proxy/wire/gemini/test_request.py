"""A Gemini request's body → WireRequest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire.gemini.digest import message_digest
from spanlore_proxy.wire.gemini.parts import decode_message, decode_system, decode_tools
from spanlore_proxy.wire.gemini.request import generate_request, parse_request
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest
from support import recordings


def parse(document: Any) -> WireRequest:
    return parse_request(json.dumps(document).encode())


BODY: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "systemInstruction": {"role": "user", "parts": [{"text": "You code."}]},
    "tools": [{"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": {}}]}, {"googleSearch": {}}],
    "generationConfig": {
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxOutputTokens": 8192,
        "stopSequences": ["END"],
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"},
    },
}


def test_a_request() -> None:
    """Contents, system, tools one by one, parameters; the model stands in the path."""
    request = parse(BODY)

    assert request.dialect is Dialect.GEMINI
    assert request.model is None
    assert request.raw_messages == [{"role": "user", "content": [{"text": "hi"}]}]
    assert [tool.name for tool in decode_tools(request)] == ["read_file", "googleSearch"]
    assert request.parameters == RequestParameters(8192, 1.0, 0.95, 64, ("END",), "HIGH")


def test_snake_case_is_the_same() -> None:
    """Clients made from the protobuf definitions spell every field otherwise."""
    part = {"function_call": {"name": "a", "args": {}}, "thought_signature": "s"}
    config = {"max_output_tokens": 5}
    request = parse(
        {"contents": [{"role": "model", "parts": [part]}], "system_instruction": "S", "generation_config": config}
    )

    assert request.raw_messages[0]["content"][0].keys() == {"functionCall", "thoughtSignature", "id"}
    assert request.raw_system == [{"text": "S"}]
    assert request.parameters.max_tokens == 5


def test_code_assist_nests_the_request() -> None:
    """With a Google login the request stands in an envelope, which names the model; the document is the whole."""
    document = {"model": "gemini-2.5-pro", "project": "p", "user_prompt_id": "s########0", "request": BODY}
    request = parse(document)

    assert request.model == "gemini-2.5-pro"
    assert request.document == document
    assert (request.raw_messages, request.raw_system) == (parse(BODY).raw_messages, parse(BODY).raw_system)


def test_count_tokens_nests_it_too() -> None:
    """As `generateContentRequest`, or as the Code Assist envelope with a model in the nested request."""
    nested = parse({"generateContentRequest": {"model": "models/gemini-2.5-flash", **BODY}})
    enveloped = parse({"request": {"model": "models/gemini-2.5-flash", "contents": BODY["contents"]}})

    assert nested.model == enveloped.model == "gemini-2.5-flash"
    assert nested.raw_messages == enveloped.raw_messages


def test_contents_in_short_forms() -> None:
    """A single content, one without a role, and a bare string are taken as the API takes them."""
    assert parse({"contents": {"parts": {"text": "a"}}}).raw_messages == [{"role": "user", "content": [{"text": "a"}]}]
    assert parse({"contents": ["a"]}).raw_messages == [{"role": "user", "content": [{"text": "a"}]}]


def test_the_interactions_api() -> None:
    """Its input is read as contents."""
    request = parse({"model": "gemini-2.5-flash", "input": "hi", "stream": True, "system_instruction": "S"})

    assert (request.model, request.is_streaming) == ("gemini-2.5-flash", True)
    assert request.raw_messages == [{"role": "user", "content": [{"text": "hi"}]}]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"{}", b'{"content": {"parts": []}}'])
def test_malformed_bodies(body: bytes) -> None:
    """What is no request of these endpoints (embeddings, for one) says so."""
    with pytest.raises(MalformedRequestError):
        parse_request(body)


def test_where_the_contents_stand() -> None:
    """The nested request, or the body itself."""
    assert generate_request({"request": {"contents": []}}) == {"contents": []}
    assert generate_request({"contents": []}) == {"contents": []}


@pytest.mark.parametrize("name", ["array_tool_no_id", "json_parallel_tools", "json_count_tokens"])
def test_recorded_requests(name: str) -> None:
    """Real clients' requests are parsed."""
    assert parse_request(recordings.request_of("gemini", name)).raw_messages


KEYS = st.sampled_from(
    [
        "contents",
        "parts",
        "role",
        "text",
        "functionCall",
        "function_response",
        "name",
        "args",
        "response",
        "id",
        "tools",
        "systemInstruction",
        "generationConfig",
        "request",
        "functionDeclarations",
        "input",
        "type",
        "content",
        "data",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.sampled_from(["model", "user", "text", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=30,
)


@given(JSON)
def test_no_document_raises_anything_else(document: Any) -> None:
    """A body is a request, whose every message can be read, or malformed."""
    try:
        request = parse(document)
    except MalformedRequestError:
        return
    for message in request.raw_messages:
        assert len(message_digest(message)) == 16
        decode_message(message)
    decode_system(request)
    decode_tools(request)
