"""Conversations as clients of each dialect hold them: the same steps, each giving the next request's body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from spanlore.genai.inference import Dialect
from spanlore_proxy.wire.dialect import Endpoint, Kind
from support.injecting import COMMAND, OUTPUT, Talk

ERROR: Final = OUTPUT.partition("\n")[2]
"""What the failing command printed."""
SYSTEM: Final = "You are an agent."


@dataclass
class ChatTalk:
    """Chat Completions as qwen-code writes it, its system prompt a string."""

    system: Any = SYSTEM
    messages: list[dict[str, Any]] = field(default_factory=list)
    last: list[dict[str, Any]] = field(default_factory=list)
    """What the client puts behind everything (aider's second system message)."""
    calls: int = 0

    harness = "qwen-code"
    endpoint = Endpoint(Dialect.OPENAI_CHAT, "openai", "chat", Kind.INFERENCE)

    def ask(self, text: str) -> bytes:
        """The user types."""
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        return self.body()

    def say(self, text: str) -> None:
        """The model answers."""
        self.messages.append({"role": "assistant", "content": text})

    def run(self, exit_code: int = 0, output: str = "ok") -> bytes:
        """The model calls the shell, and the client answers with what it printed."""
        self.calls += 1
        function = {"name": "run_shell_command", "arguments": orjson.dumps({"command": COMMAND}).decode()}
        call = {"id": f"call_{self.calls}", "type": "function", "function": function}
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = f"Command: {COMMAND}\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {exit_code}"
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        return self.body()

    def fail(self) -> bytes:
        """The model calls the shell, and the command fails."""
        return self.run(4, ERROR)

    def document(self) -> dict[str, Any]:
        """The request as it stands."""
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        messages = [*system, *self.messages, *self.last]
        return {"model": "m", "messages": messages, "tools": [{"type": "function", "function": {"name": "f"}}]}

    def body(self) -> bytes:
        """The same as JSON."""
        return orjson.dumps(self.document())


@dataclass
class ResponsesTalk:
    """Responses over HTTP as Codex writes it: no `instructions`, a preamble of developer messages."""

    preamble: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": SYSTEM}]},
        ]
    )
    items: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0
    extra: dict[str, Any] = field(default_factory=dict)
    """More top-level members."""

    harness = "codex"
    endpoint = Endpoint(Dialect.OPENAI_RESPONSES, "openai", "chat", Kind.INFERENCE)

    def ask(self, text: str) -> bytes:
        """The user types."""
        content = [{"type": "input_text", "text": text}]
        self.items.append({"type": "message", "role": "user", "content": content})
        return self.body()

    def say(self, text: str) -> None:
        """The model answers."""
        content = [{"type": "output_text", "text": text}]
        self.items.append({"type": "message", "role": "assistant", "content": content})

    def run(self, exit_code: int = 0, output: str = "ok") -> bytes:
        """The model calls the shell, and the client answers with what it printed."""
        self.calls += 1
        arguments = orjson.dumps({"cmd": COMMAND}).decode()
        call = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": f"c{self.calls}"}
        self.items.append({"type": "reasoning", "summary": [], "encrypted_content": "x"})
        self.items.append(call)
        text = f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {exit_code}\nOutput:\n{output}"
        self.items.append({"type": "function_call_output", "call_id": call["call_id"], "output": text})
        return self.body()

    def fail(self) -> bytes:
        """The model calls the shell, and the command fails."""
        return self.run(4, ERROR)

    def document(self) -> dict[str, Any]:
        """The request as it stands."""
        tools = [{"type": "function", "name": "exec_command"}]
        return {"model": "m", "input": [*self.preamble, *self.items], "tools": tools, "store": False, **self.extra}

    def body(self) -> bytes:
        """The same as JSON."""
        return orjson.dumps(self.document())


@dataclass
class GeminiTalk:
    """generateContent as Gemini CLI writes it; with a Google login the same in Code Assist's envelope."""

    is_nested: bool = False
    system: Any = field(default_factory=lambda: {"role": "user", "parts": [{"text": SYSTEM}]})
    contents: list[dict[str, Any]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    """More members beside the contents."""

    harness = "gemini-cli"
    endpoint = Endpoint(Dialect.GEMINI, "gcp.gemini", "generate_content", Kind.INFERENCE, model="gemini-x")

    def ask(self, text: str) -> bytes:
        """The user types."""
        self.contents.append({"role": "user", "parts": [{"text": text}]})
        return self.body()

    def say(self, text: str) -> None:
        """The model answers."""
        self.contents.append({"role": "model", "parts": [{"text": text}]})

    def run(self, exit_code: int = 0, output: str = "ok") -> bytes:
        """The model calls the shell, and the client answers with what it printed."""
        name = "run_shell_command"
        call = {"functionCall": {"name": name, "args": {"command": COMMAND}}}
        text = f"Output: {output}" + (f"\nExit Code: {exit_code}" if exit_code else "") + "\nProcess Group PGID: 7"
        result = {"functionResponse": {"name": name, "response": {"output": text}}}
        self.contents.append({"role": "model", "parts": [call]})
        self.contents.append({"role": "user", "parts": [result]})
        return self.body()

    def fail(self) -> bytes:
        """The model calls the shell, and the command fails."""
        return self.run(4, ERROR)

    def document(self) -> dict[str, Any]:
        """The request as it stands."""
        system = {} if self.system is None else {"systemInstruction": self.system}
        tools = [{"functionDeclarations": [{"name": "run_shell_command"}]}]
        inner = {"contents": self.contents, **system, "tools": tools, **self.extra}
        return {"model": "gemini-x", "request": inner, "user_prompt_id": "p"} if self.is_nested else inner

    def body(self) -> bytes:
        """The same as JSON."""
        return orjson.dumps(self.document())


@dataclass
class AnthropicTalk:
    """Messages as Claude Code writes it."""

    talk: Talk = field(default_factory=Talk)

    harness = "claude-code"
    endpoint = Endpoint(Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat", Kind.INFERENCE)

    def ask(self, text: str) -> bytes:
        """The user types."""
        return self.talk.ask(text)

    def say(self, text: str) -> None:
        """The model answers."""
        self.talk.say(text)

    def run(self, exit_code: int = 0, output: str = "ok") -> bytes:
        """The model calls the shell, and the client answers with what it printed."""
        text = f"Exit code {exit_code}\n{output}" if exit_code else output
        return self.talk.run(text, is_error=bool(exit_code))

    def fail(self) -> bytes:
        """The model calls the shell, and the command fails."""
        return self.run(4, ERROR)

    def body(self) -> bytes:
        """The request as it stands."""
        return self.talk.body()


type AnyTalk = ChatTalk | ResponsesTalk | GeminiTalk | AnthropicTalk

TALKS: Final[Mapping[str, Callable[[], AnyTalk]]] = {
    "anthropic": AnthropicTalk,
    "chat": ChatTalk,
    "responses": ResponsesTalk,
    "gemini": GeminiTalk,
    "code_assist": lambda: GeminiTalk(is_nested=True),
}


def turns_of(body: bytes) -> list[Any]:
    """The request in the order that a provider's prompt cache reads it: system prompt first, then each turn."""
    document = orjson.loads(body)
    document = document.get("request", document)
    system = [document[key] for key in ("system", "systemInstruction") if key in document]
    turns = next(document[key] for key in ("messages", "input", "contents") if key in document)
    return [*system, *turns]


def texts_of(value: Any) -> list[str]:
    """All texts in a document, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_of(one)]
