"""A small coding agent that really runs the commands its model asks for, in Claude Code's wire shape.

It is what the demonstration and the tests run where the real Claude Code is not at hand: POST /v1/messages with
streaming, four system blocks of which the first differs in every request, one shell tool, the whole history resent
each time, one cache breakpoint in the newest message, identity in `X-Claude-Code-Session-Id`, `x-claude-code-prompt-id`
and `metadata.user_id`. It finds the proxy and the certificates in the environment, as every agent does. A session that
is named again goes on where it stopped, as with `claude --resume`: its history is kept in a file below HOME.

    python -m spanlore_proxy.demo.agent PROMPT [--session UUID] [--model NAME]
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson

API_URL = "https://api.anthropic.com/v1/messages?beta=true"
VERSION = "2.1.332"
"""Of the Claude Code whose wire shape this is."""
MAX_STEPS = 20
ATTEMPTS = 3
COMMAND_TIMEOUT_S = 60
HISTORY_FOLDER = ".spanlore-demo-agent"
BASH = {
    "name": "Bash",
    "description": "Executes a given bash command in the working directory and returns its output.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command to execute"}},
        "required": ["command"],
    },
}
GUIDE = (
    "You are an interactive agent that helps with software engineering tasks. Use the tools available to you.\n"
    "Read before you change. Run the project's tests before you say that something works. Keep answers short; your "
    "output is shown on a command line.\n"
) * 6
"""Long enough that the prompt cache has something to hold."""


class AgentError(RuntimeError):
    """The model could not be reached, or answered with an error that a retry does not mend."""


@dataclass(slots=True)
class Conversation:
    """One session: what was said so far, and who says it."""

    session_id: str
    model: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    prompt_id: str = ""
    previous_message_id: str | None = None

    def headers(self) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "user-agent": f"claude-cli/{VERSION} (external, sdk-cli)",
            "x-app": "cli",
            "anthropic-version": "2023-06-01",
            "x-api-key": "sk-ant-api03-demonstration-only",
            "x-claude-code-session-id": self.session_id,
            "x-claude-code-prompt-id": self.prompt_id,
            "x-claude-code-request-class": "main",
            "x-client-request-id": str(uuid.uuid4()),
        }

    def body(self) -> bytes:
        """The request, serialised as JSON.stringify would."""
        identity = {"device_id": "0" * 64, "account_uuid": "", "session_id": self.session_id}
        document = {
            "model": self.model,
            "max_tokens": 32000,
            "stream": True,
            "system": self._system(),
            "messages": [*self.messages[:-1], _with_breakpoint(self.messages[-1])],
            "tools": [BASH],
            "metadata": {"user_id": orjson.dumps(identity).decode()},
            "diagnostics": {"previous_message_id": self.previous_message_id},
        }
        return orjson.dumps(document)

    def _system(self) -> list[dict[str, Any]]:
        billing = f"x-anthropic-billing-header: cc_version={VERSION}; cc_entrypoint=sdk-cli; "
        here = f"# Environment\n - Primary working directory: {Path.cwd()}\n - Platform: {platform.system().lower()}\n"
        return [
            {
                "type": "text",
                "text": f"{billing}cc_prev_req={self.previous_message_id}; cc_prompt_id={self.prompt_id};",
            },
            {"type": "text", "text": "You are Claude Code, Anthropic's official CLI for Claude."},
            {"type": "text", "text": GUIDE, "cache_control": {"type": "ephemeral", "scope": "global"}},
            {"type": "text", "text": here, "cache_control": {"type": "ephemeral"}},
        ]


class StreamedMessage:
    """The assistant message of one stream, put together event by event."""

    def __init__(self) -> None:
        self.id = ""
        self.stop_reason: str | None = None
        self.error: dict[str, Any] | None = None
        self.is_complete = False
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, str] = {}

    @property
    def content(self) -> list[dict[str, Any]]:
        return [self._blocks[index] for index in sorted(self._blocks)]

    def take(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self.id = event["message"]["id"]
            case "content_block_start":
                self._blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                self._delta(event["index"], event["delta"])
            case "content_block_stop" if event["index"] in self._json:
                self._blocks[event["index"]]["input"] = orjson.loads(self._json[event["index"]] or "{}")
            case "message_delta":
                self.stop_reason = event["delta"]["stop_reason"]
            case "message_stop":
                self.is_complete = True
            case "error":
                self.error = event["error"]

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        match delta["type"]:
            case "text_delta":
                self._blocks[index]["text"] += delta["text"]
            case "thinking_delta":
                self._blocks[index]["thinking"] += delta["thinking"]
            case "signature_delta":
                self._blocks[index]["signature"] += delta["signature"]
            case "input_json_delta":
                self._json[index] = self._json.get(index, "") + delta["partial_json"]


async def run_turn(client: aiohttp.ClientSession, conversation: Conversation, prompt: str) -> str:
    """One prompt until the model stops asking for tools; its last words.

    Raises:
        AgentError: the model could not be reached.
    """
    conversation.prompt_id = str(uuid.uuid4())
    conversation.messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
    for _ in range(MAX_STEPS):
        answer = await infer(client, conversation)
        conversation.previous_message_id = answer.id
        conversation.messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block["type"] == "tool_use"]
        said = "\n".join(block["text"] for block in answer.content if block["type"] == "text")
        if said:
            show(f"  model  {said}")
        if not calls:
            return said
        results = await asyncio.gather(*(execute(call) for call in calls))
        conversation.messages.append({"role": "user", "content": results})
    raise AgentError(f"the model still asks for tools after {MAX_STEPS} steps")


async def infer(client: aiohttp.ClientSession, conversation: Conversation) -> StreamedMessage:
    """One model call, retried as Claude Code does: the same body, a new client request id."""
    body, fault = conversation.body(), ""
    for attempt in range(ATTEMPTS):
        await asyncio.sleep(0.2 * attempt)
        try:
            async with client.post(API_URL, data=body, headers=conversation.headers()) as response:
                if response.status == 200:
                    message = await _read(response)
                    if message.is_complete:
                        return message
                    fault = f"the stream broke off: {message.error}"
                    continue
                fault = f"HTTP {response.status}: {(await response.text())[:300]}"
                if response.status not in (408, 429, 500, 502, 503, 504, 529):
                    break
        except (aiohttp.ClientError, TimeoutError) as error:
            fault = f"{type(error).__name__}: {error}"
    raise AgentError(fault)


async def execute(call: dict[str, Any]) -> dict[str, Any]:
    """Runs one tool call in a shell; the result in Claude Code's words (`Exit code N` and is_error)."""
    command = str(call["input"].get("command", ""))
    show(f"  $      {command}")
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), COMMAND_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        output, _ = await process.communicate()
    text, code = output.decode("utf-8", "replace").strip(), process.returncode
    for line in text.splitlines()[-3:]:
        show(f"         {line}")
    return {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": text if code == 0 else f"Exit code {code}\n{text}",
        "is_error": code != 0,
    }


def show(line: str) -> None:
    """What the agent does, for whoever watches."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def converse(prompt: str, conversation: Conversation) -> None:
    """One turn, through the proxy that the environment names."""
    async with aiohttp.ClientSession(trust_env=True, timeout=aiohttp.ClientTimeout(total=120)) as client:
        await run_turn(client, conversation, prompt)


def resume(session_id: str, model: str, folder: Path) -> Conversation:
    """The session as it was left, or a new one."""
    conversation = Conversation(session_id, model)
    try:
        kept = orjson.loads((folder / f"{session_id}.json").read_bytes())
    except FileNotFoundError:
        return conversation
    conversation.messages, conversation.previous_message_id = kept["messages"], kept["previous_message_id"]
    return conversation


def keep(conversation: Conversation, folder: Path) -> None:
    """Writes the session's history for `resume`."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"messages": conversation.messages, "previous_message_id": conversation.previous_message_id}
    (folder / f"{conversation.session_id}.json").write_bytes(orjson.dumps(kept))


def _with_breakpoint(message: dict[str, Any]) -> dict[str, Any]:
    *blocks, last = message["content"]
    return {**message, "content": [*blocks, {**last, "cache_control": {"type": "ephemeral"}}]}


async def _read(response: aiohttp.ClientResponse) -> StreamedMessage:
    message = StreamedMessage()
    async for line in response.content:
        if line.startswith(b"data:"):
            message.take(orjson.loads(line[5:]))
    return message


def main() -> int:
    """Exit code 0 when the turn came to its end."""
    parser = argparse.ArgumentParser(prog="spanlore_proxy.demo.agent", description="The demonstration's agent.")
    parser.add_argument("prompt")
    parser.add_argument("--session", default="", help="Session id, a UUID; a fresh one if not given.")
    parser.add_argument("--model", default="claude-sonnet-5-5")
    options = parser.parse_args()
    folder = Path.home() / HISTORY_FOLDER
    conversation = resume(options.session or str(uuid.uuid4()), options.model, folder)
    try:
        asyncio.run(converse(options.prompt, conversation))
    except AgentError as error:
        sys.stderr.write(f"agent: {error}\n")
        return 1
    keep(conversation, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
