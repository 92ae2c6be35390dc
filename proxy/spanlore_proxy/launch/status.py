"""What `spanlore status` shows: the daemon's processes and ports, the proxy's counters, the collector's own word."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, Final

import psutil

from spanlore import opening
from spanlore.settings import Paths
from spanlore_proxy.launch.ca import fingerprint
from spanlore_proxy.launch.daemon import Daemon
from spanlore_proxy.launch.environment import proxy_url
from spanlore_proxy.launch.ports import HOST
from spanlore_proxy.launch.runs import live_runs

PATIENCE_S: Final = 5.0
SILENT_S: Final = 10.0
"""The proxy writes its status once a second; one that is older tells nothing about now."""
MIN_FREE_MB: Final = 100


def status(daemon: Daemon, paths: Paths) -> dict[str, Any]:
    """Everything as one JSON-able object. `healthy` is false when a process is down, the collector doesn't answer, or
    something else stands in `troubles`."""
    processes = [_process(child.name, child.pid, child.restarts) for child in daemon.processes]
    collector = collector_status(daemon, paths)
    capture = proxy_status(paths)
    troubles = [*_silence(capture, time.time_ns()), *_shortage(psutil.disk_usage(str(paths.state_dir)).free // 10**6)]
    is_whole = all(process["alive"] for process in processes) and "error" not in collector
    return {
        "healthy": is_whole and not troubles,
        "troubles": troubles,
        "pid": daemon.pid,
        "version": daemon.version,
        "up_s": round(time.time() - daemon.started_at_ns / 1e9, 1),
        "proxy": proxy_url(daemon.proxy_port),
        "collector": f"http://{HOST}:{daemon.collector_port}",
        "clickhouse": f"http://{HOST}:{daemon.clickhouse_port}",
        "web": web_url(daemon, paths),
        "state_dir": str(paths.state_dir),
        "injection_stopped": paths.kill_file.exists(),
        "processes": [_process("supervisor", daemon.pid, 0), *processes],
        "runs": [
            {"run_id": run.run_id, "pid": run.pid, "harness": run.harness, "cwd": run.cwd} for run in live_runs(paths)
        ],
        "completeness": completeness(capture),
        "capture": capture,
        "collector_says": collector,
    }


def web_url(daemon: Daemon, paths: Paths) -> str:
    """Of the web page, with what logs a browser in; '' when there is none."""
    return f"http://{HOST}:{daemon.web_port}/login?token={paths.web_login()}" if daemon.web_port else ""


def completeness(capture: Mapping[str, Any]) -> dict[str, Any]:
    """Whether everything that was seen is in the store: what was captured, what still waits, what was lost and why."""
    counters = capture.get("counters", {})
    totals = {name: sum(counters.get(name, {}).values()) for name in ("captured", "shipped")}
    waiting = capture.get("spool", {}).get("records", 0)
    lost = {reason: count for reason, count in counters.get("lost", {}).items() if count}
    return {**totals, "waiting": waiting, "lost": lost, "complete": not waiting and not lost}


def _silence(capture: Mapping[str, Any], now_ns: int) -> Iterator[str]:
    silent_s = (now_ns - capture.get("written_at_ns", now_ns)) / 1e9
    if silent_s > SILENT_S:
        yield f"the proxy has not reported for {silent_s:.0f} s (is its disk full?): what it counts is older than that"


def _shortage(free_mb: int) -> Iterator[str]:
    if free_mb < MIN_FREE_MB:
        yield f"only {free_mb} MB are free for the state directory: when it is full, what is captured is lost"


def proxy_status(paths: Paths) -> dict[str, Any]:
    """The file that the proxy rewrites once a second; empty before its first word."""
    try:
        data = json.loads(paths.proxy_status_file.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def has_other_ca(daemon: Daemon, capture: Mapping[str, Any], paths: Paths) -> bool:
    """Whether the running proxy began with another CA than the one on disk: what trusts that one, can't trust it.
    `capture` is `proxy_status`; of a proxy that ran before it says nothing."""
    is_its_own = capture.get("pid") in {child.pid for child in daemon.processes if child.name == "proxy"}
    return is_its_own and capture.get("ca", "") not in ("", fingerprint(paths))


def collector_status(daemon: Daemon, paths: Paths, route: str = "/v1/status") -> dict[str, Any]:
    """`GET` of that route, or `{"error": why}`."""
    request = urllib.request.Request(
        f"http://{HOST}:{daemon.collector_port}{route}", headers={"Authorization": f"Bearer {paths.token()}"}
    )
    # Loopback: never through a proxy that the environment names, least of all our own.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PATIENCE_S) as response:
            data = json.load(response)
    except (urllib.error.URLError, OSError, ValueError) as error:
        doing = opening.read(paths.opening_file)
        why = f"it is {doing}" if doing else getattr(error, "reason", error)
        return {"error": f"the collector does not answer: {why}"}
    return data if isinstance(data, dict) else {"error": "the collector's answer is no object"}


def _process(name: str, pid: int, restarts: int) -> dict[str, Any]:
    try:
        process = psutil.Process(pid) if pid else None
        alive = process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        memory_mb = process.memory_info().rss // 1024**2 if process is not None and alive else 0
    except psutil.Error:
        alive, memory_mb = False, 0
    return {"name": name, "pid": pid, "alive": alive, "memory_mb": memory_mb, "restarts": restarts}
