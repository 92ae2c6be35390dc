"""The question that clickhouse-go asks on every new connection, answered as that driver decodes it.

clickhouse-go ≥ 2.37, which Grafana's datasource has in it, announces `client_protocol_version=54460` and decodes the
answer to its first query with that revision: a block with info before it, and a flag byte behind each column's type.
All later answers it decodes with the revision that this first one returned. chDB writes Native without a revision, so
this answer is framed by hand and says revision 0: what chDB writes is then what the driver reads.

Source: clickhouse-go v2.47 `conn_http.go`, `lib/proto/block.go`, as told in research/observability.md §3.3.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

HELLO = "select displayname(), version(), revision(), timezone()"
_WITH_INFO, _WITH_SERIALIZATION_FLAG = 51903, 54454
"""Revisions from which a block has its info, and a column the flag that its serialization is not a custom one."""


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
