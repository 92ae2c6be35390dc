"""Who made an item, and where it ran."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_proxy.wire.openai_responses.kinds import is_of_model, is_server_side, kind_of


@pytest.mark.parametrize(
    ("item", "kind", "is_models"),
    [
        ({"role": "user", "content": "x"}, "message", False),
        ({"role": "assistant", "content": "x"}, "message", True),
        ({"type": "reasoning"}, "reasoning", True),
        ({"type": "function_call_output", "call_id": "c"}, "function_call_output", False),
        ({"type": "tool_search_output", "execution": "server"}, "tool_search_output", True),
        ({"type": "compaction"}, "compaction", False),
        ({"type": "mcp_approval_response"}, "mcp_approval_response", False),
        ({}, "", False),
    ],
)
def test_who_made_it(item: dict[str, Any], kind: str, is_models: bool) -> None:
    """By its type, a message by its role."""
    assert (kind_of(item), is_of_model(item, frozenset())) == (kind, is_models)


def test_where_it_ran() -> None:
    """In a container or marked as the server's; everything else at the client."""
    assert is_server_side({"type": "shell_call", "environment": {"type": "container_auto"}})
    assert is_server_side({"type": "tool_search_call", "execution": "server"})
    assert not is_server_side({"type": "shell_call", "environment": {"type": "local"}})
