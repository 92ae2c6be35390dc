"""Files that are their user's alone: 0600, whatever the umask says and whatever lay there before."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Puts the file there, whole or not at all; not fsynced.

    Raises:
        OSError: it could not be written; what was there before still is.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def write(path: Path, data: bytes) -> None:
    """Writes a file that its user named: a link is followed, a pipe or a device stays what it is.

    Raises:
        OSError: it could not be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            # A file that was there keeps its mode otherwise, and others could read what it now holds.
            os.fchmod(descriptor, 0o600)
        file.write(data)
