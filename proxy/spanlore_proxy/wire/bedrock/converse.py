"""Bedrock's Converse shapes in terms of the Messages API, which they follow closely under other names.

Sources: Amazon Bedrock API Reference (Converse, ConverseStream, ContentBlock, TokenUsage).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spanlore.genai.messages import canonical_json

USAGE: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}
"""Converse counts cached input beside `inputTokens`, as the Messages API does."""

STOP_REASONS: Final = {"guardrail_intervened": "refusal", "content_filtered": "refusal"}
"""Where the Messages API has another word."""
MALFORMED: Final = frozenset({"malformed_model_output", "malformed_tool_use"})
"""Stop reasons for which the Messages API has none."""


def messages_usage(usage: Any) -> dict[str, Any]:
    """A TokenUsage under the Messages API's names."""
    return {theirs: usage[ours] for ours, theirs in USAGE.items() if ours in usage} if isinstance(usage, dict) else {}


def messages_message(message: Any) -> dict[str, Any]:
    """A Message under the Messages API's names."""
    content = message.get("content") if isinstance(message, dict) else None
    role = message.get("role") if isinstance(message, dict) else None
    return {"role": role, "content": list(messages_blocks(content))}


def messages_blocks(content: Any) -> Iterator[dict[str, Any]]:
    """Content blocks under the Messages API's names; cache points say nothing and are left out."""
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            yield {"type": "text", "text": block} if isinstance(block, str) else {"type": "block", "value": block}
            continue
        for key, value in block.items():
            if key != "cachePoint":
                yield _block(key, value)


def messages_tools(config: Any) -> list[dict[str, Any]]:
    """A ToolConfiguration's tools under the Messages API's names."""
    tools = config.get("tools") if isinstance(config, dict) else None
    out: list[dict[str, Any]] = []
    for tool in tools if isinstance(tools, list) else ():
        spec = tool.get("toolSpec") if isinstance(tool, dict) else None
        system_tool = tool.get("systemTool") if isinstance(tool, dict) else None
        if isinstance(spec, dict):
            schema = spec.get("inputSchema")
            out.append(
                {
                    "name": spec.get("name"),
                    "description": spec.get("description"),
                    "input_schema": schema.get("json") if isinstance(schema, dict) else schema,
                }
            )
        elif isinstance(system_tool, dict):
            out.append({"type": "system_tool", "name": system_tool.get("name")})
    return out


def _block(key: str, value: Any) -> dict[str, Any]:
    inner = value if isinstance(value, dict) else {}
    match key:
        case "text":
            return {"type": "text", "text": value}
        case "toolUse":
            type_ = inner.get("type") or "tool_use"
            return {"type": type_, "id": inner.get("toolUseId"), "name": inner.get("name"), "input": inner.get("input")}
        case "toolResult":
            return _tool_result(inner)
        case "reasoningContent":
            return _reasoning(inner)
        case "citationsContent":
            texts = [block.get("text") for block in messages_blocks(inner.get("content"))]
            return {"type": "text", "text": "".join(text for text in texts if isinstance(text, str))}
        case "guardContent":
            text = inner.get("text")
            return {"type": "text", "text": text.get("text") if isinstance(text, dict) else ""}
        case "image" | "document":
            return {"type": key, "source": _source(key, inner)}
        case _:
            return {"type": _KNOWN.get(key, key), key: value}


_KNOWN: Final = {"video": "container_upload", "audio": "container_upload", "searchResult": "search_result"}
"""Blocks that are kept as they come → a block type of the Messages API that is kept so, too."""


def _tool_result(result: dict[str, Any]) -> dict[str, Any]:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    parts = [
        {"type": "text", "text": _json_text(block["json"])} if isinstance(block, dict) and "json" in block else None
        for block in blocks
    ]
    texts = [part or next(messages_blocks([block]), {}) for part, block in zip(parts, blocks, strict=True)]
    is_server_side = str(result.get("type") or "").endswith("_result")
    status = result.get("status")
    return {
        "type": "server_tool_result" if is_server_side else "tool_result",
        "tool_use_id": result.get("toolUseId"),
        "content": texts,
        **({} if status is None else {"is_error": status == "error"}),
    }


def _json_text(value: Any) -> str:
    try:
        return canonical_json(value)
    except TypeError:
        return "[nested too deep]"


def _reasoning(inner: dict[str, Any]) -> dict[str, Any]:
    text = inner.get("reasoningText")
    if isinstance(text, dict):
        return {"type": "thinking", "thinking": text.get("text"), "signature": text.get("signature")}
    return {"type": "redacted_thinking", "data": inner.get("redactedContent")}


def _source(kind: str, inner: dict[str, Any]) -> dict[str, Any]:
    source = inner.get("source")
    source = source if isinstance(source, dict) else {}
    format_ = inner.get("format")
    family = "image" if kind == "image" else "application"
    if "text" in source:
        return {"type": "text", "data": source["text"]}
    if isinstance(location := source.get("s3Location"), dict):
        return {"type": "url", "url": location.get("uri")}
    return {"type": "base64", "media_type": f"{family}/{format_}", "data": source.get("bytes")}
