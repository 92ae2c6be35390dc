"""Questions with a plain answer, for asking whether key, address and model work."""

from __future__ import annotations

from typing import Final

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status
from spanlore.redaction.redact import Redactor
from spanlore_extractor.judge.window import Window, window_of

_FAILED: Final = "1" * 16
_WORKED: Final = "2" * 16

REHEARSAL_MONTH: Final = (
    "## 2026-10",
    "### 2026-10-12 main [rehearsa] make the slow tests faster",
    "- decision: never mock the database in tests/db",
    "- open: error: fixture 'clock' not found",
    "- resolved: error: no rule 'bench' -> make benchmarks",
    "- files: tests/db/test_speed.py, tests/conftest.py, src/pool.py and 4 more",
    "- next: look at the connection pool again, since two of the tests still wait for it",
    "### 2026-10-14 main [rehearsb] find out why the connection pool is exhausted under load",
    "- resolved: error: too many connections -> edit src/pool.py",
    "- files: src/pool.py, src/settings.py, docs/pool.md",
    "- confirmed: lgtm",
)
"""A month that is told in fewer words without trouble."""
REHEARSAL: Final[Window] = window_of(
    Memory(
        "m-000000000000", Kind.USAGE, Source.FAILURE_DELTA, Status.ACTIVE, "example.org/rehearsal/app",
        "`rtk bun run test` failed with “error: unrecognized subcommand 'bun'”; `bun run test` worked instead.",
        evidence=(
            Evidence("1" * 32, _FAILED, "s1", EvidenceRole.FAILURE, 1, "rtk bun run test"),
            Evidence("1" * 32, _WORKED, "s1", EvidenceRole.FIX, 2, "bun run test"),
        ),
        session_count=2,
    ),
    {
        _FAILED: {"tool_name": "Bash", "command": "rtk bun run test", "outcome": "failure",
                  "output": "error: unrecognized subcommand 'bun'"},
        _WORKED: {"tool_name": "Bash", "command": "bun run test", "outcome": "success", "output": "13 pass"},
    },
    (),
    Redactor(()),
)  # fmt: skip
