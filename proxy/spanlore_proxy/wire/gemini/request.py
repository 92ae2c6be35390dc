"""A Gemini request's body → WireRequest.

`generateContent` and `streamGenerateContent` take `{contents, systemInstruction, tools, generationConfig}`; Code Assist
(cloudcode-pa, a Google login) nests that in `request`, with `model` and `user_prompt_id` beside it; `countTokens` takes
the contents, or the whole as `generateContentRequest`. The model, and whether the answer is streamed, stand in the
path (`dialect.recognise`), but for Code Assist's model.

`raw_messages` are the contents in a normal form: our roles, camel case, ids for calls and results (`calls`).
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire.gemini import interactions
from spanlore_proxy.wire.gemini.calls import identify_calls
from spanlore_proxy.wire.gemini.fields import camel, field, list_field, object_field, string_field
from spanlore_proxy.wire.gemini.parts import raw_message, raw_part
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest, number

MESSAGES_KEY: Final = "contents"
"""Where the history stands, but for Code Assist's, which nests it."""


def parse_request(body: bytes) -> WireRequest:
    """The parsed body.

    Raises:
        MalformedRequestError: Not a JSON object with contents.
    """
    try:
        document = jsontext.loads(body)
    except ValueError as fault:
        raise MalformedRequestError(f"not JSON: {fault}") from fault
    return read_document(document)


def read_document(document: Any) -> WireRequest:
    """The request of a body that is parsed already.

    Raises:
        MalformedRequestError: Not an object with contents.
    """
    if not isinstance(document, dict):
        raise MalformedRequestError("not a JSON object")
    inner = generate_request(document)
    contents = field(inner, "contents")
    if contents is None:
        raise MalformedRequestError("no contents")
    messages = [raw_message(content) for content in (contents if isinstance(contents, list) else [contents])]
    identify_calls(messages)
    model = string_field(document, "model") or string_field(inner, "model")
    return WireRequest(
        dialect=Dialect.GEMINI,
        document=document,
        model=model.removeprefix("models/") or None,
        is_streaming=document.get("stream") is True,  # the Interactions API; elsewhere the path says so
        parameters=_parameters(object_field(inner, "generationConfig")),
        raw_messages=messages,
        raw_system=_system(field(inner, "systemInstruction")),
        raw_tools=_tools(list_field(inner, "tools")),
    )


def generate_request(document: dict[str, Any]) -> dict[str, Any]:
    """The part of a body that holds the contents: the body itself, or what Code Assist or countTokens nests."""
    for name in ("request", "generateContentRequest"):
        inner = field(document, name)
        if isinstance(inner, dict):
            return inner
    if "input" in document and "contents" not in document:
        return interactions.generate_request(document)
    return document


def _system(instruction: Any) -> list[dict[str, Any]] | None:
    if instruction is None:
        return None
    return list(raw_message(instruction)["content"]) if isinstance(instruction, dict) else [raw_part(instruction)]


def _tools(tools: list[Any]) -> list[dict[str, Any]]:
    """One entry a function, and one a tool of the provider's own."""
    out: list[dict[str, Any]] = []
    for tool in tools:
        for name, value in tool.items() if isinstance(tool, dict) else ():
            if camel(str(name)) == "functionDeclarations":
                declarations = value if isinstance(value, list) else [value]
                out += [{"type": "function", "declaration": declaration} for declaration in declarations]
            else:
                out.append({"type": "server", "name": camel(str(name)), "settings": value})
    return out


def _parameters(config: dict[str, Any]) -> RequestParameters:
    stops = list_field(config, "stopSequences")
    thinking = object_field(config, "thinkingConfig")
    level = field(thinking, "thinkingLevel")
    budget = _integer(field(thinking, "thinkingBudget"))
    return RequestParameters(
        max_tokens=_integer(field(config, "maxOutputTokens")),
        temperature=number(field(config, "temperature")),
        top_p=number(field(config, "topP")),
        top_k=_integer(field(config, "topK")),
        stop_sequences=tuple(stop for stop in stops if isinstance(stop, str)),
        reasoning_level=level if isinstance(level, str) else None if budget is None else str(budget),
    )


def _integer(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
