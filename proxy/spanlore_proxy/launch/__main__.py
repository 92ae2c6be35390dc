"""The detached daemon: `python -m spanlore_proxy.launch READY_FD [LISTENING_FD]`, started by `ensure_daemon`, or by the
proxy of one that was killed, with the socket it listens on (`orphan`)."""

import os
import socket
import sys

from spanlore.settings import Paths, SettingsError, child_environment, load_settings
from spanlore_proxy.launch.start import serve

if __name__ == "__main__":
    ready_fd = int(sys.argv[1])
    paths = Paths.from_environ(child_environment({}))
    try:
        settings = load_settings(paths=paths)
    except SettingsError as error:
        os.write(ready_fd, str(error).encode())
        sys.exit(2)
    listening = socket.socket(fileno=int(sys.argv[2])) if len(sys.argv) > 2 else None
    sys.exit(serve(settings, paths, ready_fd, listening))
