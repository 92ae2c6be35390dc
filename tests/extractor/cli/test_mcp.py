"""`spanlore mcp` as a process, by the SDK's client: over stdio, and over HTTP with the token."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from support.collecting import Collecting


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a remote."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.org/stdio/app.git\n')
    return tmp_path


@pytest.fixture
def url(collector: Collecting, checkout: Path) -> Iterator[str]:
    """Of a server over HTTP."""
    command = [sys.executable, "-m", "spanlore", "mcp", "--http", "--port", "0"]
    process = subprocess.Popen(command, env=collector.environment, cwd=checkout, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=300)


def text_of(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


async def test_stdio(collector: Collecting, checkout: Path) -> None:
    """An agent's way: started in its directory, its repository is known."""
    command = ["-m", "spanlore", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=command, env=collector.environment, cwd=str(checkout))
    async with Client(server) as client:
        made = await client.call_tool("remember", {"text": "The stdio walrus is called Egbert."})
        found = await client.call_tool("session_info", {})

    assert made.is_error is not True, text_of(made)
    assert "example.org/stdio/app" in text_of(made)
    assert "Egbert" in text_of(made)
    assert "example.org/stdio/app" in text_of(found)


async def test_http(collector: Collecting, url: str) -> None:
    """With the token it answers as over stdio; without it, or by a foreign name, nobody is let in."""
    bearer = {"Authorization": f"Bearer {collector.paths.token()}"}
    async with (
        httpx2.AsyncClient(headers=bearer) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        tools = await client.list_tools()
        found = await client.call_tool("session_info", {})
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(headers=accept) as http:
        without = await http.post(url, json=ping)
        wrong = await http.post(url, json=ping, headers={"Authorization": "Bearer x"})
        foreign = await http.post(url, json=ping, headers={**bearer, "Host": "evil.example.com"})

    assert len(tools.tools) == 6
    assert "example.org/stdio/app" in text_of(found)
    assert (without.status_code, wrong.status_code) == (401, 401)
    assert foreign.status_code in (403, 421)


def test_a_taken_port_is_told(collector: Collecting, url: str) -> None:
    """With the option to change it."""
    port = url.split(":")[2].split("/", maxsplit=1)[0]
    command = [sys.executable, "-m", "spanlore", "mcp", "--http", "--port", port]
    done = subprocess.run(command, env=collector.environment, capture_output=True, text=True, timeout=300, check=False)

    assert (done.returncode, "--port" in done.stderr) == (1, True)
