"""Where things lie on disk: XDG directories, 0700, and what is secret 0600; and the environment that says so."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spanlore import private_file


class NoDirectoryError(OSError):
    """A directory of ours can't be made, or is not the user's. The message says which, and what to set."""


def user_homes(environ: Mapping[str, str] = os.environ) -> tuple[Path, Path]:
    """The user's home, and where programs of theirs keep their configuration (XDG)."""
    home = Path(environ.get("HOME") or Path.home())
    return home, Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def child_environment(changes: Mapping[str, str], without: tuple[str, ...] = ()) -> dict[str, str]:
    """This process's environment with `changes`, for a program that is started; names that begin with one of
    `without` are left out."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(without)}
    return {**kept, **changes}


def tell_library(name: str, value: str) -> None:
    """A variable for a library that this process is about to load; what somebody set stands."""
    os.environ.setdefault(name, value)


@dataclass(frozen=True, slots=True)
class Paths:
    """All paths spanlore reads or writes, under one config and one state directory."""

    config_dir: Path
    state_dir: Path

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Paths:
        """`SPANLORE_CONFIG_DIR` and `SPANLORE_STATE_DIR`, else the XDG directories, else their defaults below HOME."""
        home = Path(environ.get("HOME") or Path.home())
        config = (
            environ.get("SPANLORE_CONFIG_DIR") or Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "spanlore"
        )
        state = (
            environ.get("SPANLORE_STATE_DIR")
            or Path(environ.get("XDG_STATE_HOME") or home / ".local/state") / "spanlore"
        )
        return cls(config_dir=Path(config).expanduser().absolute(), state_dir=Path(state).expanduser().absolute())

    @classmethod
    def here(cls) -> Paths:
        """As this process's own environment says."""
        return cls.from_environ(os.environ)

    @property
    def config_file(self) -> Path:
        """TOML, optional, 0600."""
        return self.config_dir / "config.toml"

    @property
    def ca_dir(self) -> Path:
        """mitmproxy's confdir: the CA key, the certificate, and the bundle of system roots plus ours."""
        return self.state_dir / "ca"

    @property
    def ca_cert(self) -> Path:
        return self.ca_dir / "mitmproxy-ca-cert.pem"

    @property
    def ca_bundle(self) -> Path:
        return self.ca_dir / "bundle.pem"

    @property
    def token_file(self) -> Path:
        """Token of every port that reads or writes data, 0600."""
        return self.state_dir / "token"

    @property
    def daemon_file(self) -> Path:
        """JSON: pid, ports and version of the running daemon."""
        return self.state_dir / "daemon.json"

    @property
    def collector_file(self) -> Path:
        """JSON: ports of the collector that runs, for processes that share the state directory and no supervisor."""
        return self.state_dir / "collector.json"

    @property
    def opening_file(self) -> Path:
        """JSON: how far the collector is that opens the store (`spanlore.opening`); gone when it serves."""
        return self.state_dir / "collector-opening.json"

    @property
    def log_dir(self) -> Path:
        return self.state_dir / "log"

    @property
    def runs_dir(self) -> Path:
        """One JSON file a `spanlore run`: its token and workplace."""
        return self.state_dir / "runs"

    @property
    def spool_dir(self) -> Path:
        """The proxy's append-only spool."""
        return self.state_dir / "spool"

    @property
    def proxy_db(self) -> Path:
        """SQLite: conversation heads and the injection ledger, so that both survive a restart."""
        return self.state_dir / "proxy.sqlite"

    @property
    def wire_log(self) -> Path:
        """SQLite, bounded: client bodies and insertions, for `spanlore explain`."""
        return self.state_dir / "wire.sqlite"

    @property
    def snapshot_file(self) -> Path:
        """The proxy's last copy of the shown memories."""
        return self.state_dir / "snapshot.json"

    @property
    def proxy_tally(self) -> Path:
        """How many exchanges are not durable yet, for the proxy that comes after one that was killed."""
        return self.state_dir / "proxy-unrecorded"

    @property
    def proxy_status_file(self) -> Path:
        """JSON the proxy rewrites once a second: counters, by reason."""
        return self.state_dir / "proxy-status.json"

    @property
    def kill_file(self) -> Path:
        """While it exists nothing is injected anywhere."""
        return self.state_dir / "no-injection"

    @property
    def store_dir(self) -> Path:
        """The embedded chDB store."""
        return self.state_dir / "store"

    @property
    def notes_dir(self) -> Path:
        """Memories as Markdown, unless `notes.directory` says otherwise."""
        return self.state_dir / "notes"

    @property
    def notes_index(self) -> Path:
        """JSON: what each note said when it was last in step."""
        return self.state_dir / "notes.json"

    @property
    def prompts_dir(self) -> Path:
        """The user's own versions of the judge's prompts."""
        return self.config_dir / "prompts"

    def ensure(self) -> None:
        """Makes the directories, 0700.

        Raises:
            NoDirectoryError: it can't.
        """
        try:
            self._make()
        except OSError as error:
            raise NoDirectoryError(
                f"can't make {error.filename}: {error.strerror}. "
                "SPANLORE_CONFIG_DIR and SPANLORE_STATE_DIR name other directories."
            ) from error

    def _make(self) -> None:
        for folder in (
            self.config_dir,
            self.state_dir,
            self.ca_dir,
            self.log_dir,
            self.runs_dir,
            self.spool_dir,
        ):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.state_dir.chmod(0o700)

    def token(self) -> str:
        """The token, made on first use. Atomic: of two processes that make it at once, both get the same."""
        self.ensure()
        try:
            if token := self.token_file.read_text().strip():
                return token
            # A machine that lost its power in the wrong moment left it empty, and an empty one would keep nobody out.
            self.token_file.unlink()
        except FileNotFoundError:
            pass
        fresh = self.token_file.with_suffix(f".{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            os.fsync(descriptor)
        try:
            os.link(fresh, self.token_file)
        except FileExistsError:
            pass
        fresh.unlink()
        return self.token_file.read_text().strip()

    def put_back(self, token: str) -> None:
        """Makes the file hold this token again, if it is gone or another: processes that run know no other.

        Raises:
            OSError: it can't be written, or the state directory is gone.
        """
        try:
            if self.token_file.read_text().strip() == token:
                return
        except (FileNotFoundError, UnicodeDecodeError):
            pass
        private_file.replace(self.token_file, token.encode())

    def web_login(self) -> str:
        """What the web page's URL carries: it opens the page, and the token can't be found from it."""
        return hmac.new(self.token().encode(), b"spanlore web login", "sha256").hexdigest()[:40]
