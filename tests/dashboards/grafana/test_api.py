"""Grafana's HTTP API, on a small server that checks what the real one checks."""

from collections.abc import Iterator

import pytest

from spanlore_dashboards.grafana.api import Grafana, GrafanaError
from spanlore_dashboards.grafana.provisioning import Store, datasource
from support.fake_grafana import TOKEN, FakeGrafana, fake_grafana

SOURCE = datasource(Store("127.0.0.1", 7719, "spanlore", "secret", "spanlore"))


@pytest.fixture
def grafana() -> Iterator[FakeGrafana]:
    with fake_grafana() as running:
        yield running


def test_everything_twice(grafana: FakeGrafana) -> None:
    """Put in, and put in again: replaced, not doubled; then taken out."""
    client = Grafana(grafana.url, TOKEN)
    states = []
    for title in ("one", "two"):
        states.append(client.put_datasource(SOURCE))
        client.put_folder()
        address = client.put_dashboard({"uid": "u", "id": 7, "title": title})

    assert states == ["added", "updated"]
    assert address == f"{grafana.url}/d/u/x"
    assert grafana.dashboards["u"]["title"] == "two"
    assert grafana.datasources["spanlore"]["secureJsonData"] == {"password": "secret"}
    client.remove()
    client.remove()
    assert (grafana.dashboards, grafana.datasources, grafana.folders) == ({}, {}, {})


def test_credentials_in_the_address(grafana: FakeGrafana) -> None:
    """They are used, and never shown."""
    client = Grafana(grafana.url.replace("http://", "http://admin:admin@"))

    assert client.needs_plugin() is False
    assert "admin" not in client.url


def test_what_is_wrong_is_told(grafana: FakeGrafana) -> None:
    """No credentials, no plugin, no Grafana, no address."""
    grafana.has_plugin = False

    assert Grafana(grafana.url, TOKEN).needs_plugin() is True
    with pytest.raises(GrafanaError, match="--token"):
        Grafana(grafana.url).put_folder()
    with pytest.raises(GrafanaError, match="Is Grafana running"):
        Grafana("http://127.0.0.1:1").version()
    with pytest.raises(GrafanaError, match="no address"):
        Grafana("127.0.0.1:3000")
    with pytest.raises(GrafanaError, match="answers 400"):
        Grafana(grafana.url, TOKEN).put_dashboard({"uid": "u"})
