"""The demonstration's script: what its users say, and a model that acts only on what stands in the request.

The model knows the right command when, and only when, the request it is given contains it: in run 1 because the user
said so, in run 2 because a memory was injected. Without it, it goes the way a newcomer goes.
"""

from __future__ import annotations

from typing import Any

from spanlore_proxy.demo.model_request import ReceivedRequest, block_text, content_blocks
from spanlore_proxy.demo.project import (
    LONG_COMMAND,
    LOOK_COMMAND,
    OBVIOUS_COMMAND,
    RIGHT_COMMAND,
)
from spanlore_proxy.demo.replies import Reply, Say, UseTool

TASK = "Run the tests of this project and tell me whether they pass."
CORRECTION = f"No, always run the tests with `{RIGHT_COMMAND}` in this repository."
QUESTION = "What is this project about? Look at the readme."

MODEL = "claude-sonnet-5-5"
NEWCOMERS_WAY = (OBVIOUS_COMMAND, LOOK_COMMAND, LONG_COMMAND)


def answer(request: ReceivedRequest) -> Reply:
    """The scripted model's reply."""
    if not request.has_tools:
        return Reply((Say('{"title": "Run the tests"}'),))
    tried = _commands_since_prompt(request)
    if "readme" in request.newest_prompt.lower():
        return _run("I'll look.", "cat README.md") if not tried else Reply((Say("It adds up invoices."),))
    if _passed(request):
        return Reply((Say("All tests pass."),))
    known = next((command for command in (RIGHT_COMMAND, LONG_COMMAND) if _knows(request, command)), None)
    if known is not None and known not in tried:
        return _run("I know how the tests are run here.", known)
    following = next((command for command in NEWCOMERS_WAY if command not in tried), None)
    if following is None:
        return Reply((Say("I could not get the tests to run."),))
    return _run("Running the tests." if not tried else "That did not work; trying another way.", following)


def _run(said: str, command: str) -> Reply:
    return Reply((Say(said), UseTool("Bash", {"command": command, "description": "Run a command"})))


def _knows(request: ReceivedRequest, command: str) -> bool:
    """Whether the request says it in so many words. What the Makefile holds does not count: it was not told, but
    found, and then the newcomer's way leads there by itself."""
    found = {block_text(block) for block in request.results_since_prompt}
    return any(command in text for text in request.texts() if text not in found)


def _passed(request: ReceivedRequest) -> bool:
    results = request.results_since_prompt
    return bool(results) and not results[-1].get("is_error") and "OK" in block_text(results[-1]).split()


def _commands_since_prompt(request: ReceivedRequest) -> tuple[str, ...]:
    ids = {block.get("tool_use_id") for block in request.results_since_prompt}
    uses: list[dict[str, Any]] = [
        block for message in request.messages for block in content_blocks(message) if block.get("type") == "tool_use"
    ]
    return tuple(str((use.get("input") or {}).get("command", "")) for use in uses if use.get("id") in ids)
