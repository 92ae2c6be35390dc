"""`spanlore bench history`: what the request log takes of a conversation, as that gets longer.

An agent resends its whole past with each request. What is kept for `spanlore explain` may grow with what is new, and
not with requests times history: bytes in the file for a byte of the last body, which holds all that was ever said.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from spanlore.main import group

if TYPE_CHECKING:
    from spanlore_proxy.capture.wire_log import LoggedRequest

LENGTHS: Final = (200, 1_000, 5_000)
"""Messages."""
GROWTH_BUDGET: Final = 1.25
"""Bytes for a byte of content at the longest against the shortest."""
_MESSAGE_WORDS: Final = 60
_WORDS: Final = 3_000


def register(app: typer.Typer) -> None:
    """Adds `bench history`."""

    @group(app, "bench", "Measure speed, as ratios within one run.").command("history")
    def history(as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line.")) -> None:
        """Bytes in the request log for conversations of 200, 1,000 and 5,000 messages, each resent whole every time."""
        result = judge([row_of(length) for length in LENGTHS])
        typer.echo(table(result))
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)


def row_of(messages: int) -> dict[str, Any]:
    """What one conversation takes."""
    import orjson

    from spanlore_proxy.capture.wire_log import WireLog

    chance, said, began_s = random.Random(messages), [], time.process_time()
    words = [f"w{number}{chance.randrange(10**6)}" for number in range(_WORDS)]
    with tempfile.TemporaryDirectory(prefix="spanlore-bench-") as folder:
        log = WireLog(Path(folder) / "wire.sqlite", max_bytes=sys.maxsize, redact=lambda text: (text, 0))
        body = b""
        for number in range(messages // 2):
            said.append({"role": "user", "content": " ".join(chance.choices(words, k=_MESSAGE_WORDS))})
            document = {"model": "made-up", "max_tokens": 1_000, "messages": list(said)}
            body = orjson.dumps(document)
            log.write(_entry(number, body), body, document)
            said.append({"role": "assistant", "content": " ".join(chance.choices(words, k=_MESSAGE_WORDS))})
        size = log.size_bytes()
        log.close()
    return {
        "what": f"request log, {messages:,} messages",
        "requests": messages // 2,
        "content_kb": round(len(body) / 1e3),
        "log_kb": round(size / 1e3),
        "x_content": round(size / len(body), 2),
        "cpu_ms_a_request": round((time.process_time() - began_s) * 2e3 / messages, 2),
    }


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows with the budget, and whether a long conversation takes no more for what is said than a short one."""
    kept = rows[-1]["x_content"] <= GROWTH_BUDGET * rows[0]["x_content"]
    return {"bench": "history", "rows": rows, "budgets": {"growth": GROWTH_BUDGET}, "within_budget": kept}


def table(result: dict[str, Any]) -> str:
    """The rows for people."""
    lines = [f"{'what':<32}{'content KB':>12}{'log KB':>9}{'× content':>11}{'CPU ms each':>13}"]
    lines += [
        f"{row['what']:<32}{row['content_kb']:>12,}{row['log_kb']:>9,}{row['x_content']:>11}{row['cpu_ms_a_request']:>13}"
        for row in result["rows"]
    ]
    lines.append(f"budget: the longest takes at most {GROWTH_BUDGET} × the shortest for a byte of content")
    lines.append("within budget" if result["within_budget"] else "NOT within budget")
    return "\n".join(lines)


def _entry(number: int, body: bytes) -> LoggedRequest:
    from spanlore_proxy.capture.wire_log import LoggedRequest

    return LoggedRequest(
        id=f"{number:016x}",
        time_ns=number,
        method="POST",
        url="https://api.anthropic.com/v1/messages",
        upstream="",
        content_encoding="",
        client_bytes=len(body),
        client_sha256="0" * 64,
        forwarded_bytes=len(body),
        forwarded_sha256="0" * 64,
        skipped="nothing",
        redactions=0,
    )
