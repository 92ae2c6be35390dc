"""The HTTP API, against its own description."""

import re
import subprocess
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from spanlore_collector.store.api_client import MemoryClient
from support.collector_process import CollectorProcess
from support.web_process import WebProcess
from support.web_site import told_site
from support.web_story import SESSION, WebStory

EXAMPLES = 3
"""Of each operation; `schemathesis run` with the document's address does more."""


def test_sessions(site: WebProcess) -> None:
    """The list and the tree."""
    listed = site.api("/sessions?agent=claude-code").json()
    tree = site.api(f"/sessions/{SESSION}").json()

    assert [session["session_id"] for session in listed["sessions"]] == [SESSION]
    assert tree["turns"][0]["chats"][0]["tools"][2]["turns"][0]["chats"][0]["call_class"] == "subagent"
    assert tree["turns"][0]["chats"][0]["placements"][1]["state"] == "withheld"


def test_a_session_past_its_days(site: WebProcess, web_collector: CollectorProcess) -> None:
    """What is left of it, and that it is past them; one that never was is 404."""
    row = {"session_id": "past-api", "goal": "groom the okapi", "start_time_ns": 10**18, "end_time_ns": 10**18 + 1}
    row |= {"repository": "example.org/zoo", "steps": 3, "text": "Goal: groom", "json": '{"goal": "groom"}'}
    MemoryClient(web_collector.url, web_collector.token).keep_summaries([row])
    tree = site.api("/sessions/past-api").json()

    assert (tree["turns"], tree["session"]["title"]) == ([], "groom the okapi")
    assert tree["summary"] == {"goal": "groom the okapi", "text": "Goal: groom", "parts": {"goal": "groom"}}
    assert site.api(f"/sessions/{SESSION}").json()["summary"] is None
    assert site.api("/sessions/never-was").status == 404


def test_a_span(site: WebProcess, story: WebStory) -> None:
    """With its content and all its columns."""
    span = site.api(f"/sessions/{SESSION}/spans/{story.failed_span}").json()

    assert (span["kind"], span["attributes"]["exit_code"]) == ("tool", 1)
    assert [part["direction"] for part in span["parts"]] == ["arguments", "result"]


def test_memories_and_what_is_done_to_them(site: WebProcess) -> None:
    """Confirm, and a conflict for who decided on an older version, however JSON writes the number."""
    path = "/memories/m-000000000002"
    version = site.api(path).json()["memory"]["version"]
    done = site.api(f"{path}/actions", "POST", {"action": "confirm", "version": version})
    late = site.api(f"{path}/actions", "POST", {"action": "confirm", "version": float(version)})

    assert done.json()["memory"]["version"] == version + 1
    assert late.status == 409
    assert site.api(path).json()["events"][-1]["actor"] == "user"


def test_recall(site: WebProcess) -> None:
    """In the order of choice: what the user said before what was mined; for a failure; for a text."""
    scope = "scope=github.com/acme/widgets"
    order = [item["memory"]["id"][-1] for item in site.api(f"/recall?{scope}").json()["recalled"]]
    failure = site.api(f"/recall?{scope}&program=pytest&error_class=KeyError").json()["recalled"]
    about = site.api(f"/recall?{scope}&q=when+are+releases+cut").json()["recalled"]

    assert order.index("2") < order.index("1")
    assert [item["memory"]["id"][-1] for item in failure] == ["1"]
    assert [item["memory"]["id"][-1] for item in about] == ["2"]
    assert site.api("/recall?scope=elsewhere").json()["recalled"] == []


def test_search_cost_and_health(site: WebProcess) -> None:
    """The figures of the pages."""
    assert site.api("/search?q=KeyError").json()["hits"][0]["session_id"] == SESSION
    assert site.api("/cost?by=agent").json()["names"][0]["name"] == "codex"
    assert site.api("/health").json()["capture"]["is_silent"] is True


@pytest.mark.parametrize("path", ["/sessions?page=0", "/sessions?colour=red", "/sessions?q=a&q=b", "/cost?by=moon"])
def test_what_makes_no_sense(site: WebProcess, path: str) -> None:
    """400, with what is wrong."""
    reply = site.api(path)

    assert reply.status == 400
    assert reply.json()["message"]


def test_ways_that_are_not_there(site: WebProcess) -> None:
    """404 and 405, as this API tells things."""
    assert (site.api("/nothing").status, "message" in site.api("/nothing").json()) == (404, True)
    refused = site.api("/sessions", "DELETE")
    assert (refused.status, refused.headers["Allow"]) == (405, "GET")


def test_the_document_is_openapi(site: WebProcess) -> None:
    """3.1, and every answer of a page's figures fits it."""
    document = site.api("/openapi.json").json()
    name = document["paths"]["/api/v1/cost"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    schema = {**name, "components": document["components"]}

    jsonschema.Draft202012Validator(schema).validate(site.api("/cost").json())
    assert document["openapi"] == "3.1.0"


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    """Whatever is sent: no 500, no answer that the document does not have, nothing without the token."""
    # A store of its own: what is found in answers is sent again, and memories are forgotten that way.
    with told_site(tmp_path) as (_, site, _):
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            *("run", f"{site.url}/api/v1/openapi.json", "--header", f"Authorization: Bearer {site.paths.token()}"),
            *("--max-examples", str(EXAMPLES), "--phases", "examples,coverage,fuzzing", "--mode", "all"),
            *("--seed", "1", "--generation-database", "none", "--workers", "1", "--no-color"),
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"Tested: +11\b|11 tested|11 operations|Operations: .*11", done.stdout), done.stdout[-3000:]
