"""Summaries of sessions, on a real store: they outlive the sessions' rows."""

from typing import Any

from spanlore_collector.store.client import Store
from spanlore_collector.store.migrate import migrate
from spanlore_collector.store.retention import RAW, ROWS, Retention, apply_retention, compact, ttls
from spanlore_collector.store.summaries import (
    Summaries,
    chapters_of,
    insert_summaries,
    search_summaries,
    summaries_named,
    summaries_of,
    unsummarised,
    what_is_left,
)

DAY_NS = 86_400 * 10**9
START_NS = 1_500_000_000 * 10**9
"""2017: past any retention."""


class Reading:
    """The reading side, over the writer's own client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        return list(self._client.query(sql, parameters=parameters or {}).named_results())


def row(session_id: str, text: str = "Goal: feed the ibex", steps: int = 10, **changes: Any) -> dict[str, Any]:
    place = {"repository": "example.org/summaries/app", "branch": "main", "harness": "codex"}
    times = {"start_time_ns": START_NS, "end_time_ns": START_NS + DAY_NS}
    return {"session_id": session_id, **place, **times, "steps": steps, "text": text, "json": "{}", **changes}


def keep(client: Any, *rows: dict[str, Any], chapters: tuple[dict[str, Any], ...] = ()) -> None:
    insert_summaries(client, Summaries.model_validate({"summaries": rows, "chapters": chapters}))


def test_what_was_made_of_more_wins(store: Store) -> None:
    """Whatever comes first, before and after a merge; of the same number the later one."""
    with store.connect() as client:
        keep(client, row("more-1", "rich", 30))
        keep(client, row("more-1", "poor", 12))
        keep(client, row("more-2", "old", 5))
        keep(client, row("more-2", "new", 5))
        before = [found["text"] for name in ("more-1", "more-2") for found in summaries_named(Reading(client), name)]
        client.command("OPTIMIZE TABLE session_summaries FINAL")
        after = [found["text"] for name in ("more-1", "more-2") for found in summaries_named(Reading(client), name)]

    assert before == after == ["rich", "new"]


def test_they_are_found(store: Store) -> None:
    """By id and its beginning, by repository and branch, oldest first, by words, newest first."""
    repository = "example.org/summaries/found"
    with store.connect() as client:
        keep(
            client,
            row("found-b", "feed the Walrus", repository=repository, end_time_ns=START_NS + 2),
            row("found-a", "wash the walrus", repository=repository, end_time_ns=START_NS + 1, branch="topic"),
        )
        reading = Reading(client)
        wanted = {"repository": "summaries/found", "agent": "codex", "since": 0, "limit": 9}

        assert [one["session_id"] for one in summaries_named(reading, "found-")] == ["found-a", "found-b"]
        assert [one["session_id"] for one in summaries_named(reading, "found-b")] == ["found-b"]
        assert [one["session_id"] for one in summaries_of(reading, repository)] == ["found-a", "found-b"]
        assert [one["session_id"] for one in summaries_of(reading, repository, limit=1)] == ["found-b"]
        assert [one["session_id"] for one in summaries_of(reading, repository, "topic")] == ["found-a"]
        hits = search_summaries(reading, ("walrus", "the"), wanted, 70)
        assert [(hit["session_id"], hit["snippet"]) for hit in hits] == [
            ("found-b", "feed the Walrus"),
            ("found-a", "wash the walrus"),
        ]
        assert search_summaries(reading, ("walrus", "ibex"), wanted, 70) == []
        assert search_summaries(reading, ("walrus",), {**wanted, "agent": "pi"}, 70) == []
        assert what_is_left(reading, "found-a") is not None and what_is_left(reading, "found-") is None


def test_a_month_is_told_by_its_newest_text(store: Store) -> None:
    """One a repository and month."""
    told = {"repository": "example.org/summaries/told", "period": "2026-10", "source": "0" * 32, "model": "small"}
    with store.connect() as client:
        keep(client, chapters=({**told, "text": "first"},))
        keep(client, chapters=({**told, "text": "second"},))
        found = chapters_of(Reading(client), "example.org/summaries/told")

    assert {period: one["text"] for period, one in found.items()} == {"2026-10": "second"}


def test_they_outlive_retention(store: Store) -> None:
    """The session's rows go with their days; its summary has none and stays."""
    with store.connect(database="default") as client:
        migrate(client, "outliving")
        values = [["gone-1", "a" * 16, START_NS, START_NS + DAY_NS, 1]]
        names = ["session_id", "span_id", "start_time", "end_time", "turns"]
        client.insert("session_facts", values, column_names=names)
        reading = Reading(client)
        waiting = unsummarised(reading, 2**63 - 1, 10)
        keep(client, row("gone-1"))
        summed_up = unsummarised(reading, 2**63 - 1, 10)
        apply_retention(client, Retention(raw_days=1, rows_days=1))
        assert "session_summaries" not in {*RAW, *ROWS} | dict(ttls(client)).keys()
        list(compact(client))
        left = client.query("SELECT count() FROM session_facts WHERE session_id = 'gone-1'").result_rows[0][0]
        kept = what_is_left(reading, "gone-1")

    assert (waiting, summed_up) == ([("gone-1", START_NS + DAY_NS)], [])
    assert left == 0
    assert kept is not None and kept["text"] == "Goal: feed the ibex"
