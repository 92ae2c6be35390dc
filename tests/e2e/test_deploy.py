"""What lies in deploy/, checked as far as tools go where no container engine is."""

from __future__ import annotations

import json
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
import venv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanlore.settings import Settings, child_environment
from spanlore_collector.store.migrate import script
from spanlore_dashboards.grafana.provisioning import Store, files
from spanlore_proxy.install.service import service_for
from support.collector_process import CollectorProcess

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = ("compose.yaml", "compose.cluster.yaml")
MODULES = {"spanlore_proxy", "spanlore_collector", "spanlore_extractor", "spanlore_dashboards.web"}


def compose(name: str) -> dict[str, Any]:
    """A compose file, its merge keys resolved."""
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text())
    return loaded


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Files of this repository that a service mounts: where they lie in it → where they lie here."""
    split = [volume.split(":") for volume in service.get("volumes", [])]
    return {parts[1]: parts[0] for parts in split if parts[0].startswith(".")}


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_are_by_the_specification(name: str) -> None:
    """A parser of the Compose Specification takes them."""
    specification = pytest.importorskip("compose_spec", reason="compose-spec has no wheel for this platform")
    parsed = specification.PyCompose.from_json(json.dumps(compose(name)))

    assert set(parsed.service_names()) == set(compose(name)["services"])


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_fit_the_rest(name: str) -> None:
    """Commands are modules, settings exist, what is mounted or depended on is there; only loopback is open."""
    services = compose(name)["services"]
    ran = set()
    for service in services.values():
        if command := service.get("command"):
            assert command[:2] == ["python", "-m"]
            ran.add(command[2])
            assert service["network_mode"] == "host"
        for source in mounts(service).values():
            assert (DEPLOY / source).exists(), source
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", []):
            assert volume.startswith(".") or volume.split(":")[0] in compose(name)["volumes"]
        named = [key for key in service.get("environment", {}) if key.startswith("SPANLORE_")]
        for key in named:
            section, _, field = key.removeprefix("SPANLORE_").lower().partition("_")
            place: Any = Settings()
            found = hasattr(place, f"{section}_{field}") or hasattr(getattr(place, section, None), field)
            assert found, key

    assert ran == MODULES
    secrets = set(re.findall(r"\$\{(\w+)", (DEPLOY / name).read_text()))
    assert secrets <= set(re.findall(r"^(\w+)=$", (DEPLOY / ".env.example").read_text(), re.MULTILINE))


def test_the_cluster_is_as_the_collector_is_told(tmp_path: Path) -> None:
    """The engine reads the file: two shards of two replicas under the name the collector has, and all of them run."""
    services = compose("compose.cluster.yaml")["services"]
    cluster = services["collector"]["environment"]["SPANLORE_COLLECTOR_CLUSTER"]
    code = (
        "import chdb, sys; c = chdb.connect(sys.argv[1]); "
        "print(c.query(\"SELECT cluster, shard_num, replica_num, host_name FROM system.clusters ORDER BY ALL\", 'TSV')"
        ".bytes().decode()); "
        "print(c.query(\"SELECT * FROM system.macros ORDER BY macro\", 'TSV').bytes().decode())"
    )
    config = DEPLOY / "cluster" / "config.d" / "cluster.xml"
    variables = {"CLICKHOUSE_SHARD": "2", "CLICKHOUSE_REPLICA": "1", "CLICKHOUSE_CLUSTER_SECRET": "x"}
    done = subprocess.run(
        [sys.executable, "-c", code, f"{tmp_path / 'store'}?config-file={config}"],
        env=child_environment(variables),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines() if line]

    told = [row for row in rows if row[0] == cluster]
    assert [row[1:3] for row in told] == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]
    assert {row[3] for row in told} == {name for name in services if name.startswith("clickhouse-")}
    assert ["shard", "2"] in rows
    assert ["replica", "1"] in rows
    for host in {row[3] for row in told}:
        environment = services[host]["environment"]
        assert f"clickhouse-{environment['CLICKHOUSE_SHARD']}-{environment['CLICKHOUSE_REPLICA']}" == host
    keepers = {node.findtext("host") for node in ET.parse(config).iter("node")}
    asked = {node.findtext("hostname") for node in ET.parse(DEPLOY / "cluster" / "keeper.xml").iter("server")}
    assert keepers == asked == {name for name in services if name.startswith("keeper-")}
    assert f"ON CLUSTER `{cluster}`" in script("spanlore", cluster, "26.3.1.1")


@pytest.mark.parametrize("file", sorted(DEPLOY.rglob("*.xml")), ids=lambda file: file.name)
def test_xml_is_well_formed(file: Path) -> None:
    """With ClickHouse's root."""
    assert ET.parse(file).getroot().tag == "clickhouse"


def test_grafana_is_provisioned_as_spanlore_does_it() -> None:
    """The files are those that `spanlore dashboards export` writes for this server, and lead to the dashboards."""
    grafana = compose("compose.yaml")["services"]["grafana"]
    folder = {source: place for place, source in mounts(grafana).items()}
    store = Store("clickhouse", 8123, "grafana", "$GRAFANA_CLICKHOUSE_PASSWORD", "spanlore")
    written = dict(files(store, folder["../dashboards/spanlore_dashboards/grafana/json"]))

    assert {name: (DEPLOY / "grafana" / "provisioning" / name).read_text() for name in written} == written
    assert "GRAFANA_CLICKHOUSE_PASSWORD" in grafana["environment"]
    users = ET.parse(DEPLOY / "clickhouse" / "users.d" / "grafana.xml")
    assert users.find("users/grafana") is not None
    assert users.findtext("profiles/spanlore_reading/readonly") == "2"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
@pytest.mark.parametrize("name", ["spanlore.service", "spanlore@.service"])
def test_systemd_takes_the_units(name: str, tmp_path: Path) -> None:
    """`systemd-analyze verify` has nothing to say once the program is one that this machine has."""
    text = (DEPLOY / "systemd" / name).read_text()
    (tmp_path / name).write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    user = [] if "@" in name else ["--user"]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *user, str(tmp_path / name)],
        env=child_environment({"XDG_RUNTIME_DIR": str(tmp_path)}),
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_units_are_those_of_install() -> None:
    """Same restart and stop as the ones `spanlore install` writes, on Linux and macOS."""
    unit = service_for("linux", Path("/home/me"), ["spanlore", "up"], {}).text
    ours = (DEPLOY / "systemd" / "spanlore.service").read_text()
    lines = [line for line in unit.splitlines() if "=" in line and not line.startswith(("#", "ExecStart"))]
    assert [line for line in lines if line not in ours.splitlines()] == []
    job = plistlib.loads(service_for("darwin", Path("/Users/me"), ["spanlore", "up"], {}).text.encode())
    mine = plistlib.loads((DEPLOY / "launchd" / "io.github.spanlore.plist").read_bytes())
    for key in ("Label", "RunAtLoad", "KeepAlive", "ProcessType", "ExitTimeOut"):
        assert mine[key] == job[key], key
    template = (DEPLOY / "systemd" / "spanlore@.service").read_text()
    assert "-m spanlore_%i" in template
    assert {f"spanlore_{name}" for name in re.findall(r"spanlore@([a-z.]+)(?=[ \n])", template)} - {
        "spanlore_service",
        "spanlore_.service",
    } == MODULES


def test_the_image_has_all_it_needs(tmp_path: Path) -> None:
    """What the Dockerfile copies is enough to build and run: migrations, dashboards, pages and all."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    source = tmp_path / "src"
    source.mkdir()
    for line in text.split("\nFROM")[1].splitlines():
        if line.startswith("COPY "):
            *names, target = shlex.split(line)[1:]
            for name in names:
                place = source / target / name if len(names) > 1 or target.endswith("/") else source / target
                (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place)
    allowed = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert {file.name for file in source.iterdir()} == allowed
    clean = tmp_path / "clean"
    venv.create(clean, system_site_packages=False, with_pip=False, symlinks=True)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheel")]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=300)
    (wheel,) = (tmp_path / "wheel").iterdir()
    site = tmp_path / "site"
    shutil.unpack_archive(wheel, site, "zip")

    listed = {str(file.relative_to(site)) for file in site.rglob("*")}
    assert "spanlore_collector/store/migrations/0001_spans.sql" in listed
    assert any(name.endswith("spanlore-sessions.json") for name in listed)
    for module in MODULES:
        assert f"{module.replace('.', '/')}/__main__.py" in listed
    here = [path for path in sys.path if path.endswith("site-packages")]
    code = (
        f"import sys; sys.path[:0] = {[str(site), *here]!r}; import spanlore_collector.__main__ as m; print(m.__file__)"
    )
    python = str(clean / "bin" / "python")
    done = subprocess.run([python, "-P", "-c", code], check=True, capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith(str(site))


def test_processes_alone_find_each_other(tmp_path: Path) -> None:
    """Without a supervisor, what shares the state directory finds the collector by the ports it left there."""
    with CollectorProcess(tmp_path) as collector:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("spanlore")), "sessions", "--json"],
            env=child_environment(
                {
                    "SPANLORE_CONFIG_DIR": str(collector.paths.config_dir),
                    "SPANLORE_STATE_DIR": str(collector.paths.state_dir),
                }
            ),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (done.returncode, json.loads(done.stdout)) == (0, []), done.stderr

    assert not collector.paths.collector_file.exists()
