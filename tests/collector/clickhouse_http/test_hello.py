"""The hello of clickhouse-go: what is asked, and how its answer is framed."""

from __future__ import annotations

import pytest

from spanlore_collector.clickhouse_http.hello import hello_block, is_hello, with_true_settings
from support.grafana_driver import HELLO, blocks


@pytest.mark.parametrize(
    ("sql", "parameters", "expected"),
    [
        (HELLO, {"client_protocol_version": "54460"}, True),
        (f"  {HELLO.upper()} ;\n", {"client_protocol_version": "54460"}, True),
        (HELLO, {}, False),
        ("SELECT timezone()", {"client_protocol_version": "54460"}, False),
    ],
)
def test_only_that_question_of_that_driver(sql: str, parameters: dict[str, str], expected: bool) -> None:
    """Older drivers, which announce nothing, are answered by the engine."""
    assert is_hello(sql, parameters) is expected


@pytest.mark.parametrize("revision", [54460, 54454, 54453, 51903, 0])
def test_framed_as_the_driver_decodes(revision: int) -> None:
    """Decoded at the revision it announced; the revision it is told is 0."""
    block = hello_block(revision, display_name="spanlore", version="26.9.2.1", timezone="UTC")

    assert list(blocks(block, revision)) == [
        {
            "displayName()": ["spanlore"],
            "version()": ["26.9.2.1"],
            "revision()": [0],
            "timezone()": ["UTC"],
        }
    ]


def test_only_that_question_is_changed() -> None:
    """clickhouse-connect's, in whatever case; others that name the table are the engine's to answer."""
    changed = with_true_settings("SELECT name, value, readonly FROM system.settings LIMIT 10000")

    assert changed.startswith("SELECT name, value, toUInt8(name = 'output_format_schema' OR NOT (name IN (")
    assert changed.endswith("LIMIT 10000")
    for sql in ("SELECT readonly FROM system.settings", "SELECT name, value FROM system.settings", "SELECT 1"):
        assert with_true_settings(sql) == sql
