"""The demonstration's project: a small repository whose tests fail the obvious way and pass the project's own way.

The sources are below `src/` and the code wants a variable that only the Makefile sets, so `python3 -m unittest` fails,
and goes on failing when only the first of the two is mended. Nothing in the tree says how to run the tests but the
Makefile itself.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

REMOTE_URL = "git@github.com:example/tally.git"
SCOPE = "github.com/example/tally"
"""What `REMOTE_URL` is as a scope key."""
OBVIOUS_COMMAND = "python3 -m unittest discover -s tests"
HALF_COMMAND = f"PYTHONPATH=src {OBVIOUS_COMMAND}"
LOOK_COMMAND = "cat Makefile"
LONG_COMMAND = f"PYTHONPATH=src TALLY_CURRENCY=EUR {OBVIOUS_COMMAND}"
RIGHT_COMMAND = "make check"

FILES = {
    "README.md": "# tally\n\nAdds up the lines of an invoice, in the currency the office works in.\n",
    "Makefile": f".PHONY: check\ncheck:\n\t@{LONG_COMMAND}\n",
    "src/tally/__init__.py": '"""Invoices."""\n',
    "src/tally/invoice.py": (
        '"""Totals of an invoice."""\n\n'
        "import os\n"
        "from decimal import Decimal\n\n"
        'CURRENCY = os.environ["TALLY_CURRENCY"]\n\n\n'
        "def total(lines: list[tuple[int, str]]) -> str:\n"
        '    """Quantity times price of every line, with the currency."""\n'
        "    amount = sum((quantity * Decimal(price) for quantity, price in lines), Decimal())\n"
        '    return f"{amount:.2f} {CURRENCY}"\n'
    ),
    "tests/test_invoice.py": (
        "import unittest\n\n"
        "from tally.invoice import total\n\n\n"
        "class TotalTest(unittest.TestCase):\n"
        "    def test_empty(self):\n"
        '        self.assertEqual(total([]), "0.00 EUR")\n\n'
        "    def test_lines(self):\n"
        '        self.assertEqual(total([(2, "9.90"), (1, "0.20")]), "20.00 EUR")\n'
    ),
    ".gitignore": "__pycache__/\n",
}


def make_project(folder: Path, environment: Mapping[str, str]) -> None:
    """Writes the project and makes it a git repository with one commit and a remote that is never contacted.

    Raises:
        subprocess.CalledProcessError: git failed.
    """
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Demo"),
        ("config", "user.email", "demo@example.com"),
        ("remote", "add", "origin", REMOTE_URL),
        ("add", "."),
        ("commit", "--quiet", "--message", "Totals of an invoice"),
    ):
        subprocess.run(["git", *arguments], cwd=folder, env=dict(environment), check=True, capture_output=True)
