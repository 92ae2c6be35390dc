"""`python -m spanlore_dashboards.grafana`: writes the JSON beside the code anew."""

from __future__ import annotations

import sys

from spanlore_dashboards.grafana.generate import FOLDER, files


def main() -> int:
    """Writes every file, and removes those that no code writes any more."""
    FOLDER.mkdir(exist_ok=True)
    written = set()
    for path, text in files():
        path.write_text(text)
        written.add(path)
    for path in set(FOLDER.glob("*.json")) - written:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
