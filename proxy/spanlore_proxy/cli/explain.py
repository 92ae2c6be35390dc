"""`spanlore explain REQUEST`: what the client sent, what was forwarded, and the difference between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from spanlore import completion
from spanlore.ending import fail
from spanlore.terminal import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanlore_proxy.capture.wire_log import LoggedInsertion, LoggedRequest

CONTEXT_BYTES = 60
"""How much of the client's body is shown on either side of an insertion."""
MIN_PREFIX = 4
WIDTH = 80
SHORT_DIGEST = 16
"""Hex digits of a digest that are shown; `--json` has them all."""
SKIPPED = {
    "alarm": "the prefix alarm was raised in this conversation",
    "attested": "the client signs its requests",
    "bypass": "the request asked for it",
    "cached_content": "the API takes no instruction beside cached content",
    "deadline": "it would have come too late",
    "dialect": "this API's requests are never rewritten",
    "disabled": "injection is switched off",
    "killed": "the kill file is there",
    "late": "the conversation had begun before, and a late block would cost its cached prefix",
    "ledger": "it could not be written down",
    "malformed": "the body is not what this API takes",
    "no_input": "there is no input to stand beside",
    "no_system_role": "the model takes no system prompt",
    "nothing": "no memory for this repository, or none that had to be said",
    "off_repository": "this repository is excluded",
    "offset": "no place could be proven",
    "side_call": "a side call: a title, a summary, a token count",
    "signed": "the body is signed",
    "subagent": "a sub-agent, which gets hints alone",
    "unknown_project": "which repository it is about is not known",
    "withheld": "withheld, to measure the effect",
}
"""Reasons for a whole request, in words."""
LEFT_OUT = {
    "answered": "the model has answered this before, and what it read is cached",
    "attested": "the client signs its requests",
    "budget": "no room left",
    "cap": "enough hints in this conversation",
    "contradicted": "the user's own files or words say otherwise",
    "other_command": "it is about another command",
    "other_error": "it is about another error of that command",
    "other_path": "it is about another path",
    "outranked": "another one fits this failure better",
    "repeated": "shown in this conversation before",
    "said": "the request says it already",
    "same_slot": "a better one speaks of the same",
    "unclear": "the prompt names too little of it",
    "vague": "the same program, but its error says nothing",
}
"""Reasons for one memory."""


def register(app: typer.Typer) -> None:
    """Adds `explain`."""

    @app.command("explain")
    def explain(
        request: str = typer.Argument(
            ...,
            metavar="REQUEST",
            help="A request's id as `spanlore session` shows it, or how it begins.",
            autocompletion=completion.requests,
        ),
        full: bool = typer.Option(False, "--full", help="The whole client body as well."),
        as_json: bool = typer.Option(False, "--json", help="JSON, one object, both bodies in it."),
    ) -> None:
        """Show exactly what was added to a request, where, and that nothing else was changed."""
        found = _find(request)
        if as_json:
            _print_json(found)
        else:
            write("\n".join(lines(found, full=full)))


def lines(request: LoggedRequest, *, full: bool = False) -> Iterator[str]:
    """The explanation for people."""
    from datetime import UTC, datetime

    sent = datetime.fromtimestamp(request.time_ns / 1e9, UTC).astimezone()
    yield f"request {request.id} · {sent:%Y-%m-%d %H:%M:%S}"
    yield f"{request.method} {request.url}"
    if request.upstream:
        yield f"sent to {request.upstream}"
    yield f"client body     {request.client_bytes:>10,} bytes  sha256 {request.client_sha256[:SHORT_DIGEST]}…"
    yield f"forwarded body  {request.forwarded_bytes:>10,} bytes  sha256 {request.forwarded_sha256[:SHORT_DIGEST]}…"
    if request.client_sha256 == request.forwarded_sha256:
        yield from _wrapped(f"identical: nothing was added{_why(request.skipped)}" if request.skipped else "identical")
    else:
        many = len(request.insertions)
        yield f"forwarded = client + {many} insertion{'s' if many != 1 else ''}, nothing else differs"
    for insertion in request.insertions:
        yield from _insertion(request, insertion)
    yield from _decisions(request.decisions)
    if request.redactions:
        yield f"\n{request.redactions} secrets were replaced in what is shown here, not in what was sent"
    if full:
        yield f"\nclient body, {request.content_encoding or 'not'} encoded:\n{request.body}"


def _why(skipped: str) -> str:
    words = SKIPPED.get(skipped, "")
    return f": {words} ({skipped})" if words else f" ({skipped})"


def _wrapped(text: str, first: str = "", rest: str = "  ") -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, drop_whitespace=True
    ) or [first]


def _decisions(text: str) -> Iterator[str]:
    """What was decided about each memory that could have been shown, and why."""
    import orjson

    items = orjson.loads(text) if text else []
    for number, item in enumerate(items):
        if not number:
            yield "\ndecided, for each memory that could have been shown"
        where = str(item.get("kind", "")).replace("_", " ")
        why = {"shown": "new" if item.get("first") else "as before", "withheld": "to measure the effect"}
        reason = item.get("reason") or why.get(str(item.get("state")), "")
        for memory_id in item.get("memory_ids") or ("–",):
            told = f"{memory_id}  {where}: {item.get('state', '')}, {LEFT_OUT.get(reason, reason)}"
            yield from _wrapped(told.rstrip(", "), "  ", "      ")


def _insertion(request: LoggedRequest, insertion: LoggedInsertion) -> Iterator[str]:
    body = request.body.encode()
    before = body[max(insertion.offset - CONTEXT_BYTES, 0) : insertion.offset].decode("utf-8", "replace")
    after = body[insertion.offset : insertion.offset + CONTEXT_BYTES].decode("utf-8", "replace")
    size = len(insertion.data.encode())
    yield f"\n+ {size:,} bytes at byte {insertion.offset:,} of the client's body (wrapped here):"
    # What stands around it is the redacted body, whose offsets fit only where nothing was replaced before.
    around = bool(request.content_encoding) or len(body) == request.client_bytes
    if around:
        yield f"  …{before}"
    for line in insertion.data.replace("\\n", "\\n\n").splitlines():
        yield from _wrapped(line, "+ ", "+     ")
    if around:
        yield f"  {after}…"


def to_json(request: LoggedRequest) -> dict[str, Any]:
    """The same for scripts, both bodies in it."""
    from dataclasses import asdict

    from spanlore_proxy.capture.wire_log import forwarded_body

    return asdict(request) | {
        "identical": request.client_sha256 == request.forwarded_sha256,
        "forwarded_body": forwarded_body(request.body, request.insertions),
    }


def _find(prefix: str) -> LoggedRequest:
    from spanlore.settings import Paths, child_environment
    from spanlore_proxy.capture.wire_log import WireLogReader

    if len(prefix) < MIN_PREFIX:
        fail(f"give at least {MIN_PREFIX} characters of the request's id; `spanlore session ID` shows them")
    try:
        log = WireLogReader(Paths.from_environ(child_environment({})).wire_log)
    except FileNotFoundError:
        fail("no request was logged yet. Start an agent with: spanlore run -- claude")
    try:
        found = log.request(prefix)
    finally:
        log.close()
    if found is None:
        fail(f"no request {prefix!r} in the log; it holds only the newest (SPANLORE_PROXY_WIRE_LOG_MAX_BYTES)")
    return found


def _print_json(request: LoggedRequest) -> None:
    import orjson

    typer.echo(orjson.dumps(to_json(request), option=orjson.OPT_INDENT_2).decode())
