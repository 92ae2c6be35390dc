"""Settling ports."""

import os
import socket

import pytest

from spanlore.settings import Settings
from spanlore_proxy.launch.ports import PortTakenError, answers, holder_of, settle


def settings(proxy: int = 0, collector: int = 0, clickhouse: int = 0, web: int = 0) -> Settings:
    return Settings.model_validate(
        {
            "proxy": {"port": proxy},
            "collector": {"port": collector, "clickhouse_port": clickhouse},
            "web": {"port": web},
        }
    )


def test_free_ports_are_four() -> None:
    """0 takes a free port each; the proxy's listens already, the others' are free for their process."""
    ports = settle(settings())
    with ports.proxy:
        assert len({ports.proxy_port, ports.collector, ports.clickhouse, ports.web}) == 4
        socket.create_connection(("127.0.0.1", ports.proxy_port)).close()
        socket.create_server(("127.0.0.1", ports.collector)).close()
        assert (answers(ports.proxy_port), answers(ports.collector)) == (True, False)


@pytest.mark.parametrize(
    ("place", "variable"),
    [
        ("proxy", "SPANLORE_PROXY_PORT"),
        ("collector", "SPANLORE_COLLECTOR_PORT"),
        ("clickhouse", "SPANLORE_COLLECTOR_CLICKHOUSE_PORT"),
        ("web", "SPANLORE_WEB_PORT"),
    ],
)
def test_taken_port_is_told_with_its_holder_and_the_way_out(place: str, variable: str) -> None:
    """The message has the port, the pid that holds it, and the setting to change."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTakenError) as caught:
            settle(settings(**{place: port}))

    message = str(caught.value)
    assert str(port) in message
    assert f"pid {os.getpid()}" in message
    assert variable in message


def test_taken_on_all_interfaces() -> None:
    """A listener on every address holds the port on loopback too."""
    with socket.create_server(("0.0.0.0", 0)) as other, pytest.raises(PortTakenError):
        settle(settings(proxy=other.getsockname()[1]))


def test_free_port_has_no_holder() -> None:
    """Nobody listens: no name."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

    assert holder_of(port) == ""
