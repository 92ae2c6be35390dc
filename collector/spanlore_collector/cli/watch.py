"""The live view: sessions that were active just now, and what happened in them last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spanlore.figures import cost, duration, one_line, short_count
from spanlore_collector.cli.rendering import OUTCOMES, local_time
from spanlore_collector.store.views import Row, RowSource

ACTIVE_S: Final = 900
"""A session is shown this long after its last request."""
EVENTS: Final = 12

_SESSIONS: Final = """
SELECT session_id, any(harness) AS harness, any(repository) AS repository, any(branch) AS branch,
       toUnixTimestamp64Nano(min(start_time)) AS start_time_ns, toUnixTimestamp64Nano(max(end_time)) AS end_time_ns,
       uniqExact(span_id) AS inferences, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
       toFloat64(sum(cost_usd)) AS cost_usd
FROM (SELECT * FROM inferences WHERE session_id IN
     (SELECT session_id FROM inferences WHERE start_time > fromUnixTimestamp64Nano({since:Int64}))
     ORDER BY ingested_at LIMIT 1 BY span_id)
GROUP BY session_id ORDER BY end_time_ns DESC LIMIT 20
"""
_EVENTS: Final = f"""
SELECT * FROM
(
    SELECT session_id, span_id, toUnixTimestamp64Nano(end_time) AS time_ns, 'tool' AS what, tool_name AS name,
           command AS text, outcome, duration_ns FROM tool_calls
    WHERE start_time > fromUnixTimestamp64Nano({{since:Int64}})
    UNION ALL
    SELECT session_id, span_id, toUnixTimestamp64Nano(end_time), 'model', request_model,
           if(error_type != '', error_type, finish_reason), if(error_type != '', 'failure', 'success'), duration_ns
    FROM inferences WHERE start_time > fromUnixTimestamp64Nano({{since:Int64}})
    UNION ALL
    SELECT session_id, span_id, toUnixTimestamp64Nano(time), 'user', '', text, '', 0 FROM human_messages
    WHERE time > fromUnixTimestamp64Nano({{since:Int64}}) AND channel = 'user_message'
)
ORDER BY time_ns DESC, span_id LIMIT 1 BY span_id, what LIMIT {EVENTS}
"""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is shown at one moment."""

    now_ns: int
    sessions: Sequence[Row]
    events: Sequence[Row]
    """Newest first."""

    def to_json(self) -> dict[str, Any]:
        """One JSON object {now_ns, sessions, events}."""
        return {"now_ns": self.now_ns, "sessions": list(self.sessions), "events": list(self.events)}


def moment(source: RowSource, now_ns: int) -> Moment:
    """As it is now."""
    since = {"since": now_ns - ACTIVE_S * 10**9}
    return Moment(now_ns, source.rows(_SESSIONS, since), source.rows(_EVENTS, since))


def view(now: Moment) -> RenderableType:
    """For a terminal of 80 columns."""
    if not now.sessions:
        return Text(f"No session was active in the last {ACTIVE_S // 60} minutes. Start one: spanlore run -- claude")
    return Group(_sessions(now), Text(), *(_event(row) for row in now.events))


def _sessions(now: Moment) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True, padding=(0, 1, 0, 0))
    for name, width in (("session", 8), ("agent", 12)):
        table.add_column(name, width=width, no_wrap=True, overflow="ellipsis")
    table.add_column("repository", ratio=1, no_wrap=True, overflow="ellipsis")
    for name, width in (("running", 12), ("idle", 8), ("calls", 5), ("tokens", 7), ("cost", 8)):
        table.add_column(name, width=width, no_wrap=True, justify="right")
    for row in now.sessions:
        idle_ns = max(now.now_ns - int(row["end_time_ns"]), 0)
        tokens = int(row["input_tokens"] or 0) + int(row["output_tokens"] or 0)
        table.add_row(
            row["session_id"][:8],
            row["harness"],
            (row["repository"] or "–").rpartition("/")[2],
            duration(max(now.now_ns - int(row["start_time_ns"]), 0)),
            duration(idle_ns // 10**9 * 10**9) if idle_ns >= 10**9 else "now",
            str(row["inferences"]),
            short_count(tokens),
            cost(row["cost_usd"]),
        )
    return table


def _event(row: Row) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{local_time(row['time_ns']):%H:%M:%S} {row['session_id'][:8]} ", "dim")
    if row["what"] == "user":
        return line.append(f"“{one_line(row['text'], 200)}”", "italic")
    mark, style = OUTCOMES.get(row["outcome"], OUTCOMES["unknown"])
    line.append(f"{mark} ", style)
    line.append(f"{row['name']} ", "bold" if row["what"] == "tool" else "cyan")
    return line.append(f"{duration(row['duration_ns'])}  {one_line(row['text'], 200)}")
