"""The item types of the Responses API, by who made them and where they run."""

from __future__ import annotations

from typing import Any, Final

CLIENT_CALLS: Final = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call",
     "tool_search_call"}
)  # fmt: skip
"""The model asks, the client runs. `shell_call` and `tool_search_call` may also run there: `is_server_side`."""

CLIENT_RESULTS: Final = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output",
     "apply_patch_call_output", "computer_call_output", "tool_search_output"}
)  # fmt: skip
"""What the client answered; `shell_call_output` and `tool_search_output` may also come from the provider."""

SERVER_CALLS: Final = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "program",
     "x_search_call", "document_search_call"}
)  # fmt: skip
"""Ran at the provider, within the response; call and result in one item, but for `program`."""

SERVER_RESULTS: Final = frozenset({"program_output"})

MODEL_ITEMS: Final = frozenset(
    {*CLIENT_CALLS, *SERVER_CALLS, *SERVER_RESULTS, "reasoning", "mcp_list_tools", "mcp_approval_request"}
)
"""Items that the model's side made; a `message` says by its role."""

OTHER_ITEMS: Final = frozenset(
    {"message", "item_reference", "compaction", "context_compaction", "compaction_summary", "compaction_trigger",
     "additional_tools", "mcp_approval_response", "configuration_update", "agent_message"}
)  # fmt: skip
"""`agent_message`: what one of Codex's agents writes to another; the words themselves are sealed."""
COMPACTIONS: Final = frozenset({"compaction", "context_compaction", "compaction_summary"})
"""A summary in place of what went before, mostly encrypted."""

KNOWN_ITEMS: Final = frozenset({*MODEL_ITEMS, *CLIENT_RESULTS, *OTHER_ITEMS})
KNOWN_CONTENT: Final = frozenset(
    {"input_text", "output_text", "text", "refusal", "input_image", "input_file", "input_audio", "input_video",
     "output_audio", "audio", "output_image", "reasoning_text", "summary_text", "computer_screenshot"}
)  # fmt: skip


def kind_of(item: dict[str, Any]) -> str:
    """The item's type; `message` for the short form that has only role and content."""
    type_ = item.get("type")
    if isinstance(type_, str):
        return type_
    return "message" if "role" in item else ""


def is_server_side(item: dict[str, Any]) -> bool:
    """Whether a call that could be either ran at the provider: in its container, or marked so."""
    if item.get("execution") == "server":
        return True
    environment = item.get("environment")
    kind = environment.get("type") if isinstance(environment, dict) else None
    return isinstance(kind, str) and kind.startswith("container")


def is_of_model(item: dict[str, Any], server_calls: frozenset[str] | set[str]) -> bool:
    """Whether the model's side made the item; `server_calls`: ids of calls that ran at the provider."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    if kind in CLIENT_RESULTS:
        return item.get("execution") == "server" or str(item.get("call_id")) in server_calls
    return kind in MODEL_ITEMS
