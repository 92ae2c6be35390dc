"""The cluster's tables, made by the engine itself with a real ZooKeeper beside it (Debian: libzookeeper-java).

chDB has the Replicated engines and Distributed, but neither `ON CLUSTER` nor the tasks that make a replica writable. So
every statement that makes something runs, without its `ON CLUSTER`, and what changes a table gets as far as being told
that it is read-only. Rows need a real cluster.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanlore_collector.store.cluster import on_cluster
from spanlore_collector.store.migrate import script

JARS = Path("/usr/share/java")
CLUSTER, DATABASE = "spanlore", "spanlore"
READ_ONLY, NOT_STARTED, NO_PROJECTION, NO_SERVER = 242, 236, 344, 279
"""NO_PROJECTION: the setting that allows them is one that could not be changed."""
RUN = """
import chdb, json, os, re, sys
connection = chdb.connect(sys.argv[1])
connection.query("SET alter_sync = 0, mutations_sync = 0")
told = []
for statement in json.load(sys.stdin):
    try:
        connection.query(statement)
        told.append(0)
    except Exception as error:
        told.append(int(re.search(r"Code: (\\d+)", str(error))[1]))
    if statement.startswith("CREATE DATABASE"):
        connection.query("USE spanlore")
engines = connection.query(
    "SELECT name, engine_full FROM system.tables WHERE database = 'spanlore' FORMAT JSONCompactEachRow"
).bytes().decode()
print(json.dumps([told, [json.loads(line) for line in engines.splitlines()]]), flush=True)
os._exit(0)  # without waiting for replicas that never start
"""


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[int]:
    """The port of one that runs."""
    if not shutil.which("java") or not (JARS / "zookeeper.jar").exists():
        pytest.skip("no ZooKeeper here (Debian: libzookeeper-java)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    settings = {"dataDir": tmp_path / "zookeeper", "clientPort": port, "clientPortAddress": "127.0.0.1"}
    config = tmp_path / "zoo.cfg"
    config.write_text(
        "tickTime=2000\nadmin.enableServer=false\n" + "".join(f"{key}={value}\n" for key, value in settings.items())
    )
    command = ["java", "-cp", f"{JARS}/*", "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait(10)


def test_the_engine_makes_every_table_of_a_cluster(zookeeper: int, tmp_path: Path) -> None:
    """Replicated ones that hold the rows, Distributed ones over them, views; nothing is refused for what it says."""
    config = tmp_path / "cluster.xml"
    config.write_text(
        "<clickhouse><remote_servers><spanlore><shard><replica><host>127.0.0.1</host><port>9000</port></replica></shard>"
        f"</spanlore></remote_servers><zookeeper><node><host>127.0.0.1</host><port>{zookeeper}</port></node></zookeeper>"
        "<macros><shard>1</shard><replica>1</replica></macros>"
        "<default_replica_path>/clickhouse/tables/{database}/{table}/{shard}</default_replica_path>"
        "<default_replica_name>{replica}</default_replica_name></clickhouse>"
    )
    whole = script(DATABASE, CLUSTER, "26.9.2.1").replace(on_cluster(CLUSTER), "")
    statements = [text for text in whole.split(";\n\n") if text.strip()]
    done = subprocess.run(
        [sys.executable, "-c", RUN, f"{tmp_path / 'store'}?config-file={config}"],
        input=json.dumps(statements),
        capture_output=True,
        text=True,
        timeout=300,
    )
    told, tables = json.loads(done.stdout)

    for statement, code in zip(statements, told, strict=True):
        if statement.startswith("INSERT"):
            assert code in (0, READ_ONLY, NOT_STARTED, NO_SERVER), (code, statement)
        elif statement.startswith("ALTER"):
            assert code in (0, READ_ONLY, NOT_STARTED, NO_PROJECTION), (code, statement)
        else:
            assert code == 0, (code, statement)
    engines = {name: engine.split("(")[0].split(" ")[0] for name, engine in tables}
    local = {name: engine for name, engine in engines.items() if name.endswith("_local")}
    assert len(local) >= 12
    assert {name.removesuffix("_local") for name in local} == {
        name for name, engine in engines.items() if engine == "Distributed"
    }
    assert all(engine.startswith("Replicated") for engine in local.values())
