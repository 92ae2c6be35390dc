"""One codec per dialect."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from spanlore.genai.inference import Dialect
from spanlore.genai.messages import ToolCall
from spanlore_proxy.wire.codecs import CODECS, fold_exchange, learn_request, read_again, read_request
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End, Exchange
from spanlore_proxy.wire.history import Histories
from spanlore_proxy.wire.request import MalformedRequestError
from spanlore_proxy.wire.response import WireResponse
from support import recordings


def exchange(body: bytes, end: End, status: int | None = 200) -> Exchange:
    return Exchange(
        id="0" * 16,
        method="POST",
        scheme="https",
        host="api.anthropic.com",
        port=443,
        path="/v1/messages",
        request_headers=(),
        response_headers=(("content-type", "text/event-stream; charset=utf-8"),),
        request_body=b"",
        response_body=body,
        status_code=status,
        start_time_ns=1,
        first_chunk_time_ns=None,
        end_time_ns=2,
        end=end,
    )


def test_a_whole_exchange() -> None:
    """An exchange folds as its body does."""
    body = recordings.anthropic("sse_thinking").body
    fold = CODECS[Dialect.ANTHROPIC_MESSAGES].fold_response

    assert fold_exchange(exchange(body, End.COMPLETE), Dialect.ANTHROPIC_MESSAGES) == fold(
        body, "text/event-stream", 200, False
    )


def test_who_went_away() -> None:
    """A cut answer says whether the client or the stream ended it, and keeps what came."""
    body = recordings.anthropic("sse_thinking").body[:1500]
    gone = fold_exchange(exchange(body, End.CLIENT_GONE), Dialect.ANTHROPIC_MESSAGES)
    cut = fold_exchange(exchange(body, End.UPSTREAM_CLOSED), Dialect.ANTHROPIC_MESSAGES)

    assert gone.error is not None and gone.error.type == "client_gone"
    assert cut.error is not None and cut.error.type == "stream_cut"
    assert gone.output == cut.output != ()
    assert not gone.is_complete


def test_no_response_at_all() -> None:
    """An upstream that could not be reached is a connection error without a status."""
    response = fold_exchange(exchange(b"", End.UPSTREAM_UNREACHABLE, None), Dialect.ANTHROPIC_MESSAGES)

    assert response.error is not None
    assert (response.error.type, response.error.status_code, response.is_complete) == ("connection", None, False)


def test_a_client_that_left_after_the_end() -> None:
    """An answer that had come whole stays whole, whatever the connection did next."""
    body = recordings.anthropic("sse_thinking").body
    whole = exchange(body, End.COMPLETE)

    assert fold_exchange(replace(whole, end=End.CLIENT_GONE), Dialect.ANTHROPIC_MESSAGES) == fold_exchange(
        whole, Dialect.ANTHROPIC_MESSAGES
    )


def test_what_the_path_says() -> None:
    """A request whose model stands in its path has it all the same."""
    endpoint = recognise("POST", "host", "/v1beta/models/gemini-2.5-pro:streamGenerateContent")
    assert endpoint is not None
    request = read_request(b'{"contents": []}', endpoint)

    assert (request.model, request.is_streaming) == ("gemini-2.5-pro", True)


def test_ids_for_calls_without() -> None:
    """Where a dialect's calls have no ids, the exchange gives them those that the next request will have."""
    recording = recordings.of("gemini", "array_tool_no_id")
    endpoint = recognise("POST", "host", "/v1beta/models/m:streamGenerateContent")
    assert endpoint is not None
    request = read_request(recordings.request_of("gemini", "array_tool_no_id"), endpoint)
    whole = exchange(recording.body, End.COMPLETE)

    assert call_ids(fold_exchange(whole, Dialect.GEMINI)) == [""]
    assert call_ids(fold_exchange(whole, Dialect.GEMINI, request)) != [""]


def call_ids(response: WireResponse) -> list[str]:
    return [part.id for message in response.output for part in message.parts if isinstance(part, ToolCall)]


MODEL_PATH = "/v1beta/models/gemini-x:streamGenerateContent"
LONG = "x" * 999
PLAIN_TALK: list[object] = [{"role": ("user", "assistant")[n % 2], "content": f"{n}{LONG}"} for n in range(12)]


def gemini_talk() -> list[object]:
    """Calls without ids, whose ids come of what was said before them."""
    talk: list[object] = [{"role": "user", "parts": [{"text": LONG}]}]
    for n in range(6):
        call = {"functionCall": {"name": "run", "args": {"n": n, "x": LONG}}}
        talk += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [{"functionResponse": {"name": "run"}}]}]
    return talk


@pytest.mark.parametrize(
    ("path", "key", "said"),
    [
        ("/v1/messages", "messages", PLAIN_TALK),
        ("/v1/chat/completions", "messages", PLAIN_TALK),
        ("/v1/responses", "input", PLAIN_TALK),
        (MODEL_PATH, "contents", gemini_talk()),
    ],
)
def test_a_known_history_makes_no_difference(path: str, key: str, said: list[object]) -> None:
    """With or without what earlier bodies said, a request is the same, and so is a refusal."""
    endpoint = recognise("POST", "host", path)
    assert endpoint is not None
    histories = Histories()
    for count in (8, 10, 12):
        body = orjson.dumps({"model": "m", key: said[:count], "stream": True})
        request = read_request(body, endpoint, histories)
        learn_request(body, request, histories)

        assert request == read_request(body, endpoint)
    assert len(histories) == 1
    for wrong in (body[:-1], body[:-1] + b',"%s":1,"x":}' % key.encode(), b"[]"):
        with pytest.raises(MalformedRequestError):
            read_request(wrong, endpoint, histories)


@pytest.mark.parametrize(
    ("dialect", "key"),
    [
        (Dialect.ANTHROPIC_MESSAGES, "messages"),
        (Dialect.OPENAI_RESPONSES, "input"),
        (Dialect.GEMINI, "contents"),
        (Dialect.BEDROCK, "messages"),
    ],
)
def test_a_body_read_again_is_what_it_says(dialect: Dialect, key: str) -> None:
    """Whatever is remembered: with a byte changed deep in what was said before, it says that."""
    histories = Histories()
    for count in (8, 10, 12):
        body = orjson.dumps({"model": "m", key: PLAIN_TALK[:count]})
        assert read_again(body, dialect, histories) == orjson.loads(body)
    for place in range(0, len(body), 97):
        other = body[:place] + b"y" + body[place + 1 :] if body[place : place + 1] == b"x" else body
        assert read_again(other, dialect, histories) == orjson.loads(other)
    with pytest.raises(ValueError, match="unexpected"):
        read_again(body[:-1], dialect, histories)


_ODD: tuple[object, ...] = (None, True, 1.5, "x", [], {}, [1], {"a": 1}, {"type": ["q"]}, ["a"], {"role": {}})


def _mutated(value: object, rng: random.Random) -> object:
    """The value with about every fifteenth part replaced by something of another type."""
    if rng.random() < 0.065:
        return rng.choice(_ODD)
    if isinstance(value, dict):
        return {key: _mutated(item, rng) for key, item in value.items()}
    return [_mutated(item, rng) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", sorted(recordings.ROOT.rglob("*.request.json")), ids=lambda path: path.name)
def test_wrong_types_anywhere_in_a_request(path: Path) -> None:
    """A request whose fields have other types than the API's is read as far as it can be, or refused as malformed."""
    rng = random.Random(path.name)
    document = orjson.loads(path.read_bytes())
    for codec in CODECS.values():
        for _ in range(30):
            try:
                request = codec.parse_request(orjson.dumps(_mutated(document, rng)))
            except MalformedRequestError:
                continue
            for message in request.raw_messages:
                codec.message_digest(message)
                codec.decode_message(message)
            codec.decode_system(request)
            codec.decode_tools(request)
