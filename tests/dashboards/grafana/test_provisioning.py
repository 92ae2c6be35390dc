"""Files that Grafana reads when it starts."""

import json

import pytest
import yaml

from spanlore_dashboards.grafana.provisioning import Store, dashboard_files, datasource, files


def test_store_of_a_url() -> None:
    """User, password and database; usual ports."""
    store = Store.of("https://u%40x:p%2F@db.example.com/team")

    assert store == Store("db.example.com", 8443, "u@x", "p/", "team", True)
    assert Store.of("http://h:8123") == Store("h", 8123, "default", "", "spanlore")
    with pytest.raises(ValueError, match="no host"):
        Store.of("nowhere")


def test_files() -> None:
    """The data source with its password apart, OTel mode on, and where the dashboards are."""
    store = Store("127.0.0.1", 7719, "spanlore", "secret", "spanlore")
    written = {name: yaml.safe_load(text) for name, text in files(store, "/etc/dashboards")}
    [source] = written["datasources/spanlore.yaml"]["datasources"]
    [provider] = written["dashboards/spanlore.yaml"]["providers"]

    assert source == datasource(store)
    assert source["secureJsonData"] == {"password": "secret"}
    assert "secret" not in json.dumps(source["jsonData"])
    assert source["jsonData"]["traces"]["otelEnabled"] is True
    assert provider["options"]["path"] == "/etc/dashboards"


def test_dashboards_come_with_the_package() -> None:
    """Six files of JSON, each with an id of its own."""
    found = [json.loads(path.read_text()) for path in dashboard_files()]

    assert len({document["uid"] for document in found}) == 6
