"""OpenTelemetry's names."""

from __future__ import annotations

from spanlore.semconv import gen_ai


def test_old_names_lead_to_names_of_today() -> None:
    """No older name is itself one that is written, and each leads to one that is."""
    written = {value for name, value in vars(gen_ai).items() if name.isupper() and isinstance(value, str)}

    assert set(gen_ai.OLD_NAMES.values()) <= written
    assert not set(gen_ai.OLD_NAMES) & written


def test_content_keys_are_all_that_holds_content() -> None:
    """Messages, system text, tools, arguments and results."""
    assert len(set(gen_ai.CONTENT_KEYS)) == 6
    assert all(key.startswith("gen_ai.") for key in gen_ai.CONTENT_KEYS)
