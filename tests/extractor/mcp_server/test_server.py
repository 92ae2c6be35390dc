"""The tools by the SDK's own client: in memory, and the guard of the HTTP app."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from spanlore.memory.changes import confirm
from spanlore.settings import Paths, Settings
from spanlore_extractor.mcp_server.desk import Desk
from spanlore_extractor.mcp_server.server import build
from spanlore_extractor.mcp_server.workplace import Workplace
from support.collecting import Collecting

TOOLS = {"remember", "recall", "reflect", "session_info", "switch_context", "forget"}


def client_of(paths: Paths, scope: str = "example.org/mcp/app") -> Client:
    """A client of a server in that repository."""
    return Client(build(lambda directory: Desk(Settings(), paths, Workplace(directory or scope, "main"), time.time_ns)))


def data(result: CallToolResult) -> Any:
    """The result as the model reads it; the structured one is the same."""
    [content] = result.content
    assert isinstance(content, TextContent)
    told = json.loads(content.text)
    assert result.structured_content == told
    return told


async def test_tools_are_described(collector: Collecting) -> None:
    """Six tools, each with a description and described arguments; those that change nothing say so."""
    async with client_of(collector.paths) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert set(tools) == TOOLS
    assert all(tool.description for tool in tools.values())
    assert tools["recall"].annotations is not None and tools["recall"].annotations.read_only_hint is True
    assert tools["forget"].annotations is not None and tools["forget"].annotations.destructive_hint is True
    assert "description" in tools["remember"].input_schema["properties"]["text"]


async def test_through_the_protocol(collector: Collecting) -> None:
    """Remembered, recalled and forgotten by calls; every tool answers with an object. What an agent remembers by itself
    waits for the user."""
    async with client_of(collector.paths) as client:
        made = data(await client.call_tool("remember", {"text": "Deploy with make ship."}))
        before = data(await client.call_tool("recall", {"query": "deploy"}))
        memory = collector.client.memory(made["memory"]["id"])
        assert memory is not None
        collector.client.apply(confirm(memory, [], time.time_ns()))
        found = data(await client.call_tool("recall", {"query": "deploy"}))
        elsewhere = data(await client.call_tool("recall", {"query": "deploy", "directory": "example.org/other"}))
        for name in ("session_info", "switch_context"):
            assert data(await client.call_tool(name, {}))["repository"] == "example.org/mcp/app"
        assert data(await client.call_tool("reflect", {"dry_run": True}))["dry_run"] is True
        refused = await client.call_tool("forget", {"memory_id": made["memory"]["id"]})

    assert (made["remembered"], made["waits"], before["memories"]) == (False, True, [])
    assert [memory["id"] for memory in found["memories"]] == [made["memory"]["id"]]
    assert elsewhere["memories"] == []
    assert refused.is_error is True


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("forget", {"memory_id": "m-no"}, "there is no memory"),
        ("recall", {"limit": 0}, "greater than or equal to 1"),
        ("remember", {}, "Field required"),
    ],
)
async def test_mistakes_are_told_to_the_model(
    collector: Collecting, tool: str, arguments: dict[str, Any], word: str
) -> None:
    """As an error of the tool, in its words, and the server goes on."""
    async with client_of(collector.paths) as client:
        result = await client.call_tool(tool, arguments)
        again = await client.call_tool("recall", {})

    assert result.is_error is True
    assert isinstance(result.content[0], TextContent) and word in result.content[0].text
    assert again.is_error is not True


async def test_a_daemon_that_is_down(tmp_path: Path) -> None:
    """Says how to start it; no crash."""
    async with client_of(Paths(tmp_path, tmp_path)) as client:
        result = await client.call_tool("recall", {})

    assert result.is_error is True
    assert isinstance(result.content[0], TextContent) and "spanlore up" in result.content[0].text
