"""Sessions as a table, one session as a tree, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from spanlore.figures import UNKNOWN, cost, count, distinct, duration, one_line, several, short_count
from spanlore_collector.store.session_tree import ChatNode, Placement, ToolNode, TurnNode, placements
from spanlore_collector.store.views import Row

OUTCOMES = {
    "success": ("✓", "green"),
    "failure": ("✗", "red"),
    "rejected": ("⊘", "yellow"),
    "unknown": ("·", "dim"),
}


def session_table(rows: Iterable[Row], now_ns: int) -> Table:
    """One session a line, newest first; of the id so much that it can be told from the others here."""
    rows = list(rows)
    size = distinct(row["session_id"] for row in rows)
    # Widths are given: rich would share a narrow terminal out evenly, and an id of one letter helps nobody.
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True, padding=(0, 1, 0, 0))
    table.add_column("session", width=size, no_wrap=True)
    table.add_column("started", width=12, no_wrap=True)
    table.add_column("repository", width=12, no_wrap=True, overflow="ellipsis")
    table.add_column("turns", width=5, justify="right", no_wrap=True)
    table.add_column("tools", width=7, justify="right", no_wrap=True)
    table.add_column("tokens", width=6, justify="right", no_wrap=True)
    table.add_column("cost", width=7, justify="right", no_wrap=True)
    table.add_column("first prompt", ratio=1, no_wrap=True, overflow="ellipsis")
    for row in rows:
        failures = int(row["failures"])
        table.add_row(
            row["session_id"][:size],
            day_and_time(row["start_time_ns"], now_ns),
            (row["repository"] or "–").rpartition("/")[2],
            UNKNOWN if row.get("is_past") else str(row["turns"]),
            # Of a session that is past its days the summary is left.
            Text("past", "dim")
            if row.get("is_past")
            else Text(f"{row['tool_calls']}" + (f" {failures}✗" if failures else ""), "red" if failures else ""),
            short_count(_sum(row["input_tokens"], row["output_tokens"])),
            cost(row["cost_usd"]),
            one_line(row.get("title") or row.get("prompt"), 60),
        )
    return table


def session_view(session: Row, turns: Iterable[TurnNode], page: str = "") -> RenderableType:
    """One session: what it was, then its tree. `page` is its address on the web page."""
    started = local_time(session["start_time_ns"])
    where = [session["harness"], session["repository"] or "no repository", session["branch"]]
    spent = int(session["end_time_ns"]) - int(session["start_time_ns"])
    head = Text(overflow="ellipsis")
    head.append(f"session {session['session_id']}\n", "bold")
    head.append(" · ".join(word for word in where if word) + "\n")
    head.append(
        f"{started:%Y-%m-%d %H:%M:%S} · {duration(spent)} · {several(session['turns'], 'turn')}\n"
        f"{several(session['inferences'], 'request')} · {several(session['tool_calls'], 'tool call')}, "
        f"{session['failures']} failed\n"
    )
    cached = session.get("cache_read_tokens")
    head.append(
        f"tokens: {count(session['input_tokens'])} in ({count(cached)} from the cache), "
        f"{count(session['output_tokens'])} out · {cost(session['cost_usd'])}\n"
    )
    if page:
        head.append(f"{page}\n", "dim")
    return Group(head, *(_turn_tree(turn) for turn in turns))


def left_view(kept: Row, *, whole_session: bool) -> RenderableType:
    """The summary of a session whose content is gone, with its head where the session's rows are gone, too."""
    head = Text(overflow="fold")
    if whole_session:
        started = local_time(kept["start_time_ns"])
        where = [kept["harness"], kept["repository"] or "no repository", kept["branch"]]
        head.append(f"session {kept['session_id']}\n", "bold")
        head.append(" · ".join(word for word in where if word) + "\n")
        head.append(f"{started:%Y-%m-%d %H:%M:%S}, {duration(int(kept['end_time_ns']) - int(kept['start_time_ns']))}\n")
    gone = "Its calls and content are" if whole_session else "What was said in it is"
    head.append(f"{gone} not in the store any more ([retention] in the settings). Its summary:\n\n", "yellow")
    return Group(head, Text(kept["text"], overflow="fold"))


def summary_to_json(kept: Row) -> Row:
    """A kept summary for programs."""
    import orjson

    return {**{name: value for name, value in kept.items() if name != "json"}, "parts": orjson.loads(kept["json"])}


def hits_view(rows: Iterable[Row], words: Iterable[str], now_ns: int) -> RenderableType:
    """What a search found: where and when, and the words in their place."""
    lines: list[Text] = []
    rows = list(rows)
    size = distinct(row["session_id"] for row in rows)
    for row in rows:
        who = {"output": "model", "arguments": "tool input", "result": "tool output"}.get(row["direction"], row["role"])
        head = Text(no_wrap=True, overflow="ellipsis")
        head.append(row["session_id"][:size], "bold")
        head.append(f"  {day_and_time(row['time_ns'], now_ns)}  {row['harness']}  ")
        head.append((row["repository"] or "–").rpartition("/")[2], "cyan")
        span = f"  span {row['span_id'][:8]}" if row["span_id"] else ""
        head.append(f"  {who}{' ' + row['name'] if row['name'] else ''}{span}", "dim")
        said = Text(f"  {one_line(row['snippet'], 150)}", overflow="fold")
        said.highlight_words(words, "bold reverse", case_sensitive=False)
        lines += [head, said]
    return Group(*lines)


def day_and_time(nanoseconds: int | str, now_ns: int) -> str:
    """`30 Nov 14:05`, or `24 Dec 2025` where that is not of the year it is now."""
    then = local_time(nanoseconds)
    return f"{then:%d %b %H:%M}" if then.year == local_time(now_ns).year else f"{then:%d %b %Y} "


def local_time(nanoseconds: int | str) -> datetime:
    """The time on this machine's clock."""
    return datetime.fromtimestamp(int(nanoseconds) / 1e9, UTC).astimezone()


def _turn_tree(turn: TurnNode) -> Tree:
    tree = Tree(_turn_line(turn), guide_style="dim")
    _fill(tree, turn)
    return tree


def _fill(tree: Tree, turn: TurnNode) -> None:
    for chat in turn.chats:
        branch = tree.add(_chat_line(chat))
        for placement in placements(chat.row):
            if placement.is_first:
                branch.add(_placement_line(placement))
        for tool in chat.tools:
            _add_tool(branch, tool)
    for tool in turn.tools:
        _add_tool(tree, tool)


def _add_tool(branch: Tree, tool: ToolNode) -> None:
    leaf = branch.add(_tool_line(tool.row))
    for turn in tool.turns:
        _fill(leaf.add(_turn_line(turn)), turn)


def _turn_line(turn: TurnNode) -> Text:
    row = turn.row
    if row["end"] == "none":
        return Text("beside the turns", "dim")
    is_subagent = row.get("call_class") == "subagent"
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{'sub-agent' if is_subagent else 'turn'} {int(row['turn_index']) + 1}", "bold")
    line.append(f"  {duration(row['duration_ns'])}" if row["duration_ns"] is not None else "  (going on)")
    if row["end"] not in ("completed", "open"):
        line.append(f" · {row['end']}", "yellow")
    line.append(f"  “{one_line(row['prompt'], 120)}”" if row["prompt"] else "", "italic")
    return line


def _chat_line(chat: ChatNode) -> Text:
    row = chat.row
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{row['span_id'][:8]} ", "dim")
    line.append(row["request_model"] or "chat", "cyan")
    if row["call_class"] not in ("main", "subagent"):
        line.append(f" [{row['call_class']}]", "yellow")
    line.append(f" {duration(row['duration_ns'])}")
    if row["input_tokens"] is not None or row["output_tokens"] is not None:
        line.append(f" · {short_count(row['input_tokens'])}→{short_count(row['output_tokens'])} tok")
    if row["cost_usd"] is not None:
        line.append(f" · {cost(row['cost_usd'])}")
    if row["injected_memory_ids"]:
        line.append(f" · +{count(row['injected_bytes'])} B", "magenta")
    if int(row["attempt"]) > 1:
        line.append(f" · attempt {row['attempt']}", "yellow")
    if row["error_type"]:
        line.append(f" · {row['error_type']}", "red")
    if row["compacted"]:
        line.append(" · after compaction", "yellow")
    return line


def _placement_line(placement: Placement) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis", style="magenta")
    line.append(f"+ {placement.kind.replace('_', ' ')}, {count(placement.bytes)} B: ")
    line.append(" ".join(placement.memory_ids))
    return line


def _tool_line(row: Row) -> RenderableType:
    mark, style = OUTCOMES.get(row["outcome"], OUTCOMES["unknown"])
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{mark} ", style)
    line.append(f"{row['tool_name']} ", "bold")
    line.append(duration(row["duration_ns"]))
    if row["exit_code"]:
        line.append(f" · exit {row['exit_code']}", style)
    elif row["outcome"] != "success":
        line.append(f" · {row['outcome_reason'] or row['outcome']}", style)
    line.append(f"  {one_line(row['command'], 200)}")
    if not row["error_line"]:
        return line
    return Group(line, Text(f"  {one_line(row['error_line'], 200)}", style, no_wrap=True, overflow="ellipsis"))


def _sum(*values: int | str | None) -> int | None:
    known = [int(value) for value in values if value is not None]
    return sum(known) if known else None
