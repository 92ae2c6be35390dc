import uuid
from collections.abc import Iterator

import pytest

from spanlore_collector.store import views
from spanlore_collector.store.reader import Reader
from spanlore_collector.store.views import list_sessions, one_session, session_spans, sessions_named
from support.collector_process import CollectorProcess
from support.stored_session import store_session


@pytest.fixture
def reader(collector: CollectorProcess) -> Iterator[Reader]:
    with Reader(collector.clickhouse_url, collector.token) as reader:
        yield reader


@pytest.fixture(scope="module")
def played(collector: CollectorProcess) -> str:
    return store_session(collector, str(uuid.uuid4()))


def test_sessions_are_found_by_what_is_known(reader: Reader, played: str) -> None:
    """By any part of the repository, by a failure, by the beginning of the id."""
    by_repository = list_sessions(reader, limit=5, repository=played)
    by_failure = list_sessions(reader, limit=10_000, only_failed=True)

    assert [row["session_id"] for row in by_repository] == [played]
    assert played in [row["session_id"] for row in by_failure]
    assert [row["session_id"] for row in sessions_named(reader, played[:13])] == [played]
    assert (by_repository[0]["failures"], by_repository[0]["tool_calls"], by_repository[0]["turns"]) == (1, 2, 1)


def test_spans_come_in_order(reader: Reader, played: str) -> None:
    """Inferences by time; tools of one answer in its order, whatever their ids; a span delivered twice once."""
    found = session_spans(reader, sessions_named(reader, played)[0])

    assert [row["step_index"] for row in found.inferences] == [0, 1]
    assert [row["tool_call_id"] for row in found.tool_calls] == ["t2", "t1"]
    assert [row["end"] for row in found.turns] == ["completed"]
    assert found.inferences[0]["end_time_ns"] - found.inferences[0]["start_time_ns"] == 2_000_000_000


def test_one_session_is_as_listed(reader: Reader, played: str) -> None:
    """The same figures whether a session is listed, looked for by its id or by how that begins."""
    (listed,) = list_sessions(reader, limit=5, repository=played)
    found = one_session(reader, played)

    assert found is not None
    assert found[0] == listed == sessions_named(reader, played)[0] == sessions_named(reader, played[:20])[0]
    assert one_session(reader, played[:20]) is None


def test_of_too_many_spans_the_first_are_shown(reader: Reader, played: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever the engine finds first."""
    monkeypatch.setattr(views, "MAX_SPANS", 1)

    found = session_spans(reader, sessions_named(reader, played)[0])

    assert [row["step_index"] for row in found.inferences] == [0]
    assert len(found.tool_calls) == 1
