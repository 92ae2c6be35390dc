"""Finished exchanges as the addon hands them over, for tests of what comes after it."""

from __future__ import annotations

import time

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.captured import Captured, RequestHead
from spanlore_proxy.capture.tap import ResponseTap
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End
from support.capture_messages import AGENT_HEADERS, message, request_body

WORKPLACE = Workplace(run_id="run-00000000aaaa", repository="example.org/owner/repository", cwd="/w")


def captured(body: bytes | None = None, answer: bytes | None = None, *, end: End = End.COMPLETE) -> Captured:
    """An exchange of the Messages API with these bodies."""
    body = request_body() if body is None else body
    endpoint = recognise("POST", "api.anthropic.com", "/v1/messages")
    assert endpoint is not None
    fields = tuple(
        (name.encode(), value.strip().encode()) for name, _, value in (line.partition(":") for line in AGENT_HEADERS)
    )
    now_ns = time.time_ns()
    path = "/v1/messages?beta=true"
    head = RequestHead("ab" * 8, "POST", "https", "api.anthropic.com", 443, path, fields, endpoint, now_ns - 10**9)
    tap = ResponseTap(lambda: now_ns - 10**6, lambda: None)
    tap(message() if answer is None else answer)
    return Captured(
        head=head,
        sent_body=body,
        plain_body=body,
        forwarded_body=body,
        insertions=(),
        injected=Injected(skipped="nothing"),
        workplace=WORKPLACE,
        status_code=200,
        response_fields=((b"content-type", b"application/json"),),
        tap=tap,
        end=end,
        end_time_ns=now_ns,
    )
