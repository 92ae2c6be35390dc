"""What the wire log says of a captured exchange."""

from __future__ import annotations

import hashlib

from spanlore.redaction.values import Redact
from spanlore_proxy.capture.captured import Captured
from spanlore_proxy.capture.wire_log import LoggedInsertion, LoggedRequest
from spanlore_proxy.wire.exchange import strip_query_credentials


def log_entry(captured: Captured, request_id: str, redact: Redact) -> LoggedRequest:
    """The entry but for the body. `request_id` is the chat span's id, 16 hex digits."""
    head = captured.head
    client_sha256 = hashlib.sha256(captured.sent_body).hexdigest()
    is_same = captured.forwarded_body is captured.sent_body
    default_port = 443 if head.scheme == "https" else 80
    port = "" if head.port == default_port else f":{head.port}"
    return LoggedRequest(
        id=request_id,
        time_ns=head.start_time_ns,
        method=head.method,
        url=f"{head.scheme}://{head.host}{port}{strip_query_credentials(head.path)}",
        upstream=head.upstream,
        content_encoding=_header(captured, b"content-encoding"),
        client_bytes=len(captured.sent_body),
        client_sha256=client_sha256,
        forwarded_bytes=len(captured.forwarded_body),
        forwarded_sha256=client_sha256 if is_same else hashlib.sha256(captured.forwarded_body).hexdigest(),
        skipped=captured.injected.skipped,
        redactions=0,
        decisions=captured.injected.placements_json,
        insertions=tuple(
            LoggedInsertion(insertion.offset, redact(insertion.data.decode("utf-8", "replace"))[0])
            for insertion in captured.insertions
        ),
    )


def _header(captured: Captured, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in captured.head.fields if key.lower() == name), "")
