"""The detached daemon: `python -m spanlore_proxy.launch READY_FD`, started by `ensure_daemon`."""

import os
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
    sys.exit(serve(settings, paths, ready_fd))
