import hashlib
import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest

from spanlore_proxy.capture.manifest import Kind, Manifest, entry_of, unfolded
from spanlore_proxy.capture.wire_log import (
    LoggedInsertion,
    LoggedRequest,
    WireLog,
    WireLogReader,
    forwarded_body,
    load_piece,
    redact_json,
)

SECRET = "hunter2"
KEY = "-----BEGIN KEY-----\nabc\n-----END KEY-----"


def redact(text: str) -> tuple[str, int]:
    found = text.count(SECRET) + text.count(KEY)
    return text.replace(SECRET, "[gone]").replace(KEY, "[key]"), found


def entry(request_id: str, body: bytes, insertions: tuple[LoggedInsertion, ...] = ()) -> LoggedRequest:
    digest = hashlib.sha256(body).hexdigest()
    return LoggedRequest(
        id=request_id,
        time_ns=7,
        method="POST",
        url="https://api.anthropic.com/v1/messages",
        upstream="",
        content_encoding="",
        client_bytes=len(body),
        client_sha256=digest,
        forwarded_bytes=len(body),
        forwarded_sha256=digest,
        skipped="",
        redactions=0,
        insertions=insertions,
    )


def document(messages: int, text: str = "x" * 2000) -> dict[str, Any]:
    return {
        "system": [{"type": "text", "text": "s" * 3000}],
        "messages": [{"role": "user", "content": f"{number} {text}"} for number in range(messages)],
    }


def logged(path: Path, *bodies: bytes, max_bytes: int = 10**8) -> WireLog:
    log = WireLog(path, max_bytes=max_bytes, redact=redact)
    for number, body in enumerate(bodies):
        log.write(entry(f"{number:016x}", body), body, orjson.loads(body))
    return log


def read(path: Path, request_id: str) -> LoggedRequest:
    reader = WireLogReader(path)
    found = reader.request(request_id)
    reader.close()
    assert found is not None
    return found


def test_a_body_comes_back(tmp_path: Path) -> None:
    """Another process reads the request with its body, by its id or the beginning of it, while the log is open."""
    body = json.dumps(document(3), indent=1, ensure_ascii=False).encode()
    log = logged(tmp_path / "wire", body)
    found = read(tmp_path / "wire", "00000")
    log.close()

    assert found.body.encode() == body
    assert (found.id, found.time_ns, found.client_sha256) == ("0" * 16, 7, hashlib.sha256(body).hexdigest())
    assert (tmp_path / "wire").stat().st_mode & 0o777 == 0o600


def test_history_is_kept_once(tmp_path: Path) -> None:
    """A session's log grows with what is new in each request, not with requests times history."""
    bodies = [orjson.dumps(document(count)) for count in range(1, 60)]
    log = logged(tmp_path / "wire", *bodies)
    size = log.size_bytes()
    last = read(tmp_path / "wire", f"{58:016x}")
    log.close()

    assert last.body.encode() == bodies[-1]
    assert size < sum(map(len, bodies)) / 20


def messages_of(count: int) -> list[bytes]:
    """The bodies of a conversation that gets one message longer with each request."""
    told = [{"role": "user", "content": random.Random(number).randbytes(60).hex()} for number in range(count)]
    return [orjson.dumps({"messages": told[: length + 1]}) for length in range(count)]


def test_what_a_request_costs_does_not_grow_with_its_history(tmp_path: Path) -> None:
    """A conversation that is four times as long takes four times as much, not sixteen."""
    sizes = {}
    for count in (200, 800):
        log = logged(tmp_path / str(count), *messages_of(count))
        sizes[count] = log.size_bytes()
        log.close()
        assert read(tmp_path / str(count), f"{count - 1:016x}").body.encode() == messages_of(count)[-1]

    assert sizes[800] < 5 * sizes[200]


def test_runs_go_with_the_requests_that_used_them(tmp_path: Path) -> None:
    """Of two long conversations in one log the older is dropped, pieces and runs; the newer stays whole."""
    older = [orjson.dumps({"messages": [f"{number} {'o' * 90}" for number in range(length)]}) for length in (90, 100)]
    newer = messages_of(90)[-10:]
    log = logged(tmp_path / "wire", *older, *newer)
    log._db.execute("DELETE FROM requests WHERE sequence <= 2")
    log._drop_unused_pieces()
    log._db.commit()
    left = {bytes(row[0]) for row in log._db.execute("SELECT address FROM pieces")}
    log.close()
    alone = logged(tmp_path / "alone", *newer)
    expected = {bytes(row[0]) for row in alone._db.execute("SELECT address FROM pieces")}
    alone.close()

    assert left == expected
    assert [read(tmp_path / "wire", f"{number:016x}").body.encode() for number in range(2, 12)] == newer


def test_what_an_older_version_logged_is_read(tmp_path: Path) -> None:
    """Its manifests name each piece; new requests of the same conversation stand beside them."""
    bodies = messages_of(60)
    log = logged(tmp_path / "wire", *bodies[:40])
    for sequence, manifest in log._db.execute("SELECT sequence, manifest FROM requests").fetchall():
        flat = unfolded(manifest, lambda address: load_piece(log._db, address))
        whole = b"".join(entry_of(kind, data) for kind, data in flat)
        log._db.execute("UPDATE requests SET manifest = ? WHERE sequence = ?", (whole, sequence))
    log._drop_unused_pieces()
    log._db.commit()
    log.close()
    log = WireLog(tmp_path / "wire", max_bytes=10**8, redact=redact)
    for number in range(40, 60):
        log.write(entry(f"{number:016x}", bodies[number]), bodies[number], orjson.loads(bodies[number]))
    log.close()

    assert [read(tmp_path / "wire", f"{number:016x}").body.encode() for number in range(60)] == bodies


def test_a_run_that_is_gone_is_told(tmp_path: Path) -> None:
    """As a piece that is gone is: what is left is shown."""
    body = messages_of(40)[-1]
    log = logged(tmp_path / "wire", body)
    (manifest,) = log._db.execute("SELECT manifest FROM requests").fetchone()
    kind, address = next(iter(unfolded(manifest, lambda address: None)))
    log._db.execute("DELETE FROM pieces WHERE address = ?", (address,))
    log._db.commit()
    log.close()
    found = read(tmp_path / "wire", "0" * 16)

    assert kind is Kind.RUN
    assert found.body.startswith("[piece no longer kept]")
    assert found.body.endswith(body[-100:].decode())


def test_insertions_stand_where_they_stood(tmp_path: Path) -> None:
    """Offsets fit the redacted body, also behind a redaction, at the same place twice, and at both ends."""
    body = orjson.dumps({"messages": [{"content": SECRET + "x" * 100}, {"content": "y" * 100}]})
    middle = body.index(b"y" * 100) + 50
    insertions = tuple(
        LoggedInsertion(offset, text) for offset, text in ((middle, "B"), (middle, "C"), (0, "A"), (len(body), "Z"))
    )
    log = WireLog(tmp_path / "wire", max_bytes=10**8, redact=redact)
    log.write(entry("a" * 16, body, insertions), body, orjson.loads(body))
    found = read(tmp_path / "wire", "aaaa")
    log.close()
    clean = body.replace(SECRET.encode(), b"[gone]").decode()

    assert found.body == clean
    assert (found.redactions, SECRET in (tmp_path / "wire").read_bytes().decode("latin-1")) == (1, False)
    assert forwarded_body(found.body, found.insertions) == "A" + clean.replace("y" * 50, "y" * 50 + "BC", 1) + "Z"


def test_secrets_in_escaped_text_are_found() -> None:
    """A private key in JSON has no line ends; the text is looked at as it reads, and only then written anew."""
    text = json.dumps({"content": KEY, "other": 1.0}, indent=1)

    assert redact_json(text, redact) == ('{"content":"[key]","other":1.0}', 1)
    assert redact_json('{ "a": 1 }', redact) == ('{ "a": 1 }', 0)
    assert redact_json(f'"cut {SECRET}', redact) == ('"cut [gone]', 1)
    assert redact_json(",\n " + json.dumps([KEY]), redact) == (',\n ["[key]"]', 1)


def test_the_log_is_bounded(tmp_path: Path) -> None:
    """The oldest requests go, with the pieces that only they used; the newest stay whole."""
    bodies = [orjson.dumps(document(3, random.Random(number).randbytes(5000).hex())) for number in range(60)]
    log = logged(tmp_path / "wire", *bodies, max_bytes=300_000)
    size = log.size_bytes()
    newest = read(tmp_path / "wire", f"{59:016x}")
    reader = WireLogReader(tmp_path / "wire")
    oldest, kept = reader.request("0" * 16), reader.newest(100)
    reader.close()
    log.close()

    assert size <= 300_000
    assert (tmp_path / "wire").stat().st_size <= 330_000
    assert (newest.body.encode(), oldest) == (bodies[-1], None)
    assert [request.id for request in kept] == sorted((request.id for request in kept), reverse=True)
    assert 1 <= len(kept) < 60


def test_a_body_that_is_no_json_is_logged(tmp_path: Path) -> None:
    """What could not be parsed is what one wants to see."""
    log = WireLog(tmp_path / "wire", max_bytes=10**8, redact=redact)
    log.write(entry("b" * 16, b'{"half'), b'{"half' + b"x" * 100, None)
    found = read(tmp_path / "wire", "b" * 16)
    log.close()

    assert found.body == '{"half' + "x" * 100


def test_nothing_logged_yet(tmp_path: Path) -> None:
    """A reader does not make the file."""
    with pytest.raises(FileNotFoundError):
        WireLogReader(tmp_path / "wire")


def test_a_failed_write_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """A request is logged whole or not at all."""
    log = logged(tmp_path / "wire", orjson.dumps(document(1)))
    blocker = sqlite3.connect(tmp_path / "wire", timeout=0)
    blocker.execute("BEGIN IMMEDIATE")
    log._db.execute("PRAGMA busy_timeout=1")
    body = orjson.dumps(document(2))
    with pytest.raises(sqlite3.OperationalError):
        log.write(entry("c" * 16, body), body, None)
    blocker.rollback()
    blocker.close()
    reader = WireLogReader(tmp_path / "wire")
    kept = reader.newest(10)
    reader.close()
    log.close()

    assert [request.id for request in kept] == ["0" * 16]


def growing(count: int) -> list[bytes]:
    """Consecutive bodies of a conversation, long enough to be worth remembering."""
    bodies = []
    for messages in range(5, 5 + count):
        told = document(messages)
        told["system"][0]["text"] += f" call {messages}"
        bodies.append(orjson.dumps({"messages": told["messages"], "system": told["system"], "n": messages}))
    return bodies


def rows(path: Path) -> list[tuple[bytes, str]]:
    db = sqlite3.connect(path)
    found = db.execute("SELECT manifest, facts FROM requests ORDER BY sequence").fetchall()
    db.close()
    return found


@pytest.mark.parametrize("offset", [0, 40, 5000], ids=["before all", "in the history", "in the history, further on"])
def test_a_known_beginning_makes_no_difference(tmp_path: Path, offset: int) -> None:
    """Manifests and facts are the same, whether a body's beginning was seen before or not; so is what is read."""
    bodies = growing(6)
    # The conversation grows, its third message is edited, it grows again, and then gets an insertion into its past.
    bodies.append(bodies[-1].replace(b"2 xxx", b"2 yyy"))
    placed = [()] * 5 + [(LoggedInsertion(offset, "hint"), LoggedInsertion(len(bodies[4]) - 3, "block"))] * 2
    for name, limit in (("with", 2**20), ("without", 0)):
        log = WireLog(tmp_path / name, max_bytes=10**8, redact=redact, max_past_bytes=limit)
        for number, (body, insertions) in enumerate(zip(bodies, placed, strict=True)):
            log.write(entry(f"{number:016x}", body, insertions), body, orjson.loads(body))
        assert (len(log._pasts) > 0) is (limit > 0)
        log.close()

    assert rows(tmp_path / "with") == rows(tmp_path / "without")
    assert [read(tmp_path / "with", f"{n:016x}").body.encode() for n in range(7)] == bodies


def test_a_known_beginning_is_not_looked_at_again(tmp_path: Path) -> None:
    """What comes again costs a comparison: only the new pieces are hashed."""
    bodies = growing(2)
    log = logged(tmp_path / "wire", bodies[0])
    seen: list[bytes] = []
    append = log._append

    def watched(manifest: Manifest, piece: bytes) -> int:
        seen.append(piece)
        return append(manifest, piece)

    log._append = watched  # type: ignore[method-assign]
    log.write(entry("1" * 16, bodies[1]), bodies[1], orjson.loads(bodies[1]))
    log.close()

    assert sum(map(len, seen)) < len(bodies[1]) * 0.7
    assert bodies[1].endswith(b"".join(seen))


def test_what_was_rolled_back_or_dropped_is_not_known(tmp_path: Path) -> None:
    """The beginnings remembered stand for pieces in the file; when those may be gone they are forgotten."""
    bodies = growing(3)
    log = logged(tmp_path / "wire", bodies[0], bodies[1])
    known = len(log._pasts)
    log.shrink(0)
    after_shrink = len(log._pasts)
    log.write(entry("c" * 16, bodies[2]), bodies[2], orjson.loads(bodies[2]))
    found = read(tmp_path / "wire", "cccc")
    log.close()

    assert (known, after_shrink) == (1, 0)
    assert found.body.encode() == bodies[2]
