"""Ids for tool calls that come without."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore_proxy.wire.gemini.calls import own_id, with_call_ids
from spanlore_proxy.wire.gemini.fold import fold_response
from spanlore_proxy.wire.gemini.parts import decode_message
from spanlore_proxy.wire.gemini.request import parse_request
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.response import WireResponse
from support import recordings


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str, id_: str = "", **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args, **({"id": id_} if id_ else {})}}


def result(name: str, output: str = "", id_: str = "") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": output}, **({"id": id_} if id_ else {})}}


def request(*contents: dict[str, Any]) -> WireRequest:
    return parse_request(json.dumps({"contents": contents}).encode())


def answer(to: WireRequest, *parts: dict[str, Any]) -> WireResponse:
    body = json.dumps({"candidates": [{"content": model(*parts), "finishReason": "STOP"}]}).encode()
    return with_call_ids(fold_response(body, "application/json", 200, False), to)


def calls_in(response: WireResponse) -> list[str]:
    return [part.id for message in response.output for part in message.parts if isinstance(part, ToolCall)]


def ids(parsed: WireRequest) -> tuple[list[str], list[str]]:
    parts = [part for raw in parsed.raw_messages for part in decode_message(raw).parts]
    return (
        [part.id for part in parts if isinstance(part, ToolCall)],
        [part.id for part in parts if isinstance(part, ToolResult)],
    )


GO = user({"text": "go"})


def test_an_answer_and_its_echo_agree() -> None:
    """The id that the answer's call gets is that of the call, and of its result, in the next request."""
    first = answer(request(GO), call("sh", c="ls"))
    second = request(GO, model(call("sh", c="ls")), user(result("sh", "x")))

    assert ids(second) == (calls_in(first), calls_in(first))


def test_equal_calls_are_told_apart() -> None:
    """The same command in parallel and again later: every call has an id of its own, results go in order."""
    history = [GO, model(call("sh", c="ls"), call("sh", c="ls")), user(result("sh", "a"), result("sh", "b"))]
    third = answer(request(*history), call("sh", c="ls"))
    calls, results = ids(request(*history, model(call("sh", c="ls")), user(result("sh", "c"))))

    assert calls == results
    assert len(set(calls)) == 3
    assert calls_in(third) == calls[2:]


def test_results_out_of_order_go_by_name() -> None:
    """A result belongs to the first unanswered call of its name."""
    calls, results = ids(request(GO, model(call("a"), call("b")), user(result("b"), result("a"))))

    assert results == calls[::-1]


def test_numbers_in_another_spelling() -> None:
    """JavaScript writes 5.0 as 5: still the same call."""
    assert calls_in(answer(request(GO), call("f", n=5.0))) == ids(request(GO, model(call("f", n=5))))[0]


def test_ids_of_the_api_stand() -> None:
    """Where the API gives ids and the client gives them back, they are the calls' ids."""
    second = request(GO, model(call("sh", "0usajhl5")), user(result("sh", "", "0usajhl5")))

    assert calls_in(answer(request(GO), call("sh", "0usajhl5"))) == ["0usajhl5"]
    assert ids(second) == (["0usajhl5"], ["0usajhl5"])
    assert calls_in(answer(second, call("sh", "m71ii1s7"))) == ["m71ii1s7"]


def test_a_client_that_drops_the_apis_ids() -> None:
    """From the second step on its calls have derived ids on both sides."""
    second = request(GO, model(call("sh")), user(result("sh")))
    third = request(GO, model(call("sh")), user(result("sh")), model(call("sh", c="ls")), user(result("sh")))

    assert calls_in(answer(second, call("sh", "m71ii1s7", c="ls"))) == ids(third)[0][1:] == ids(third)[1][1:]


@pytest.mark.parametrize(
    "made",
    [
        "pyd_ai_71efbc69293b402f8e8ee92ffd77c22a",
        "call_27db36357f594e73b557ec8f70da9e87",
        "adk-1f0c2a9e-3344-4a55-9d3f-3a4f6f1f2a10",
        "1f0c2a9e-3344-4a55-9d3f-3a4f6f1f2a10",
        "run_shell_command-1768075225055-902f304bae8ae",
        "run_shell_command_1779363358754_1",
    ],
)
def test_ids_made_by_clients(made: str) -> None:
    """An id that a client made for its history is passed over, so that it still meets the answer's call."""
    history = request(GO, model(call("sh", made, c="ls")), user(result("sh", "", made)))

    assert own_id({"id": made}) == ""
    assert ids(history) == (calls_in(answer(request(GO), call("sh", c="ls"))),) * 2


def test_gemini_clis_results() -> None:
    """Calls without ids, results with the CLI's own: by name and order."""
    made = "run_shell_command-1768075225055-902f304bae8ae"
    calls, results = ids(request(GO, model(call("run_shell_command")), user(result("run_shell_command", "", made))))

    assert calls == results


def test_blanked_results_leave_the_ids() -> None:
    """A client that masks old tool output changes no call's id."""
    history = [GO, model(call("a")), user(result("a", "long")), model(call("b")), user(result("b"))]
    masked = copy.deepcopy(history)
    masked[2] = user(result("a", "[masked]"))

    assert ids(request(*masked)) == ids(request(*history))


def test_a_result_of_nothing() -> None:
    """A result whose call is not there keeps its own id, and takes nobody's."""
    history = [GO, model(call("a", "0usajhl5")), user(result("a", "", "auto_load_1"), result("a", "", "0usajhl5"))]

    assert ids(request(*history))[1] == ["auto_load_1", "0usajhl5"]


@pytest.mark.parametrize("name", ["array_tool_no_id", "array_tool_second_step", "json_parallel_tools"])
def test_recorded_steps(name: str) -> None:
    """In recordings of three clients each answered call is one that the answer asked for."""
    recording = recordings.of("gemini", name)
    before = parse_request(recordings.request_of("gemini", name))
    after = parse_request(recordings.request_of("gemini", f"{name}.next"))
    asked = calls_in(with_call_ids(fold_response(recording.body, "", 200, False), before))
    calls, results = ids(after)

    assert asked and calls[-len(asked) :] == asked == results[-len(asked) :]
