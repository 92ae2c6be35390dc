"""A question with a plain answer, for asking whether key, address and model work."""

from __future__ import annotations

from typing import Final

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status
from spanlore.redaction.redact import Redactor
from spanlore_extractor.judge.window import Window, window_of

_FAILED: Final = "1" * 16
_WORKED: Final = "2" * 16

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
