"""What a request asks, wherever it stands in it."""

from __future__ import annotations

import base64
import gzip

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from spanlore_collector.clickhouse_http.compression import compressed_block
from spanlore_collector.clickhouse_http.requests import MAX_QUERY_BYTES, Asked, asked, passwords_of
from spanlore_collector.store.sessions import QueryError


def request(path: str, body: bytes = b"", **headers: str) -> web.Request:
    """A request whose body has been read."""
    named = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    made = make_mocked_request("POST", path, headers=named)
    made._read_bytes = body
    return made


async def ask(path: str, body: bytes = b"", **headers: str) -> Asked:
    """What it asks."""
    return await asked(request(path, body, **headers))


async def test_the_query_in_parameter_and_body() -> None:
    """Alone, and one continued in the other."""
    assert (await ask("/?query=SELECT+1")).query.sql == "SELECT 1"
    assert (await ask("/", b"SELECT 2")).query.sql == "SELECT 2"
    assert (await ask("/?query=SELECT", b"3")).query.sql == "SELECT\n3"


async def test_what_stands_beside_it() -> None:
    """Database, format, parameters, id; the rest are settings, save those of the interface itself."""
    found = await ask(
        "/?query=SELECT+1&database=a&default_format=CSV&param_x=1&query_id=q&session_id=s&max_result_rows=5"
        "&enable_http_compression=1&wait_end_of_query=1&user=me",
        Accept_Encoding="gzip",
    )

    assert (found.query.database, found.query.default_format, found.query.params) == ("a", "CSV", {"x": "1"})
    assert (found.query.settings, found.query.is_whole, found.query_id) == ({"max_result_rows": "5"}, True, "q")
    assert (found.wants_encoding, found.wants_blocks) == ("gzip", False)
    named = await ask("/", b"SELECT 1", X_ClickHouse_Database="b", X_ClickHouse_Format="JSON")
    assert (named.query.database, named.query.default_format) == ("b", "JSON")


async def test_compression_is_asked_for() -> None:
    """`Accept-Encoding` alone, which every HTTP library sends, is not enough, as with a server."""
    assert (await ask("/?query=SELECT+1", Accept_Encoding="gzip")).wants_encoding == ""
    assert (await ask("/?query=SELECT+1&compress=1")).wants_blocks


async def test_bodies_are_decompressed() -> None:
    """By their header, by native blocks, and by both."""
    block = compressed_block(b"SELECT 1")

    assert (await ask("/", gzip.compress(b"SELECT 1"), Content_Encoding="gzip")).query.sql == "SELECT 1"
    assert (await ask("/?decompress=1", block)).query.sql == "SELECT 1"
    assert (await ask("/?decompress=1", gzip.compress(block), Content_Encoding="gzip")).query.sql == "SELECT 1"


@pytest.mark.parametrize(
    ("path", "body", "headers", "code"),
    [
        ("/", b" ; ", {}, 62),
        ("/", b"x", {"Content_Encoding": "gzip"}, 271),
        ("/?decompress=1", b"x", {}, 271),
        ("/", gzip.compress(b"x" * (MAX_QUERY_BYTES + 1)), {"Content_Encoding": "gzip"}, 271),
        ("/?query=SELECT+1", b"x" * MAX_QUERY_BYTES, {}, 277),
        ("/?query=SELECT+1&readonly=0", b"", {}, 164),
        ("/?query=SELECT+1&allow_introspection_functions=1", b"", {}, 164),
    ],
)
async def test_what_is_refused(path: str, body: bytes, headers: dict[str, str], code: int) -> None:
    """With ClickHouse's code."""
    with pytest.raises(QueryError) as raised:
        await ask(path, body, **headers)

    assert raised.value.code == code


@pytest.mark.parametrize(
    ("headers", "path", "expected"),
    [
        ({}, "/", []),
        ({"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}, "/", ["secret"]),
        ({"Authorization": "Bearer secret"}, "/", ["secret"]),
        ({"X_ClickHouse_User": "me", "X_ClickHouse_Key": "secret"}, "/", ["secret"]),
        ({}, "/?user=me&password=secret", ["secret"]),
        ({"Authorization": "Basic !"}, "/", ["-"]),
        ({"Authorization": "Basic é"}, "/", ["-"]),
        ({"Authorization": "Basic " + base64.b64encode(b"me:\xff").decode()}, "/", ["-"]),
        ({"Authorization": "Basic " + base64.b64encode(b"me:").decode()}, "/", ["-"]),
    ],
)
def test_passwords(headers: dict[str, str], path: str, expected: list[str]) -> None:
    """In all the ways a client offers one; one that can't be read is one, and wrong."""
    assert passwords_of(request(path, b"", **headers)) == expected
