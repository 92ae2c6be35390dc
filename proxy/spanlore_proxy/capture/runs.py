"""Which run a connection belongs to: the proxy user name and token that `spanlore run` put into the proxy URL.

Agents send `Proxy-Authorization: Basic` on every CONNECT without being asked, as measured. git waits for a
407 first and never gets one, so a missing or wrong credential only means that the run is not known this way; nothing
is ever refused for it.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from spanlore.spans.place import Workplace
from spanlore_proxy.launch.runs import is_running

_RUN_ID: Final = re.compile(r"(?:run|shell)-[0-9a-f]{12}")
MAX_CACHED_RUNS: Final = 256


@dataclass(frozen=True, slots=True)
class Credentials:
    """User name and password of a proxy URL."""

    user: str
    password: str


def parse_proxy_authorization(value: str) -> Credentials | None:
    """The credentials of a `Basic` header; None when it is another scheme or malformed."""
    scheme, _, encoded = value.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return Credentials(user, password) if colon else None


class RunRegistry:
    """The run files of `paths.runs_dir`, read when a run is first seen. Used from the event loop: one small read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache: dict[str, tuple[int, dict[str, Any]]] = {}

    def workplace(self, credentials: Credentials | None) -> Workplace | None:
        """Whose work the run is; None when there is no such run, its token is another, or it is a shell's."""
        run = self.known(credentials)
        if credentials is None or run is None or not run.get("cwd"):
            return None
        return Workplace(
            run_id=credentials.user,
            harness=str(run.get("harness") or "unknown"),
            harness_version=str(run.get("harness_version") or ""),
            repository=str(run.get("repository") or ""),
            sub_path=str(run.get("sub_path") or ""),
            branch=str(run.get("branch") or ""),
            cwd=str(run.get("cwd") or ""),
        )

    def known(self, credentials: Credentials | None) -> dict[str, Any] | None:
        """What is written of the run; None when there is no such run or its token is another."""
        # The name becomes a file name: only what `spanlore run` makes is let through.
        if credentials is None or not _RUN_ID.fullmatch(credentials.user):
            return None
        run = self._read(credentials.user)
        if run is None or not hmac.compare_digest(str(run.get("token")).encode(), credentials.password.encode()):
            return None
        return run

    def is_alive(self, run_id: str) -> bool | None:
        """Whether the agent's process lives; None where no process of this machine is known. From any thread."""
        run = _load(self._folder / f"{run_id}.json") if _RUN_ID.fullmatch(run_id) else None
        if run is None:
            return None
        pid, created_at_ns = run.get("pid"), run.get("created_at_ns")
        if not isinstance(pid, int) or not isinstance(created_at_ns, int) or pid <= 0:
            return None
        return is_running(pid, created_at_ns)

    def _read(self, run_id: str) -> dict[str, Any] | None:
        path = self._folder / f"{run_id}.json"
        try:
            changed_ns = path.stat().st_mtime_ns
            cached = self._cache.get(run_id)
            if cached is not None and cached[0] == changed_ns:
                return cached[1]
        except OSError:
            return None
        run = _load(path)
        if run is None or not run.get("token"):
            return None
        if len(self._cache) >= MAX_CACHED_RUNS:
            self._cache.clear()
        self._cache[run_id] = (changed_ns, run)
        return run


def _load(path: Path) -> dict[str, Any] | None:
    try:
        run = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return run if isinstance(run, dict) else None
