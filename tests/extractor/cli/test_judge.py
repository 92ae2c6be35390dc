import json
from pathlib import Path

import pytest

from spanlore_extractor.judge.instructions import packaged
from support.collecting import Collecting
from support.judging import document, fair
from support.memory_commands import data, spanlore
from support.model_server import Answer, Failure, ModelServer, ReceivedRequest, Reply, UseTool
from support.told import START_NS, failing_tests


@pytest.fixture
def keyed(collector: Collecting, monkeypatch: pytest.MonkeyPatch) -> Collecting:
    """The collector's user with a key for the judge."""
    monkeypatch.setitem(collector.environment, "SPANLORE_JUDGE_API_KEY", "sk-test")
    return collector


def fair_to_both(request: ReceivedRequest) -> Answer:
    """Keeps every lesson, and tells a month in its sacred lines and one more."""
    asked = document(request)
    if "sacred" not in asked:
        return fair(request)
    text = "\n".join(["The slow tests were made faster.", *(f"- {line}" for line in asked["sacred"])])
    return Reply((UseTool("chapter", {"text": text}),))


def test_off_without_a_key(collector: Collecting) -> None:
    """It says so, and how to switch it on."""
    assert data(collector, "judge", "status")["on"] is False
    refused = spanlore(collector, "judge", "test")
    assert (refused.exit_code, "SPANLORE_JUDGE_API_KEY" in refused.stderr) == (2, True)


def test_a_mined_lesson_is_judged_and_paid_for(
    keyed: Collecting, checkout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the command: the verdict stands in the memory, the cost in the ledger, and a second run asks nothing."""
    for number in (1, 2):
        told = failing_tests(f"{checkout}-judged-{number}", START_NS + number * 10**12, repository=checkout)
        keyed.send(told.spans())
    with ModelServer(fair_to_both) as server:
        monkeypatch.setitem(keyed.environment, "SPANLORE_JUDGE_BASE_URL", server.url)
        data(keyed, "mine")
        asked = len(server.requests)
        data(keyed, "mine")
        assert len(server.requests) == asked >= 1
        tried = data(keyed, "judge", "test", "--agent", "")
    [memory] = data(keyed, "memories", "--scope", "repo")["memories"]
    status = data(keyed, "judge", "status")
    shown = spanlore(keyed, "judge", "status").stdout

    assert memory["verdict"].startswith("keep")
    assert (tried["verdict"], tried["cost_usd"] > 0) == ("keep", True)
    assert [(one["prompt"], one["verdict"]) for one in tried["prompts"]] == [("judge", "keep"), ("chapter", "told")]
    assert {row["phase"] for row in status["phases"]} >= {"judge"}
    assert status["today"]["tokens"] > 0
    assert status["ledger"][0]["internal_tokens"] > 0
    assert memory["id"] in {row["memory_id"] for row in status["last_calls"]}
    assert "of $0.25" in shown and "sk-test" not in shown + json.dumps(status)


def test_live_test_tells_what_is_wrong(keyed: Collecting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address, model and status."""
    with ModelServer(lambda _: Failure(401, "authentication_error")) as server:
        monkeypatch.setitem(keyed.environment, "SPANLORE_JUDGE_BASE_URL", server.url)
        result = spanlore(keyed, "judge", "test")
    assert result.exit_code == 1
    assert "status 401 authentication_error" in result.stderr


def test_an_agents_own_prompt(keyed: Collecting, checkout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed behind the general one, told by the status, and sent for what that agent's sessions taught."""
    general = data(keyed, "judge", "prompt")
    own = Path(data(keyed, "judge", "prompt", "--agent", "claude-code")["file"])
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("Only for claude-code.")
    for number in (1, 2):
        told = failing_tests(f"{checkout}-own-{number}", START_NS + number * 10**12, repository=checkout)
        keyed.send(told.spans())
    try:
        printed = data(keyed, "judge", "prompt", "--agent", "claude-code")
        status = data(keyed, "judge", "status")
        shown = spanlore(keyed, "judge", "status").stdout
        with ModelServer(fair_to_both) as server:
            monkeypatch.setitem(keyed.environment, "SPANLORE_JUDGE_BASE_URL", server.url)
            tried = [one["prompt"] for one in data(keyed, "judge", "test")["prompts"]]
            tested = [[part["text"] for part in json.loads(one.body)["system"]] for one in server.requests]
            unknown = spanlore(keyed, "judge", "test", "--agent", "codex")
            server.requests.clear()
            data(keyed, "mine")
            system = [part["text"] for part in json.loads(server.requests[0].body)["system"]]
    finally:
        own.unlink()

    assert own.name == "judge.claude-code.md" and not general["is_added"]
    assert printed["text"] == f"{general['text']}\n\nOnly for claude-code."
    assert status["prompts"]["agents"] == ["claude-code"] and "more for claude-code" in shown
    assert system == [packaged("judge"), "Only for claude-code."]
    assert tried == ["judge", "judge.claude-code", "chapter"]
    assert tested == [[packaged("judge")], system, [packaged("chapter")]]
    assert unknown.exit_code == 2 and "nothing is added to the prompt for 'codex'" in unknown.stderr
    assert spanlore(keyed, "judge", "prompt", "--agent", "../x").exit_code == 2


def test_prompt_and_reset(collector: Collecting) -> None:
    """One's own prompt is used, a broken one is told; nothing is held against an unknown lesson."""
    own = Path(data(collector, "judge", "prompt")["file"])
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("my own prompt")
    try:
        assert spanlore(collector, "judge", "prompt").stdout == "my own prompt\n"
        own.write_text("")
        assert spanlore(collector, "judge", "prompt").exit_code == 2
    finally:
        own.unlink()
    assert data(collector, "judge", "reset")["off_the_list"] == []
    assert spanlore(collector, "judge", "reset", "m-x").exit_code == 1
