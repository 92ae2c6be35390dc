"""The small model of `make small-model`, as a server on loopback for as long as it is needed."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = Path(".cache/small-model")
"""Where `make small-model` puts the server and the model's file."""
MODEL_FILE: Final = "model.gguf"
SERVER_FILE: Final = "server.mjs"
_READY: Final = "listening at "


class NoModelError(RuntimeError):
    """The small model can't be started. The message says why, and what to do."""


@contextlib.contextmanager
def running(folder: Path, model_file: str = MODEL_FILE, node: str = "node") -> Iterator[str]:
    """The server's URL; it is ended when the block is left.

    Raises:
        NoModelError: not installed, or it does not start.
    """
    for name in (SERVER_FILE, model_file):
        if not (folder / name).is_file():
            raise NoModelError(f"{folder / name} is missing: `make small-model` installs it, or give --url")
    # By its own folder, where node looks for the libraries.
    command = [node, SERVER_FILE, "--attended", "--model", model_file]
    try:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise NoModelError(f"{node} can't be started: {error.strerror}") from error
    try:
        line = process.stdout.readline() if process.stdout else ""
        if not line.startswith(_READY):
            raise NoModelError(f"the model's server in {folder} did not start: {line.strip() or 'it said nothing'}")
        yield line.removeprefix(_READY).strip()
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
