"""Our own names."""

from __future__ import annotations

from spanlore.semconv import gen_ai, lore


def test_our_names_are_ours_and_distinct() -> None:
    """All begin with `spanlore.` but the HTTP status, no two are equal, and none is OpenTelemetry's GenAI."""
    sources = {"WIRE", "AGENT_TELEMETRY"}  # values of SOURCE, not names
    names = [
        value for name, value in vars(lore).items() if name.isupper() and isinstance(value, str) and name not in sources
    ]

    assert len(set(names)) == len(names)
    assert [name for name in names if not name.startswith("spanlore.")] == ["http.response.status_code"]
    assert not set(names) & {value for value in vars(gen_ai).values() if isinstance(value, str)}
