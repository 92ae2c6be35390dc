"""Run files: what `spanlore run` knows about an agent, for the proxy to read when the agent's first tunnel arrives."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from spanlore import private_file
from spanlore.repository import locate
from spanlore.settings import Paths

KEPT_NS: Final = 7 * 24 * 3600 * 10**9
"""A run's file stays this long after its process: what the agent left in the background may still send."""


@dataclass(frozen=True, slots=True)
class Outer:
    """What the caller's own variables said of the way to the API (`launch.outer`)."""

    proxy: str = ""
    """URL of the proxy that ours goes through, with its credentials; '' for none."""
    exempt: str = ""
    """Hosts that are reached without it, as in NO_PROXY."""
    roots: str = ""
    """PEM file of the roots that the caller trusts, where they are not just the system's."""


@dataclass(frozen=True, slots=True)
class Run:
    """One `spanlore run`. `pid` is the agent's own, since the agent replaces the process that wrote this."""

    run_id: str
    token: str
    created_at_ns: int
    pid: int
    harness: str
    harness_version: str
    cwd: str
    repository: str
    sub_path: str
    branch: str
    upstreams: Mapping[str, str] = field(default_factory=dict)
    """Name in a base URL → where the user's own variable of that name led before."""
    outer: Outer = Outer()


def new_run(
    harness: str,
    cwd: Path,
    pid: int,
    now_ns: int,
    upstreams: Mapping[str, str] | None = None,
    outer: Outer = Outer(),
) -> Run:
    """A run with an id and a token of its own, and its workplace."""
    checkout = locate(cwd)
    return Run(
        run_id=f"run-{secrets.token_hex(6)}",
        token=secrets.token_hex(16),
        created_at_ns=now_ns,
        pid=pid,
        harness=harness,
        harness_version="",
        cwd=str(cwd),
        repository=checkout.scope,
        sub_path=checkout.sub_path,
        branch=checkout.branch,
        upstreams=upstreams or {},
        outer=outer,
    )


def shell_run(paths: Paths, upstreams: Mapping[str, str], outer: Outer = Outer()) -> Run:
    """What base URLs in a shell are known by: no process and no directory, and always the same id and token, so that
    they may stand in a profile. Those of a shell with gateways or a proxy of its own are others."""
    told = [dict(upstreams), asdict(outer)] if outer != Outer() else dict(upstreams)
    known = json.dumps(told, sort_keys=True).encode()
    run_id = f"shell-{hashlib.sha256(known).hexdigest()[:12]}"
    token = hmac.new(paths.token().encode(), run_id.encode(), "sha256").hexdigest()[:32]
    return Run(run_id, token, 0, 0, "", "", "", "", "", "", upstreams, outer)


def write_run(paths: Paths, run: Run) -> Path:
    path = paths.runs_dir / f"{run.run_id}.json"
    private_file.replace(path, json.dumps(asdict(run), indent=1).encode())
    return path


def read_run(paths: Paths, run_id: str) -> Run | None:
    """The run of this id; None where there is none, or its file is of another version."""
    try:
        return _run(json.loads((paths.runs_dir / f"{run_id}.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def live_runs(paths: Paths) -> list[Run]:
    """Runs whose agent is alive."""
    return [run for _, run in _all(paths) if is_running(run.pid, run.created_at_ns)]


def prune_runs(paths: Paths, now_ns: int) -> None:
    """Removes the files of runs that are long over."""
    for path, run in _all(paths):
        if now_ns - run.created_at_ns > KEPT_NS and not is_running(run.pid, run.created_at_ns):
            path.unlink(missing_ok=True)


def _all(paths: Paths) -> Iterator[tuple[Path, Run]]:
    for path in sorted(paths.runs_dir.glob("run-*.json")):
        try:
            yield path, _run(json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            # Not written by this version, or gone meanwhile.
            continue


def _run(written: dict[str, Any]) -> Run:
    return Run(**{**written, "outer": Outer(**written.get("outer", {}))})


def is_running(pid: int, not_after_ns: int) -> bool:
    """Whether the process that had this number at that time lives: a later one with the same number is another, and
    one that has ended may still wait for its parent."""
    try:
        process = psutil.Process(pid)
        return process.create_time() * 1e9 <= not_after_ns + 10**9 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
