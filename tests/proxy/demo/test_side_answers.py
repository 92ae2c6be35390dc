"""What the scripted model server says to everything that is no inference."""

import pytest

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.replies import Failure, Raw
from spanlore_proxy.demo.side_answers import side_answer


def received(path: str, *headers: tuple[str, str]) -> ReceivedRequest:
    return ReceivedRequest("GET", path, headers, b"", 0, "req_1")


@pytest.mark.parametrize("path", ["/api/claude_code/settings", "/backend-api/codex/models?x=1", "/v1/models"])
def test_known_side_calls_get_json(path: str) -> None:
    """Settings, telemetry and lists of models are answered with 200 and JSON."""
    answer = side_answer(received(path))

    assert isinstance(answer, Raw)
    assert answer.status == 200
    assert answer.body.startswith(b"{")


def test_web_sockets_are_refused_as_codex_expects_it() -> None:
    """426, after which Codex posts its requests at once."""
    answer = side_answer(received("/v1/responses", ("upgrade", "websocket")))

    assert isinstance(answer, Raw)
    assert answer.status == 426


def test_everything_else_is_not_found() -> None:
    """The API's own 404."""
    answer = side_answer(received("/nowhere"))

    assert isinstance(answer, Failure)
    assert answer.status == 404
