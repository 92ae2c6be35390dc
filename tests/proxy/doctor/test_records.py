"""What was recorded, and each way in which something may be missing."""

import json
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanlore.settings import Settings
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.doctor import records
from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene, look

type Make = Callable[..., Scene]
MINUTE_MS = 60_000


class Stored(Scene):
    """A scene whose store holds given rows, for states that take days to come about."""

    activity: tuple[dict[str, Any], ...] = ()
    mined_ms = 0

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return list(self.activity) if "harness" in sql else [{"mined_ms": self.mined_ms}]


def stored(scene: Scene, mined_ms: int, settings: Settings | None = None, **row: Any) -> Scene:
    made = Stored(scene.paths, settings or scene.settings, scene.environ, scene.now_ns)
    newest = scene.now_ns // 10**6 - 90 * MINUTE_MS
    known = {"harness": "codex", "captured_ms": newest, "injected_ms": 0, "sessions": 3, "attested": 0}
    # The class has no slots of its own for what the base does not know.
    object.__setattr__(made, "activity", (known | row,))
    object.__setattr__(made, "mined_ms", mined_ms)
    return made


def one(found: Any) -> Finding:
    (finding,) = found
    assert isinstance(finding, Finding)
    return finding


def test_a_fresh_daemon_is_well(running: Scene) -> None:
    """Nothing waits, nothing is lost, the store is readable, and nobody was there yet."""
    assert one(records.store(running)).severity is Severity.OK
    assert one(records.spool(running)).severity is Severity.OK
    assert one(records.prefix_alarm(running)).severity is Severity.OK
    assert one(records.activity(running)).says.startswith("no agent was captured")
    assert list(records.attested(running)) == []
    assert one(records.completeness(replace(running, arrived={}))).severity <= Severity.NOTE


@pytest.mark.parametrize(
    ("spool", "trouble", "severity", "word"),
    [
        ({"records": 3, "bytes": 10}, "connection refused", Severity.ERROR, "connection refused"),
        ({"records": 3, "bytes": 2 * 1024**3}, "", Severity.ERROR, "oldest content is dropped next"),
        ({"records": 3, "bytes": 9, "oldest_time_ns": 1}, "", Severity.WARNING, "3 records wait"),
        ({"records": 0, "bytes": 0}, "", Severity.OK, "0 records on their way"),
    ],
)
def test_the_spool(running: Scene, spool: dict[str, int], trouble: str, severity: Severity, word: str) -> None:
    """Delivery in trouble, nearly full, late, well."""
    finding = one(records.spool(replace(running, proxy={"spool": spool, "delivery_trouble": trouble})))

    assert (finding.severity, word in finding.says) == (severity, True)


def test_what_a_killed_proxy_cost_is_told(scene: Make) -> None:
    """What was answered and is lost, and, as a note, what was cut off."""
    counters = {"captured": {"total": 5}, "shipped": {"total": 5}, "lost": {"proxy_killed": 2}, "cut_off": {"total": 3}}
    lost, cut_off = records.completeness(scene(proxy={"counters": counters}))

    assert lost.says.endswith("lost: 2 proxy_killed (2 exchanges were answered but lost when the proxy was killed)")
    assert cut_off.says.startswith("3 requests under way when the proxy was killed")
    assert (lost.severity, cut_off.severity) == (Severity.WARNING, Severity.NOTE)


def test_losses_are_told_by_reason(scene: Make) -> None:
    """Lost, kept without content, passed through: each with its number and reason."""
    counters = {
        "captured": {"total": 5},
        "shipped": {"total": 4},
        "lost": {"disk:full": 1, "x": 0},
        "stripped": {"spool_full": 2},
        "passthrough": {"request:KeyError": 1},
    }
    lost, stripped, past = records.completeness(scene(proxy={"counters": counters}))

    assert lost.says == "5 captured, 4 in the store, 0 on their way; lost: 1 disk:full"
    assert "2 spool_full" in stripped.says
    assert "1 request:KeyError" in past.says
    assert {lost.severity, stripped.severity, past.severity} == {Severity.WARNING}


def test_what_the_collector_dropped(running: Scene) -> None:
    """A span with an id that is none is refused for good, and told by its reason."""
    assert running.daemon is not None
    span = {"traceId": "00" * 16, "spanId": "00" * 8, "name": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    headers = {"Authorization": f"Bearer {running.paths.token()}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{running.daemon.collector_port}/v1/traces"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(url, body, headers), timeout=300).close()
    now = look(running.paths, running.settings, running.environ, running.now_ns)
    first, *_ = records.completeness(now)

    assert (first.severity, "dropped traces: 1 " in first.says) == (Severity.WARNING, True), first.says


def test_a_silent_collector_and_a_failed_write(running: Scene) -> None:
    """Both say what happens to what is captured meanwhile."""
    silent = one(records.store(replace(running, collector={"error": "the collector does not answer: x"})))
    failed, whole = records.store(replace(running, collector={"ingest": {"last_failure": "disk full"}}))

    assert (silent.severity, "waits in the spool" in silent.do) == (Severity.ERROR, True)
    assert (failed.severity, whole.severity) == (Severity.WARNING, Severity.OK)


def test_each_agent_and_the_mining(scene: Make) -> None:
    """When it was last captured and given a memory; mining that never ran is a warning."""
    now_ms = scene().now_ns // 10**6
    agent, mined = records.activity(stored(scene(), now_ms - MINUTE_MS, injected_ms=now_ms - 2 * MINUTE_MS))
    _, never = records.activity(stored(scene(), 0))

    assert agent.says == "codex: last captured 1 h 30 min ago, last given a memory 2 min 0 s ago; 3 sessions in 7 days"
    assert mined.says == "last mined 1 min 0 s ago"
    assert never.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("choice", "severity"), [("client", Severity.NOTE), ("rewrite", Severity.WARNING), ("off", Severity.NOTE)]
)
def test_signed_sessions(scene: Make, choice: str, severity: Severity) -> None:
    """What the user's choice means for them."""
    settings = Settings(injection=InjectionSettings.model_validate({"attested": choice}))
    finding = one(records.attested(stored(scene(), 0, settings, attested=2)))

    assert (finding.severity, finding.says.startswith("2 sessions")) == (severity, True)


def test_the_prefix_alarm(running: Scene) -> None:
    """A counter of changed beginnings that is not 0 is an error."""
    proxy = {"counters": {"prefix_changed": {"system": 2}}}
    finding = one(records.prefix_alarm(replace(running, proxy=proxy)))

    assert (finding.severity, "of 2 requests" in finding.says) == (Severity.ERROR, True)


def test_the_kill_file_and_the_setting(scene: Make, tmp_path: Path) -> None:
    """Both say why no memory is given."""
    here = scene()
    off = scene(settings=Settings(injection=InjectionSettings(enabled=False)))
    assert one(records.injection(here)).severity is Severity.OK
    assert one(records.injection(off)).severity is Severity.NOTE
    here.paths.kill_file.touch()
    assert one(records.injection(here)).severity is Severity.WARNING
