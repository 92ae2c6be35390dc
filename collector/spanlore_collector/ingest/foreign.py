"""What mining asks of a GenAI span, worked out for senders who don't know spanlore's attributes. Pure.

The proxy tells beside each span what a person typed, which program a tool ran, how it ended and what the failure's
identity is. A foreign sender tells messages, arguments and results by the conventions; the same is read from them here,
by the same rules. Only what belongs to a session the sender names is believed to be an agent's main conversation: a
model call without one may be anything.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from spanlore.genai.inference import CallClass
from spanlore.genai.jsontext import parsed
from spanlore.genai.messages import Message, Role, ToolCall, ToolResult, message_from_json
from spanlore.harness.human import human_messages
from spanlore.harness.outcome import judge
from spanlore.repository.remote import scope_of_remote
from spanlore.semconv import gen_ai, lore
from spanlore.signature.failure import signature_of, tool_program
from spanlore.spans.place import Outcome
from spanlore.spans.record import AttributeValue, SpanRecord, StatusCode

_CHATS = frozenset({gen_ai.OP_CHAT, gen_ai.OP_GENERATE_CONTENT})
_REMOTE = "vcs.repository.url.full"
_BRANCH = "vcs.ref.head.name"

type Attributes = dict[str, AttributeValue]


def understood(record: SpanRecord) -> SpanRecord:
    """The span with spanlore's attributes beside the sender's; one that tells its source already is left as it is."""
    a = record.attributes
    operation = a.get(gen_ai.OPERATION_NAME) or (gen_ai.OP_CHAT if gen_ai.REQUEST_MODEL in a else "")
    if lore.SOURCE in a or operation not in (*_CHATS, gen_ai.OP_EXECUTE_TOOL, gen_ai.OP_INVOKE_AGENT):
        return record
    added = _place(record)
    if operation in _CHATS:
        added.update(_typed(record))
    elif operation == gen_ai.OP_EXECUTE_TOOL:
        added.update(_tool(record))
    return replace(record, attributes={**added, **a}) if added else record


def _place(record: SpanRecord) -> Attributes:
    """The session's kind and repository, where the sender names them (conventions for `vcs`)."""
    out: Attributes = {}
    if _is_of_session(record):
        out[lore.CALL_CLASS] = CallClass.MAIN.value
    remote = record.attributes.get(_REMOTE) or record.resource.get(_REMOTE)
    if isinstance(remote, str) and (scope := scope_of_remote(remote)):
        out[lore.REPOSITORY] = scope
        branch = record.attributes.get(_BRANCH) or record.resource.get(_BRANCH)
        if isinstance(branch, str) and branch:
            out[lore.BRANCH] = branch
    return out


def _is_of_session(record: SpanRecord) -> bool:
    a = record.attributes
    return bool(a.get(lore.SESSION_ID) or a.get(gen_ai.CONVERSATION_ID) or a.get("session.id"))


def _typed(record: SpanRecord) -> Attributes:
    """What a person said since the last answer: a request repeats all that was said before."""
    if not _is_of_session(record):
        return {}
    newest: list[Message] = []
    for message in reversed(_messages(record.attributes.get(gen_ai.INPUT_MESSAGES))):
        if message.role is Role.ASSISTANT:
            break
        newest.insert(0, message)
    said = human_messages(newest, CallClass.MAIN)
    if not said:
        return {}
    return {lore.HUMAN_TEXT: orjson.dumps([{"channel": one.channel.value, "text": one.text} for one in said]).decode()}


def _tool(record: SpanRecord) -> Attributes:
    a = record.attributes
    call_id = str(a.get(gen_ai.TOOL_CALL_ID, ""))
    given, output = a.get(gen_ai.TOOL_CALL_ARGUMENTS), a.get(gen_ai.TOOL_CALL_RESULT)
    call = ToolCall(call_id, str(a.get(gen_ai.TOOL_NAME, "")), parsed(given))
    text = output if isinstance(output, str) else record.status_message
    program, command = tool_program(call)
    out: Attributes = {}
    if program:
        out[lore.PROGRAM], out[lore.COMMAND] = program, command
    if not isinstance(output, str) and record.status_code is StatusCode.UNSET:
        return out
    is_error = {StatusCode.ERROR: True, StatusCode.OK: False}.get(record.status_code)
    verdict = judge(call, ToolResult(call_id, text, is_error), _harness(record))
    out[lore.OUTCOME], out[lore.OUTCOME_REASON] = verdict.outcome.value, verdict.reason
    if verdict.exit_code is not None:
        out[lore.EXIT_CODE] = verdict.exit_code
    if verdict.outcome is Outcome.FAILURE:
        found = signature_of(call, text, verdict.exit_code)
        out[lore.SIGNATURE], out[lore.ERROR_CLASS], out[lore.ERROR_LINE] = (
            found.hash,
            found.error_class,
            found.error_line,
        )
    return out


def _harness(record: SpanRecord) -> str:
    return str(record.attributes.get(gen_ai.AGENT_NAME) or record.resource.get("service.name") or "")


def _messages(text: AttributeValue | None) -> list[Message]:
    items = parsed(text)
    if not isinstance(items, list):
        return []
    return [message_from_json(item) for item in items if isinstance(item, dict) and isinstance(item.get("parts"), list)]
