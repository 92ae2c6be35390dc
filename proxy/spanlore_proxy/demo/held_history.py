"""What a scripted Responses server remembers of one WebSocket connection: a client sends its whole input once, and then
only what is new, naming the response that it goes on from."""

from __future__ import annotations

from typing import Any


class HeldHistory:
    """The inputs and answers of one connection."""

    def __init__(self) -> None:
        self._items: dict[str, list[Any]] = {}

    def whole(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message with all the input that the model would get.

        Raises:
            KeyError: it goes on from a response that this connection never gave.
        """
        previous = message.get("previous_response_id")
        earlier = self._items[previous] if previous is not None else []
        given = message.get("input")
        new = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        return {**message, "input": [*earlier, *new]}

    def answered(self, whole: dict[str, Any], response: dict[str, Any]) -> None:
        """A whole message was answered with this response object."""
        self._items[str(response["id"])] = [*whole["input"], *response.get("output", ())]
