"""What a scripted model server says to the calls that agents make beside inferences: models, settings, telemetry."""

from __future__ import annotations

import orjson

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.prompt_cache import count_tokens
from spanlore_proxy.demo.replies import Failure, Raw

EMPTY_PREFIXES = (
    "/api/",  # Claude Code: settings, feature flags, telemetry
    "/mcp-registry/",
    "/model-catalog/",
    "/backend-api/",  # codex: plugins, accounts, events
)
"""Answered with an empty JSON object."""


def side_answer(received: ReceivedRequest) -> Raw | Failure:
    """The answer; what is unknown gets the API's own 404."""
    path = received.path.partition("?")[0]
    if received.header("upgrade"):
        # Codex then posts its requests, at once and without a word.
        return Raw(b'{"error":{"message":"no WebSocket here"}}', status=426)
    if path == "/v1/messages/count_tokens":
        return Raw(orjson.dumps({"input_tokens": count_tokens(received.document or {})}))
    if path.endswith(":countTokens"):
        return Raw(orjson.dumps({"totalTokens": len(received.decoded) // 4}))
    if path.endswith("/models"):
        return Raw(b'{"object":"list","data":[],"models":[]}')
    if path.startswith(EMPTY_PREFIXES):
        return Raw(b"{}")
    return Failure(404, "not_found_error", f"Not found: {path}")
