"""What reads bytes from outside, as targets of a fuzzer (`support.fuzz`).

A target takes any bytes. What it must never do: raise (but `MalformedRequestError` for a body that is no request), or
give what cannot be written down as JSON. The recordings are its seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import orjson

from spanlore.genai.inference import Dialect
from spanlore.genai.messages import message_to_json, part_to_json
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.request import MalformedRequestError
from spanlore_proxy.wire.websocket import MessageReader, WebSocketError
from support.recordings import ROOT

type Target = Callable[[bytes], None]

CONTENT_TYPES: Final = ("text/event-stream", "application/json", "application/vnd.amazon.eventstream", "")
STATUSES: Final = (200, 400, 529, None)


def fold(dialect: Dialect, data: bytes) -> None:
    """The answer to a request; the first byte says which content type and status, and whether it was cut."""
    if not data:
        return
    how, body = data[0], data[1:]
    content_type, status = CONTENT_TYPES[how & 3], STATUSES[how >> 2 & 3]
    response = CODECS[dialect].fold_response(body, content_type, status, bool(how & 16))
    orjson.dumps([message_to_json(message) for message in response.output])
    if response.raw_output is not None:
        CODECS[dialect].message_digest(response.raw_output)


def read(dialect: Dialect, data: bytes) -> None:
    """A request's body, with everything that is ever decoded of it."""
    codec = CODECS[dialect]
    try:
        request = codec.parse_request(data)
    except MalformedRequestError:
        return
    for raw in request.raw_messages:
        codec.message_digest(raw)
        orjson.dumps(message_to_json(codec.decode_message(raw)))
    orjson.dumps([part_to_json(part) for part in codec.decode_system(request)])
    codec.decode_tools(request)


def frames(data: bytes) -> None:
    """One direction of a WebSocket; the first byte says whether it is compressed, the second how it is cut."""
    if len(data) < 2:
        return
    reader, size = MessageReader(bool(data[0] & 1), max_bytes=1 << 16), data[1] + 1
    try:
        for start in range(2, len(data), size):
            for _ in reader.feed(data[start : start + size]):
                pass
    except WebSocketError:
        return


def targets() -> dict[str, Target]:
    """By name: `fold-DIALECT`, `read-DIALECT`, `frames`."""
    found: dict[str, Target] = {"frames": frames}
    for dialect in CODECS:
        found[f"fold-{dialect.value}"] = lambda data, dialect=dialect: fold(dialect, data)  # type: ignore[misc]
        found[f"read-{dialect.value}"] = lambda data, dialect=dialect: read(dialect, data)  # type: ignore[misc]
    return found


def seeds(name: str) -> list[bytes]:
    """Recorded bytes for a target."""
    kind, _, dialect = name.partition("-")
    folder = ROOT / dialect.removesuffix("_messages")
    if not dialect or not folder.is_dir():
        return []
    files = sorted(folder.iterdir())
    if kind == "read":
        return [file.read_bytes() for file in files if file.suffixes[:1] in ([".request"], [".next"])]
    order = {".sse": 0, ".json": 1, ".eventstream": 2}
    return [bytes([order[file.suffix]]) + file.read_bytes() for file in files if len(file.suffixes) == 1]
