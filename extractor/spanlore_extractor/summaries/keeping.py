"""Summaries on their way into the store and out of it: what a mining run leaves, the sessions of before there were
summaries, and the digest of a repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import batched
from typing import Final

from spanlore.memory.memory import Memory
from spanlore_collector.store.api_client import MemoryClient
from spanlore_collector.store.summaries import chapters_of, summaries_of, unsummarised
from spanlore_extractor.judge.spending import Spending
from spanlore_extractor.mining.summary import Summary, summarise
from spanlore_extractor.reading import Rows, read_sessions
from spanlore_extractor.summaries.levels import THRESHOLD_TOKENS, Digest, Told, digest
from spanlore_extractor.summaries.record import is_worth_keeping, row_of, summary_of
from spanlore_extractor.summaries.writing import Writer

BACKFILL_KEY: Final = "summaries"
"""Mining's state: up to which time sessions of before have been summed up, in nanoseconds; `done`."""
BACKFILL_AT_ONCE: Final = 200
AT_ONCE: Final = 500
MAX_CHAPTERED: Final = 5
"""Repositories whose months a model is asked about in one run."""


def keep(client: MemoryClient, summaries: Iterable[Summary]) -> int:
    """Keeps those in which something was asked or done; returns how many."""
    rows = [row_of(summary) for summary in summaries if is_worth_keeping(summary)]
    return sum(client.keep_summaries(part) for part in batched(rows, AT_ONCE))


def back_fill(reader: Rows, client: MemoryClient, window_ns: int, at_once: int = BACKFILL_AT_ONCE) -> int:
    """Sums up some sessions that were mined before there were summaries, the newest first; returns how many. Once all
    are, it reads nothing any more."""
    state = client.mining_state(BACKFILL_KEY)
    if state == "done":
        return 0
    before_ns = int(state) if state and state.isdecimal() else 2**63 - 1
    waiting = unsummarised(reader, before_ns, at_once)
    ids = [session_id for session_id, _ in waiting]
    count = keep(client, (summarise(one, window_ns) for one in read_sessions(reader, ids))) if ids else 0
    is_last = len(waiting) < at_once
    client.set_mining_state(BACKFILL_KEY, "done" if is_last else str(min(end_ns for _, end_ns in waiting)))
    return count


def digest_of(
    reader: Rows,
    repository: str,
    known: Iterable[Memory],
    now_ns: int,
    budget_tokens: int = THRESHOLD_TOKENS,
    branch: str = "",
) -> Digest:
    """What the sessions of a repository, or of a branch of it, were about. `known` are the memories: what is pinned is
    told word for word."""
    pinned = [memory.text for memory in known if memory.scope == repository and memory.pinned and memory.is_shown]
    told = {} if branch else told_of(reader, repository)
    return digest(kept_of(reader, repository, branch), now_ns, budget_tokens, pinned, told)


def kept_of(reader: Rows, repository: str, branch: str = "", limit: int = 0) -> list[Summary]:
    """The summaries of a repository, oldest first."""
    more = {"limit": limit} if limit else {}
    return [summary_of(row) for row in summaries_of(reader, repository, branch, **more)]


def told_of(reader: Rows, repository: str) -> dict[str, Told]:
    """The months that a model told."""
    return {period: Told(row["source"], row["text"]) for period, row in chapters_of(reader, repository).items()}


def write_chapters(
    reader: Rows, client: MemoryClient, writer: Writer, repositories: Sequence[str], spending: Spending
) -> Spending:
    """Has past months of those repositories told whose sessions are too many to be told line by line."""
    this_month = datetime.fromtimestamp(writer.now_ns / 1e9, UTC).strftime("%Y-%m")
    for repository in repositories[:MAX_CHAPTERED]:
        summaries = kept_of(reader, repository)
        if digest(summaries, writer.now_ns).whole_tokens <= THRESHOLD_TOKENS:
            continue
        written = writer.write(repository, summaries, told_of(reader, repository), spending, this_month)
        spending = written.spending
        if written.rows:
            client.keep_summaries(chapters=written.rows)
        if written.entries:
            client.add_internal_calls(written.entries)
    return spending
