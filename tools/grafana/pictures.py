"""One picture a Grafana dashboard, drawn in Chromium with Grafana's own components from live answers of the store.

    sh tools/grafana.sh pictures DIR      # installs the components (0.4 GB) and runs this

A collector of its own is filled as the benchmark fills it, and asked what Grafana's datasource would ask. What a
picture is and what it isn't stands in `panels.jsx`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import urllib3
from playwright.sync_api import sync_playwright

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore_collector.store.api_client import MemoryClient
from spanlore_dashboards.bench.filling import Filled, filled
from spanlore_dashboards.bench.panels import looking_at
from spanlore_dashboards.grafana.board import Kind as PanelKind
from spanlore_dashboards.grafana.boards.every import BOARDS
from spanlore_dashboards.grafana.macros import expanded

ROOT = Path(__file__).parents[2]
JSON = ROOT / "dashboards" / "spanlore_dashboards" / "grafana" / "json"
LIBRARIES = ROOT / ".cache" / "grafana"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--allow-file-access-from-files"]
SPANS, POINTS = 34_000, 120
MEMORIES = 60


def main(target: str) -> int:
    """Makes the pictures; 1 when a panel could not be drawn."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        sys.stderr.write("there is no chromium on PATH: `sh tools/chromium.sh` installs Debian's where it can\n")
        return 1
    out = Path(target)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = _bundled(Path(folder))
        with filled(Path(folder), SPANS) as store:
            _remember(store)
            boards = [_answered(board, store) for board in BOARDS]
        return _draw(binary, page, boards, out)


def _bundled(folder: Path) -> Path:
    """A page that can draw; its script and styles beside it."""
    source = LIBRARIES / "panels.jsx"  # beside the libraries, where the bundler looks for them
    shutil.copy(Path(__file__).with_name("panels.jsx"), source)
    loaders = [f"--loader:.{kind}=dataurl" for kind in ("svg", "woff2", "png")]
    command = [LIBRARIES / "node_modules" / ".bin" / "esbuild", source, "--bundle", f"--outfile={folder}/panels.js"]
    define = '--define:process.env.NODE_ENV="production"'
    subprocess.run([*command, *loaders, "--loader:.ttf=empty", define, "--log-level=error"], check=True)
    page = folder / "page.html"
    head = '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="panels.css"><div id="root"></div>'
    page.write_text(f'{head}<script src="panels.js"></script>')
    return page


def _remember(store: Filled) -> None:
    """Some of the memories that the sessions were given."""
    states = (Status.ACTIVE, Status.ACTIVE, Status.TRIAL, Status.CANDIDATE, Status.QUARANTINED, Status.RETIRED)
    kinds = list(Kind)
    client = MemoryClient(store.api_url, store.token)
    client.apply(
        [
            Operation(
                Verb.ADDED,
                Memory(
                    f"m-{number:012x}",
                    kinds[number % len(kinds)],
                    Source.FAILURE_DELTA,
                    states[number % len(states)],
                    text=f"`make test-{number}` needs the database that `make up` starts; without it KeyError.",
                    scope=f"github.com/example/project-{number % 23}",
                    created_at_ns=store.now_ns,
                    updated_at_ns=store.now_ns,
                ),
            )
            for number in range(MEMORIES)
        ]
    )
    client.close()


def _answered(board: Any, store: Filled) -> dict[str, Any]:
    """The dashboard's JSON with what the store answers to each panel."""
    described = json.loads((JSON / f"{board.uid}.json").read_text())
    charts = {chart.title: chart for chart in board.charts}
    now_s = int(time.time()) + 1  # memories were put in after the sessions
    looking = replace(looking_at(board, store, POINTS), to_s=now_s)
    answers = {}
    for panel in described["panels"]:
        chart = charts.get(panel["title"])
        if panel["type"] != "row" and chart is not None and chart.kind is not PanelKind.TRACES:
            answers[panel["id"]] = _ask(store, expanded(chart.sql, looking))
    span = (looking.from_s, looking.to_s)
    return {**described, "answers": answers, "span": span, "web": "http://127.0.0.1:7720"}


def _ask(store: Filled, sql: str) -> dict[str, Any]:
    headers = urllib3.make_headers(basic_auth=f"spanlore:{store.token}")
    url = f"{store.clickhouse_url}/?database=spanlore&default_format=JSONCompact"
    answer = urllib3.request("POST", url, body=sql.encode(), headers=headers)
    if answer.status != 200:
        raise RuntimeError(f"{answer.data[:300]!r}\n{sql}")
    told = answer.json()
    return {"meta": told["meta"], "rows": told["data"]}


def _draw(binary: str, page: Path, boards: list[dict[str, Any]], out: Path) -> int:
    troubles: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=FLAGS)
        for board in boards:
            tab = browser.new_page(viewport={"width": 1616, "height": 1000})
            tab.set_default_timeout(300_000)
            tab.on("pageerror", lambda error: troubles.append(str(error)))
            tab.on("console", lambda said: troubles.append(said.text) if _is_trouble(said) else None)
            tab.goto(page.as_uri())
            tab.evaluate("board => window.show(board)", board)
            tab.wait_for_timeout(3_000)
            tab.screenshot(path=out / f"{board['uid']}.png", full_page=True)
            tab.close()
        browser.close()
    for trouble in dict.fromkeys(troubles):
        sys.stdout.write(f"FAULT {trouble[:300]}\n")
    return 1 if troubles else 0


def _is_trouble(said: Any) -> bool:
    """Icons are files of a Grafana's own, which there is none of here."""
    return said.type == "error" and "ERR_FILE_NOT_FOUND" not in said.text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
