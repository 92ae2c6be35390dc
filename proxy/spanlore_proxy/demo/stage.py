"""Where the demonstration plays: directories, ports and an environment of its own; nothing of the user's is touched.

HOME, configuration and state are temporary, ports are free ones, the API's host leads to the scripted server, git reads
no configuration but the project's and may only use files, and proxies or keys of the user's environment are left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from spanlore import private_file
from spanlore.settings import Paths, child_environment
from spanlore_proxy.demo.project import make_project

NEEDED_PROGRAMS = ("bash", "git", "make")
COMMAND_TIMEOUT_S = 180
NOT_INHERITED = (
    "SPANLORE_",
    "ANTHROPIC_",
    "CLAUDE",
    "XDG_",
    "GIT_",
    "MAKE",
    "MFLAGS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_",
    "NODE_EXTRA_CA_CERTS",
    "PYTHONPATH",
    "TALLY_",
)


class StageError(RuntimeError):
    """The demonstration can't go on. The message says what failed and shows the end of its output."""


class Stage:
    """The directories and the daemon of one demonstration; a context manager that stops and removes both."""

    def __init__(self, upstream_url: str, *, keep: Path | None = None, settings: dict[str, str] | None = None) -> None:
        """`keep` is a directory to build in and to leave behind; `settings` more environment for the daemon."""
        self.is_kept = keep is not None
        self.base = (keep or Path(tempfile.mkdtemp(prefix="spanlore-demo-"))).absolute()
        self.project = self.base / "tally"
        self.home = self.base / "home"
        self.environment = child_environment(self._changes(upstream_url) | (settings or {}), NOT_INHERITED)
        self.paths = Paths.from_environ(self.environment)

    def __enter__(self) -> Self:
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StageError(f"can't make {error.filename}: {error.strerror}") from error
        if self.project.exists():
            raise StageError(f"{self.project} exists already; give --keep a new directory")
        make_project(self.project, self.environment)
        self.paths.ensure()
        # The commands of the story are its user's, also where an agent looks on.
        private_file.write(self.paths.config_file, b'[memory]\nagents_word = "kept"\n')
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.paths.daemon_file.exists():
            self.spanlore("down", "--force", check=False)
        if not self.is_kept:
            shutil.rmtree(self.base, ignore_errors=True)

    def up(self) -> None:
        """Starts the daemon."""
        self.spanlore("up", "--detach")

    def spanlore(
        self, *arguments: str, check: bool = True, changes: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One `spanlore` command in the project, as its user would give it; `changes` is more environment.

        Raises:
            StageError: it failed or took too long, and `check` is true.
        """
        try:
            done = subprocess.run(
                self.command(*arguments),
                cwd=self.project,
                env={**self.environment, **(changes or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise StageError(f"`spanlore {' '.join(arguments)}` took over {error.timeout:.0f} s") from None
        if check and done.returncode != 0:
            raise StageError(
                f"`spanlore {' '.join(arguments)}` ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}"
            )
        return done

    @staticmethod
    def command(*arguments: str) -> Sequence[str]:
        return [sys.executable, "-m", "spanlore", *arguments]

    def _changes(self, upstream_url: str) -> dict[str, str]:
        python = str(Path(sys.executable).parent)
        return {
            "HOME": str(self.home),
            "SPANLORE_CONFIG_DIR": str(self.base / "config"),
            "SPANLORE_STATE_DIR": str(self.base / "state"),
            "SPANLORE_UPSTREAMS": f"api.anthropic.com={upstream_url}",
            "SPANLORE_PROXY_PORT": "0",
            "SPANLORE_COLLECTOR_PORT": "0",
            "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": "0",
            "SPANLORE_WEB_PORT": "0",
            # Each part of the story must happen: nothing is withheld for the sake of measuring.
            "SPANLORE_INJECTION_WITHHOLD_SHARE": "0",
            # Nor left out because the machine is busy with something else.
            "SPANLORE_INJECTION_DEADLINE_MS": "10000",
            # Sessions count as over at once, and mining happens when the story says so.
            "SPANLORE_MINING_IDLE_S": "0",
            "SPANLORE_MINING_INTERVAL_S": "86400",
            "PATH": python + ":" + child_environment({}).get("PATH", ""),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ALLOW_PROTOCOL": "file",
            "GIT_TERMINAL_PROMPT": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }


def missing_programs() -> tuple[str, ...]:
    """Programs the demonstration needs and does not find."""
    return tuple(name for name in NEEDED_PROGRAMS if shutil.which(name) is None)
