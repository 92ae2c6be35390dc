"""The embedded engine's descriptions of its tables, kept beside the store while a start changes them.

On a full disk the engine (26.9) writes an empty `NAME.sql` over the one that was there, without an error, and does not
open the store again: "Empty query … Cannot parse definition from metadata file". The rows are all there. So the texts
are kept first, and what is found empty at the next start is put back before the engine looks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spanlore import private_file
from spanlore_collector.store.client import StoreUnavailableError


@contextmanager
def kept(folder: Path | None) -> Iterator[None]:
    """Keeps the descriptions until the block has ended well. `folder`: the embedded store's, None for a server.

    Where the copy has no room the block goes on without one; `migrate.refuse_without_room` refuses a migration then.
    """
    if folder is None:
        yield
        return
    with suppress(OSError):
        texts = {str(file.relative_to(folder)): file.read_text() for file in _files(folder)}
        private_file.replace(_copy_of(folder), json.dumps(texts).encode())
    yield
    _copy_of(folder).unlink(missing_ok=True)


def put_back(folder: Path | None) -> list[str]:
    """Before the engine opens the store: mends descriptions that a full disk left empty; returns their files' names.

    A table that the copy does not know was being made, and has no rows: its file is set aside (`.sql.bak`, which the
    engine passes over), and the migration makes it again.

    Raises:
        StoreUnavailableError: they can't be written, since the disk is still full.
    """
    if folder is None or not _copy_of(folder).exists():
        return []
    try:
        texts = json.loads(_copy_of(folder).read_bytes())
        empty = [file for file in _files(folder) if not file.stat().st_size]
        for file in empty:
            if text := texts.get(str(file.relative_to(folder))):
                private_file.replace(file, text.encode())
            else:
                file.replace(file.with_name(f"{file.name}.bak"))
    except OSError as error:
        raise StoreUnavailableError(
            f"the disk was full while the store in {folder} was brought to this version, and the descriptions of its "
            f"tables can't be put back: {error}. Make room; no rows are lost."
        ) from error
    return [file.name for file in empty]


def _copy_of(folder: Path) -> Path:
    # Beside it, not in it: the engine's folder is the engine's.
    return folder.with_name(f"{folder.name}-descriptions.json")


def _files(folder: Path) -> Iterator[Path]:
    yield from (folder / "metadata").glob("*.sql")
    yield from (folder / "store").glob("*/*/*.sql")
