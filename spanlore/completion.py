"""What a shell's completion offers: ids and names that are in the store.

A person waits for each of these, so nothing is imported but the standard library's HTTP client: one question to the
ClickHouse interface of the daemon that runs here, and where none runs, or it does not answer at once, nothing is
offered and nothing is said.
"""

from __future__ import annotations

import base64
import json
from typing import Final
from urllib.parse import urlencode

from spanlore.settings import Paths

PATIENCE_S: Final = 1.5
_LIMIT: Final = 200
_SESSIONS: Final = """
SELECT session_id, concat(formatDateTime(max(start_time), '%d %b '), any(harness), ' ',
    arrayElement(splitByChar('/', any(repository)), -1))
FROM inferences WHERE startsWith(session_id, {begun:String}) GROUP BY session_id ORDER BY max(start_time) DESC"""
_MEMORIES: Final = """
SELECT id, argMax(substringUTF8(text, 1, 60), version) FROM memories WHERE startsWith(id, {begun:String})
GROUP BY id HAVING argMax(status, version) NOT IN ('superseded') ORDER BY max(updated_at) DESC"""
_REQUESTS: Final = """
SELECT span_id, concat(formatDateTime(start_time, '%d %b %H:%i '), request_model) FROM inferences
WHERE startsWith(span_id, {begun:String}) ORDER BY start_time DESC LIMIT 1 BY span_id"""
_NAMES: Final = """
SELECT {column}, concat(toString(uniq(session_id)), ' sessions') FROM inferences
WHERE {column} != '' AND startsWith({column}, {begun:String}) GROUP BY {column} ORDER BY count() DESC"""

type Offers = list[tuple[str, str]]
"""(word, what it is), the likeliest first."""


def sessions(incomplete: str) -> Offers:
    """Ids of sessions, the newest first."""
    return _asked(_SESSIONS, incomplete)


def memories(incomplete: str) -> Offers:
    """Ids of memories, the last changed first."""
    return _asked(_MEMORIES, incomplete)


def requests(incomplete: str) -> Offers:
    """Ids of requests, the newest first."""
    return _asked(_REQUESTS, incomplete)


def scopes(incomplete: str) -> Offers:
    """Scope keys of repositories, the busiest first."""
    return _asked(_NAMES.replace("{column}", "repository"), incomplete)


def repositories(incomplete: str) -> Offers:
    """The same; where no key begins so, names that do, since any part of a key is enough there."""
    if found := scopes(incomplete):
        return found
    names = [
        (part, told)
        for key, told in scopes("")
        for part in (key.partition("/")[2], key.rpartition("/")[2])
        if part.startswith(incomplete)
    ]
    return list(dict(names).items())


def agents(incomplete: str) -> Offers:
    """Harnesses, the busiest first."""
    return [item for item in _asked(_NAMES.replace("{column}", "harness"), incomplete) if item[0] != "spanlore"]


def _asked(sql: str, incomplete: str) -> Offers:
    try:
        return _rows(f"{sql} LIMIT {_LIMIT} FORMAT JSONCompactEachRow", incomplete)
    except (OSError, ValueError, KeyError, TypeError):
        # No daemon, none that answers, or no store yet: a shell that completes must show nothing of it.
        return []


def _rows(sql: str, incomplete: str) -> Offers:
    from http.client import HTTPConnection, HTTPException

    paths = Paths.here()
    port = int(json.loads(paths.daemon_file.read_text())["clickhouse_port"])
    token = paths.token_file.read_text().strip()
    login = base64.b64encode(f"spanlore:{token}".encode()).decode()
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        target = "/?" + urlencode({"param_begun": incomplete})
        connection.request("POST", target, sql.encode(), {"Authorization": f"Basic {login}"})
        answer = connection.getresponse()
        body = answer.read()
    except HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()
    if answer.status != 200:
        return []
    return [(str(word), str(told)) for word, told in map(json.loads, body.splitlines())]
