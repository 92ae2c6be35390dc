"""Recorded LLM API traffic → Exchanges: VCR cassettes and dumps of streamed chunks, as public test suites hold them.

Formats (all of them untrusted, a file that is none of them is an error of that file only):
- vcrpy YAML, `interactions`: body text or `!!binary` (gzip), or pydantic-ai's `parsed_body` (JSON already parsed).
- Ruby VCR YAML, `http_interactions`: body `{encoding, string}`, binary as `!binary`.
- Vercel AI SDK `*.chunks.txt`: the data of one SSE event a line; several answers may follow each other. `*.json`: one
  JSON answer. Neither holds its request, whose endpoint is guessed from the folder's name.
WebSocket cassettes (`kind: message`) hold no exchange and give none.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
import yaml

from spanlore.genai import jsontext
from spanlore_proxy.wire.content import decode
from spanlore_proxy.wire.exchange import End, Exchange, Headers, strip_credentials, strip_query_credentials

MAX_BODY_BYTES: Final = 64 * 1024**2
"""Bound of a recorded body after decoding."""

RECORDED_AT_NS: Final = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000_000
"""Start of every exchange: cassettes keep no times that could be told apart."""

FOLDER_ENDPOINTS: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic": ("api.anthropic.com", "/v1/messages"),
    "openai-chat": ("api.openai.com", "/v1/chat/completions"),
    "openai-responses": ("api.openai.com", "/v1/responses"),
    "azure": ("resource.openai.azure.com", "/openai/v1/responses"),
    "google": ("generativelanguage.googleapis.com", "/v1beta/models/model:streamGenerateContent"),
    "groq": ("api.groq.com", "/openai/v1/chat/completions"),
    "deepseek": ("api.deepseek.com", "/chat/completions"),
    "mistral": ("api.mistral.ai", "/v1/chat/completions"),
    "xai": ("api.x.ai", "/v1/chat/completions"),
    "alibaba": ("dashscope-intl.aliyuncs.com", "/compatible-mode/v1/chat/completions"),
    "perplexity": ("api.perplexity.ai", "/chat/completions"),
}
"""Folder of a chunk dump → host and path its answers came from."""


_LAST_EVENT: Final = re.compile(rb'\{"type": ?"(?:message_stop|response\.(?:completed|incomplete|failed))"')
"""Start of the last event of an answer."""


class MalformedRecordingError(ValueError):
    """The file is none of the known formats."""


def recordings_below(folder: Path) -> list[Path]:
    """All files below the folder that may be recordings, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml", ".json", ".txt"))


def read_exchanges(path: Path) -> list[Exchange]:
    """The exchanges of one recording, in the order they were made.

    Raises:
        MalformedRecordingError: The file is none of the known formats.
        OSError: It cannot be read.
    """
    text = path.read_bytes()
    if path.suffix in (".yaml", ".yml"):
        return list(_from_cassette(text, path.name))
    bodies = _chunked_bodies(text) if path.suffix == ".txt" else [_json_body(text)]
    content_type = "text/event-stream" if path.suffix == ".txt" else "application/json"
    return [_from_body(body, content_type, path, number) for number, body in enumerate(bodies)]


class _Loader(yaml.CSafeLoader):
    """YAML with Ruby's `!binary` as well as the standard's `!!binary`."""


def _binary(loader: _Loader, node: yaml.ScalarNode) -> bytes:
    return base64.b64decode(str(loader.construct_scalar(node)))


_Loader.add_constructor("!binary", _binary)


def _from_cassette(text: bytes, name: str) -> Iterator[Exchange]:
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 - the safe loader, and bytes
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as fault:
        # The last five are what PyYAML's constructors let through: `!!int ""` is an IndexError.
        raise MalformedRecordingError(f"{name}: not YAML: {fault}") from fault
    document = document if isinstance(document, dict) else {}
    interactions = document.get("interactions", document.get("http_interactions"))
    if not isinstance(interactions, list):
        raise MalformedRecordingError(f"{name}: no interactions")
    for number, interaction in enumerate(interactions):
        if isinstance(interaction, dict) and {"request", "response"} <= interaction.keys():
            yield _from_interaction(interaction, f"{name}#{number}")


def _from_interaction(interaction: dict[str, Any], name: str) -> Exchange:
    request, response = interaction["request"], interaction["response"]
    status = response.get("status")
    return _exchange(
        name,
        method=str(request.get("method", "")).upper(),
        uri=str(request.get("uri", "")),
        request_headers=_headers(request.get("headers")),
        response_headers=_headers(response.get("headers")),
        request_body=_body(request),
        response_body=_body(response),
        status=status.get("code") if isinstance(status, dict) else None,
    )


def _from_body(body: bytes, content_type: str, path: Path, number: int) -> Exchange:
    host, endpoint = FOLDER_ENDPOINTS.get(path.parent.name, ("unknown.invalid", "/"))
    if "__responses__" in path.name:
        endpoint = "/v1/responses"
    elif "__interactions__" in path.name:
        endpoint = "/v1beta/interactions"
    elif "__skills__" in path.name:
        endpoint = "/v1/skills"
    return _exchange(
        f"{path.name}#{number}",
        method="POST",
        uri=f"https://{host}{endpoint}",
        request_headers=(),
        response_headers=(("content-type", content_type),),
        request_body=b"",
        response_body=body,
        status=200,
    )


def _exchange(
    name: str,
    *,
    method: str,
    uri: str,
    request_headers: Headers,
    response_headers: Headers,
    request_body: bytes,
    response_body: bytes,
    status: Any,
) -> Exchange:
    parts = urlsplit(uri)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return Exchange(
        id=hashlib.blake2b(name.encode(), digest_size=8).hexdigest(),
        method=method,
        scheme=parts.scheme or "https",
        host=(parts.hostname or "").lower(),
        port=parts.port or (80 if parts.scheme == "http" else 443),
        path=strip_query_credentials(path or "/"),
        request_headers=strip_credentials(request_headers),
        response_headers=strip_credentials(response_headers),
        request_body=_decoded(request_body, request_headers),
        response_body=_decoded(response_body, response_headers),
        status_code=status if isinstance(status, int) else None,
        start_time_ns=RECORDED_AT_NS,
        first_chunk_time_ns=RECORDED_AT_NS,
        end_time_ns=RECORDED_AT_NS,
        end=End.COMPLETE,
    )


def _headers(raw: Any) -> Headers:
    if not isinstance(raw, dict):
        return ()
    pairs = ((str(name).lower(), value) for name, value in raw.items())
    return tuple((name, str(one)) for name, value in pairs for one in (value if isinstance(value, list) else [value]))


def _body(side: dict[str, Any]) -> bytes:
    if "parsed_body" in side:
        return orjson.dumps(side["parsed_body"], option=orjson.OPT_NON_STR_KEYS)
    body = side.get("body")
    if isinstance(body, dict) and "string" in body:
        body = body["string"]
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode("utf-8", "replace")
    return b"" if body is None else orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)


def _decoded(body: bytes, headers: Headers) -> bytes:
    # Recorders decode some bodies and leave the header standing.
    encoding = next((value for name, value in headers if name == "content-encoding"), "")
    decoded = decode(body, encoding, MAX_BODY_BYTES)
    return body if (decoded.error or "").startswith(("malformed", "unsupported")) else decoded.data


def _chunked_bodies(text: bytes) -> Iterator[bytes]:
    lines = [line for line in text.splitlines() if line.strip()]
    return (_event_stream(answer) for answer in _answers(lines))


def _answers(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Several answers in one dump: a new one begins after the last event of the one before."""
    answer: list[bytes] = []
    for line in lines:
        answer.append(line)
        if line == b"[DONE]" or _LAST_EVENT.match(line):
            yield answer
            answer = []
    if answer:
        yield answer


def _event_stream(lines: Iterable[bytes]) -> bytes:
    out = bytearray()
    for line in lines:
        try:
            data = jsontext.loads(line)
        except ValueError:
            data = None
        if isinstance(data, dict) and isinstance(data.get("type"), str):
            out += b"event: " + data["type"].encode() + b"\n"
        out += b"data: " + line + b"\n\n"
    return bytes(out)


def _json_body(text: bytes) -> bytes:
    try:
        jsontext.loads(text)
    except ValueError as fault:
        raise MalformedRecordingError(f"not JSON: {fault}") from fault
    return text
