"""Bodies as real clients write them, and odd ones that an API takes: what is inserted is all that changes, or nothing.

No proxy runs here; the injector is given what it would be given by one. Recorded traffic is read from shared/data/wire
where that stands beside the checkout.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore_proxy.conversation.agent import identify
from spanlore_proxy.importers.cassettes import MalformedRecordingError, read_exchanges, recordings_below
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.injection.rewrite import without_insertions
from spanlore_proxy.wire.codecs import read_request
from spanlore_proxy.wire.dialect import Endpoint, Kind, recognise_any
from spanlore_proxy.wire.exchange import Exchange
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest
from support.agent_talks import TALKS
from support.injecting import COMMAND, OUTPUT, WORKPLACE, Rig, failure_trigger, make_memory, who
from support.json_bodies import spell

MARKED: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
TOOL: dict[str, Any] = {"name": "Bash", "input_schema": {"type": "object"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
SAID = "fix the tests please, all of them"
BLOCK, HINT, OFFSET = ("", 1, 0), ("", 0, 1), ("offset", 0, 0)
"""(reason, blocks, hints)."""


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def messages(**changes: Any) -> dict[str, Any]:
    """Of Anthropic."""
    return {"model": "m", "tools": [TOOL], "messages": [{"role": "user", "content": SAID}], **changes}


def failed(content: Any) -> dict[str, Any]:
    """A tool's result of that content, which nothing has answered yet."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": COMMAND}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": content}
    talk = [("user", SAID), ("assistant", [call]), ("user", [result])]
    return messages(system="s", messages=[{"role": role, "content": said} for role, said in talk])


def chat(*said: dict[str, Any], user: Any = SAID) -> dict[str, Any]:
    return {"model": "m", "tools": [TOOL], "messages": [*said, {"role": "user", "content": user}]}


def responses(**changes: Any) -> dict[str, Any]:
    return {"model": "m", "tools": [TOOL], "input": [{"role": "user", "content": SAID}], **changes}


def gemini(**changes: Any) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": [TOOL]}], "contents": [{"parts": [{"text": SAID}]}], **changes}


SHAPES: dict[str, tuple[str, dict[str, Any], tuple[str, int, int]]] = {
    "system text": ("anthropic", messages(system="You are."), BLOCK),
    "system empty text": ("anthropic", messages(system=""), BLOCK),
    "no system": ("anthropic", messages(), BLOCK),
    "system null": ("anthropic", messages(system=None), OFFSET),
    "system empty list": ("anthropic", messages(system=[]), BLOCK),
    "system, breakpoint last": ("anthropic", messages(system=[text("a"), text("b", **MARKED)]), BLOCK),
    "all four breakpoints used": (
        "anthropic",
        messages(
            tools=[{**TOOL, **MARKED}],
            system=[text("a", **MARKED), text("b", **MARKED)],
            messages=[{"role": "user", "content": [text(SAID, **MARKED)]}],
        ),
        BLOCK,
    ),
    "no messages": ("anthropic", messages(messages=[]), BLOCK),
    "message without content": ("anthropic", messages(messages=[{"role": "user", "content": []}]), BLOCK),
    "result as text": ("anthropic", failed(OUTPUT), HINT),
    "result as list": ("anthropic", failed([text(OUTPUT)]), HINT),
    "result, breakpoint inside": ("anthropic", failed([text(OUTPUT, **MARKED)]), HINT),
    "result with an image": ("anthropic", failed([text(OUTPUT), IMAGE]), HINT),
    "result of an image alone": ("anthropic", failed([IMAGE]), ("late", 0, 0)),
    "result of nothing": ("anthropic", failed(None), ("late", 0, 0)),
    "chat system": ("chat", chat({"role": "system", "content": "s"}), BLOCK),
    "chat developer": ("chat", chat({"role": "developer", "content": "s"}), BLOCK),
    "chat developer list": ("chat", chat({"role": "developer", "content": [text("s")]}), BLOCK),
    "chat without system": ("chat", chat(), BLOCK),
    "chat system null": ("chat", chat({"role": "system", "content": None}), OFFSET),
    "chat named": ("chat", chat({"role": "system", "name": "x", "content": "s"}), BLOCK),
    "chat image": ("chat", chat(user=[{"type": "image_url", "image_url": {"url": "data:,"}}]), BLOCK),
    "instructions null": ("responses", responses(instructions=None), BLOCK),
    "no instructions": ("responses", responses(), BLOCK),
    "instructions": ("responses", responses(instructions="You are."), BLOCK),
    "input as text": ("responses", responses(input=SAID), BLOCK),
    "input empty": ("responses", responses(input=[]), ("no_input", 0, 0)),
    "held by the provider": ("responses", responses(previous_response_id="resp_1"), ("late", 0, 0)),
    "held by nobody": ("responses", responses(previous_response_id=None), BLOCK),
    "developer alone": ("responses", responses(input=[{"role": "developer", "content": "s"}]), BLOCK),
    "reference first": ("responses", responses(input=[{"type": "item_reference", "id": "x"}]), BLOCK),
    "instruction": ("gemini", gemini(systemInstruction={"parts": [{"text": "s"}]}), BLOCK),
    "instruction, snake case": ("gemini", gemini(system_instruction={"parts": [{"text": "s"}]}), BLOCK),
    "instruction, one part": ("gemini", gemini(system_instruction={"parts": {"text": "s"}}), BLOCK),
    "instruction, no parts": ("gemini", gemini(systemInstruction={"role": "user"}), BLOCK),
    "instruction empty": ("gemini", gemini(systemInstruction={}), BLOCK),
    "instruction null": ("gemini", gemini(systemInstruction=None), OFFSET),
    "instruction as text": ("gemini", gemini(systemInstruction="s"), BLOCK),
    "instruction twice": ("gemini", gemini(systemInstruction={}, system_instruction={}), OFFSET),
    "no instruction": ("gemini", gemini(), BLOCK),
    "contents cached": ("gemini", gemini(cached_content="x"), ("cached_content", 0, 0)),
}


def send(body: bytes, endpoint: Endpoint, request: WireRequest, rig: Rig) -> Prepared:
    prepared = rig.injector.prepare(body, endpoint, request, who(), WORKPLACE, ())
    assert without_insertions(prepared.body, prepared.insertions) == body
    assert canonical(without_ours(json.loads(prepared.body))) == canonical(json.loads(body))
    return prepared


def without_ours(value: Any) -> Any:
    """A document without the blocks, parts, messages and ends of texts that bear one of our tags."""
    if isinstance(value, str):
        before, tag, _ = value.partition("<spanlore-")
        return before.removesuffix("\n\n") if tag else value
    if isinstance(value, list):
        return [without_ours(one) for one in value if not _is_ours(one)]
    if isinstance(value, dict):
        return {key: without_ours(one) for key, one in value.items()}
    return value


def _is_ours(value: Any) -> bool:
    """A block of our text alone, or a message of nothing else."""
    if not isinstance(value, dict):
        return False
    said = value.get("text", value.get("content", value.get("parts")))
    return said.startswith("<spanlore-") if isinstance(said, str) else bool(said) and _all_ours(said)


def _all_ours(said: Any) -> bool:
    return isinstance(said, list) and all(map(_is_ours, said))


def canonical(value: Any) -> Any:
    """A text is the list of one text block that it stands for, one part the list of it; a system prompt of nothing is
    none."""
    if isinstance(value, list):
        return [canonical(one) for one in value]
    if not isinstance(value, dict):
        return value
    out = {key: canonical(one) for key, one in value.items()}
    for key in ("content", "system"):
        if isinstance(out.get(key), str):
            out[key] = [{"type": "text", "text": out[key]}]
    if isinstance(out.get("parts"), dict):
        out["parts"] = [out["parts"]]
    if isinstance(out.get("input"), str):
        out["input"] = [{"role": "user", "content": [{"type": "text", "text": out["input"]}]}]
    return {key: one for key, one in out.items() if key not in EMPTY or one not in ([], {}, [text("")])}


EMPTY = ("system", "systemInstruction", "system_instruction", "parts")


@pytest.mark.parametrize("style", ["compact", "python", "pretty"])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, style: str) -> None:
    """One block or one hint, where there is room for it; the same bytes when the request is sent again."""
    of, document, expected = SHAPES[name]
    endpoint, body = TALKS[of]().endpoint, spell(document, style)
    rig = Rig([make_memory("pytest", trigger=failure_trigger())])
    request = read_request(body, endpoint)
    first, again = (send(body, endpoint, request, rig) for _ in range(2))
    counts = first.body.count(b"<spanlore-memory"), first.body.count(b"<spanlore-hint")

    assert (first.injected.skipped, *counts) == expected
    assert again.body == first.body


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (rb'{"system":"one","tools":[{}],"system":[],"messages":[{"role":"user","content":"hi"}]}', "offset"),
        (rb'{"messages":[],"system":"s","tools":[{}],"messages":[{"role":"user","content":"hi"}]}', "offset"),
        (rb'{"messages":[{"role":"user","content":"hi"}],"tools":[{}],"s\u0079stem":"s"}', ""),
        (rb'{"messages":[{"role":"user","content":"\u00e9\ud83d\ude00\/"}],"tools":[{}],"system":"\u0022\/"}', ""),
        (rb'  {"messages":[{"role":"user","content":"h"}],"tools":[{}],"system":"s"}' + b"\r\n ", ""),
        (rb'{"x":1.0E+2,"y":123456789012345678901,"messages":[],"tools":[{}],"system":"s","z":0.10}', ""),
    ],
)
def test_spellings(body: bytes, reason: str) -> None:
    """Escapes, numbers and spaces stay as they are; where a member stands twice, nobody knows which one counts."""
    endpoint = TALKS["anthropic"]().endpoint
    prepared = Rig([make_memory("pytest")]).send(body, endpoint=endpoint)

    assert without_insertions(prepared.body, prepared.insertions) == body
    assert (prepared.injected.skipped, bool(prepared.insertions)) == (reason, not reason)


def recorded() -> Iterator[tuple[Exchange, Endpoint]]:
    """Requests to a known endpoint that are JSON."""
    here = (parent / "shared/data/wire" for parent in Path(__file__).parents)
    corpus = next((folder for folder in here if folder.is_dir()), None)
    if corpus is None:
        pytest.skip("shared/data/wire is not beside this checkout")
    for path in recordings_below(corpus):
        try:
            exchanges = read_exchanges(path)
        except (MalformedRecordingError, OSError):
            continue
        for exchange in exchanges:
            endpoint = recognise_any(exchange.method, exchange.host, exchange.path)
            if endpoint is not None:
                yield exchange, endpoint


def test_recorded_traffic() -> None:
    """Every recorded body of every dialect: removable byte for byte, equal apart from ours, one block at most, none in
    side calls and at other endpoints; sent again, the same bytes; and no fault of ours."""
    seen = {"injected": 0, "left": 0, "hints": 0}
    for exchange, endpoint in recorded():
        body = exchange.request_body
        try:
            request = read_request(body, endpoint)
        except MalformedRequestError:
            continue
        rig = Rig(_answering_all(request))
        identity = identify(exchange, request, endpoint)
        first, again = (rig.send(body, identity, endpoint=endpoint) for _ in range(2))
        is_worked_on = endpoint.kind is Kind.INFERENCE and identity.call_class in (CallClass.MAIN, CallClass.SUBAGENT)
        assert without_insertions(first.body, first.insertions) == body
        assert canonical(without_ours(json.loads(first.body))) == canonical(json.loads(body))
        assert first.body == again.body
        assert first.body.count(b"<spanlore-memory") <= 1
        assert not first.injected.skipped.startswith(("error", "offset"))
        assert is_worked_on or first.body is body
        assert not rig.changed
        seen["injected" if first.insertions else "left"] += 1
        seen["hints"] += first.body.count(b"<spanlore-hint")

    assert seen["injected"] > 100
    assert seen["left"] > 100


def _answering_all(request: WireRequest) -> Iterable[Any]:
    """A memory for whatever a prompt in it says, and one for the block."""
    said = orjson.dumps(request.raw_messages[-1:]).decode()[:200]
    memory = make_memory("pytest")
    return [memory, replace(memory, id="m-prompted", text=f"`x` {said}"[:300], subject="prompted")]
