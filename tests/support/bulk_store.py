"""Fills an embedded store with many small sessions by the engine itself: `python -m support.bulk_store DIR SESSIONS`.

For how pages do at size: numbers and names only, no content. Run before the collector opens the store.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from spanlore_collector.store.backfill import fill_facts
from spanlore_collector.store.client import Store
from spanlore_collector.store.migrate import migrate

CALLS: Final = 12
"""Model calls of a session; each asks for two tools, and four make a turn."""
AT_ONCE: Final = 1_000
"""Sessions an INSERT."""
_AT: Final = "now64(9) - toIntervalSecond(600 + s * 240) + toIntervalSecond(n * 5)"
_WHO: Final = """
concat('bulk-', leftPad(toString(s), 6, '0')) AS session_id, lower(hex(cityHash64(s))) AS conversation,
['claude-code', 'codex', 'gemini-cli'][1 + s % 3] AS harness,
concat('github.com/acme/', ['widgets', 'shop', 'api', 'site', 'tools'][1 + s % 5]) AS repository, 'main' AS branch,
'wire' AS source, 'main' AS call_class"""


def fill(store_dir: Path, sessions: int) -> None:
    """Makes the store and the sessions."""
    store_dir.mkdir(parents=True, exist_ok=True)
    store = Store(f"chdb://{store_dir}")
    client = store.connect(database="default")
    migrate(client, store.database)
    for table, per_session, columns in (
        ("inferences", CALLS, _INFERENCE),
        ("tool_calls", CALLS * 2, _TOOL),
        ("turns", CALLS // 4, _TURN),
        ("human_messages", CALLS // 4, _HUMAN),
    ):
        numbers = f"intDiv(number, {per_session}) AS s, number % {per_session} AS n"
        names = ", ".join(piece.rsplit(" AS ", 1)[1] for piece in _split(f"{_WHO}, {columns}"))
        # In pieces: the embedded engine's memory is bounded.
        for first in range(0, sessions, AT_ONCE):
            count = min(AT_ONCE, sessions - first)
            rows = f"(SELECT {numbers} FROM numbers({first * per_session}, {count * per_session}))"
            client.command(f"INSERT INTO {store.database}.{table} ({names}) SELECT {_WHO}, {columns} FROM {rows}")
    client.command(f"USE {store.database}")
    fill_facts(client)
    client.close()


def _split(columns: str) -> list[str]:
    """The columns of a SELECT list: at the commas outside of brackets."""
    out, depth = [""], 0
    for character in columns.replace("\n", " "):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            out.append("")
        else:
            out[-1] += character
    return [piece.strip() for piece in out]


_TIMES: Final = f"{_AT} AS start_time, start_time + toIntervalSecond(3) AS end_time, 3000000000 AS duration_ns"
_SPAN: Final = "lower(hex(cityHash64({kind}, s, n))) AS span_id, lower(hex(cityHash64('trace', s))) AS trace_id"
_INFERENCE: Final = f"""
{_TIMES}, {_SPAN.format(kind="'chat'")}, lower(hex(cityHash64('turn', s, intDiv(n, 4)))) AS parent_span_id,
['claude-sonnet-4-5', 'gpt-5-codex', 'gemini-2.5-pro'][1 + s % 3] AS request_model, request_model AS response_model,
intDiv(n, 4) AS turn_index, n AS step_index, 20000 + n * 1000 AS input_tokens, 400 AS output_tokens,
18000 AS cache_read_tokens, toDecimal64(0.01, 9) AS cost_usd, 300000 AS overhead_ns, true AS is_complete"""
_TOOL: Final = f"""
{_TIMES}, {_SPAN.format(kind="'tool'")}, lower(hex(cityHash64('turn', s, intDiv(n, 8)))) AS parent_span_id,
'Bash' AS tool_name, intDiv(n, 8) AS turn_index, intDiv(n, 2) AS step_index, 'make test' AS command,
if(s % 4 = 0 AND n = 3, 'failure', 'success') AS outcome"""
_TURN: Final = f"""
{_TIMES}, lower(hex(cityHash64('turn', s, n))) AS span_id, lower(hex(cityHash64('trace', s))) AS trace_id,
n AS turn_index, concat('Task ', toString(s), ': put the shelf in order') AS prompt, 'completed' AS end"""
_HUMAN: Final = f"""
{_AT} AS time, {_SPAN.format(kind="'chat'")}, 'user_message' AS channel, n AS turn_index,
concat('Task ', toString(s), ': put the shelf in order') AS text"""


if __name__ == "__main__":
    fill(Path(sys.argv[1]), int(sys.argv[2]))
