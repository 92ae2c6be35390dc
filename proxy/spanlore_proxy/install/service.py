"""The user's own service: systemd on Linux, launchd on macOS. Files as text, and the commands that make them work."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

UNIT: Final = "spanlore.service"
LABEL: Final = "io.github.spanlore"
KEPT: Final = ("SPANLORE_CONFIG_DIR", "SPANLORE_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""Variables of the installing shell that the service needs to find the same directories."""


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """What is written, and the commands that start and stop it."""

    path: Path
    text: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]
    is_active: tuple[str, ...] = ()
    """Succeeds while the service runs."""
    links: tuple[Path, ...] = ()
    """What the service manager makes beside it to start it at login, for when the manager is not there to do it."""


def service_for(platform: str, home: Path, command: Sequence[str], environ: Mapping[str, str]) -> ServiceFile:
    """The service of `sys.platform`: `command` runs the daemon in the foreground."""
    kept = {name: environ[name] for name in KEPT if environ.get(name)}
    if platform == "darwin":
        return _launchd(home, command, kept)
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user"
    return ServiceFile(
        path=folder / UNIT,
        text=_unit(command, kept),
        start=(("systemctl", "--user", "daemon-reload"), ("systemctl", "--user", "enable", "--now", UNIT)),
        stop=(("systemctl", "--user", "disable", "--now", UNIT), ("systemctl", "--user", "daemon-reload")),
        is_active=("systemctl", "--user", "is-active", "--quiet", UNIT),
        links=(folder / "default.target.wants" / UNIT,),
    )


def _unit(command: Sequence[str], environ: Mapping[str, str]) -> str:
    lines = [
        "# Made by `spanlore install`; `spanlore uninstall` removes it.",
        "[Unit]",
        "Description=spanlore: memory for coding agents",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={' '.join(map(_quoted, command))}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in environ.items()),
        "Restart=on-failure",
        "RestartSec=2",
        "# The supervisor ends its processes in order.",
        "KillMode=mixed",
        "TimeoutStopSec=45",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    return "\n".join(lines)


def _quoted(word: str) -> str:
    """As systemd.syntax(7) has it: % and $ are its own, quotes and backslashes are escaped."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _launchd(home: Path, command: Sequence[str], environ: Mapping[str, str]) -> ServiceFile:
    path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    job = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(environ),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "ExitTimeOut": 45,
    }
    return ServiceFile(
        path=path,
        text=plistlib.dumps(job).decode(),
        start=(("launchctl", "load", "-w", str(path)),),
        stop=(("launchctl", "unload", "-w", str(path)),),
        is_active=("launchctl", "list", LABEL),
    )
