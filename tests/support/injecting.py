"""Memories, requests and an injector for the tests of recall and injection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from spanlore.genai.inference import CallClass, Dialect
from spanlore.memory.memory import Kind, Memory, Source, Status, Trigger, memory_id
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import CaptureSettings, InjectionSettings, Settings
from spanlore.signature.failure import failure_signature
from spanlore.spans.place import Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.injector import Injector, Prepared
from spanlore_proxy.injection.ledger import LedgerStore, MemoryLedger
from spanlore_proxy.injection.upstream import UpstreamWatch
from spanlore_proxy.wire.codecs import read_request
from spanlore_proxy.wire.dialect import Endpoint
from spanlore_proxy.wire.dialect import Kind as EndpointKind

SCOPE = "github.com/acme/shop"
NOW_NS = 1_790_000_000_000_000_000
ENDPOINT = Endpoint(Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat", EndpointKind.INFERENCE)
COMMAND = "pytest -q"
OUTPUT = "Exit code 4\nImportError: No module named 'shop'"


def make_memory(name: str = "pytest", **changes: Any) -> Memory:
    """An active usage memory of `SCOPE`; `name` makes its id and its text."""
    values: dict[str, Any] = {
        "kind": Kind.USAGE,
        "source": Source.FAILURE_DELTA,
        "status": Status.ACTIVE,
        "scope": SCOPE,
        "text": f"`{name}` fails here with ImportError; `uv run {name}` is the form that works.",
        "subject": name,
        "slot": "invocation",
        "value": f"uv run {name}",
        "session_count": 3,
        "alpha": 4.0,
        "updated_at_ns": NOW_NS,
        **changes,
    }
    identity = memory_id(values["scope"], values["kind"], name, values["slot"], values["value"])
    return Memory(**{"id": identity, **values})


def failure_trigger(command: str = COMMAND, output: str = OUTPUT, exit_code: int = 4) -> Trigger:
    """The trigger of the failure that `Talk.fail` plays."""
    signature = failure_signature("Bash", command, output, exit_code)
    return Trigger((signature.hash,), signature.program, signature.error_class)


@dataclass
class Talk:
    """A conversation as a client holds it; each step gives the next request's body."""

    system: Any = field(default_factory=lambda: [{"type": "text", "text": "You are an agent."}])
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def ask(self, text: str) -> bytes:
        """The user types."""
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        return self.body()

    def say(self, text: str) -> None:
        """The model answers."""
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": text}]})

    def run(self, output: str, *, is_error: bool = False, command: str = COMMAND) -> bytes:
        """The model calls Bash and the client answers with its output."""
        self.calls += 1
        call = {"type": "tool_use", "id": f"toolu_{self.calls}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": output, "is_error": is_error}
        self.messages.append({"role": "assistant", "content": [call]})
        self.messages.append({"role": "user", "content": [result]})
        return self.body()

    def fail(self, output: str = OUTPUT, command: str = COMMAND) -> bytes:
        """The model calls Bash and it fails."""
        return self.run(output, is_error=True, command=command)

    def body(self) -> bytes:
        """The request as it stands."""
        document = {"model": "claude-x", "messages": self.messages, "system": self.system, "tools": [{"name": "Bash"}]}
        return orjson.dumps(document)


@dataclass
class Rig:
    """An injector with everything it needs, and a client that sends through it."""

    memories: Iterable[Memory] = ()
    injection: InjectionSettings = field(default_factory=lambda: InjectionSettings(withhold_share=0))
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    ledger: LedgerStore = field(default_factory=MemoryLedger)
    clock_ns: Callable[[], int] = lambda: 0
    is_killed: bool = False
    now_ns: int = NOW_NS

    def __post_init__(self) -> None:
        self.snapshot = Snapshot.of(self.memories)
        self.watch = UpstreamWatch()
        self.changed: list[str] = []
        """What of the prefix the proxy was seen to change, in the bodies that were forwarded."""
        self.restart()

    def restart(self) -> None:
        """A new injector over the same ledger."""
        self.injector = Injector(
            Settings(injection=self.injection, capture=self.capture),
            self.ledger,
            lambda: self.snapshot,
            clock_ns=lambda: self.clock_ns(),
            now_ns=lambda: self.now_ns,
            is_killed=lambda: self.is_killed,
        )

    def send(
        self,
        body: bytes,
        identity: Identity | None = None,
        *,
        workplace: Workplace | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        endpoint: Endpoint = ENDPOINT,
    ) -> Prepared:
        """What the proxy would forward."""
        request = read_request(body, endpoint)
        prepared = self.injector.prepare(body, endpoint, request, identity or who(), workplace or WORKPLACE, headers)
        if prepared.watched is not None:
            sent = orjson.loads(prepared.body) if prepared.insertions else request.document
            changed = self.watch.check(prepared.watched, endpoint.dialect, request.document, sent)
            self.changed += [changed] if changed else []
        return prepared


WORKPLACE = Workplace(run_id="run-0123456789ab", harness="claude-code", repository=SCOPE, cwd="/home/u/shop")


def who(call_class: CallClass = CallClass.MAIN, session_id: str | None = "s-1", **changes: Any) -> Identity:
    """Claude Code's identity of a call."""
    return Identity(session_id=session_id, harness="claude-code", call_class=call_class, **changes)


def system_of(body: bytes) -> Any:
    """The system prompt of a body."""
    return orjson.loads(body)["system"]


def log_of(prepared: Prepared) -> list[dict[str, Any]]:
    """The log of placements."""
    log: list[dict[str, Any]] = orjson.loads(prepared.injected.placements_json or "[]")
    return log
