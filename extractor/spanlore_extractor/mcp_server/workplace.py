"""Where the agent that asks works: its repository, branch, harness and run, from its directory and environment.

An agent starts its MCP servers in its own working directory and mostly with its own environment. `spanlore run` writes
the run's id into the proxy's URL, so a server that inherits it knows which session is asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from spanlore.repository import locate


@dataclass(frozen=True, slots=True)
class Workplace:
    """Everything may be '' where it is not known."""

    scope: str = ""
    branch: str = ""
    sub_path: str = ""
    run_id: str = ""


def workplace_of(directory: Path, environ: Mapping[str, str]) -> Workplace:
    """The workplace of whoever started this process in `directory`."""
    checkout = locate(directory)
    return Workplace(checkout.scope, checkout.branch, checkout.sub_path, run_of(environ))


def run_of(environ: Mapping[str, str]) -> str:
    """The run id in the proxy's URL; '' without one."""
    for name in ("HTTPS_PROXY", "https_proxy"):
        user = urlsplit(environ.get(name, "")).username or ""
        if user.startswith("run-"):
            return user
    return ""
