"""`spanlore status` for people."""

from typing import Any

import pytest

from spanlore_proxy.launch.status_text import duration, render

FOUND: dict[str, Any] = {
    "version": "0.1.0",
    "up_s": 3725.0,
    "healthy": True,
    "troubles": [],
    "proxy": "http://127.0.0.1:7717",
    "collector": "http://127.0.0.1:7718",
    "clickhouse": "http://127.0.0.1:7719",
    "state_dir": "/home/u/.local/state/spanlore",
    "injection_stopped": False,
    "processes": [
        {"name": "proxy", "pid": 5, "alive": True, "memory_mb": 112, "restarts": 0},
        {"name": "collector", "pid": 6, "alive": False, "memory_mb": 0, "restarts": 2},
    ],
    "runs": [],
    "completeness": {"captured": 5, "shipped": 3, "waiting": 2, "lost": {"queue_full": 1}, "complete": False},
    "capture": {
        "counters": {"injected": {"total": 4}, "skipped": {"side_call": 2}, "passthrough": {"request:KeyError": 1}},
        "overhead_ns": {"p50": 400_000, "p99": 2_000_000},
    },
    "collector_says": {
        "store": {"kind": "chdb", "url": "chdb:///s", "tables": {"otel_traces": {"rows": 34, "bytes": 2_000_000}}},
        "memories": {"active": 2},
    },
}


def test_what_a_user_acts_on_is_in_the_text() -> None:
    """Where it listens, what is down, what was captured and lost, what was injected, what is stored."""
    text = render(FOUND)

    for words in (
        "up for 1 h 2 min",
        "http://127.0.0.1:7717",
        "collector    DOWN, started again 2 ×",
        "5 exchanges captured, 3 in the store, 2 waiting",
        "lost: 1 queue_full",
        "because of a fault of ours: 1 request:KeyError",
        "p50 0.40 ms, p99 2.00 ms",
        "4 requests carried memories",
        "2 calls on the side",
        "34 spans, 2.0 MB",
        "2 active",
    ):
        assert words in text


def test_troubles_are_told() -> None:
    """Not healthy, the kill file, a silent collector and a refused delivery each have a line."""
    text = render(
        {
            **FOUND,
            "healthy": False,
            "troubles": ["only 3 MB are free"],
            "injection_stopped": True,
            "capture": {"delivery_trouble": "connection refused"},
            "collector_says": {"error": "the collector does not answer"},
        }
    )

    assert "not healthy" in text
    assert "STOPPED by the kill file" in text
    assert "TROUBLE: only 3 MB are free" in text
    assert "TROUBLE: connection refused" in text
    assert "the collector does not answer" in text


def test_before_anything_was_captured() -> None:
    """A daemon that has just come up has no counters, and says so without a fault."""
    text = render({**FOUND, "capture": {}, "collector_says": {}})

    assert "0 requests carried memories" in text


@pytest.mark.parametrize(("seconds", "words"), [(7.9, "7 s"), (242, "4 min 2 s"), (11_100, "3 h 5 min")])
def test_duration(seconds: float, words: str) -> None:
    """The two largest units."""
    assert duration(seconds) == words
