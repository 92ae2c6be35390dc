"""A collector of its own with as many spans as asked for: numbers and names as in real sessions, no content, since no
panel reads any.

From `COPIED_FROM` sessions on, those of the first and of the last day go the collector's own way, and the days between
are copies of the first that the engine makes (`spanlore_collector.bench.filling`): sending 10,000 took two minutes.
"""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3

from spanlore.genai.messages import Message, Role, Text, ToolCall, canonical_json, message_to_json
from spanlore.otlp.codec import encode_request
from spanlore.semconv import gen_ai, lore
from spanlore.settings import Paths, child_environment
from spanlore.spans.record import SpanKind, SpanRecord, StatusCode

STEPS: Final = 8
SPANS_OF_A_SESSION: Final = 1 + 2 * STEPS
SESSIONS_A_REQUEST: Final = 60
SPANS_A_REQUEST: Final = 500
LONG: Final = "bench-long"
"""Id of the long session."""
TURN_STEPS: Final = 20
DAYS: Final = 30
START_WITHIN_S: Final = 180
STOP_WITHIN_S: Final = 180
"""What it has taken in is written first, which takes a while on a busy machine."""
COPIED_FROM: Final = 1_000
_AGENTS: Final = ("claude-code", "codex", "opencode", "gemini-cli")
_MODELS: Final = ("claude-sonnet-4-5", "gpt-5.1-codex", "claude-haiku-4-5", "gemini-2.5-pro")
_PROGRAMS: Final = ("pytest", "git", "make", "npm", "cargo", "rg", "python3", "docker")


@dataclass(frozen=True, slots=True)
class Filled:
    """The store's doors, and one session in it."""

    clickhouse_url: str
    token: str
    now_ns: int
    spans: int
    session: str
    trace: str
    pid: int
    """Of the collector."""
    api_url: str


@dataclass(frozen=True, slots=True)
class _Door:
    """A running collector."""

    url: str
    clickhouse_url: str
    token: str
    pid: int
    pool: urllib3.PoolManager

    def send(self, spans: Sequence[SpanRecord]) -> None:
        """Has it store them."""
        headers = {**self.pool.headers, "Content-Type": "application/x-protobuf"}
        body = encode_request(list(spans))
        answer = self.pool.request("POST", f"{self.url}/v1/traces", body=body, headers=headers)
        if answer.status != 200:
            raise RuntimeError(f"the collector answers {answer.status}: {answer.data[:300]!r}")


@contextmanager
def filled(folder: Path, spans: int, more: Sequence[SpanRecord] = ()) -> Iterator[Filled]:
    """A collector whose state is below `folder`, until the block ends; it has `more` spans, too.

    Raises:
        RuntimeError: it does not start, or refuses spans.
    """
    now_ns, sessions = time.time_ns(), max(spans // SPANS_OF_A_SESSION, 1)
    sent = range(sessions)
    if sessions >= COPIED_FROM:
        a_day = sessions // DAYS
        with _collector(folder) as door:
            _fill(door, range(a_day), sessions, now_ns)
        _copy(folder, a_day * (DAYS - 1) * SPANS_OF_A_SESSION)
        sent = range(a_day * (DAYS - 1), sessions)
    with _collector(folder) as door:
        _fill(door, sent, sessions, now_ns)
        for low in range(0, len(more), SPANS_A_REQUEST):
            door.send(more[low : low + SPANS_A_REQUEST])
        yield Filled(
            api_url=door.url,
            clickhouse_url=door.clickhouse_url,
            token=door.token,
            now_ns=now_ns,
            spans=sessions * SPANS_OF_A_SESSION,
            session=_session_id(sessions - 1),
            trace=_bytes(sessions - 1, "trace", 16).hex(),
            pid=door.pid,
        )


def _fill(door: _Door, numbers: range, sessions: int, now_ns: int) -> None:
    for low in range(numbers.start, numbers.stop, SESSIONS_A_REQUEST):
        together = range(low, min(low + SESSIONS_A_REQUEST, numbers.stop))
        door.send([span for number in together for span in session(number, sessions, now_ns)])


def _copy(folder: Path, spans: int) -> None:
    """Has the engine copy what the store holds, a day later each, until there are so many spans."""
    store = str(Paths(folder / "config", folder / "state").store_dir)
    command = [sys.executable, "-m", "spanlore_collector.bench.filling", store, str(spans)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the store can't be copied: {done.stderr[-1000:]}")


def session(number: int, sessions: int, now_ns: int) -> list[SpanRecord]:
    """The spans of one session; the last one ended just now, the first began `DAYS` ago."""
    age_ns = (sessions - 1 - number) * DAYS * 86_400 * 10**9 // max(sessions, 1)
    start = now_ns - age_ns - 600 * 10**9
    trace, root = _bytes(number, "trace", 16), _bytes(number, "root", 8)
    place = {
        lore.SCHEMA_VERSION: 1,
        lore.SESSION_ID: _session_id(number),
        lore.CONVERSATION: _bytes(number, "conversation", 8).hex(),
        lore.HARNESS: _AGENTS[number % 4],
        lore.REPOSITORY: f"github.com/example/project-{number % 23}",
        lore.BRANCH: "main",
        lore.SOURCE: lore.WIRE,
        lore.CALL_CLASS: "main",
        lore.TURN: 0,
    }
    turn = {gen_ai.OPERATION_NAME: "invoke_agent", lore.TURN_INFERENCES: STEPS, lore.TURN_TOOL_CALLS: STEPS}
    end = start + STEPS * 20 * 10**9
    out = [_record(trace, root, None, "invoke_agent", start, end, {**place, **turn, lore.TURN_END: "completed"})]
    for step in range(STEPS):
        at = start + step * 20 * 10**9
        out.append(_chat(number, step, trace, root, at, place))
        out.append(_tool(number, step, trace, root, at + 8 * 10**9, place))
    return out


def long_session(spans: int, now_ns: int) -> list[SpanRecord]:
    """A session of about so many spans, with content: turns of 20 model calls that ask for two tools each."""
    out: list[SpanRecord] = []
    place = {
        lore.SCHEMA_VERSION: 1,
        lore.SESSION_ID: LONG,
        lore.CONVERSATION: _bytes(0, LONG, 8).hex(),
        lore.HARNESS: "claude-code",
        lore.REPOSITORY: "github.com/example/long",
        lore.SOURCE: lore.WIRE,
        lore.CALL_CLASS: "main",
    }
    for turn in range(max(spans // (1 + 3 * TURN_STEPS), 1)):
        trace, root = _bytes(turn, "long trace", 16), _bytes(turn, "long root", 8)
        start, here = now_ns - 86_400 * 10**9 + turn * 120 * 10**9, {**place, lore.TURN: turn}
        told = {gen_ai.OPERATION_NAME: "invoke_agent", lore.TURN_INFERENCES: TURN_STEPS, lore.TURN_END: "completed"}
        end = start + TURN_STEPS * 4 * 10**9
        out.append(_record(trace, root, None, "invoke_agent", start, end, {**here, **told}))
        for step in range(TURN_STEPS):
            number = turn * TURN_STEPS + step
            out += _long_step(number, trace, root, start + step * 4 * 10**9, {**here, lore.STEP: number})
    return out


def _long_step(number: int, trace: bytes, root: bytes, at: int, place: dict[str, Any]) -> list[SpanRecord]:
    calls = [
        ToolCall(f"call-{number}-0", "Bash", {"command": f"make shelf-{number}"}),
        ToolCall(f"call-{number}-1", "Read", {"file_path": f"src/shelf_{number}.py"}),
    ]
    answer = Message(Role.ASSISTANT, (Text(f"Now shelf {number}: it must stand where the plan says."), *calls))
    attributes = {
        **place,
        gen_ai.OPERATION_NAME: "chat",
        gen_ai.PROVIDER_NAME: "anthropic",
        gen_ai.REQUEST_MODEL: _MODELS[0],
        gen_ai.USAGE_INPUT_TOKENS: 20_000,
        gen_ai.USAGE_OUTPUT_TOKENS: 300,
        lore.COMPLETE: True,
        gen_ai.OUTPUT_MESSAGES: canonical_json([message_to_json(answer)]),
    }
    out = [_record(trace, _bytes(number, "long chat", 8), root, "chat", at, at + 2 * 10**9, attributes)]
    for n, call in enumerate(calls):
        failed = n == 0 and number % 20 == 7
        result = f"moved {number}.{n}\n" * 20
        given = {
            **place,
            gen_ai.OPERATION_NAME: "execute_tool",
            gen_ai.TOOL_NAME: call.name,
            gen_ai.TOOL_CALL_ID: call.id,
            lore.OUTCOME: "failure" if failed else "success",
            gen_ai.TOOL_CALL_ARGUMENTS: canonical_json(call.arguments),
            gen_ai.TOOL_CALL_RESULT: result,
        }
        begin = at + 2 * 10**9
        out.append(
            _record(trace, _bytes(number, f"long tool {n}", 8), root, "execute_tool", begin, begin + 10**9, given)
        )
    return out


def _chat(number: int, step: int, trace: bytes, root: bytes, at: int, place: dict[str, Any]) -> SpanRecord:
    attributes = {
        **place,
        lore.STEP: step,
        gen_ai.OPERATION_NAME: "chat",
        gen_ai.PROVIDER_NAME: "anthropic",
        gen_ai.REQUEST_MODEL: _MODELS[number % 4],
        gen_ai.USAGE_INPUT_TOKENS: 20_000 + 4_000 * step,
        gen_ai.USAGE_OUTPUT_TOKENS: 300 + number % 500,
        gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: 18_000 + 4_000 * step,
        gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK: 0.8,
        lore.COST_USD: 0.01 + step / 1000,
        lore.PRICE_VERSION: "bench",
        lore.OVERHEAD_NS: 400_000 + number % 300_000,
        lore.COMPLETE: number % 97 != 0,
        "spanlore.injection.skipped": "nothing",
    }
    if number % 3 == 0:
        memory = f"m-{number % 200:012x}"
        item = {"kind": "session_block", "state": "shown" if number % 10 else "withheld", "memory_ids": [memory]}
        attributes |= {
            lore.INJECTED_MEMORY_IDS: (memory,),
            lore.INJECTED_BYTES: 900,
            lore.INJECTED_PLACEMENTS: json.dumps([{**item, "first": step == 0, "bytes": 900, "anchor": "system"}]),
        }
    span = _bytes(number, f"chat {step}", 8)
    return _record(trace, span, root, f"chat {_MODELS[number % 4]}", at, at + 7 * 10**9, attributes)


def _tool(number: int, step: int, trace: bytes, root: bytes, at: int, place: dict[str, Any]) -> SpanRecord:
    program = _PROGRAMS[(number + step) % 8]
    failed = (number + step) % 7 == 0
    attributes = {
        **place,
        lore.STEP: step,
        gen_ai.OPERATION_NAME: "execute_tool",
        gen_ai.TOOL_NAME: "Bash" if step % 3 else "Read",
        gen_ai.TOOL_CALL_ID: f"call-{number}-{step}",
        lore.OUTCOME: "failure" if failed else "success",
        lore.PROGRAM: program,
        lore.COMMAND: f"{program} --verbose target-{number % 50}",
    }
    if failed:
        attributes |= {lore.SIGNATURE: f"{number % 500:016x}", lore.ERROR_CLASS: "E", lore.ERROR_LINE: f"{program}: no"}
    status = StatusCode.ERROR if failed else StatusCode.UNSET
    end = at + (1 + number % 9) * 10**9
    return _record(trace, _bytes(number, f"tool {step}", 8), root, "execute_tool Bash", at, end, attributes, status)


def _record(
    trace: bytes,
    span: bytes,
    parent: bytes | None,
    name: str,
    start: int,
    end: int,
    attributes: dict[str, Any],
    status: StatusCode = StatusCode.UNSET,
) -> SpanRecord:
    return SpanRecord(
        trace_id=trace,
        span_id=span,
        parent_span_id=parent,
        name=name,
        kind=SpanKind.INTERNAL,
        start_time_ns=start,
        end_time_ns=end,
        attributes=attributes,
        resource={"service.name": "bench"},
        status_code=status,
    )


def _session_id(number: int) -> str:
    return f"bench-{number:08}"


def _bytes(number: int, what: str, size: int) -> bytes:
    return hashlib.blake2b(f"{number} {what}".encode(), digest_size=size).digest()


@contextmanager
def _collector(folder: Path) -> Iterator[_Door]:
    """A collector whose state is below `folder`, until the block ends."""
    ports = _free_ports(2)
    environment = child_environment(
        {
            "SPANLORE_STATE_DIR": str(folder / "state"),
            "SPANLORE_CONFIG_DIR": str(folder / "config"),
            "SPANLORE_COLLECTOR_PORT": str(ports[0]),
            "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": str(ports[1]),
        },
        ("SPANLORE_",),
    )
    paths = Paths.from_environ(environment)
    paths.ensure()
    with (folder / "collector.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "spanlore_collector"], env=environment, stderr=log)
    try:
        token = paths.token()
        pool = urllib3.PoolManager(headers={"Authorization": f"Bearer {token}"}, retries=False, timeout=120)
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        _wait(pool, f"{urls[0]}/healthz", process, folder / "collector.log")
        yield _Door(urls[0], urls[1], token, process.pid, pool)
    finally:
        process.terminate()
        process.wait(timeout=STOP_WITHIN_S)


def _wait(pool: urllib3.PoolManager, url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if pool.request("GET", url).status == 200:
                return
        except urllib3.exceptions.HTTPError:
            time.sleep(0.05)
    raise RuntimeError(f"the collector did not start: {log.read_text()[-1000:]}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(item.getsockname()[1]) for item in sockets]
    finally:
        for item in sockets:
            item.close()
