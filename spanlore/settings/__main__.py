"""`python -m spanlore.settings docs/settings.md`: renews the table of settings in that file."""

import sys
from pathlib import Path

from spanlore.settings.table import with_table

if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_table(file.read_text()))
