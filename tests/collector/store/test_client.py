"""Opening the store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spanlore.settings import child_environment
from spanlore_collector.store.client import ENGINE_SETTINGS, Store, StoreLockedError, StoreUnavailableError, store_of


def test_the_settings_name_the_store(tmp_path: Path) -> None:
    """Without a url it is the embedded one in the state directory."""
    embedded, server = store_of("", tmp_path / "store"), store_of("https://u:p@db:8443/spans", tmp_path)

    assert (embedded.path, embedded.database) == (tmp_path / "store", "spanlore")
    assert (server.path, server.database, server.label) == (None, "spans", "https://db:8443/spans")
    assert store_of("http://db", tmp_path).database == "spanlore"


def test_connections_do_not_share_their_state(store: Store) -> None:
    """Two connections stand in databases of their own."""
    with store.connect() as first, store.connect(database="system") as second:
        assert first.query("SELECT currentDatabase()").first_row == (store.database,)
        assert second.query("SELECT currentDatabase()").first_row == ("system",)


def test_an_open_store_is_claimed(store: Store) -> None:
    """Whoever would open it a second time is told before the engine is started."""
    if store.path:
        with pytest.raises(StoreLockedError, match="is open in another process"):
            store.claim()


def test_the_embedded_engine_is_bounded(store: Store) -> None:
    """As a whole, with its caches: its own bounds are those of a server."""
    if not store.path:
        pytest.skip("a server has settings of its own")
    with store.connect() as client:
        told = client.query("SELECT name, value FROM system.server_settings").result_rows
    values = {name: value for name, value in told if name in ENGINE_SETTINGS}

    assert values == {name: str(value) for name, value in ENGINE_SETTINGS.items()}


@pytest.mark.parametrize(("own", "expected"), [({}, "200"), ({"JE_MALLOC_CONF": "dirty_decay_ms:700"}, "700")])
def test_the_engine_gives_back_what_is_free(tmp_path: Path, own: dict[str, str], expected: str) -> None:
    """Its allocator keeps freed memory for a fifth of a second, not for five, unless somebody says otherwise."""
    asked = (
        "import sys; from spanlore_collector.store.client import Store\n"
        "with Store(sys.argv[1]).connect(database='system') as client:\n"
        "    print(client.command('SELECT stats FROM system.jemalloc_stats'))"
    )
    environment = child_environment(own, without=("JE_MALLOC_CONF",))
    command = [sys.executable, "-c", asked, f"chdb://{tmp_path / 'store'}"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert f"arenas.dirty_decay_ms: {expected})" in told


def test_nothing_to_claim(tmp_path: Path) -> None:
    """A directory without a store is free, and so is a server."""
    Store(f"chdb://{tmp_path}").claim()
    Store("http://127.0.0.1:1").claim()


def test_a_server_that_does_not_answer_is_unavailable() -> None:
    """The message names it, without its password."""
    with pytest.raises(StoreUnavailableError, match=r"http://127\.0\.0\.1:1/spanlore") as raised:
        Store("http://user:secret@127.0.0.1:1").connect()

    assert "secret" not in str(raised.value)


def test_a_server_is_a_store_like_any_other(server_url: str) -> None:
    """The same interface over a real server; the other tests run on it too where there is one."""
    with Store(server_url).connect() as client:
        assert client.query("SELECT 1").first_row == (1,)
