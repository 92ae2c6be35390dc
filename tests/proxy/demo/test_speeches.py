"""Which API the scripted model server takes a request for."""

import pytest

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.speeches import speech_of

GEMINI = "/v1beta/models/gemini-2.5-pro:"


def received(path: str, body: bytes = b"{}", method: str = "POST") -> ReceivedRequest:
    return ReceivedRequest(method, path, (), body, 0, "req_1")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/v1/messages?beta=true", "messages"),
        ("/openai/v1/chat/completions", "messages"),
        ("/v1/responses", "input"),
        (GEMINI + "streamGenerateContent?alt=sse", "contents"),
        (GEMINI + "generateContent", "contents"),
    ],
)
def test_path_decides(path: str, key: str) -> None:
    """Each API is known by its path, whatever stands before it."""
    speech = speech_of(received(path))

    assert speech is not None
    assert speech.history_key == key


def test_side_calls_are_no_inferences() -> None:
    """Another path, or a GET (a WebSocket's upgrade), is none."""
    assert speech_of(received("/v1/messages/count_tokens")) is None
    assert speech_of(received("/v1/responses", method="GET")) is None


def test_stream_and_model_are_where_the_api_has_them() -> None:
    """In the body, but in Gemini's path."""
    whole, streamed = received(GEMINI + "generateContent"), received(GEMINI + "streamGenerateContent?alt=sse")
    asked = received("/v1/responses", b'{"model": "m", "stream": true}')

    assert [speech.is_streamed(one) for one in (whole, streamed, asked) if (speech := speech_of(one))] == [
        False,
        True,
        True,
    ]
    assert [speech.model(one) for one in (whole, asked) if (speech := speech_of(one))] == ["gemini-2.5-pro", "m"]
