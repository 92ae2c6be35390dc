"""No secret that passes through the proxy is kept anywhere: spool, request log, states, store, logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanlore_proxy.demo.replies import Failure, UseTool
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from support.model_server import Answer, ModelServer, ReceivedRequest, Reply, Say
from support.proxied import ProxiedClient, counted
from support.secrets import Planted, arguments, command, kept, leaks, output, prompt

PLANT = Planted()
PROMPT, COMMAND, ARGUMENTS, OUTPUT = prompt(PLANT), command(PLANT), arguments(PLANT), output(PLANT)
SAID = f"Your key is {PLANT.key('model')}\nexport API_SECRET={PLANT.secret('model: assignment')}"
REFUSED = f"invalid x-api-key: {PLANT.key('error body')}"
CALLS = (UseTool("Bash", {"command": COMMAND}, "toolu_1"), UseTool("deploy", ARGUMENTS, "toolu_2"))
TOOL = {
    "name": "Bash",
    "description": f"Runs commands with {PLANT.secret('tool definition', 36, 'ghp_')}",
    "input_schema": {"type": "object"},
}
SYSTEM = f"The gateway's key is {PLANT.key('system prompt')}"
PATH = f"/v1/messages?beta=true&key={PLANT.secret('query of the request')}"
HEADERS = {
    "x_api_key": PLANT.key("x-api-key"),
    "authorization": f"Bearer {PLANT.secret('authorization')}",
    "cookie": f"a={PLANT.secret('cookie')}",
    "x_gateway_token": PLANT.secret("a gateway's own header"),
}


def answer(request: ReceivedRequest) -> Answer:
    """Split over chunks so small that each secret is in several."""
    if request.mentions("be refused"):
        return Failure(401, "authentication_error", REFUSED, (("set-cookie", f"s={PLANT.secret('set-cookie')}"),))
    if request.results_since_prompt:
        return Reply((Say(SAID),), chunk_bytes=7)
    return Reply(CALLS, chunk_bytes=5)


def conversation() -> list[dict[str, Any]]:
    """Up to the tools' results."""
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in CALLS]
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": f"Exit code 1\n{OUTPUT}"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": OUTPUT}]},
    ]
    return [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with ModelServer(answer) as server, Stage(server.url) as stage:
        stage.up()
        yield stage


def test_no_planted_secret_is_kept(stage: Stage) -> None:
    """In prompts, answers, arguments, outputs, system text, tools, headers, queries, errors and broken requests."""
    client = ProxiedClient(stage.paths)

    def send(messages: list[dict[str, Any]], indent: int | None = None) -> int:
        document = {"model": "claude-sonnet-4-5", "max_tokens": 9, "stream": True, "system": SYSTEM, "tools": [TOOL]}
        body = json.dumps(document | {"messages": messages}, indent=indent).encode()
        return client.send(body, PATH, **HEADERS).status

    whole = conversation()
    ended = [*whole, {"role": "assistant", "content": SAID}]
    statuses = [
        send(whole[:1]),
        send(whole),
        send([*ended, {"role": "user", "content": "be refused"}]),
        send(whole, indent=1),
        client.send(f'{{"model": "x", "messages": [{{"content": "{PROMPT}"'.encode(), PATH, **HEADERS).status,
    ]
    assert statuses == [200, 200, 401, 200, 400]
    store = StoreView(stage.paths)
    assert wait_until(lambda: int(store.rows("SELECT count() AS n FROM inferences")[0]["n"]) == len(statuses))
    stage.spanlore("mine")

    found = kept(stage.paths.state_dir, store)
    # The search itself works: what stands around the secrets is found, in packed rows and in the store.
    (around,) = leaks(Planted(places={"Runs commands with [redacted:": "around"}), found)
    assert all(place in around for place in ("rows of wire.sqlite", "table content"))
    assert leaks(PLANT, found) == []
    assert counted(stage.paths, "lost") == counted(stage.paths, "passthrough") == 0


def test_what_is_in_ignored_files_is_not_kept(stage: Stage, tmp_path: Path) -> None:
    """No detector knows these words: they are not kept since `.gitignore` names their file. Read, written, printed by a
    shell, in one text and in blocks, and resent by the next request; other files are kept."""
    root = tmp_path / "work"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".gitignore").write_text(".env*\nsecrets/\n")
    words = Planted()
    read, printed, written, block = (
        f"{place}:\n the door is {words.secret(place, 20, letters='abcdefghij ')}\tfor today"
        for place in ("read", "printed", "written", "in blocks")
    )
    calls = [
        ("Read", {"file_path": f"{root}/.env.local"}, read),
        ("Bash", {"command": f"cd {root} && cat secrets/plan.txt"}, printed),
        ("Write", {"file_path": f"{root}/.env", "content": written}, "written"),
        (
            "Read",
            {"file_path": f"{root}/secrets/b"},
            [{"type": "text", "text": block}, {"type": "text", "text": "end"}],
        ),
        ("Read", {"file_path": f"{root}/README"}, "this README is kept as it stands"),
    ]
    asked = [
        {"type": "tool_use", "id": f"toolu_i{n}", "name": name, "input": given}
        for n, (name, given, _) in enumerate(calls)
    ]
    answered = [
        {"type": "tool_result", "tool_use_id": f"toolu_i{n}", "content": content}
        for n, (_, _, content) in enumerate(calls)
    ]
    messages = [
        {"role": "user", "content": "look at the files that git ignores"},
        {"role": "assistant", "content": asked},
        {"role": "user", "content": answered},
    ]
    more = [*messages, {"role": "assistant", "content": SAID}, {"role": "user", "content": f"so: {written}"}]
    client = ProxiedClient(stage.paths)
    for said in (messages, more):
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "stream": True, "messages": said}
        assert client.send(json.dumps(body).encode(), PATH, **HEADERS).status == 200
    store = StoreView(stage.paths)
    of_session = f"SELECT count() AS n FROM inferences WHERE session_id = '{client.session_id}'"
    assert wait_until(lambda: int(store.rows(of_session)[0]["n"]) == 2)

    found = kept(stage.paths.state_dir, store)

    assert leaks(words, found) == []
    around = Planted(places={"[redacted:ignored_file]": "mark", "this README is kept as it stands": "another file"})
    assert all(any(place in leak for leak in leaks(around, found)) for place in ("mark in", "another file in"))
    assert any("rows of wire.sqlite" in leak and "table content" in leak for leak in leaks(around, found))
