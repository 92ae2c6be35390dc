import json
from typing import Any

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.project import HALF_COMMAND, LONG_COMMAND, OBVIOUS_COMMAND, RIGHT_COMMAND
from spanlore_proxy.demo.replies import UseTool
from spanlore_proxy.demo.scenario import CORRECTION, NEWCOMERS_WAY, QUESTION, TASK, answer


def act(system: str, *prompts: str, hint: str = "") -> list[str]:
    """The commands the model asks for, with results as the project gives them."""
    messages: list[dict[str, Any]] = []
    commands: list[str] = []
    for prompt in prompts:
        messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
        while True:
            document = {"system": system, "messages": messages, "tools": [{"name": "Bash"}]}
            reply = answer(ReceivedRequest("POST", "/v1/messages", (), json.dumps(document).encode(), 0, "r"))
            uses = [part for part in reply.parts if isinstance(part, UseTool)]
            if not uses:
                break
            command = uses[0].input["command"]
            commands.append(command)
            identity = f"t{len(commands)}"
            failed = command in (OBVIOUS_COMMAND, HALF_COMMAND)
            result = {
                "type": "tool_result",
                "tool_use_id": identity,
                "content": "Exit code 1" if failed else "OK",
                "is_error": failed,
            }
            if command.startswith("cat"):
                result["content"] = f"check:\n\t@{LONG_COMMAND}"
            use = {"type": "tool_use", "id": identity, "name": "Bash", "input": uses[0].input}
            extra = [{"type": "text", "text": hint}] if failed and hint else []
            messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result, *extra]}]
    return commands


def test_without_a_memory_it_goes_the_newcomers_way() -> None:
    """A failure, a look at the Makefile, then what stands in it."""
    assert act("guide", TASK) == list(NEWCOMERS_WAY)


def test_with_the_command_in_the_request_it_does_not_fail() -> None:
    """The right command anywhere in the request is used at once."""
    assert act(f"guide; tests run with `{RIGHT_COMMAND}`", TASK) == [RIGHT_COMMAND]


def test_correction_is_followed() -> None:
    """The user's own words count as well."""
    assert act("guide", TASK, CORRECTION) == [*NEWCOMERS_WAY, RIGHT_COMMAND]


def test_hint_beside_the_failure_ends_the_search() -> None:
    """A hint that names a working command is followed after the first failure."""
    assert act("guide", TASK, hint=f"worked here: {LONG_COMMAND}") == [NEWCOMERS_WAY[0], LONG_COMMAND]


def test_another_question_runs_no_tests() -> None:
    """The session that is open before mining only looks at the readme."""
    assert act("guide", QUESTION) == ["cat README.md"]
