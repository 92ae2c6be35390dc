"""What of a client's settings is applied."""

from __future__ import annotations

import pytest

from spanlore_collector.store.reader_settings import LIMITS, WHOLE_RESULT_BYTES, settings_of


@pytest.mark.parametrize(
    ("value", "expected"),
    [("5", "5"), ("0.5", "0.5"), ("65", 30), ("0", 30), ("-1", 30), ("1e9", 30), ("abc", "abc"), ("nan", 30)],
)
def test_a_bound_gets_tighter_only(value: str, expected: object) -> None:
    """0, which is no bound for the engine, is none of a client's business; text is the engine's to refuse."""
    assert settings_of({"max_execution_time": value}, is_whole=False).applied["max_execution_time"] == expected


def test_choices_are_applied_and_the_rest_is_named() -> None:
    """How results are written, yes; what reads files or widens what may be done, no."""
    wishes = {
        "output_format_json_quote_64bit_integers": "1",
        "join_use_nulls": "1",
        "session_timezone": "Europe/Berlin",
        "format_schema": "/etc/passwd",
        "format_template_resultset": "/etc/passwd",
        "insert_deduplicate": "0",
    }
    settings = settings_of(wishes, is_whole=False)

    assert settings.applied["output_format_json_quote_64bit_integers"] == "1"
    assert settings.applied["session_timezone"] == "Europe/Berlin"
    assert settings.ignored == ("format_schema", "format_template_resultset", "insert_deduplicate")
    assert not set(settings.ignored) & set(settings.applied)


def test_every_limit_is_always_set() -> None:
    """Also when the result is held in memory, with less of it."""
    assert set(LIMITS) <= set(settings_of({}, is_whole=True).applied)
    assert settings_of({}, is_whole=True).applied["max_result_bytes"] == WHOLE_RESULT_BYTES
    assert settings_of({}, is_whole=False).applied == LIMITS
