"""What clickhouse-go ≥ 2.37 does over HTTP, as Grafana's ClickHouse datasource uses it, and nothing else.

Written from facts about that driver, not from its source: the query string it sends, the
question it asks on a new connection and decodes at revision 54460, the revision it decodes everything with afterwards,
and how it tells errors before and in the middle of an answer.
"""

from __future__ import annotations

import base64
import http.client
import struct
import urllib.parse
from collections.abc import Iterator
from typing import Any

ANNOUNCED_REVISION = 54460
HELLO = "SELECT displayName(), version(), revision(), timezone()"


class DriverError(Exception):
    """The server refused, or broke off. `code` is ClickHouse's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class GrafanaDriver:
    """One pooled connection."""

    def __init__(self, port: int, password: str, database: str = "spanlore") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._password = password
        self._database = database
        self.revision = ANNOUNCED_REVISION
        columns = self.query(HELLO)
        (self.display_name,), (self.version,), (revision,), (self.timezone,) = columns.values()
        self.revision = revision

    def query(self, sql: str, **parameters: str) -> dict[str, list[Any]]:
        """Columns by name, all blocks joined."""
        body, content_length = self.send(sql, **parameters)
        columns: dict[str, list[Any]] = {}
        if content_length == "0":
            return columns
        for block in blocks(body, self.revision):
            for name, values in block.items():
                columns.setdefault(name, []).extend(values)
        return columns

    def send(self, sql: str, **parameters: str) -> tuple[bytes, str | None]:
        """The answer's bytes, and its Content-Length if it has one."""
        given = {
            "database": self._database,
            "default_format": "Native",
            "client_protocol_version": str(ANNOUNCED_REVISION),
            "max_execution_time": "65",
            "query_id": "grafana-1",
            **parameters,
        }
        basic = base64.b64encode(f"default:{self._password}".encode()).decode()
        headers = {
            "Authorization": f"Basic {basic}",
            "Accept-Encoding": "gzip",
            "User-Agent": "grafana/12.3 clickhouse-datasource/4.20 clickhouse-go/2.47.0 (grafana_user:1)",
        }
        self._connection.request("POST", f"/?{urllib.parse.urlencode(given)}", sql.encode(), headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise DriverError(int(answer.headers["X-ClickHouse-Exception-Code"]), body[: 64 * 1024].decode())
        assert answer.headers.get("Content-Encoding") is None
        return body, answer.headers.get("Content-Length")

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def blocks(body: bytes, revision: int) -> Iterator[dict[str, list[Any]]]:
    """Native, decoded at a revision."""
    reader = _Bytes(body)
    while reader.left:
        if revision > 0:
            assert (reader.varint(), reader.take(1), reader.varint()) == (1, b"\x00", 2), "block info"
            reader.take(4)
            assert reader.varint() == 0, "block info"
        width, height = reader.varint(), reader.varint()
        block = {}
        for _ in range(width):
            name, kind = reader.text(), reader.text()
            if revision >= 54454:
                assert reader.take(1) == b"\x00", "has custom serialization"
            # What a dictionary's serialization is stands once, before everything else of the column.
            if height and "LowCardinality(" in kind:
                assert reader.take(8) == struct.pack("<q", 1), "version of the dictionary's serialization"
            block[name] = reader.column(kind, height)
        yield block


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        assert size <= self.left, "unexpected EOF"
        self._at += size
        return self._data[self._at - size : self._at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self) -> str:
        return self.take(self.varint()).decode()

    def column(self, kind: str, height: int) -> list[Any]:
        if kind == "String":
            return [self.text() for _ in range(height)]
        if kind.startswith("Nullable("):
            nulls = self.take(height)
            values = self.column(kind[9:-1], height)
            return [None if null else value for null, value in zip(nulls, values, strict=True)]
        if kind.startswith("LowCardinality("):
            return self._low_cardinality(kind[15:-1], height)
        if kind.startswith("Map("):
            key, _, value = kind[4:-1].partition(", ")
            return self._maps(key, value, height)
        if kind.startswith("Array("):
            ends = self._numbers("q", height)
            values = self.column(kind[6:-1], ends[-1] if ends else 0)
            return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        code = {"UInt8": "B", "Bool": "B", "UInt16": "H", "UInt32": "I", "UInt64": "Q", "Int64": "q", "Float64": "d"}
        code |= {"DateTime": "I", "Int32": "i"}
        return self._numbers("q" if kind.startswith("DateTime64") else code[kind.split("(", maxsplit=1)[0]], height)

    def _maps(self, key: str, value: str, height: int) -> list[Any]:
        ends = self._numbers("q", height)
        total = ends[-1] if ends else 0
        keys, values = self.column(key, total), self.column(value, total)
        pairs = list(zip(keys, values, strict=True))
        return [dict(pairs[start:end]) for start, end in zip([0, *ends], ends, strict=False)]

    def _low_cardinality(self, kind: str, height: int) -> list[Any]:
        if not height:
            return []
        (flags,) = self._numbers("q", 1)
        (size,) = self._numbers("q", 1)
        dictionary = self.column(kind, size)
        (count,) = self._numbers("q", 1)
        return [dictionary[index] for index in self._numbers("BHIQ"[flags & 3], count)]

    def _numbers(self, code: str, count: int) -> list[Any]:
        return list(struct.unpack(f"<{count}{code}", self.take(count * struct.calcsize(f"<{code}"))))
