"""Questions that drivers ask on every new connection, and that the engine alone would answer wrong.

clickhouse-connect asks which settings it may change, and refuses all others to its user. Every session here is
read-only for the engine, and the settings that this interface applies are set before that: the answer tells those.

clickhouse-go ≥ 2.37, which Grafana's datasource has in it, announces `client_protocol_version=54460` and decodes the
answer to its first query with that revision: a block with info before it, and a flag byte behind each column's type.
All later answers it decodes with the revision that this first one returned. chDB writes Native without a revision, so
this answer is framed by hand and says revision 0: what chDB writes is then what the driver reads.

Sources: clickhouse-connect 1.12 `_backend/orchestration.py`;
clickhouse-go v2.47 `conn_http.go`, `lib/proto/block.go`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from spanlore_collector.store.reader_settings import readonly_sql

HELLO = "select displayname(), version(), revision(), timezone()"
_SETTINGS = "select name, value, readonly from system.settings"
_WITH_INFO, _WITH_SERIALIZATION_FLAG = 51903, 54454
"""Revisions from which a block has its info, and a column the flag that its serialization is not a custom one."""


def with_true_settings(sql: str) -> str:
    """clickhouse-connect's question for the settings, asked so that the answer is true; any other query as it is."""
    words = " ".join(sql.lower().split())
    if not words.startswith(_SETTINGS):
        return sql
    at = len(sql) - len(sql.lstrip())
    return sql[:at] + sql[at:].replace("readonly", f"{readonly_sql()} AS readonly", 1)


def is_hello(sql: str, parameters: Mapping[str, str]) -> bool:
    """Whether this is that question, from a driver that announced a revision."""
    return bool(parameters.get("client_protocol_version")) and " ".join(sql.lower().rstrip("; \n").split()) == HELLO


def hello_block(client_revision: int, *, display_name: str, version: str, timezone: str) -> bytes:
    """One row in Native as of `client_revision`; `revision()` is 0."""
    columns = [
        ("displayName()", "String", _text(display_name)),
        ("version()", "String", _text(version)),
        ("revision()", "UInt32", struct.pack("<I", 0)),
        ("timezone()", "String", _text(timezone)),
    ]
    out = bytearray()
    if client_revision >= _WITH_INFO:
        # Field 1: not overflows; field 2: no bucket; field 0: the end.
        out += b"\x01\x00\x02" + struct.pack("<i", -1) + b"\x00"
    out += bytes((len(columns), 1))
    for name, kind, value in columns:
        out += _text(name) + _text(kind)
        if client_revision >= _WITH_SERIALIZATION_FLAG:
            out.append(0)
        out += value
    return bytes(out)


def _text(value: str) -> bytes:
    data = value.encode()[:127]
    return bytes((len(data),)) + data
